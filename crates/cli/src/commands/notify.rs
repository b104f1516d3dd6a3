//! `belay notify`: sends a test alert through every channel and reports the result.

use belay_alerts::{Alert, Channel, channels};
use belay_clock::now;
use belay_config::Strictness;
use clap::Args;
use serde::Serialize;
use serde_json::json;

use super::CommandResult;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_status::ExitStatus;

#[derive(Debug, Args)]
#[command(
    after_help = "Alerts are sent when a session is paused or killed, stalls, hangs in a tool, or waits at a permission\n\
    prompt, and when a review task needs you, is done or failed. The resident process delivers them to each\n\
    channel and retries.\n\n\
    Examples:\n  belay notify"
)]
pub(crate) struct NotifyArgs {}

/// Result of a test on one channel.
#[derive(Debug, Serialize)]
struct ChannelTest {
    channel: String,
    ok: bool,
    /// The destination, or the error.
    detail: String,
}

impl ChannelTest {
    fn run(channel: &dyn Channel, alert: &Alert) -> Self {
        let delivered = channel.deliver(alert, now());
        Self {
            channel: channel.name().to_owned(),
            ok: delivered.is_ok(),
            detail: match delivered {
                Ok(()) => format!("delivered to {}", channel.describe()),
                Err(error) => format!("not delivered: {error}"),
            },
        }
    }
}

pub(crate) fn run(context: &Context, _args: &NotifyArgs) -> CommandResult {
    let config = context.config(Strictness::Strict, &[])?.config;
    let alert = Alert::test_alert(&uuid::Uuid::now_v7().simple().to_string(), now());
    let channels = channels::from_config(&config, &context.env);
    if channels.is_empty() {
        return Err(CommandError::new("no alert channel is configured")
            .hint("set a webhook: belay config set webhook.url URL")
            .hint("on the desktop: belay config set notify.desktop true (disabled if CI is set)"));
    }
    let tests: Vec<ChannelTest> = channels.iter().map(|channel| ChannelTest::run(&**channel, &alert)).collect();
    if context.out.json {
        context.out.json(&json!({ "channels": tests }))?;
    } else {
        for test in &tests {
            let sign = if test.ok { "ok" } else { "XX" };
            context.out.line(crate::output::single_line(&format!("{sign}  {:<8} {}", test.channel, test.detail)))?;
        }
    }
    Ok(if tests.iter().all(|test| test.ok) { ExitStatus::Done } else { ExitStatus::Failed })
}
