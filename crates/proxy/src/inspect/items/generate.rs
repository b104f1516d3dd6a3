//! Gemini's generateContent.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Input, Item};
use crate::inspect::scan;

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    role: Cow<'a, str>,
    #[serde(borrow, default)]
    parts: Vec<Part<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    #[serde(borrow, default)]
    text: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    function_call: Option<FunctionCall<'a>>,
    #[serde(borrow, default)]
    function_response: Option<FunctionResponse<'a>>,
}

#[derive(Deserialize)]
struct FunctionCall<'a> {
    #[serde(borrow, default)]
    id: Cow<'a, str>,
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    args: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct FunctionResponse<'a> {
    #[serde(borrow, default)]
    id: Cow<'a, str>,
    #[serde(borrow, default)]
    response: Option<&'a RawValue>,
}

/// What tools put into a response, by convention.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Response<'a> {
    #[serde(borrow)]
    output: Option<Cow<'a, str>>,
    #[serde(borrow)]
    error: Option<Cow<'a, str>>,
}

pub(super) fn read<'a>(message: &'a [u8], each: &mut dyn FnMut(Item<'a>)) -> bool {
    let Ok(message) = scan::parse::<Message<'a>>(message) else { return false };
    let user = message.role != "model";
    for part in message.parts {
        if let Some(call) = part.function_call {
            let input = call.args.map_or(Input::Text(Cow::Borrowed("")), Input::Json);
            each(Item::Call { id: call.id, name: call.name, input });
        } else if let Some(answer) = part.function_response {
            let raw = answer.response.map_or("", RawValue::get);
            let response: Response<'a> = serde_json::from_str(raw).unwrap_or_default();
            let failed = response.error.is_some();
            let text = response.output.or(response.error).unwrap_or(Cow::Borrowed(raw));
            each(Item::Result { call: answer.id, text, failed });
        } else if let Some(text) = part.text.filter(|_| user) {
            each(Item::Prompt { text });
        }
    }
    true
}
