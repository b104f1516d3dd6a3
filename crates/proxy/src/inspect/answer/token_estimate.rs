//! What an answer cost where its upstream does not tell.
//!
//! Chat Completions tell only those who ask for it, local models often nobody, and a stream that breaks off or is cut
//! never comes to it. To book nothing would let a session run past every budget, so what is missing is estimated: from
//! what was said, and from the length of the question. What was told is never touched; only of a stream that did not come
//! to its end a larger output is believed, since its last figure is from the beginning. An answer that says nothing, and
//! tells nothing, cost nothing.

use belay_core::event::Usage;

use super::ResponseSummary;

/// What a token is in bytes, near enough.
const BYTES_PER_TOKEN: u64 = 4;
/// One sample of a question in so many bytes, and how long it is: a look for pictures. Of a long question no more than so
/// many are taken, since each of them has to come from far away.
const SAMPLE_STRIDE: usize = 4096;
const SAMPLE_BYTES: usize = 48;
const MAX_SAMPLES: usize = 64;

/// What is known of a question's cost before its answer tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PromptTokens {
    /// Its tokens by rule of thumb; 0 where nobody has seen it.
    pub(crate) tokens: u64,
    /// What the answer before told. Most of a question repeats the one before, and as much of it comes from the cache.
    pub(crate) before: Option<Usage>,
}

/// The tokens of a question by its length. Pictures and documents go as base64, which is many times as long as what they
/// count for; so it is left out.
pub(crate) fn estimate_prompt_tokens(body: &[u8]) -> u64 {
    let (mut samples, mut packed) = (0, 0);
    for sample in body.chunks_exact(SAMPLE_STRIDE.max(body.len() / MAX_SAMPLES)) {
        samples += 1;
        packed += u64::from(sample[..SAMPLE_BYTES].iter().all(|byte| is_base64(*byte)));
    }
    let bytes = body.len() as u64;
    let left_out = (bytes * packed).checked_div(samples).unwrap_or(0);
    (bytes - left_out) / BYTES_PER_TOKEN
}

/// Prose, code and JSON never go on for so long without a space, a quote or a mark.
fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_')
}

impl ResponseSummary {
    /// Tokens of the output so far: as many as were told, or as can be guessed from what was said.
    pub(crate) fn output_tokens(&self) -> u64 {
        self.usage.map_or(0, |usage| usage.output).max(self.said / BYTES_PER_TOKEN)
    }

    /// Completes what was told, once nothing more will be.
    pub(crate) fn fill_missing_usage(&mut self, question: PromptTokens) {
        if self.said == 0 && self.tool_calls == 0 {
            return;
        }
        let told = self.usage.unwrap_or_default();
        // Something was said: that it took nothing is no figure.
        let output = if self.complete && told.output > 0 { told.output } else { self.output_tokens().max(1) };
        let input = if told.context() > 0 { told } else { question.usage() };
        self.usage = Some(Usage { output, ..input });
    }
}

impl PromptTokens {
    fn usage(self) -> Usage {
        let before = self.before.unwrap_or_default();
        let share = u128::from(self.tokens) * u128::from(before.cache_read) / u128::from(before.context().max(1));
        // No more than all of it can be.
        let cache_read = u64::try_from(share).unwrap_or(self.tokens).min(self.tokens);
        Usage { input: self.tokens - cache_read, cache_read, ..Usage::default() }
    }
}

#[cfg(test)]
mod tests;
