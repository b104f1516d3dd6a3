//! Would news reach anybody?

use std::time::Duration;

use belay_alerts::desktop::NOTIFIER;
use belay_config::{Config, Loader, Strictness};
use belay_ipc::Client;
use belay_server::build_webhook;
use belay_store::{Message, MessageState};

use super::{CheckResult, which};
use crate::context::Context;
use crate::format::now;

/// Failures older than this are history.
const FAILURE_MAX_AGE: Duration = Duration::from_secs(7 * 86_400);

/// Messages looked at.
const MAX_MESSAGES: usize = 1_000;

pub(super) fn alert_checks(context: &Context) -> Vec<CheckResult> {
    let loader = Loader::new(&context.places, &context.env).strictness(Strictness::Lenient);
    let Ok(loaded) = loader.load() else { return Vec::new() };
    let mut rows = vec![desktop(context, &loaded.config)];
    match build_webhook(&loaded.config, &context.env) {
        Ok(None) => {}
        Ok(Some(webhook)) => rows.push(CheckResult::ok("webhook", format!("posts to {}", webhook.describe()))),
        Err(problem) => {
            rows.push(
                CheckResult::failed("webhook", format!("nothing is posted: {problem}"))
                    .fix("`belay config explain webhook` tells what can be set, `belay notify` tries it"),
            );
        }
    }
    rows.extend(outbox(context));
    rows
}

fn desktop(context: &Context, config: &Config) -> CheckResult {
    const CHECK: &str = "notifications";
    if !config.notify.desktop {
        return CheckResult::note(CHECK, "none on the desktop: notify.desktop is false");
    }
    if belay_hooks::process::is_ci(&context.env) {
        return CheckResult::note(CHECK, "none on the desktop: CI is set, so nobody sits here");
    }
    match which(context, NOTIFIER) {
        Some(path) => CheckResult::ok(CHECK, format!("on the desktop, by {}", path.display())),
        None => CheckResult::note(CHECK, format!("none on the desktop: there is no {NOTIFIER}"))
            .fix("install it (Debian: libnotify-bin), or set a webhook: belay config set webhook.url URL"),
    }
}

/// What could not be told.
fn outbox(context: &Context) -> Option<CheckResult> {
    const CHECK: &str = "news";
    let store = context.store().ok()??;
    let since = now() - FAILURE_MAX_AGE;
    let failed = store.outbox(Some(MessageState::Failed), MAX_MESSAGES).ok()?;
    let failed: Vec<Message> = failed.into_iter().filter(|message| message.created_at >= since).collect();
    let waiting = store.outbox(Some(MessageState::Pending), MAX_MESSAGES).ok()?;
    let problem = |messages: &[Message]| {
        let problem = messages.iter().find_map(|message| message.last_error.clone());
        problem.map_or_else(String::new, |problem| format!("; the last problem: {problem}"))
    };
    if !failed.is_empty() {
        let finding = format!("{} could not be delivered and were given up{}", failed.len(), problem(&failed));
        return Some(CheckResult::warning(CHECK, finding).fix("check webhook.url and its receiver"));
    }
    let tried = waiting.iter().filter(|message| message.last_error.is_some()).count();
    if tried > 0 {
        let finding = format!("{tried} could not be delivered yet and are tried again{}", problem(&waiting));
        return Some(CheckResult::warning(CHECK, finding).fix("check webhook.url and its receiver"));
    }
    let nobody = !waiting.is_empty() && Client::connect(&context.places, Duration::from_millis(200)).is_err();
    nobody.then(|| {
        CheckResult::note(CHECK, format!("{} wait for the resident process, which tells them", waiting.len()))
            .fix("start it with `belay serve`")
    })
}
