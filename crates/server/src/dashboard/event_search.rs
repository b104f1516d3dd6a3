//! Searches events for text. One search reads a bounded number of events and tells where to continue.

use belay_store::{EventQuery, EventRow, Order, Result, Store};

use super::event_line;

/// Events that are read at a time.
const BATCH: usize = 1000;
/// Events that one search reads at most.
const MAX_READ: usize = 20_000;

/// What a search found.
#[derive(Debug, Default)]
pub(crate) struct FoundEvents {
    /// In the order of the log.
    pub(crate) rows: Vec<EventRow>,
    /// Where to continue: `after`, or `before` for [`Order::Last`]. `None` if everything was read.
    pub(crate) next: Option<u64>,
}

/// Finds the first or last events whose line contains all words of a text, in upper or lower case. `query.limit` is the
/// maximum number of matches.
pub(crate) fn search_events(store: &dyn Store, query: &EventQuery, text: &str) -> Result<FoundEvents> {
    let words = Words::new(text);
    let limit = query.limit;
    let mut query = EventQuery { limit: BATCH, ..query.clone() };
    let position = |query: &EventQuery, row: &EventRow| match query.session {
        Some(_) => row.seq,
        None => u64::try_from(row.ord).unwrap_or(0),
    };
    let mut found = FoundEvents::default();
    for _ in 0..MAX_READ / BATCH {
        let mut rows = store.events(&query)?;
        let is_end = rows.len() < BATCH;
        if query.order == Order::Last {
            rows.reverse();
        }
        let read_to = rows.last().map(|row| position(&query, row));
        for row in rows.into_iter().filter(|row| words.are_in(row)) {
            let at = position(&query, &row);
            found.rows.push(row);
            if found.rows.len() == limit {
                found.next = Some(at);
                return Ok(found.in_log_order(query.order));
            }
        }
        if is_end {
            found.next = None;
            return Ok(found.in_log_order(query.order));
        }
        found.next = read_to;
        match query.order {
            Order::Last => query.before = read_to,
            Order::First => query.after = read_to,
        }
    }
    Ok(found.in_log_order(query.order))
}

impl FoundEvents {
    fn in_log_order(mut self, order: Order) -> Self {
        if order == Order::Last {
            self.rows.reverse();
        }
        self
    }
}

/// The words of a search, in lower case.
struct Words(Vec<Word>);

struct Word {
    text: String,
    /// As it is written in JSON.
    json: String,
}

impl Words {
    fn new(text: &str) -> Self {
        let word = |word: &str| {
            let text = word.to_lowercase();
            let json = serde_json::Value::from(text.as_str()).to_string();
            Word { json: json[1..json.len() - 1].to_owned(), text }
        };
        Self(text.split_whitespace().map(word).collect())
    }

    fn are_in(&self, row: &EventRow) -> bool {
        // Most events are ruled out without being parsed. Some lines have words that are not in their JSON.
        let json = row.json.to_lowercase();
        let is_worded = matches!(&*row.kind, "check_ran" | "permission_answered" | "approval_ended");
        if !is_worded && !self.0.iter().all(|word| json.contains(&word.json)) {
            return false;
        }
        let Ok(event) = row.event() else { return false };
        let (what, outcome) = event_line::describe(&event);
        let line = format!("{} {what} {outcome}", row.kind.replace('_', " ")).to_lowercase();
        self.0.iter().all(|word| line.contains(&word.text))
    }
}

#[cfg(test)]
mod tests {
    use belay_core::{Digest, SessionKey, Timestamp};

    use super::*;

    fn row(kind: &str, json: serde_json::Value) -> EventRow {
        let mut event = serde_json::json!({ "v": 1, "id": "e", "session": { "agent": "a", "id": "s" }, "kind": kind });
        if let (Some(event), Some(fields)) = (event.as_object_mut(), json.as_object()) {
            event.extend(fields.clone());
        }
        EventRow {
            ord: 1,
            session: SessionKey::new("a", "s"),
            seq: 1,
            at: Timestamp::UNKNOWN,
            kind: kind.to_owned(),
            rules: Digest(0),
            json: event.to_string(),
        }
    }

    #[test]
    fn words_are_found_in_what_the_line_says() {
        let call =
            row("tool_called", serde_json::json!({ "tool": "Bash", "input": { "command": "npm test -- \"Cart\"" } }));
        for text in ["npm", "CART\"", "test npm", "tool called", ""] {
            assert!(Words::new(text).are_in(&call), "{text}");
        }
        for text in ["yarn", "npm yarn", "agent"] {
            assert!(!Words::new(text).are_in(&call), "{text}: only in the record, not in its line");
        }
        let check = row("check_ran", serde_json::json!({ "check": "test", "command": "make", "ok": true }));
        assert!(Words::new("make passed").are_in(&check));
        let answered = row("permission_answered", serde_json::json!({ "allowed": false }));
        assert!(Words::new("denied in the terminal").are_in(&answered));
    }
}
