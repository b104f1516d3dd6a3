//! Persists the effects of an event in its transaction: findings, incidents, notes, tombstones and outbox messages.

use belay_core::event::OperatorDecision;
use belay_core::{Body, Effect, Event, Rules, Subject};
use belay_store::{NewMessage, NoteRow, Result, Transaction};

use crate::cache::CachedSession;
use crate::tombstone;

pub(crate) fn persist(
    transaction: &mut dyn Transaction,
    held: &CachedSession,
    event: &Event,
    effects: &[Effect],
    rules: &Rules,
) -> Result<()> {
    let session = held.id;
    let is_trial = held.session.key.is_trial();
    let opened = effects.iter().any(|effect| matches!(effect, Effect::IncidentOpened(_)));
    for effect in effects {
        match effect {
            Effect::Intervened(intervention) => transaction.put_finding(session, intervention)?,
            Effect::IncidentOpened(incident) | Effect::IncidentUpdated(incident) => {
                transaction.put_incident(session, incident)?;
                let opened = matches!(effect, Effect::IncidentOpened(_));
                if let Some(tombstone) =
                    tombstone::from_incident(&held.session, incident, rules).filter(|_| opened && !is_trial)
                {
                    transaction.put_tombstone(&tombstone)?;
                }
            }
            Effect::StateChanged { .. } | Effect::NotifyOperator { .. } => {}
        }
        if let Some((key, topic)) = outbox_key(event, effect, opened).filter(|_| !is_trial) {
            let payload = serde_json::json!({
                "v": 2, "subject": Subject::from(event.session.clone()), "event": event.id, "at": event.at,
                "project": tombstone::project_key(&held.session), "effect": effect,
            });
            transaction.enqueue(&NewMessage { key, topic: topic.to_owned(), payload, at: event.at })?;
        }
    }
    match &event.body {
        Body::Operator(operator) if operator.decision != OperatorDecision::MarkSeen => transaction.put_note(
            session,
            &NoteRow {
                session: event.session.clone(),
                at: event.at,
                decision: operator.decision.clone(),
                by: operator.by.clone(),
                text: operator.note.as_str().to_owned(),
            },
        ),
        _ => Ok(()),
    }
}

/// Key and topic of the outbox message, if the operator gets one. The key makes the message unique across all writers.
fn outbox_key(event: &Event, effect: &Effect, opened: bool) -> Option<(String, &'static str)> {
    match effect {
        Effect::StateChanged { .. } => None,
        // The incident's alert already includes the finding.
        Effect::Intervened(done) if !done.alert || done.dry_run || opened => None,
        Effect::Intervened(done) => Some((format!("intervened:{}", done.finding.id), "intervened")),
        Effect::IncidentOpened(incident) => Some((format!("incident_opened:{}", incident.id), "incident_opened")),
        Effect::IncidentUpdated(incident) => {
            let step = if incident.closed_at.is_some() { "closed" } else { "acknowledged" };
            Some((format!("incident_{step}:{}", incident.id), "incident_updated"))
        }
        Effect::NotifyOperator { pattern, .. } => {
            Some((format!("notify_operator:{}:{pattern}:{}", event.session, event.identity_text()), "notify_operator"))
        }
    }
}
