//! Builds a finding from a claim: text, evidence, cost.

use super::Evaluation;
use crate::detect::{CallContext, Claim, Trigger, Wording};
use crate::digest::Digest;
use crate::effect::{Evidence, Finding, Spend};
use crate::session::{Call, CallFlags};

pub(super) fn build(
    context: &CallContext<'_>,
    name: &str,
    claim: &Claim,
    wording: &Wording,
    evaluation: Evaluation,
) -> Finding {
    let session = context.session;
    let calls = session.window().calls();
    let latest = session.counters.calls.saturating_sub(1);
    let call = match evaluation.trigger {
        Trigger::CallUpdated => context.call().map_or(latest, |call| call.ordinal),
        _ => latest,
    };
    let find = |ordinal: &u64| calls.iter().find(|call| call.ordinal == *ordinal);
    // The last denied call has not been marked yet.
    let denied_now = (claim.denied > 0 && evaluation.pending).then_some(call);
    let evidence = |call: &Call| evidence(call, denied_now == Some(call.ordinal));
    let by_position = claim.entries.iter().filter_map(|at| calls.get(*at));
    let evidence: Vec<Evidence> = claim.calls.iter().filter_map(find).chain(by_position).map(evidence).collect();
    let began = find(&claim.first).or_else(|| calls.front());
    let (usage, cost_micros) = session.meter().since(claim.first, &session.spent);
    let spent = Spend {
        calls: call.saturating_sub(claim.first) + 1,
        usage,
        cost_micros,
        millis: began
            .map_or(0, |began| u64::try_from(evaluation.at.saturating_since(began.at).as_millis()).unwrap_or(u64::MAX)),
        ..Spend::default()
    };
    Finding {
        id: id(context, name, claim),
        pattern: name.to_owned(),
        count: claim.count,
        denied: claim.denied,
        sentence: wording.sentence.clone(),
        unchanged: wording.unchanged.clone(),
        progress_would_be: wording.progress.to_owned(),
        evidence,
        from_call: claim.first,
        call,
        action: claim.action,
        outcome: claim.outcome,
        spent,
        at: evaluation.at,
    }
}

/// The outcome of a call that Belay denied, in evidence.
const DENIED: &str = "denied by Belay";

/// The outcome of a call that was judged when it was made, or that was never answered.
const NO_RESULT: &str = "no result yet";

fn evidence(call: &Call, denied_now: bool) -> Evidence {
    let denied = denied_now || call.is(CallFlags::HELD_BACK);
    let result = call.result.as_ref().map_or_else(|| NO_RESULT.to_owned(), |answer| answer.summary.to_string());
    Evidence {
        call: call.ordinal,
        id: call.id.as_deref().map(str::to_owned),
        what: call.what.to_string(),
        outcome: if denied { DENIED.to_owned() } else { result },
        at: call.at,
    }
}

/// Derived from the evidence. A finding keeps its id while its count grows.
fn id(context: &CallContext<'_>, name: &str, claim: &Claim) -> String {
    if let Some(known) = context.session.findings().id(name, claim) {
        return known.to_owned();
    }
    let session = context.session.key.to_string();
    let (action, outcome) = (claim.action.0.to_le_bytes(), claim.outcome.0.to_le_bytes());
    let first = claim.first.to_le_bytes();
    let digest = Digest::of_parts([session.as_bytes(), name.as_bytes(), &action, &outcome, &first]);
    format!("fnd-{:010x}", digest.0 & 0xff_ffff_ffff)
}
