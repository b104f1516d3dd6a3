//! Access from other machines: TLS, and a credential for everything.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::json;

use crate::http::{body, status};
use crate::resident::{Serve, http};
use crate::world::{TEST_TIMEOUT, World, call, lines};

/// `belay serve` for other machines, with its certificate.
pub(crate) struct Remote {
    pub(crate) serve: Serve,
    port: u16,
    tls: Arc<ClientConfig>,
}

impl Remote {
    fn start(world: &World) -> Self {
        Self::new(world, Serve::start_with(world, &["--listen", "0.0.0.0:0", "--tls-self-signed"]))
    }

    pub(crate) fn new(world: &World, serve: Serve) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(world.state().join("tls-cert.pem")).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let tls = Arc::new(config.with_root_certificates(roots).with_no_client_auth());
        let url = serve.ready["url"].as_str().unwrap();
        let port = url.trim_end_matches('/').rsplit(':').next().unwrap().parse().unwrap();
        Self { serve, port, tls }
    }

    pub(crate) fn connect(&self) -> StreamOwned<ClientConnection, TcpStream> {
        let tcp = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        tcp.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        StreamOwned::new(ClientConnection::new(Arc::clone(&self.tls), name).unwrap(), tcp)
    }

    fn http(&self, request: &str) -> String {
        let mut stream = self.connect();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        String::from_utf8(answer).unwrap()
    }

    fn request(&self, method: &str, path: &str, headers: &str, body: &str) -> String {
        let (port, length) = (self.port, body.len());
        self.http(&format!(
            "{method} {path} HTTP/1.1\r\nhost: lab.example:{port}\r\nconnection: close\r\ncontent-length: {length}\r\n\
             {headers}\r\n{body}"
        ))
    }

    pub(crate) fn get(&self, path: &str, headers: &str) -> String {
        self.request("GET", path, headers, "")
    }
}

pub(crate) fn tokens(world: &World) -> (String, String) {
    let status = world.run(&["status", "--token", "--json"]).json();
    let text = |name: &str| status[name].as_str().unwrap().to_owned();
    (text("token"), text("proxy_token"))
}

