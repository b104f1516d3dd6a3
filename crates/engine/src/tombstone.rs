//! What the next session of a project should know about the one before.

use std::time::Duration;

use belay_core::{Finding, Incident, InterventionLevel, Rules, Session};
use belay_store::Tombstone;

/// What went in circles, or was killed. A person's own pause says nothing about the work.
pub(crate) fn from_incident(session: &Session, incident: &Incident, rules: &Rules) -> Option<Tombstone> {
    let life = Duration::from_secs(u64::from(rules.tombstone_days) * 86_400);
    if life.is_zero() {
        return None;
    }
    let (pattern, message) = match &incident.finding {
        Some(finding) => (finding.pattern.clone(), epitaph(finding)),
        None if incident.rung == InterventionLevel::Kill => ("killed".to_owned(), incident.sentence.clone()),
        None => return None,
    };
    Some(Tombstone {
        session: session.key.clone(),
        project: project_key(session)?.to_owned(),
        task: session.facts.task.clone(),
        pattern,
        message,
        at: incident.opened_at,
        expires_at: incident.opened_at + life,
    })
}

fn epitaph(finding: &Finding) -> String {
    let part = |label: &str, text: &str| if text.is_empty() { String::new() } else { format!(" {label}: {text}") };
    let unchanged = part("Unchanged", &finding.unchanged);
    let better = part("Progress would have been", &finding.progress_would_be);
    format!("{}{unchanged}{better}", finding.sentence)
}

/// Where a session works.
pub(crate) fn project_key(session: &Session) -> Option<&str> {
    session.facts.project.as_deref().or(session.facts.cwd.as_deref())
}
