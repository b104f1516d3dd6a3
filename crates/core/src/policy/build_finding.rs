//! Making a finding of a claim: its words, its evidence, its cost.

use super::EvaluationTrigger;
use crate::detect::{CallContext, Claim, Trigger, Wording};
use crate::digest::Digest;
use crate::effect::{Evidence, Finding, Spend};
use crate::session::Call;

pub(super) fn build(
    view: &CallContext<'_>,
    name: &str,
    claim: &Claim,
    words: &Wording,
    occasion: EvaluationTrigger,
) -> Finding {
    let session = view.session;
    let calls = session.window().calls();
    let latest = session.counters.calls.saturating_sub(1);
    let call = match occasion.trigger {
        Trigger::Answered => view.call().map_or(latest, |call| call.ordinal),
        _ => latest,
    };
    let find = |ordinal: &u64| calls.iter().find(|call| call.ordinal == *ordinal);
    let evidence: Vec<Evidence> = claim.calls.iter().filter_map(find).map(evidence).collect();
    let began = find(&claim.first).or_else(|| calls.front());
    let (usage, cost_micros) = session.meter().since(claim.first, &session.spent);
    let spent = Spend {
        calls: call.saturating_sub(claim.first) + 1,
        usage,
        cost_micros,
        millis: began
            .map_or(0, |began| u64::try_from(occasion.at.saturating_since(began.at).as_millis()).unwrap_or(u64::MAX)),
    };
    Finding {
        id: id(view, name, claim),
        pattern: name.to_owned(),
        count: claim.count,
        sentence: words.sentence.clone(),
        unchanged: words.unchanged.clone(),
        progress_would_be: words.progress.to_owned(),
        evidence,
        from_call: claim.first,
        call,
        action: claim.action,
        outcome: claim.outcome,
        spent,
        at: occasion.at,
    }
}

fn evidence(call: &Call) -> Evidence {
    Evidence {
        call: call.ordinal,
        id: call.id.as_deref().map(str::to_owned),
        what: call.what.to_string(),
        outcome: call.answer.as_ref().map_or_else(String::new, |answer| answer.brief.to_string()),
        at: call.at,
    }
}

/// Derived from what it rests on. A finding keeps its id while it grows.
fn id(view: &CallContext<'_>, name: &str, claim: &Claim) -> String {
    if let Some(known) = view.session.findings().id(name, claim) {
        return known.to_owned();
    }
    let session = view.session.key.to_string();
    let (action, outcome) = (claim.action.0.to_le_bytes(), claim.outcome.0.to_le_bytes());
    let first = claim.first.to_le_bytes();
    let digest = Digest::of_parts([session.as_bytes(), name.as_bytes(), &action, &outcome, &first]);
    format!("fnd-{:010x}", digest.0 & 0xff_ffff_ffff)
}
