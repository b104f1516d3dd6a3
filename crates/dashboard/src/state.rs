//! States as people see them: a shape, a word and a colour.

use belay_core::session::StateName;
use belay_core::status::{Status, StatusValue, WaitingFor};
use belay_ipc::views::{IncidentView, NeedKind, SessionView};
use maud::{Markup, html};

use crate::frame::Frame;
use crate::icons::icon;
use crate::parts::{since, until};
use crate::words;

/// The pattern that finds used-up budgets.
pub(crate) const BUDGET_PATTERN: &str = "budget";

/// How a state looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    pub(crate) icon: &'static str,
    pub(crate) class: &'static str,
    pub(crate) word: &'static str,
}

const fn look(icon: &'static str, class: &'static str, word: &'static str) -> Look {
    Look { icon, class, word }
}

pub(crate) fn of_need(kind: NeedKind) -> Look {
    match kind {
        NeedKind::Question => look("question", "s-need", "Question"),
        NeedKind::Permission => look("permission", "s-need", "Permission"),
        NeedKind::PlanApproval => look("plan", "s-need", "Plan"),
        NeedKind::Dialog => look("dialog", "s-need", "Dialog"),
        NeedKind::Loop => look("held", "s-held", "Held: loop"),
        NeedKind::OverBudget => look("budget", "s-held", "Over budget"),
        NeedKind::Paused => look("held", "s-held", "Held"),
        NeedKind::Looping => look("looping", "s-need", "Looping"),
        NeedKind::Stalled => look("stalled", "s-need", "Stalled"),
        NeedKind::Failed => look("failed", "s-fail", "Failed"),
        NeedKind::Finished => look("finished", "s-done", "Finished"),
        NeedKind::Decision => look("person", "s-need", "Needs you"),
    }
}

pub(crate) fn of_status(status: &Status) -> Look {
    match (status.value, status.waiting_for) {
        (StatusValue::Waiting, Some(WaitingFor::Question)) => of_need(NeedKind::Question),
        (StatusValue::Waiting, Some(WaitingFor::Permission)) => of_need(NeedKind::Permission),
        (StatusValue::Waiting, Some(WaitingFor::PlanApproval)) => of_need(NeedKind::PlanApproval),
        (StatusValue::Waiting, Some(WaitingFor::Dialog)) => of_need(NeedKind::Dialog),
        (StatusValue::Waiting, Some(WaitingFor::Declared) | None) => look("wait", "s-rest", "Waiting"),
        (StatusValue::Working, _) => look("working", "s-work", "Working"),
        (StatusValue::Limited, _) => look("limited", "s-limit", "Limited"),
        (StatusValue::Held, _) => of_need(NeedKind::Paused),
        (StatusValue::Finished, _) => of_need(NeedKind::Finished),
        (StatusValue::Idle, _) => look("idle", "s-rest", "Idle"),
        (StatusValue::Failed, _) => of_need(NeedKind::Failed),
        (StatusValue::Stalled, _) => of_need(NeedKind::Stalled),
        (StatusValue::Ended, _) => look("ended", "s-rest", "Ended"),
        (StatusValue::Unknown, _) => look("unknown", "s-rest", "Unknown"),
    }
}

/// A session together with its open incident, which tells why it is held.
pub(crate) fn of_session(session: &SessionView, incident: Option<&IncidentView>) -> Look {
    if session.state == StateName::Killed {
        return look("held", "s-held", "Killed");
    }
    match incident {
        Some(incident) if session.status.value == StatusValue::Held => of_incident(incident),
        _ => of_status(&session.status),
    }
}

pub(crate) fn of_incident(incident: &IncidentView) -> Look {
    use belay_core::effect::InterventionLevel as Level;
    if incident.state == "closed" {
        return look("ended", "s-rest", "Closed");
    }
    match (&incident.finding, incident.level) {
        (Some(finding), _) if finding.pattern == BUDGET_PATTERN => of_need(NeedKind::OverBudget),
        (_, Level::Kill) => look("held", "s-held", "Killed"),
        (Some(_), Level::Pause) => of_need(NeedKind::Loop),
        (Some(_), _) => of_need(NeedKind::Looping),
        (None, _) => of_need(NeedKind::Paused),
    }
}

/// Shape, word, and whatever stands beside it.
pub(crate) fn state(look: Look, beside: &Markup) -> Markup {
    html! { span.state.(look.class) { (icon(look.icon)) b { (look.word) } (beside) } }
}

/// The status of a session with its duration, or its end if it ends by itself.
pub(crate) fn with_time(frame: &Frame<'_>, status: &Status) -> Markup {
    let ends = status.until.filter(|_| status.value == StatusValue::Limited);
    let time = match ends {
        Some(end) => html! { time datetime=(end) { "until " (words::moment(end, frame.now, frame.zone)) } },
        None => since(frame, status.since),
    };
    state(of_status(status), &time)
}

/// "since 13:30, 23 min"
pub(crate) fn since_clock(frame: &Frame<'_>, at: belay_core::Timestamp) -> Markup {
    html! { small { "since " (words::moment(at, frame.now, frame.zone)) ", " (since(frame, at)) } }
}

/// "until 15:10" for a hold or wait that ends by itself.
pub(crate) fn ends(frame: &Frame<'_>, status: &Status) -> Option<Markup> {
    status.until.map(|end| until(frame, end))
}
