//! What we say when the answer is our own: what happened, why, and what to do next.

mod legacy;

use belay_core::Verdict;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::inspect::{Cut, Turn, now};
use crate::upstream::Trouble;

/// An error in the shape that clients of all the APIs show to a person.
pub(crate) fn error(status: u16, code: &str, message: &str) -> Answer {
    let kind = if status < 500 { "invalid_request_error" } else { "api_error" };
    let body = json!({ "type": "error", "error": { "type": kind, "code": code, "message": message } });
    Answer::json(status, body.to_string())
}

pub(crate) fn trouble(url: &str, trouble: &Trouble) -> Answer {
    let message = format!("Belay could not get an answer from {url}: {trouble}.");
    error(trouble.status(), trouble.code(), &message)
}

pub(crate) fn not_a_forward_proxy() -> Answer {
    error(
        400,
        "not_a_forward_proxy",
        "Belay is no general web proxy: set it as the base URL of your agent, not as HTTP_PROXY.",
    )
}

/// A key that was about to be given away.
pub(crate) fn misdirected(owner: &str, url: &str) -> Answer {
    let message = format!(
        "Belay did not pass this request on: it carries a key of {owner}, but would have gone to {url}. \
         Put the name of the right model API in front of the path, such as /{}/.",
        if owner == "Google" { "gemini".to_owned() } else { owner.to_ascii_lowercase() }
    );
    error(400, "misdirected_key", &message)
}

/// A page in a browser that tried to use a configured key.
pub(crate) fn from_a_page() -> Answer {
    let message = "Belay did not pass this request on: it comes from a page in a browser or names another host, and \
                   this model API is asked with a key of yours. Programs on this machine reach it as \
                   http://127.0.0.1 or http://localhost.";
    error(403, "from_a_page", message)
}

/// Agents that would rather have a socket fall back to plain requests at this status.
pub(crate) fn no_socket() -> Answer {
    let message = "Belay follows a conversation in plain requests, not in a socket. Your agent will fall back by itself; \
                   set `proxy.sockets = true` to let sockets pass unseen.";
    error(426, "no_socket", message).line("upgrade", "HTTP/1.1")
}

pub(crate) fn no_upstream<'n>(target: &str, names: impl Iterator<Item = &'n str>) -> Answer {
    let prefixes: Vec<String> = names.map(|name| format!("/{name}/")).collect();
    let path = target.split('?').next().unwrap_or(target);
    let message = format!(
        "Belay does not know which model API {path} belongs to. Put one of {} in front of the path.",
        prefixes.join(", ")
    );
    error(404, "no_upstream", &message)
}

/// Of a session whose story cannot be told, since a fault of ours is in the way.
pub(crate) const PAUSED: &str = "Belay has paused this session, and a fault of its own keeps it from saying why. \
                                 `belay show` tells more, `belay resume` lets it go on.";
pub(crate) const KILLED: &str = "This session was stopped for good, and a fault of Belay's keeps it from saying why. \
                                 `belay show` tells more; a new session can go on.";

/// What a held session hears, in the form its agent takes as final. `status` is for Loop Watchdog's clients.
pub(crate) fn held(turn: &Turn, verdict: &Verdict, status: &Value) -> Answer {
    let (code, message) = match verdict {
        Verdict::Stop { reason, .. } => ("belay_killed", reason.as_str()),
        Verdict::Hold { reason, .. } => ("belay_paused", reason.as_str()),
        Verdict::Nudge { message, .. } => ("belay_nudged", message.as_str()),
        Verdict::Go => ("belay_paused", "Belay held this request back."),
    };
    if turn.is_legacy() {
        return legacy::held(turn.session_id(), verdict, status, now());
    }
    let refusal = turn.dialect().refuse(code, message);
    let mut answer = Answer::new(refusal.status, refusal.body.into_bytes());
    for (name, value) in refusal.headers {
        answer = answer.line(name, value);
    }
    answer
}

/// A nudge as the agent reads it in its conversation.
pub(crate) fn note(message: &str) -> String {
    format!("<system-reminder>\nBelay, which watches over this session, says: {message}\n</system-reminder>")
}

/// Why an answer ends here, in the answer's own text.
pub(crate) fn cut(cut: &Cut) -> String {
    match cut {
        Cut::Chant { said, what } => format!(
            "\n\n[Belay ended this answer here, after {said} bytes: it had begun to repeat itself (\"{}\"). \
             Ask again, or start from the last thing that worked.]",
            belay_core::Excerpt::bounded(what, 80)
        ),
        Cut::Budget => "\n\n[Belay ended this answer here: the budget is used up. \
             `belay budget` shows and raises it, `belay resume` lets the session go on.]"
            .to_owned(),
        Cut::Stopped => "\n\n[Belay ended this answer here: a person stopped this session.]".to_owned(),
    }
}

/// A held request that was let go, but too large to have been kept.
pub(crate) fn too_large_to_keep() -> Answer {
    error(
        503,
        "too_large_to_keep",
        "Belay held this request and let it go, but it was too large to keep. Send it again.",
    )
    .line("retry-after", "0")
}
