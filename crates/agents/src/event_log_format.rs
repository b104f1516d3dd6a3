//! Belay's own events as JSON lines, as `belay events post` reads and `belay events tail --json` writes them.
//!
//! This allows auditing the log of another machine and testing a custom sensor before it is installed.

use std::path::Path;

use belay_core::{Event, SessionKey};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::transcript::{LineError, LineParser, TranscriptEventBuilder, TranscriptFormat, first_line};

/// JSON lines of events.
#[derive(Debug)]
pub struct EventLogFormat;

impl TranscriptFormat for EventLogFormat {
    fn agent(&self) -> &'static str {
        "events"
    }

    fn recognises(&self, _path: &Path, head: &[u8]) -> bool {
        let line = first_line(head);
        let is_event = |text: &str| serde_json::from_str::<Signature<'_>>(text).is_ok();
        is_event(&line) || logged_event(&line).is_some_and(is_event)
    }

    fn line_parser(&self, _: &Path) -> Option<Box<dyn LineParser + Send>> {
        Some(Box::new(EventLogParser))
    }
}

/// Fields that every event has and no agent's record.
#[derive(Deserialize)]
struct Signature<'a> {
    #[serde(rename = "id")]
    _id: String,
    #[serde(rename = "session")]
    _session: SessionKey,
    #[serde(borrow, rename = "kind")]
    _kind: &'a RawValue,
}

/// The event in a line of the log, `{"seq": ..., "event": ...}`.
fn logged_event(line: &str) -> Option<&str> {
    #[derive(Deserialize)]
    struct LogLine<'a> {
        #[serde(borrow)]
        event: &'a RawValue,
    }
    serde_json::from_str::<LogLine<'_>>(line).ok().map(|line| line.event.get())
}

struct EventLogParser;

impl LineParser for EventLogParser {
    fn line(&mut self, line: &str, builder: &mut TranscriptEventBuilder<'_>) -> Result<(), LineError> {
        let event = |text: &str| serde_json::from_str::<Event>(text).ok();
        builder
            .push_event(event(line).or_else(|| event(logged_event(line)?)).ok_or_else(|| LineError::classify(line))?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENT: &str =
        r#"{"id":"e1","session":{"agent":"codex","id":"s1"},"kind":"prompt","by":"person","text":"hi"}"#;

    #[test]
    fn events_are_read_as_written() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("log.jsonl");
        let lines = format!("{EVENT}\n{{\"seq\":1,\"event\":{EVENT}}}\n{{\"id\":\"e2\"}}\nnonsense\n");
        std::fs::write(&path, lines).expect("written");
        let mut events = Vec::new();
        let stats = EventLogFormat.read(&path, &mut |event| events.push(event)).expect("read");
        let event = serde_json::from_str::<Event>(EVENT).expect("an event");
        assert_eq!(events, [event.clone(), event]);
        assert_eq!(stats.damaged_lines(), 1, "unknown JSON is skipped, invalid JSON is damage");
    }

    #[test]
    fn only_events_are_recognised() {
        let path = Path::new("x.jsonl");
        assert!(EventLogFormat.recognises(path, EVENT.as_bytes()));
        assert!(EventLogFormat.recognises(path, format!("{{\"seq\":1,\"event\":{EVENT}}}").as_bytes()));
        assert!(!EventLogFormat.recognises(path, br#"{"id":"a","session":"b","kind":"tool_call"}"#));
        assert!(!EventLogFormat.recognises(path, br#"{"type":"session","id":"a","version":3}"#));
    }
}
