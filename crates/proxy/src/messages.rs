//! Belay's own responses: what happened, why, and what to do next.

use belay_core::Verdict;
use serde_json::json;

use crate::inspect::{CutReason, ExchangeInspection};
use crate::local_response::LocalResponse;
use crate::upstream::UpstreamError;

/// An error in a format that clients of all APIs show to the user.
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

/// A browser page tried to use a configured key.
pub(crate) fn browser_origin() -> LocalResponse {
    let message = "Belay did not pass this request on: it comes from a page in a browser or names another host, and \
                   this model API is asked with a key of yours. Programs on this machine reach it as \
                   http://127.0.0.1 or http://localhost.";
    error_response(403, "browser_origin", message)
}

/// A path that leaves the base path of its upstream.
pub(crate) fn parent_segment() -> LocalResponse {
    let message = "Belay did not pass this request on: its path has a `..` segment. Write the path without it.";
    error_response(400, "parent_segment", message)
}

/// All connections are in use.
pub(crate) fn too_many_connections() -> LocalResponse {
    let message = "Belay serves as many connections as it can. Send the request again later.";
    error_response(503, "too_many_connections", message).with_header("retry-after", "1")
}

/// A program of another user.
pub(crate) fn other_user(uid: u32) -> LocalResponse {
    let message = format!(
        "Belay did not pass this request on: it comes from another user of this machine (uid {uid}). Start an instance of \
         your own, or send the header X-Belay-Token; the owner's `belay status --token` shows the token."
    );
    error_response(403, "other_user", &message)
}

/// A program that closed its socket, or whose socket the kernel does not list.
pub(crate) fn no_user() -> LocalResponse {
    let message = "Belay did not pass this request on: the system does not tell which user sent it. Start the agent with \
                   `belay run`, or send the header X-Belay-Token; `belay status --token` shows the token.";
    error_response(403, "unknown_user", message)
}

/// A program on another machine, without a token.
pub(crate) fn token_required() -> LocalResponse {
    let message = "Belay did not pass this request on: from other machines, a request needs the proxy token. Put it into \
                   the base URL (/t/TOKEN) or into the header X-Belay-Token; on the machine that runs Belay, \
                   `belay status --token` shows it.";
    error_response(401, "token_required", message)
}

/// A plain request to a listener with TLS.
pub(crate) fn tls_required() -> LocalResponse {
    error_response(400, "tls_required", "This port speaks TLS: the URL must start with https://.")
}

/// A request that needs a configured key, from a program that may belong to another user.
pub(crate) fn unknown_user() -> LocalResponse {
    let message = "Belay did not pass this request on: this model API is asked with a key of yours, and this system does \
                   not tell which user sent the request. Start the agent with `belay run`, or send the header \
                   X-Belay-Token; `belay status --token` shows the token.";
    error_response(403, "unknown_user", message)
}

/// Agents that prefer a WebSocket fall back to plain requests at this status.
pub(crate) fn websocket_declined() -> LocalResponse {
    let message = "Belay inspects HTTP requests, not WebSockets. The agent falls back to HTTP by itself; \
                   set `proxy.allow_websockets = true` to let WebSockets pass without inspection.";
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
pub(crate) const PAUSED_FALLBACK: &str = "Belay has paused this session, but the reason is unavailable because of an internal error. \
                                 Run `belay show` for details or `belay resume` to resume it.";
pub(crate) const KILLED_FALLBACK: &str = "Belay has killed this session, but the reason is unavailable because of an internal error. \
                                 Run `belay show` for details, or start a new session.";

/// Refuses a request of a held session in the form that its agent treats as final.
pub(crate) fn held_response(inspection: &ExchangeInspection, verdict: &Verdict) -> LocalResponse {
    let (code, message) = match verdict {
        Verdict::Stop { reason, .. } => ("belay_killed", reason.as_str()),
        Verdict::Hold { reason, .. } => ("belay_paused", reason.as_str()),
        Verdict::Nudge { message, .. } => ("belay_nudged", message.as_str()),
        Verdict::Go => ("belay_paused", "Belay held this request."),
    };
    let refusal = inspection.client().refuse(code, message);
    let mut response = LocalResponse::new(refusal.status, refusal.body.into_bytes());
    for (name, value) in refusal.headers {
        response = response.with_header(name, value);
    }
    response
}

/// A nudge as the agent reads it in its conversation.
pub(crate) fn nudge_text(message: &str) -> String {
    let message = message.strip_prefix("Belay: ").unwrap_or(message);
    format!("<system-reminder>\nBelay, which watches over this session, says: {message}\n</system-reminder>")
}

/// The text at the end of a response that was cut.
pub(crate) fn cut_text(cut: &CutReason) -> String {
    match cut {
        CutReason::Repetition { output_bytes, sample } => format!(
            "\n\n[Belay ended this response here, after {output_bytes} bytes: it started to repeat itself (\"{}\"). \
             Ask again, or start from the last thing that worked.]",
            belay_core::Excerpt::with_limit(sample, 80)
        ),
        CutReason::Budget => "\n\n[Belay ended this response here: the budget is used up. \
             Raise it with `belay budget`, then run `belay resume`.]"
            .to_owned(),
        CutReason::Killed => "\n\n[Belay ended this response here: a person stopped this session.]".to_owned(),
    }
}

/// A held request was admitted, but its body was too large to buffer.
pub(crate) fn request_too_large_to_hold() -> LocalResponse {
    error_response(
        503,
        "request_too_large_to_hold",
        "The held request was released, but it was too large to buffer. Send it again.",
    )
    .with_header("retry-after", "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nudge_names_belay_once() {
        let text = nudge_text("Belay: The same call was made 3 times.");
        assert!(text.contains("says: The same call was made 3 times."), "{text}");
        assert_eq!(text.matches("Belay").count(), 1, "{text}");
    }
}
