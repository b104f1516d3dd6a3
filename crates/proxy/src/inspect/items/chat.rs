//! Chat Completions.

use super::{ContentParts, MessageItem, ToolInputRef};
use crate::inspect::json_scan::{array_fields, parse_str, pick};

pub(super) fn read<'a>(message: &'a [u8], each: &mut dyn FnMut(MessageItem<'a>)) -> bool {
    let names = ["role", "content", "tool_calls", "tool_call_id"];
    let Some([role, content, calls, call]) = pick(message, names) else { return false };
    let Some(role) = parse_str(role) else { return false };
    match &*role {
        "user" => ContentParts(content).texts(&mut |text| each(MessageItem::Prompt { text })),
        "tool" | "function" => {
            let (call, text) = (parse_str(call).unwrap_or_default(), ContentParts(content).joined());
            each(MessageItem::Result { call, text, failed: false });
        }
        "assistant" => array_fields(calls, ["id", "function", "custom"]).filter_map(read_call).for_each(each),
        _ => {}
    }
    true
}

fn read_call<'a>([id, function, custom]: [&'a [u8]; 3]) -> Option<MessageItem<'a>> {
    let [name, input] = pick(function, ["name", "arguments"]).or_else(|| pick(custom, ["name", "input"]))?;
    let input = ToolInputRef::Text(parse_str(input).unwrap_or_default());
    Some(MessageItem::Call { id: parse_str(id).unwrap_or_default(), name: parse_str(name)?, input })
}
