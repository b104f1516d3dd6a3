//! Clears the history: archives or deletes the sessions that are not active.

use belay_clock::now;
use belay_core::event::{Operator, OperatorDecision};
use belay_core::status::StatusValue;
use belay_core::{Body, Event, Excerpt, SessionKey, SessionState, Source};
use belay_ipc::ErrorBody;
use belay_store::{SessionQuery, SessionRow};
use schemars::JsonSchema;
use serde::Serialize;

use crate::intake::{store_error_to_ipc, to_ipc_error};
use crate::state::DaemonState;
use crate::views::status_of;

/// Sessions read at a time.
const PAGE: usize = 500;
/// Sessions archived in one commit.
const ARCHIVED_AT_ONCE: usize = 100;

/// What was cleared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct ClearedHistory {
    /// Sessions archived: hidden from lists, their record stays.
    pub(crate) archived: u64,
    /// Sessions deleted with their record.
    pub(crate) deleted: u64,
    /// Sessions that stay because they are active or wait for a person.
    pub(crate) kept: u64,
}

/// What happens to a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Keep,
    Archive,
    Delete,
    /// It is already archived.
    Ignore,
}

/// Archives all sessions that are not active, or deletes them, archived ones included. Paused sessions stay, because they
/// wait for a person; killed ones are archived at most, because a killed session stays killed.
pub(crate) fn clear(daemon: &DaemonState, delete: bool, by: Option<&str>) -> Result<ClearedHistory, ErrorBody> {
    let mut cleared = ClearedHistory::default();
    let (mut archive, mut deleted) = (Vec::new(), Vec::new());
    let mut query = SessionQuery { archived: true, limit: PAGE, ..SessionQuery::default() };
    let at = now();
    loop {
        let store = daemon.readers.get().map_err(|error| store_error_to_ipc(&error))?;
        let page = store.sessions(&query).map_err(|error| store_error_to_ipc(&error))?;
        // The guided trial has a button of its own.
        for row in page.rows.into_iter().filter(|row| !row.key.is_trial()) {
            let status = status_of(&*store, &row, at).map_err(|error| store_error_to_ipc(&error))?;
            match fate(&row, delete, status.value) {
                Fate::Keep => cleared.kept += 1,
                Fate::Archive => archive.push(row.key),
                Fate::Delete => deleted.push(row.key),
                Fate::Ignore => {}
            }
        }
        query.after = page.next;
        if query.after.is_none() {
            break;
        }
    }
    cleared.archived = archive_all(daemon, &archive, by)?;
    cleared.deleted = daemon.decisions.delete_sessions(&deleted)?;
    Ok(cleared)
}

fn fate(row: &SessionRow, delete: bool, status: StatusValue) -> Fate {
    let held = row.state.effective();
    match &row.state {
        SessionState::Archived { .. } if held.is_paused() || held.is_killed() => Fate::Ignore,
        SessionState::Paused { .. } => Fate::Keep,
        SessionState::Killed { .. } => Fate::Archive,
        SessionState::Active if is_active(status) => Fate::Keep,
        _ if delete => Fate::Delete,
        SessionState::Archived { .. } => Fate::Ignore,
        SessionState::Active | SessionState::Ended { .. } => Fate::Archive,
    }
}

/// Whether the session works, waits for something or someone, or may still do so.
fn is_active(status: StatusValue) -> bool {
    matches!(
        status,
        StatusValue::Working | StatusValue::Waiting | StatusValue::Limited | StatusValue::Held | StatusValue::Stalled
    )
}

fn archive_all(daemon: &DaemonState, sessions: &[SessionKey], by: Option<&str>) -> Result<u64, ErrorBody> {
    let event = |session: &SessionKey| {
        let operator = Operator {
            decision: OperatorDecision::Archive,
            note: Excerpt::new("history cleared"),
            by: by.map(str::to_owned),
            caller: None,
        };
        Event::new(uuid::Uuid::now_v7(), session.clone(), Source::Operator, now(), Body::Operator(operator))
    };
    let mut archived = 0;
    for slice in sessions.chunks(ARCHIVED_AT_ONCE) {
        for result in daemon.decisions.committer.observe(slice.iter().map(event).collect()) {
            result.map_err(to_ipc_error)?;
            archived += 1;
        }
    }
    Ok(archived)
}
