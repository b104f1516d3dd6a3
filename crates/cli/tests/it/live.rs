//! The live stream over HTTP, by a real resident process.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use serde_json::Value;

use crate::resident::Serve;
use crate::world::{World, call, lines, within};

/// A client of `/api/v1/live`.
pub(crate) struct LiveClient(BufReader<TcpStream>);

/// One server-sent event.
#[derive(Debug)]
pub(crate) struct ServerEvent {
    id: u64,
    name: String,
    data: String,
}

impl LiveClient {
    pub(crate) fn connect(serve: &Serve, query: &str, headers: &str) -> Self {
        let mut stream = TcpStream::connect(serve.address()).unwrap();
        write!(stream, "GET /api/v1/live{query} HTTP/1.1\r\nhost: 127.0.0.1\r\n{headers}\r\n").unwrap();
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        assert!(line.starts_with("HTTP/1.1 200"), "{line}");
        while line != "\r\n" {
            line.clear();
            reader.read_line(&mut line).unwrap();
        }
        Self(reader)
    }

    /// The next event; skips chunk sizes and heartbeats.
    pub(crate) fn next(&mut self) -> ServerEvent {
        let mut event = ServerEvent { id: 0, name: String::new(), data: String::new() };
        loop {
            let mut line = String::new();
            assert_ne!(self.0.read_line(&mut line).unwrap(), 0, "the stream has ended");
            match line.trim_end().split_once(": ") {
                Some(("id", id)) => event.id = id.parse().unwrap(),
                Some(("event", name)) => event.name = name.to_owned(),
                Some(("data", data)) => event.data = data.to_owned(),
                _ if line == "\n" && !event.name.is_empty() => return event,
                _ => {}
            }
        }
    }

    pub(crate) fn change(&mut self) -> Value {
        let event = self.next();
        assert_eq!(event.name, "change", "{event:?}");
        serde_json::from_str(&event.data).unwrap()
    }
}

#[test]
fn changes_of_sessions_are_streamed_and_replayed() {
    let world = World::new();
    let serve = Serve::start(&world);
    world.run_with(&["events", "post"], &lines(&[call("e1", "first", "ls")]));
    let post = |id: &str, session: &str| world.run_with(&["events", "post"], &lines(&[call(id, session, "ls")]));
    let mut client = LiveClient::connect(&serve, "", "");
    let (ready, mut client) = within("the stream is ready", move || (client.next(), client));
    assert_eq!(ready.name, "ready", "{ready:?}");
    post("e2", "second");
    let (change, client) = within("a change", move || (client.change(), client));
    assert_eq!((&change["session"], &change["kind"]), (&"claude-code:second".into(), &"tool_called".into()));
    drop(client);
    // What happened while the client was away.
    post("e3", "third");
    let mut again = LiveClient::connect(&serve, "", &format!("last-event-id: {}\r\n", ready.id + 1));
    let missed = within("the replay", move || (again.next(), again.change()));
    assert_eq!(missed.1["session"], "claude-code:third", "{missed:?}");
    // Only one session.
    let mut filtered = LiveClient::connect(&serve, &format!("?after={}&session=claude-code:third", ready.id), "");
    let only = within("the filtered replay", move || (filtered.next(), filtered.change()));
    assert_eq!(only.1["session"], "claude-code:third");
}

#[test]
fn a_client_that_missed_too_much_is_told_to_reload() {
    let world = World::new();
    let serve = Serve::start(&world);
    let many: Vec<String> = (0..600).map(|n| call(&format!("e{n}"), "busy", &format!("echo {n}"))).collect();
    world.run_with(&["events", "post"], &lines(&many));
    let mut client = LiveClient::connect(&serve, "?after=1", "");
    assert_eq!(within("an answer", move || client.next()).name, "reload");
}

#[test]
fn a_client_that_reads_nothing_slows_nobody() {
    let world = World::new();
    let serve = Serve::start(&world);
    let asleep: Vec<LiveClient> = (0..8).map(|_| LiveClient::connect(&serve, "", "")).collect();
    for round in 0..20 {
        let many: Vec<String> =
            (0..200).map(|n| call(&format!("r{round}-{n}"), "busy", &format!("echo {n}"))).collect();
        let posted = world.run_with(&["events", "post"], &lines(&many));
        assert_eq!(posted.code, Some(0), "{posted:?}");
    }
    assert_eq!(world.run(&["sessions", "--json"]).json()["sessions"][0]["calls"], 4_000);
    drop(asleep);
}
