//! Notes to a project's next session about why an earlier one was stopped.

use std::time::Duration;

use belay_core::session::KILLED;
use belay_core::{Finding, Incident, InterventionLevel, Rules, Session};
use belay_store::Tombstone;

/// The tombstone of a session that a detector stopped or that was killed for a stated reason. A manual pause leaves
/// none, and neither does a finding that may be based on events of an unverified sender, which could inject text into
/// the next session.
pub(crate) fn from_incident(session: &Session, incident: &Incident, rules: &Rules) -> Option<Tombstone> {
    let lifetime = Duration::from_secs(u64::from(rules.tombstone_days) * 86_400);
    if lifetime.is_zero() {
        return None;
    }
    let (pattern, message) = match &incident.finding {
        Some(_) if session.has_unverified_events() => return None,
        Some(finding) => (finding.pattern.clone(), describe(finding)),
        // A kill without a reason has no information for the next session.
        None if incident.level == InterventionLevel::Kill => {
            let reason = incident.sentence.strip_prefix(KILLED)?.strip_prefix(": ")?;
            ("killed".to_owned(), format!("{KILLED}: {reason}"))
        }
        None => return None,
    };
    Some(Tombstone {
        session: session.key.clone(),
        project: project_key(session)?.to_owned(),
        task: session.facts.task.clone(),
        pattern,
        message,
        at: incident.opened_at,
        expires_at: incident.opened_at + lifetime,
    })
}

fn describe(finding: &Finding) -> String {
    let part = |label: &str, text: &str| if text.is_empty() { String::new() } else { format!(" {label}: {text}") };
    let unchanged = part("Unchanged", &finding.unchanged);
    let expected = part("Progress would have been", &finding.progress_would_be);
    format!("{}{unchanged}{expected}", finding.sentence)
}

/// The project of a session, or else its working directory.
pub(crate) fn project_key(session: &Session) -> Option<&str> {
    session.facts.project.as_deref().or(session.facts.cwd.as_deref())
}

#[cfg(test)]
mod tests {
    use belay_core::{SessionKey, Timestamp};

    use super::*;

    fn of_kill(sentence: &str) -> Option<String> {
        let mut session = Session::new(SessionKey::new("codex", "01a1"));
        session.facts.project = Some("/repo".to_owned());
        let incident = Incident {
            id: "inc-1".to_owned(),
            session: session.key.clone(),
            level: InterventionLevel::Kill,
            finding: None,
            sentence: sentence.to_owned(),
            opened_at: Timestamp::from_millis(1),
            acknowledged_at: None,
            closed_at: None,
        };
        from_incident(&session, &incident, &Rules::default()).map(|tombstone| tombstone.message)
    }

    #[test]
    fn a_kill_leaves_its_reason_or_nothing() {
        assert_eq!(of_kill("A person killed this session."), None);
        let with_reason = of_kill("A person killed this session: the branch is abandoned.");
        assert_eq!(with_reason.as_deref(), Some("A person killed this session: the branch is abandoned."));
    }
}
