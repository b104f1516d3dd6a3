//! A real resident process under test.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command};
use std::sync::mpsc::{Receiver, channel};

use belay_core::SessionKey;
use belay_ipc::{Client, SubscribeRequest};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use crate::world::{TEST_TIMEOUT, World, within};

/// `belay serve`, ready. Killed when dropped.
#[derive(Debug)]
pub(crate) struct Serve {
    child: Child,
    stdout: BufReader<ChildStdout>,
    /// Lines of its standard error.
    complaints: Receiver<String>,
    pub(crate) ready: serde_json::Value,
}

impl Serve {
    pub(crate) fn start(world: &World) -> Self {
        Self::start_with(world, &["--listen", "127.0.0.1:0"])
    }

    pub(crate) fn start_with(world: &World, args: &[&str]) -> Self {
        let mut command = world.command(["serve", "--json"]);
        command.args(args);
        Self::from_command(command)
    }

    pub(crate) fn from_command(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let stderr = BufReader::new(child.stderr.take().unwrap()).lines();
        let (run_text, complaints) = channel();
        std::thread::spawn(move || stderr.map_while(Result::ok).try_for_each(|line| run_text.send(line)));
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        if line.is_empty() {
            let output: Vec<String> = complaints.iter().collect();
            panic!("serve did not start: {:?} {output:?}", child.wait());
        }
        Self { child, stdout, complaints, ready: serde_json::from_str(&line).unwrap() }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
        // Wait until the process has stopped, which takes time on a busy machine.
        if signal == Signal::STOP {
            let (_, status) = waitpid(Some(Pid::from_child(&self.child)), WaitOptions::UNTRACED).unwrap().unwrap();
            assert!(status.stopped(), "{status:?}");
        }
    }

    /// Waits for a line on standard error.
    pub(crate) fn complains(&self, of: &str) {
        while !self.complaints.recv_timeout(TEST_TIMEOUT).unwrap_or_else(|error| panic!("{of}: {error}")).contains(of) {
        }
    }

    /// Kills it.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits until it exits; returns its exit code and output.
    pub(crate) fn wait(mut self) -> (Option<i32>, String) {
        let mut output = String::new();
        self.stdout.read_to_string(&mut output).unwrap();
        output.extend(self.complaints.iter().map(|line| line + "\n"));
        (self.child.wait().unwrap().code(), output)
    }

    /// One HTTP exchange: status line, headers and body as they came.
    pub(crate) fn http(&self, request: &str) -> String {
        http(&self.address(), request)
    }

    /// Its HTTP address.
    pub(crate) fn address(&self) -> String {
        let url = self.ready["url"].as_str().unwrap();
        url.trim_start_matches("http://").trim_end_matches('/').to_owned()
    }

    pub(crate) fn get(&self, path: &str) -> String {
        self.http(&format!("GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n"))
    }
}

/// One HTTP exchange.
pub(crate) fn http(address: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    String::from_utf8(answer).unwrap()
}

impl Drop for Serve {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until the log of a session has at least this many events of these kinds (of any kind if empty), and the
/// resident process acts on them.
pub(crate) fn wait_for_events(world: &World, agent: &str, session: &str, kinds: &[&str], at_least: usize) {
    let session = SessionKey::new(agent, session);
    let kinds = kinds.iter().map(|kind| (*kind).to_owned()).collect();
    let what = SubscribeRequest { session: Some(session), after: Some(0), kinds };
    let mut subscriber = client(world);
    within(&format!("{at_least} of {what:?}"), move || {
        let mut events = 0;
        let count = |_: &[u8]| {
            events += 1;
            events < at_least
        };
        subscriber.subscribe(&what, count).unwrap();
        assert_eq!(events, at_least, "it left before");
    });
    // The log is readable before the effects of its events are applied; a request to the engine waits for them.
    client(world).status(false).unwrap();
}

pub(crate) fn client(world: &World) -> Client {
    Client::connect(&world.paths(), TEST_TIMEOUT).unwrap()
}
