//! `belay audit` on existing history.

use crate::world::World;

/// A Claude Code session that is stuck on one command.
pub(crate) fn stuck() -> String {
    let mut lines = vec![
        r#"{"type":"user","isSidechain":false,"uuid":"u0","timestamp":"2026-03-01T08:00:00.000Z","sessionId":"s","cwd":"/home/ada/shop","version":"2.1.200","message":{"role":"user","content":"Install it"}}"#.to_owned(),
    ];
    for n in 0..6 {
        lines.push(format!(r#"{{"type":"assistant","isSidechain":false,"uuid":"a{n}","timestamp":"2026-03-01T08:0{n}:10.000Z","sessionId":"s","cwd":"/home/ada/shop","message":{{"id":"msg_{n}","role":"assistant","model":"claude-opus-4-5","content":[{{"type":"tool_use","id":"toolu_{n}","name":"Bash","input":{{"command":"npm install"}}}}],"usage":{{"input_tokens":10,"output_tokens":200,"cache_read_input_tokens":50000}}}}}}"#));
        lines.push(format!(r#"{{"type":"user","isSidechain":false,"uuid":"r{n}","timestamp":"2026-03-01T08:0{n}:20.000Z","sessionId":"s","cwd":"/home/ada/shop","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"toolu_{n}","is_error":true,"content":"Exit code 1\nnpm error code ERESOLVE"}}]}}}}"#));
    }
    lines.join("\n") + "\n"
}

pub(crate) const FILE: &str = "home/.claude/projects/-home-ada-shop/11111111-0000-4000-8000-000000000000.jsonl";

#[test]
fn without_a_path_it_looks_where_agents_keep_their_sessions() {
    let world = World::new();
    let nothing = world.run(&["audit"]);
    assert_eq!(nothing.code, Some(0));
    assert!(nothing.out.contains("No session was found"), "{nothing:?}");
    world.write(FILE, &stuck());
    let output = world.run(&["audit"]);
    assert!(output.out.starts_with("1 session of Claude Code, 2026-03-01\n"), "{output:?}");
    assert!(output.out.contains("1 loop in 1 of 1 sessions"), "{output:?}");
    assert!(output.out.contains("Claude Code 11111111 in shop"), "{output:?}");
    assert!(!world.state().exists(), "an audit creates no files");
}

#[test]
fn json_is_one_object_a_line_named_by_file_where_a_file_was_named() {
    let world = World::new();
    let file = world.write(FILE, &stuck());
    let file = file.to_str().unwrap();
    let parse = |output: &str| -> Vec<serde_json::Value> {
        output.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let named = parse(&world.run(&["audit", file, "--json"]).out);
    let alarm = named.iter().find(|line| line["type"] == "alarm").unwrap();
    assert_eq!(alarm["session"], "11111111-0000-4000-8000-000000000000.jsonl");
    assert_eq!((alarm["call"].as_u64(), alarm["from_call"].as_u64()), (Some(2), Some(0)));
    assert!(matches!(alarm["action"].as_str(), Some("nudge" | "pause")));
    assert_eq!(named.last().unwrap()["type"], "total");
    let found = parse(&world.run(&["audit", "--json"]).out);
    let session = found.iter().find(|line| line["type"] == "session").unwrap();
    assert_eq!(session["session"], "11111111-0000-4000-8000-000000000000");
}

#[test]
fn filters_narrow_what_counts() {
    let world = World::new();
    world.write(FILE, &stuck());
    let sessions = |args: &[&str]| {
        let output = world.run(&[&["audit", "--json"], args].concat());
        let total: serde_json::Value = serde_json::from_str(output.out.lines().last().unwrap()).unwrap();
        total["sessions"].as_u64()
    };
    assert_eq!(sessions(&["--project", "shop"]), Some(1));
    assert_eq!(sessions(&["--project", "blog"]), Some(0));
    assert_eq!(sessions(&["--agent", "claude"]), Some(1));
    assert_eq!(sessions(&["--agent", "codex"]), Some(0));
    assert_eq!(sessions(&["--since", "2026-02-01"]), Some(1));
    assert_eq!(sessions(&["--since", "2026-03-02"]), Some(0));
}

#[test]
fn other_rules_can_be_tried_and_compared() {
    let world = World::new();
    world.write(FILE, &stuck());
    let patient = world.write(
        "patient.toml",
        "[detect.ladder]\nnudge_at = 50\nnudge_weak_at = 50\nnudge_faint_at = 50\npause_at = 60\n",
    );
    let patient = patient.to_str().unwrap();
    let output = world.run(&["audit", "--config", patient]);
    assert_eq!(output.code, Some(0), "{output:?}");
    let output = world.run(&["audit", "--compare", "default", patient]);
    assert!(output.out.contains("default") && output.out.contains("patient"), "{output:?}");
    let broken = world.write("broken.toml", "[detect]\nmax_nudge = 3\n");
    let output = world.run(&["audit", "--config", broken.to_str().unwrap()]);
    assert_eq!(output.code, Some(1), "{output:?}");
    assert!(output.err.contains("max_nudge"), "{output:?}");
    let output = world.run(&["audit", "--config", "missing.toml"]);
    assert_eq!(output.code, Some(1), "{output:?}");
}

#[test]
fn the_page_is_written_beside_the_report() {
    let world = World::new();
    world.write(FILE, &stuck());
    let page = world.path("reports/march.html");
    let output = world.run(&["audit", "--html", page.to_str().unwrap()]);
    assert_eq!(output.code, Some(0), "{output:?}");
    assert!(output.err.contains("march.html"), "{output:?}");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
}

#[test]
fn unusable_input_is_reported_with_hints() {
    let world = World::new();
    let notes = world.write("notes.json", "{}");
    let notes = notes.to_str().unwrap().to_owned();
    let shown = [
        world.run_text(&["audit", &notes]),
        world.run_text(&["audit", "--since", "yesterday"]),
        world.run_text(&["audit", "--agent", "clippy"]),
    ];
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn files_that_only_repeat_others_are_counted_and_named() {
    let world = World::new();
    world.write(FILE, &stuck());
    for n in 0..5 {
        world.write(&format!("home/.claude/projects/-home-ada-shop/copy-{n}.jsonl"), &stuck());
    }
    let output = world.run(&["audit"]);
    assert!(output.out.starts_with("1 session of Claude Code"), "{output:?}");
    assert!(output.out.contains("5 files only repeat others and count once:\n"), "{output:?}");
    assert!(output.out.contains("/copy-0.jsonl\n") && output.out.contains("  and 2 more\n"), "{output:?}");
    let total = world.run(&["audit", "--json"]);
    let total: serde_json::Value = serde_json::from_str(total.out.lines().last().unwrap()).unwrap();
    assert_eq!((total["files"].as_u64(), total["copied_files"].as_u64()), (Some(6), Some(5)));
}

#[test]
fn an_unknown_price_is_not_zero() {
    let world = World::new();
    world.write(FILE, &stuck().replace("claude-opus-4-5", "house-model"));
    let output = world.run(&["audit", "--html", world.path("page.html").to_str().unwrap()]);
    assert!(output.out.contains("money        unknown at list prices") && !output.out.contains("$0"), "{output:?}");
    let page = std::fs::read_to_string(world.path("page.html")).unwrap();
    // A pause that did not happen saved nothing, which is known.
    let page = page.replace("saved after a pause</span><strong>$0<", "");
    assert!(page.contains(">unknown<") && !page.contains("$0"), "{page}");
}

#[test]
fn the_page_replaces_a_link_of_the_repository() {
    let world = World::new();
    world.write(FILE, &stuck());
    world.write("home/notes.txt", "mine");
    std::os::unix::fs::symlink(world.path("home/notes.txt"), world.path("home/code/app/audit.html")).unwrap();
    let output = world.run(&["audit", "--html", "audit.html"]);
    assert_eq!(output.code, Some(0), "{output:?}");
    assert_eq!(std::fs::read_to_string(world.path("home/notes.txt")).unwrap(), "mine");
    assert!(std::fs::read_to_string(world.path("home/code/app/audit.html")).unwrap().starts_with("<!doctype html>"));
}
