//! Zstandard, piece by piece.
//!
//! The decoder works block by block, keeps its window to itself until the frame ends, and cannot be copied. So that an
//! answer can be read while it comes, and ended, its beginning is also kept, given an end, and unpacked anew whenever it
//! has grown by a quarter: some times the work of unpacking it once. That work stands in the way of other streams, so it
//! ends at 256 KiB packed (a few megabytes of text). What comes later is read when it leaves the window or the frame ends,
//! and such a stream is not ended early. A decoder that shows its window would need neither; it would have to be our own.

use std::io::Read;

use ruzstd::decoding::{FrameDecoder, StreamingDecoder};
use xxhash_rust::xxh64::xxh64;

use super::filled;

/// Longest block there is, with its header and that of the frame.
const LONGEST_BLOCK: usize = 128 * 1024 + 64;
/// Longest header of a frame, and the length of the checksum at its end.
const HEADER: usize = 18;
const CHECKSUM: usize = 4;
const PIECE: usize = 256;
/// The largest window there may be in HTTP: so much the decoder keeps.
const LARGEST_WINDOW: usize = 8 * 1024 * 1024;
/// How many times smaller a text gets by packing, at best and near enough.
const USUAL_RATIO: usize = 64;
/// How long an answer is kept and looked at before it is complete: packed, and unpacked.
const EARLY: usize = 256 * 1024;
const EARLY_UNPACKED: usize = 4 * 1024 * 1024;
/// It is looked at again when it has grown by a quarter, but not for less than this.
const WORTH_A_LOOK: usize = 256;
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Longest block of ours that holds its bytes as they are: blocks are no longer than the window, which is at least this.
const LONGEST_RAW: usize = 1024;
/// A block that is the last and holds nothing.
const LAST: [u8; 3] = [1, 0, 0];

/// The outline of a frame, as far as it has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Frame {
    /// A checksum follows the last block.
    checksum: bool,
    /// Its header says how long it is.
    sized: bool,
    /// How far back it may refer.
    window: usize,
    /// Where the last complete block ends.
    end: usize,
    /// The last block has come.
    closed: bool,
    len: usize,
}

impl Frame {
    /// Walks over a frame; `None` when it is none, or its header is not complete.
    fn read(raw: &[u8]) -> Option<Self> {
        let described = *raw.get(4).filter(|_| raw.starts_with(&MAGIC))?;
        let (single, dictionary) = (described & 0b10_0000 != 0, usize::from(described & 0b11));
        let size = match described >> 6 {
            0 => usize::from(single),
            flag => 1 << flag,
        };
        let start = 5 + usize::from(!single) + [0, 1, 2, 4][dictionary] + size;
        let header = raw.get(..start)?;
        let window = if single {
            let bytes = header[start - size..].iter().rev();
            bytes.fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte)) + if size == 2 { 256 } else { 0 }
        } else {
            let base = 1_u64 << (10 + (header[5] >> 3));
            base + base / 8 * u64::from(header[5] & 0b111)
        };
        let mut frame = Self {
            checksum: described & 0b100 != 0,
            sized: size > 0,
            window: usize::try_from(window).unwrap_or(usize::MAX),
            end: start,
            closed: false,
            len: raw.len(),
        };
        while let (false, Some(header)) = (frame.closed, raw.get(frame.end..frame.end + 3)) {
            let header = u32::from_le_bytes([header[0], header[1], header[2], 0]);
            let (kind, length) = ((header >> 1) & 0b11, (header >> 3) as usize);
            // One byte stands for all of a run.
            let end = frame.end + 3 + if kind == 1 { 1 } else { length };
            if end > raw.len() {
                break;
            }
            (frame.end, frame.closed) = (end, header & 1 == 1);
        }
        Some(frame)
    }

    /// Whether it stands between two blocks, and another may come.
    fn is_open(&self) -> bool {
        !self.closed && self.end == self.len
    }
}

