//! Another end for a compressed stream.
//!
//! Whoever compresses a stream of events flushes after each of them, or nobody would see them arrive. A flush leaves
//! the stream at a whole byte and, in all four encodings, in a place where a block may begin; and all four know blocks
//! that hold their bytes as they are. So words of ours go into such a block, which is marked as the last one, and the
//! checksum of everything follows where there is one: the client unpacks one stream, properly ended.
//!
//! Not every place where the text stands between two events is such a place, and only gzip marks them. So an end is
//! never used before the whole was unpacked with it and gave what it should.

use std::io::Read;

use flate2::Crc;
use xxhash_rust::xxh64::xxh64;

use super::{Decoded, zstd};

/// Longest stream that is kept.
const MOST: usize = 1024 * 1024;
/// Most bytes a kept stream may unpack to.
const MOST_UNPACKED: usize = 16 * 1024 * 1024;
/// What a flush leaves behind in gzip and deflate.
const FLUSHED: &[u8] = &[0, 0, 0xff, 0xff];
/// Longest block that holds its bytes as they are; Zstandard's are as long as its window, which is no shorter than this.
const LONGEST_STORED: usize = 0xffff;
const LONGEST_RAW: usize = 1024;

/// A compressed stream as it came.
#[derive(Debug)]
pub(crate) struct Packed {
    encoding: String,
    raw: Vec<u8>,
    /// It was too long to be kept.
    lost: bool,
    /// Not worth another try before it is so long.
    not_before: usize,
}

impl Packed {
    pub(crate) fn new(encoding: &str) -> Self {
        Self { encoding: encoding.trim().to_owned(), raw: Vec::new(), lost: false, not_before: 0 }
    }

    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.lost |= self.raw.len() + bytes.len() > MOST;
        if self.lost {
            self.raw = Vec::new();
        } else {
            self.raw.extend_from_slice(bytes);
        }
    }

    /// Bytes kept.
    pub(crate) fn kept(&self) -> usize {
        self.raw.len()
    }

    /// All that has come, if it could be kept.
    pub(super) fn raw(&self) -> Option<&[u8]> {
        (!self.lost).then_some(&self.raw)
    }

    /// The bytes that make `text` the end of this stream: at least so many of them, filled up with line feeds.
    pub(crate) fn ending(&mut self, text: &str, at_least: usize) -> Option<Vec<u8>> {
        if self.lost || self.raw.len() < self.not_before {
            return None;
        }
        let found = self.find_ending(text, at_least);
        if found.is_none() {
            // Each try unpacks everything.
            self.not_before = self.raw.len() + self.raw.len() / 4;
        }
        found
    }

    fn find_ending(&self, text: &str, at_least: usize) -> Option<Vec<u8>> {
        let mut whole = self.unpacked()?;
        let before = whole.len();
        whole.extend_from_slice(text.as_bytes());
        let mut packed = self.pack(&whole, before)?;
        if packed.len() < at_least {
            whole.resize(whole.len() + at_least - packed.len(), b'\n');
            packed = self.pack(&whole, before)?;
        }
        let again = unpack(&self.encoding, &[&self.raw, packed.as_slice()].concat())?;
        (again == whole).then_some(packed)
    }

    /// What has come so far.
    fn unpacked(&self) -> Option<Vec<u8>> {
        if self.encoding == "zstd" {
            return zstd::so_far(&self.raw, MOST_UNPACKED);
        }
        let (mut out, mut fits) = (Vec::new(), true);
        let good = Decoded::new(Some(&self.encoding))?.feed(&self.raw, &mut |bytes| {
            fits &= out.len() + bytes.len() <= MOST_UNPACKED;
            if fits {
                out.extend_from_slice(bytes);
            }
        });
        (good && fits).then_some(out)
    }

    /// Packs all of `whole` from `from` on as an end of this stream.
    fn pack(&self, whole: &[u8], from: usize) -> Option<Vec<u8>> {
        let text = &whole[from..];
        match self.encoding.as_str() {
            "gzip" | "x-gzip" => {
                let mut crc = Crc::new();
                crc.update(whole);
                let mut packed = self.stored(text)?;
                packed.extend_from_slice(&crc.sum().to_le_bytes());
                packed.extend_from_slice(&crc.amount().to_le_bytes());
                Some(packed)
            }
            "deflate" => {
                let mut packed = self.stored(text)?;
                if !super::is_bare(&self.raw) {
                    packed.extend_from_slice(&adler32(whole).to_be_bytes());
                }
                Some(packed)
            }
            "br" => Some(brotli(text)),
            "zstd" => {
                let frame = zstd::Frame::read(&self.raw)?;
                let mut packed = raw_blocks(text);
                if frame.checksum {
                    packed.extend_from_slice(&(xxh64(whole, 0) as u32).to_le_bytes());
                }
                (frame.is_open() && !frame.sized).then_some(packed)
            }
            _ => None,
        }
    }

    fn stored(&self, text: &[u8]) -> Option<Vec<u8>> {
        self.raw.ends_with(FLUSHED).then(|| stored_blocks(text))
    }
}

