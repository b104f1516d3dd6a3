//! The content of messages, in one format for all APIs.

use std::borrow::Cow;

use crate::inspect::json_scan::{array_fields, parse_str};

/// One part of a message.
#[derive(Debug)]
pub(crate) enum MessageItem<'a> {
    /// The model called a tool.
    Call { id: Cow<'a, str>, name: Cow<'a, str>, input: ToolInputRef<'a> },
    /// A tool returned.
    Result { call: Cow<'a, str>, text: Cow<'a, str>, failed: bool },
    /// Text in the user's role.
    Prompt { text: Cow<'a, str> },
}

/// The input of a tool call.
#[derive(Debug)]
pub(crate) enum ToolInputRef<'a> {
    Json(&'a [u8]),
    /// Text that may be JSON or something else, such as a patch.
    Text(Cow<'a, str>),
}

impl<'a> ToolInputRef<'a> {
    /// The input as JSON; empty text if there is none.
    pub(super) fn from_json(raw: &'a [u8]) -> Self {
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

/// Raw JSON that is a text, or a list of parts of which some have text.
#[derive(Debug)]
pub(super) struct ContentParts<'a>(pub(super) &'a [u8]);

impl<'a> ContentParts<'a> {
    /// Passes on each text.
    pub(super) fn texts(self, each: &mut dyn FnMut(Cow<'a, str>)) {
        if let Some(text) = parse_str(self.0) {
            each(text);
        } else {
            array_fields(self.0, ["text"]).filter_map(|[text]| parse_str(text)).for_each(each);
        }
    }

    /// All texts, one per line.
    pub(super) fn joined(self) -> Cow<'a, str> {
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
