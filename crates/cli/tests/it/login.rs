//! Logins of browsers, and attacks on them.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::http::{body, post, status};
use crate::resident::Serve;
use crate::world::{World, call, lines};

const HOST: &str = "127.0.0.1:8787";

/// Requests of one browser.
pub(crate) struct Browser<'s> {
    serve: &'s Serve,
    cookie: String,
}

impl<'s> Browser<'s> {
    fn new(serve: &'s Serve) -> Self {
        Self { serve, cookie: String::new() }
    }

    /// Opens a login link.
    pub(crate) fn logged_in(serve: &'s Serve, link: &str) -> Self {
        let mut browser = Self::new(serve);
        let answer = browser.get(path_of(link), "");
        assert_eq!(status(&answer), "303", "{answer}");
        let cookie = header(&answer, "set-cookie").unwrap();
        browser.cookie = format!("cookie: {}\r\n", cookie.split(';').next().unwrap());
        browser
    }

    pub(crate) fn request(&self, method: &str, path: &str, headers: &str, body: &str) -> String {
        let (cookie, length) = (&self.cookie, body.len());
        self.serve.http(&format!(
            "{method} {path} HTTP/1.1\r\nhost: {HOST}\r\nconnection: close\r\ncontent-length: {length}\r\n\
             {cookie}{headers}\r\n{body}"
        ))
    }

    pub(crate) fn get(&self, path: &str, headers: &str) -> String {
        self.request("GET", path, headers, "")
    }

    pub(crate) fn form_token(&self) -> String {
        body(&self.get("/api/v1/login", ""))["form_token"].as_str().unwrap().to_owned()
    }

    /// Pauses the session `abc`.
    fn pause(&self, headers: &str) -> String {
        let headers = format!("content-type: application/json\r\n{headers}");
        self.request("POST", "/api/v1/sessions/abc/decisions", &headers, r#"{"decision":"pause"}"#)
    }

    fn is_logged_in(&self) -> bool {
        body(&self.get("/api/v1/login", ""))["logged_in"] == true
    }
}

fn path_of(link: &str) -> &str {
    &link[link.find("/login").unwrap()..]
}

fn header<'a>(answer: &'a str, name: &str) -> Option<&'a str> {
    let head = answer.split("\r\n\r\n").next().unwrap();
    head.lines()
        .filter_map(|line| line.split_once(": "))
        .find(|(own, _)| own.eq_ignore_ascii_case(name))
        .map(|(_, v)| v)
}

pub(crate) fn link(serve: &Serve) -> &str {
    serve.ready["login"].as_str().unwrap()
}

fn new_link(world: &World) -> String {
    world.run(&["open", "--print"]).out.trim().to_owned()
}

fn with_session(world: &World) -> Serve {
    let serve = Serve::start(world);
    world.run_with(&["events", "post"], &lines(&[call("e1", "abc", "ls")]));
    serve
}

fn state(world: &World) -> Value {
    world.run(&["sessions", "--json"]).json()["sessions"][0]["state"].clone()
}

#[test]
fn a_link_logs_one_browser_in_once() {
    let world = World::new();
    let serve = Serve::start(&world);
    let path = path_of(link(&serve));
    let first = Browser::new(&serve).get(path, "sec-fetch-mode: navigate\r\nsec-fetch-dest: document\r\n");
    assert_eq!((status(&first), header(&first, "location")), ("303", Some("/")), "{first}");
    let cookie = header(&first, "set-cookie").unwrap();
    assert!(cookie.starts_with("belay-login-8787="), "{cookie}");
    for attribute in ["; HttpOnly", "; SameSite=Strict", "; Path=/;"] {
        assert!(cookie.contains(attribute), "{cookie}");
    }
    let stolen = Browser::new(&serve).get(path, "");
    assert_eq!(status(&stolen), "403", "{stolen}");
    assert!(stolen.contains("no longer valid") && stolen.contains("belay open"), "{stolen}");
    assert_eq!(header(&stolen, "set-cookie"), None);
    for guessed in ["/login", "/login?code=", "/login?code=00000000000000000000000000000000"] {
        assert_eq!(status(&Browser::new(&serve).get(guessed, "")), "403", "{guessed}");
    }
    let owner = Browser { serve: &serve, cookie: format!("cookie: {}\r\n", cookie.split(';').next().unwrap()) };
    assert!(owner.is_logged_in());
    assert_eq!(status(&owner.get(path, "")), "303", "the Back button does not end in an error");
}