/// Blocks of deflate: a bit that marks the last, two that say how it is packed, then at the next byte its length, the
/// length's complement and the bytes.
fn stored_blocks(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 16);
    let mut blocks = text.chunks(LONGEST_STORED).peekable();
    while let Some(block) = blocks.next() {
        let length = block.len() as u16;
        out.push(u8::from(blocks.peek().is_none()));
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(&(!length).to_le_bytes());
        out.extend_from_slice(block);
    }
    out
}

/// Meta-blocks of brotli: not the last, four nibbles of length, not compressed, at the next byte the bytes; then one
/// that is the last and empty.
fn brotli(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 16);
    for block in text.chunks(LONGEST_STORED) {
        let header = ((block.len() as u32 - 1) << 3) | (1 << 19);
        out.extend_from_slice(&header.to_le_bytes()[..3]);
        out.extend_from_slice(block);
    }
    out.push(0b11);
    out
}

/// Raw blocks of Zstandard: in three bytes whether it is the last, its kind and its length.
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

fn adler32(bytes: &[u8]) -> u32 {
    let (mut a, mut b) = (1_u32, 0_u32);
    // So many bytes cannot overflow.
    for piece in bytes.chunks(5552) {
        for byte in piece {
            a += u32::from(*byte);
            b += a;
        }
        (a, b) = (a % 65_521, b % 65_521);
    }
    b << 16 | a
}

/// A whole stream, unpacked as a client does it; `None` when it is not well-formed to its last byte.
fn unpack(encoding: &str, packed: &[u8]) -> Option<Vec<u8>> {
    let mut rest = packed;
    let mut out = Vec::new();
    // Far enough beyond the limit that words of ours fit, and the checksum behind them is read.
    let limit = 2 * MOST_UNPACKED as u64;
    match encoding {
        "gzip" | "x-gzip" => flate2::bufread::GzDecoder::new(&mut rest).take(limit).read_to_end(&mut out),
        "deflate" if super::is_bare(packed) => {
            flate2::bufread::DeflateDecoder::new(&mut rest).take(limit).read_to_end(&mut out)
        }
        "deflate" => flate2::bufread::ZlibDecoder::new(&mut rest).take(limit).read_to_end(&mut out),
        "br" => {
            // Reads in large pieces, so that it does not tell what it left; a byte too many would be an error.
            let read = brotli_decompressor::Decompressor::new(rest, 4096).take(limit).read_to_end(&mut out);
            rest = &[];
            read
        }
        "zstd" => {
            let mut decoder = ruzstd::decoding::StreamingDecoder::new(&mut rest).ok()?;
            decoder.by_ref().take(limit).read_to_end(&mut out)
        }
        _ => return None,
    }
    .ok()?;
    rest.is_empty().then_some(out)
}

#[cfg(test)]
mod tests;
