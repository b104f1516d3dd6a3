//! Messages of all the APIs in one shape.

mod chat;
mod generate;
mod messages;
mod responses;

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::api::Api;

/// One thing a message tells.
#[derive(Debug)]
pub(crate) enum Item<'a> {
    /// The model asked for a tool.
    Call { id: Cow<'a, str>, name: Cow<'a, str>, input: Input<'a> },
    /// A tool answered.
    Result { call: Cow<'a, str>, text: Cow<'a, str>, failed: bool },
    /// Somebody said something in the user's role.
    Prompt { text: Cow<'a, str> },
}

/// The input of a call, as it is written.
#[derive(Debug)]
pub(crate) enum Input<'a> {
    /// JSON.
    Json(&'a RawValue),
    /// Text that may be JSON or something else (a patch).
    Text(Cow<'a, str>),
}

impl Input<'_> {
    pub(crate) fn value(&self) -> serde_json::Value {
        match self {
            Self::Json(raw) => serde_json::from_str(raw.get()).unwrap_or_default(),
            Self::Text(text) => match serde_json::from_str(text) {
                Ok(value @ serde_json::Value::Object(_)) => value,
                _ => serde_json::Value::String(text.to_string()),
            },
        }
    }
}

/// Tells what a message says, in order; `false` when its shape is none we know.
pub(crate) fn read<'a>(api: Api, message: &'a [u8], each: &mut dyn FnMut(Item<'a>)) -> bool {
    match api {
        Api::Chat => chat::read(message, each),
        Api::Responses => responses::read(message, each),
        Api::Messages => messages::read(message, each),
        Api::Generate => generate::read(message, each),
    }
}

/// Text, or a list of parts some of which have text.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Content<'a> {
    #[serde(borrow)]
    Text(Cow<'a, str>),
    Parts(Vec<Part<'a>>),
    Other(serde::de::IgnoredAny),
}

impl Default for Content<'_> {
    fn default() -> Self {
        Self::Text(Cow::Borrowed(""))
    }
}

#[derive(Debug, Deserialize)]
struct Part<'a> {
    #[serde(borrow, default)]
    text: Option<Cow<'a, str>>,
}

impl<'a> Content<'a> {
    /// Each piece of text.
    fn texts(self, each: &mut dyn FnMut(Cow<'a, str>)) {
        match self {
            Self::Text(text) => each(text),
            Self::Parts(parts) => parts.into_iter().filter_map(|part| part.text).for_each(each),
            Self::Other(_) => {}
        }
    }

    /// All the text in one.
    fn joined(self) -> Cow<'a, str> {
        let mut joined: Option<Cow<'a, str>> = None;
        self.texts(&mut |text| match &mut joined {
            None => joined = Some(text),
            Some(before) => {
                let before = before.to_mut();
                before.push('\n');
                before.push_str(&text);
            }
        });
        joined.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
