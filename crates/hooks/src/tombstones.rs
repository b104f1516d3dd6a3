//! What the next session should know about those before it, and when it need not know any more.

use belay_agents::hook::ParsedHook;
use belay_core::Timestamp;
use belay_engine::EngineAccess;
use belay_store::Tombstone;
use belay_store::session::SessionRow;

use crate::{engine_queries, local_facts};

/// More of them would be noise.
const MAX_REMINDERS: usize = 3;

/// A session that made so many calls without being stopped has got past what stopped the others.
const CLEARED_AFTER_CALLS: u64 = 10;

/// What to tell a session that begins; `None` when nothing happened before it.
pub(crate) fn reminder_text(engine: &dyn EngineAccess, heard: &ParsedHook, now: Timestamp) -> Option<String> {
    let project = local_facts::project_root(heard.cwd.as_deref()?)?;
    let task = heard
        .session
        .as_ref()
        .and_then(|session| engine_queries::session(engine, session))
        .and_then(|row| row.details.facts.task);
    let mut stones = engine_queries::tombstones(engine, &project, now);
    stones.retain(|stone| Some(&stone.session) != heard.session.as_ref() && concerns(stone, task.as_deref()));
    stones.truncate(MAX_REMINDERS);
    if stones.is_empty() {
        return None;
    }
    let mut text = String::from(
        "Note from Belay, which watches this session: earlier work in this project was stopped because it went in \
         circles. Do not repeat what led there; look for the cause first.",
    );
    for stone in stones {
        text.push_str("\n- ");
        text.push_str(&stone.message);
    }
    Some(text)
}

/// A stone of a named task is for that task only.
fn concerns(stone: &Tombstone, task: Option<&str>) -> bool {
    match (&stone.task, task) {
        (Some(theirs), Some(ours)) => theirs == ours,
        (Some(_), None) | (None, _) => true,
    }
}

/// A session ends. Did it get past what stopped those before it?
pub(crate) fn clear_if_overcome(engine: &dyn EngineAccess, row: &SessionRow, now: Timestamp) {
    let facts = &row.details.facts;
    let stopped = row.details.counters.pauses > 0 || row.state.is_paused() || row.state.is_killed();
    if stopped || row.details.counters.calls < CLEARED_AFTER_CALLS {
        return;
    }
    let Some(project) = facts.project.as_deref().or(facts.cwd.as_deref()) else { return };
    for stone in engine_queries::tombstones(engine, project, now) {
        // Only what it could know of: stones from before it began.
        if stone.at < facts.started_at && stone.session != row.key && concerns(&stone, facts.task.as_deref()) {
            engine_queries::put_tombstone(engine, &Tombstone { expires_at: now, ..stone });
        }
    }
}
