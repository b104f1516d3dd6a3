//! `belay schema`: prints JSON Schemas of input and output.

use belay_core::effect::Finding;
use belay_core::{Decision, Event};
use belay_ipc::views::{IncidentView, SessionView};
use clap::{Args, ValueEnum};
use serde_json::Value;

use super::CommandResult;
use crate::context::Context;
use crate::exit_status::ExitStatus;

#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {
    /// The type to describe.
    shape: Shape,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Shape {
    /// An event, as posted by sensors.
    Event,
    /// The response to an event.
    Decision,
    /// config.toml and .belay.toml.
    Config,
    /// A session in `sessions --json` and `show --json`.
    Session,
    /// An incident in `incidents --json`.
    Incident,
    /// A finding with its evidence.
    Finding,
    /// The body of a webhook.
    Alert,
    /// A line of `audit --json`.
    Audit,
}

impl Shape {
    fn schema(self) -> Value {
        match self {
            Self::Event => schemars::schema_for!(Event).to_value(),
            Self::Decision => schemars::schema_for!(Decision).to_value(),
            Self::Config => belay_config::json_schema(),
            Self::Session => schemars::schema_for!(SessionView).to_value(),
            Self::Incident => schemars::schema_for!(IncidentView).to_value(),
            Self::Finding => schemars::schema_for!(Finding).to_value(),
            Self::Audit => schemars::schema_for!(belay_audit::report::Line).to_value(),
            Self::Alert => schemars::schema_for!(belay_alerts::WebhookBody).to_value(),
        }
    }
}

pub(crate) fn run(context: &Context, args: &SchemaArgs) -> CommandResult {
    context.out.line(serde_json::to_string_pretty(&args.shape.schema()).map_err(std::io::Error::from)?)?;
    Ok(ExitStatus::Done)
}
