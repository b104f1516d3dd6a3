//! Scripts: turns, their delivery, and a builder for tests.

mod file;
#[cfg(test)]
mod tests;

use std::time::Duration;

use serde_json::Value;

use crate::action::Action;
use crate::answer::Usage;

pub use file::ScriptError;

/// Turns in order, and the reply after the last one.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    pub turns: Vec<Turn>,
    /// The reply to every request after the last turn.
    pub otherwise: Turn,
    /// The reply to auxiliary requests: titles, summaries, and others without tools.
    pub aside: String,
    /// Requests without tools consume turns, too (for agents that parse edits out of plain text).
    pub toolless: bool,
    /// How long auxiliary responses take.
    pub aside_delay: Duration,
    /// Conversations with their own turns: sub-agents, or several sessions on one model.
    pub branches: Vec<Branch>,
    /// Varies the ids, so that two models in one test never use the same one.
    pub seed: u64,
}

/// Requests that carry `header` play these turns instead; each distinct value of the header from the start.
#[derive(Clone, Debug, PartialEq)]
pub struct Branch {
    pub header: String,
    pub turns: Vec<Turn>,
}

/// One response of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    pub reply: Reply,
    /// How many times in a row the turn is played.
    pub repeat: usize,
    pub pace: Delivery,
    /// Token counts to report; by default they grow from turn to turn.
    pub usage: Option<Usage>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// Text, then tool calls (several run in parallel). Without a call, the agent's turn ends.
    Say { text: Text, calls: Vec<Action> },
    /// An HTTP response that is not a completion: an error, or arbitrary bytes.
    Http { status: u16, headers: Vec<(String, String)>, body: ErrorBody },
    /// A stream that sends `text` and then an error.
    StreamError { text: Text, code: String, message: String },
}

/// The text of a response.
#[derive(Clone, Debug, PartialEq)]
pub enum Text {
    Whole(String),
    /// Degenerate output: one word repeated. Generated while streaming, never buffered.
    Chant {
        word: String,
        times: u64,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub enum ErrorBody {
    /// Wrapped in the error format of the API.
    Message(String),
    Json(Value),
    Text(String),
}

/// How a response is delivered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Delivery {
    /// Delay before the first byte.
    pub delay: Duration,
    /// Delay before each further piece.
    pub piece_delay: Duration,
    /// Send at most this many bytes at once; default: one event at once.
    pub split: Option<usize>,
    /// Pause after this many pieces (0: before the status line) until [`crate::ScriptedModel::release`].
    pub hold_after: Option<usize>,
    /// Close the connection after this many pieces (0: before the status line).
    pub drop_after: Option<usize>,
    /// Send a stream compressed, if the agent accepts that.
    pub packed: Option<ContentEncoding>,
}

/// A content encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
pub enum ContentEncoding {
    /// Needs the feature `compressed`.
    #[serde(rename = "gzip")]
    Gzip,
    #[serde(rename = "br")]
    Brotli,
    #[serde(rename = "zstd")]
    Zstd,
}

impl ContentEncoding {
    /// The name in HTTP headers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Brotli => "br",
            Self::Zstd => "zstd",
        }
    }
}

impl Turn {
    pub fn new(reply: Reply) -> Self {
        Self { reply, repeat: 1, pace: Delivery::default(), usage: None }
    }
}

impl Text {
    pub fn none() -> Self {
        Self::Whole(String::new())
    }

    pub fn is_empty(&self) -> bool {
        match self {
            Self::Whole(text) => text.is_empty(),
            Self::Chant { word, times } => word.is_empty() || *times == 0,
        }
    }
}

impl Default for Script {
    fn default() -> Self {
        Self {
            turns: Vec::new(),
            otherwise: Turn::new(Reply::Say { text: Text::Whole("The script has ended.".into()), calls: vec![] }),
            aside: "Scripted aside".into(),
            toolless: false,
            aside_delay: Duration::ZERO,
            branches: Vec::new(),
            seed: 0,
        }
    }
}

/// Adding turns.
impl Script {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn turn(mut self, turn: Turn) -> Self {
        self.turns.push(turn);
        self
    }

    /// One turn with these calls, all at once.
    pub fn calls(self, calls: impl IntoIterator<Item = Action>) -> Self {
        self.turn(Turn::new(Reply::Say { text: Text::none(), calls: calls.into_iter().collect() }))
    }

    pub fn shell(self, command: impl Into<String>) -> Self {
        self.calls([Action::shell(command)])
    }

