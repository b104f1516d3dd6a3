//! Estimates usage that the upstream does not report.
//!
//! Chat Completions report usage only on request, local models often never, and a stream that is interrupted or cut ends
//! before its usage. Recording nothing would let a session exceed every budget, so missing figures are estimated from the
//! output and from the length of the prompt. Reported figures stay as they are, with one exception: in an incomplete
//! stream a larger estimate of the output wins, because the last reported figure is from the start of the stream. A
//! response without output and without usage costs nothing.

use belay_core::event::Usage;

use super::wire::ResponseSummary;

const BYTES_PER_TOKEN: u64 = 4;
/// The prompt is sampled for base64 once per stride. A long prompt gets at most [`MAX_SAMPLES`] samples, since each is a
/// cache miss.
const SAMPLE_STRIDE: usize = 4096;
const SAMPLE_BYTES: usize = 48;
const MAX_SAMPLES: usize = 64;

/// What is known about the cost of a prompt before the response reports it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PromptTokens {
    /// The estimated tokens; 0 if the body was not read.
    pub(crate) tokens: u64,
    /// The usage of the response before. Consecutive prompts share most of their text and their share of cache hits.
    pub(crate) before: Option<Usage>,
}

/// Estimates the tokens of a prompt by its length. Base64 is left out: images and documents count for far fewer tokens
/// than their encoded length.
pub(crate) fn estimate_prompt_tokens(body: &[u8]) -> u64 {
    let (mut samples, mut base64) = (0, 0);
    for sample in body.chunks_exact(SAMPLE_STRIDE.max(body.len() / MAX_SAMPLES)) {
        samples += 1;
        base64 += u64::from(sample[..SAMPLE_BYTES].iter().all(|byte| is_base64(*byte)));
    }
    let bytes = body.len() as u64;
    let base64_bytes = (bytes * base64).checked_div(samples).unwrap_or(0);
    (bytes - base64_bytes) / BYTES_PER_TOKEN
}

/// Prose, code and JSON have a space, a quote or a mark in every sample.
fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_')
}

impl ResponseSummary {
    /// Output tokens so far: the reported figure or the estimate, whichever is larger.
    pub(crate) fn output_tokens(&self) -> u64 {
        self.usage.map_or(0, |usage| usage.output).max(self.output_bytes / BYTES_PER_TOKEN)
    }

    /// Completes the usage at the end of the response.
    pub(crate) fn fill_missing_usage(&mut self, prompt: PromptTokens) {
        if self.output_bytes == 0 && self.tool_calls == 0 {
            return;
        }
        let reported = self.usage.unwrap_or_default();
        // There is output, so a reported zero is a missing figure.
        let is_final = self.complete && reported.output > 0;
        let output = if is_final { reported.output } else { self.output_tokens().max(1) };
        let input = if reported.context() > 0 { reported } else { prompt.usage() };
        self.usage = Some(Usage { output, ..input });
    }
}

impl PromptTokens {
    fn usage(self) -> Usage {
        let before = self.before.unwrap_or_default();
        let share = u128::from(self.tokens) * u128::from(before.cache_read) / u128::from(before.context().max(1));
        let cache_read = u64::try_from(share).unwrap_or(self.tokens).min(self.tokens);
        Usage { input: self.tokens - cache_read, cache_read, ..Usage::default() }
    }
}

#[cfg(test)]
mod tests;
