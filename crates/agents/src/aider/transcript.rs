//! aider's chat history: headings start chats, `####` lines are prompts, `>` lines are aider's own output, and everything
//! else is the model's response. There are no tool calls: responses contain the edits, and aider reports which it applied.

use std::path::Path;

use belay_core::event::{
    Author, Body, ChangeKind, Committed, FileChanged, ModelAnswered, ModelFailed, Note, Prompt, SessionStarted,
    TurnEnded, Usage,
};
use belay_core::{Excerpt, SessionKey, Timestamp};

use super::{HISTORY_FILE, ID};
use crate::transcript::{LineError, LineParser, TranscriptEventBuilder, TranscriptFormat, append_line};

/// The transcript format.
#[derive(Debug)]
pub struct AiderFormat;

const CHAT_HEADING: &str = "# aider chat started at ";

impl TranscriptFormat for AiderFormat {
    fn agent(&self) -> &'static str {
        ID
    }

    fn recognises(&self, path: &Path, head: &[u8]) -> bool {
        let named = path.file_name().is_some_and(|name| name == HISTORY_FILE);
        let markdown = path.extension().is_some_and(|ext| ext == "md");
        let begins = memchr::memmem::find(&head[..head.len().min(256)], CHAT_HEADING.as_bytes()).is_some();
        markdown && (named || begins)
    }

    fn session(&self, _: &Path) -> SessionKey {
        SessionKey::new(ID, "unnamed")
    }

    fn line_parser(&self, path: &Path) -> Option<Box<dyn LineParser + Send>> {
        Some(Box::new(AiderParser::new(path)))
    }
}

struct AiderParser {
    transcript: String,
    project: Option<String>,
    /// The project's name: two projects may have chats of the same second.
    name: String,
    chat: Option<String>,
    model: Option<String>,
    prompt: String,
    text: String,
    answered: bool,
    number: u32,
}

impl AiderParser {
    fn new(path: &Path) -> Self {
        let project = path.parent().map(|dir| dir.to_string_lossy().into_owned());
        Self {
            name: path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned(),
            transcript: path.to_string_lossy().into_owned(),
            project: project.filter(|dir| !dir.is_empty()),
            chat: None,
            model: None,
            prompt: String::new(),
            text: String::new(),
            answered: false,
            number: 0,
        }
    }

    fn begin(&mut self, started: &str, builder: &mut TranscriptEventBuilder<'_>) {
        self.end_turn(builder);
        let started = started.trim();
        builder.at = Timestamp::parse(started).unwrap_or(Timestamp::UNKNOWN);
        builder.session = SessionKey::new(ID, format!("{}-{}", started.replace(' ', "T"), self.name));
        builder.cwd.clone_from(&self.project);
        self.chat = Some(started.to_owned());
        self.model = None;
        self.number = 0;
        builder.push(Body::SessionStarted(SessionStarted {
            project: self.project.clone(),
            transcript: Some(self.transcript.clone()),
            ..SessionStarted::default()
        }));
    }

    /// Handles the end of a prompt.
    fn prompted(&mut self, builder: &mut TranscriptEventBuilder<'_>) {
        if !self.prompt.is_empty() {
            let text = std::mem::take(&mut self.prompt);
            builder.push(Body::Prompt(Prompt { by: Author::Person, text: Excerpt::new(text.trim()) }));
        }
    }

    /// Handles the end of a response; `cost` is aider's report about it.
    fn answer(&mut self, cost: Option<(Usage, Option<u64>)>, builder: &mut TranscriptEventBuilder<'_>) {
        self.prompted(builder);
        let text = std::mem::take(&mut self.text);
        if text.trim().is_empty() && cost.is_none() {
            return;
        }
        self.number += 1;
        self.answered = true;
        builder.push(Body::ModelAnswered(ModelAnswered {
            response: Some(format!("{}#{}", builder.session.id, self.number)),
            model: self.model.clone(),
            usage: cost.map(|(usage, _)| usage),
            cost_micros: cost.and_then(|(_, micros)| micros),
            text: Excerpt::new(text.trim()),
            ..ModelAnswered::default()
        }));
    }

    fn end_turn(&mut self, builder: &mut TranscriptEventBuilder<'_>) {
        self.answer(None, builder);
        if std::mem::take(&mut self.answered) {
            builder.push(Body::TurnEnded(TurnEnded::default()));
        }
    }

