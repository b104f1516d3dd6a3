//! Zstandard, block by block.
//!
//! A frame is decoded one block at a time, and the content of each block is passed on at once. `ruzstd` does not support
//! that: it withholds its window until the frame ends. An empty last block inserted before the first one makes it return
//! everything it has decoded, and it still accepts further blocks. A writer that consumes nothing leaves the window in
//! place, so only the window must be bounded: when it grows too long, it is drained and its end is fed back in raw blocks.
//! Neither raw nor empty blocks affect any other state that later blocks refer to.
//!
//! A stream can be ended at any block boundary.

use std::io::{Read, Write};

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder, StreamingDecoder};
use xxhash_rust::xxh64::Xxh64;

use super::filled;

const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Maximum length of a block.
const MAX_BLOCK_BYTES: usize = 128 * 1024;
const BLOCK_HEADER_BYTES: usize = 3;
/// Length of the checksum at the end of a frame. The decoder reads it without verifying it.
const CHECKSUM_BYTES: [u8; 4] = [0; 4];
/// Maximum window size in HTTP, which the decoder retains.
const MAX_WINDOW_BYTES: usize = 8 * 1024 * 1024;
/// Real content never compresses this well, except for very short bodies; such a body is a decompression bomb.
const MAX_COMPRESSION_RATIO: usize = 8192;
const MIN_RATIO_CHECK_BYTES: usize = 4096;
/// Maximum length of the raw blocks that are fed back. A block must not exceed the window, which is at least this large.
const MAX_RAW_BLOCK_BYTES: usize = 1024;
/// An empty last block.
const EMPTY_LAST_BLOCK: [u8; 3] = [1, 0, 0];

/// A parsed frame header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Header {
    /// Length of the header.
    len: usize,
    /// A checksum follows the last block.
    checksum: bool,
    /// Whether the header contains the content size.
    sized: bool,
    /// Window size.
    window: usize,
}

impl Header {
    /// Parses a frame header; `None` if it is invalid or incomplete.
    fn read(raw: &[u8]) -> Option<Self> {
        let described = *raw.get(4).filter(|_| raw.starts_with(&MAGIC))?;
        let (single, dictionary) = (described & 0b10_0000 != 0, usize::from(described & 0b11));
        let size = match described >> 6 {
            0 => usize::from(single),
            flag => 1 << flag,
        };
        let len = 5 + usize::from(!single) + [0, 1, 2, 4][dictionary] + size;
        let header = raw.get(..len)?;
        let window = if single {
            let bytes = header[len - size..].iter().rev();
            bytes.fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte)) + if size == 2 { 256 } else { 0 }
        } else {
            let base = 1_u64 << (10 + (header[5] >> 3));
            base + base / 8 * u64::from(header[5] & 0b111)
        };
        let window = usize::try_from(window).unwrap_or(usize::MAX);
        Some(Self { len, checksum: described & 0b100 != 0, sized: size > 0, window })
    }
}

/// Length of the first block including its header, and whether it is the last; `None` if the header is incomplete.
fn block(raw: &[u8]) -> Option<(usize, bool)> {
    let header = raw.get(..BLOCK_HEADER_BYTES)?;
    let header = u32::from_le_bytes([header[0], header[1], header[2], 0]);
    // A run-length block contains one byte.
    let content = if (header >> 1) & 0b11 == 1 { 1 } else { (header >> 3) as usize };
    Some((BLOCK_HEADER_BYTES + content, header & 1 == 1))
}

/// Decodes a complete frame of at most `max` bytes. The window is bounded too, because the decoder fills it before it
/// returns anything.
pub(super) fn decode_all(raw: &[u8], max: usize) -> Option<Vec<u8>> {
    Header::read(raw).filter(|header| header.window <= max)?;
    let mut out = Vec::new();
    StreamingDecoder::new(raw).ok()?.take(max as u64 + 1).read_to_end(&mut out).ok()?;
    (out.len() <= max).then_some(out)
}

