//! The Unix socket and the threads that serve it.
//!
//! Of the idle threads one waits for a connection, the others for its place. Whoever gets a
//! connection gives the place to the next and serves the connection itself, so that nothing is
//! handed over. When nobody is idle another thread is started, up to a bound; beyond it callers wait
//! in the backlog.

use std::collections::HashMap;
use std::io;
use std::net::Shutdown;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};

use crate::ipc_connection;
use crate::state::DaemonState;

/// Connections served at once.
pub const MAX_CONNECTIONS: usize = 256;

/// Idle threads kept for the next connection.
const IDLE_WORKERS: usize = 4;

/// Enough for parsing the deepest event serde_json takes.
const WORKER_STACK_BYTES: usize = 512 * 1024;

/// A bound socket; its file goes when this is dropped.
#[derive(Debug)]
pub struct BoundSocket {
    listener: UnixListener,
    path: PathBuf,
}

impl BoundSocket {
    /// Binds under another name and moves it into place: it is never open to others, and a stale one
    /// is replaced without a moment in which there is none. Call with the instance lock held.
    pub fn bind(path: &Path) -> io::Result<Self> {
        let aside = path.with_extension(format!("{}", std::process::id()));
        match std::fs::remove_file(&aside) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(&aside)?;
        std::fs::set_permissions(&aside, std::fs::Permissions::from_mode(0o600))?;
        std::fs::rename(&aside, path)?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, path: path.to_path_buf() })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// The threads.
#[derive(Debug)]
pub(crate) struct WorkerPool {
    shared: Arc<DaemonState>,
    socket: Mutex<BoundSocket>,
    /// Closing it wakes whoever waits for a connection.
    alarm: (UnixStream, UnixStream),
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl WorkerPool {
    pub(crate) fn start(socket: BoundSocket, shared: Arc<DaemonState>) -> io::Result<Arc<Self>> {
        let pool = Arc::new(Self {
            shared,
            socket: Mutex::new(socket),
            alarm: UnixStream::pair()?,
            idle: AtomicUsize::new(0),
            streams: Mutex::default(),
            empty: Condvar::new(),
        });
        for _ in 0..IDLE_WORKERS {
            pool.hire()?;
        }
        Ok(pool)
    }

    fn hire(self: &Arc<Self>) -> io::Result<()> {
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
                && let Err(error) = self.hire()
            {
                tracing::warn!(%error, "no further thread for the socket; callers wait");
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

    /// `None` when it is time to leave.
    fn next_connection(&self) -> Option<UnixStream> {
        let socket = lock(&self.socket);
        loop {
            if self.shared.lifecycle.shutdown.is_set() {
                return None;
            }
            let mut waits = [PollFd::new(&socket.listener, PollFlags::IN), PollFd::new(&self.alarm.0, PollFlags::IN)];
            match poll(&mut waits, None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => {
                    tracing::error!(%error, "the socket cannot be waited on");
                    self.shared.lifecycle.shutdown.set("the socket failed");
                    return None;
                }
            }
            match socket.listener.accept() {
                Ok((stream, _)) if self.welcome(&stream) => return Some(stream),
                Ok(_) => {}
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
                Err(error) => {
                    // Out of descriptors: wait for somebody to hang up rather than spin.
                    tracing::warn!(%error, "a connection could not be taken");
                    self.shared.lifecycle.shutdown.wait_for(Duration::from_millis(50));
                }
            }
        }
    }

    fn welcome(&self, stream: &UnixStream) -> bool {
        // Mode and folder keep others out; this holds even if somebody loosened those.
        let ours = is_same_user(stream);
        if !ours {
            tracing::warn!("a connection of another user was refused");
        }
        ours && stream.set_nonblocking(false).is_ok()
    }

    fn serve(&self, stream: UnixStream) {
        let number = {
            let mut streams = lock(&self.streams);
            streams.next += 1;
            let number = streams.next;
            match stream.try_clone() {
                Ok(clone) => streams.open.insert(number, clone),
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be kept");
                    return;
                }
            };
            number
        };
        self.shared.lifecycle.connections.fetch_add(1, Ordering::Relaxed);
        // Registered before this look: either the drain sees the stream or we see the drain.
        if !self.shared.lifecycle.shutdown.is_set() {
            ipc_connection::serve_connection(stream, &self.shared);
        }
        self.shared.lifecycle.connections.fetch_sub(1, Ordering::Relaxed);
        lock(&self.streams).open.remove(&number);
    }

    /// Takes no more connections, lets those that are open finish what they were asked, and waits
    /// for them. `false` when some did not finish in time.
    pub(crate) fn drain(&self, patience: Duration) -> bool {
        let _ = self.alarm.1.shutdown(Shutdown::Both);
        {
            // Whoever waits in `accept` has been woken and lets go of the socket.
            let socket = lock(&self.socket);
            let _ = std::fs::remove_file(&socket.path);
        }
        let streams = lock(&self.streams);
        for stream in streams.open.values() {
            // What was sent is still read and answered; then comes the end.
            let _ = stream.shutdown(Shutdown::Read);
        }
        let waited = self.empty.wait_timeout_while(streams, patience, |streams| streams.threads > 0);
        waited.unwrap_or_else(PoisonError::into_inner).0.threads == 0
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn is_same_user(stream: &UnixStream) -> bool {
    let me = rustix::process::geteuid();
    rustix::net::sockopt::socket_peercred(stream).is_ok_and(|peer| peer.uid == me || peer.uid.is_root())
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn is_same_user(_stream: &UnixStream) -> bool {
    // The folder's and the socket's mode keep others out here.
    true
}
