//! Bodies that come compressed, made readable for inspection. The relay passes them on as they are.

mod repack;
mod zstd;

use std::io::{Read, Write};

use brotli_decompressor::DecompressorWriter;
use flate2::write::{DeflateDecoder, GzDecoder, ZlibDecoder};

pub(crate) use repack::Packed;

/// Most bytes one body may unpack to: a small body can hold a very large one.
const MOST: usize = 64 * 1024 * 1024;
/// Room for brotli's work.
const BROTLI: usize = 16 * 1024;

/// Makes a stream of compressed bytes readable.
pub(crate) enum Decoded {
    /// It is readable as it is.
    Plain,
    Gzip(Box<GzDecoder<Vec<u8>>>),
    /// What HTTP calls deflate is zlib, but some send it bare.
    Deflate(Box<ZlibDecoder<Vec<u8>>>),
    Bare(Box<DeflateDecoder<Vec<u8>>>),
    Brotli(Box<DecompressorWriter<Vec<u8>>>),
    Zstd(Box<zstd::Zstd>),
}

impl std::fmt::Debug for Decoded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Plain => "Plain",
            Self::Gzip(_) => "Gzip",
            Self::Deflate(_) | Self::Bare(_) => "Deflate",
            Self::Brotli(_) => "Brotli",
            Self::Zstd(_) => "Zstd",
        })
    }
}

impl Decoded {
    /// For a `Content-Encoding`; `None` when we cannot read it.
    pub(crate) fn new(encoding: Option<&str>) -> Option<Self> {
        match encoding.map(str::trim) {
            None | Some("" | "identity") => Some(Self::Plain),
            Some("gzip" | "x-gzip") => Some(Self::Gzip(Box::new(GzDecoder::new(Vec::new())))),
            Some("deflate") => Some(Self::Deflate(Box::new(ZlibDecoder::new(Vec::new())))),
            Some("br") => Some(Self::Brotli(Box::new(DecompressorWriter::new(Vec::new(), BROTLI)))),
            Some("zstd") => Some(Self::Zstd(Box::default())),
            Some(_) => None,
        }
    }

    pub(crate) fn is_plain(&self) -> bool {
        matches!(self, Self::Plain)
    }

    /// Shows what can be read of all that has come and was held back until now. It is not always worth it, unless it
    /// has to be done `now`.
    pub(crate) fn look(&mut self, packed: &Packed, now: bool, each: &mut dyn FnMut(&[u8])) {
        if let (Self::Zstd(zstd), Some(raw)) = (self, packed.raw()) {
            zstd.look(raw, now, each);
        }
    }

    /// Whether nothing that has come is held back.
    pub(crate) fn has_shown(&self, packed: &Packed) -> bool {
        match self {
            Self::Zstd(zstd) => packed.raw().is_some_and(|raw| zstd.has_looked_at(raw.len())),
            _ => true,
        }
    }

    /// Bytes kept that cannot be shown yet.
    pub(crate) fn kept(&self) -> usize {
        match self {
            Self::Zstd(zstd) => zstd.kept(),
            _ => 0,
        }
    }

    /// Takes the next bytes and shows what can be read; `false` when it is not what it claims to be.
    pub(crate) fn feed(&mut self, bytes: &[u8], each: &mut dyn FnMut(&[u8])) -> bool {
        if let Self::Deflate(zlib) = self
            && zlib.total_in() == 0
            && is_bare(bytes)
        {
            *self = Self::Bare(Box::new(DeflateDecoder::new(Vec::new())));
        }
        match self {
            Self::Plain => {
                each(bytes);
                true
            }
            Self::Gzip(gzip) => unpack(&mut **gzip, GzDecoder::get_mut, bytes, each),
            Self::Deflate(zlib) => unpack(&mut **zlib, ZlibDecoder::get_mut, bytes, each),
            Self::Bare(bare) => unpack(&mut **bare, DeflateDecoder::get_mut, bytes, each),
            Self::Brotli(brotli) => unpack(&mut **brotli, DecompressorWriter::get_mut, bytes, each),
            Self::Zstd(zstd) => zstd.feed(bytes, each),
        }
    }

    /// There is no more: shows what had to wait for that.
    pub(crate) fn finish(&mut self, each: &mut dyn FnMut(&[u8])) {
        if let Self::Zstd(zstd) = self {
            zstd.finish(each);
        }
    }
}

/// Whether what calls itself deflate comes without zlib's header.
fn is_bare(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(|first| first & 0x0f != 8)
}

/// Unpacks bytes through a writer whose inner one can be got at.
fn unpack<W: Write>(
    writer: &mut W,
    inner: fn(&mut W) -> &mut Vec<u8>,
    bytes: &[u8],
    each: &mut dyn FnMut(&[u8]),
) -> bool {
    let mut good = true;
    // In small pieces: a small piece cannot unpack to a very large one before it is shown.
    for piece in bytes.chunks(4 * 1024) {
        good = good && writer.write_all(piece).and_then(|()| writer.flush()).is_ok();
        let unpacked = inner(writer);
        if !unpacked.is_empty() {
            each(unpacked);
            unpacked.clear();
        }
    }
    good
}

/// A whole request body, unpacked; `None` when we cannot read it.
pub(crate) fn whole(encoding: &str, body: &[u8]) -> Option<Vec<u8>> {
    if encoding.trim() == "zstd" {
        let decoder = ruzstd::decoding::StreamingDecoder::new(body).ok()?;
        let mut unpacked = Vec::new();
        decoder.take(MOST as u64 + 1).read_to_end(&mut unpacked).ok()?;
        return (unpacked.len() <= MOST).then_some(unpacked);
    }
    let mut unpacked = Vec::new();
    let mut fits = true;
    let mut decoded = Decoded::new(Some(encoding))?;
    for piece in body.chunks(64 * 1024) {
        let good = decoded.feed(piece, &mut |bytes| {
            fits &= unpacked.len() + bytes.len() <= MOST;
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
mod tests;
