//! The resident process: one per state directory, with a clean shutdown.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use belay_ipc::Client;
use rustix::process::Signal;

use crate::resident::{Serve, client, wait_for_events};
use crate::world::{TEST_TIMEOUT, World, call, file_says, lines};

#[test]
fn it_says_where_it_is_and_leaves_when_asked() {
    let world = World::new();
    let serve = Serve::start(&world);
    assert_eq!(client(&world).ping().unwrap().pid, serve.pid());
    let shown = [
        world.run_text(&["status"]),
        world.run_text(&["serve"]),
        world.run_text(&["stop"]),
        world.run_text(&["status"]),
    ];
    insta::assert_snapshot!(shown.join("\n"), @r"
    $ belay status
    Belay 0.1.0 is running (pid [n], started [ago]).
    page  http://127.0.0.1:[port]/
    socket  /home/.local/state/belay/belay.sock
    state  /home/.local/state/belay
    sessions  none yet
    recorded  0 events, 0 tool calls, 0 tokens, -

    $ belay serve
    Belay is already running for this state directory (pid [n]).
      page  http://127.0.0.1:[port]/login?code=[code]
              The link works once, within 10 minutes; `belay open` makes a new one.
      proxy  ANTHROPIC_BASE_URL=http://127.0.0.1:[port]
              OPENAI_BASE_URL=http://127.0.0.1:[port]/v1
              GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:[port]

    $ belay stop
    Belay (pid [n]) has stopped.

    $ belay status
    Belay is not running.
    state  /home/.local/state/belay
    sessions  none yet
    recorded  0 events, 0 tool calls, 0 tokens, -
    -- stderr
    Start it with `belay serve`. Commands and hooks also work without it.
    ");
    let (code, output) = serve.wait();
    assert_eq!(code, Some(0), "{output}");
    assert!(!world.state().join("belay.sock").exists());
}

#[test]
fn a_second_serve_opens_http_in_a_process_that_runs_without_it() {
    let world = World::new();
    let serve = Serve::start_with(&world, &["--no-http", "--idle-exit", "1h"]);
    assert_eq!(world.run(&["serve", "--no-http", "--json"]).json()["already"]["url"], serde_json::Value::Null);
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    insta::assert_snapshot!(world.run_text(&["serve", "--listen", &free]), @r"
    $ belay serve --listen 127.0.0.1:[port]
    Belay is already running for this state directory (pid [n]).
    It now serves HTTP, and runs until `belay stop`.
      page  http://127.0.0.1:[port]/login?code=[code]
              The link works once, within 10 minutes; `belay open` makes a new one.
      proxy  ANTHROPIC_BASE_URL=http://127.0.0.1:[port]
              OPENAI_BASE_URL=http://127.0.0.1:[port]/v1
              GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:[port]
    ");
    let url = format!("http://{free}/");
    assert_eq!(client(&world).status(false).unwrap().url.as_ref(), Some(&url));
    let mut page = std::net::TcpStream::connect(&free).unwrap();
    page.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    page.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let mut again = world.run(&["serve", "--json"]).json();
    assert!(again["already"]["login"].take().as_str().unwrap().starts_with(&format!("{url}login?code=")), "{again}");
    let expected = serde_json::json!({ "pid": serve.pid(), "url": url, "login": null, "opened": false });
    assert_eq!(again["already"], expected);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let refused = world.run(&["serve", "--listen", &taken.local_addr().unwrap().to_string()]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.err.contains("cannot listen on 127.0.0.1:"), "{refused:?}");
}

#[test]
fn only_its_owner_can_open_the_socket() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    let _serve = Serve::start(&world);
    let mode = |path: std::path::PathBuf| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(world.state()), 0o700);
    assert_eq!(mode(world.state().join("belay.sock")), 0o600);
}

