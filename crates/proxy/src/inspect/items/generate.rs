//! Gemini's generateContent.

use super::{MessageItem, ToolInputRef};
use crate::inspect::json_scan::{array_fields, parse_str, pick};

pub(super) fn read<'a>(message: &'a [u8], each: &mut dyn FnMut(MessageItem<'a>)) -> bool {
    let Some([role, parts]) = pick(message, ["role", "parts"]) else { return false };
    let user = role != b"\"model\"";
    let names = ["text", "functionCall", "functionResponse"];
    array_fields(parts, names).filter_map(|part| read_part(part, user)).for_each(each);
    true
}

fn read_part<'a>([text, call, response]: [&'a [u8]; 3], user: bool) -> Option<MessageItem<'a>> {
    if let Some([id, name, args]) = pick(call, ["id", "name", "args"]) {
        return Some(MessageItem::Call {
            id: parse_str(id).unwrap_or_default(),
            name: parse_str(name)?,
            input: ToolInputRef::of(args),
        });
    }
    if let Some([id, response]) = pick(response, ["id", "response"]) {
        // What tools put into a response, by convention.
        let [output, error] = pick(response, ["output", "error"]).unwrap_or_default().map(parse_str);
        let failed = error.is_some();
        let text = output.or(error).unwrap_or_else(|| String::from_utf8_lossy(response));
        return Some(MessageItem::Result { call: parse_str(id).unwrap_or_default(), text, failed });
    }
    parse_str(text).filter(|_| user).map(|text| MessageItem::Prompt { text })
}
