//! Anthropic's Messages.

use super::{ContentParts, MessageItem, ToolInputRef};
use crate::inspect::json_scan::{array_fields, parse_str, pick};

/// What is read of a block.
const FIELDS: [&str; 8] = ["type", "text", "id", "name", "input", "tool_use_id", "content", "is_error"];

pub(super) fn read<'a>(message: &'a [u8], each: &mut dyn FnMut(MessageItem<'a>)) -> bool {
    let Some([role, content]) = pick(message, ["role", "content"]) else { return false };
    let Some(role) = parse_str(role) else { return false };
    let user = role == "user";
    match content.first() {
        Some(b'[') => array_fields(content, FIELDS).filter_map(|block| read_block(block, user)).for_each(each),
        _ => {
            let Some(text) = parse_str(content) else { return false };
            if user {
                each(MessageItem::Prompt { text });
            }
        }
    }
    true
}

fn read_block<'a>(block: [&'a [u8]; FIELDS.len()], user: bool) -> Option<MessageItem<'a>> {
    let [kind, text, id, name, input, call, content, failed] = block;
    match &*parse_str(kind)? {
        "text" if user => Some(MessageItem::Prompt { text: parse_str(text)? }),
        "tool_use" => {
            let (id, name) = (parse_str(id).unwrap_or_default(), parse_str(name).unwrap_or_default());
            Some(MessageItem::Call { id, name, input: ToolInputRef::of(input) })
        }
        "tool_result" => {
            let (call, text) = (parse_str(call).unwrap_or_default(), ContentParts(content).joined());
            Some(MessageItem::Result { call, text, failed: failed == b"true" })
        }
        _ => None,
    }
}
