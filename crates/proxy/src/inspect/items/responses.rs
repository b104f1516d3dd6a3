//! OpenAI's Responses.

use std::borrow::Cow;

use super::{ContentParts, MessageItem, ToolInputRef};
use crate::inspect::json_scan::{parse_str, pick};

pub(super) fn read<'a>(entry: &'a [u8], each: &mut dyn FnMut(MessageItem<'a>)) -> bool {
    if entry.starts_with(b"\"") {
        // The whole conversation is one string.
        let Some(text) = parse_str(entry) else { return false };
        each(MessageItem::Prompt { text });
        return true;
    }
    let names = ["type", "role", "content", "call_id", "name", "arguments", "input", "action", "output"];
    let Some([kind, role, content, id, name, arguments, input, action, output]) = pick(entry, names) else {
        return false;
    };
    let text = |raw: &'a [u8]| parse_str(raw).unwrap_or_default();
    let mut call = |name, input| each(MessageItem::Call { id: text(id), name, input });
    match &*text(kind) {
        "function_call" => call(text(name), ToolInputRef::Text(text(arguments))),
        "custom_tool_call" => call(text(name), ToolInputRef::Text(text(input))),
        "local_shell_call" => call(Cow::Borrowed("local_shell"), ToolInputRef::of(action)),
        "" | "message" if text(role) == "user" => {
            ContentParts(content).texts(&mut |text| each(MessageItem::Prompt { text }));
        }
        kind if kind.ends_with("_call_output") => {
            each(MessageItem::Result { call: text(id), text: ContentParts(output).joined(), failed: false });
        }
        _ => {}
    }
    true
}