#[test]
fn of_two_started_at_the_same_instant_one_serves_and_the_other_points_to_it() {
    for _ in 0..5 {
        let world = World::new();
        let mut both: Vec<_> =
            (0..2).map(|_| world.command(["serve", "--json", "--listen", "127.0.0.1:0"]).spawn().unwrap()).collect();
        let output: Vec<serde_json::Value> = both
            .iter_mut()
            .map(|child| {
                let mut line = String::new();
                BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
                serde_json::from_str(&line).unwrap()
            })
            .collect();
        let serving: Vec<usize> = (0..2).filter(|index| output[*index]["serving"] == true).collect();
        assert_eq!(serving.len(), 1, "{output:?}");
        let (first, second) = (serving[0], 1 - serving[0]);
        assert_eq!(output[second]["already"]["pid"], both[first].id(), "{output:?}");
        assert_eq!(output[second]["already"]["url"], output[first]["url"]);
        assert_eq!(both[second].wait().unwrap().code(), Some(0));
        assert_eq!(client(&world).ping().unwrap().pid, both[first].id());
        assert_eq!(world.run(&["stop"]).code, Some(0));
        assert_eq!(both[first].wait().unwrap().code(), Some(0));
    }
}

#[test]
fn a_socket_left_by_one_that_was_killed_is_replaced() {
    let world = World::new();
    Serve::start(&world).kill();
    assert!(world.state().join("belay.sock").exists(), "kill -9 leaves it");
    assert!(matches!(
        Client::connect(&world.paths(), Duration::from_secs(1)),
        Err(belay_ipc::ClientError::NotRunning(_))
    ));
    let serve = Serve::start(&world);
    assert_eq!(client(&world).ping().unwrap().pid, serve.pid());
}

#[test]
fn a_port_of_another_program_is_named_with_a_way_out() {
    let world = World::new();
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = other.local_addr().unwrap().port();
    let output = world.run(&["serve", "--listen", &format!("127.0.0.1:{port}")]);
    assert_eq!(output.code, Some(1));
    assert_eq!(output.err.lines().next(), Some(format!("Error: port {port} is in use by another program").as_str()));
    assert!(output.err.contains("--listen 127.0.0.1:") && output.err.contains("--no-http"), "{}", output.err);
    assert!(!world.state().join("belay.sock").exists());
    // Without HTTP it does not need the port.
    let serve = Serve::start_with(&world, &["--no-http"]);
    assert_eq!(serve.ready["url"], serde_json::Value::Null);
}

