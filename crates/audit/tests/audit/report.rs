//! The contents of the report.

use std::path::Path;

use belay_audit::{RuleSet, SessionFilter};
use belay_core::{Rules, Timestamp};
use jiff::tz::TimeZone;
use serde_json::json;

use super::history::History;
use super::{audit, audit_with};

/// A healthy session, one that is stuck, and one whose sub-agent is.
fn months(dir: &Path) {
    let mut healthy = History::new(1, "shop");
    healthy.prompt("Look around").works(12).says("All fine.").prompt("And the docs").works(4).says("Done.");
    healthy.write(dir);
    let mut stuck = History::new(2, "shop");
    stuck.prompt("Install it").works(2).stuck(9).works(1).says("It works now.").write(dir);
    let mut parent = History::new(3, "blog");
    parent.prompt("Ask somebody").works(1).says("They are on it.").write(dir);
    parent.sub_agent("a1b2c3").prompt("Install it").works(1).stuck(5).says("I give up.").write(dir);
}

#[test]
fn the_report_tells_what_was_spent_and_where_it_went_round() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    months(dir.path());
    let audited = audit(&[dir.path()]);
    let total = audited.of_kind("total")[0];
    assert_eq!((total["sessions"].as_u64(), total["sub_agents"].as_u64()), (Some(3), Some(1)));
    assert_eq!((total["calls"].as_u64(), total["human_turns"].as_u64()), (Some(35), Some(4)));
    assert_eq!(total["looping_sessions"], 2);
    let text = audited.text(dir.path());
    assert!(text.contains("Claude Code a1b2c3, sub-agent of 00000003 in blog"), "{text}");
    assert!(text.contains("Claude Code 00000002 in shop"), "{text}");
}

#[test]
fn alarms_come_before_their_session_and_the_total_last() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    months(dir.path());
    let audited = audit(&[dir.path()]);
    assert_eq!(audited.lines.last().map(|line| &line["type"]), Some(&"total".into()));
    assert_eq!(audited.of_kind("session").len(), 4);
    let place = |kind: &str| {
        let of = |line: &serde_json::Value| line["type"] == kind && line["session"] == "agent-a1b2c3.jsonl";
        audited.lines.iter().position(of).expect("a line")
    };
    assert!(place("alarm") < place("session"));
    let alarm = &audited.lines[place("alarm")];
    assert_eq!((alarm["call"].as_u64(), alarm["from_call"].as_u64()), (Some(3), Some(1)));
    assert_eq!(alarm["evidence"].as_array().map(Vec::len), Some(3));
}

#[test]
fn a_sub_agent_counts_its_own_calls_and_names_its_parent() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    months(dir.path());
    let audited = audit(&[dir.path()]);
    let alarm =
        audited.of_kind("alarm").into_iter().find(|line| line["parent"].is_string()).expect("the sub-agent is stuck");
    assert_eq!(alarm["session"], "agent-a1b2c3.jsonl");
    assert_eq!(alarm["parent"], "00000003-0000-4000-8000-000000000000");
    assert_eq!(alarm["from_call"], 1, "calls are counted from 0 for itself: one read, then the loop");
}

#[test]
fn what_a_loop_cost_ends_with_progress_or_a_person() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut history = History::new(1, "shop");
    history.prompt("Install it").stuck(5).prompt("use yarn").works(20);
    history.write(dir.path());
    let audited = audit(&[dir.path()]);
    let session = audited.of_kind("session")[0];
    let alarm = audited.of_kind("alarm")[0];
    assert_eq!(session["loops"], 1);
    let after = 4 - alarm["call"].as_u64().expect("a number");
    assert_eq!(session["saved"]["after_nudge"]["calls"], after, "the twenty calls after the prompt are no part of it");
}

