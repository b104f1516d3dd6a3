//! A store that cannot be written or read: the relay still refuses requests of held sessions, and relays the others.

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::process::Command;

use super::*;

impl Relaying {
    /// With a session that is paused, `ses_1`, and no resident process.
    fn held() -> Stopped {
        let relaying = Self::start();
        let mut client = relaying.client();
        let _upstream = relaying.turn(&mut client, "", "c-1");
        relaying.event_kinds("ses_1", 4);
        assert_eq!(relaying.world.run(&["pause", "ses_1"]).code, Some(0));
        assert_eq!(relaying.world.run(&["stop"]).code, Some(0));
        let Self { world, serve, upstream } = relaying;
        serve.wait();
        Stopped { world, upstream }
    }

    fn holds_the_held_session_only(&self, fault: &str) {
        let mut client = self.client();
        self.upstream.set_nonblocking(true).unwrap();
        client.send(&ask("/v1/chat/completions", "ses_1", CALL));
        let refusal = client.read_to(r#""type":"error"}"#);
        assert!(refusal.starts_with("HTTP/1.1 402 ") && refusal.contains("belay resume"), "{fault}: {refusal}");
        assert_eq!(self.upstream.accept().unwrap_err().kind(), ErrorKind::WouldBlock, "{fault}");
        self.upstream.set_nonblocking(false).unwrap();
        let mut client = self.client();
        client.send(&ask("/v1/chat/completions", "ses_2", ""));
        let mut upstream = self.accept();
        upstream.read_to(END);
        upstream.send(&answer("c-2"));
        client.read_to("}}");
    }
}

struct Stopped {
    world: World,
    upstream: TcpListener,
}

impl Stopped {
    fn database(&self) -> std::path::PathBuf {
        self.world.paths().database()
    }

    fn start(self, command: Option<Command>) -> Relaying {
        let Self { world, upstream } = self;
        let serve = match command {
            Some(command) => Serve::from_command(command),
            None => Serve::start(&world),
        };
        Relaying { world, serve, upstream }
    }

    /// `belay serve` after a shell script, which gets the path of the store as `$DB`.
    fn serve_after(&self, shell: &[&str], script: &str) -> Command {
        let mut command = self.world.program(shell[0]);
        let script = format!("{script} && exec \"$0\" serve --json --listen 127.0.0.1:0");
        command.args(&shell[1..]).args([&script, env!("CARGO_BIN_EXE_belay")]).env("DB", self.database());
        command
    }
}

#[test]
fn a_pause_holds_requests_if_the_store_is_damaged_newer_or_gone() {
    let damage = |path: &Path| std::fs::write(path, "these are not the bytes of a database").unwrap();
    let newer = |path: &Path| {
        let store = rusqlite::Connection::open(path).unwrap();
        store.pragma_update(None, "user_version", 99).unwrap();
    };
    let delete = |path: &Path| std::fs::remove_file(path).unwrap();
    for (name, fault) in [("damaged", damage as fn(&Path)), ("newer", newer), ("deleted", delete)] {
        let stopped = Relaying::held();
        fault(&stopped.database());
        stopped.start(None).holds_the_held_session_only(name);
    }
}

#[test]
fn a_pause_holds_requests_while_the_store_is_damaged_at_run_time() {
    let relaying = Relaying::held().start(None);
    // Without truncation, as a faulty disk does.
    let mut file = OpenOptions::new().write(true).open(relaying.world.paths().database()).unwrap();
    file.write_all(&[0x5a; 64 * 1024]).unwrap();
    relaying.holds_the_held_session_only("damaged");
    relaying.holds_the_held_session_only("damaged, again");
}

#[test]
fn a_pause_holds_requests_if_the_disk_is_full() {
    let stopped = Relaying::held();
    // The WAL of this connection stays open, so later writes are appended beyond the limit.
    let other = rusqlite::Connection::open(stopped.database()).unwrap();
    other.execute_batch("INSERT INTO settings VALUES ('filler', hex(zeroblob(1000000)))").unwrap();
    let serve = stopped.serve_after(&["/bin/sh", "-c"], "trap '' XFSZ && ulimit -S -f 128");
    let relaying = stopped.start(Some(serve));
    relaying.holds_the_held_session_only("full");
    let status = relaying.world.run(&["status", "--json"]).json();
    assert_eq!(status["resident"]["health"]["ok"], false, "the disk was full: {status}");
}

#[test]
fn a_pause_holds_requests_if_the_store_is_read_only() {
    let probe = Command::new("unshare").args(["-rm", "true"]).output();
    if !probe.is_ok_and(|output| output.status.success()) {
        return; // Root ignores permissions, so there is no other way to make the file read-only.
    }
    let stopped = Relaying::held();
    let script = "mount --bind \"$DB\" \"$DB\" && mount -o remount,bind,ro \"$DB\"";
    let serve = stopped.serve_after(&["unshare", "-rm", "/bin/sh", "-c"], script);
    let relaying = stopped.start(Some(serve));
    relaying.holds_the_held_session_only("read-only");
}