/// The next element of the compressed stream.
#[derive(Default)]
enum BlockStep {
    /// A frame header.
    #[default]
    Header,
    Block(Box<Frame>),
    /// Remaining bytes of a checksum.
    Checksum(usize),
}

#[derive(Default)]
pub(crate) struct Zstd {
    next: BlockStep,
    /// The start of an incomplete block.
    waiting: Vec<u8>,
    /// Compressed and decompressed bytes so far.
    came: usize,
    unpacked: usize,
}

impl Zstd {
    /// Bytes retained.
    pub(super) fn buffered_bytes(&self) -> usize {
        let frame = match &self.next {
            BlockStep::Block(frame) => frame.room,
            BlockStep::Header | BlockStep::Checksum(_) => 0,
        };
        self.waiting.len() + frame
    }

    /// Whether more blocks may follow.
    pub(super) fn can_append(&self) -> bool {
        !matches!(&self.next, BlockStep::Block(frame) if frame.header.sized)
    }

    /// Consumes bytes; `false` if they are not valid Zstandard or exceed the limit.
    pub(super) fn feed(&mut self, bytes: &[u8], each: &mut dyn FnMut(&[u8])) -> bool {
        self.came += bytes.len();
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.extend_from_slice(bytes);
        let mut rest = waiting.as_slice();
        while let Some(taken) = self.step(rest, each) {
            match rest.get(taken..) {
                Some(more) if taken > 0 => rest = more,
                // Incomplete; wait for more bytes.
                _ => {
                    let done = waiting.len() - rest.len();
                    waiting.drain(..done);
                    self.waiting = waiting;
                    return true;
                }
            }
        }
        false
    }

    /// Reads the next element if it is complete and returns its length; `None` if it is invalid.
    fn step(&mut self, raw: &[u8], each: &mut dyn FnMut(&[u8])) -> Option<usize> {
        match &mut self.next {
            BlockStep::Header => {
                if raw.len() < MAGIC.len() {
                    return MAGIC.starts_with(raw).then_some(0);
                }
                let Some(header) = Header::read(raw) else { return raw.starts_with(&MAGIC).then_some(0) };
                self.next = BlockStep::Block(Box::new(Frame::begin(raw, header)?));
                Some(header.len)
            }
            BlockStep::Block(frame) => {
                let Some((len, last)) = block(raw) else { return Some(0) };
                if len > BLOCK_HEADER_BYTES + MAX_BLOCK_BYTES {
                    return None;
                }
                let Some(block) = raw.get(..len) else { return Some(0) };
                let fresh = frame.take(block, each)?;
                self.unpacked = self.unpacked.saturating_add(fresh);
                if last {
                    self.next = if frame.header.checksum {
                        BlockStep::Checksum(CHECKSUM_BYTES.len())
                    } else {
                        BlockStep::Header
                    };
                }
                (self.unpacked / MAX_COMPRESSION_RATIO <= self.came.max(MIN_RATIO_CHECK_BYTES)).then_some(len)
            }
            BlockStep::Checksum(left) => {
                let taken = raw.len().min(*left);
                *left -= taken;
                if *left == 0 {
                    self.next = BlockStep::Header;
                }
                Some(taken)
            }
        }
    }

    /// The bytes that make `text` the end of this stream, see [`super::Decoded::ending`].
    pub(super) fn append_final_block(&self, text: &str, at_least: usize) -> Option<Vec<u8>> {
        let BlockStep::Block(frame) = &self.next else { return None };
        if frame.header.sized || !self.waiting.is_empty() {
            return None;
        }
        let pack = |text: &[u8]| {
            let mut packed = last_blocks(text);
            if frame.header.checksum {
                let mut checksum = frame.checksum.clone();
                checksum.update(text);
                packed.extend_from_slice(&(checksum.digest() as u32).to_le_bytes());
            }
            packed
        };
        Some(filled(text, at_least, pack).1)
    }
}

