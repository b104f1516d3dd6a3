//! Anthropic's Messages.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Content, Input, Item};
use crate::inspect::scan;

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    role: Cow<'a, str>,
    #[serde(borrow)]
    content: &'a RawValue,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    text: Cow<'a, str>,
    #[serde(borrow, default)]
    id: Cow<'a, str>,
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tool_use_id: Cow<'a, str>,
    #[serde(borrow, default)]
    content: Content<'a>,
    #[serde(default)]
    is_error: bool,
}

pub(super) fn read<'a>(message: &'a [u8], each: &mut dyn FnMut(Item<'a>)) -> bool {
    let Ok(message) = scan::parse::<Message<'a>>(message) else { return false };
    let user = message.role == "user";
    let content = message.content.get();
    if content.starts_with('"') {
        let Ok(text) = serde_json::from_str::<String>(content) else { return false };
        if user {
            each(Item::Prompt { text: Cow::Owned(text) });
        }
        return true;
    }
    let Ok(blocks) = serde_json::from_str::<Vec<Block<'a>>>(content) else { return false };
    for block in blocks {
        match &*block.kind {
            "text" if user => each(Item::Prompt { text: block.text }),
            "tool_use" => {
                let input = block.input.map_or(Input::Text(Cow::Borrowed("")), Input::Json);
                each(Item::Call { id: block.id, name: block.name, input });
            }
            "tool_result" => {
                let text = block.content.joined();
                each(Item::Result { call: block.tool_use_id, text, failed: block.is_error });
            }
            _ => {}
        }
    }
    true
}
