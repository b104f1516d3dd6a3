//! The index page: sessions and their states, without scripts.

use std::fmt::Write;
use std::sync::Arc;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{Html, IntoResponse, Response};
use belay_clock::now;
use belay_core::format::{ago, compact, cost, dollars};
use belay_core::printable::is_unprintable;
use belay_ipc::HealthView;
use belay_ipc::views::SessionView;
use belay_store::{SessionQuery, StoreTotals};

use super::blocking;
use crate::state::DaemonState;
use crate::views::session_views;

/// Maximum number of sessions shown.
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
            Ok((sessions, totals)) => render(&sessions, &totals, &health, &shared.config.problems()),
            Err(error) => {
                frame(&format!("<p class=fault>{} {}</p>", escape(&error.to_string()), escape(&error.hint())))
            }
        })
    });
    Html(page.await.unwrap_or_else(|_| frame("<p class=fault>Internal error; see the log.</p>")))
}

fn frame(body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=en>\n<meta charset=utf-8>\n<meta name=viewport content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=refresh content=5>\n<meta name=color-scheme content=\"light dark\">\n<title>Belay</title>\n\
         <link rel=stylesheet href=/style.css>\n<header><h1>Belay</h1><p>{}</p></header>\n<main>\n{body}</main>\n</html>\n",
        crate::VERSION
    )
}

fn render(sessions: &[SessionView], totals: &StoreTotals, health: &HealthView, config: &[String]) -> String {
    let mut body = String::new();
    for problem in config {
        let _ = writeln!(body, "<p class=fault><strong>Invalid configuration.</strong> {}</p>", escape(problem));
    }
    if let (Some(problem), Some(hint)) = (&health.problem, &health.hint) {
        let _ = writeln!(
            body,
            "<p class=fault><strong>Decisions are not being saved.</strong> {} {}</p>",
            escape(problem),
            escape(hint)
        );
    }
    if sessions.is_empty() {
        body.push_str(
            "<p>No sessions yet. Install the hooks with <code>belay init</code>, or replay past sessions with \
             <code>belay audit</code>.</p>\n",
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
            "<tr class={state}><td title=\"{full}\"><code>{short}</code><td title=\"{why}\"><span class=state>{label}</span><td>{project}<td>{model}\
             <td class=n>{calls}<td class=n>{tokens}<td class=n><time datetime=\"{at}\">{ago}</time>",
            state = session.state,
            why = escape(&session.status.why),
            label = session.status.label(),
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
    body.push_str("</tbody>\n</table>\n<p class=how>Resume a paused session with <code>belay resume ID</code>.</p>\n");
    frame(&body)
}

/// Tokens and cost used, with the budget if there is one.
fn spent(session: &SessionView) -> String {
    let mut text = compact(session.tokens);
    if let Some(limit) = session.budget.tokens {
        let _ = write!(text, " of {}", compact(limit));
    }
    if let Some(limit) = session.budget.cost_micros {
        let _ = write!(text, ", {} of {}", cost(session.cost_micros, session.unpriced_micros), dollars(limit));
    }
    text
}

/// Escapes text for HTML.
fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c if is_unprintable(c) => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_of_the_configuration_are_on_top() {
        let problems = ["config.toml:5:1: unknown key `serve.<listne>`".to_owned()];
        let page = render(&[], &StoreTotals::default(), &HealthView::default(), &problems);
        let (before, _) = page.split_once("No sessions yet").unwrap();
        assert!(before.contains("Invalid configuration.</strong> config.toml:5:1: unknown key `serve.&lt;listne&gt;`"));
    }
}
