//! Memory for bytes in flight: reused while work goes on, given back when it is over, and never
//! more than the budget.
//!
//! A fresh megabyte costs a proxy more in page faults than the copy through it, so buffers are
//! kept for the next request; and an allocator that keeps the peak of a burst for ever would cost
//! everybody else, so large buffers are their own mappings and only a few of them lie idle.

use std::ops::{Deref, DerefMut, Range};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use memmap2::MmapMut;

/// Size of the buffer a request head is read into.
pub(crate) const HEAD: usize = 16 * 1024;
/// Size of the buffer an answer passes through.
pub(crate) const STREAM: usize = 64 * 1024;
/// From here on a buffer is a mapping of its own.
const MAPPED: usize = 64 * 1024;
/// How much may lie idle, waiting for the next request.
const IDLE: usize = 8 * 1024 * 1024;

/// Powers of two up to 2 GiB; no body in memory is larger.
const CLASSES: usize = 32;

/// Where buffers come from and go back to.
#[derive(Clone, Debug)]
pub(crate) struct Buffers(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    budget: usize,
    in_use: AtomicUsize,
    idle: Mutex<Idle>,
}

#[derive(Debug, Default)]
struct Idle {
    bytes: usize,
    /// By power of two of their size.
    classes: [Vec<Memory>; CLASSES],
}

impl Buffers {
    /// `budget` bounds what all bodies in flight may hold together.
    pub(crate) fn new(budget: usize) -> Self {
        let idle = Mutex::new(Idle::default());
        Self(Arc::new(Shared { budget, in_use: AtomicUsize::new(0), idle }))
    }

    /// A small buffer of fixed size; always granted, since their number is that of the connections.
    pub(crate) fn fixed(&self, size: usize) -> Buffer {
        self.grant(size)
    }

    /// Room for a body of `size` bytes; `None` when the budget is spent.
    pub(crate) fn body(&self, size: usize) -> Option<Buffer> {
        let size = size.max(MAPPED).checked_next_power_of_two().filter(|size| *size < 1 << CLASSES)?;
        let in_use = self.0.in_use.load(Ordering::Relaxed);
        (in_use.saturating_add(size) <= self.0.budget).then(|| self.grant(size))
    }

    /// Bytes handed out and not yet back.
    pub(crate) fn in_use(&self) -> usize {
        self.0.in_use.load(Ordering::Relaxed)
    }

    /// An account for memory that is not a buffer but counts as one.
    pub(crate) fn charge(&self) -> Charge {
        Charge { bytes: 0, home: self.clone() }
    }

    fn grant(&self, size: usize) -> Buffer {
        self.0.in_use.fetch_add(size, Ordering::Relaxed);
        let memory = self.0.take_idle(size).unwrap_or_else(|| Memory::new(size));
        Buffer { memory, start: 0, end: 0, home: self.clone() }
    }
}

impl Shared {
    fn take_idle(&self, size: usize) -> Option<Memory> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let memory = idle.classes[size.trailing_zeros() as usize].pop()?;
        idle.bytes -= size;
        Some(memory)
    }

    fn put_back(&self, memory: Memory) {
        let size = memory.len();
        self.in_use.fetch_sub(size, Ordering::Relaxed);
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.bytes + size <= IDLE {
            idle.bytes += size;
            idle.classes[size.trailing_zeros() as usize].push(memory);
        }
    }
}

#[derive(Debug)]
enum Memory {
    Empty,
    Heap(Box<[u8]>),
    Mapped(MmapMut),
}

impl Memory {
    fn new(size: usize) -> Self {
        if size >= MAPPED
            && let Ok(map) = MmapMut::map_anon(size)
        {
            return Self::Mapped(map);
        }
        Self::Heap(vec![0; size].into_boxed_slice())
    }
}

impl Deref for Memory {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            Self::Empty => &[],
            Self::Heap(heap) => heap,
            Self::Mapped(map) => map,
        }
    }
}

impl DerefMut for Memory {
    fn deref_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Empty => &mut [],
            Self::Heap(heap) => heap,
            Self::Mapped(map) => map,
        }
    }
}

/// Pieces of a buffer, copied to outlive it. As with buffers, many bytes are a mapping of their own: an allocator that
/// has once had to keep a crowd of them would hold on to their room.
#[derive(Debug)]
pub(crate) struct Copied(Memory);

impl Copied {
    pub(crate) fn of(bytes: &[u8], pieces: impl Iterator<Item = Range<usize>> + Clone) -> Self {
        let size = pieces.clone().map(|piece| piece.len()).sum();
        if size < MAPPED {
            let mut heap = Vec::with_capacity(size);
            pieces.for_each(|piece| heap.extend_from_slice(&bytes[piece]));
            return Self(Memory::Heap(heap.into_boxed_slice()));
        }
        let mut memory = Memory::new(size);
        let mut at = 0;
        for piece in pieces {
            let len = piece.len();
            memory[at..at + len].copy_from_slice(&bytes[piece]);
            at += len;
        }
        Self(memory)
    }
}

