//! Who takes events and decisions: the resident process if it runs, else an engine of our own on
//! the same store. Both answer alike.

use std::path::Path;
use std::time::Duration;

use belay_config::RulesByFolder;
use belay_core::{Event, EventOutcome};
use belay_engine::{Engine, EngineError, EngineOptions};
use belay_ipc::{Client, ClientError, DecideRequest, ErrorBody, ErrorCode, EventResult};
use belay_store::{Access, StoreError};
use serde_json::value::RawValue;

use crate::context::Context;
use crate::error::CommandError;

/// How long the resident process may take to answer. A full sync on a slow disk is within it.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Who answers.
#[derive(Debug)]
pub(crate) enum Backend {
    Daemon(Client),
    InProcess(Box<Engine>),
}

impl Backend {
    pub(crate) fn open(context: &Context) -> Result<Self, CommandError> {
        match Client::connect(&context.places, REQUEST_TIMEOUT) {
            Ok(client) => Ok(Self::Daemon(client)),
            Err(ClientError::NotRunning(_)) => Self::own(context),
            Err(error) => Err(error.into()),
        }
    }

    fn own(context: &Context) -> Result<Self, CommandError> {
        context.places.create()?;
        let store = belay_store::open(&context.store_url(), Access::Write)?;
        let out = context.out;
        let notice = move |note: &belay_config::Diagnostic| out.warn(&note.to_string(), note.hint.as_deref());
        let rulesets =
            RulesByFolder::new(context.places.clone(), context.env.clone(), context.flags()?, Box::new(notice));
        let rules = move |project: Option<&str>| rulesets.for_folder(project.map(Path::new));
        let options = EngineOptions { rules: Box::new(rules), ..EngineOptions::default() };
        Ok(Self::InProcess(Box::new(Engine::new(store, options))))
    }

    pub(crate) fn decide(&mut self, decide: &DecideRequest) -> Result<EventOutcome, CommandError> {
        match self {
            Self::Daemon(client) => Ok(client.decide(decide)?),
            Self::InProcess(engine) => {
                let by = decide.by.as_deref();
                Ok(engine.decide(&decide.session, decide.decision.clone(), &decide.note, by)?)
            }
        }
    }

    /// Takes events as JSON texts; one answer each. If the resident process leaves in the middle, we
    /// go on by ourselves: events carry their own ids, so none counts twice.
    pub(crate) fn observe(
        &mut self,
        context: &Context,
        events: &[Box<RawValue>],
    ) -> Result<Vec<EventResult>, CommandError> {
        if let Self::Daemon(client) = self {
            match client.observe(events) {
                Ok(answers) => return Ok(answers.answers),
                Err(ClientError::Io(_)) => *self = Self::open(context)?,
                Err(error) => return Err(error.into()),
            }
        }
        match self {
            Self::Daemon(client) => Ok(client.observe(events)?.answers),
            Self::InProcess(engine) => Ok(events.iter().map(|event| observe_own(engine, event)).collect()),
        }
    }
}

fn observe_own(engine: &mut Engine, event: &RawValue) -> EventResult {
    let read = Event::from_json(event.get().as_bytes());
    let event = match read {
        Ok(event) => belay_server::canonicalize_agent(event),
        Err(error) => {
            return EventResult::Refused {
                error: ErrorBody::new(ErrorCode::Refused, error.to_string()).field(error.field),
            };
        }
    };
    match engine.observe(event) {
        Ok(outcome) => EventResult::Accepted(outcome),
        Err(EngineError::Refused { field, problem }) => EventResult::Refused {
            error: ErrorBody::new(ErrorCode::Refused, format!("{field}: {problem}")).field(field),
        },
        Err(EngineError::Store(error)) => EventResult::Refused { error: store(&error) },
    }
}

fn store(error: &StoreError) -> ErrorBody {
    ErrorBody::new(ErrorCode::Store, error.to_string()).hint(error.hint())
}
