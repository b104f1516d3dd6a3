//! Compressed responses, flushed after each event as streaming servers do.
//!
//! Zstandard and Brotli use uncompressed blocks, so no library is needed.

use crate::script::ContentEncoding;

/// Compresses one stream.
pub(crate) enum Compressor {
    #[cfg(feature = "compressed")]
    Gzip(flate2::write::GzEncoder<Vec<u8>>),
    /// The frame header, until the first block is written.
    Zstd(&'static [u8]),
    /// Whether the window size is still to be written.
    Brotli(bool),
}

impl Compressor {
    /// `None` if the encoding is not compiled in.
    pub(crate) fn new(packing: ContentEncoding) -> Option<Self> {
        match packing {
            #[cfg(feature = "compressed")]
            ContentEncoding::Gzip => {
                Some(Self::Gzip(flate2::write::GzEncoder::new(vec![], flate2::Compression::default())))
            }
            #[cfg(not(feature = "compressed"))]
            ContentEncoding::Gzip => None,
            // A frame without checksum or length, and a window of 2 MB.
            ContentEncoding::Zstd => Some(Self::Zstd(&[0x28, 0xb5, 0x2f, 0xfd, 0, 0x58])),
            ContentEncoding::Brotli => Some(Self::Brotli(true)),
        }
    }

    /// Compresses one event and flushes it.
    pub(crate) fn event(&mut self, event: &[u8]) -> Vec<u8> {
        match self {
            #[cfg(feature = "compressed")]
            Self::Gzip(gzip) => {
                use std::io::Write as _;
                // Writing to memory does not fail.
                let _ = gzip.write_all(event).and_then(|()| gzip.flush());
                std::mem::take(gzip.get_mut())
            }
            Self::Zstd(before) => {
                let mut out = std::mem::take(before).to_vec();
                for block in event.chunks(128 * 1024) {
                    out.extend_from_slice(&((block.len() as u32) << 3).to_le_bytes()[..3]);
                    out.extend_from_slice(block);
                }
                out
            }
            Self::Brotli(first) => {
                let mut out = Vec::new();
                for block in event.chunks(0xffff) {
                    let window = u32::from(std::mem::take(first));
                    let header = (((block.len() as u32 - 1) << 3) | (1 << 19)) << window;
                    out.extend_from_slice(&header.to_le_bytes()[..3]);
                    out.extend_from_slice(block);
                }
                out
            }
        }
    }

    /// The end of the stream.
    pub(crate) fn end(self) -> Vec<u8> {
        match self {
            #[cfg(feature = "compressed")]
            Self::Gzip(gzip) => gzip.finish().unwrap_or_default(),
            Self::Zstd(_) => vec![1, 0, 0],
            Self::Brotli(_) => vec![0b11],
        }
    }
}

/// Compresses all events.
pub(crate) fn compress<'a>(
    packer: Compressor,
    mut events: Box<dyn Iterator<Item = Vec<u8>> + Send + 'a>,
) -> impl Iterator<Item = Vec<u8>> + Send + 'a {
    let mut packer = Some(packer);
    std::iter::from_fn(move || match events.next() {
        Some(event) => Some(packer.as_mut()?.event(&event)),
        None => Some(packer.take()?.end()),
    })
}
