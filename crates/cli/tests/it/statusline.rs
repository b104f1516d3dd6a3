//! `belay statusline`: always one line.

use crate::world::{World, lines, session_starts};

#[test]
fn the_status_line_is_one_line_whatever_happens() {
    let world = World::alone();
    let huge = format!("{{\"x\":\"{}", "y".repeat(2 * 1024 * 1024));
    for input in ["", "{", "null", "[1]", "{\"session_id\":7}", "{\"session_id\":\"nobody\"}", "\u{fffd}", &huge] {
        for args in [&["statusline"][..], &["statusline", "--what", "-x"], &["--home", "/dev/null/x", "statusline"]] {
            let output = world.run_with(args, input.as_bytes());
            assert_eq!((output.code, output.out.as_str(), output.err.as_str()), (Some(0), "belay\n", ""), "{args:?}");
        }
    }
    assert!(world.run(&["statusline", "--help"]).out.contains("Usage"));
    session_starts(&world, "s1");
    let output = world.run_with(&["statusline"], b"{\"session_id\":\"s1\"}");
    assert_eq!((output.code, output.out.as_str()), (Some(0), "belay: idle · 0 calls\n"));
    assert_eq!(world.run(&["pause", "s1"]).code, Some(0));
    let output = world.run_with(&["statusline"], b"{\"session_id\":\"s1\"}");
    assert!(output.out.starts_with("belay: PAUSED, belay resume "), "{output:?}");
}

#[test]
fn the_status_line_shows_the_status_of_all_other_lists() {
    let world = World::alone();
    let event = |id: &str, body: serde_json::Value| {
        let mut event = serde_json::json!({ "id": id, "session": { "agent": "claude-code", "id": id } });
        event.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
        event.to_string()
    };
    let events = [
        event("asks", serde_json::json!({ "kind": "permission_asked", "what": "make" })),
        event("wonders", serde_json::json!({ "kind": "turn_ended", "text": "Which one?" })),
        event("finished", serde_json::json!({ "kind": "turn_ended", "text": "Done." })),
        event("works", serde_json::json!({ "kind": "prompt", "text": "Fix it", "by": "person" })),
        event("waits", serde_json::json!({ "kind": "waiting", "what": "the build", "until": "2999-01-01T00:00:00Z" })),
        event("failed", serde_json::json!({ "kind": "turn_ended", "failed": true })),
    ];
    assert_eq!(world.run_with(&["events", "post"], &lines(&events)).code, Some(0));
    for (session, status) in [
        ("asks", "permission"),
        ("wonders", "question"),
        ("finished", "finished"),
        ("works", "working"),
        ("waits", "waiting for the build"),
        ("failed", "failed"),
    ] {
        let line = world.run_with(&["statusline"], format!("{{\"session_id\":\"{session}\"}}").as_bytes()).out;
        assert_eq!(line, format!("belay: {status} · 0 calls\n"));
        let listed = world.run(&["sessions"]).out;
        let row = listed.lines().find(|row| row.contains(&session[..4])).unwrap();
        assert!(row.contains(status.split(' ').next().unwrap()), "{row}");
    }
}
