//! Resolves session names from prefixes. Every lookup is a range scan of an index.

use belay_core::SessionKey;
use rusqlite::{Connection, OptionalExtension};

use super::sessions::key;
use crate::error::StoreError;

/// How many candidates an ambiguous name lists.
const MAX_CANDIDATES: usize = 8;

pub(super) fn resolve(conn: &Connection, text: &str) -> rusqlite::Result<Result<SessionKey, StoreError>> {
    let by_key = SessionKey::parse(text);
    if let Some(exact) = &by_key
        && exists(conn, exact)?
    {
        return Ok(Ok(exact.clone()));
    }
    let mut found = collect(conn, BY_NATIVE_ID, &[text, text])?;
    if found.is_empty() && !text.is_empty() {
        found = collect(conn, BY_NATIVE_ID, &[text, &prefix_end(text)])?;
        found.extend(match text.split_once(':') {
            Some((agent, prefix)) => collect(conn, BY_KEY, &[agent, prefix, &prefix_end(prefix)])?,
            None => collect(conn, BY_AGENT, &[text, &prefix_end(text)])?,
        });
        found.sort();
        found.dedup();
    }
    Ok(match found.len() {
        0 => Err(StoreError::NotFound(text.to_owned())),
        1 => Ok(found.swap_remove(0)),
        many => {
            found.truncate(MAX_CANDIDATES);
            Err(StoreError::Ambiguous { text: text.to_owned(), candidates: found, more: many > MAX_CANDIDATES })
        }
    })
}

fn exists(conn: &Connection, key: &SessionKey) -> rusqlite::Result<bool> {
    conn.prepare_cached("SELECT 1 FROM sessions WHERE agent = ?1 AND native_id = ?2")?.exists([&key.agent, &key.id])
}

/// Conditions that each select a range of an index.
const BY_NATIVE_ID: &str = "native_id >= ?1 AND native_id <= ?2 ORDER BY native_id, agent";
const BY_KEY: &str = "agent = ?1 AND native_id >= ?2 AND native_id <= ?3 ORDER BY native_id";
const BY_AGENT: &str = "agent >= ?1 AND agent <= ?2 ORDER BY agent, native_id";

#[cfg(test)]
pub(super) const CONDITIONS: [&str; 3] = [BY_NATIVE_ID, BY_KEY, BY_AGENT];

fn collect(conn: &Connection, condition: &str, values: &[&str]) -> rusqlite::Result<Vec<SessionKey>> {
    let sql = format!("SELECT agent, native_id FROM sessions WHERE {condition} LIMIT {}", MAX_CANDIDATES + 1);
    conn.prepare_cached(&sql)?.query_map(rusqlite::params_from_iter(values), |row| key(row, 0))?.collect()
}

/// The upper bound of the strings that start with `prefix`.
fn prefix_end(prefix: &str) -> String {
    format!("{prefix}{}", char::MAX)
}

/// A name is unique if it is longer than the prefix it shares with either neighbour in the index.
pub(super) fn short_names(conn: &Connection, keys: &[SessionKey], at_least: usize) -> rusqlite::Result<Vec<String>> {
    let mut before = conn.prepare_cached(
        "SELECT native_id FROM sessions WHERE agent = ?1 AND native_id < ?2 ORDER BY native_id DESC LIMIT 1",
    )?;
    let mut after = conn.prepare_cached(
        "SELECT native_id FROM sessions WHERE agent = ?1 AND native_id > ?2 ORDER BY native_id LIMIT 1",
    )?;
    keys.iter()
        .map(|key| {
            let mut needed = at_least;
            for statement in [&mut before, &mut after] {
                let neighbour: Option<String> =
                    statement.query_row([&key.agent, &key.id], |row| row.get(0)).optional()?;
                if let Some(neighbour) = neighbour {
                    needed = needed.max(common_prefix_len(&key.id, &neighbour) + 1);
                }
            }
            Ok(format!("{}:{}", key.agent, key.id.chars().take(needed).collect::<String>()))
        })
        .collect()
}

/// Length of the common prefix, in characters.
fn common_prefix_len(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count()
}
