//! Pooled buffers with a common budget.
//!
//! The page faults of a new megabyte cost more than the copy through it, so buffers are reused. An allocator may never
//! return the peak of a burst to the system, so large buffers are separate mappings and the pool retains only a few.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use memmap2::MmapMut;

use crate::sync::lock;

/// Size of the buffer a request head is read into.
pub(crate) const HEAD_BUFFER_BYTES: usize = 16 * 1024;
/// Size of the buffer for a response.
pub(crate) const STREAM_BUFFER_BYTES: usize = 64 * 1024;
/// Buffers of at least this size are separate mappings.
const MMAP_THRESHOLD_BYTES: usize = 64 * 1024;
/// How many bytes of unused buffers are retained.
const MAX_FREE_BYTES: usize = 8 * 1024 * 1024;

/// Powers of two up to 2 GiB; no body in memory is larger.
const SIZE_CLASSES: usize = 32;

/// Allocates and takes back buffers.
#[derive(Clone, Debug)]
pub(crate) struct BufferPool(Arc<PoolInner>);

#[derive(Debug)]
struct PoolInner {
    budget: usize,
    in_use: AtomicUsize,
    idle: Mutex<FreeLists>,
}

#[derive(Debug, Default)]
struct FreeLists {
    bytes: usize,
    /// By power of two of their size.
    classes: [Vec<Backing>; SIZE_CLASSES],
}

impl BufferPool {
    /// `budget` bounds the bytes of all bodies in flight.
    pub(crate) fn new(budget: usize) -> Self {
        let idle = Mutex::new(FreeLists::default());
        Self(Arc::new(PoolInner { budget, in_use: AtomicUsize::new(0), idle }))
    }

    /// A small buffer. Always granted: their number is bounded by the number of connections.
    pub(crate) fn alloc_unbudgeted(&self, size: usize) -> Buffer {
        self.grant(size)
    }

    /// A buffer for a body of `size` bytes. `None` if it exceeds the budget.
    pub(crate) fn try_alloc_body(&self, size: usize) -> Option<Buffer> {
        let size =
            size.max(MMAP_THRESHOLD_BYTES).checked_next_power_of_two().filter(|size| *size < 1 << SIZE_CLASSES)?;
        let in_use = self.0.in_use.load(Ordering::Relaxed);
        (in_use.saturating_add(size) <= self.0.budget).then(|| self.grant(size))
    }

    /// Bytes of all buffers and charges in use.
    pub(crate) fn bytes_in_use(&self) -> usize {
        self.0.in_use.load(Ordering::Relaxed)
    }

    /// Accounts for memory outside the pool.
    pub(crate) fn new_charge(&self) -> MemoryCharge {
        MemoryCharge { bytes: 0, home: self.clone() }
    }

    fn grant(&self, size: usize) -> Buffer {
        self.0.in_use.fetch_add(size, Ordering::Relaxed);
        let memory = self.0.take_idle(size).unwrap_or_else(|| Backing::new(size));
        Buffer { memory, start: 0, end: 0, home: self.clone() }
    }
}

impl PoolInner {
    fn take_idle(&self, size: usize) -> Option<Backing> {
        let mut idle = lock(&self.idle);
        let memory = idle.classes[size.trailing_zeros() as usize].pop()?;
        idle.bytes -= size;
        Some(memory)
    }

    fn put_back(&self, memory: Backing) {
        let size = memory.len();
        self.in_use.fetch_sub(size, Ordering::Relaxed);
        let mut idle = lock(&self.idle);
        if idle.bytes + size <= MAX_FREE_BYTES {
            idle.bytes += size;
            idle.classes[size.trailing_zeros() as usize].push(memory);
        }
    }
}

#[derive(Debug)]
enum Backing {
    Empty,
    Heap(Box<[u8]>),
    Mapped(MmapMut),
}

impl Backing {
    fn new(size: usize) -> Self {
        if size >= MMAP_THRESHOLD_BYTES
            && let Ok(map) = MmapMut::map_anon(size)
        {
            return Self::Mapped(map);
        }
        Self::Heap(vec![0; size].into_boxed_slice())
    }
}

impl Deref for Backing {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            Self::Empty => &[],
            Self::Heap(heap) => heap,
            Self::Mapped(map) => map,
        }
    }
}

impl DerefMut for Backing {
    fn deref_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Empty => &mut [],
            Self::Heap(heap) => heap,
            Self::Mapped(map) => map,
        }
    }
}

/// A byte queue with spare capacity at its end.
#[derive(Debug)]
pub(crate) struct Buffer {
    memory: Backing,
    start: usize,
    end: usize,
    home: BufferPool,
}

