//! Gemini generateContent and streamGenerateContent.

use serde_json::{Value, json};

use super::{Encode, EncoderContext, StreamStep, ToolResult, list};
use crate::answer::{Answer, Ids, Input, ToolCall, Usage};

pub(super) fn plain(answer: &Answer) -> Value {
    let mut parts = Vec::new();
    if !answer.text.is_empty() {
        parts.push(json!({"text": answer.text.whole()}));
    }
    parts.extend(answer.calls.iter().map(call_part));
    chunk(answer.ids, &answer.model, &parts, Some(answer.usage))
}

/// Newer models require their thought signature back with the call.
fn call_part(call: &ToolCall) -> Value {
    let args = match &call.input {
        Input::Json(args) => args.clone(),
        Input::Freeform(text) => json!({"input": text}),
    };
    json!({"functionCall": {"id": call.id, "name": call.name, "args": args}, "thoughtSignature": "c2NyaXB0ZWQ="})
}

/// The last chunk has the usage.
fn chunk(ids: Ids, model: &str, parts: &[Value], usage: Option<Usage>) -> Value {
    let mut candidate = json!({"content": {"role": "model", "parts": parts}, "index": 0});
    let mut chunk = json!({"modelVersion": model, "responseId": ids.id("", 0)});
    if let Some(usage) = usage {
        candidate["finishReason"] = json!("STOP");
        chunk["usageMetadata"] = json!({
            "promptTokenCount": usage.input, "candidatesTokenCount": usage.output,
            "totalTokenCount": usage.total(), "cachedContentTokenCount": usage.cached,
        });
    }
    chunk["candidates"] = json!([candidate]);
    chunk
}

pub(super) fn error(status: u16, message: &str) -> Value {
    let name = match status {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        503 => "UNAVAILABLE",
        500.. => "INTERNAL",
        _ => "FAILED_PRECONDITION",
    };
    json!({"error": {"code": status, "message": message, "status": name}})
}

pub(super) struct Encoder {
    frame: EncoderContext,
    array: bool,
    begun: bool,
}

impl Encoder {
    pub(super) fn new(frame: EncoderContext, array: bool) -> Self {
        Self { frame, array, begun: false }
    }

    fn send(&mut self, data: &Value) -> String {
        if !self.array {
            return format!("data: {data}\r\n\r\n");
        }
        let before = if std::mem::replace(&mut self.begun, true) { ",\r\n" } else { "[" };
        format!("{before}{data}")
    }

    fn chunk(&mut self, parts: &[Value], usage: Option<Usage>) -> String {
        let chunk = chunk(self.frame.ids, &self.frame.model, parts, usage);
        self.send(&chunk)
    }

    fn end(&self) -> Option<String> {
        self.array.then(|| "]".into())
    }
}

impl Encode for Encoder {
    fn encode(&mut self, step: StreamStep) -> Vec<String> {
        match step {
            StreamStep::Open | StreamStep::TextOpen | StreamStep::TextClose => vec![],
            StreamStep::Piece(piece) => vec![self.chunk(&[json!({"text": piece})], None)],
            StreamStep::Call(call) => vec![self.chunk(&[call_part(&call)], None)],
            StreamStep::Close => {
                let last = self.chunk(&[json!({"text": ""})], Some(self.frame.usage));
                std::iter::once(last).chain(self.end()).collect()
            }
            StreamStep::Fail(failure) => {
                let mut error = error(500, &failure.message);
                error["error"]["status"] = json!(failure.code);
                let last = self.send(&error);
                std::iter::once(last).chain(self.end()).collect()
            }
        }
    }
}

pub(super) fn tool_results(body: &Value) -> Vec<ToolResult> {
    let parts = list(&body["contents"]).iter().flat_map(|content| list(&content["parts"]));
    let responses = parts.map(|part| &part["functionResponse"]).filter(|response| response.is_object());
    responses
        .map(|answer| {
            let response = &answer["response"];
            let text = ["output", "error"].iter().find_map(|field| response[field].as_str());
            ToolResult {
                id: answer["id"].as_str().unwrap_or_default().to_owned(),
                text: text.map_or_else(|| response.to_string(), ToOwned::to_owned),
            }
        })
        .collect()
}
