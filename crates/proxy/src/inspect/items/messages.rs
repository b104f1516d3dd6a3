//! Anthropic's Messages.

use super::{Content, Input, Item};
use crate::inspect::scan::{pick, picks, string};

/// What is read of a block.
const FIELDS: [&str; 8] = ["type", "text", "id", "name", "input", "tool_use_id", "content", "is_error"];

pub(super) fn read<'a>(message: &'a [u8], each: &mut dyn FnMut(Item<'a>)) -> bool {
    let Some([role, content]) = pick(message, ["role", "content"]) else { return false };
    let Some(role) = string(role) else { return false };
    let user = role == "user";
    match content.first() {
        Some(b'[') => picks(content, FIELDS).filter_map(|block| read_block(block, user)).for_each(each),
        _ => {
            let Some(text) = string(content) else { return false };
            if user {
                each(Item::Prompt { text });
            }
        }
    }
    true
}

fn read_block<'a>(block: [&'a [u8]; FIELDS.len()], user: bool) -> Option<Item<'a>> {
    let [kind, text, id, name, input, call, content, failed] = block;
    match &*string(kind)? {
        "text" if user => Some(Item::Prompt { text: string(text)? }),
        "tool_use" => {
            let (id, name) = (string(id).unwrap_or_default(), string(name).unwrap_or_default());
            Some(Item::Call { id, name, input: Input::of(input) })
        }
        "tool_result" => {
            let (call, text) = (string(call).unwrap_or_default(), Content(content).joined());
            Some(Item::Result { call, text, failed: failed == b"true" })
        }
        _ => None,
    }
}
