//! Which sessions need a person, and why.

use belay_core::session::StateName;
use belay_core::status::{Phase, SUB_AGENT, StatusValue, WaitingFor};
use belay_core::{Incident, InterventionLevel, Timestamp};
use belay_ipc::views::{NeedKind, NeedView, SessionView};
use belay_store::FindingRow;

/// The pattern of findings about budgets.
pub(crate) const BUDGET_PATTERN: &str = "budget";

/// What is known about a session besides its view.
#[derive(Debug, Default)]
pub(super) struct Evidence<'a> {
    pub(super) phase: Option<&'a Phase>,
    pub(super) incident: Option<&'a Incident>,
    /// The newest finding, for a session that was nudged.
    pub(super) finding: Option<&'a FindingRow>,
}

/// The reason why the session needs a person, if it does.
pub(super) fn need_of(session: &SessionView, evidence: &Evidence<'_>) -> Option<NeedView> {
    let (kind, since) = kind_of(session, evidence)?;
    let incident = evidence.incident.filter(|_| session.held.is_some());
    let finding = match kind {
        NeedKind::Looping => evidence.finding.map(|row| &row.intervention.finding),
        _ => incident.and_then(|incident| incident.finding.as_ref()),
    };
    let reason = finding.map_or_else(|| session.status.why.clone(), |finding| finding.sentence.clone());
    Some(NeedView {
        kind,
        since,
        reason,
        subject: evidence.phase.and_then(subject_of),
        incident: incident.map(|incident| incident.id.clone()),
        acknowledged: incident.is_some_and(|incident| incident.acknowledged_at.is_some()),
        finding: finding.map(|finding| finding.id.clone()),
        next_budget_micros: (kind == NeedKind::OverBudget).then(|| next_budget(session)).flatten(),
        calls: Vec::new(),
        pairs: Vec::new(),
        finding_from: None,
        session: session.clone(),
    })
}

fn kind_of(session: &SessionView, evidence: &Evidence<'_>) -> Option<(NeedKind, Timestamp)> {
    let status = &session.status;
    // The sub-agent is listed itself.
    if status.evidence == SUB_AGENT {
        return None;
    }
    let kind = match (status.value, status.waiting_for) {
        // Nothing is left to decide about a killed session.
        (StatusValue::Held, _) if session.state == StateName::Killed => return None,
        (StatusValue::Held, _) => match evidence.incident.and_then(|incident| incident.finding.as_ref()) {
            Some(finding) if finding.pattern == BUDGET_PATTERN => NeedKind::OverBudget,
            Some(_) => NeedKind::Loop,
            None => NeedKind::Paused,
        },
        (StatusValue::Waiting, Some(WaitingFor::Permission)) => NeedKind::Permission,
        (StatusValue::Waiting, Some(WaitingFor::Question)) => NeedKind::Question,
        (StatusValue::Waiting, Some(WaitingFor::PlanApproval)) => NeedKind::PlanApproval,
        (StatusValue::Waiting, Some(WaitingFor::Dialog)) => NeedKind::Dialog,
        (StatusValue::Stalled, _) => NeedKind::Stalled,
        (StatusValue::Failed, _) => NeedKind::Failed,
        (StatusValue::Finished, _) => NeedKind::Finished,
        (StatusValue::Working, _) => {
            let finding = &evidence.finding?.intervention;
            // A nudge without progress since: it goes on in circles.
            let ignored = finding.level == InterventionLevel::Nudge && finding.finding.at >= session.since_progress.at;
            return (ignored && session.since_progress.sum.calls > 0)
                .then_some((NeedKind::Looping, finding.finding.at));
        }
        _ => return None,
    };
    Some((kind, status.since))
}

/// The exact text that a person is asked about.
fn subject_of(phase: &Phase) -> Option<String> {
    match phase {
        Phase::Permission { what: text, .. }
        | Phase::Question { text }
        | Phase::Plan { text }
        | Phase::Dialog { what: text } => Some(text.clone()).filter(|text| !text.is_empty()),
        _ => None,
    }
}

/// Twice the limit that is used up, as often as it takes to be above what is spent.
pub(crate) fn next_budget(session: &SessionView) -> Option<u64> {
    let mut next = session.limits.cost_micros.filter(|limit| *limit > 0)?;
    let spent = session.total_cost_micros();
    while next <= spent.saturating_add(spent / 10) || Some(next) == session.limits.cost_micros {
        next = next.checked_mul(2)?;
    }
    Some(next)
}

/// Orders needs: longest wait first, acknowledged ones last.
pub(super) fn sort(needs: &mut [NeedView]) {
    needs.sort_by_key(|need| (need.acknowledged, need.since));
}