impl Buffer {
    pub(crate) fn data(&self) -> &[u8] {
        &self.memory[self.start..self.end]
    }

    pub(crate) fn len(&self) -> usize {
        self.end - self.start
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Whether the data could grow to `len` bytes in place.
    pub(crate) fn has_capacity_for(&self, len: usize) -> bool {
        self.memory.len() - self.start >= len
    }

    /// The unused part after the data.
    pub(crate) fn spare_capacity_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.end..]
    }

    /// Adds the first `n` bytes of the spare capacity to the data.
    pub(crate) fn advance(&mut self, n: usize) {
        self.end = (self.end + n).min(self.memory.len());
    }

    /// Removes the first `n` bytes.
    pub(crate) fn consume(&mut self, n: usize) {
        self.start = (self.start + n).min(self.end);
        if self.is_empty() {
            (self.start, self.end) = (0, 0);
        }
    }

    /// Appends as much of `bytes` as fits and returns how much that was.
    pub(crate) fn extend_from_slice(&mut self, bytes: &[u8]) -> usize {
        let spare = self.spare_capacity_mut();
        let n = spare.len().min(bytes.len());
        spare[..n].copy_from_slice(&bytes[..n]);
        self.end += n;
        n
    }

    /// Removes everything after the first `n` bytes.
    pub(crate) fn truncate(&mut self, n: usize) {
        self.end = self.end.min(self.start + n);
    }

    /// Moves the data to the front.
    pub(crate) fn compact(&mut self) {
        self.memory.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
    }

    /// The same data in a buffer twice as large. `None` if it exceeds the budget.
    pub(crate) fn grow(&self) -> Option<Self> {
        let mut larger = self.home.try_alloc_body(self.memory.len().checked_mul(2)?)?;
        larger.extend_from_slice(self.data());
        Some(larger)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.home.0.put_back(std::mem::replace(&mut self.memory, Backing::Empty));
    }
}

/// Memory outside the pool that counts towards its budget.
#[derive(Debug)]
pub struct MemoryCharge {
    bytes: usize,
    home: BufferPool,
}

impl MemoryCharge {
    /// Sets the size. `false` if it exceeds the budget; the size then stays as it was.
    pub fn set(&mut self, bytes: usize) -> bool {
        let in_use = &self.home.0.in_use;
        if bytes <= self.bytes {
            in_use.fetch_sub(self.bytes - bytes, Ordering::Relaxed);
        } else if in_use.fetch_add(bytes - self.bytes, Ordering::Relaxed) + (bytes - self.bytes) > self.home.0.budget {
            in_use.fetch_sub(bytes - self.bytes, Ordering::Relaxed);
            return false;
        }
        self.bytes = bytes;
        true
    }
}

impl Drop for MemoryCharge {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_beyond_the_budget_are_refused_until_others_are_released() {
        let buffers = BufferPool::new(256 * 1024);
        let first = buffers.try_alloc_body(128 * 1024).unwrap();
        let second = buffers.try_alloc_body(100 * 1024).unwrap();
        assert!(buffers.try_alloc_body(1).is_none());
        drop(first);
        assert!(buffers.try_alloc_body(1).is_some());
        drop(second);
        assert_eq!(buffers.bytes_in_use(), 0);
    }

    #[test]
    fn charges_count_towards_the_budget() {
        let buffers = BufferPool::new(256 * 1024);
        let mut charge = buffers.new_charge();
        assert!(charge.set(200 * 1024) && !charge.set(300 * 1024));
        assert_eq!(buffers.bytes_in_use(), 200 * 1024);
        assert!(buffers.try_alloc_body(1).is_none());
        drop(charge);
        assert_eq!(buffers.bytes_in_use(), 0);
    }

    #[test]
    fn a_burst_does_not_stay_in_memory() {
        let buffers = BufferPool::new(usize::MAX);
        let burst: Vec<_> = (0..64).map(|_| buffers.try_alloc_body(1024 * 1024).unwrap()).collect();
        drop(burst);
        assert!(buffers.0.idle.lock().unwrap().bytes <= MAX_FREE_BYTES);
    }

    #[test]
    fn data_moves_through() {
        let mut buffer = BufferPool::new(usize::MAX).alloc_unbudgeted(16);
        assert_eq!(buffer.extend_from_slice(b"hello, wonderful world"), 16);
        buffer.consume(7);
        assert_eq!(buffer.data(), b"wonderful");
        assert!(buffer.spare_capacity_mut().is_empty());
        buffer.compact();
        assert_eq!(buffer.spare_capacity_mut().len(), 7);
        let larger = buffer.grow().unwrap();
        assert_eq!(larger.data(), b"wonderful");
    }
}
