//! Text from outside stays text.

use std::collections::BTreeSet;

use belay_dashboard::review::{ReviewPage, RoundDiff};
use belay_dashboard::reviews::ReviewsPage;
use belay_dashboard::{Frame, Page, PageView as _, Theme, messages};
use proptest::prelude::*;

use crate::fixtures;
use crate::html::tags;

/// Every element that pages consist of.
const ELEMENTS: &str = "a aside b body br button circle code datalist dd desc details dialog div dl dt fieldset figcaption figure footer form g h1 h2 h3 header html head i input kbd label li link main mark meta nav noscript ol option output p path pre rect script section select small span strong summary svg symbol table tbody td text textarea th thead time title tr tspan ul use";

fn assert_safe(name: &str, html: &str) {
    let known: BTreeSet<&str> = ELEMENTS.split(' ').collect();
    for tag in tags(html) {
        assert!(known.contains(tag.name), "{name}: unexpected element {}", tag.name);
        for (key, _) in &tag.attributes {
            assert!(!key.starts_with("on") && *key != "style", "{name}: attribute {key} of {}", tag.name);
        }
        if tag.name == "script" {
            assert!(tag.get("src").is_some_and(|src| src.starts_with("/assets/")), "{name}: inline script");
        }
        for address in ["href", "src", "action"] {
            let value = tag.get(address).unwrap_or("/");
            let local = value.starts_with('/') || value.starts_with('#') || value.starts_with('?') || value == "data:,";
            assert!(local && !value.starts_with("//"), "{name}: {address}={value}");
        }
    }
    let hidden = |c: char| belay_core::printable::is_unprintable(c) && c != '\n' && c != '\t';
    let shown = without_values(html);
    assert!(!shown.contains(hidden), "{name}: control characters");
}

/// The page without what is only sent back to the server: values of forms, and the session that the page follows.
fn without_values(html: &str) -> String {
    let mut shown = html.to_owned();
    for key in [" value=\"", " data-session=\""] {
        let mut parts = shown.split(key);
        let first = parts.next().unwrap_or_default().to_owned();
        shown = parts.fold(first, |shown, part| shown + part.split_once('"').map_or("", |(_, rest)| rest));
    }
    shown
}

#[test]
fn no_page_has_inline_code_or_foreign_elements() {
    for (name, page) in fixtures::pages(Theme::Light) {
        assert_safe(name, &page.into_string());
    }
}

#[test]
fn ids_are_unique() {
    for (name, page) in fixtures::pages(Theme::Light) {
        let html = page.into_string();
        let mut seen = BTreeSet::new();
        for tag in tags(&html) {
            if let Some(id) = tag.get("id") {
                assert!(seen.insert(id.to_owned()), "{name}: id {id} twice");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_text_in_any_field_stays_text(text in "[<>&\"'=/ a-z\\x00-\\x1f\\u{80}-\\u{9f}\\u{202a}-\\u{202e}\\u{2066}-\\u{2069}]{0,40}") {
        let frame = fixtures::frame(Page::Overview, None);
        let filled = |json: serde_json::Value| fill(json, &text);
        let view = serde_json::to_value(fixtures::overview()).unwrap();
        let view = serde_json::from_value(filled(view)).unwrap();
        assert_safe("overview", &fixtures::overview_page(view, fixtures::approvals()).page(&frame).into_string());
        let view = serde_json::to_value(fixtures::looping_session()).unwrap();
        let view = serde_json::from_value(filled(view)).unwrap();
        assert_safe("session", &fixtures::session_page(view).page(&frame).into_string());
        let view = serde_json::to_value(fixtures::reviews_page().view).unwrap();
        let view = serde_json::from_value(filled(view)).unwrap();
        assert_safe("reviews", &ReviewsPage { view, ..fixtures::reviews_page() }.page(&frame).into_string());
        let view = serde_json::to_value(fixtures::disputed_review()).unwrap();
        let page = ReviewPage { view: serde_json::from_value(filled(view)).unwrap(), ..fixtures::with_diff(fixtures::disputed_review()) };
        assert_safe("review", &page.page(&frame).into_string());
        let diff = Some(RoundDiff { round: 1, text: format!("{text}\ndiff --git a/{text}\n@@ -1 +1 @@\n{text}\n+{text}"), truncated: false });
        assert_safe("diff", &ReviewPage { diff, ..page }.page(&frame).into_string());
        let frame = Frame { address: "x", ..frame };
        assert_safe("error", &messages::error(&frame, &text, &text, Some(&text)).into_string());
    }
}

/// Appends a text to every string that has no meaning of its own.
fn fill(json: serde_json::Value, text: &str) -> serde_json::Value {
    use serde_json::Value;
    match json {
        Value::Array(items) => items.into_iter().map(|item| fill(item, text)).collect(),
        Value::Object(fields) => {
            let free = [
                "reason",
                "task",
                "branch",
                "project",
                "cwd",
                "model",
                "what",
                "outcome",
                "why",
                "sentence",
                "unchanged",
                "text",
                "path",
                "name",
                "account",
                "limit",
                "message",
                "short",
                "agent_version",
                "pattern",
                "progress_would_be",
                "subject",
                "id",
                "title",
                "project_dir",
                "status",
                "builder",
                "prompt",
                "arbiter",
                "dir",
                "artifacts_dir",
                "intervention",
                "command",
                "summary",
                "reviewer",
                "note",
                "severity",
                "place",
                "claim",
                "evidence",
                "provenance",
                "state_reason",
                "objection",
                "role",
                "by",
                "dispute",
            ];
            // The outcome of a finding is a digest, that of a call is text.
            let is_call = fields.contains_key("what");
            let is_free = |key: &str| free.contains(&key) && (is_call || key != "outcome");
            let fill = |(key, value): (String, Value)| match value {
                Value::String(value) if is_free(&key) => (key, Value::String(format!("{text}{value}{text}"))),
                value => (key, fill(value, text)),
            };
            Value::Object(fields.into_iter().map(fill).collect())
        }
        other => other,
    }
}
