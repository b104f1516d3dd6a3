//! Decodes compressed bodies for inspection. The relay forwards them unchanged.
//!
//! # Ending a compressed stream early
//!
//! A server that compresses a stream of events flushes after each event. After a flush, the stream is byte-aligned and a
//! new block may begin, in all four encodings; all four also have uncompressed blocks. To end a stream early, Belay sends
//! its own final events in an uncompressed block marked as the last, followed by the checksum if the encoding has one. The
//! client decodes one well-formed stream.
//!
//! A block may not begin between any two events, so an ending is used only if it is known to be valid at the current
//! position. The state needed for that depends on the encoding:
//!
//! | encoding | how a valid position is detected | state retained, regardless of stream length |
//! |---|---|---|
//! | gzip, deflate | a copy of the decoder tries the ending | its window of 32 KiB, a checksum |
//! | brotli | a second decoder in the same state tries the ending | its window |
//! | Zstandard | the block boundaries that the decoder has read | its window, a checksum |

mod brotli;
mod deflate;
mod zstd;

use brotli::BrotliDecoder;
use deflate::DeflateDecoder;
use zstd::Zstd;

/// Maximum decoded size of a body, as protection against decompression bombs.
const MAX_DECODED_BYTES: usize = 64 * 1024 * 1024;
/// Decoded bytes passed on at once; a few compressed bytes can decode to very many.
const OUTPUT_CHUNK_BYTES: usize = 16 * 1024;
/// Maximum length of an uncompressed block in gzip, deflate and brotli.
const MAX_STORED_BLOCK: usize = 0xffff;

/// Decodes a stream.
pub(crate) enum ContentDecoder {
    /// Not encoded.
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
    /// A decoder for an encoding; `None` if it is not supported.
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

    /// Decodes the next bytes and passes on the result; `false` if the data is invalid.
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

    /// Size of the retained state, if it is large.
    pub(crate) fn buffered_bytes(&self) -> usize {
        match self {
            Self::Plain | Self::Inflate(_) => 0,
            Self::Brotli(brotli) => brotli.buffered_bytes(),
            Self::Zstd(zstd) => zstd.buffered_bytes(),
        }
    }

    /// Whether the stream can be ended at some position, possibly not at this one.
    pub(crate) fn can_append(&self) -> bool {
        match self {
            Self::Zstd(zstd) => zstd.can_append(),
            _ => true,
        }
    }

    /// The bytes that make `text` the end of this stream: at least `min_bytes`, padded with line feeds. `None` if no
    /// block may start here.
    pub(crate) fn append_final_block(&mut self, text: &str, at_least: usize) -> Option<Vec<u8>> {
        match self {
            Self::Plain => Some(filled(text, at_least, <[u8]>::to_vec).1),
            Self::Inflate(inflate) => inflate.append_final_block(text, at_least),
            Self::Brotli(brotli) => brotli.append_final_block(text, at_least),
            Self::Zstd(zstd) => zstd.append_final_block(text, at_least),
        }
    }
}

/// Pads the text so that it encodes to at least `min_bytes`, and encodes it: empty lines between events have no
/// meaning.
fn filled(text: &str, at_least: usize, pack: impl Fn(&[u8]) -> Vec<u8>) -> (Vec<u8>, Vec<u8>) {
    let mut text = text.as_bytes().to_vec();
    let mut packed = pack(&text);
    if packed.len() < at_least {
        text.resize(text.len() + at_least - packed.len(), b'\n');
        packed = pack(&text);
    }
    (text, packed)
}

/// Decodes a complete request body; `None` if that is not possible.
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