#[test]
fn a_preview_does_not_use_the_link_up() {
    let world = World::new();
    let serve = Serve::start(&world);
    let (path, stranger) = (path_of(link(&serve)), Browser::new(&serve));
    for headers in [
        "sec-fetch-mode: no-cors\r\nsec-fetch-dest: image\r\n",
        "sec-fetch-mode: navigate\r\nsec-fetch-dest: iframe\r\n",
        "sec-purpose: prefetch;prerender\r\n",
        "purpose: prefetch\r\n",
        "sec-fetch-site: cross-site\r\n",
    ] {
        let answer = stranger.get(path, headers);
        assert_eq!((status(&answer), header(&answer, "set-cookie")), ("403", None), "{headers}{answer}");
    }
    assert_eq!(status(&stranger.request("HEAD", path, "", "")), "403");
    assert_eq!(status(&stranger.request("POST", path, "", "")), "405");
    // A person who follows a link on another site continues with a click on Belay's own page.
    let navigation =
        "accept: text/html\r\nsec-fetch-site: cross-site\r\nsec-fetch-mode: navigate\r\nsec-fetch-dest: document\r\n";
    let interstitial = stranger.get(path, navigation);
    assert!(interstitial.contains(&format!("href=\"{path}\"")), "{interstitial}");
    assert!(Browser::logged_in(&serve, link(&serve)).is_logged_in());
}

#[test]
fn a_login_decides_only_with_its_form_token() {
    let world = World::new();
    let serve = with_session(&world);
    let browser = Browser::logged_in(&serve, link(&serve));
    let other = Browser::logged_in(&serve, &new_link(&world));
    let token = format!("x-belay-form-token: {}\r\n", browser.form_token());
    let foreign = format!("x-belay-form-token: {}\r\n", other.form_token());
    for (who, headers, expected) in [
        (&browser, "", "403"),
        (&browser, "x-belay-form-token: 00\r\n", "403"),
        (&browser, foreign.as_str(), "403"),
        (&Browser::new(&serve), token.as_str(), "401"),
    ] {
        let answer = who.pause(headers);
        assert_eq!(status(&answer), expected, "{headers}{answer}");
    }
    assert_eq!(state(&world), "active");
    let done = browser.pause(&token);
    assert_eq!(status(&done), "200", "{done}");
    assert_eq!(state(&world), "paused");
    let events = world.run(&["events", "tail", "abc", "-n", "1", "--json"]).json();
    assert!(events["event"]["by"].as_str().unwrap().starts_with("browser "), "{events}");
}

