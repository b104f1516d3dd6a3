//! Checks whether alerts reach a person.

use std::time::Duration;

use belay_alerts::{Channel, channels};
use belay_clock::now;
use belay_config::{Config, Loader, Strictness};
use belay_ipc::Client;
use belay_store::{Delivery, DeliveryState};

use super::CheckResult;
use crate::context::Context;

/// Older failures are not reported.
const FAILURE_MAX_AGE: Duration = Duration::from_secs(7 * 86_400);

/// Deliveries that are read.
const MAX_DELIVERIES: usize = 1_000;

const CHECK: &str = "alerts";

pub(super) fn alert_checks(context: &Context) -> Vec<CheckResult> {
    let loader = Loader::new(&context.paths, &context.env).strictness(Strictness::Lenient);
    let Ok(loaded) = loader.load() else { return Vec::new() };
    let channels = channels::from_config(&loaded.config, &context.env);
    let mut rows: Vec<CheckResult> = channels.iter().map(|channel| channel_check(&**channel)).collect();
    if channels.iter().all(|channel| channel.problem().is_some()) {
        rows.push(unreachable(context, &loaded.config));
    }
    rows.extend(outbox(context));
    rows
}

fn channel_check(channel: &dyn Channel) -> CheckResult {
    match channel.problem() {
        None => CheckResult::ok(CHECK, format!("{}: {}", channel.name(), channel.describe())),
        Some(problem) => {
            let finding = format!("{}: cannot deliver: {}", channel.name(), problem.reason);
            let row = if problem.misconfigured { CheckResult::failed } else { CheckResult::note };
            row(CHECK, finding).fix(problem.fix)
        }
    }
}

/// No channel can deliver: a paused session would wait unnoticed.
fn unreachable(context: &Context, config: &Config) -> CheckResult {
    let finding = "no channel can deliver alerts: if a session is paused, you are not notified";
    if context.env.is_ci() {
        return CheckResult::note(CHECK, format!("{finding} (CI is set, which disables the desktop)"));
    }
    let fix = if config.notify.desktop {
        "belay config set webhook.url URL"
    } else {
        "belay config set notify.desktop true, or belay config set webhook.url URL"
    };
    CheckResult::warning(CHECK, finding).fix(fix)
}

/// Deliveries that failed or are pending.
fn outbox(context: &Context) -> Option<CheckResult> {
    const FIX: &str = "`belay notify` tests every channel";
    let store = context.store().ok()??;
    let since = now() - FAILURE_MAX_AGE;
    let mut failed = store.deliveries(Some(DeliveryState::Failed), MAX_DELIVERIES).ok()?;
    failed.retain(|delivery| delivery.message.created_at >= since);
    if !failed.is_empty() {
        let finding = format!("{} not delivered and not retried{}", count(failed.len()), last_error(&failed));
        return Some(CheckResult::warning(CHECK, finding).fix(FIX));
    }
    let mut retried = store.deliveries(Some(DeliveryState::Pending), MAX_DELIVERIES).ok()?;
    retried.retain(|delivery| delivery.last_error.is_some());
    if !retried.is_empty() {
        let finding = format!("{} not delivered yet; retries follow{}", count(retried.len()), last_error(&retried));
        return Some(CheckResult::warning(CHECK, finding).fix(FIX));
    }
    let pending = usize::try_from(store.pending_messages().ok()?).unwrap_or(usize::MAX);
    let waits = pending > 0 && Client::connect(&context.paths, Duration::from_millis(200)).is_err();
    waits.then(|| {
        CheckResult::note(CHECK, format!("{} pending until the resident process runs", count(pending)))
            .fix("start it with `belay serve`")
    })
}

fn count(alerts: usize) -> String {
    if alerts == 1 { "1 alert".to_owned() } else { format!("{alerts} alerts") }
}

fn last_error(deliveries: &[Delivery]) -> String {
    let error = deliveries.iter().find_map(|delivery| Some((&delivery.channel, delivery.last_error.as_ref()?)));
    error.map_or_else(String::new, |(channel, error)| format!("; last error: {channel}: {error}"))
}
