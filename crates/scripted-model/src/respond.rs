//! Handles one request.

use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, UPGRADE};
use hyper::http::request::Parts;
use hyper::{Request, Response, StatusCode};
use serde_json::{Value, json};

use crate::action::{Action, PlannedCall, ToolNotOffered};
use crate::answer::{Answer, CREATED, Ids, ToolCall, Usage};
use crate::classify::{Api, Kind, Route, is_auxiliary, route, wanted_schema, wants_stream};
use crate::offered_tools::{OfferedTool, offered};
use crate::player::ScheduledTurn;
use crate::raw_head_tap::{self, Head};
use crate::record::{ExchangeEnd, Recorded};
use crate::script::{Delivery, ErrorBody, Reply, Text, Turn};
use crate::server::Shared;
use crate::stream::{Content, ScriptedBody, ScriptedDisconnect, before_head, send};
use crate::wire::{self, Failure, FramingOptions};
use crate::{request_body, schema};

/// A response that is ready to send.
struct Prepared {
    kind: Kind,
    status: u16,
    headers: Vec<(String, String)>,
    content: Content,
    pace: Delivery,
    calls: Vec<ToolCall>,
    complaint: Option<String>,
}

pub(crate) async fn respond(
    shared: &Shared,
    head: &Head,
    request: Request<Incoming>,
) -> Result<Response<ScriptedBody>, ScriptedDisconnect> {
    let (parts, incoming) = request.into_parts();
    let wire_body = incoming.collect().await.map_err(|_| ScriptedDisconnect)?.to_bytes();
    let head = head.take();
    let decoded = request_body::plain(header(&parts.headers, CONTENT_ENCODING.as_str()), &wire_body).map(Vec::from);
    let route = route(&parts.method, parts.uri.path());
    let prepared = match &decoded {
        Ok(body) => prepare(shared, &parts, route, body),
        Err(problem) => Prepared::unusable(route, problem.clone()),
    };
    let prepared = prepared.packed_for(header(&parts.headers, ACCEPT_ENCODING.as_str()).unwrap_or_default());
    let ticket = shared.log.record(Recorded {
        number: 0,
        kind: prepared.kind,
        api: if let Route::Completion(api) = route { Some(api) } else { None },
        method: parts.method.to_string(),
        path: parts.uri.path_and_query().map_or_else(String::new, ToString::to_string),
        headers: raw_head_tap::headers(&head),
        head,
        body: decoded.unwrap_or_default(),
        wire_body: wire_body.to_vec(),
        at: std::time::Duration::ZERO,
        calls: prepared.calls,
        fate: ExchangeEnd::Open,
    });
    if let Some(complaint) = prepared.complaint {
        shared.log.complain(complaint);
    }
    let ticket = before_head(&prepared.pace, &shared.release, ticket).await?;
    let mut response = Response::new(send(prepared.content, prepared.pace, shared.release.clone(), ticket));
    *response.status_mut() = StatusCode::from_u16(prepared.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in prepared.headers {
        let (name, value) = (HeaderName::try_from(name), HeaderValue::try_from(value));
        if let (Ok(name), Ok(value)) = (name, value) {
            response.headers_mut().insert(name, value);
        }
    }
    Ok(response)
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

fn prepare(shared: &Shared, parts: &Parts, route: Route, bytes: &[u8]) -> Prepared {
    let header = |name: &str| header(&parts.headers, name);
    if header(UPGRADE.as_str()).is_some_and(|upgrade| upgrade.eq_ignore_ascii_case("websocket")) {
        return Prepared::error(None, Kind::WebSocket, 426, "The scripted model speaks no WebSocket.");
    }
    let api = match route {
        Route::TokenCount(api) => return Prepared::json(Kind::TokenCount, &token_count(api, bytes.len())),
        Route::Models(api) => return Prepared::json(Kind::Models, &models(api)),
        Route::Unknown => return Prepared::error(None, Kind::Unknown, 404, "The scripted model has no such path."),
        Route::Completion(api) => api,
    };
    let body = match serde_json::from_slice::<Value>(bytes) {
        Ok(body) if body.is_object() => body,
        Ok(_) => return Prepared::unusable(route, "request body is no JSON object".into()),
        Err(error) => return Prepared::unusable(route, format!("request body is no JSON: {error}")),
    };
    let tools = offered(api, &body);
    let asked = Asked { api, body: &body, path: parts.uri.path(), query: parts.uri.query().unwrap_or_default() };
    let script = shared.player.script();
    if !script.toolless && is_auxiliary(&tools, &body, header("x-codex-turn-metadata")) {
        let text = match wanted_schema(api, &body) {
            Some(schema) => schema::instance(schema, &script.aside).to_string(),
            None => script.aside.clone(),
        };
        let mut turn = Turn::new(Reply::Say { text: Text::Whole(text), calls: vec![] });
        turn.pace.delay = script.aside_delay;
        let cue = ScheduledTurn { turn, index: 0, ids: shared.player.aside_ids() };
        return Prepared { kind: Kind::Aside, ..asked.answer(cue, &tools) };
    }
    let cue = shared.player.next_turn(header);
    asked.answer(cue, &tools)
}

/// A completion request, parsed.
struct Asked<'a> {
    api: Api,
    body: &'a Value,
    path: &'a str,
    query: &'a str,
}

impl Asked<'_> {
    fn answer(&self, cue: ScheduledTurn, tools: &[OfferedTool]) -> Prepared {
        let ScheduledTurn { turn, index, ids } = cue;
        let kind = Kind::Turn(index);
        let usage = turn.usage.unwrap_or_else(|| Usage::of_turn(index));
        let answer = |text, calls| Answer { ids, model: self.model(), text, calls, usage };
        let prepared = match turn.reply {
            Reply::Say { text, calls } => match self.plan(&calls, tools, ids) {
                Ok(calls) => self.respond_with(kind, answer(text, calls), None),
                Err(no_tool) => {
                    let error = Prepared::error(Some(self.api), kind, 400, &no_tool.to_string());
                    Prepared { complaint: Some(no_tool.to_string()), ..error }
                }
            },
            Reply::StreamError { text, code, message } => {
                self.respond_with(kind, answer(text, vec![]), Some(Failure { code, message }))
            }
            Reply::Http { status, headers, body } => {
                let mut prepared = match body {
                    ErrorBody::Message(message) => Prepared::error(Some(self.api), kind, status, &message),
                    ErrorBody::Json(body) => Prepared { status, ..Prepared::json(kind, &body) },
                    ErrorBody::Text(text) => Prepared::new(kind, status, "text/plain", Content::Whole(text.into())),
                };
                prepared.headers.extend(headers);
                prepared
            }
        };
        Prepared { pace: turn.pace, ..prepared }
    }

    fn plan(&self, actions: &[Action], tools: &[OfferedTool], ids: Ids) -> Result<Vec<ToolCall>, ToolNotOffered> {
        let prefix = match self.api {
            Api::Responses | Api::Chat => "call_",
            Api::Messages => "toolu_",
            Api::Gemini => "",
        };
        let call = |(index, action): (usize, &Action)| {
            let PlannedCall { name, namespace, input } = action.plan(tools)?;
            Ok(ToolCall { id: ids.id(prefix, index), name, namespace, input })
        };
        actions.iter().enumerate().map(call).collect()
    }

    /// Gemini names the model in the path.
    fn model(&self) -> String {
        let in_path = || self.path.rsplit('/').next()?.split(':').next();
        self.body["model"].as_str().or_else(in_path).unwrap_or("scripted-model").to_owned()
    }

    fn respond_with(&self, kind: Kind, answer: Answer, failure: Option<Failure>) -> Prepared {
        let calls = answer.calls.clone();
        let request_id = answer.ids.id("req_", 0);
        let streamed = wants_stream(self.path, self.body);
        let mut prepared = match failure {
            Some(failure) if !streamed => Prepared::error(Some(self.api), kind, 500, &failure.message),
            None if !streamed => Prepared::json(kind, &wire::plain(self.api, &answer)),
            failure => {
                let wishes = FramingOptions {
                    usage_in_stream: self.body["stream_options"]["include_usage"] == true,
                    gemini_array: !self.query.split('&').any(|pair| pair == "alt=sse"),
                };
                let array = self.api == Api::Gemini && wishes.gemini_array;
                let content_type = if array { "application/json" } else { "text/event-stream" };
                let events = wire::stream(self.api, answer, wishes, failure);
                Prepared::new(kind, 200, content_type, Content::Events(events))
            }
        };
        prepared.headers.push(("cache-control".into(), "no-cache".into()));
        let name = if self.api == Api::Messages { "request-id" } else { "x-request-id" };
        prepared.headers.push((name.into(), request_id));
        Prepared { calls, ..prepared }
    }
}

