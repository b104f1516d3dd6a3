//! What a person can decide about a session.

use belay_core::SessionKey;
use belay_core::event::{OperatorDecision, PermissionAnswer};
use belay_core::session::ResumeRequires;
use belay_ipc::views::SessionView;

use crate::prompt;

/// A decision to be recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    pub session: SessionKey,
    pub action: Action,
}

/// What is decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    Acknowledge,
    Resume {
        /// What the agent reads; may be empty.
        note: String,
    },
    Kill,
    /// Sets the budget, as text such as `$10` or `2M`.
    RaiseBudget {
        amount: String,
        /// Also resume the session.
        resume: bool,
    },
    MarkSeen,
    Archive,
    /// Answers a permission prompt.
    Answer {
        approval: String,
        /// Hash of what was shown.
        hash: String,
        answer: PermissionAnswer,
        /// Why it is denied, which the agent reads; may be empty.
        why: String,
    },
}

impl Action {
    /// Why the action is not possible now, in a sentence.
    pub(crate) fn refusal(&self, session: &SessionView) -> Option<String> {
        let name = &session.short;
        let hold = session.held.as_ref().map(|held| held.resume_requires);
        let killed = hold == Some(ResumeRequires::Never);
        match self {
            Self::Acknowledge if session.held.is_none() => {
                Some(format!("Nothing to acknowledge: {name} has no open incident."))
            }
            Self::Resume { .. } if hold.is_none() => Some(format!("Not resumed: {name} is not held.")),
            Self::Resume { .. } => {
                let refusal = OperatorDecision::RESUME.refusal(hold)?;
                Some(format!("{}; {}.", refusal.message(name), refusal.hint()))
            }
            Self::Kill if killed => Some(format!("{name} is already killed.")),
            Self::RaiseBudget { .. } if killed => Some(format!("Budget not changed: {name} is killed.")),
            _ => None,
        }
    }

    /// The command line that does the same.
    pub(crate) fn command_line(&self, short: &str) -> String {
        match self {
            Self::Acknowledge => format!("belay ack {short}"),
            Self::Resume { note } if note.is_empty() => format!("belay resume {short}"),
            Self::Resume { note } => format!("belay resume {short} --note {}", quoted(note)),
            Self::Kill => format!("belay kill {short}"),
            Self::RaiseBudget { amount, resume } => {
                let amount = if amount.is_empty() { "AMOUNT".to_owned() } else { quoted(amount) };
                format!("belay budget {short} {amount}{}", if *resume { " --resume" } else { "" })
            }
            Self::MarkSeen => format!("belay seen {short}"),
            Self::Archive => format!("belay archive {short}"),
            Self::Answer { approval, answer, why, .. } => prompt::command_line(approval, *answer, why),
        }
    }
}

/// A word of a shell command.
pub(crate) fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/' | ':' | '@');
    match !text.is_empty() && text.chars().all(plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}
