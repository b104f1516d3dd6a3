//! `belay events post`: every line is answered, bad ones by name, and nothing stops the rest.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use crate::resident::Serve;
use crate::world::{World, call, lines};

const BAD: &str = r#"not json
{"id":"a"}
{"id":"","session":{"agent":"codex","id":"s"},"kind":"note"}
{"id":"a","session":{"agent":"codex"},"kind":"note"}
{"id":"a","session":"codex:s","kind":"note"}
{"id":"a","session":{"agent":"codex","id":"s"}}
{"id":"a","session":{"agent":"codex","id":"s"},"kind":"no_such_kind"}
{"id":"a","v":9,"session":{"agent":"codex","id":"s"},"kind":"note"}
{"id":"a","session":{"agent":"codex","id":"s"},"at":"tomorrow","kind":"note"}
{"id":"a","session":{"agent":"codex","id":"s"},"kind":"file_changed"}
[1,2]

{"id":"good","session":{"agent":"codex","id":"s"},"kind":"note","text":"hello"}
{"id":"good","session":{"agent":"codex","id":"s"},"kind":"note","text":"hello"}
{"id":"a","session":{"agent":"codex","id":"s"},"kind":"note","text":"cut off"#;

#[test]
fn bad_lines_are_named_and_do_not_stop_the_rest() {
    let world = World::new();
    let alone = world.run_text_with(&["events", "post"], BAD.as_bytes());
    insta::assert_snapshot!(alone, @r#"
    $ belay events post
    line 1: refused: event: not JSON: expected ident at line 1 column 2
    line 2: refused: session: is missing; say {"agent": ..., "id": ...}
    line 3: refused: id: must not be empty
    line 4: refused: session.id: is missing
    line 5: refused: session: must be an object {"agent": ..., "id": ...}
    line 6: refused: kind: is missing; see `belay schema event` for the kinds
    line 7: refused: kind: unknown variant `no_such_kind`, expected one of `session_started`, `session_ended`, `prompt`, `tool_called`, `tool_returned`, `learned`, `file_changed`, `check_ran`, `committed`, `model_asked`, `model_answered`, `model_failed`, `limit_hit`, `turn_ended`, `waiting`, `wait_ended`, `permission_asked`, `permission_answered`, `approval_ended`, `compacted`, `sub_agent_started`, `sub_agent_ended`, `sub_agents_spent`, `shared_spent`, `task`, `note`, `operator`, `delivered`, `tick`
    line 8: refused: v: schema version 9 is not known here; this Belay reads versions 1 to 1
    line 9: refused: note: invalid value: string "tomorrow", expected a time: RFC 3339 text such as [time], or a number of milliseconds
    line 10: refused: path: missing field `path`
    line 11: refused: event: must be a JSON object
    line 13: accepted as event 1
    line 14: duplicate
    line 15: refused: event: not JSON: EOF while parsing a string at line 1 column 76
    -- stderr
    2 accepted, 12 refused.
    -- exit 3
    "#);
    let served = {
        let world = World::new();
        let _serve = Serve::start(&world);
        world.run_text_with(&["events", "post"], BAD.as_bytes())
    };
    assert_eq!(alone, served);
    let sessions = world.run(&["sessions", "--json"]).json();
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(sessions["sessions"][0]["events"], 1);
}

#[test]
fn acknowledgements_as_json() {
    let world = World::new();
    let output = world.run_with(&["events", "post", "--json"], BAD.as_bytes());
    let answers: Vec<serde_json::Value> = output.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let taken: Vec<bool> = answers.iter().map(|answer| answer["taken"].as_bool().unwrap()).collect();
    assert_eq!(taken.iter().filter(|taken| **taken).count(), 2);
    let good = answers.iter().find(|answer| answer["line"] == 13).unwrap();
    assert_eq!((&good["seq"], &good["committed"], &good["verdict"]), (&1.into(), &true.into(), &"go".into()));
    let again = answers.iter().find(|answer| answer["line"] == 14).unwrap();
    assert_eq!(again["duplicate"], true);
    let bad = answers.iter().find(|answer| answer["line"] == 4).unwrap();
    assert_eq!((&bad["error"]["code"], &bad["error"]["field"]), (&"refused".into(), &"session.id".into()));
    assert_eq!(output.code, Some(3));
    assert_eq!(output.err, "", "with --json there is only data");
}

#[test]
fn a_line_of_a_hundred_megabytes_is_skipped_in_bounded_memory() {
    let world = World::new();
    let serve = Serve::start(&world);
    let mut child = world.command(["events", "post"]).stdin(Stdio::piped()).spawn().unwrap();
    let pid = child.id();
    let mut stdin = child.stdin.take().unwrap();
    let chunk = vec![b'x'; 1 << 20];
    stdin.write_all(b"{\"id\":\"").unwrap();
    for _ in 0..100 {
        stdin.write_all(&chunk).unwrap();
    }
    if let Some(peak) = peak_memory(pid) {
        assert!(peak < 64 << 20, "{peak} bytes");
    }
    stdin.write_all(b"\"}\n").unwrap();
    stdin.write_all(&lines(&[call("e1", "abc", "ls")])).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(3), "{out}");
    assert!(out.starts_with("line 1: refused: event: longer than"), "{out}");
    assert!(out.contains("line 2: accepted as event 1"), "{out}");
    drop(serve);
}

/// Peak memory of a process, if the system reports it.
fn peak_memory(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
}

#[test]
fn a_producer_that_waits_for_each_result_gets_it() {
    let world = World::new();
    let mut child = world.command(["events", "post"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    for number in 1..=3 {
        stdin.write_all(&lines(&[call(&format!("e{number}"), "abc", "ls")])).unwrap();
        let mut answer = String::new();
        stdout.read_line(&mut answer).unwrap();
        assert_eq!(answer, format!("line {number}: accepted as event {number}\n"));
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn names_of_agents_are_one_table() {
    let world = World::new();
    let post = |agent: &str, id: &str| {
        let event = format!(r#"{{"id":"{id}","session":{{"agent":"{agent}","id":"one"}},"kind":"note","text":"x"}}"#);
        world.run_with(&["events", "post"], event.as_bytes())
    };
    for (index, name) in ["claude", "claude-code", "Claude_Code"].iter().enumerate() {
        assert_eq!(post(name, &index.to_string()).code, Some(0));
    }
    let sessions = world.run(&["sessions", "--json"]).json();
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 1, "{sessions}");
    assert_eq!(sessions["sessions"][0]["events"], 3);
}

#[test]
fn secrets_do_not_reach_the_store() {
    let world = World::new();
    let key = "sk-ant-api03-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfGhIjKlMnOpQrStUvWxYz-abcdefgh-AAAAAA";
    world.run_with(&["events", "post"], &lines(&[call("e1", "abc", &format!("export KEY={key}"))]));
    let stored =
        std::fs::read_dir(world.state()).unwrap().filter_map(|entry| std::fs::read(entry.unwrap().path()).ok());
    for bytes in stored {
        assert!(memchr::memmem::find(&bytes, &key.as_bytes()[..24]).is_none());
    }
}
