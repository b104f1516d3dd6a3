//! Clients that try to use up the server: it refuses what is too much, and everything else continues.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::http::status;
use crate::live::LiveClient;
use crate::remote::{Remote, tokens};
use crate::resident::Serve;
use crate::world::{World, call, lines, within};

/// Opens a live stream; returns it with the status of the response.
fn open_stream(serve: &Serve) -> (BufReader<TcpStream>, String) {
    let mut stream = TcpStream::connect(serve.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    write!(stream, "GET /api/v1/live HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n").unwrap();
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let status = line.split(' ').nth(1).unwrap().to_owned();
    (reader, status)
}

/// The status of a response, if there is one.
fn try_request(address: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n").ok()?;
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).ok()?;
    Some(String::from_utf8_lossy(&answer[9..]).into_owned())
}

/// Serves with few file descriptors: 200 are enough for 36 connections.
fn with_few_connections(world: &World, args: &str) -> Serve {
    let belay = env!("CARGO_BIN_EXE_belay");
    let mut command = world.program("/bin/sh");
    command.args(["-c", &format!("ulimit -n 200; exec {belay} serve --json {args}")]);
    Serve::from_command(command)
}

#[cfg(target_os = "linux")]
fn resident_kilobytes(serve: &Serve) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", serve.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn a_thousand_live_streams_are_bounded() {
    let world = World::new();
    // Otherwise the server itself would be limited by the files that this process may open.
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    assert!(limit.is_none_or(|limit| limit >= 4096), "the test needs 4096 file descriptors");
    let serve = Serve::start(&world);
    world.run_with(&["events", "post"], &lines(&[call("e1", "busy", "ls")]));
    let before = resident_kilobytes(&serve);
    let opened: Vec<(BufReader<TcpStream>, String)> = (0..1000).map(|_| open_stream(&serve)).collect();
    let (streams, refused): (Vec<_>, Vec<_>) = opened.into_iter().partition(|(_, status)| status == "200");
    assert_eq!((streams.len(), refused.len()), (256, 744));
    for (mut reader, status) in refused {
        let mut answer = String::new();
        reader.read_to_string(&mut answer).unwrap();
        assert!(status == "503" && answer.contains("too many live streams are open"), "{status} {answer}");
    }
    let grown = resident_kilobytes(&serve).saturating_sub(before);
    assert!(grown < 64 * 1024, "1000 streams took {grown} kB");
    // Pages and hooks continue, and every stream that was accepted gets the change.
    assert_eq!(status(&serve.get("/")), "200");
    let posted = world.run_with(&["events", "post"], &lines(&[call("e2", "other", "ls")]));
    assert_eq!(posted.code, Some(0), "{posted:?}");
    let streams = within("the change on every stream", move || {
        streams
            .into_iter()
            .map(|(mut reader, _)| {
                let mut line = String::new();
                while !line.contains("claude-code:other") {
                    line.clear();
                    assert_ne!(reader.read_line(&mut line).unwrap(), 0, "the stream has ended");
                }
                reader
            })
            .collect::<Vec<_>>()
    });
    let sessions = world.run(&["sessions", "--json"]).json();
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 2);
    drop(streams);
    // Their places are free once the server has noticed.
    within("a new stream", move || while open_stream(&serve).1 != "200" {});
}

#[test]
fn live_streams_leave_connections_for_agents() {
    let world = World::new();
    let serve = with_few_connections(&world, "--listen 127.0.0.1:0");
    let streams: Vec<_> = (0..60).map(|_| open_stream(&serve)).collect();
    assert_eq!(streams.iter().filter(|(_, status)| status == "200").count(), 18);
    assert_eq!(status(&serve.get("/healthz")), "200");
}

#[test]
fn bodies_that_never_end_neither_block_hooks_nor_are_stored() {
    let world = World::new();
    let serve = with_few_connections(&world, "--listen 127.0.0.1:0");
    let mut stream = LiveClient::connect(&serve, "", "");
    let head = "POST /api/v1/events HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{";
    let slow: Vec<TcpStream> = (0..100)
        .map(|_| {
            let mut stream = TcpStream::connect(serve.address()).unwrap();
            // Beyond the limit, the server answers and closes.
            let _ = stream.write_all(head.as_bytes());
            stream
        })
        .collect();
    // Once all of them are counted, further connections are refused. Not all of those get an answer.
    let address = serve.address();
    within("a refusal", move || while try_request(&address).as_deref() != Some("503") {});
    // Hooks do not use HTTP, and a page that is open stays live.
    let posted = world.run_with(&["events", "post"], &lines(&[call("e1", "abc", "ls")]));
    assert_eq!(posted.code, Some(0), "{posted:?}");
    let (change, _stream) = within("a change", move || {
        stream.next();
        (stream.change(), stream)
    });
    assert_eq!(change["session"], "claude-code:abc");
    drop(slow);
    // The server has places again once it has noticed.
    let address = serve.address();
    within("a response", move || while try_request(&address).as_deref() != Some("200") {});
    assert_eq!(world.run(&["sessions", "--json"]).json()["sessions"].as_array().unwrap().len(), 1);
}

#[test]
fn bodies_of_unknown_clients_are_not_awaited() {
    let world = World::new();
    let remote = Remote::new(&world, with_few_connections(&world, "--listen 0.0.0.0:0 --tls-self-signed"));
    let (token, _) = tokens(&world);
    let head = "POST /api/v1/events HTTP/1.1\r\nhost: lab.example\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{";
    let model = "POST /v1/messages HTTP/1.1\r\nhost: lab.example\r\ncontent-length: 1000\r\n\r\n{";
    let mut open = Vec::new();
    let mut answered = 0;
    for n in 0..60 {
        let mut stream = remote.connect();
        stream.write_all(if n % 2 == 0 { head } else { model }.as_bytes()).unwrap();
        let mut answer = [0; 12];
        match stream.read_exact(&mut answer) {
            Ok(()) => {
                assert_eq!(&answer, b"HTTP/1.1 401", "client {n}");
                answered += 1;
            }
            // While many clients are being refused, further ones are disconnected without an answer.
            Err(error) => {
                assert!(matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset), "{error}");
            }
        }
        open.push(stream);
    }
    assert!(answered >= 30, "{answered}");
    assert_eq!(status(&remote.get("/", &format!("authorization: Bearer {token}\r\n"))), "200");
    assert_eq!(world.run(&["sessions", "--json"]).json()["sessions"].as_array().unwrap().len(), 0);
}
