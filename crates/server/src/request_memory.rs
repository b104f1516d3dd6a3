//! Bounds the memory of requests on the socket and returns it to the system.
//!
//! Small requests need no permit. A large one is read and handled under one of a few permits, and counts towards the
//! byte budget of the proxy. A client that gets no memory is disconnected; a hook then decides in-process.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use belay_ipc::MAX_LINE_BYTES;
use belay_proxy::MemoryCharge;

use crate::state::DaemonState;
use crate::sync::lock;

/// A request that exceeds this is large.
const LARGE_REQUEST_BYTES: usize = 128 * 1024;

/// Large requests in memory at once.
const MAX_LARGE_REQUESTS: usize = 4;

/// How long the rest of a large request may take to arrive: meanwhile others may wait for its permit.
const READ_TIMEOUT: Duration = Duration::from_secs(5);

/// Memory of a request while it is handled, as a multiple of its text: its line, its payload and their tree.
const BYTES_PER_TEXT_BYTE: usize = 4;

/// Permits for large requests.
#[derive(Debug, Default)]
pub(crate) struct LargeRequests {
    in_memory: Mutex<usize>,
    released: Condvar,
}

impl LargeRequests {
    fn acquire(&self) -> LargeRequestPermit<'_> {
        let in_memory = lock(&self.in_memory);
        let mut in_memory = self
            .released
            .wait_while(in_memory, |in_memory| *in_memory >= MAX_LARGE_REQUESTS)
            .unwrap_or_else(PoisonError::into_inner);
        *in_memory += 1;
        LargeRequestPermit(self)
    }
}

#[derive(Debug)]
struct LargeRequestPermit<'a>(&'a LargeRequests);

impl Drop for LargeRequestPermit<'_> {
    fn drop(&mut self) {
        let mut in_memory = lock(&self.0.in_memory);
        *in_memory -= 1;
        let is_last = *in_memory == 0;
        drop(in_memory);
        self.0.released.notify_one();
        if is_last {
            return_free_memory();
        }
    }
}

/// A client's stream that accounts for the request being read.
#[derive(Debug)]
pub(crate) struct MeteredStream<'a> {
    stream: UnixStream,
    daemon: &'a DaemonState,
    /// Bytes of the current request.
    read: usize,
    large: Option<LargeRequest<'a>>,
}

#[derive(Debug)]
struct LargeRequest<'a> {
    // Released before the permit.
    charge: Option<MemoryCharge>,
    _permit: LargeRequestPermit<'a>,
}

impl<'a> MeteredStream<'a> {
    pub(crate) fn new(stream: UnixStream, daemon: &'a DaemonState) -> Self {
        Self { stream, daemon, read: 0, large: None }
    }

    /// Releases the memory of the request, which has been handled.
    pub(crate) fn end_request(&mut self) -> io::Result<()> {
        self.read = 0;
        match self.large.take() {
            Some(_) => self.stream.set_read_timeout(None),
            None => Ok(()),
        }
    }

    pub(crate) fn into_inner(self) -> UnixStream {
        self.stream
    }

    pub(crate) fn get_mut(&mut self) -> &mut UnixStream {
        &mut self.stream
    }

    fn account(&mut self) -> io::Result<()> {
        if self.read <= LARGE_REQUEST_BYTES {
            return Ok(());
        }
        if self.large.is_none() {
            let permit = self.daemon.large_requests.acquire();
            let charge = self.daemon.runs.relay().map(|relay| relay.new_memory_charge());
            self.large = Some(LargeRequest { charge, _permit: permit });
            self.stream.set_read_timeout(Some(READ_TIMEOUT))?;
        }
        let charge = self.large.as_mut().and_then(|large| large.charge.as_mut());
        match charge.is_none_or(|charge| charge.set(self.read.min(MAX_LINE_BYTES) * BYTES_PER_TEXT_BYTE)) {
            true => Ok(()),
            false => Err(io::Error::new(io::ErrorKind::OutOfMemory, "proxy.max_buffered_bytes is exhausted")),
        }
    }
}

impl Read for MeteredStream<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.account()?;
        let read = self.stream.read(buffer)?;
        self.read += read;
        Ok(read)
    }
}

/// Sets up the allocator for a long-running process: few arenas, and large blocks as mappings, which return to the
/// system when they are freed. By default glibc raises that threshold to 32 MiB once such a block was freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn configure_allocator() {
    const SETTINGS: [(libc::c_int, libc::c_int); 3] =
        [(libc::M_ARENA_MAX, 2), (libc::M_MMAP_THRESHOLD, 128 * 1024), (libc::M_TRIM_THRESHOLD, 1024 * 1024)];
    for (setting, value) in SETTINGS {
        #[expect(unsafe_code, reason = "mallopt takes two numbers and reports what it does not support")]
        let accepted = unsafe { libc::mallopt(setting, value) };
        if accepted == 0 {
            tracing::debug!(setting, value, "the allocator refused a setting");
        }
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn configure_allocator() {}

/// Returns free pages in the middle of the heap, which glibc keeps otherwise.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn return_free_memory() {
    #[expect(unsafe_code, reason = "malloc_trim only releases memory that is free")]
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn return_free_memory() {}
