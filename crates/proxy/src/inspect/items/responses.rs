//! OpenAI's Responses.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Content, Input, Item};
use crate::inspect::scan;

#[derive(Deserialize)]
struct Entry<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    role: Cow<'a, str>,
    #[serde(borrow, default)]
    content: Content<'a>,
    #[serde(borrow, default)]
    call_id: Cow<'a, str>,
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    arguments: Cow<'a, str>,
    #[serde(borrow, default)]
    input: Cow<'a, str>,
    #[serde(borrow, default)]
    action: Option<&'a RawValue>,
    #[serde(borrow, default)]
    output: Content<'a>,
}

pub(super) fn read<'a>(entry: &'a [u8], each: &mut dyn FnMut(Item<'a>)) -> bool {
    if entry.starts_with(b"\"") {
        // The whole conversation is one string.
        let Ok(text) = serde_json::from_slice::<String>(entry) else { return false };
        each(Item::Prompt { text: Cow::Owned(text) });
        return true;
    }
    let Ok(entry) = scan::parse::<Entry<'a>>(entry) else { return false };
    match &*entry.kind {
        "" | "message" if entry.role == "user" => {
            entry.content.texts(&mut |text| each(Item::Prompt { text }));
        }
        "function_call" => {
            each(Item::Call { id: entry.call_id, name: entry.name, input: Input::Text(entry.arguments) });
        }
        "custom_tool_call" => {
            each(Item::Call { id: entry.call_id, name: entry.name, input: Input::Text(entry.input) });
        }
        "local_shell_call" => {
            let input = entry.action.map_or(Input::Text(Cow::Borrowed("")), Input::Json);
            each(Item::Call { id: entry.call_id, name: Cow::Borrowed("local_shell"), input });
        }
        kind if kind.ends_with("_call_output") => {
            let text = entry.output.joined();
            each(Item::Result { call: entry.call_id, text, failed: false });
        }
        _ => {}
    }
    true
}
