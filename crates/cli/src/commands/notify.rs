//! `belay notify`: a test message through every channel, now, with what came of it.

use belay_alerts::{Alert, desktop};
use belay_config::Strictness;
use clap::Args;
use serde::Serialize;
use serde_json::json;

use super::CommandResult;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_status::ExitStatus;
use crate::format::now;

#[derive(Debug, Args)]
#[command(
    after_help = "Real news goes the same ways: when a session is paused or killed, stalls, hangs in a tool, or\n\
    waits at a permission prompt. The resident process tells it, and tries again what was not taken."
)]
pub(crate) struct NotifyArgs {}

/// How it went with one channel.
#[derive(Debug, Serialize)]
struct ChannelTest {
    channel: &'static str,
    ok: bool,
    /// Where it went, or why it did not.
    detail: String,
}

impl ChannelTest {
    fn new(channel: &'static str, shown: Result<String, String>) -> Self {
        let ok = shown.is_ok();
        Self { channel, ok, detail: shown.unwrap_or_else(|problem| problem) }
    }
}

pub(crate) fn run(context: &Context, _args: &NotifyArgs) -> CommandResult {
    let config = context.config(Strictness::Strict, &[])?.config;
    let news = Alert::test_alert(&uuid::Uuid::now_v7().simple().to_string(), now());
    let mut tried = Vec::new();
    if config.notify.desktop && !belay_hooks::process::is_ci(&context.env) {
        let shown = desktop::show(&news).map(|()| format!("shown by {}", desktop::NOTIFIER));
        tried.push(ChannelTest::new("desktop", shown));
    }
    match belay_server::build_webhook(&config, &context.env) {
        Ok(None) => {}
        Ok(Some(webhook)) => {
            let posted = webhook.post(&news, now()).map(|()| format!("taken by {}", webhook.describe()));
            tried.push(ChannelTest::new("webhook", posted));
        }
        Err(problem) => tried.push(ChannelTest::new("webhook", Err(problem))),
    }
    if tried.is_empty() {
        return Err(CommandError::new("there is no channel news could go through")
            .hint("set a webhook: belay config set webhook.url URL")
            .hint("on the desktop: belay config set notify.desktop true (never where CI is set)"));
    }
    let ok = tried.iter().all(|one| one.ok);
    if context.out.json {
        context.out.json(&json!({ "channels": tried }))?;
    } else {
        for one in &tried {
            let sign = if one.ok { "ok" } else { "XX" };
            context.out.line(crate::output::single_line(&format!("{sign}  {:<8} {}", one.channel, one.detail)))?;
        }
    }
    Ok(if ok { ExitStatus::Done } else { ExitStatus::Failed })
}