#[test]
fn it_tells_how_to_open_the_page_and_how_to_use_the_proxy() {
    let world = World::new();
    let mut serve = world.command(["serve", "--listen", "127.0.0.1:0"]).spawn().unwrap();
    // It is ready once it has printed everything.
    let mut out = BufReader::new(serve.stdout.take().unwrap());
    let mut shown = String::new();
    while !shown.contains("Stop Belay") {
        out.read_line(&mut shown).unwrap();
    }
    assert_eq!(world.run(&["stop"]).code, Some(0));
    out.read_to_string(&mut shown).unwrap();
    assert_eq!(serve.wait().unwrap().code(), Some(0));
    insta::assert_snapshot!(world.plain(&shown), @r"
    Belay 0.1.0 is running.
      page  http://127.0.0.1:[port]/login?code=[code]
              The link works once, within 10 minutes; `belay open` makes a new one.
      proxy  ANTHROPIC_BASE_URL=http://127.0.0.1:[port]
              OPENAI_BASE_URL=http://127.0.0.1:[port]/v1
              GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:[port]
      socket  /home/.local/state/belay/belay.sock
      state  /home/.local/state/belay
    Supervise the next agent with `belay run claude`, or all of them with `belay init`.
    Stop Belay with Ctrl-C or `belay stop`.
    ");
}

#[test]
fn a_signal_drains_what_was_sent_before_it() {
    const REQUESTS: usize = 200;
    for signal in [Signal::TERM, Signal::INT] {
        let world = World::new();
        let serve = Serve::start(&world);
        let mut stream = UnixStream::connect(world.paths().socket()).unwrap();
        let requests: String = (0..REQUESTS)
            .map(|n| {
                let event = call(&format!("e{n}"), "abc", "ls");
                format!("{{\"id\":{n},\"op\":\"observe\",\"params\":{{\"events\":[{event}]}}}}\n")
            })
            .collect();
        stream.write_all(requests.as_bytes()).unwrap();
        let mut answers = BufReader::new(stream).lines();
        let first: serde_json::Value = serde_json::from_str(&answers.next().unwrap().unwrap()).unwrap();
        assert_eq!(first["id"], 0);
        serve.signal(signal);
        let rest: Vec<serde_json::Value> = answers.map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
        assert_eq!(rest.len(), REQUESTS - 1, "everything that was sent is answered");
        assert!(rest.iter().all(|answer| answer["ok"]["answers"][0]["committed"] == true));
        let (code, output) = serve.wait();
        assert_eq!(code, Some(0), "{output}");
        assert!(!world.state().join("belay.sock").exists(), "the socket is gone");
        let sessions = world.run(&["sessions", "--json"]).json();
        assert_eq!(sessions["sessions"][0]["events"], REQUESTS);
    }
}

#[test]
fn it_leaves_when_there_is_nothing_to_do() {
    let world = World::new();
    let serve = Serve::start_with(&world, &["--no-http", "--idle-exit", "200ms"]);
    let (code, _) = serve.wait();
    assert_eq!(code, Some(0));
    assert!(!world.state().join("belay.sock").exists());
}

/// A directory that is not writable, even for root.
fn unwritable(world: &World) -> String {
    use std::os::unix::fs::PermissionsExt;
    let dir = world.path("locked");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o500)).unwrap();
    match std::fs::write(dir.join("probe"), "") {
        Err(_) => dir.to_str().unwrap().to_owned(),
        Ok(()) => "/proc/sys/kernel".to_owned(),
    }
}

#[test]
fn on_a_read_only_disk_decisions_continue_in_memory_with_a_warning() {
    let world = World::new();
    let home = unwritable(&world);
    let world = world.var("BELAY_HOME", home);
    let serve = Serve::start_with(&world, &["--no-http"]);
    assert_eq!(serve.ready["kept"], false);
    let output = world.run_with(&["events", "post"], &lines(&[call("e1", "abc", "ls")]));
    assert_eq!(output.out, "line 1: accepted, in memory only\n", "{}", output.err);
    let status = client(&world).status(false).unwrap();
    assert!(!status.health.ok);
    assert_eq!(status.health.spooled, 1);
    // A pause counts for as long as the process lives.
    let session = belay_core::SessionKey::new("claude-code", "abc");
    let pause = belay_ipc::DecideRequest::new(session, belay_core::event::OperatorDecision::Pause);
    assert!(!client(&world).decide(&pause).unwrap().committed);
    let output = world.run_with(&["events", "post", "--json"], &lines(&[call("e2", "abc", "ls")]));
    assert_eq!(output.json()["verdict"], "hold");
    assert_eq!(world.run(&["serve", "--no-http"]).code, Some(0), "still only one");
    serve.signal(Signal::TERM);
    let (code, output) = serve.wait();
    assert_eq!(code, Some(0));
    assert!(output.contains("Decisions continue in memory"), "{output}");
}

#[test]
fn a_clock_that_jumps_neither_lifts_a_pause_nor_hides_a_session() {
    let world = World::new();
    let _serve = Serve::start(&world);
    let at = |id: &str, at: &str| {
        let mut event: serde_json::Value = serde_json::from_str(&call(id, "abc", "ls")).unwrap();
        event["at"] = at.into();
        world.run_with(&["events", "post", "--json"], event.to_string().as_bytes()).json()
    };
    at("e1", "2026-01-01T00:00:00Z");
    world.run(&["pause", "abc"]);
    world.run(&["resume", "abc", "--cooldown", "12h"]);
    assert_eq!(at("e2", "2199-01-01T00:00:00Z")["verdict"], "hold", "an event from the future ends no cooldown");
    assert_eq!(at("e3", "1999-01-01T00:00:00Z")["verdict"], "hold");
    let session = world.run(&["show", "abc", "--json"]).json();
    assert!(session["session"]["last_at"].as_str().unwrap() < "2100", "{session}");
}

