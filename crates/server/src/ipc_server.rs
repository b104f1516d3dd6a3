//! The Unix socket and the threads that serve it.
//!
//! One idle thread at a time waits for a connection; the others wait for the lock on the socket. The thread that accepts
//! a connection serves it, so no connection is handed to another thread. If no thread is idle, another one is started, up
//! to a maximum; further clients wait in the backlog.

use std::collections::HashMap;
use std::io;
use std::net::Shutdown;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};

use crate::ipc_connection;
use crate::state::DaemonState;
use crate::sync::lock;

/// Connections served at once.
pub const MAX_CONNECTIONS: usize = 256;

/// Idle threads retained for the next connection.
const IDLE_WORKERS: usize = 4;

/// Enough to parse the most deeply nested event that serde_json accepts, and for a debug build to load the rules of a
/// project. Only what is used takes memory.
const WORKER_STACK_BYTES: usize = 2 * 1024 * 1024;

/// A bound socket.
#[derive(Debug)]
pub struct BoundSocket {
    listener: UnixListener,
    path: PathBuf,
}

impl BoundSocket {
    /// Binds under a temporary name and renames it, so that the socket is never accessible to other users and a stale one
    /// is replaced atomically. Call with the instance lock held.
    pub fn bind(path: &Path) -> io::Result<Self> {
        let temporary = path.with_extension(format!("{}", std::process::id()));
        match std::fs::remove_file(&temporary) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(&temporary)?;
        std::fs::set_permissions(&temporary, std::fs::Permissions::from_mode(0o600))?;
        std::fs::rename(&temporary, path)?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, path: path.to_path_buf() })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// The worker threads.
#[derive(Debug)]
pub(crate) struct WorkerPool {
    daemon: Arc<DaemonState>,
    socket: Mutex<BoundSocket>,
    /// Closing one end wakes the thread that waits for a connection.
    wakeup: (UnixStream, UnixStream),
    idle: AtomicUsize,
    streams: Mutex<OpenStreams>,
    empty: Condvar,
}

#[derive(Debug, Default)]
struct OpenStreams {
    threads: usize,
    next: u64,
    open: HashMap<u64, UnixStream>,
}

impl WorkerPool {
    pub(crate) fn start(socket: BoundSocket, daemon: Arc<DaemonState>) -> io::Result<Arc<Self>> {
        let pool = Arc::new(Self {
            daemon,
            socket: Mutex::new(socket),
            wakeup: UnixStream::pair()?,
            idle: AtomicUsize::new(0),
            streams: Mutex::default(),
            empty: Condvar::new(),
        });
        for _ in 0..IDLE_WORKERS {
            pool.spawn_worker()?;
        }
        Ok(pool)
    }

    fn spawn_worker(self: &Arc<Self>) -> io::Result<()> {
        let mut streams = lock(&self.streams);
        if streams.threads >= MAX_CONNECTIONS {
            return Ok(());
        }
        let pool = Arc::clone(self);
        std::thread::Builder::new()
            .name("socket".to_owned())
            .stack_size(WORKER_STACK_BYTES)
            .spawn(move || pool.work())?;
        streams.threads += 1;
        Ok(())
    }

    fn work(self: Arc<Self>) {
        loop {
            self.idle.fetch_add(1, Ordering::AcqRel);
            let stream = self.next_connection();
            let idle = self.idle.fetch_sub(1, Ordering::AcqRel) - 1;
            let Some(stream) = stream else { break };
            if idle == 0
                && let Err(error) = self.spawn_worker()
            {
                tracing::warn!(%error, "cannot start another socket thread; clients wait");
            }
            self.serve(stream);
            if self.idle.load(Ordering::Acquire) >= IDLE_WORKERS {
                break;
            }
        }
        let mut streams = lock(&self.streams);
        streams.threads -= 1;
        if streams.threads == 0 {
            self.empty.notify_all();
        }
    }

    /// Waits for a connection; `None` at shutdown.
    fn next_connection(&self) -> Option<UnixStream> {
        let socket = lock(&self.socket);
        loop {
            if self.daemon.lifecycle.shutdown.is_set() {
                return None;
            }
            let mut waits = [PollFd::new(&socket.listener, PollFlags::IN), PollFd::new(&self.wakeup.0, PollFlags::IN)];
            match poll(&mut waits, None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => {
                    tracing::error!(%error, "cannot poll the socket");
                    self.daemon.lifecycle.shutdown.set("the socket failed");
                    return None;
                }
            }
            match socket.listener.accept() {
                Ok((stream, _)) if self.accept_peer(&stream) => return Some(stream),
                Ok(_) => {}
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
                Err(error) => {
                    // Out of file descriptors: wait for a connection to close instead of spinning.
                    tracing::warn!(%error, "cannot accept a connection");
                    self.daemon.lifecycle.shutdown.wait_for(Duration::from_millis(50));
                }
            }
        }
    }

    fn accept_peer(&self, stream: &UnixStream) -> bool {
        // Directory and socket modes already exclude other users; this check holds even if they were changed.
        let same_user = belay_ipc::same_user::is_same_user(stream);
        if !same_user {
            tracing::warn!("refused a connection of another user");
        }
        same_user && stream.set_nonblocking(false).is_ok()
    }

    fn serve(&self, stream: UnixStream) {
        let number = {
            let mut streams = lock(&self.streams);
            streams.next += 1;
            let number = streams.next;
            match stream.try_clone() {
                Ok(clone) => streams.open.insert(number, clone),
                Err(error) => {
                    tracing::warn!(%error, "cannot register a connection");
                    return;
                }
            };
            number
        };
        self.daemon.lifecycle.connections.fetch_add(1, Ordering::Relaxed);
        // Registered before this check, so either `drain` sees the stream or this thread sees the shutdown.
        if !self.daemon.lifecycle.shutdown.is_set() {
            ipc_connection::serve_connection(stream, &self.daemon);
        }
        self.daemon.lifecycle.connections.fetch_sub(1, Ordering::Relaxed);
        lock(&self.streams).open.remove(&number);
    }

    /// Stops accepting, lets open connections finish their requests, and waits for them. Returns `false` if some did not
    /// finish in time.
    pub(crate) fn drain(&self, timeout: Duration) -> bool {
        let _ = self.wakeup.1.shutdown(Shutdown::Both);
        {
            // The thread that waited in `poll` was woken and releases the socket.
            let socket = lock(&self.socket);
            let _ = std::fs::remove_file(&socket.path);
        }
        let streams = lock(&self.streams);
        for stream in streams.open.values() {
            // Requests already received are still answered.
            let _ = stream.shutdown(Shutdown::Read);
        }
        let waited = self.empty.wait_timeout_while(streams, timeout, |streams| streams.threads > 0);
        waited.unwrap_or_else(PoisonError::into_inner).0.threads == 0
    }
}
