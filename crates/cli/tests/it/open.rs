//! `belay open`.

use crate::run::{Leaves, with_program};
use crate::world::World;

#[test]
fn it_starts_the_resident_process_and_opens_the_browser() {
    let (world, _) = with_program("xdg-open", "printf '%s\\n' \"$@\" > opened.txt");
    let world = world.var("DISPLAY", ":0");
    let _leaves = Leaves(&world);
    let shown = world.run_text(&["open"]);
    insta::assert_snapshot!(shown, @r"
    $ belay open
    The dashboard is open in your browser.
    ");
    let opened = std::fs::read_to_string(world.path("home/code/app/opened.txt")).unwrap();
    let url = world.run(&["status", "--json"]).json()["resident"]["url"].as_str().unwrap().to_owned();
    assert!(opened.starts_with(&format!("{url}login?code=")) && opened.lines().count() == 1, "{opened}");
    let address = url.trim_start_matches("http://").trim_end_matches('/');
    let path = opened.trim().strip_prefix(url.trim_end_matches('/')).unwrap();
    let answer =
        crate::resident::http(address, &format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n"));
    assert!(answer.starts_with("HTTP/1.1 303"), "{answer}");
}

#[test]
fn it_prints_the_link_where_no_browser_can_be_opened() {
    let (world, _) = with_program("xdg-open", "exit 3");
    let _leaves = Leaves(&world);
    let without_display = world.run_text(&["open"]);
    insta::assert_snapshot!(without_display, @r"
    $ belay open
    http://127.0.0.1:[port]/login?code=[code]
    -- stderr
    Open this link in a browser. It works once, within 10 minutes.
    ");
    let failing = world.command(["open", "--json"]).env("DISPLAY", ":0").output().unwrap();
    let failing: serde_json::Value = serde_json::from_slice(&failing.stdout).unwrap();
    assert_eq!(failing["opened"], false, "{failing}");
    assert!(failing["url"].as_str().unwrap().contains("/login?code="), "{failing}");
    assert_eq!(world.run(&["open", "--print", "--quiet"]).out.lines().count(), 1);
}

#[test]
fn a_taken_port_does_not_matter() {
    let world = World::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let listener = std::net::TcpListener::bind(taken).unwrap();
    let world = world.var("BELAY_LISTEN", taken.to_string());
    let _leaves = Leaves(&world);
    let output = world.run(&["open", "--print"]);
    assert_eq!(output.code, Some(0), "{output:?}");
    assert!(output.out.starts_with("http://127.0.0.1:") && !output.out.contains(&taken.to_string()), "{output:?}");
    drop(listener);
}