/// A frame, as far as it has been read.
struct Frame {
    header: Header,
    decoder: FrameDecoder,
    /// Number of bytes retained by the decoder; all have been passed on.
    buffered: usize,
    /// Window size and capacity.
    max: usize,
    room: usize,
    /// Checksum of all decoded bytes.
    checksum: Xxh64,
}

impl Frame {
    fn begin(raw: &[u8], header: Header) -> Option<Self> {
        if header.window > MAX_WINDOW_BYTES {
            return None;
        }
        let mut decoder = FrameDecoder::new();
        decoder.init(raw).ok()?;
        decode(&mut decoder, EMPTY_LAST_BLOCK.as_slice())?;
        // The decoder's capacity is a power of two, as windows are: just under twice the window fits.
        let max = header.window + header.window.max(MIN_RATIO_CHECK_BYTES) / 4 * 3;
        Some(Self { header, decoder, buffered: 0, max, room: 0, checksum: Xxh64::new(0) })
    }

    /// Decodes a block, passes on its content and returns its length; `None` if it is invalid.
    fn take(&mut self, block: &[u8], each: &mut dyn FnMut(&[u8])) -> Option<usize> {
        let known = self.buffered;
        decode(&mut self.decoder, block)?;
        self.buffered = self.decoder.can_collect();
        self.room = self.room.max((self.buffered + 1).next_power_of_two());
        let fresh = self.buffered.checked_sub(known)?;
        let checksum = self.header.checksum.then_some(&mut self.checksum);
        let mut look = BlockCursor { known, seen: 0, checksum, each };
        self.decoder.collect_to_writer(&mut look).ok()?;
        // Only the first part of a wrapped window is returned. A window that is drained after each block never wraps.
        if look.seen != self.buffered {
            return None;
        }
        if self.buffered > self.max {
            self.shorten()?;
        }
        Some(fresh)
    }

    /// Drops data that later blocks cannot refer to.
    fn shorten(&mut self) -> Option<()> {
        let text = self.decoder.collect()?;
        let window = &text[text.len().saturating_sub(self.header.window)..];
        for piece in window.chunks(MAX_BLOCK_BYTES) {
            decode(&mut self.decoder, raw_header(piece.len(), false).as_slice().chain(piece))?;
        }
        self.buffered = window.len();
        Some(())
    }
}

/// Decodes one block.
fn decode(decoder: &mut FrameDecoder, block: impl Read) -> Option<()> {
    decoder.decode_blocks(block.chain(&CHECKSUM_BYTES[..]), BlockDecodingStrategy::UptoBlocks(1)).ok().map(drop)
}

/// A writer that passes on the end of the window and consumes nothing.
struct BlockCursor<'a> {
    /// Number of bytes passed on before.
    known: usize,
    /// Number of bytes available.
    seen: usize,
    checksum: Option<&'a mut Xxh64>,
    each: &'a mut dyn FnMut(&[u8]),
}

impl Write for BlockCursor<'_> {
    fn write(&mut self, window: &[u8]) -> std::io::Result<usize> {
        self.seen = window.len();
        let fresh = window.get(self.known..).unwrap_or_default();
        if let Some(checksum) = &mut self.checksum {
            checksum.update(fresh);
        }
        (self.each)(fresh);
        Ok(0)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The header of a raw block: last flag, type and length.
fn raw_header(len: usize, last: bool) -> [u8; BLOCK_HEADER_BYTES] {
    let [first, second, third, _] = ((len as u32) << 3 | u32::from(last)).to_le_bytes();
    [first, second, third]
}

/// Encodes text as raw blocks that end the frame.
fn last_blocks(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 16);
    let mut blocks = text.chunks(MAX_RAW_BLOCK_BYTES).peekable();
    while let Some(block) = blocks.next() {
        out.extend_from_slice(&raw_header(block.len(), blocks.peek().is_none()));
        out.extend_from_slice(block);
    }
    out
}
