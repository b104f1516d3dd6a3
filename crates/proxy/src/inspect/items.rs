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

/// Text, or a list of parts some of which have text. It stays as it is written until somebody wants it: to try one
/// shape after the other, serde would first copy all of it.
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
struct Content<'a>(#[serde(borrow)] Option<&'a RawValue>);

/// One text, borrowed where nothing in it is escaped.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

#[derive(Debug, Deserialize)]
struct Part<'a> {
    #[serde(borrow, default)]
    text: Option<Text<'a>>,
}

impl<'a> Content<'a> {
    /// Each piece of text.
    fn texts(self, each: &mut dyn FnMut(Cow<'a, str>)) {
        let Some(written) = self.0.map(RawValue::get) else { return };
        if let Ok(Text(text)) = serde_json::from_str(written) {
            each(text);
        } else if let Ok(parts) = serde_json::from_str::<Vec<Part<'a>>>(written) {
            parts.into_iter().filter_map(|part| part.text).for_each(|Text(text)| each(text));
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
