//! Scripts as TOML or JSON. A turn has exactly one reply; unknown keys and several replies are errors.
//!
//! | key | the turn |
//! |---|---|
//! | `text` | replies with this text and ends the agent's turn |
//! | `chant = { word, times }` | repeats one word |
//! | `shell`, `read`, `write = { path, content }`, `edit = { path, old, new }`, `patch` | calls a tool |
//! | `call = { name, args, namespace }` | calls a tool by its own name |
//! | `calls = [{ shell = ".." }, ..]` | calls several tools at once |
//! | `error = { status, message or body, headers }` | responds with an HTTP error or with arbitrary bytes |
//! | `stream_error = { code, message }` | starts a stream and fails |
//!
//! `say` adds text before a call; `repeat` plays a turn several times; `usage = { input, output, cached }` sets token
//! counts; `delay_ms`, `piece_delay_ms`, `split`, `hold_after`, `drop_after`, `packed` are the fields of [`Delivery`].

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::{Branch, ContentEncoding, Delivery, ErrorBody, Reply, Script, Text, Turn};
use crate::action::Action;
use crate::answer::Usage;

#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    #[error("cannot read {}: {source}", path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("{}: {source}", path.display())]
    InFile { path: PathBuf, source: Box<ScriptError> },
    #[error("{0}")]
    Toml(#[from] toml::de::Error),
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    #[error("turn {turn}: {problem}")]
    Turn { turn: String, problem: String },
}