#[test]
fn another_site_cannot_use_a_login() {
    let world = World::new();
    let serve = with_session(&world);
    let browser = Browser::logged_in(&serve, link(&serve));
    // Even with the form token, which another site cannot read.
    let token = format!("x-belay-form-token: {}\r\n", browser.form_token());
    for headers in [
        "origin: https://evil.example\r\n",
        "origin: http://127.0.0.1:3000\r\n",
        "origin: null\r\n",
        "sec-fetch-site: cross-site\r\n",
        "sec-fetch-site: same-site\r\n",
    ] {
        let answer = browser.pause(&format!("{token}{headers}"));
        assert_eq!(status(&answer), "403", "{headers}{answer}");
    }
    let (cookie, event) = (&browser.cookie, r#"{"decision":"pause"}"#);
    for host in ["evil.example:8787", "127.0.0.1.evil.example", "10.0.0.1:8787"] {
        let request = post("/api/v1/sessions/abc/decisions", &format!("{cookie}{token}"), event);
        let answer = serve.http(&request.replace("host: 127.0.0.1", &format!("host: {host}")));
        assert_eq!(status(&answer), "403", "{host} {answer}");
    }
    let twice = post("/logout", &format!("host: evil.example\r\n{cookie}"), "");
    assert_eq!(status(&serve.http(&twice)), "400", "two hosts");
    let preflight = "origin: https://evil.example\r\naccess-control-request-method: POST\r\n";
    let answer = browser.request("OPTIONS", "/api/v1/sessions/abc/decisions", preflight, "");
    assert_eq!(status(&answer), "403", "{answer}");
    assert!(!answer.to_lowercase().contains("access-control-allow"), "{answer}");
    assert_eq!(state(&world), "active");
}

#[test]
fn a_login_survives_a_restart_and_ends_on_request() {
    let world = World::new();
    let serve = Serve::start(&world);
    let cookie = Browser::logged_in(&serve, link(&serve)).cookie;
    let unused = new_link(&world);
    let logins = std::fs::read_to_string(world.state().join("logins.json")).unwrap();
    let secret = cookie.trim().rsplit_once('=').unwrap().1;
    assert!(!logins.contains(secret), "only a digest is stored");
    serve.kill();
    let serve = Serve::start(&world);
    let (browser, other) = (Browser { serve: &serve, cookie }, Browser::logged_in(&serve, link(&serve)));
    assert!(browser.is_logged_in() && other.is_logged_in());
    assert_eq!(status(&Browser::new(&serve).get(path_of(&unused), "")), "403", "codes do not survive");
    let form = format!("form_token={}", browser.form_token());
    let urlencoded = "content-type: application/x-www-form-urlencoded\r\n";
    assert_eq!(status(&browser.request("POST", "/logout", urlencoded, "form_token=00")), "403");
    let answer = browser.request("POST", "/logout", urlencoded, &form);
    assert_eq!(status(&answer), "303", "{answer}");
    assert!(header(&answer, "set-cookie").unwrap().contains("Max-Age=0"), "{answer}");
    assert!(!browser.is_logged_in() && other.is_logged_in());
    let pending = new_link(&world);
    assert_eq!(world.run(&["open", "--logout-all"]).out, "Logged out 1 browser.\n");
    assert!(!other.is_logged_in());
    assert_eq!(status(&Browser::new(&serve).get(path_of(&pending), "")), "403", "no link logs in any more");
    let last = Browser::logged_in(&serve, &new_link(&world)).cookie;
    serve.kill();
    assert_eq!(world.run(&["open", "--logout-all", "--json"]).json(), json!({ "revoked": 1 }));
    let serve = Serve::start(&world);
    assert!(!Browser { serve: &serve, cookie: last }.is_logged_in());
}

#[cfg(target_os = "linux")]
#[test]
fn another_user_can_use_neither_a_link_nor_a_cookie() {
    use crate::http::http_of_another_user;
    let world = World::new();
    let serve = Serve::start(&world);
    let get = |path: &str, headers: &str| {
        let request = format!("GET {path} HTTP/1.1\r\nhost: {HOST}\r\nconnection: close\r\n{headers}\r\n");
        http_of_another_user(&serve, &request)
    };
    let Some(answer) = get(path_of(link(&serve)), "") else { return };
    assert_eq!((status(&answer), header(&answer, "set-cookie")), ("403", None), "{answer}");
    let browser = Browser::logged_in(&serve, link(&serve));
    let answer = get("/api/v1/login", &browser.cookie).unwrap();
    assert_eq!(status(&answer), "403", "{answer}");
    assert_eq!(body(&get("/healthz", "").unwrap()), json!({ "status": "ok" }), "no details");
}

#[test]
fn every_response_forbids_frames_and_foreign_content() {
    let world = World::new();
    let serve = Serve::start(&world);
    let browser = Browser::new(&serve);
    for path in ["/", "/style.css", "/login?code=x", "/api/v1/sessions", "/metrics", "/nothing", "/healthz"] {
        for headers in ["", "accept: text/html\r\nsec-fetch-site: cross-site\r\nsec-fetch-mode: navigate\r\n"] {
            let answer = browser.get(path, headers);
            let policy = header(&answer, "content-security-policy").unwrap();
            assert!(policy.starts_with("default-src 'none'"), "{path} {policy}");
            assert!(policy.contains("frame-ancestors 'none'") && policy.contains("base-uri 'none'"), "{path} {policy}");
            assert!(!policy.contains("unsafe") && !policy.contains('*'), "{path} {policy}");
            for (name, value) in [
                ("x-frame-options", "DENY"),
                ("x-content-type-options", "nosniff"),
                ("referrer-policy", "no-referrer"),
                ("cross-origin-opener-policy", "same-origin"),
                ("cross-origin-resource-policy", "same-origin"),
            ] {
                assert_eq!(header(&answer, name), Some(value), "{path} {name}");
            }
            assert!(!answer.to_lowercase().contains("access-control-"), "{path} {answer}");
        }
    }
    assert_eq!(header(&browser.get("/", ""), "cache-control"), Some("no-store"));
}

#[test]
fn paths_do_not_lead_out_of_the_server() {
    let world = World::new();
    let serve = Serve::start(&world);
    let secret = std::fs::read_to_string(world.state().join("token")).unwrap();
    for path in [
        "/../token",
        "/../../../../etc/passwd",
        "/%2e%2e/token",
        "/..%2ftoken",
        "/style.css/../../token",
        "/api/v1/sessions/..%2f..%2ftoken",
        "/api/v1/sessions/%2e%2e%2ftoken/events",
        "/login/..\\token",
        "//token",
        "/./token",
    ] {
        let answer = serve.get(path);
        assert!(matches!(status(&answer), "400" | "404"), "{path}: {answer}");
        assert!(!answer.contains(secret.trim()) && !answer.contains("root:"), "{path}: {answer}");
    }
}

#[test]
fn oversized_requests_are_refused_before_they_are_stored() {
    let world = World::new();
    let serve = Serve::start(&world);
    let long_head = format!("GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nx: {}\r\n\r\n", "x".repeat(300 * 1024));
    assert_eq!(status(&serve.http(&long_head)), "431");
    let many_lines = format!("GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n{}\r\n", "x: y\r\n".repeat(200));
    assert_eq!(status(&serve.http(&many_lines)), "431");
    // A chunked body does not state its length.
    let mut stream = TcpStream::connect(serve.address()).unwrap();
    let head = "POST /api/v1/events HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    let chunk = format!("{:x}\r\n{}\r\n", 1 << 20, " ".repeat(1 << 20));
    // The server answers and closes the connection before everything is sent.
    let _ = (0..9).try_for_each(|_| stream.write_all(chunk.as_bytes()));
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert!(String::from_utf8_lossy(&answer).starts_with("HTTP/1.1 413"), "{}", String::from_utf8_lossy(&answer));
}

#[test]
fn connections_that_send_their_heads_slowly_do_not_block_others() {
    let world = World::new();
    let belay = env!("CARGO_BIN_EXE_belay");
    let mut command = world.program("/bin/sh");
    // 200 descriptors are enough for 36 connections.
    command.args(["-c", &format!("ulimit -n 200; exec {belay} serve --json --listen 127.0.0.1:0")]);
    let serve = Serve::from_command(command);
    let mut slow: Vec<TcpStream> = (0..300)
        .map(|_| {
            let mut stream = TcpStream::connect(serve.address()).unwrap();
            stream.write_all(b"GET / HT").unwrap();
            stream
        })
        .collect();
    for byte in *b"TP/1.1\r\nx: y" {
        // The server has closed most of them.
        slow.iter_mut().for_each(|stream| drop(stream.write(&[byte])));
        assert_eq!(status(&serve.get("/healthz")), "200");
    }
}

#[test]
fn an_agent_that_starts_belay_gets_no_login() {
    let world = World::new();
    std::fs::create_dir_all(world.path("bin")).unwrap();
    std::os::unix::fs::symlink("/bin/sh", world.path("bin/claude")).unwrap();
    let belay = env!("CARGO_BIN_EXE_belay");
    let mut agent = world.program(world.path("bin/claude").to_str().unwrap());
    agent.args(["-c", &format!("{belay} serve --json --listen 127.0.0.1:0; exit $?")]);
    let serve = Serve::from_command(agent);
    assert_eq!(serve.ready["login"], Value::Null, "{}", serve.ready);
    let mut agent = world.program(world.path("bin/claude").to_str().unwrap());
    agent.args(["-c", &format!("{belay} serve --json; exit $?")]);
    let output = String::from_utf8(agent.output().unwrap().stdout).unwrap();
    let output: Value = serde_json::from_str(&output).unwrap();
    assert_eq!(output["already"]["login"], Value::Null, "{output}");
    assert_eq!(world.run(&["stop"]).code, Some(0));
}
