//! Chat Completions.

use std::borrow::Cow;

use serde::Deserialize;

use super::{Content, Input, Item};
use crate::inspect::scan;

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    role: Cow<'a, str>,
    #[serde(borrow, default)]
    content: Content<'a>,
    #[serde(borrow, default)]
    tool_calls: Option<Vec<ToolCall<'a>>>,
    #[serde(borrow, default)]
    tool_call_id: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct ToolCall<'a> {
    #[serde(borrow, default)]
    id: Cow<'a, str>,
    #[serde(borrow, default)]
    function: Option<Function<'a>>,
    #[serde(borrow, default)]
    custom: Option<Function<'a>>,
}

#[derive(Deserialize)]
struct Function<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow, default, alias = "input")]
    arguments: Option<Cow<'a, str>>,
}

pub(super) fn read<'a>(message: &'a [u8], each: &mut dyn FnMut(Item<'a>)) -> bool {
    let Ok(message) = scan::parse::<Message<'a>>(message) else { return false };
    match &*message.role {
        "user" => message.content.texts(&mut |text| each(Item::Prompt { text })),
        "tool" | "function" => {
            let call = message.tool_call_id.unwrap_or_default();
            each(Item::Result { call, text: message.content.joined(), failed: false });
        }
        "assistant" => {
            for call in message.tool_calls.unwrap_or_default() {
                if let Some(function) = call.function.or(call.custom) {
                    let input = Input::Text(function.arguments.unwrap_or_default());
                    each(Item::Call { id: call.id, name: function.name, input });
                }
            }
        }
        _ => {}
    }
    true
}
