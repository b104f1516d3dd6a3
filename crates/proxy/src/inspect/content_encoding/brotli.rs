//! Brotli, piece by piece.

use std::mem::discriminant;

use brotli_decompressor::{BrotliDecompressStream, BrotliResult, BrotliState, StandardAlloc};

use super::{MAX_STORED_BLOCK, OUTPUT_CHUNK_BYTES, filled};

type State = BrotliState<StandardAlloc, StandardAlloc, StandardAlloc>;

/// A stream that contains only a flush: a block may start after it.
const FLUSHED_EMPTY_STREAM: [u8; 2] = [0x6b, 0];

/// Decodes one stream.
pub(crate) struct BrotliDecoder {
    state: Box<State>,
    /// Decoded bytes so far.
    length: usize,
    over: bool,
}

impl BrotliDecoder {
    pub(super) fn new() -> Self {
        let alloc = StandardAlloc::default;
        // Large windows of up to 1 GiB are not part of the HTTP content coding.
        let state = Box::new(BrotliState::new_strict(alloc(), alloc(), alloc()));
        Self { state, length: 0, over: false }
    }

    /// Bytes retained: the filled part of the window.
    pub(super) fn buffered_bytes(&self) -> usize {
        self.length.min(usize::try_from(self.state.ringbuffer_size).unwrap_or_default())
    }

    /// Consumes bytes and passes on the decoded text; `false` if they are not valid Brotli.
    pub(super) fn feed(&mut self, bytes: &[u8], each: &mut dyn FnMut(&[u8])) -> bool {
        let (mut at, mut left, mut out) = (0, bytes.len(), [0; OUTPUT_CHUNK_BYTES]);
        while !self.over {
            let (mut end, mut room) = (0, out.len());
            let (length, state) = (&mut self.length, &mut self.state);
            let result =
                BrotliDecompressStream(&mut left, &mut at, bytes, &mut room, &mut end, &mut out, length, state);
            if end > 0 {
                each(&out[..end]);
            }
            match result {
                BrotliResult::NeedsMoreInput => return true,
                BrotliResult::NeedsMoreOutput => {}
                BrotliResult::ResultSuccess => self.over = true,
                BrotliResult::ResultFailure => return false,
            }
        }
        true
    }

    /// The bytes that make `text` the end of this stream, see [`super::Decoded::ending`].
    pub(super) fn append_final_block(&self, text: &str, at_least: usize) -> Option<Vec<u8>> {
        // A second decoder that is known to wait for a block at a byte boundary. Uncompressed blocks need no earlier
        // data, so bytes that end its stream also end ours.
        let mut other = Self::new();
        if !other.feed(&FLUSHED_EMPTY_STREAM, &mut |_| {}) || self.over || !self.stands_like(&other) {
            return None;
        }
        let (text, packed) = filled(text, at_least, pack);
        let mut read = Vec::with_capacity(text.len());
        let good = other.feed(&packed, &mut |bytes| read.extend_from_slice(bytes));
        (good && other.over && read == text).then_some(packed)
    }

    /// Whether both decoders are in the same state. One that waits for the first bit of a block has consumed all its
    /// input.
    fn stands_like(&self, other: &Self) -> bool {
        let (own, other) = (&self.state, &other.state);
        discriminant(&own.state) == discriminant(&other.state)
            && discriminant(&own.substate_metablock_header) == discriminant(&other.substate_metablock_header)
            && own.buffer_length == 0
    }
}

/// Meta-blocks: not last, a length of four nibbles, uncompressed, byte-aligned content; then one that is last and
/// empty.
fn pack(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 16);
    for block in text.chunks(MAX_STORED_BLOCK) {
        let header = ((block.len() as u32 - 1) << 3) | (1 << 19);
        out.extend_from_slice(&header.to_le_bytes()[..3]);
        out.extend_from_slice(block);
    }
    out.push(0b11);
    out
}