#[test]
fn a_fork_is_counted_once() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut original = History::new(1, "shop");
    original.prompt("Install it").works(1).stuck(4);
    original.write(dir.path());
    let mut fork = original.fork(2);
    fork.works(3).says("Done.");
    fork.write(dir.path());
    let audited = audit(&[dir.path()]);
    let total = audited.of_kind("total")[0];
    assert_eq!(total["calls"], 1 + 4 + 3);
    assert_eq!(total["loops"], 1);
    assert_eq!(total["human_turns"], 1);
    assert_eq!(total["sessions"], 2, "the fork has a life of its own");
    let copy = tempfile::tempdir().expect("a temporary directory");
    original.write(copy.path());
    let total = audit(&[dir.path(), copy.path()]).of_kind("total")[0].clone();
    assert_eq!((total["calls"].as_u64(), total["sessions"].as_u64()), (Some(8), Some(2)), "a mere copy adds nothing");
}

#[test]
fn filters_leave_sessions_out_and_say_so() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    months(dir.path());
    let variants = [RuleSet::fixed("default", Rules::default())];
    let only = |filter: SessionFilter| {
        let audited = audit_with(&[dir.path()], filter, &variants);
        let total = audited.of_kind("total")[0].clone();
        (total["sessions"].as_u64().unwrap_or(0), total["left_out"].as_u64().unwrap_or(0))
    };
    assert_eq!(only(SessionFilter { project: Some("blog".into()), ..SessionFilter::default() }), (1, 2));
    assert_eq!(only(SessionFilter { project: Some("/home/user/shop".into()), ..SessionFilter::default() }), (2, 2));
    assert_eq!(only(SessionFilter { project: Some("/home/user/sho".into()), ..SessionFilter::default() }), (0, 4));
    let late = Timestamp::parse("2026-04-01T00:00:00Z");
    assert_eq!(only(SessionFilter { since: late, ..SessionFilter::default() }), (0, 4));
}

#[test]
fn two_sets_of_rules_are_compared_on_the_same_history() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    months(dir.path());
    let mut patient = Rules::default();
    patient.ladder.nudge_at = 7;
    patient.ladder.nudge_weak_at = 7;
    patient.ladder.pause_at = 12;
    let variants = [RuleSet::fixed("default", Rules::default()), RuleSet::fixed("patient", patient)];
    let audited = audit_with(&[dir.path()], SessionFilter::default(), &variants);
    let text = audited.text(dir.path());
    assert!(text.contains("earlier by default: 2; earlier by patient: 0."), "{text}");
    let configs: Vec<&str> = audited.of_kind("total").iter().filter_map(|line| line["config"].as_str()).collect();
    assert_eq!(configs, ["default", "patient"]);
}

#[test]
fn the_page_stands_alone() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    months(dir.path());
    let mut hostile = History::new(4, "<b>shop");
    hostile.prompt("x");
    for _ in 0..4 {
        hostile.bash("echo '<img src=x onerror=alert(1)>'", "Exit code 1\n<script>alert(1)</script>");
    }
    hostile.write(dir.path());
    let page = audit(&[dir.path()]).report.html(&TimeZone::UTC);
    for reference in ["http://", "https://", "<script", "<img", "<link", "url(", "@import"] {
        assert!(!page.contains(reference), "{reference} is no part of a page that stands alone");
    }
    assert!(page.contains("&lt;img src=x onerror=alert(1)&gt;"));
    assert!(page.contains("prefers-color-scheme: dark"));
    assert_eq!(page.matches("<svg").count(), 2);
    assert_eq!(page.matches("<details").count(), page.matches("</details>").count());
}

#[test]
fn every_line_fits_the_schema_we_publish() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    months(dir.path());
    let schema = schemars::schema_for!(belay_audit::report::Line).to_value();
    let shapes = schema["oneOf"].as_array().expect("one shape for each type");
    for line in &audit(&[dir.path()]).lines {
        let shape = shapes.iter().find(|shape| shape["properties"]["type"]["const"] == line["type"]);
        let mut shape = shape.unwrap_or_else(|| panic!("{} is not in the schema", line["type"])).clone();
        if let Some(name) = shape["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/")) {
            shape = schema["$defs"][name].clone();
        }
        for field in shape["required"].as_array().into_iter().flatten().filter_map(|field| field.as_str()) {
            assert!(line.get(field).is_some(), "{} has no {field}", line["type"]);
        }
    }
}

