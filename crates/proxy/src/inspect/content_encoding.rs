//! Bodies that come compressed, made readable for inspection. The relay passes them on as they are.
//!
//! # Another end for a compressed stream
//!
//! Whoever compresses a stream of events flushes after each of them, or nobody would see them arrive. A flush leaves
//! the stream at a whole byte and, in all four encodings, in a place where a block may begin; and all four know blocks
//! that hold their bytes as they are. So words of ours go into such a block, which is marked as the last one, and the
//! checksum of everything follows where there is one: the client unpacks one stream, properly ended.
//!
//! Not every place where the text stands between two events is such a place, and an end must not be used before it is
//! known to fit. What has to be kept for that differs:
//!
//! | encoding | where a block may begin is known from | kept of a stream, however long |
//! |---|---|---|
//! | gzip, deflate | a copy of the decoder, which tries the end | its window of 32 KiB, a checksum |
//! | brotli | where the decoder stands; another one in its place tries the end | its window |
//! | Zstandard | the outline of its blocks, each of which the decoder has read | its window, a checksum |

mod brotli;
mod deflate;
mod zstd;

use brotli::BrotliDecoder;
use deflate::DeflateDecoder;
use zstd::Zstd;

/// Most bytes one body may unpack to: a small body can hold a very large one.
const MAX_DECODED_BYTES: usize = 64 * 1024 * 1024;
/// How much is unpacked before it is shown: a few bytes can hold very many.
const OUTPUT_CHUNK_BYTES: usize = 16 * 1024;
/// Longest block of gzip, deflate and brotli that holds its bytes as they are.
const MAX_STORED_BLOCK: usize = 0xffff;

/// Makes a stream of compressed bytes readable.
pub(crate) enum ContentDecoder {
    /// It is readable as it is.
    Plain,
    Inflate(DeflateDecoder),
    Brotli(BrotliDecoder),
    Zstd(Box<Zstd>),
}

impl std::fmt::Debug for ContentDecoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Plain => "Plain",
            Self::Inflate(_) => "Inflate",
            Self::Brotli(_) => "Brotli",
            Self::Zstd(_) => "Zstd",
        })
    }
}

impl ContentDecoder {
    /// For an encoding; `None` when we cannot read it.
    pub(crate) fn new(encoding: Option<&str>) -> Option<Self> {
        match encoding.map(|encoding| encoding.trim().to_ascii_lowercase()).as_deref() {
            None | Some("" | "identity") => Some(Self::Plain),
            Some("gzip" | "x-gzip") => Some(Self::Inflate(DeflateDecoder::gzip())),
            Some("deflate") => Some(Self::Inflate(DeflateDecoder::deflate())),
            Some("br") => Some(Self::Brotli(BrotliDecoder::new())),
            Some("zstd") => Some(Self::Zstd(Box::default())),
            Some(_) => None,
        }
    }

    /// Takes the next bytes and shows what can be read; `false` when it is not what it claims to be.
    pub(crate) fn feed(&mut self, bytes: &[u8], each: &mut dyn FnMut(&[u8])) -> bool {
        match self {
            Self::Plain => {
                each(bytes);
                true
            }
            Self::Inflate(inflate) => inflate.feed(bytes, each),
            Self::Brotli(brotli) => brotli.feed(bytes, each),
            Self::Zstd(zstd) => zstd.feed(bytes, each),
        }
    }

    /// Bytes kept that may be many.
    pub(crate) fn buffered_bytes(&self) -> usize {
        match self {
            Self::Plain | Self::Inflate(_) => 0,
            Self::Brotli(brotli) => brotli.buffered_bytes(),
            Self::Zstd(zstd) => zstd.buffered_bytes(),
        }
    }

    /// Whether the stream could be ended, maybe not right here.
    pub(crate) fn can_append(&self) -> bool {
        match self {
            Self::Zstd(zstd) => zstd.can_append(),
            _ => true,
        }
    }

    /// The bytes that make `text` the end of this stream: at least so many of them, filled up with line feeds. `None`
    /// where no block may begin.
    pub(crate) fn append_final_block(&mut self, text: &str, at_least: usize) -> Option<Vec<u8>> {
        match self {
            Self::Plain => Some(filled(text, at_least, <[u8]>::to_vec).1),
            Self::Inflate(inflate) => inflate.append_final_block(text, at_least),
            Self::Brotli(brotli) => brotli.append_final_block(text, at_least),
            Self::Zstd(zstd) => zstd.append_final_block(text, at_least),
        }
    }
}

/// Text that is long enough to be packed into at least so many bytes, and packed: an empty line between events means
/// nothing.
fn filled(text: &str, at_least: usize, pack: impl Fn(&[u8]) -> Vec<u8>) -> (Vec<u8>, Vec<u8>) {
    let mut text = text.as_bytes().to_vec();
    let mut packed = pack(&text);
    if packed.len() < at_least {
        text.resize(text.len() + at_least - packed.len(), b'\n');
        packed = pack(&text);
    }
    (text, packed)
}

/// A whole request body, unpacked; `None` when we cannot read it.
pub(crate) fn decode_all(encoding: &str, body: &[u8]) -> Option<Vec<u8>> {
    if encoding.trim() == "zstd" {
        return zstd::decode_all(body, MAX_DECODED_BYTES);
    }
    let mut unpacked = Vec::new();
    let mut fits = true;
    let mut decoded = ContentDecoder::new(Some(encoding))?;
    for piece in body.chunks(64 * 1024) {
        let good = decoded.feed(piece, &mut |bytes| {
            fits &= unpacked.len() + bytes.len() <= MAX_DECODED_BYTES;
            if fits {
                unpacked.extend_from_slice(bytes);
            }
        });
        if !good || !fits {
            return None;
        }
    }
    Some(unpacked)
}

#[cfg(test)]
mod endings;
#[cfg(test)]
mod tests;
