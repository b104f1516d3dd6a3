//! Would news reach anybody?

use std::time::Duration;

use belay_alerts::desktop::PROGRAM as NOTIFIER;
use belay_config::{Config, Loader, Strictness};
use belay_server::{Client, webhook};
use belay_store::{Message, MessageState, Store};

use super::{Row, which};
use crate::context::Context;
use crate::people::now;

/// Failures older than this are history.
const RECENT: Duration = Duration::from_secs(7 * 86_400);

/// Messages looked at.
const GLANCE: usize = 1_000;

pub(super) fn news(context: &Context) -> Vec<Row> {
    let loader = Loader::new(&context.places, &context.env).strictness(Strictness::Lenient);
    let Ok(loaded) = loader.load() else { return Vec::new() };
    let mut rows = vec![desktop(context, &loaded.config)];
    match webhook(&loaded.config, &context.env) {
        Ok(None) => {}
        Ok(Some(webhook)) => rows.push(Row::good("webhook", format!("posts to {}", webhook.describe()))),
        Err(problem) => {
            rows.push(
                Row::broken("webhook", format!("nothing is posted: {problem}"))
                    .mend("`belay config explain webhook` tells what can be set, `belay notify` tries it"),
            );
        }
    }
    rows.extend(outbox(context));
    rows
}

fn desktop(context: &Context, config: &Config) -> Row {
    const CHECK: &str = "notifications";
    if !config.notify.desktop {
        return Row::note(CHECK, "none on the desktop: notify.desktop is false");
    }
    if belay_hooks::thin::is_ci(&context.env) {
        return Row::note(CHECK, "none on the desktop: CI is set, so nobody sits here");
    }
    match which(context, NOTIFIER) {
        Some(path) => Row::good(CHECK, format!("on the desktop, by {}", path.display())),
        None => Row::note(CHECK, format!("none on the desktop: there is no {NOTIFIER}"))
            .mend("install it (Debian: libnotify-bin), or set a webhook: belay config set webhook.url URL"),
    }
}

/// What could not be told.
fn outbox(context: &Context) -> Option<Row> {
    const CHECK: &str = "news";
    let store = context.store().ok()??;
    let since = now() - RECENT;
    let failed = store.outbox(Some(MessageState::Failed), GLANCE).ok()?;
    let failed: Vec<Message> = failed.into_iter().filter(|message| message.created_at >= since).collect();
    let waiting = store.outbox(Some(MessageState::Pending), GLANCE).ok()?;
    let problem = |messages: &[Message]| {
        let problem = messages.iter().find_map(|message| message.last_error.clone());
        problem.map_or_else(String::new, |problem| format!("; the last problem: {problem}"))
    };
    if !failed.is_empty() {
        let finding = format!("{} could not be delivered and were given up{}", failed.len(), problem(&failed));
        return Some(Row::warning(CHECK, finding).mend("check webhook.url and its receiver"));
    }
    let tried = waiting.iter().filter(|message| message.last_error.is_some()).count();
    if tried > 0 {
        let finding = format!("{tried} could not be delivered yet and are tried again{}", problem(&waiting));
        return Some(Row::warning(CHECK, finding).mend("check webhook.url and its receiver"));
    }
    let nobody = !waiting.is_empty() && Client::connect(&context.places, Duration::from_millis(200)).is_err();
    nobody.then(|| {
        Row::note(CHECK, format!("{} wait for the resident process, which tells them", waiting.len()))
            .mend("start it with `belay serve`")
    })
}
