//! Messages of all the APIs in one shape.

mod chat;
mod generate;
mod messages;
mod responses;

use std::borrow::Cow;

use super::json_scan::{array_fields, parse_str};
use super::wire::WireApi;

/// One thing a message tells.
#[derive(Debug)]
pub(crate) enum MessageItem<'a> {
    /// The model asked for a tool.
    Call { id: Cow<'a, str>, name: Cow<'a, str>, input: ToolInputRef<'a> },
    /// A tool answered.
    Result { call: Cow<'a, str>, text: Cow<'a, str>, failed: bool },
    /// Somebody said something in the user's role.
    Prompt { text: Cow<'a, str> },
}

/// The input of a call, as it is written.
#[derive(Debug)]
pub(crate) enum ToolInputRef<'a> {
    /// JSON.
    Json(&'a [u8]),
    /// Text that may be JSON or something else (a patch).
    Text(Cow<'a, str>),
}

impl<'a> ToolInputRef<'a> {
    /// JSON, if there is any.
    fn of(raw: &'a [u8]) -> Self {
        if raw.is_empty() { Self::Text(Cow::Borrowed("")) } else { Self::Json(raw) }
    }

    pub(crate) fn to_value(&self) -> serde_json::Value {
        match self {
            Self::Json(raw) => serde_json::from_slice(raw).unwrap_or_default(),
            Self::Text(text) => match serde_json::from_str(text) {
                Ok(value @ serde_json::Value::Object(_)) => value,
                _ => serde_json::Value::String(text.to_string()),
            },
        }
    }
}

/// Tells what a message says, in order; `false` when its shape is none we know.
pub(crate) fn read_message<'a>(api: WireApi, message: &'a [u8], each: &mut dyn FnMut(MessageItem<'a>)) -> bool {
    match api {
        WireApi::Chat => chat::read(message, each),
        WireApi::Responses => responses::read(message, each),
        WireApi::Messages => messages::read(message, each),
        WireApi::GenerateContent => generate::read(message, each),
    }
}

/// Text, or a list of parts some of which have text, as it is written.
#[derive(Debug)]
struct ContentParts<'a>(&'a [u8]);

impl<'a> ContentParts<'a> {
    /// Each piece of text.
    fn texts(self, each: &mut dyn FnMut(Cow<'a, str>)) {
        if let Some(text) = parse_str(self.0) {
            each(text);
        } else {
            array_fields(self.0, ["text"]).filter_map(|[text]| parse_str(text)).for_each(each);
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
