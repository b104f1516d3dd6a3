//! `belay demo` with the real binary.

use std::io::{BufRead, BufReader};

use rustix::process::{Pid, Signal, kill_process};

use crate::world::World;

/// The output without volatile parts.
fn without_times(text: &str) -> String {
    let is_time = |line: &str| line.trim_end().ends_with("ms");
    let cut = |line: &str| {
        line.trim_end()
            .trim_end_matches("ms")
            .trim_end()
            .trim_end_matches(|c: char| c.is_ascii_digit() || c == '.')
            .trim_end()
            .to_owned()
    };
    let lines = text.lines().map(|line| if is_time(line) { cut(line) } else { line.trim_end().to_owned() });
    let text = lines.collect::<Vec<_>>().join("\n");
    let (before, after) = text.split_once("(refused in ").expect("a refusal");
    let (_, after) = after.split_once("; the model").expect("a time");
    format!("{before}(refused in TIME; the model{after}")
}

#[test]
fn the_demo_runs_to_its_end() {
    let world = World::new();
    let shown = world.run(&["demo", "--once"]);
    assert_eq!((shown.code, shown.err.as_str()), (Some(0), ""), "{shown:?}");
    insta::assert_snapshot!(without_times(&shown.out));
    assert!(!world.state().exists(), "the demo uses its own home");
}

#[test]
fn the_page_stays_open_on_the_session_until_ctrl_c() {
    let world = World::new();
    let mut child = world.command(["demo"]).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let url = lines.find_map(|line| line.trim().strip_prefix("Status page:").map(|url| url.trim().to_owned())).unwrap();
    let address = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
    lines.find(|line| line.contains("Ctrl-C")).unwrap();
    let mut stream = std::net::TcpStream::connect(&address).unwrap();
    std::io::Write::write_all(&mut stream, b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n").unwrap();
    let page = std::io::read_to_string(stream).unwrap();
    assert!(page.contains("demo:story"), "{page}");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(std::net::TcpStream::connect(&address).is_err(), "nothing is left behind");
}
