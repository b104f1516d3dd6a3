//! Gemini's generateContent.

use super::{Input, Item};
use crate::inspect::scan::{pick, picks, string};

pub(super) fn read<'a>(message: &'a [u8], each: &mut dyn FnMut(Item<'a>)) -> bool {
    let Some([role, parts]) = pick(message, ["role", "parts"]) else { return false };
    let user = role != b"\"model\"";
    let names = ["text", "functionCall", "functionResponse"];
    picks(parts, names).filter_map(|part| read_part(part, user)).for_each(each);
    true
}

fn read_part<'a>([text, call, response]: [&'a [u8]; 3], user: bool) -> Option<Item<'a>> {
    if let Some([id, name, args]) = pick(call, ["id", "name", "args"]) {
        return Some(Item::Call { id: string(id).unwrap_or_default(), name: string(name)?, input: Input::of(args) });
    }
    if let Some([id, response]) = pick(response, ["id", "response"]) {
        // What tools put into a response, by convention.
        let [output, error] = pick(response, ["output", "error"]).unwrap_or_default().map(string);
        let failed = error.is_some();
        let text = output.or(error).unwrap_or_else(|| String::from_utf8_lossy(response));
        return Some(Item::Result { call: string(id).unwrap_or_default(), text, failed });
    }
    string(text).filter(|_| user).map(|text| Item::Prompt { text })
}