#[test]
fn time_lifts_a_cooldown_and_takes_old_history_away() {
    let world = World::new();
    world.run_with(&["events", "post"], &lines(&[call("e1", "old", "ls"), call("e2", "held", "ls")]));
    world.run(&["pause", "held"]);
    world.run(&["resume", "held", "--cooldown", "1s"]);
    let _serve = Serve::start_with(&world, &["--no-http", "--set", "serve.tick=20ms", "--set", "store.max_bytes=1B"]);
    file_says(&world.log(), |log| log.contains("pruned old sessions"));
    assert_eq!(world.run(&["show", "old"]).code, Some(1));
    wait_for_events(&world, "claude-code", "held", &["tick"], 1);
    assert_eq!(world.run(&["show", "held", "--json"]).json()["session"]["state"], "active", "no event of the agent");
    let incidents = world.run(&["incidents", "--json"]).json();
    assert_eq!(incidents["incidents"], serde_json::json!([]), "its incident is closed");
}

#[test]
fn pruning_continues_until_the_store_fits() {
    let world = World::new();
    let calls: Vec<String> = (0..200).map(|n| call(&format!("e{n}"), &format!("s{n}"), "ls")).collect();
    world.run_with(&["events", "post"], &lines(&calls));
    let _serve = Serve::start_with(&world, &["--no-http", "--set", "serve.tick=2s", "--set", "store.max_bytes=1B"]);
    let log = file_says(&world.log(), |log| log.contains("pruned old sessions"));
    assert!(log.contains("sessions=199 events=199"), "all but the newest, in one round: {log}");
}

#[test]
fn an_orderly_stop_leaves_nothing_in_the_write_ahead_log() {
    let world = World::new();
    let serve = Serve::start_with(&world, &["--no-http"]);
    // Another connection keeps the log from being removed when the last one is closed.
    world.run_with(&["events", "post"], &lines(&[call("e1", "abc", "ls")]));
    let other = rusqlite::Connection::open(world.paths().database()).unwrap();
    other.query_row("SELECT count(*) FROM events", [], |row| row.get::<_, i64>(0)).unwrap();
    serve.signal(Signal::TERM);
    assert_eq!(serve.wait().0, Some(0));
    let wal = std::fs::metadata(world.state().join("belay.db-wal")).map_or(0, |found| found.len());
    assert_eq!(wal, 0);
}

#[test]
fn by_itself_it_takes_away_what_is_older_than_ninety_days() {
    let world = World::new();
    let now = jiff::Timestamp::from_millisecond(belay_clock::now().millis()).unwrap();
    let day = jiff::SignedDuration::from_hours(24);
    let before = |days: i32, session: &str| {
        let mut event: serde_json::Value = serde_json::from_str(&call(session, session, "ls")).unwrap();
        event["at"] = (now - day * days).to_string().into();
        event.to_string()
    };
    world.run_with(&["events", "post"], &lines(&[before(91, "old"), before(89, "young"), before(0, "new")]));
    // The clock is trusted only after it has been observed for a while.
    let seen = (now - day).as_millisecond();
    let store = rusqlite::Connection::open(world.state().join("belay.db")).unwrap();
    store
        .execute("INSERT INTO settings (key, value) VALUES ('retention.clock', ?1)", [format!("{seen} {seen}")])
        .unwrap();
    let _serve = Serve::start_with(&world, &["--no-http", "--set", "serve.tick=20ms"]);
    let log = file_says(&world.log(), |log| log.contains("pruned old sessions"));
    let found = ["old", "young", "new"].map(|session| world.run(&["show", session]).code == Some(0));
    assert_eq!(found, [false, true, true], "{log}");
}

