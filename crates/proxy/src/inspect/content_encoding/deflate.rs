//! gzip and deflate, piece by piece.

use crc32fast::Hasher;
use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZError, MZFlush, MZStatus};

use super::{MAX_STORED_BLOCK, OUTPUT_CHUNK_BYTES, filled};

/// The bytes that a flush emits.
const SYNC_FLUSH_MARKER: [u8; 4] = [0, 0, 0xff, 0xff];
/// Maximum length of a gzip header, which may contain a name and a comment.
const MAX_GZIP_HEADER_BYTES: usize = 64 * 1024;
/// Length of the gzip trailer: checksum and size.
const GZIP_TRAILER_BYTES: usize = 8;

/// The container format around the blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Container {
    Gzip,
    /// zlib, which HTTP calls deflate.
    Zlib,
    /// No container, which some servers send as deflate.
    Bare,
}

/// Decodes one stream.
pub(crate) struct DeflateDecoder {
    wrap: Container,
    /// The start of an incomplete gzip header.
    header: Option<Vec<u8>>,
    begun: bool,
    blocks: Box<InflateState>,
    /// Checksum of the decoded text, and its length modulo 2^32.
    checksum: Hasher,
    length: u32,
    /// The last bytes received.
    tail: [u8; 4],
    over: bool,
}

impl DeflateDecoder {
    pub(super) fn gzip() -> Self {
        Self { header: Some(Vec::new()), ..Self::new(Container::Gzip) }
    }

    /// With or without a zlib header; the first byte decides.
    pub(super) fn deflate() -> Self {
        Self::new(Container::Zlib)
    }

    fn new(wrap: Container) -> Self {
        let format = if wrap == Container::Zlib { DataFormat::Zlib } else { DataFormat::Raw };
        Self {
            wrap,
            header: None,
            begun: false,
            blocks: InflateState::new_boxed(format),
            checksum: Hasher::new(),
            length: 0,
            tail: [0; 4],
            over: false,
        }
    }

    /// Decodes the next bytes and passes on the text; `false` if they are invalid.
    pub(super) fn feed(&mut self, bytes: &[u8], each: &mut dyn FnMut(&[u8])) -> bool {
        let Some(first) = bytes.first() else { return true };
        if !self.begun && self.wrap == Container::Zlib && first & 0x0f != 8 {
            *self = Self::new(Container::Bare);
        }
        self.begun = true;
        let kept = bytes.len().min(self.tail.len());
        self.tail.rotate_left(kept);
        self.tail[4 - kept..].copy_from_slice(&bytes[bytes.len() - kept..]);
        let Some(mut header) = self.header.take() else { return self.unpack(bytes, each) };
        header.extend_from_slice(bytes);
        match end_of_header(&header) {
            Ok(Some(end)) => self.unpack(&header[end..], each),
            Ok(None) if header.len() <= MAX_GZIP_HEADER_BYTES => {
                self.header = Some(header);
                true
            }
            _ => false,
        }
    }

    fn unpack(&mut self, mut bytes: &[u8], each: &mut dyn FnMut(&[u8])) -> bool {
        let mut out = [0; OUTPUT_CHUNK_BYTES];
        while !self.over {
            let step = inflate(&mut self.blocks, bytes, &mut out, MZFlush::None);
            bytes = &bytes[step.bytes_consumed..];
            let text = &out[..step.bytes_written];
            if !text.is_empty() {
                self.checksum.update(text);
                self.length = self.length.wrapping_add(text.len() as u32);
                each(text);
            }
            match step.status {
                Ok(MZStatus::StreamEnd) => self.over = true,
                Ok(_) if step.bytes_consumed + step.bytes_written > 0 => {}
                Ok(_) | Err(MZError::Buf) => break,
                Err(_) => return false,
            }
        }
        true
    }

