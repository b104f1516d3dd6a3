//! Requests, responses and errors.

use belay_core::event::MAX_EVENT_BYTES;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::de::value::MapDeserializer;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::operations::Operation;

/// Version of the protocol.
pub const PROTOCOL_VERSION: u16 = 1;

/// Maximum length of a line in either direction: the longest event and its envelope.
pub const MAX_LINE_BYTES: usize = MAX_EVENT_BYTES + 64 * 1024;

/// A request to send.
#[derive(Debug, Serialize)]
pub struct Request<'a> {
    pub v: u16,
    #[serde(flatten)]
    pub operation: &'a Operation,
}

/// A request as received. The operation is parsed separately, so that an error response can echo `id`.
#[derive(Debug, Deserialize)]
struct Envelope<'a> {
    #[serde(default)]
    v: Option<u16>,
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    op: &'a RawValue,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
}

/// A line that is not a valid request.
#[derive(Debug)]
pub struct ParseError<'a> {
    /// The request's `id`, if it was found.
    pub id: Option<&'a RawValue>,
    pub body: ErrorBody,
}

/// Parses a request line: its `id` and its operation. `version` is the server's, for error messages.
pub fn parse_request<'a>(line: &'a [u8], version: &str) -> Result<(Option<&'a RawValue>, Operation), ParseError<'a>> {
    let envelope: Envelope<'a> = serde_json::from_slice(line).map_err(|error| ParseError {
        id: None,
        body: ErrorBody::new(ErrorCode::BadRequest, format!("invalid request: {error}")),
    })?;
    let Envelope { v, id, op, params } = envelope;
    let refuse = |body| Err(ParseError { id, body });
    if let Some(v) = v.filter(|v| !(1..=PROTOCOL_VERSION).contains(v)) {
        let message = format!("unknown protocol version {v}: Belay {version} supports version {PROTOCOL_VERSION}");
        let body = ErrorBody::new(ErrorCode::Unknown, message).field("v");
        return refuse(body.hint("restart the resident process: belay stop"));
    }
    let params = params.map_or("{}", RawValue::get);
    match parse_operation(op, Some(params)) {
        Ok(operation) => Ok((id, operation)),
        Err(_) if !is_known(op) => {
            let message = format!("unknown operation {}: Belay {version} does not support it", op.get());
            refuse(ErrorBody::new(ErrorCode::Unknown, message).field("op"))
        }
        Err(error) => refuse(ErrorBody::new(ErrorCode::BadRequest, error.to_string()).field("params")),
    }
}

fn parse_operation(op: &RawValue, params: Option<&str>) -> serde_json::Result<Operation> {
    let params = params.map(serde_json::from_str::<&RawValue>).transpose()?;
    // `op` comes first, regardless of the order on the line, so serde needs no buffer for the parameters.
    let fields = [("op", op)].into_iter().chain(params.map(|params| ("params", params)));
    Operation::deserialize(MapDeserializer::new(fields))
}

/// Whether the operation exists, in which case parsing without parameters only reports a missing field.
fn is_known(op: &RawValue) -> bool {
    parse_operation(op, None).is_err_and(|error| error.to_string().starts_with("missing field"))
}

/// A response to send.
#[derive(Debug, Serialize)]
pub struct Response<'a, T> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<&'a RawValue>,
    #[serde(flatten)]
    pub body: ResponseBody<T>,
}

/// The result of a request.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ResponseBody<T> {
    Ok(T),
    Error(ErrorBody),
}

/// A response as a client reads it: one of the two.
#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "T: DeserializeOwned"))]
pub(crate) struct RawResponse<T> {
    #[serde(default = "Option::default", deserialize_with = "present")]
    pub(crate) ok: Option<T>,
    #[serde(default)]
    pub(crate) error: Option<ErrorBody>,
}

/// Deserializes a present field, even if it is null, because a result may be null.
fn present<'de, T: DeserializeOwned, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[error("{message}")]
pub struct ErrorBody {
    pub code: ErrorCode,
    /// The invalid field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    pub message: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl ErrorBody {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, field: None, message: message.into(), hint: None }
    }

    #[must_use]
    pub fn field(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Kinds of errors. Stable: scripts may match on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// The request is malformed.
    BadRequest,
    /// Unknown operation or protocol version.
    Unknown,
    /// The line is too long.
    TooLong,
    /// The event was refused; nothing was stored.
    Refused,
    /// No such session, incident or finding.
    NotFound,
    /// The name matches several sessions.
    Ambiguous,
    /// It is already decided, or not what the caller was shown.
    Conflict,
    /// The caller is not allowed to do this.
    Forbidden,
    /// The queue of review tasks is full.
    QueueFull,
    /// Too many requests; retry.
    Busy,
    /// The store failed.
    Store,
    /// An internal error.
    Internal,
}
