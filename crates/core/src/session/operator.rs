//! Applies operator decisions.

use std::time::Duration;

use super::{ResumeCondition, Session, SessionState};
use crate::detect::MESSAGE_PREFIX;
use crate::digest::Digest;
use crate::effect::{Effect, Incident, InterventionLevel};
use crate::event::{Event, Operator, OperatorDecision};
use crate::policy::NOTE_PREFIX;
use crate::time::Timestamp;

/// Maximum cooldown of a resume: a day.
pub const MAX_COOLDOWN: Duration = Duration::from_secs(86_400);

/// The sentences of incidents that an operator opens; a note may follow.
pub(super) const PAUSED: &str = "A person paused this session";
pub const KILLED: &str = "A person killed this session";

impl Session {
    pub(super) fn apply_operator_decision(&mut self, event: &Event, operator: &Operator, effects: &mut Vec<Effect>) {
        let at = event.at;
        match &operator.decision {
            OperatorDecision::Pause => self.pause_by_operator(event, operator, effects),
            OperatorDecision::Resume { cooldown_secs, plan, require_plan, reset } => {
                if *reset {
                    self.reset_evidence();
                }
                let was_held = self.state.effective().is_paused();
                self.resume(at, *cooldown_secs, *require_plan, effects);
                if was_held && !operator.note.is_empty() {
                    self.deliver_note(event, operator.note.as_str());
                }
                if let Some(plan) = plan {
                    self.record_plan(plan.as_str(), at, effects);
                }
            }
            OperatorDecision::Acknowledge => {
                if let Some(incident) = &mut self.incident {
                    incident.acknowledged_at.get_or_insert(at);
                    effects.push(Effect::IncidentUpdated(incident.clone()));
                }
            }
            OperatorDecision::Kill => self.kill_by_operator(event, operator, effects),
            OperatorDecision::Reset => self.reset_evidence(),
            OperatorDecision::Archive => {
                if !self.state.is_archived() {
                    let was = Box::new(std::mem::take(&mut self.state));
                    self.state = SessionState::Archived { at, was };
                }
            }
            OperatorDecision::Budget(budget) => self.set_budget(budget),
            OperatorDecision::Configure { settings } => self.settings.clone_from(settings),
            OperatorDecision::Allow { finding } => {
                if let Some((action, outcome)) = self.findings_mut().allow(finding) {
                    self.window.allow(action, outcome);
                }
            }
            OperatorDecision::MarkSeen => self.facts.seen_at = Some(at),
            OperatorDecision::Answer { .. } => self.activity.permission_since = None,
            OperatorDecision::Note => {}
        }
        if let Some(agent) = operator.caller.as_ref().and_then(|caller| caller.agent.as_ref()) {
            let sentence = match decision_of_agent(&operator.decision) {
                None => operator.note.to_string(),
                Some(done) => format!("A process of an agent ({agent}) {done}."),
            };
            effects.push(Effect::NotifyOperator { pattern: "agent_decision".to_owned(), sentence });
        }
    }

    /// The agent reads the note of a resume instead of the result of its next call, which it may then make again.
    fn deliver_note(&mut self, event: &Event, note: &str) {
        let id = incident_id(self, event, "note").replacen("inc-", NOTE_PREFIX, 1);
        let message = format!(
            "{MESSAGE_PREFIX}A person resumed this session and says: {note}\nThis call was not run. Take the note into account, then go on."
        );
        let newest = self.counters.calls.saturating_sub(1);
        self.findings_mut().queue_note(id, message, newest);
    }

    fn pause_by_operator(&mut self, event: &Event, operator: &Operator, effects: &mut Vec<Effect>) {
        if self.state.is_paused() || self.state.is_killed() {
            return;
        }
        let incident = self.operator_incident(event, operator, InterventionLevel::Pause, PAUSED);
        self.state = SessionState::Paused {
            incident: incident.id.clone(),
            since: event.at,
            until: None,
            gate: ResumeCondition::Operator,
        };
        self.open_incident(incident, effects);
    }