    /// The bytes that make `text` the end of this stream, see [`super::Decoded::ending`].
    pub(super) fn append_final_block(&self, text: &str, at_least: usize) -> Option<Vec<u8>> {
        if self.over || self.header.is_some() || self.tail != SYNC_FLUSH_MARKER {
            return None;
        }
        let (text, packed) = filled(text, at_least, |text| self.pack(text));
        self.ends_with(&packed, &text).then_some(packed)
    }

    fn pack(&self, text: &[u8]) -> Vec<u8> {
        let mut packed = stored_blocks(text);
        match self.wrap {
            Container::Bare => {}
            Container::Zlib => {
                let so_far = self.blocks.clone().decompressor().adler32().unwrap_or(1);
                packed.extend_from_slice(&adler32(so_far, text).to_be_bytes());
            }
            Container::Gzip => {
                let mut checksum = self.checksum.clone();
                checksum.update(text);
                packed.extend_from_slice(&checksum.finalize().to_le_bytes());
                packed.extend_from_slice(&self.length.wrapping_add(text.len() as u32).to_le_bytes());
            }
        }
        packed
    }

    /// Whether a decoder in the same state accepts `packed` as the end and decodes it to `text`.
    fn ends_with(&self, packed: &[u8], text: &[u8]) -> bool {
        let mut blocks = self.blocks.clone();
        let blocks_end = packed.len() - if self.wrap == Container::Gzip { GZIP_TRAILER_BYTES } else { 0 };
        let (mut rest, mut unread, mut out) = (&packed[..blocks_end], text, [0; OUTPUT_CHUNK_BYTES]);
        loop {
            let step = inflate(&mut blocks, rest, &mut out, MZFlush::None);
            rest = &rest[step.bytes_consumed..];
            let Some(after) = unread.strip_prefix(&out[..step.bytes_written]) else { return false };
            unread = after;
            match step.status {
                Ok(MZStatus::StreamEnd) => return rest.is_empty() && unread.is_empty(),
                Ok(_) if step.bytes_consumed + step.bytes_written > 0 => {}
                _ => return false,
            }
        }
    }
}

/// End of a gzip header; `None` while it is incomplete.
fn end_of_header(bytes: &[u8]) -> Result<Option<usize>, ()> {
    const MAGIC: [u8; 3] = [0x1f, 0x8b, 8];
    let known = bytes.len().min(MAGIC.len());
    if bytes[..known] != MAGIC[..known] {
        return Err(());
    }
    let Some(flags) = bytes.get(3).filter(|_| bytes.len() >= 10) else { return Ok(None) };
    let mut end = 10;
    if flags & 0b100 != 0 {
        let Some(length) = bytes.get(end..end + 2) else { return Ok(None) };
        end += 2 + usize::from(u16::from_le_bytes([length[0], length[1]]));
    }
    // A name, then a comment.
    for flag in [0b1000, 0b1_0000] {
        if flags & flag != 0 {
            let Some(length) = bytes.get(end..).and_then(|rest| memchr::memchr(0, rest)) else { return Ok(None) };
            end += length + 1;
        }
    }
    if flags & 0b10 != 0 {
        end += 2;
    }
    Ok((end <= bytes.len()).then_some(end))
}

/// Encodes text as stored deflate blocks: one bit marks the last block, two give its type; the byte-aligned length, its
/// complement and the bytes follow.
fn stored_blocks(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 16);
    let mut blocks = text.chunks(MAX_STORED_BLOCK).peekable();
    while let Some(block) = blocks.next() {
        let length = block.len() as u16;
        out.push(u8::from(blocks.peek().is_none()));
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(&(!length).to_le_bytes());
        out.extend_from_slice(block);
    }
    out
}

/// Updates zlib's checksum (Adler-32).
fn adler32(so_far: u32, bytes: &[u8]) -> u32 {
    let (mut a, mut b) = (so_far & 0xffff, so_far >> 16);
    // This many bytes cannot overflow the sums.
    for piece in bytes.chunks(5552) {
        for byte in piece {
            a += u32::from(*byte);
            b += a;
        }
        (a, b) = (a % 65_521, b % 65_521);
    }
    b << 16 | a
}
