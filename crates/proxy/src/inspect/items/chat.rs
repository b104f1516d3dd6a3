//! Chat Completions.

use super::{Content, Input, Item};
use crate::inspect::scan::{pick, picks, string};

pub(super) fn read<'a>(message: &'a [u8], each: &mut dyn FnMut(Item<'a>)) -> bool {
    let names = ["role", "content", "tool_calls", "tool_call_id"];
    let Some([role, content, calls, call]) = pick(message, names) else { return false };
    let Some(role) = string(role) else { return false };
    match &*role {
        "user" => Content(content).texts(&mut |text| each(Item::Prompt { text })),
        "tool" | "function" => {
            let (call, text) = (string(call).unwrap_or_default(), Content(content).joined());
            each(Item::Result { call, text, failed: false });
        }
        "assistant" => picks(calls, ["id", "function", "custom"]).filter_map(read_call).for_each(each),
        _ => {}
    }
    true
}

fn read_call<'a>([id, function, custom]: [&'a [u8]; 3]) -> Option<Item<'a>> {
    let [name, input] = pick(function, ["name", "arguments"]).or_else(|| pick(custom, ["name", "input"]))?;
    let input = Input::Text(string(input).unwrap_or_default());
    Some(Item::Call { id: string(id).unwrap_or_default(), name: string(name)?, input })
}
