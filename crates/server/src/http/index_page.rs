//! The front page: sessions and their states, without a script.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{Html, IntoResponse, Response};
use belay_ipc::HealthView;
use belay_ipc::views::SessionView;
use belay_store::{SessionQuery, StoreTotals};

use super::blocking;
use crate::housekeeping::now;
use crate::state::DaemonState;
use crate::views::session_views;

/// Sessions shown.
const MAX_SESSIONS: usize = 100;

pub(super) async fn stylesheet() -> Response {
    ([(CONTENT_TYPE, "text/css; charset=utf-8")], include_str!("style.css")).into_response()
}

pub(super) async fn index(State(shared): State<Arc<DaemonState>>) -> Html<String> {
    let page = blocking(&shared, |shared| {
        let health = shared.health();
        let read = || -> belay_store::Result<(Vec<SessionView>, StoreTotals)> {
            let store = shared.readers.get()?;
            let rows = store.sessions(&SessionQuery { limit: MAX_SESSIONS, ..SessionQuery::default() })?.rows;
            Ok((session_views(&*store, rows)?, store.totals(None)?))
        };
        Ok(match read() {
            Ok((sessions, totals)) => render(&sessions, &totals, &health),
            Err(error) => {
                frame(&format!("<p class=fault>{} {}</p>", escape(&error.to_string()), escape(&error.hint())))
            }
        })
    });
    Html(page.await.unwrap_or_else(|_| frame("<p class=fault>A fault in Belay; the log tells more.</p>")))
}

fn frame(body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=en>\n<meta charset=utf-8>\n<meta name=viewport content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=refresh content=5>\n<meta name=color-scheme content=\"light dark\">\n<title>Belay</title>\n\
         <link rel=stylesheet href=/style.css>\n<header><h1>Belay</h1><p>{}</p></header>\n<main>\n{body}</main>\n</html>\n",
        crate::VERSION
    )
}

fn render(sessions: &[SessionView], totals: &StoreTotals, health: &HealthView) -> String {
    let mut body = String::new();
    if let (Some(problem), Some(hint)) = (&health.problem, &health.hint) {
        let _ = writeln!(
            body,
            "<p class=fault><strong>Nothing is being kept.</strong> {} {}</p>",
            escape(problem),
            escape(hint)
        );
    }
    if sessions.is_empty() {
        body.push_str(
            "<p>No session has been seen yet. Put your agents on the rope with <code>belay init</code>, or see what \
             they did so far with <code>belay audit</code>.</p>\n",
        );
        return frame(&body);
    }
    let count = |state: &str| totals.sessions.get(state).copied().unwrap_or(0);
    let _ = writeln!(
        body,
        "<p>{} active, {} paused, {} killed, {} ended. {} open incidents.</p>",
        count("active"),
        count("paused"),
        count("killed"),
        count("ended"),
        totals.open_incidents
    );
    body.push_str("<table>\n<thead><tr><th>session<th>state<th>project<th>model<th class=n>calls<th class=n>tokens<th class=n>last event</thead>\n<tbody>\n");
    let now = now();
    for session in sessions {
        let _ = writeln!(
            body,
            "<tr class={state}><td title=\"{full}\"><code>{short}</code><td><span class=state>{state}</span><td>{project}<td>{model}\
             <td class=n>{calls}<td class=n>{tokens}<td class=n><time datetime=\"{at}\">{ago}</time>",
            state = session.state,
            full = escape(&session.session),
            short = escape(&session.short),
            project = escape(session.project.as_deref().or(session.cwd.as_deref()).unwrap_or("")),
            model = escape(session.model.as_deref().unwrap_or("")),
            calls = session.calls,
            tokens = spent(session),
            at = session.last_at,
            ago = ago(now.saturating_since(session.last_at)),
        );
    }
    body.push_str("</tbody>\n</table>\n<p class=how>A paused session goes on with <code>belay resume ID</code>.</p>\n");
    frame(&body)
}

/// What it has spent, and what it may.
fn spent(session: &SessionView) -> String {
    let mut text = session.tokens.to_string();
    if let Some(limit) = session.budget.tokens {
        let _ = write!(text, " of {limit}");
    }
    if let Some(limit) = session.budget.cost_micros {
        let _ = write!(text, ", ${:.2} of ${:.2}", session.cost_micros as f64 / 1e6, limit as f64 / 1e6);
    }
    text
}

/// How long ago, in the largest unit that fits.
fn ago(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{seconds}s ago"),
        60..3600 => format!("{}m ago", seconds / 60),
        3600..86_400 => format!("{}h ago", seconds / 3600),
        _ => format!("{}d ago", seconds / 86_400),
    }
}

/// Text as text, wherever it came from.
fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c if c.is_control() => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe
}
