//! What `belay exec --json` printed.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use belay_agents::headless::HeadlessEvent;
use belay_core::Excerpt;
use belay_core::task::Spend;
use belay_drive::headless::HeadlessResult;
use serde::Deserialize;

/// One line of the output.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum OutputLine {
    Result { result: Box<HeadlessResult> },
    Event(HeadlessEvent),
}

/// What a run has printed so far.
#[derive(Debug, Default)]
pub struct RunOutput {
    /// How the run ended, if it did.
    pub result: Option<HeadlessResult>,
    /// The agent's own session id.
    pub session: Option<String>,
    /// Progress as text, newest last.
    pub lines: Vec<String>,
    /// Usage so far, which counts if the run dies.
    pub spend: Spend,
}

/// Bytes at the end of the output that are read for the last lines.
const TAIL_BYTES: u64 = 64 * 1024;
/// A run prints at most this much: the rest is not read.
const MAX_BYTES: u64 = 256 * 1024 * 1024;
/// Longest text of an agent in the progress.
const MAX_TEXT_BYTES: usize = 64 * 1024;
/// Longest line of progress.
const MAX_LINE_BYTES: usize = 400;

impl RunOutput {
    /// Everything that the run printed.
    pub fn read(path: &Path) -> io::Result<Self> {
        let mut bytes = Vec::new();
        File::open(path)?.take(MAX_BYTES).read_to_end(&mut bytes)?;
        // A run that was killed may have printed half a character.
        Ok(Self::parse(String::from_utf8_lossy(&bytes).lines()))
    }

    /// The end of what the run printed.
    pub fn read_tail(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let start = file.metadata()?.len().saturating_sub(TAIL_BYTES);
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
        let text = String::from_utf8_lossy(&bytes);
        // The first line is probably cut off.
        Ok(Self::parse(text.lines().skip(usize::from(start > 0))))
    }

    /// The agent's own session id, which is printed early.
    pub fn read_session(path: &Path) -> Option<String> {
        let mut bytes = Vec::new();
        File::open(path).ok()?.take(TAIL_BYTES).read_to_end(&mut bytes).ok()?;
        Self::parse(String::from_utf8_lossy(&bytes).lines()).session
    }

    fn parse<'t>(lines: impl Iterator<Item = &'t str>) -> Self {
        let mut output = Self::default();
        let mut text = String::new();
        // The last line of a run that was killed may be cut off.
        for line in lines.filter_map(|line| serde_json::from_str(line).ok()) {
            match line {
                OutputLine::Result { result } => output.result = Some(*result),
                OutputLine::Event(HeadlessEvent::TextDelta { text: delta }) => {
                    text.push_str(&delta);
                    continue;
                }
                OutputLine::Event(event) => {
                    output.push_text(&std::mem::take(&mut text));
                    output.event(event);
                }
            }
        }
        output.push_text(&text);
        output
    }

    fn event(&mut self, event: HeadlessEvent) {
        match event {
            HeadlessEvent::Session { id } => self.session = Some(id),
            HeadlessEvent::Text { text } => self.push_text(&text),
            HeadlessEvent::ToolCall { tool, input } => self.push_text(&format!("{tool}: {input}")),
            HeadlessEvent::PermissionDenied { tool, reason } => {
                self.push_text(&format!("{tool} was refused: {reason}"));
            }
            HeadlessEvent::Limit { message, .. } => self.push_text(&format!("limit: {message}")),
            HeadlessEvent::Error { message } => self.push_text(&format!("error: {message}")),
            HeadlessEvent::Usage { usage, micros } => {
                self.spend = Spend::of_usage(usage, micros.unwrap_or(0));
            }
            HeadlessEvent::TextDelta { .. } => {}
        }
    }

    fn push_text(&mut self, text: &str) {
        // What is shown is redacted, as a whole: a key may take several lines. The artifacts have what was really said.
        let text = Excerpt::with_limit(text.trim(), MAX_TEXT_BYTES);
        let shown = |line: &str| Excerpt::with_limit(line.trim_end(), MAX_LINE_BYTES).as_str().to_owned();
        self.lines.extend(text.as_str().lines().map(shown));
    }
}
