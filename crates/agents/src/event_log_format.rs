//! Belay's own events, one JSON object a line: what `belay events post` takes and `belay events tail
//! --json` gives. So a log of one machine can be audited on another, and what a sensor of your own
//! would lead to can be tried out before it is installed.

use std::path::Path;

use belay_core::{Event, SessionKey};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::transcript::{
    LineError, LineParser, ReadError, ReadStats, Sink, TranscriptEventBuilder, TranscriptFormat, file_stem, first_line,
    read_lines,
};

/// The format.
#[derive(Debug)]
pub struct EventLogFormat;

impl TranscriptFormat for EventLogFormat {
    fn agent(&self) -> &'static str {
        "events"
    }

    fn recognises(&self, _path: &Path, head: &[u8]) -> bool {
        let line = first_line(head);
        let is_event = |text: &str| serde_json::from_str::<Signature<'_>>(text).is_ok();
        is_event(&line) || stored(&line).is_some_and(is_event)
    }

    fn read(&self, path: &Path, sink: &mut dyn Sink) -> Result<ReadStats, ReadError> {
        let mut teller = TranscriptEventBuilder::new(SessionKey::new(self.agent(), file_stem(path)), sink);
        read_lines(path, &mut EventLogReader, &mut teller)
    }
}

/// What every event has and no agent's line.
#[derive(Deserialize)]
struct Signature<'a> {
    #[serde(rename = "id")]
    _id: String,
    #[serde(rename = "session")]
    _session: SessionKey,
    #[serde(borrow, rename = "kind")]
    _kind: &'a RawValue,
}

/// The event in a line of the log, which stands beside its number there.
fn stored(line: &str) -> Option<&str> {
    #[derive(Deserialize)]
    struct StoredEventLine<'a> {
        #[serde(borrow)]
        event: &'a RawValue,
    }
    serde_json::from_str::<StoredEventLine<'_>>(line).ok().map(|stored| stored.event.get())
}

struct EventLogReader;

impl LineParser for EventLogReader {
    fn line(&mut self, line: &str, teller: &mut TranscriptEventBuilder<'_>) -> Result<(), LineError> {
        let event = |text: &str| serde_json::from_str::<Event>(text).ok();
        teller.push_event(event(line).or_else(|| event(stored(line)?)).ok_or_else(|| LineError::classify(line))?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE_MARKER: &str =
        r#"{"id":"e1","session":{"agent":"codex","id":"s1"},"kind":"prompt","by":"person","text":"hi"}"#;

    #[test]
    fn events_are_told_as_they_were_written() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("log.jsonl");
        let lines = format!("{LINE_MARKER}\n{{\"seq\":1,\"event\":{LINE_MARKER}}}\n{{\"id\":\"e2\"}}\nnonsense\n");
        std::fs::write(&path, lines).expect("written");
        let mut events = Vec::new();
        let tally = EventLogFormat.read(&path, &mut |event| events.push(event)).expect("read");
        let event = serde_json::from_str::<Event>(LINE_MARKER).expect("an event");
        assert_eq!(events, [event.clone(), event]);
        assert_eq!(tally.damaged_lines(), 1, "what is no event is passed, what is no JSON is damage");
    }

    #[test]
    fn only_events_are_taken_for_events() {
        let path = Path::new("x.jsonl");
        assert!(EventLogFormat.recognises(path, LINE_MARKER.as_bytes()));
        assert!(EventLogFormat.recognises(path, format!("{{\"seq\":1,\"event\":{LINE_MARKER}}}").as_bytes()));
        assert!(!EventLogFormat.recognises(path, br#"{"id":"a","session":"b","kind":"tool_call"}"#));
        assert!(!EventLogFormat.recognises(path, br#"{"type":"session","id":"a","version":3}"#));
    }
}
