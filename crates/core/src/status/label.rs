//! A status in words.

use super::{Status, StatusValue, WaitingFor};

impl Status {
    /// The status as the end of a sentence.
    pub fn phrase(&self) -> &'static str {
        match (self.value, self.waiting_for) {
            (StatusValue::Waiting, Some(WaitingFor::Permission)) => "waiting for permission",
            (StatusValue::Waiting, Some(WaitingFor::Question)) => "waiting for an answer",
            (StatusValue::Waiting, Some(WaitingFor::PlanApproval)) => "waiting for plan approval",
            (StatusValue::Waiting, Some(WaitingFor::Dialog)) => "waiting at a login or trust dialog",
            _ => self.label(),
        }
    }

    /// The status in a word or two, for lists.
    pub fn label(&self) -> &'static str {
        match (self.value, self.waiting_for) {
            (StatusValue::Waiting, Some(WaitingFor::Permission)) => "permission",
            (StatusValue::Waiting, Some(WaitingFor::Question)) => "question",
            (StatusValue::Waiting, Some(WaitingFor::PlanApproval)) => "plan approval",
            (StatusValue::Waiting, Some(WaitingFor::Dialog)) => "dialog",
            (StatusValue::Waiting, _) => "waiting",
            (StatusValue::Working, _) => "working",
            (StatusValue::Limited, _) => "limited",
            (StatusValue::Held, _) => "held",
            (StatusValue::Finished, _) => "finished",
            (StatusValue::Idle, _) => "idle",
            (StatusValue::Failed, _) => "failed",
            (StatusValue::Stalled, _) => "stalled",
            (StatusValue::Ended, _) => "ended",
            (StatusValue::Unknown, _) => "unknown",
        }
    }
}