#[test]
fn an_address_that_other_machines_can_reach_requires_tls() {
    let world = World::new();
    let shown = [
        world.run_text(&["serve", "--listen", "0.0.0.0:8787"]),
        world.run_text(&["serve", "--tls-self-signed", "--listen", "127.0.0.1:8787"]),
        world.run_text(&["serve", "--listen", "0.0.0.0:8787", "--tls-cert", "missing.pem", "--tls-key", "missing.key"]),
    ];
    insta::assert_snapshot!(shown.join("\n"), @r"
    $ belay serve --listen 0.0.0.0:8787
    -- stderr
    Error: cannot listen on 0.0.0.0:8787: other machines can reach this address, so it requires TLS
    Hint: add `--tls-self-signed`, or `--tls-cert FILE --tls-key FILE`; or listen on 127.0.0.1 and use an SSH tunnel
    -- exit 1

    $ belay serve --tls-self-signed --listen 127.0.0.1:[port]
    -- stderr
    Error: 127.0.0.1:[port] is a loopback address, which is served without TLS
    Hint: add `--listen 0.0.0.0:8787` to serve other machines
    -- exit 2

    $ belay serve --listen 0.0.0.0:8787 --tls-cert missing.pem --tls-key missing.key
    -- stderr
    Error: cannot listen on 0.0.0.0:8787: cannot use the certificate in /home/code/app/missing.pem: I/O error: No such file or directory (os error 2)
    Hint: check --tls-cert and --tls-key, or use --tls-self-signed
    -- exit 1
    ");
    assert!(!world.state().join("belay.sock").exists());
}

#[test]
fn every_request_needs_a_login_or_a_token() {
    let world = World::new();
    let remote = Remote::start(&world);
    world.run_with(&["events", "post"], &lines(&[call("e1", "abc", "ls")]));
    let (token, proxy_token) = tokens(&world);
    let json_type = "content-type: application/json\r\n";
    // The client runs as the same user on the same machine, which does not matter here.
    for path in ["/", "/metrics", "/readyz", "/api/v1/sessions", "/api/v1/login", "/v1/watchdog/dashboard"] {
        for headers in ["", "authorization: Bearer 00\r\n", &format!("authorization: Bearer {proxy_token}\r\n")] {
            let answer = remote.get(path, headers);
            assert_eq!(status(&answer), "401", "{path} {headers}{answer}");
            assert!(!answer.contains("abc"), "{answer}");
        }
        let answer = remote.get(path, &format!("authorization: Bearer {token}\r\n"));
        assert_eq!(status(&answer), "200", "{path} {answer}");
    }
    let events = remote.request("POST", "/api/v1/events", json_type, &call("e2", "abc", "ls"));
    assert_eq!(status(&events), "401", "{events}");
    assert_eq!(body(&remote.get("/healthz", "")), json!({ "status": "ok" }), "no details");
    let page = remote.get("/", "accept: text/html\r\n");
    assert!(status(&page) == "401" && page.contains("belay open --print"), "{page}");
}

#[test]
fn a_browser_logs_in_over_tls() {
    let world = World::new();
    let remote = Remote::start(&world);
    world.run_with(&["events", "post"], &lines(&[call("e1", "abc", "ls")]));
    let link = remote.serve.ready["login"].as_str().unwrap();
    assert!(link.starts_with("https://") && !link.contains("0.0.0.0"), "{link}");
    let answer = remote.get(&link[link.find("/login").unwrap()..], "");
    assert_eq!(status(&answer), "303", "{answer}");
    let cookie = answer.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    assert!(cookie.starts_with("__Host-belay-login-") && cookie.ends_with("; Secure"), "{cookie}");
    let cookie = format!("cookie: {}\r\n", cookie.split(';').next().unwrap());
    assert_eq!(status(&remote.get("/", &cookie)), "200");
    assert_eq!(status(&remote.get("/metrics", &cookie)), "200");
    let form = body(&remote.get("/api/v1/login", &cookie))["form_token"].as_str().unwrap().to_owned();
    let decide = |headers: &str| {
        let headers = format!("content-type: application/json\r\n{cookie}{headers}");
        remote.request("POST", "/api/v1/sessions/abc/decisions", &headers, r#"{"decision":"pause"}"#)
    };
    let port = remote.port;
    assert_eq!(status(&decide("")), "403");
    assert_eq!(status(&decide(&format!("x-belay-form-token: {form}\r\norigin: https://evil.example\r\n"))), "403");
    let own = format!("x-belay-form-token: {form}\r\norigin: https://lab.example:{port}\r\n");
    assert_eq!(status(&decide(&own)), "200");
}

#[test]
fn model_requests_need_the_proxy_token_and_never_decide() {
    let world = World::new();
    let upstream = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", upstream.local_addr().unwrap());
    world.write(
        "home/.config/belay/config.toml",
        &format!("[proxy.upstreams.lab]\nurl = \"{url}\"\nauth = \"bearer\"\nkey_env = \"LAB_KEY\"\n"),
    );
    let world = world.var("LAB_KEY", "sk-configured");
    let remote = Remote::start(&world);
    world.run_with(&["events", "post"], &lines(&[call("e1", "abc", "ls")]));
    let (token, proxy_token) = tokens(&world);
    let ask = |path: &str, headers: &str| {
        remote.request("POST", path, &format!("content-type: application/json\r\n{headers}"), "{}")
    };
    for (path, headers) in [
        ("/lab/v1/chat/completions", ""),
        ("/lab/v1/chat/completions", "authorization: Bearer sk-own\r\n"),
        ("/lab/v1/chat/completions", "x-belay-token: 00\r\n"),
        ("/t/00/lab/v1/chat/completions", ""),
        ("/v1/messages", "x-api-key: sk-ant-own\r\n"),
    ] {
        let answer = ask(path, headers);
        assert_eq!(status(&answer), "401", "{path} {headers}{answer}");
        assert!(answer.contains("token_required"), "{answer}");
    }
    upstream.set_nonblocking(true).unwrap();
    assert!(upstream.accept().is_err(), "nothing was passed on");
    upstream.set_nonblocking(false).unwrap();
    let served = std::thread::spawn(move || {
        let heads: Vec<String> = (0..2)
            .map(|_| {
                let (mut stream, _) = upstream.accept().unwrap();
                let mut head = Vec::new();
                let mut byte = [0];
                while !head.ends_with(b"\r\n\r\n{}") {
                    stream.read_exact(&mut byte).unwrap();
                    head.push(byte[0]);
                }
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}").unwrap();
                String::from_utf8(head).unwrap()
            })
            .collect();
        heads
    });
    let by_path = ask(&format!("/t/{proxy_token}/lab/v1/chat/completions"), "");
    assert_eq!(status(&by_path), "200", "{by_path}");
    let by_header = ask("/lab/v1/chat/completions", &format!("x-belay-token: {proxy_token}\r\n"));
    assert_eq!(status(&by_header), "200", "{by_header}");
    for head in served.join().unwrap() {
        assert!(head.starts_with("POST /v1/chat/completions HTTP/1.1"), "{head}");
        assert!(head.contains("sk-configured") && !head.contains(&proxy_token), "{head}");
    }
    // Neither token opens Belay's own API through a proxy path.
    for token in [&token, &proxy_token] {
        let path = format!("/t/{token}/api/v1/sessions/abc/decisions");
        let answer = remote.request("POST", &path, "content-type: application/json\r\n", r#"{"decision":"kill"}"#);
        assert_eq!(status(&answer), "404", "{answer}");
        assert_eq!(status(&remote.get(&format!("/t/{token}/"), "")), "404");
        assert_eq!(status(&remote.get(&format!("/t/{token}/api/v1/sessions"), "")), "404");
    }
    assert_eq!(world.run(&["sessions", "--json"]).json()["sessions"][0]["state"], "active");
}

#[test]
fn a_plain_request_is_told_to_use_tls() {
    let world = World::new();
    let remote = Remote::start(&world);
    let address = format!("127.0.0.1:{}", remote.port);
    let answer = http(&address, "GET /api/v1/sessions HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n");
    assert_eq!(status(&answer), "400", "{answer}");
    assert!(answer.contains("https://"), "{answer}");
}

#[test]
fn clients_that_do_not_finish_the_handshake_do_not_block_others() {
    let world = World::new();
    let belay = env!("CARGO_BIN_EXE_belay");
    let mut command = world.program("/bin/sh");
    // 200 descriptors are enough for 36 connections.
    let serve = format!("{belay} serve --json --listen 0.0.0.0:0 --tls-self-signed");
    command.args(["-c", &format!("ulimit -n 200; exec {serve}")]);
    let serve = Serve::from_command(command);
    let url = serve.ready["url"].as_str().unwrap();
    let address = format!("127.0.0.1:{}", url.trim_end_matches('/').rsplit(':').next().unwrap());
    let silent: Vec<TcpStream> = (0..300)
        .map(|n| {
            let mut stream = TcpStream::connect(&address).unwrap();
            if n % 2 == 0 {
                stream.write_all(&[22, 3, 1]).unwrap();
            }
            stream
        })
        .collect();
    let answer = http(&address, "GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n");
    assert_eq!(status(&answer), "400", "{answer}");
    drop(silent);
}

#[test]
fn a_response_is_complete_if_the_server_stops() {
    let world = World::new();
    let remote = Remote::start(&world);
    let (token, _) = tokens(&world);
    let mut stream = remote.connect();
    let head = format!(
        "GET /api/v1/live HTTP/1.1\r\nhost: lab.example:{}\r\nauthorization: Bearer {token}\r\n\r\n",
        remote.port
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = Vec::new();
    while !String::from_utf8_lossy(&answer).contains("event: ready") {
        let mut piece = [0; 512];
        let n = stream.read(&mut piece).unwrap();
        assert!(n > 0, "{}", String::from_utf8_lossy(&answer));
        answer.extend_from_slice(&piece[..n]);
    }
    remote.serve.signal(rustix::process::Signal::TERM);
    // Fails if the connection ends without TLS saying so.
    stream.read_to_end(&mut answer).unwrap();
    let answer = String::from_utf8(answer).unwrap();
    assert!(answer.contains("event: stopped"), "{answer}");
    assert!(answer.ends_with("0\r\n\r\n"), "the last chunk is missing: {answer}");
}

#[test]
fn the_certificate_and_its_fingerprint_stay_the_same() {
    let world = World::new();
    let serve = Serve::start_with(&world, &["--listen", "0.0.0.0:0", "--tls-self-signed"]);
    let fingerprint = serve.ready["fingerprint"].clone();
    assert_eq!(fingerprint.as_str().unwrap().len(), 32 * 3 - 1, "{fingerprint}");
    serve.kill();
    let (cert, key) = (world.state().join("tls-cert.pem"), world.state().join("tls-key.pem"));
    let files = ["--tls-cert", cert.to_str().unwrap(), "--tls-key", key.to_str().unwrap()];
    let serve = Serve::start_with(&world, &[&["--listen", "0.0.0.0:0"], &files[..]].concat());
    assert_eq!(serve.ready["fingerprint"], fingerprint);
    serve.kill();
    // A process without HTTP opens it on request.
    let _serve = Serve::start_with(&world, &["--no-http"]);
    let shown = world.run_text(&["serve", "--listen", "0.0.0.0:0", "--tls-self-signed"]);
    assert!(shown.contains("It now serves HTTP") && shown.contains("[fingerprint]"), "{shown}");
    assert!(shown.contains("/t/TOKEN"), "{shown}");
}

#[test]
fn agents_on_this_machine_use_a_loopback_address() {
    let (world, _) = crate::run::with_program("thing", "echo \"$OPENAI_BASE_URL\"");
    let _remote = Remote::start(&world);
    let ran = world.run(&["run", "--quiet", "thing"]);
    assert!(ran.out.starts_with("http://127.0.0.1:"), "{ran:?}");
}