impl Script {
    /// Reads `*.json` as JSON and everything else as TOML.
    pub fn load(path: &Path) -> Result<Self, ScriptError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| ScriptError::Unreadable { path: path.to_owned(), source })?;
        let json = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
        if json { Self::from_json(&text) } else { Self::from_toml(&text) }
            .map_err(|source| ScriptError::InFile { path: path.to_owned(), source: Box::new(source) })
    }

    /// ```
    /// use belay_scripted_model::Script;
    ///
    /// let script = Script::from_toml(
    ///     r#"
    ///     otherwise = { text = "Enough." }
    ///
    ///     [[turn]]
    ///     say = "I run the tests."
    ///     shell = "cargo test"
    ///     repeat = 5
    ///
    ///     [[turn]]
    ///     error = { status = 429, message = "slow down", headers = { retry-after = "2" } }
    ///     "#,
    /// )?;
    /// # let built = Script::new().otherwise("Enough.").shell("cargo test").with_text("I run the tests.").repeat(5);
    /// # assert_eq!(script, built.error(429, "slow down").header("retry-after", "2"));
    /// # Ok::<(), belay_scripted_model::ScriptError>(())
    /// ```
    pub fn from_toml(text: &str) -> Result<Self, ScriptError> {
        toml::from_str::<ScriptFile>(text)?.into_script()
    }

    pub fn from_json(text: &str) -> Result<Self, ScriptError> {
        serde_json::from_str::<ScriptFile>(text)?.into_script()
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptFile {
    #[serde(default, rename = "turn")]
    turns: Vec<TurnFile>,
    otherwise: Option<TurnFile>,
    aside: Option<String>,
    #[serde(default)]
    toolless: bool,
    #[serde(default, rename = "branch")]
    branches: Vec<BranchFile>,
    #[serde(default)]
    seed: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BranchFile {
    header: String,
    #[serde(default, rename = "turn")]
    turns: Vec<TurnFile>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct TurnFile {
    // The reply: one of these.
    text: Option<String>,
    chant: Option<Chant>,
    shell: Option<String>,
    read: Option<String>,
    write: Option<Write>,
    edit: Option<Edit>,
    patch: Option<String>,
    call: Option<Call>,
    calls: Option<Vec<CallFile>>,
    error: Option<HttpError>,
    stream_error: Option<StreamError>,
    // The delivery.
    say: Option<String>,
    repeat: Option<usize>,
    delay_ms: u64,
    piece_delay_ms: u64,
    split: Option<usize>,
    hold_after: Option<usize>,
    packed: Option<ContentEncoding>,
    drop_after: Option<usize>,
    usage: Option<Usage>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum CallFile {
    Shell(String),
    Read(String),
    Write(Write),
    Edit(Edit),
    Patch(String),
    Call(Call),
}

impl From<CallFile> for Action {
    fn from(call: CallFile) -> Self {
        match call {
            CallFile::Shell(command) => Self::Shell { command },
            CallFile::Read(path) => Self::Read { path },
            CallFile::Write(Write { path, content }) => Self::Write { path, content },
            CallFile::Edit(Edit { path, old, new }) => Self::Edit { path, old, new },
            CallFile::Patch(patch) => Self::Patch { patch },
            CallFile::Call(Call { name, args, namespace }) => Self::Call { name, args, namespace },
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Chant {
    word: String,
    times: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Write {
    path: String,
    content: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Edit {
    path: String,
    old: String,
    new: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    name: String,
    #[serde(default)]
    args: Value,
    namespace: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HttpError {
    status: u16,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    message: Option<String>,
    body: Option<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StreamError {
    code: String,
    message: String,
}

impl ScriptFile {
    fn into_script(self) -> Result<Script, ScriptError> {
        let fallback = Script::default();
        let branches = self.branches.into_iter().map(|branch| {
            let place = |number| format!("{number} of branch {:?}", branch.header);
            Ok(Branch { turns: read_turns(branch.turns, place)?, header: branch.header })
        });
        Ok(Script {
            turns: read_turns(self.turns, |number| number.to_string())?,
            otherwise: match self.otherwise {
                None => fallback.otherwise,
                Some(turn) => turn.into_turn().map_err(|problem| in_turn("`otherwise`".into(), problem))?,
            },
            aside: self.aside.unwrap_or(fallback.aside),
            toolless: self.toolless,
            aside_delay: fallback.aside_delay,
            branches: branches.collect::<Result<_, ScriptError>>()?,
            seed: self.seed,
        })
    }
}

fn read_turns(turns: Vec<TurnFile>, place: impl Fn(usize) -> String) -> Result<Vec<Turn>, ScriptError> {
    let read =
        |(index, turn): (usize, TurnFile)| turn.into_turn().map_err(|problem| in_turn(place(index + 1), problem));
    turns.into_iter().enumerate().map(read).collect()
}

fn in_turn(turn: String, problem: String) -> ScriptError {
    ScriptError::Turn { turn, problem }
}

impl TurnFile {
    fn into_turn(self) -> Result<Turn, String> {
        let mut said: Vec<(&str, Reply)> = Vec::new();
        let words = Text::Whole(self.say.clone().unwrap_or_default());
        let single = [
            ("shell", self.shell.map(CallFile::Shell)),
            ("read", self.read.map(CallFile::Read)),
            ("write", self.write.map(CallFile::Write)),
            ("edit", self.edit.map(CallFile::Edit)),
            ("patch", self.patch.map(CallFile::Patch)),
            ("call", self.call.map(CallFile::Call)),
        ];
        let calls = single.into_iter().filter_map(|(key, call)| Some((key, vec![call?])));
        for (key, calls) in calls.chain(self.calls.map(|calls| ("calls", calls))) {
            let calls = calls.into_iter().map(Action::from).collect();
            said.push((key, Reply::Say { text: words.clone(), calls }));
        }
        if let Some(text) = self.text {
            said.push(("text", Reply::Say { text: Text::Whole(text), calls: vec![] }));
        }
        if let Some(Chant { word, times }) = self.chant {
            said.push(("chant", Reply::Say { text: Text::Chant { word, times }, calls: vec![] }));
        }
        if let Some(error) = self.error {
            said.push(("error", error.into_reply()?));
        }
        if let Some(StreamError { code, message }) = self.stream_error {
            said.push(("stream_error", Reply::StreamError { text: words, code, message }));
        }
        let reply = match (said.pop(), said.as_slice()) {
            (None, _) => {
                return Err("says nothing; give it one of text, chant, shell, read, write, edit, patch, call, \
                                     calls, error or stream_error"
                    .into());
            }
            (Some((_, reply)), []) => reply,
            (Some((last, _)), [(first, _), ..]) => {
                return Err(format!("has both `{first}` and `{last}`; use `calls` for several calls in one turn"));
            }
        };
        if self.say.is_some() && !matches!(&reply, Reply::StreamError { .. }) {
            match &reply {
                Reply::Say { calls, .. } if !calls.is_empty() => {}
                _ => return Err("`say` goes before a tool call or a stream_error; use `text` here".into()),
            }
        }
        if self.split == Some(0) {
            return Err("`split = 0` would never send a byte; use 1 or more".into());
        }
        let pace = Delivery {
            delay: Duration::from_millis(self.delay_ms),
            piece_delay: Duration::from_millis(self.piece_delay_ms),
            split: self.split,
            hold_after: self.hold_after,
            packed: self.packed,
            drop_after: self.drop_after,
        };
        Ok(Turn { reply, repeat: self.repeat.unwrap_or(1), pace, usage: self.usage })
    }
}

impl HttpError {
    fn into_reply(self) -> Result<Reply, String> {
        if !(200..=599).contains(&self.status) {
            return Err(format!("`error.status = {}` is no final HTTP status; use 200 to 599", self.status));
        }
        let body = match (self.body, self.message) {
            (Some(_), Some(_)) => return Err("`error` has both `body` and `message`; keep one".into()),
            (Some(Value::String(text)), None) => ErrorBody::Text(text),
            (Some(body), None) => ErrorBody::Json(body),
            (None, message) => ErrorBody::Message(message.unwrap_or_else(|| "scripted error".into())),
        };
        Ok(Reply::Http { status: self.status, headers: self.headers.into_iter().collect(), body })
    }
}