/// A rough estimate for English and code.
fn token_count(api: Api, bytes: usize) -> Value {
    let tokens = bytes / 4;
    match api {
        Api::Gemini => json!({"totalTokens": tokens}),
        Api::Responses => json!({"object": "response.input_tokens", "input_tokens": tokens}),
        Api::Messages | Api::Chat => json!({"input_tokens": tokens}),
    }
}

/// Codex reads `models`, the others `data`.
fn models(api: Api) -> Value {
    let name = "scripted-model";
    if api == Api::Gemini {
        let methods = ["generateContent", "streamGenerateContent", "countTokens"];
        let model = json!({
            "name": format!("models/{name}"), "displayName": name, "supportedGenerationMethods": methods,
        });
        return json!({"models": [model]});
    }
    let model = json!({
        "id": name, "object": "model", "type": "model", "display_name": name, "created": CREATED,
        "created_at": "2026-01-01T00:00:00Z", "owned_by": "belay",
    });
    json!({"object": "list", "data": [model], "has_more": false, "first_id": name, "last_id": name, "models": []})
}

impl Prepared {
    fn new(kind: Kind, status: u16, content_type: &str, content: Content) -> Self {
        let headers = vec![(CONTENT_TYPE.to_string(), content_type.to_owned())];
        Self { kind, status, headers, content, pace: Delivery::default(), calls: vec![], complaint: None }
    }

    fn json(kind: Kind, body: &Value) -> Self {
        Self::new(kind, 200, "application/json", Content::Whole(body.to_string().into_bytes()))
    }

    fn error(api: Option<Api>, kind: Kind, status: u16, message: &str) -> Self {
        Self { status, ..Self::json(kind, &wire::error(api, status, message)) }
    }

    /// Compresses the response if the script requests it and the agent accepts it.
    fn packed_for(mut self, accepted: &str) -> Self {
        let streams = matches!(self.content, Content::Events(_));
        let mut names = accepted.split(',').map(|name| name.split(';').next().unwrap_or_default().trim());
        self.pace.packed = self.pace.packed.filter(|packing| streams && names.any(|name| name == packing.name()));
        if let Some(packing) = self.pace.packed {
            self.headers.push((CONTENT_ENCODING.to_string(), packing.name().to_owned()));
        }
        self
    }

    /// The request is invalid; reported to the caller and to the test.
    fn unusable(route: Route, problem: String) -> Self {
        let api = if let Route::Completion(api) = route { Some(api) } else { None };
        Self { complaint: Some(problem.clone()), ..Self::error(api, Kind::Unknown, 400, &problem) }
    }
}
