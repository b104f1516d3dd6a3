//! Belay's own responses: what happened, why, and what to do next.

mod loop_watchdog;

use belay_core::Verdict;
use serde_json::{Value, json};

use crate::inspect::{CutReason, ExchangeInspection, now};
use crate::local_response::LocalResponse;
use crate::upstream::UpstreamError;

/// An error in the shape that clients of all the APIs show to a person.
pub(crate) fn error_response(status: u16, code: &str, message: &str) -> LocalResponse {
    let kind = if status < 500 { "invalid_request_error" } else { "api_error" };
    let body = json!({ "type": "error", "error": { "type": kind, "code": code, "message": message } });
    LocalResponse::json(status, body.to_string())
}

/// The request is not valid HTTP.
pub(crate) fn bad_request(status: u16, error: &dyn std::fmt::Display) -> LocalResponse {
    error_response(status, "bad_request", &format!("Belay could not understand this request: {error}."))
}

pub(crate) fn upstream_error(url: &str, error: &UpstreamError) -> LocalResponse {
    let message = format!("Belay could not get an answer from {url}: {error}.");
    error_response(error.status(), error.code(), &message)
}

pub(crate) fn not_a_forward_proxy() -> LocalResponse {
    error_response(
        400,
        "not_a_forward_proxy",
        "Belay is not a forward proxy: set it as the base URL of your agent, not as HTTP_PROXY.",
    )
}

/// The request carries a key of another provider.
pub(crate) fn misdirected(owner: &str, url: &str) -> LocalResponse {
    let message = format!(
        "Belay did not pass this request on: it carries a key of {owner}, but would have gone to {url}. \
         Put the name of the right model API in front of the path, such as /{}/.",
        if owner == "Google" { "gemini".to_owned() } else { owner.to_ascii_lowercase() }
    );
    error_response(400, "foreign_key", &message)
}

/// A page in a browser that tried to use a configured key.
pub(crate) fn browser_origin() -> LocalResponse {
    let message = "Belay did not pass this request on: it comes from a page in a browser or names another host, and \
                   this model API is asked with a key of yours. Programs on this machine reach it as \
                   http://127.0.0.1 or http://localhost.";
    error_response(403, "browser_origin", message)
}

/// Agents that prefer a WebSocket fall back to plain requests at this status.
pub(crate) fn websocket_declined() -> LocalResponse {
    let message = "Belay follows a conversation in plain requests, not in a socket. Your agent will fall back by itself; \
                   set `proxy.allow_websockets = true` to let sockets pass unseen.";
    error_response(426, "websocket_declined", message).with_header("upgrade", "HTTP/1.1")
}

pub(crate) fn no_upstream<'n>(target: &str, names: impl Iterator<Item = &'n str>) -> LocalResponse {
    let prefixes: Vec<String> = names.map(|name| format!("/{name}/")).collect();
    let path = target.split('?').next().unwrap_or(target);
    let message = format!(
        "Belay does not know which model API {path} belongs to. Put one of {} in front of the path.",
        prefixes.join(", ")
    );
    error_response(404, "no_upstream", &message)
}

/// The reasons for held sessions while the supervisor fails.
pub(crate) const PAUSED_FALLBACK: &str = "Belay has paused this session, and a fault of its own keeps it from saying why. \
                                 `belay show` tells more, `belay resume` lets it go on.";
pub(crate) const KILLED_FALLBACK: &str = "This session was stopped for good, and a fault of Belay's keeps it from saying why. \
                                 `belay show` tells more; a new session can go on.";

/// Refuses a request of a held session in the form its agent takes as final. `status` is for Loop Watchdog's clients.
pub(crate) fn held_response(inspection: &ExchangeInspection, verdict: &Verdict, status: &Value) -> LocalResponse {
    let (code, message) = match verdict {
        Verdict::Stop { reason, .. } => ("belay_killed", reason.as_str()),
        Verdict::Hold { reason, .. } => ("belay_paused", reason.as_str()),
        Verdict::Nudge { message, .. } => ("belay_nudged", message.as_str()),
        Verdict::Go => ("belay_paused", "Belay held this request back."),
    };
    if inspection.is_loop_watchdog_client() {
        return loop_watchdog::held(inspection.session_id(), verdict, status, now());
    }
    let refusal = inspection.client().refuse(code, message);
    let mut answer = LocalResponse::new(refusal.status, refusal.body.into_bytes());
    for (name, value) in refusal.headers {
        answer = answer.with_header(name, value);
    }
    answer
}

/// A nudge as the agent reads it in its conversation.
pub(crate) fn nudge_text(message: &str) -> String {
    format!("<system-reminder>\nBelay, which watches over this session, says: {message}\n</system-reminder>")
}

/// The text at the end of a response that was cut.
pub(crate) fn cut_text(cut: &CutReason) -> String {
    match cut {
        CutReason::Repetition { output_bytes, sample } => format!(
            "\n\n[Belay ended this answer here, after {output_bytes} bytes: it had begun to repeat itself (\"{}\"). \
             Ask again, or start from the last thing that worked.]",
            belay_core::Excerpt::with_limit(sample, 80)
        ),
        CutReason::Budget => "\n\n[Belay ended this answer here: the budget is used up. \
             `belay budget` shows and raises it, `belay resume` lets the session go on.]"
            .to_owned(),
        CutReason::Killed => "\n\n[Belay ended this answer here: a person stopped this session.]".to_owned(),
    }
}

/// A held request was admitted, but its body was too large to buffer.
pub(crate) fn request_too_large_to_hold() -> LocalResponse {
    error_response(
        503,
        "request_too_large_to_hold",
        "Belay held this request and let it go, but it was too large to keep. Send it again.",
    )
    .with_header("retry-after", "0")
}
