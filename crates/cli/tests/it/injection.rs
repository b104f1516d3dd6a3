//! Text that an agent or a repository chose cannot control the terminal of a person who reads about it.

use belay_core::printable::is_unprintable;
use serde_json::json;

use crate::hook::{hook, payload};
use crate::world::World;

/// Sets the title, clears the screen, changes colours by a C1 control, reverses and hides text, breaks lines.
const HOSTILE: &str = "x\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\u{202e}evil\u{200b}\u{2028}\r\u{8}y";

/// Colours are on, so nothing else removes sequences.
fn colourful() -> World {
    World::alone().var("CLICOLOR_FORCE", "1")
}

/// Nothing but Belay's own colours is left.
fn assert_harmless(text: &str, what: &str) {
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| is_unprintable(c) && c != '\n' && c != '\t') {
        let sequence = &rest[at..];
        let colour = sequence.strip_prefix("\u{1b}[").and_then(|style| style.split_once('m'));
        let Some((_, after)) = colour.filter(|(codes, _)| codes.chars().all(|c| c.is_ascii_digit() || c == ';')) else {
            panic!("{what}: {:?}", sequence.chars().take(20).collect::<String>());
        };
        rest = after;
    }
}

#[test]
fn audit_reports_hostile_transcripts_harmlessly() {
    let world = colourful();
    let mut lines = Vec::new();
    for n in 0..6 {
        let common = |kind: &str, message: serde_json::Value| {
            json!({
                "type": kind, "isSidechain": false, "uuid": format!("{kind}{n}"), "sessionId": "s",
                "timestamp": format!("2026-03-01T08:0{n}:10.000Z"), "cwd": format!("/home/{HOSTILE}/{HOSTILE}"),
                "message": message,
            })
            .to_string()
        };
        let call = json!({ "type": "tool_use", "id": format!("t{n}"), "name": "Bash",
            "input": { "command": format!("npm {HOSTILE}") } });
        let result = json!({ "type": "tool_result", "tool_use_id": format!("t{n}"), "is_error": true,
            "content": format!("Exit code 1\n{HOSTILE}") });
        lines.push(common(
            "assistant",
            json!({ "id": format!("m{n}"), "role": "assistant", "model": format!("opus{HOSTILE}"),
            "content": [call], "usage": { "input_tokens": 10, "output_tokens": 200 } }),
        ));
        lines.push(common("user", json!({ "role": "user", "content": [result] })));
    }
    let file = world.write("home/transcripts/s.jsonl", &(lines.join("\n") + "\n"));
    let file = file.to_str().unwrap();
    let text = world.run(&["audit", file]);
    assert!(text.out.contains("1 loop in 1 of 1 sessions") && text.out.contains("owned"), "{text:?}");
    assert_harmless(&text.out, "audit");
    assert_eq!(text.out.lines().filter(|line| line.starts_with('y')).count(), 0, "no line of its own: {}", text.out);
    let json = world.run(&["audit", "--json", file]);
    assert_harmless(&json.out, "audit --json");
    assert!(
        json.out.contains("owned") && !json.out.contains("\\u001b"),
        "names have no control characters: {}",
        json.out
    );
    let page = world.path("page.html");
    world.run(&["audit", file, "--html", page.to_str().unwrap()]);
    assert_harmless(&std::fs::read_to_string(page).unwrap(), "audit --html");
}

#[test]
fn commands_show_hostile_sessions_harmlessly() {
    let world = colourful();
    for call in 1..=7 {
        for event in ["PreToolUse", "PostToolUseFailure"] {
            let mut payload = payload(event, "s", &format!("t{call}"), &format!("make {HOSTILE}"));
            payload["cwd"] = format!("/{HOSTILE}").into();
            payload["model"] = HOSTILE.into();
            hook(&world, &payload);
        }
    }
    let incidents = world.run(&["incidents", "--json"]).json();
    let id = incidents["incidents"][0]["id"].as_str().unwrap_or("s").to_owned();
    world.write("home/code/app/.belay.toml", "[\"a\\u001b]0;owned\\u0007\"]\nx = 1\n");
    let note = format!("--note={HOSTILE}");
    for args in [
        &["sessions"][..],
        &["sessions", "--json"],
        &["show", "s"],
        &["show", "s", "--json"],
        &["events", "tail", "--no-follow"],
        &["tail", "--no-follow"],
        &["incidents"],
        &["incidents", "--json"],
        &["explain", &id],
        &["explain", "s"],
        &["budget"],
        &["status"],
        &["doctor"],
        &["doctor", "--json"],
        &["pause", "s", &note],
        &["resume", HOSTILE],
        &["show", HOSTILE, "--json"],
        &["config", "get", HOSTILE],
    ] {
        let output = world.run(args);
        assert_harmless(&output.out, &format!("{args:?}, stdout"));
        assert_harmless(&output.err, &format!("{args:?}, stderr"));
    }
}
