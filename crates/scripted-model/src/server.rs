//! The server: binds a loopback port, serves on its own thread, stops when dropped.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, oneshot};

use crate::classify::Kind;
use crate::player::Player;
use crate::raw_head_tap::{Head, TappedIo};
use crate::record::{ExchangeEnd, Recorded, RequestLog, WaitTimeout};
use crate::respond::respond;
use crate::script::Script;

/// Options of the server.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// 0 selects a free port.
    pub port: u16,
    /// Also write each request to `NNNN.json` in this directory, which must exist.
    pub dir: Option<PathBuf>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) player: Player,
    pub(crate) log: Arc<RequestLog>,
    pub(crate) release: Arc<Semaphore>,
}

/// A running model.
#[derive(Debug)]
pub struct ScriptedModel {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ScriptedModel {
    pub fn start(script: Script) -> io::Result<Self> {
        Self::start_with(script, Options::default())
    }

    pub fn start_with(script: Script, options: Options) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let shared = Arc::new(Shared {
            player: Player::new(script),
            log: RequestLog::new(options.dir),
            release: Arc::new(Semaphore::new(0)),
        });
        let (stop, stopped) = oneshot::channel();
        let served = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("scripted-model".into()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = accept(listener, served) => {}
                    _ = stopped => {}
                }
            });
        })?;
        Ok(Self { address, shared, stop: Some(stop), thread: Some(thread) })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://127.0.0.1:PORT`, without a path: some agents expect `/v1` after it.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// All requests so far, in order of arrival.
    pub fn requests(&self) -> Vec<Recorded> {
        self.shared.log.requests()
    }

    /// The requests that took a turn of the script.
    pub fn turns(&self) -> Vec<Recorded> {
        self.requests().into_iter().filter(is_turn).collect()
    }

    /// Waits for `count` requests of any kind.
    pub fn wait_for_requests(&self, count: usize, timeout: Duration) -> Result<Vec<Recorded>, WaitTimeout> {
        self.shared.log.wait(count, timeout, |_| true)
    }

    /// Waits for `count` requests that take a turn.
    pub fn wait_for_turns(&self, count: usize, timeout: Duration) -> Result<Vec<Recorded>, WaitTimeout> {
        self.shared.log.wait(count, timeout, is_turn)
    }

    /// Waits until `count` exchanges have ended.
    pub fn wait_for_ends(&self, count: usize, timeout: Duration) -> Result<Vec<Recorded>, WaitTimeout> {
        self.shared.log.wait(count, timeout, |request| request.fate != ExchangeEnd::Open)
    }

    /// Releases one held response: the oldest, or the next one to be held.
    pub fn release(&self) {
        self.shared.release.add_permits(1);
    }

    /// Ends the repetition of the turn that was played last: the next request gets the turn after it. For a test that
    /// does not know how often an agent is let repeat itself.
    pub fn end_repetition(&self) {
        self.shared.player.end_repetition();
    }

    /// Turns of the main conversation not played yet.
    pub fn remaining(&self) -> usize {
        self.shared.player.remaining()
    }

    /// Scripted actions that were not possible, such as an edit for an agent without an edit tool. A test that relies
    /// on its script asserts that this is empty.
    pub fn complaints(&self) -> Vec<String> {
        self.shared.log.complaints()
    }
}

fn is_turn(request: &Recorded) -> bool {
    matches!(request.kind, Kind::Turn(_))
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let listener = match tokio::net::TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => return shared.log.complain(format!("cannot listen: {error}")),
    };
    loop {
        match listener.accept().await {
            Ok((stream, _)) => drop(tokio::spawn(serve(stream, Arc::clone(&shared)))),
            // Out of file descriptors, or a client that already disconnected: continue.
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}

async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    let _ = stream.set_nodelay(true);
    let head = Head::default();
    let io = TokioIo::new(TappedIo { io: stream, head: head.clone() });
    let service = service_fn(|request| respond(&shared, &head, request));
    // An error is a disconnected client or a scripted disconnect; both are already recorded.
    let _ = http1::Builder::new().serve_connection(io, service).await;
}
