//! Access to sessions, events and decisions: through the resident process if it runs, otherwise in-process on the same
//! store. The results are identical. A resident process that does not respond is bypassed.

use std::cell::RefCell;
use std::time::Duration;

use belay_core::{EventOutcome, SessionKey};
use belay_engine::Engine;
use belay_ipc::views::{OverviewView, SessionView};
use belay_ipc::{
    Client, ClientError, DecideRequest, EventResult, OverviewRequest, ResolveRequest, ReviewsRequest, SessionRequest,
    ShortNamesRequest,
};
use belay_review_runner as review;
use belay_server::{Authority, StoreRead};
use belay_store::{Access, Store, StoreError};
use serde_json::value::RawValue;

use crate::context::{Context, canonical_session_name};
use crate::error::CommandError;

/// How long the resident process may take for a read or a decision; after that, the command uses the store itself. The
/// request may still arrive there, but a decision carries an id and counts once.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(1);

/// How long it may take to record events, of which there may be thousands.
const OBSERVE_TIMEOUT: Duration = Duration::from_secs(10);

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

impl Target {
    /// The store instead of a resident process that does not respond.
    fn bypass(context: &Context) -> Self {
        let hint = "restart it: `belay stop`, then `belay serve`";
        context.out.warn("the resident process does not respond; using the store directly", Some(hint));
        Self::InProcess { engine: None, store: None }
    }
}

impl<'c> Backend<'c> {
    pub(crate) fn open(context: &'c Context) -> Result<Self, CommandError> {
        let target = match Client::connect(&context.paths, REQUEST_TIMEOUT) {
            Ok(client) => Target::Daemon(client),
            Err(ClientError::NotRunning(_)) => Target::InProcess { engine: None, store: None },
            Err(error) if error.is_timeout() => Target::bypass(context),
            Err(error) => return Err(error.into()),
        };
        Ok(Self { context, target })
    }

    pub(crate) fn decide(&mut self, request: &DecideRequest) -> Result<EventOutcome, CommandError> {
        if let Target::Daemon(client) = &mut self.target {
            client.set_timeout(REQUEST_TIMEOUT);
            match client.decide(request) {
                Err(error) if error.is_timeout() => self.target = Target::bypass(self.context),
                result => return Ok(result?),
            }
        }
        match &mut self.target {
            Target::Daemon(client) => Ok(client.decide(request)?),
            Target::InProcess { engine, .. } => decide_on_store(open_engine(self.context, engine)?, request),
        }
    }

    /// Records events given as JSON; one result each. If the resident process exits meanwhile, the rest is recorded
    /// in-process: events carry their own ids, so none counts twice.
    pub(crate) fn observe(&mut self, events: &[Box<RawValue>]) -> Result<Vec<EventResult>, CommandError> {
        if let Target::Daemon(client) = &mut self.target {
            client.set_timeout(OBSERVE_TIMEOUT);
            match client.observe(events) {
                Ok(response) => return Ok(response.answers),
                Err(error) if error.is_timeout() => self.target = Target::bypass(self.context),
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
        if let Target::Daemon(client) = &mut self.target {
            client.set_timeout(REQUEST_TIMEOUT);
            match client.read(request) {
                Err(error) if error.is_timeout() => self.target = Target::bypass(self.context),
                result => return Ok(result?),
            }
        }
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

    /// The overview. Without the resident process, review tasks are read from their files.
    pub(crate) fn overview(&mut self) -> Result<OverviewView, CommandError> {
        let mut view = self.read(&OverviewRequest {})?;
        if matches!(self.target, Target::InProcess { .. }) {
            let all = ReviewsRequest { limit: Some(usize::MAX), ..ReviewsRequest::default() };
            let tasks = review::read::list(&review::root(&self.context.paths), &all).tasks;
            view.reviews = OverviewView::listed_reviews(tasks);
        }
        Ok(view)
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

/// Records a decision in the store. A decision that is only in the memory of this process is none: the process exits.
fn decide_on_store(engine: &RefCell<Engine>, request: &DecideRequest) -> Result<EventOutcome, CommandError> {
    let outcome = belay_server::decide(engine, request)?;
    if outcome.committed {
        return Ok(outcome);
    }
    let error = CommandError::new(format!("the decision about {} is not recorded and has no effect", request.session));
    Err(match engine.borrow().health().fault {
        Some(fault) => error.cause(fault.problem).hint("free disk space or check the permissions, then try again"),
        None => error.hint("run `belay doctor`"),
    })
}

fn open_engine<'e>(
    context: &Context,
    engine: &'e mut Option<Box<RefCell<Engine>>>,
) -> Result<&'e RefCell<Engine>, CommandError> {
    let opened = match engine.take() {
        Some(open) => open,
        None => {
            context.paths.create()?;
            let (flags, warn) = (context.flags()?, context.diagnostic_sink());
            let open = belay_engine::open(&context.paths, &context.env, flags, Access::Write, warn)?;
            Box::new(RefCell::new(open))
        }
    };
    Ok(engine.insert(opened))
}