#[test]
fn a_log_can_be_followed() {
    let world = World::new();
    let _serve = Serve::start(&world);
    world.run_with(&["events", "post"], &lines(&[call("e1", "abc", "ls")]));
    let mut follow = world.command(["events", "tail", "-f", "--json"]).spawn().unwrap();
    let mut seen = BufReader::new(follow.stdout.take().unwrap()).lines();
    let mut next = || serde_json::from_str::<serde_json::Value>(&seen.next().unwrap().unwrap()).unwrap();
    assert_eq!(next()["event"]["id"], "e1");
    let mut subscriber = client(&world);
    let received = std::thread::spawn(move || {
        let mut ids = Vec::new();
        let what = belay_ipc::SubscribeRequest { after: Some(0), ..Default::default() };
        subscriber
            .subscribe(&what, |line| {
                let event: serde_json::Value = serde_json::from_slice(line).unwrap();
                ids.push(event["event"]["id"].as_str().unwrap().to_owned());
                ids.len() < 2
            })
            .unwrap();
        ids
    });
    world.run_with(&["events", "post"], &lines(&[call("e2", "abc", "ls")]));
    assert_eq!(next()["event"]["id"], "e2");
    assert_eq!(received.join().unwrap(), ["e1", "e2"]);
    follow.kill().unwrap();
    follow.wait().unwrap();
}

#[test]
fn garbage_on_the_socket_is_answered_and_harms_nobody() {
    let world = World::new();
    let serve = Serve::start(&world);
    let mut stream = UnixStream::connect(world.paths().socket()).unwrap();
    let mut answers = BufReader::new(stream.try_clone().unwrap()).lines();
    let mut ask = |line: &str| {
        stream.write_all(line.as_bytes()).unwrap();
        stream.write_all(b"\n").unwrap();
        let answer: serde_json::Value = serde_json::from_str(&answers.next().unwrap().unwrap()).unwrap();
        (answer["error"]["code"].as_str().unwrap_or("ok").to_owned(), answer["id"].clone())
    };
    let code = |code: &str| (code.to_owned(), serde_json::Value::Null);
    assert_eq!(ask("hello"), code("bad_request"));
    assert_eq!(ask("[]"), code("bad_request"));
    assert_eq!(ask("{\"op\":\"fly\",\"id\":\"a\"}"), ("unknown".to_owned(), "a".into()));
    assert_eq!(ask("{\"op\":\"ping\",\"v\":99,\"id\":1}"), ("unknown".to_owned(), 1.into()));
    assert_eq!(ask("{\"op\":\"observe\"}"), code("bad_request"));
    assert_eq!(ask("{\"op\":\"decide\",\"params\":{\"session\":1}}"), code("bad_request"));
    let nobody =
        r#"{"op":"decide","params":{"session":{"agent":"codex","id":"none"},"decision":{"decision":"pause"}}}"#;
    assert_eq!(ask(nobody), code("not_found"));
    assert_eq!(ask(&"[".repeat(100_000)), code("bad_request"));
    assert_eq!(ask(&"x".repeat(belay_ipc::MAX_LINE_BYTES + 100_000)), code("too_long"));
    assert_eq!(ask("{\"op\":\"ping\",\"id\":{\"any\":1}}"), ("ok".to_owned(), serde_json::json!({ "any": 1 })));
    // A partial request, then a disconnect.
    let mut half = UnixStream::connect(world.paths().socket()).unwrap();
    half.write_all(b"{\"op\":\"observe\",\"params\":{\"ev").unwrap();
    half.shutdown(Shutdown::Write).unwrap();
    half.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
    assert_eq!(half.read(&mut [0]).unwrap(), 0, "it is let go without an answer");
    assert_eq!(client(&world).status(false).unwrap().connections, 2);
    drop(serve);
}
