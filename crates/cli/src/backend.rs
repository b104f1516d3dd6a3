//! Where commands record events and decisions: in the resident process if it runs, else in an engine in this process on
//! the same store. The results are the same.

use std::cell::RefCell;
use std::time::Duration;

use belay_config::Diagnostic;
use belay_core::EventOutcome;
use belay_engine::Engine;
use belay_ipc::{Client, ClientError, DecideRequest, EventResult};
use belay_server::Authority;
use belay_store::Access;
use serde_json::value::RawValue;

use crate::context::Context;
use crate::error::CommandError;

/// How long the resident process may take for a request: longer than a full sync on a slow disk.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// The resident process, or an engine in this process.
#[derive(Debug)]
pub(crate) enum Backend {
    Daemon(Client),
    InProcess(Box<RefCell<Engine>>),
}

impl Backend {
    pub(crate) fn open(context: &Context) -> Result<Self, CommandError> {
        match Client::connect(&context.places, REQUEST_TIMEOUT) {
            Ok(client) => Ok(Self::Daemon(client)),
            Err(ClientError::NotRunning(_)) => Self::in_process(context),
            Err(error) => Err(error.into()),
        }
    }

    fn in_process(context: &Context) -> Result<Self, CommandError> {
        context.places.create()?;
        let out = context.out;
        let warn = move |note: &Diagnostic| out.warn(&note.to_string(), note.hint.as_deref());
        let flags = context.flags()?;
        let engine = belay_engine::open(&context.places, &context.env, flags, Access::Write, Box::new(warn))?;
        Ok(Self::InProcess(Box::new(RefCell::new(engine))))
    }

    pub(crate) fn decide(&mut self, request: &DecideRequest) -> Result<EventOutcome, CommandError> {
        match self {
            Self::Daemon(client) => Ok(client.decide(request)?),
            Self::InProcess(engine) => Ok(belay_server::decide(&**engine, request)?),
        }
    }

    /// Records events given as JSON; one result each. If the resident process exits meanwhile, the rest is recorded
    /// in-process: events carry their own ids, so none counts twice.
    pub(crate) fn observe(
        &mut self,
        context: &Context,
        events: &[Box<RawValue>],
    ) -> Result<Vec<EventResult>, CommandError> {
        if let Self::Daemon(client) = self {
            match client.observe(events) {
                Ok(response) => return Ok(response.answers),
                Err(ClientError::Io(_)) => *self = Self::open(context)?,
                Err(error) => return Err(error.into()),
            }
        }
        match self {
            Self::Daemon(client) => Ok(client.observe(events)?.answers),
            Self::InProcess(engine) => {
                let events = events.iter().map(|event| event.get().as_bytes());
                Ok(belay_server::observe_json(&**engine, events, Authority::Owner))
            }
        }
    }
}