impl Deref for Copied {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

/// Bytes read and not yet passed on, with room behind them for more.
#[derive(Debug)]
pub(crate) struct Buffer {
    memory: Memory,
    start: usize,
    end: usize,
    home: Buffers,
}

impl Buffer {
    /// What is in it.
    pub(crate) fn data(&self) -> &[u8] {
        &self.memory[self.start..self.end]
    }

    pub(crate) fn len(&self) -> usize {
        self.end - self.start
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Whether the data could grow to so many bytes.
    pub(crate) fn has_room_for(&self, len: usize) -> bool {
        self.memory.len() - self.start >= len
    }

    /// Room behind the data.
    pub(crate) fn spare(&mut self) -> &mut [u8] {
        &mut self.memory[self.end..]
    }

    /// `n` bytes of the room were filled.
    pub(crate) fn filled(&mut self, n: usize) {
        self.end = (self.end + n).min(self.memory.len());
    }

    /// The first `n` bytes are done with.
    pub(crate) fn consume(&mut self, n: usize) {
        self.start = (self.start + n).min(self.end);
        if self.is_empty() {
            (self.start, self.end) = (0, 0);
        }
    }

    /// Appends as much of `bytes` as there is room for and tells how much that was.
    pub(crate) fn put(&mut self, bytes: &[u8]) -> usize {
        let spare = self.spare();
        let n = spare.len().min(bytes.len());
        spare[..n].copy_from_slice(&bytes[..n]);
        self.end += n;
        n
    }

    /// Everything but the first `n` bytes is done with.
    pub(crate) fn truncate(&mut self, n: usize) {
        self.end = self.end.min(self.start + n);
    }

    /// Moves the data to the front, so that all room is behind it.
    pub(crate) fn compact(&mut self) {
        self.memory.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
    }

    /// The same data in a buffer twice as large; `None` when the budget is spent.
    pub(crate) fn doubled(&self) -> Option<Self> {
        let mut larger = self.home.body(self.memory.len().checked_mul(2)?)?;
        larger.put(self.data());
        Some(larger)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.home.0.put_back(std::mem::replace(&mut self.memory, Memory::Empty));
    }
}

/// Memory that somebody else holds, counted with all the rest.
#[derive(Debug)]
pub(crate) struct Charge {
    bytes: usize,
    home: Buffers,
}

impl Charge {
    /// It has grown or shrunk to this size; `false` when that is more than the budget allows.
    pub(crate) fn set(&mut self, bytes: usize) -> bool {
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

impl Drop for Charge {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_beyond_the_budget_are_refused_until_others_are_done() {
        let buffers = Buffers::new(256 * 1024);
        let first = buffers.body(128 * 1024).unwrap();
        let second = buffers.body(100 * 1024).unwrap();
        assert!(buffers.body(1).is_none());
        drop(first);
        assert!(buffers.body(1).is_some());
        drop(second);
        assert_eq!(buffers.in_use(), 0);
    }

    #[test]
    fn memory_held_elsewhere_counts() {
        let buffers = Buffers::new(256 * 1024);
        let mut charge = buffers.charge();
        assert!(charge.set(200 * 1024) && !charge.set(300 * 1024));
        assert_eq!(buffers.in_use(), 200 * 1024);
        assert!(buffers.body(1).is_none());
        drop(charge);
        assert_eq!(buffers.in_use(), 0);
    }

    #[test]
    fn a_burst_does_not_stay_in_memory() {
        let buffers = Buffers::new(usize::MAX);
        let burst: Vec<_> = (0..64).map(|_| buffers.body(1024 * 1024).unwrap()).collect();
        drop(burst);
        assert!(buffers.0.idle.lock().unwrap().bytes <= IDLE);
    }

    #[test]
    fn what_is_copied_stands_in_a_row_however_much_it_is() {
        let bytes: Vec<u8> = (0..200_000).map(|n| (n % 251) as u8).collect();
        for pieces in [vec![], vec![3..5, 10..11], vec![0..70_000, 100_000..200_000]] {
            let expected: Vec<u8> = pieces.iter().flat_map(|piece| bytes[piece.clone()].to_vec()).collect();
            assert_eq!(*Copied::of(&bytes, pieces.into_iter()), expected);
        }
    }

    #[test]
    fn data_moves_through() {
        let mut buffer = Buffers::new(usize::MAX).fixed(16);
        assert_eq!(buffer.put(b"hello, wonderful world"), 16);
        buffer.consume(7);
        assert_eq!(buffer.data(), b"wonderful");
        assert!(buffer.spare().is_empty());
        buffer.compact();
        assert_eq!(buffer.spare().len(), 7);
        let larger = buffer.doubled().unwrap();
        assert_eq!(larger.data(), b"wonderful");
    }
}
