//! Where commands read, and record events and decisions: in the resident process if it runs, else in this process on the
//! same store. The results are the same.

use std::cell::RefCell;
use std::time::Duration;

use belay_config::Diagnostic;
use belay_core::{EventOutcome, SessionKey};
use belay_engine::Engine;
use belay_ipc::views::SessionView;
use belay_ipc::{Client, ClientError, DecideRequest, EventResult, ResolveRequest, SessionRequest, ShortNamesRequest};
use belay_server::{Authority, StoreRead};
use belay_store::{Access, Store, StoreError};
use serde_json::value::RawValue;

use crate::context::{Context, canonical_session_name};
use crate::error::CommandError;

/// How long the resident process may take for a request: longer than a full sync on a slow disk.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// The resident process, or the store.
pub(crate) struct Backend<'c> {
    context: &'c Context,
    target: Target,
}

enum Target {
    Daemon(Client),
    /// Each opened when it is first needed: most commands only read.
    InProcess {
        engine: Option<Box<RefCell<Engine>>>,
        store: Option<Box<dyn Store>>,
    },
}

impl<'c> Backend<'c> {
    pub(crate) fn open(context: &'c Context) -> Result<Self, CommandError> {
        let target = match Client::connect(&context.places, REQUEST_TIMEOUT) {
            Ok(client) => Target::Daemon(client),
            Err(ClientError::NotRunning(_)) => Target::InProcess { engine: None, store: None },
            Err(error) => return Err(error.into()),
        };
        Ok(Self { context, target })
    }

    pub(crate) fn decide(&mut self, request: &DecideRequest) -> Result<EventOutcome, CommandError> {
        match &mut self.target {
            Target::Daemon(client) => Ok(client.decide(request)?),
            Target::InProcess { engine, .. } => Ok(belay_server::decide(open_engine(self.context, engine)?, request)?),
        }
    }

    /// Records events given as JSON; one result each. If the resident process exits meanwhile, the rest is recorded
    /// in-process: events carry their own ids, so none counts twice.
    pub(crate) fn observe(&mut self, events: &[Box<RawValue>]) -> Result<Vec<EventResult>, CommandError> {
        if let Target::Daemon(client) = &mut self.target {
            match client.observe(events) {
                Ok(response) => return Ok(response.answers),
                Err(ClientError::Io(_)) => *self = Self::open(self.context)?,
                Err(error) => return Err(error.into()),
            }
        }
        match &mut self.target {
            Target::Daemon(client) => Ok(client.observe(events)?.answers),
            Target::InProcess { engine, .. } => {
                let events = events.iter().map(|event| event.get().as_bytes());
                Ok(belay_server::observe_json(open_engine(self.context, engine)?, events, Authority::Owner))
            }
        }
    }

    pub(crate) fn read<R: StoreRead>(&mut self, request: &R) -> Result<R::Response, CommandError> {
        match &mut self.target {
            Target::Daemon(client) => Ok(client.read(request)?),
            Target::InProcess { store, .. } => {
                if store.is_none() {
                    *store = self.context.store()?;
                }
                Ok(request.run(store.as_deref())?)
            }
        }
    }

    /// The session with this name: any unique prefix of `agent:id` or of the agent's own id.
    pub(crate) fn resolve(&mut self, name: &str) -> Result<SessionKey, CommandError> {
        self.read(&ResolveRequest { name: canonical_session_name(name) })
    }

    pub(crate) fn session(&mut self, session: &SessionKey) -> Result<SessionView, CommandError> {
        let view = self.read(&SessionRequest { session: session.clone() })?;
        view.ok_or_else(|| StoreError::NotFound(session.to_string()).into())
    }

    /// The shortest unique name of each session.
    pub(crate) fn short_names(&mut self, sessions: Vec<SessionKey>) -> Result<Vec<String>, CommandError> {
        self.read(&ShortNamesRequest { sessions })
    }
}

fn open_engine<'e>(
    context: &Context,
    engine: &'e mut Option<Box<RefCell<Engine>>>,
) -> Result<&'e RefCell<Engine>, CommandError> {
    let opened = match engine.take() {
        Some(open) => open,
        None => {
            context.places.create()?;
            let out = context.out;
            let warn = move |note: &Diagnostic| out.warn(&note.to_string(), note.hint.as_deref());
            let flags = context.flags()?;
            let open = belay_engine::open(&context.places, &context.env, flags, Access::Write, Box::new(warn))?;
            Box::new(RefCell::new(open))
        }
    };
    Ok(engine.insert(opened))
}