#[test]
fn prices_of_the_rules_win_over_the_built_in_ones() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    months(dir.path());
    let row = r#"{"match": "*", "input": 1000.0, "output": 1000.0, "cache_read": 1000.0, "cache_write": 1000.0}"#;
    let prices = vec![serde_json::from_str(row).expect("a price")];
    let mut rules = Rules::default();
    rules.prices = prices;
    let dear = [RuleSet::fixed("dear", rules)];
    let usual = audit(&[dir.path()]);
    let dear = audit_with(&[dir.path()], SessionFilter::default(), &dear);
    let usage = |of: &super::Audited| of.of_kind("total")[0]["usage"].clone();
    let cost = |of: &super::Audited| of.of_kind("total")[0]["cost_micros"].as_u64().expect("money");
    assert_eq!(usage(&usual), usage(&dear));
    assert!(cost(&dear) > 10 * cost(&usual), "{} and {}", cost(&dear), cost(&usual));
}

#[test]
fn a_look_in_the_middle_does_not_end_the_loop() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut denied = History::new(4, "shop");
    denied.prompt("Write it down");
    for number in 0..30 {
        let input = serde_json::json!({"file_path": format!("/etc/a{number}"), "content": format!("text {number}")});
        denied.call("Write", &input, "Exit code 1\nPermission to use Write has been denied.");
        if number == 12 {
            denied.bash("ls /etc", "hosts\npasswd");
        }
    }
    denied.write(dir.path());
    let audited = audit(&[dir.path()]);
    let session = audited.of_kind("session")[0];
    assert_eq!(session["loops"], 1);
    assert!(session["saved"]["after_nudge"]["calls"].as_u64() >= Some(26), "{session}");
    assert_eq!(session["saved"]["confidence"], "high");
}

#[test]
fn usage_of_an_interrupted_message_counts_once_at_its_final_value() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut history = History::new(5, "shop");
    history.prompt("Go");
    let line = |message: &str, uuid: u32, output: u64| {
        serde_json::json!({
            "type": "assistant", "isSidechain": false, "sessionId": "00000005-0000-4000-8000-000000000000",
            "uuid": format!("u{uuid}"), "timestamp": "2026-03-01T09:00:00.000Z",
            "message": {"id": message, "role": "assistant", "model": "claude-opus-4-5-20251101",
                "content": [{"type": "text", "text": "so"}], "usage": {"input_tokens": 1, "output_tokens": output}},
        })
        .to_string()
    };
    history.raw(&line("a", 1, 5)).raw(&line("b", 2, 7)).raw(&line("a", 3, 900)).raw(&line("b", 4, 70));
    history.write(dir.path());
    let session = audit(&[dir.path()]);
    assert_eq!(session.of_kind("session")[0]["usage"]["output"], 970);
}

#[test]
fn a_long_first_prompt_does_not_hide_the_session() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut history = History::new(6, "shop");
    history.prompt(&"a long description of the task ".repeat(8_000)).works(3);
    history.write(dir.path());
    assert_eq!(audit(&[dir.path()]).of_kind("session")[0]["calls"], 3);
}

#[test]
fn a_loop_continues_in_the_next_file_of_its_session() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut session = History::new(1, "shop");
    // The later part comes first by path, and by time of modification.
    session.prompt("Install it").stuck(2);
    let first = session.split(&dir.path().join("b"));
    session.stuck(2);
    let second = session.write(&dir.path().join("a"));
    let older = std::time::SystemTime::UNIX_EPOCH;
    std::fs::File::options().write(true).open(second).expect("it exists").set_modified(older).expect("it can be set");
    assert!(first.is_file());
    let audited = audit(&[dir.path()]);
    assert_eq!(audited.of_kind("session").len(), 1);
    let alarms = audited.of_kind("alarm");
    let at: Vec<_> = alarms.iter().map(|alarm| alarm["call"].as_u64()).collect();
    assert_eq!(at, [Some(2), Some(3)], "{alarms:?}");
    assert_eq!(audited.of_kind("total")[0]["calls"], 4);
}

