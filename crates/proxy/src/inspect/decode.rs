//! Bodies that come compressed, made readable for inspection. The relay passes them on as they are.

use std::io::{Read, Write};

use flate2::write::{DeflateDecoder, GzDecoder, ZlibDecoder};

/// Most bytes one body may unpack to: a small body can hold a very large one.
const MOST: usize = 64 * 1024 * 1024;

/// Makes a stream of compressed bytes readable.
#[derive(Debug)]
pub(crate) enum Decoded {
    /// It is readable as it is.
    Plain,
    Gzip(Box<GzDecoder<Vec<u8>>>),
    /// What HTTP calls deflate is zlib, but some send it bare.
    Deflate(Box<ZlibDecoder<Vec<u8>>>),
    Bare(Box<DeflateDecoder<Vec<u8>>>),
}

impl Decoded {
    /// For a `Content-Encoding`; `None` when we cannot read it.
    pub(crate) fn new(encoding: Option<&str>) -> Option<Self> {
        match encoding.map(str::trim) {
            None | Some("" | "identity") => Some(Self::Plain),
            Some("gzip" | "x-gzip") => Some(Self::Gzip(Box::new(GzDecoder::new(Vec::new())))),
            Some("deflate") => Some(Self::Deflate(Box::new(ZlibDecoder::new(Vec::new())))),
            Some(_) => None,
        }
    }

    pub(crate) fn is_plain(&self) -> bool {
        matches!(self, Self::Plain)
    }

    /// Takes the next bytes and shows what can be read; `false` when it is not what it claims to be.
    pub(crate) fn feed(&mut self, bytes: &[u8], each: &mut dyn FnMut(&[u8])) -> bool {
        match self {
            Self::Plain => {
                each(bytes);
                true
            }
            Self::Gzip(gzip) => {
                let good = gzip.write_all(bytes).and_then(|()| gzip.flush()).is_ok();
                show(gzip.get_mut(), each);
                good
            }
            Self::Deflate(zlib) => {
                if zlib.total_in() == 0 && bytes.first().is_some_and(|first| first & 0x0f != 8) {
                    *self = Self::Bare(Box::new(DeflateDecoder::new(Vec::new())));
                    return self.feed(bytes, each);
                }
                let good = zlib.write_all(bytes).and_then(|()| zlib.flush()).is_ok();
                show(zlib.get_mut(), each);
                good
            }
            Self::Bare(bare) => {
                let good = bare.write_all(bytes).and_then(|()| bare.flush()).is_ok();
                show(bare.get_mut(), each);
                good
            }
        }
    }
}

fn show(unpacked: &mut Vec<u8>, each: &mut dyn FnMut(&[u8])) {
    if !unpacked.is_empty() {
        each(unpacked);
        unpacked.clear();
    }
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
