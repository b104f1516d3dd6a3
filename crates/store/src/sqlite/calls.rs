//! Calls of sessions, and spend by hour.

use belay_core::session::{CallFigures, CallMark, CallRecord};
use belay_core::{Digest, SessionKey, Timestamp};
use rusqlite::{Connection, Row, params};

use super::transaction::to_signed;
use crate::rows::{CallQuery, SpendRow};
use crate::session::SessionId;

/// Default number of calls in a result.
const DEFAULT_LIMIT: usize = 120;

pub(super) fn put(conn: &Connection, session: SessionId, call: &CallRecord) -> rusqlite::Result<()> {
    let figures = call.figures;
    conn.prepare_cached(
        "INSERT INTO calls (session, call, seq, at, batch, action, outcome, first, progress, mark, what, result, file, reads,
                            checks, distinct_pairs, cost_micros, since_progress_micros, fresh_tokens, cached_tokens,
                            context_percent)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)
         ON CONFLICT DO UPDATE SET
             seq = max(seq, excluded.seq), outcome = excluded.outcome, first = excluded.first, progress = excluded.progress, mark = excluded.mark,
             result = excluded.result, file = coalesce(excluded.file, file),
             distinct_pairs = iif(?22, excluded.distinct_pairs, distinct_pairs),
             cost_micros = iif(?22, excluded.cost_micros, cost_micros),
             since_progress_micros = iif(?22, excluded.since_progress_micros, since_progress_micros),
             fresh_tokens = iif(?22, excluded.fresh_tokens, fresh_tokens),
             cached_tokens = iif(?22, excluded.cached_tokens, cached_tokens),
             context_percent = iif(?22, excluded.context_percent, context_percent)",
    )?
    .execute(params![
        session.0,
        to_signed(call.ordinal),
        to_signed(call.seq),
        call.at.millis(),
        call.batch,
        call.action.0.cast_signed(),
        call.outcome.0.cast_signed(),
        call.first,
        call.progress,
        call.mark.as_str(),
        call.what,
        call.result,
        call.file,
        call.reads,
        call.check,
        to_signed(figures.unwrap_or_default().distinct),
        to_signed(figures.unwrap_or_default().cost_micros),
        to_signed(figures.unwrap_or_default().since_progress_micros),
        to_signed(figures.unwrap_or_default().fresh_tokens),
        to_signed(figures.unwrap_or_default().cached_tokens),
        figures.and_then(|figures| figures.context_percent),
        figures.is_some(),
    ])
    .map(drop)
}

pub(super) fn list(conn: &Connection, of: &SessionKey, query: &CallQuery) -> rusqlite::Result<Vec<CallRecord>> {
    let limit = if query.limit == 0 { DEFAULT_LIMIT } else { query.limit };
    let mut calls: Vec<CallRecord> = conn
        .prepare_cached(
            "SELECT call, seq, at, batch, action, outcome, first, progress, mark, what, result, file, reads, checks,
                    distinct_pairs, cost_micros, since_progress_micros, fresh_tokens, cached_tokens, context_percent
             FROM calls WHERE session = (SELECT id FROM sessions WHERE agent = ?1 AND native_id = ?2) AND call < ?3
             ORDER BY call DESC LIMIT ?4",
        )?
        .query_map(
            params![
                of.agent,
                of.id,
                to_signed(query.before.unwrap_or(u64::MAX)),
                i64::try_from(limit).unwrap_or(i64::MAX)
            ],
            read,
        )?
        .collect::<rusqlite::Result<_>>()?;
    calls.reverse();
    Ok(calls)
}

fn read(row: &Row<'_>) -> rusqlite::Result<CallRecord> {
    Ok(CallRecord {
        ordinal: row.get(0)?,
        seq: row.get(1)?,
        at: Timestamp::from_millis(row.get(2)?),
        batch: row.get(3)?,
        action: Digest(row.get::<_, i64>(4)?.cast_unsigned()),
        outcome: Digest(row.get::<_, i64>(5)?.cast_unsigned()),
        first: row.get(6)?,
        progress: row.get(7)?,
        mark: CallMark::from_name(row.get_ref(8)?.as_str()?),
        what: row.get(9)?,
        result: row.get(10)?,
        file: row.get(11)?,
        reads: row.get(12)?,
        check: row.get(13)?,
        figures: Some(CallFigures {
            distinct: row.get(14)?,
            cost_micros: row.get(15)?,
            since_progress_micros: row.get(16)?,
            fresh_tokens: row.get(17)?,
            cached_tokens: row.get(18)?,
            context_percent: row.get(19)?,
        }),
    })
}

pub(super) fn add_spend(conn: &Connection, spend: &SpendRow) -> rusqlite::Result<()> {
    conn.prepare_cached(
        // A sum beyond 64 bits becomes REAL, which the table rejects.
        "INSERT INTO spend (hour, agent, project, model, tokens, cost_micros, unpriced_micros)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
         ON CONFLICT DO UPDATE SET
             tokens = iif(tokens > ?8 - excluded.tokens, ?8, tokens + excluded.tokens),
             cost_micros = iif(cost_micros > ?8 - excluded.cost_micros, ?8, cost_micros + excluded.cost_micros),
             unpriced_micros = iif(unpriced_micros > ?8 - excluded.unpriced_micros, ?8,
                                   unpriced_micros + excluded.unpriced_micros)",
    )?
    .execute(params![
        spend.hour,
        spend.agent,
        spend.project,
        spend.model,
        to_signed(spend.tokens),
        to_signed(spend.cost_micros),
        to_signed(spend.unpriced_micros),
        i64::MAX
    ])
    .map(drop)
}

pub(super) fn spend(conn: &Connection, from: i64, to: i64) -> rusqlite::Result<Vec<SpendRow>> {
    conn.prepare_cached(
        "SELECT hour, agent, project, model, tokens, cost_micros, unpriced_micros FROM spend
         WHERE hour >= ?1 AND hour < ?2 ORDER BY hour, agent, project, model",
    )?
    .query_map([from, to], |row| {
        Ok(SpendRow {
            hour: row.get(0)?,
            agent: row.get(1)?,
            project: row.get(2)?,
            model: row.get(3)?,
            tokens: row.get(4)?,
            cost_micros: row.get(5)?,
            unpriced_micros: row.get(6)?,
        })
    })?
    .collect()
}
