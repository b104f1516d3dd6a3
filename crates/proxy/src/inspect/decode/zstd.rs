//! Zstandard, piece by piece.
//!
//! The decoder works block by block and keeps its window to itself until the frame ends, so an answer
//! in this encoding is read when it is complete.

use ruzstd::decoding::FrameDecoder;

/// Longest block there is, with its header and that of the frame.
const LONGEST_BLOCK: usize = 128 * 1024 + 64;
/// Longest header of a frame, and the length of the checksum at its end.
const HEADER: usize = 18;
const CHECKSUM: usize = 4;
/// Most that is unpacked of one answer.
const MOST: usize = 8 * 1024 * 1024;

#[derive(Default)]
pub(crate) struct Zstd {
    frame: FrameDecoder,
    /// Packed bytes that are less than a block.
    waiting: Vec<u8>,
    unpacked: usize,
}

impl Zstd {
    /// Bytes kept.
    pub(super) fn kept(&self) -> usize {
        self.waiting.len() + self.unpacked
    }

    /// Takes the next bytes; `false` when they are no Zstandard, or too much of it.
    pub(super) fn feed(&mut self, bytes: &[u8], each: &mut dyn FnMut(&[u8])) -> bool {
        self.waiting.extend_from_slice(bytes);
        let mut out = [0; 16 * 1024];
        loop {
            let before = self.frame.blocks_decoded();
            // A header or a checksum that is cut short looks like an error; the rest of it is on its way.
            if self.waiting.len() < if before == 0 { HEADER } else { CHECKSUM } {
                return true;
            }
            let Ok((read, shown)) = self.frame.decode_from_to(&self.waiting, &mut out) else { return false };
            self.waiting.drain(..read.min(self.waiting.len()));
            each(&out[..shown]);
            let blocks = self.frame.blocks_decoded() - before;
            self.unpacked = (self.unpacked + blocks * LONGEST_BLOCK).saturating_sub(shown);
            if self.unpacked > MOST || self.waiting.len() > 2 * LONGEST_BLOCK {
                return false;
            }
            if read == 0 && shown == 0 {
                return true;
            }
        }
    }

    /// The frame ended, or broke off: shows what is left.
    pub(super) fn finish(&mut self, each: &mut dyn FnMut(&[u8])) {
        let mut rest = Vec::new();
        let last = std::mem::take(&mut self.waiting);
        let decoded = last.is_empty() || self.frame.decode_from_to(&last, &mut []).is_ok();
        if decoded && self.frame.is_finished() && self.frame.collect_to_writer(&mut rest).is_ok() {
            each(&rest);
        }
    }
}