    fn kill_by_operator(&mut self, event: &Event, operator: &Operator, effects: &mut Vec<Effect>) {
        if self.state.is_killed() {
            return;
        }
        self.close_incident(event.at, effects);
        // There is nothing left to decide, so the incident is a record and not a task.
        let incident = Incident {
            closed_at: Some(event.at),
            ..self.operator_incident(event, operator, InterventionLevel::Kill, KILLED)
        };
        let killed = SessionState::Killed { incident: incident.id.clone(), since: event.at };
        self.state = match &self.state {
            SessionState::Archived { at, .. } => SessionState::Archived { at: *at, was: Box::new(killed) },
            _ => killed,
        };
        self.open_incident(incident, effects);
    }

    /// Ends a pause: immediately, after a cooldown, or once a changed plan is named. With both, the plan
    /// counts only after the cooldown. A killed session stays killed.
    fn resume(&mut self, at: Timestamp, cooldown_secs: Option<u64>, require_plan: bool, effects: &mut Vec<Effect>) {
        let cooldown = cooldown_secs.filter(|secs| *secs > 0).map(|secs| Duration::from_secs(secs).min(MAX_COOLDOWN));
        let held = match std::mem::take(&mut self.state) {
            SessionState::Archived { was, .. } => *was,
            other => other,
        };
        self.state = match held {
            SessionState::Paused { incident, since, .. } if require_plan || cooldown.is_some() => {
                let gate = if require_plan { ResumeCondition::Plan } else { ResumeCondition::Operator };
                SessionState::Paused { incident, since, until: cooldown.map(|cooldown| at + cooldown), gate }
            }
            SessionState::Paused { .. } => {
                self.close_incident(at, effects);
                // The operator has reviewed the evidence.
                self.clear_evidence();
                SessionState::Active
            }
            other => other,
        };
    }

    /// Discards the evidence; the log stays complete.
    fn reset_evidence(&mut self) {
        self.mark_progress();
        self.clear_evidence();
    }

    fn operator_incident(&self, event: &Event, operator: &Operator, level: InterventionLevel, what: &str) -> Incident {
        let sentence = match operator.note.as_str() {
            "" => format!("{what}."),
            note => format!("{what}: {note}."),
        };
        Incident {
            id: incident_id(self, event, what),
            session: self.key.clone(),
            level,
            finding: None,
            sentence,
            opened_at: event.at,
            acknowledged_at: None,
            closed_at: None,
        }
    }

    pub(crate) fn open_incident(&mut self, incident: Incident, effects: &mut Vec<Effect>) {
        self.incident = Some(incident.clone());
        effects.push(Effect::IncidentOpened(incident));
    }

    pub(super) fn close_incident(&mut self, at: Timestamp, effects: &mut Vec<Effect>) {
        if let Some(mut incident) = self.incident.take() {
            incident.closed_at = Some(at);
            effects.push(Effect::IncidentUpdated(incident));
        }
    }
}

/// Derived from the event, so that a replay yields the same ids.
pub(super) fn incident_id(session: &Session, event: &Event, what: &str) -> String {
    let key = session.key.to_string();
    let digest = Digest::of_parts([key.as_bytes(), event.identity_text().as_bytes(), what.as_bytes()]);
    format!("inc-{:010x}", digest.0 & 0xff_ffff_ffff)
}

/// What an agent's process did, for the alert; `None` for a note, which is its own text. The command line lets an agent
/// hold its own session back; every other decision needs `--as-operator`.
fn decision_of_agent(decision: &OperatorDecision) -> Option<String> {
    let confirmed = match decision {
        OperatorDecision::Note => return None,
        // Not that it looked, but that a person no longer has to.
        OperatorDecision::MarkSeen => return Some("marked this session as seen".to_owned()),
        OperatorDecision::Pause
        | OperatorDecision::Acknowledge
        | OperatorDecision::Archive
        | OperatorDecision::Configure { .. } => "",
        OperatorDecision::Resume { .. }
        | OperatorDecision::Kill
        | OperatorDecision::Reset
        | OperatorDecision::Budget { .. }
        | OperatorDecision::Allow { .. }
        | OperatorDecision::Answer { .. } => ", confirmed with --as-operator",
    };
    Some(format!("{} this session{confirmed}", decision.past_tense()))
}