#[test]
fn too_few_output_tokens_are_said() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut session = History::new(1, "shop");
    session.prompt("Explain").says(&"A sentence of the explanation. ".repeat(20)).write(dir.path());
    assert!(!audit(&[dir.path()]).text(dir.path()).contains("fewer output tokens"));
    session.raw(
        &json!({
            "type": "assistant", "sessionId": "00000001-0000-4000-8000-000000000000", "uuid": "late",
            "timestamp": "2026-03-01T09:00:00.000Z", "message": {
                "id": "msg_late", "role": "assistant", "model": "claude-opus-4-5-20251101",
                "content": [{"type": "text", "text": "A sentence of the explanation. ".repeat(20)}],
                "usage": {"input_tokens": 10, "output_tokens": 3},
            },
        })
        .to_string(),
    );
    session.write(dir.path());
    let text = audit(&[dir.path()]).text(dir.path());
    assert!(text.contains("one response reports fewer output tokens than the text has"), "{text}");
}

/// An opencode export with two calls. A redacted one has other call ids; the ids of parts stay.
fn opencode_export(redacted: bool) -> String {
    let tool = |n: u32| {
        let call = if redacted { format!("****{n}") } else { format!("call_{n}") };
        serde_json::json!({
            "id": format!("prt_{n}"), "sessionID": "ses_0123456789", "type": "tool", "callID": call, "tool": "bash",
            "state": {"status": "completed", "input": {"command": format!("ls {n}")}, "output": format!("file {n}"),
                "time": {"start": 1_772_352_000_000_u64 + u64::from(n), "end": 1_772_352_001_000_u64 + u64::from(n)}},
        })
    };
    let answer = serde_json::json!({
        "info": {"id": "msg_1", "sessionID": "ses_0123456789", "role": "assistant", "time": {"created": 1_772_352_000_000_u64}},
        "parts": [tool(1), tool(2)],
    });
    let info =
        serde_json::json!({"id": "ses_0123456789", "directory": "/p", "time": {"created": 1_772_352_000_000_u64}});
    serde_json::json!({"info": info, "messages": [answer]}).to_string()
}

#[test]
fn copies_of_one_session_under_other_names_count_once() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    std::fs::write(dir.path().join("mine.json"), opencode_export(false)).expect("the export is written");
    std::fs::write(dir.path().join("to-share.json"), opencode_export(true)).expect("the export is written");
    let total = audit(&[dir.path()]).of_kind("total")[0].clone();
    assert_eq!((total["calls"].as_u64(), total["sessions"].as_u64()), (Some(2), Some(1)), "{total}");
    assert_eq!(total["copied_files"].as_u64(), Some(1));
}

#[test]
fn a_database_and_an_export_of_its_session_count_once() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../agents/tests/fixtures/opencode/v1.18");
    let script = std::fs::read_to_string(fixtures.join("opencode.sql")).expect("readable");
    let audited = |with_export: bool| {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let database = rusqlite::Connection::open(dir.path().join("opencode.db"));
        database.and_then(|it| it.execute_batch(&script)).expect("valid SQL");
        if with_export {
            std::fs::copy(fixtures.join("export.json"), dir.path().join("to-share.json")).expect("a copy");
        }
        let total = audit(&[dir.path()]).of_kind("total")[0].clone();
        ["sessions", "calls", "human_turns", "usage", "cost_micros"].map(|field| total[field].clone())
    };
    assert_eq!(audited(true), audited(false));
}

#[test]
fn the_report_says_what_would_have_stopped_the_costs() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut history = History::new(1, "shop");
    history.prompt("Install it").works(1).stuck(8);
    history.write(dir.path());
    let audited = audit(&[dir.path()]);
    let total = audited.of_kind("total")[0].clone();
    let advice = &total["advice"][0];
    assert_eq!(advice["pattern"], "exact_repeat", "{total}");
    assert_eq!(advice["command"], "belay config set detect.patterns.exact_repeat.pause_at 4");
}

#[test]
fn files_of_an_unknown_format_are_in_the_total() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut history = History::new(1, "shop");
    history.prompt("Look around").works(2).write(dir.path());
    std::fs::write(dir.path().join("other.jsonl"), "{\"made\":\"by another tool\"}\n").expect("the file is written");
    let audited = audit(&[dir.path()]);
    assert_eq!(audited.of_kind("total")[0]["unknown_files"], 1);
    assert!(audited.text(dir.path()).contains("1 file left out, of an unknown format"), "{}", audited.text(dir.path()));
}
