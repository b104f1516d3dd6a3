//! OpenAI's Responses.

use std::borrow::Cow;

use super::{Content, Input, Item};
use crate::inspect::scan::{pick, string};

pub(super) fn read<'a>(entry: &'a [u8], each: &mut dyn FnMut(Item<'a>)) -> bool {
    if entry.starts_with(b"\"") {
        // The whole conversation is one string.
        let Some(text) = string(entry) else { return false };
        each(Item::Prompt { text });
        return true;
    }
    let names = ["type", "role", "content", "call_id", "name", "arguments", "input", "action", "output"];
    let Some([kind, role, content, id, name, arguments, input, action, output]) = pick(entry, names) else {
        return false;
    };
    let text = |raw: &'a [u8]| string(raw).unwrap_or_default();
    let mut call = |name, input| each(Item::Call { id: text(id), name, input });
    match &*text(kind) {
        "function_call" => call(text(name), Input::Text(text(arguments))),
        "custom_tool_call" => call(text(name), Input::Text(text(input))),
        "local_shell_call" => call(Cow::Borrowed("local_shell"), Input::of(action)),
        "" | "message" if text(role) == "user" => {
            Content(content).texts(&mut |text| each(Item::Prompt { text }));
        }
        kind if kind.ends_with("_call_output") => {
            each(Item::Result { call: text(id), text: Content(output).joined(), failed: false });
        }
        _ => {}
    }
    true
}