/// A whole frame, unpacked, if that is no more than `most`. Its window may be no larger, either: the decoder fills it
/// before it shows anything.
pub(super) fn whole(raw: &[u8], most: usize) -> Option<Vec<u8>> {
    Frame::read(raw).filter(|frame| frame.window <= most)?;
    let mut out = Vec::new();
    StreamingDecoder::new(raw).ok()?.take(most as u64 + 1).read_to_end(&mut out).ok()?;
    (out.len() <= most).then_some(out)
}

/// What all complete blocks of a frame unpack to.
fn so_far(raw: &[u8], most: usize) -> Option<Vec<u8>> {
    let frame = Frame::read(raw)?;
    let last: &[u8] = if frame.closed { &[] } else { &LAST };
    // The decoder reads a checksum and leaves it at that.
    let checksum: &[u8] = if frame.checksum { &[0; CHECKSUM] } else { &[] };
    let mut out = Vec::new();
    let decoder = StreamingDecoder::new(raw[..frame.end].chain(last).chain(checksum)).ok()?;
    decoder.take(most as u64 + 1).read_to_end(&mut out).ok()?;
    (out.len() <= most).then_some(out)
}

pub(crate) struct Zstd {
    frame: FrameDecoder,
    /// Packed bytes that are less than a block.
    waiting: Vec<u8>,
    /// How many packed bytes have come.
    came: usize,
    /// How far back the frame may refer; 0 until its header has come.
    window: usize,
    /// How much of the text has been shown, and how much of it came from the decoder.
    shown: usize,
    decoded: usize,
    /// All that has come, while it is kept.
    raw: Option<Vec<u8>>,
    /// How much had come at the last look, and how much has to come for the next.
    looked: usize,
    next_look: usize,
    /// No end is worth another try before so much has come.
    next_try: usize,
}

impl Default for Zstd {
    fn default() -> Self {
        Self {
            frame: FrameDecoder::default(),
            waiting: Vec::new(),
            came: 0,
            window: 0,
            shown: 0,
            decoded: 0,
            raw: Some(Vec::new()),
            looked: 0,
            next_look: 0,
            next_try: 0,
        }
    }
}

impl Zstd {
    /// Bytes kept.
    pub(super) fn kept(&self) -> usize {
        let unpacked = self.came.saturating_mul(USUAL_RATIO).min(self.frame.blocks_decoded() * LONGEST_BLOCK);
        self.waiting.len() + self.raw.as_ref().map_or(0, Vec::len) + unpacked.min(self.window)
    }

    /// Whether the beginning is kept, so that an end can be found.
    pub(super) fn may_end(&self) -> bool {
        self.raw.is_some()
    }

    /// Keeps the beginning no longer.
    pub(super) fn forget(&mut self) {
        self.raw = None;
    }

    /// Takes the next bytes; `false` when they are no Zstandard, or too much of it.
    pub(super) fn feed(&mut self, bytes: &[u8], each: &mut dyn FnMut(&[u8])) -> bool {
        self.came += bytes.len();
        if self.came > EARLY {
            self.forget();
        }
        if let Some(raw) = &mut self.raw {
            raw.extend_from_slice(bytes);
        }
        let mut out = [0; 16 * 1024];
        // In small pieces: the decoder unpacks all blocks of a piece at once, and a few bytes can make a long block.
        let good = bytes.chunks(PIECE).all(|piece| {
            self.waiting.extend_from_slice(piece);
            self.unpack(&mut out, each)
        });
        if good && self.came >= self.next_look.max(HEADER) {
            self.look(each);
        }
        good
    }

    /// Unpacks what waits, as far as it is complete.
    fn unpack(&mut self, out: &mut [u8], each: &mut dyn FnMut(&[u8])) -> bool {
        loop {
            // A header or a checksum that is cut short looks like an error; the rest of it is on its way.
            if self.waiting.len() < if self.frame.blocks_decoded() == 0 { HEADER } else { CHECKSUM } {
                return true;
            }
            if self.window == 0 {
                self.window = Frame::read(&self.waiting).map_or(usize::MAX, |frame| frame.window.max(1));
            }
            if self.window > LARGEST_WINDOW || self.waiting.len() > 2 * LONGEST_BLOCK {
                return false;
            }
            let Ok((read, shown)) = self.frame.decode_from_to(&self.waiting, out) else { return false };
            self.waiting.drain(..read.min(self.waiting.len()));
            self.show(&out[..shown], each);
            if read == 0 && shown == 0 {
                return true;
            }
        }
    }

