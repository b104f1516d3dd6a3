//! Zstandard, block by block.
//!
//! A frame is read a block at a time, and what a block says is shown at once. The decoder is not made for that: it keeps
//! its window to itself until the frame ends. But it takes our word for an end. A last block that is empty, put in before
//! the first one, makes it show all it has from then on, and go on with further blocks all the same; and a writer that
//! takes nothing leaves the window where it is. The window alone has to be bounded then: when it has grown too long, it is
//! taken out and its end put back, in blocks that hold their bytes as they are. Neither such blocks nor an empty one touch
//! anything else that later blocks refer to.
//!
//! Where a block has ended and none has begun, others may follow: so a stream can be ended there.

use std::io::{Read, Write};

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder, StreamingDecoder};
use xxhash_rust::xxh64::Xxh64;

use super::filled;

const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Longest block there is, and the length of its header.
const MAX_BLOCK_BYTES: usize = 128 * 1024;
const BLOCK_HEADER_BYTES: usize = 3;
/// Length of the checksum at the end of a frame. The decoder reads one and leaves it at that.
const CHECKSUM_BYTES: [u8; 4] = [0; 4];
/// The largest window there may be in HTTP: so much the decoder keeps.
const MAX_WINDOW_BYTES: usize = 8 * 1024 * 1024;
/// Nothing worth reading packs so well, but for a few bytes; what does is made to keep us busy.
const MAX_COMPRESSION_RATIO: usize = 8192;
const MIN_RATIO_CHECK_BYTES: usize = 4096;
/// Longest block of ours that holds its bytes as they are: blocks are no longer than the window, which is at least this.
const MAX_RAW_BLOCK_BYTES: usize = 1024;
/// A block that is the last and holds nothing.
const EMPTY_LAST_BLOCK: [u8; 3] = [1, 0, 0];

/// What the header of a frame says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Header {
    /// How long the header is.
    len: usize,
    /// A checksum follows the last block.
    checksum: bool,
    /// It says how long the text is.
    sized: bool,
    /// How far back blocks may refer.
    window: usize,
}

impl Header {
    /// Reads the header of a frame; `None` when it is none, or not complete.
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

/// The block at the beginning: how long it is with its header, as far as that can be told, and whether it is the last.
fn block(raw: &[u8]) -> Option<(usize, bool)> {
    let header = raw.get(..BLOCK_HEADER_BYTES)?;
    let header = u32::from_le_bytes([header[0], header[1], header[2], 0]);
    // One byte stands for all of a run.
    let content = if (header >> 1) & 0b11 == 1 { 1 } else { (header >> 3) as usize };
    Some((BLOCK_HEADER_BYTES + content, header & 1 == 1))
}

/// A whole frame, unpacked, if that is no more than `most`. Its window may be no larger, either: the decoder fills it
/// before it shows anything.
pub(super) fn decode_all(raw: &[u8], most: usize) -> Option<Vec<u8>> {
    Header::read(raw).filter(|header| header.window <= most)?;
    let mut out = Vec::new();
    StreamingDecoder::new(raw).ok()?.take(most as u64 + 1).read_to_end(&mut out).ok()?;
    (out.len() <= most).then_some(out)
}

/// What follows in the packed stream.
#[derive(Default)]
enum BlockStep {
    /// The header of a frame: the first one, or of one that follows another.
    #[default]
    Header,
    Block(Box<Frame>),
    /// So many bytes of a checksum.
    Checksum(usize),
}

#[derive(Default)]
pub(crate) struct Zstd {
    next: BlockStep,
    /// Packed bytes that are less than a block.
    waiting: Vec<u8>,
    /// How many bytes have come, and how many they unpacked to.
    came: usize,
    unpacked: usize,
}

impl Zstd {
    /// Bytes kept.
    pub(super) fn buffered_bytes(&self) -> usize {
        let frame = match &self.next {
            BlockStep::Block(frame) => frame.room,
            BlockStep::Header | BlockStep::Checksum(_) => 0,
        };
        self.waiting.len() + frame
    }

    /// Whether the stream can become longer.
    pub(super) fn can_append(&self) -> bool {
        !matches!(&self.next, BlockStep::Block(frame) if frame.header.sized)
    }

    /// Takes the next bytes; `false` when they are no Zstandard, or too much of it.
    pub(super) fn feed(&mut self, bytes: &[u8], each: &mut dyn FnMut(&[u8])) -> bool {
        self.came += bytes.len();
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.extend_from_slice(bytes);
        let mut rest = waiting.as_slice();
        while let Some(taken) = self.step(rest, each) {
            match rest.get(taken..) {
                Some(more) if taken > 0 => rest = more,
                // Something is missing.
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

    /// Reads what comes next, if it is all there, and tells how long it was; `None` when it is not what it should be.
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
    /// How many bytes the decoder keeps; all of them have been shown.
    buffered: usize,
    /// How many it may keep, and how many it has room for.
    most: usize,
    room: usize,
    /// Of all that was shown.
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
        // The decoder makes room by powers of two, which windows are, too: some less than twice the window fits in.
        let most = header.window + header.window.max(MIN_RATIO_CHECK_BYTES) / 4 * 3;
        Some(Self { header, decoder, buffered: 0, most, room: 0, checksum: Xxh64::new(0) })
    }

    /// Takes a block, shows what it says and tells how much that is; `None` when it is none.
    fn take(&mut self, block: &[u8], each: &mut dyn FnMut(&[u8])) -> Option<usize> {
        let known = self.buffered;
        decode(&mut self.decoder, block)?;
        self.buffered = self.decoder.can_collect();
        self.room = self.room.max((self.buffered + 1).next_power_of_two());
        let fresh = self.buffered.checked_sub(known)?;
        let checksum = self.header.checksum.then_some(&mut self.checksum);
        let mut look = BlockCursor { known, seen: 0, checksum, each };
        self.decoder.collect_to_writer(&mut look).ok()?;
        // Of a window in two parts only the first would be shown; one that is always taken out whole has only one.
        if look.seen != self.buffered {
            return None;
        }
        if self.buffered > self.most {
            self.shorten()?;
        }
        Some(fresh)
    }

    /// Keeps no more than blocks may refer to.
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

/// Shows the end of a window and takes nothing of it.
struct BlockCursor<'a> {
    /// So much was shown before.
    known: usize,
    /// How much there is.
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

/// The header of a block that holds its bytes as they are: whether it is the last, its kind and its length.
fn raw_header(len: usize, last: bool) -> [u8; BLOCK_HEADER_BYTES] {
    let [first, second, third, _] = ((len as u32) << 3 | u32::from(last)).to_le_bytes();
    [first, second, third]
}

/// Text in blocks that hold it as it is, and end the frame.
fn last_blocks(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 16);
    let mut blocks = text.chunks(MAX_RAW_BLOCK_BYTES).peekable();
    while let Some(block) = blocks.next() {
        out.extend_from_slice(&raw_header(block.len(), blocks.peek().is_none()));
        out.extend_from_slice(block);
    }
    out
}