    pub fn read(self, path: impl Into<String>) -> Self {
        self.calls([Action::read(path)])
    }

    pub fn write(self, path: impl Into<String>, content: impl Into<String>) -> Self {
        self.calls([Action::write(path, content)])
    }

    pub fn edit(self, path: impl Into<String>, old: impl Into<String>, new: impl Into<String>) -> Self {
        self.calls([Action::edit(path, old, new)])
    }

    pub fn patch(self, patch: impl Into<String>) -> Self {
        self.calls([Action::Patch { patch: patch.into() }])
    }

    pub fn call(self, name: impl Into<String>, args: Value) -> Self {
        self.calls([Action::call(name, args)])
    }

    pub fn text(self, text: impl Into<String>) -> Self {
        self.turn(Turn::new(Reply::Say { text: Text::Whole(text.into()), calls: vec![] }))
    }

    pub fn repeat_text(self, word: impl Into<String>, times: u64) -> Self {
        self.turn(Turn::new(Reply::Say { text: Text::Chant { word: word.into(), times }, calls: vec![] }))
    }

    /// An HTTP error with the message in the format of the API.
    pub fn error(self, status: u16, message: impl Into<String>) -> Self {
        self.turn(Turn::new(Reply::Http { status, headers: vec![], body: ErrorBody::Message(message.into()) }))
    }

    pub fn stream_error(self, code: impl Into<String>, message: impl Into<String>) -> Self {
        let (code, message) = (code.into(), message.into());
        self.turn(Turn::new(Reply::StreamError { text: Text::none(), code, message }))
    }

    /// The reply to every request after the last turn.
    pub fn otherwise(mut self, text: impl Into<String>) -> Self {
        self.otherwise = Turn::new(Reply::Say { text: Text::Whole(text.into()), calls: vec![] });
        self
    }

    pub fn branch(mut self, header: impl Into<String>, script: Script) -> Self {
        self.branches.push(Branch { header: header.into(), turns: script.turns });
        self
    }

    /// Delays auxiliary responses: titles, summaries.
    pub fn aside_delay(mut self, delay: Duration) -> Self {
        self.aside_delay = delay;
        self
    }

    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Lets requests without tools consume turns.
    pub fn without_tools(mut self) -> Self {
        self.toolless = true;
        self
    }
}

/// Methods that change the last turn. Without a turn they do nothing.
impl Script {
    fn amend(mut self, change: impl FnOnce(&mut Turn)) -> Self {
        if let Some(turn) = self.turns.last_mut() {
            change(turn);
        }
        self
    }

    pub fn repeat(self, times: usize) -> Self {
        self.amend(|turn| turn.repeat = times)
    }

    /// Text before the tool calls of the last turn.
    pub fn with_text(self, words: impl Into<String>) -> Self {
        let words = Text::Whole(words.into());
        self.amend(|turn| match &mut turn.reply {
            Reply::Say { text, .. } | Reply::StreamError { text, .. } => *text = words,
            Reply::Http { .. } => {}
        })
    }

    pub fn header(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        let header = (name.into(), value.into());
        self.amend(|turn| {
            if let Reply::Http { headers, .. } = &mut turn.reply {
                headers.push(header);
            }
        })
    }

    /// The body of the last turn's HTTP error.
    pub fn body(self, to: ErrorBody) -> Self {
        self.amend(|turn| {
            if let Reply::Http { body, .. } = &mut turn.reply {
                *body = to;
            }
        })
    }

    pub fn usage(self, usage: Usage) -> Self {
        self.amend(|turn| turn.usage = Some(usage))
    }

    pub fn delay(self, delay: Duration) -> Self {
        self.amend(|turn| turn.pace.delay = delay)
    }

    pub fn piece_delay(self, delay: Duration) -> Self {
        self.amend(|turn| turn.pace.piece_delay = delay)
    }

    pub fn split(self, bytes: usize) -> Self {
        self.amend(|turn| turn.pace.split = Some(bytes))
    }

    pub fn hold_after(self, pieces: usize) -> Self {
        self.amend(|turn| turn.pace.hold_after = Some(pieces))
    }

    pub fn packed(self, packing: ContentEncoding) -> Self {
        self.amend(|turn| turn.pace.packed = Some(packing))
    }

    pub fn drop_after(self, pieces: usize) -> Self {
        self.amend(|turn| turn.pace.drop_after = Some(pieces))
    }
}