    /// Looks at everything that has come, if an end is worth a try: each look unpacks everything.
    pub(super) fn catch_up(&mut self, each: &mut dyn FnMut(&[u8])) {
        if self.came >= self.next_try {
            self.look(each);
        }
    }

    fn look(&mut self, each: &mut dyn FnMut(&[u8])) {
        let Some(raw) = self.raw.as_ref().filter(|raw| raw.len() > self.looked) else { return };
        self.next_look = raw.len() + (raw.len() / 4).max(WORTH_A_LOOK);
        if let Some(text) = so_far(raw, EARLY_UNPACKED) {
            each(text.get(self.shown..).unwrap_or_default());
            self.shown = self.shown.max(text.len());
            self.looked = raw.len();
        }
    }

    /// The bytes that make `text` the end of this stream, see [`super::Decoded::ending`].
    pub(super) fn ending(&mut self, text: &str, at_least: usize) -> Option<Vec<u8>> {
        if self.came < self.next_try || self.looked != self.came {
            return None;
        }
        let found = self.find_ending(text, at_least);
        if found.is_none() {
            self.next_try = self.came + self.came / 4;
        }
        found
    }

    fn find_ending(&self, text: &str, at_least: usize) -> Option<Vec<u8>> {
        let raw = self.raw.as_ref()?;
        let may_go_on = |frame: &Frame| frame.is_open() && !frame.sized && frame.window <= LARGEST_WINDOW;
        let frame = Frame::read(raw).filter(may_go_on)?;
        let before = so_far(raw, EARLY_UNPACKED)?;
        let pack = |text: &[u8]| {
            let mut packed = raw_blocks(text);
            if frame.checksum {
                packed.extend_from_slice(&(xxh64(&[&before, text].concat(), 0) as u32).to_le_bytes());
            }
            packed
        };
        let (text, packed) = filled(text, at_least, pack);
        let (mut rest, mut again) = (raw.as_slice().chain(packed.as_slice()), Vec::new());
        let mut decoder = StreamingDecoder::new(&mut rest).ok()?;
        decoder.by_ref().take((before.len() + text.len()) as u64 + 1).read_to_end(&mut again).ok()?;
        drop(decoder);
        let is_read = rest.read(&mut [0]).is_ok_and(|left| left == 0);
        (is_read && again.strip_prefix(before.as_slice()) == Some(&text)).then_some(packed)
    }

    /// The frame ended, or broke off: shows what is left.
    pub(super) fn finish(&mut self, each: &mut dyn FnMut(&[u8])) {
        let mut rest = Vec::new();
        let last = std::mem::take(&mut self.waiting);
        let decoded = last.is_empty() || self.frame.decode_from_to(&last, &mut []).is_ok();
        if decoded && self.frame.is_finished() && self.frame.collect_to_writer(&mut rest).is_ok() {
            self.show(&rest, each);
        }
    }

    /// Shows what the decoder gives, but for what was shown before.
    fn show(&mut self, text: &[u8], each: &mut dyn FnMut(&[u8])) {
        let known = (self.shown - self.decoded).min(text.len());
        self.decoded += text.len();
        self.shown = self.shown.max(self.decoded);
        each(&text[known..]);
    }
}

/// Raw blocks: in three bytes whether it is the last, its kind and its length.
fn raw_blocks(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 16);
    let mut blocks = text.chunks(LONGEST_RAW).peekable();
    while let Some(block) = blocks.next() {
        let header = (block.len() as u32) << 3 | u32::from(blocks.peek().is_none());
        out.extend_from_slice(&header.to_le_bytes()[..3]);
        out.extend_from_slice(block);
    }
    out
}