    /// Handles a status line of aider.
    fn remark(&mut self, remark: &str, builder: &mut TranscriptEventBuilder<'_>) {
        if let Some(cost) = cost(remark) {
            self.answer(Some(cost), builder);
            return;
        }
        let model = remark.strip_prefix("Main model: ").or(remark.strip_prefix("Model: "));
        if let Some(model) = model {
            let name = model.split(" with ").next().unwrap_or(model).split(',').next().unwrap_or(model).trim();
            self.model = Some(name.to_owned());
        } else if let Some(path) = remark.strip_prefix("Applied edit to ") {
            self.answer(None, builder);
            builder.push(Body::FileChanged(FileChanged {
                path: path.to_owned(),
                change: ChangeKind::Modified,
                before: None,
                after: None,
                added: None,
                removed: None,
                call: None,
            }));
        } else if let Some((sha, _)) = remark.strip_prefix("Commit ").and_then(|rest| rest.split_once(' ')) {
            if sha.len() >= 7 && sha.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                builder.push(Body::Committed(Committed { sha: sha.to_owned(), files: None }));
            }
        } else if remark.starts_with("litellm.") {
            self.answer(None, builder);
            let message = Excerpt::with_limit(remark, 512);
            builder.push(Body::ModelFailed(ModelFailed { message, ..ModelFailed::default() }));
        } else if remark.contains("failed to match") || remark.contains("did not conform to the edit format") {
            self.answer(None, builder);
            builder.push(Body::Note(Note { text: Excerpt::with_limit(remark, 512) }));
        }
    }
}

impl LineParser for AiderParser {
    fn line(&mut self, line: &str, builder: &mut TranscriptEventBuilder<'_>) -> Result<(), LineError> {
        if let Some(started) = line.strip_prefix(CHAT_HEADING) {
            self.begin(started, builder);
            return Ok(());
        }
        if self.chat.is_none() {
            return Err(if line.contains('\0') { LineError::Malformed } else { LineError::Unknown });
        }
        if let Some(typed) = line.strip_prefix("####") {
            if self.prompt.is_empty() {
                self.end_turn(builder);
            }
            append_line(&mut self.prompt, typed.trim());
        } else if let Some(remark) = line.strip_prefix('>') {
            self.prompted(builder);
            self.remark(remark.trim(), builder);
        } else {
            self.prompted(builder);
            append_line(&mut self.text, line);
        }
        Ok(())
    }

    fn end(&mut self, builder: &mut TranscriptEventBuilder<'_>) {
        if self.chat.is_some() {
            self.end_turn(builder);
        }
    }
}

/// `Tokens: 5.2k sent, 1.1k cache hit, 310 received. Cost: $0.02 message, $0.09 session.`
fn cost(remark: &str) -> Option<(Usage, Option<u64>)> {
    let counts = remark.strip_prefix("Tokens: ")?;
    let (counts, money) = counts.split_once(". Cost: ").unwrap_or((counts.trim_end_matches('.'), ""));
    let mut usage = Usage::default();
    for count in counts.split(", ") {
        let (number, what) = count.split_once(' ')?;
        let number = tokens(number)?;
        match what.trim_end_matches('.') {
            "sent" => usage.input = number,
            "received" => usage.output = number,
            "cache hit" => usage.cache_read = number,
            "cache write" => usage.cache_write = number,
            _ => {}
        }
    }
    let dollars = money.split(" message").next().and_then(|text| text.strip_prefix('$')?.parse::<f64>().ok());
    Some((usage, dollars.filter(|dollars| *dollars >= 0.0).map(|dollars| (dollars * 1e6).round() as u64)))
}

/// `594`, `5.2k`, `1.3M`
fn tokens(text: &str) -> Option<u64> {
    let (number, scale) = match (text.strip_suffix('k'), text.strip_suffix('M')) {
        (Some(number), _) => (number, 1e3),
        (_, Some(number)) => (number, 1e6),
        _ => (text, 1.0),
    };
    let number: f64 = number.replace(',', "").parse().ok()?;
    (number >= 0.0).then_some((number * scale) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_answer_cost_is_read_from_aiders_own_words() {
        let of = |text| cost(text).map(|(usage, micros)| (usage.input, usage.cache_read, usage.output, micros));
        assert_eq!(of("Tokens: 594 sent, 20 received."), Some((594, 0, 20, None)));
        assert_eq!(
            of("Tokens: 5.2k sent, 1.1k cache hit, 310 received. Cost: $0.02 message, $0.09 session."),
            Some((5_200, 1_100, 310, Some(20_000)))
        );
        assert_eq!(of("Tokens are scarce"), None);
    }
}
