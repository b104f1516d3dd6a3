//! The input of a tool call as it streams: is it a complete piece of JSON yet?

/// What no JSON text can go on with, wherever it stands: a backslash is only allowed in a string, and after `\u` come four
/// hexadecimal digits. Parsers that mend what they read drop the backslash of an escape they do not know and close the
/// string there; a broken `\u` they give up on. One is enough for most texts, the second is for one that has just said a
/// backslash of its own, and the third for parsers that first take the last escape away.
pub(super) const INVALIDATING_SUFFIX: &str = "\\uZ\\uZ\\uZ";

/// Walks along a JSON object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ToolInput {
    depth: u32,
    begun: bool,
    in_string: bool,
    escaped: bool,
}

impl ToolInput {
    pub(super) fn push(&mut self, piece: &str) {
        for byte in piece.bytes() {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.in_string => self.escaped = true,
                b'"' => self.in_string = !self.in_string,
                _ if self.in_string => {}
                b'{' | b'[' => {
                    self.depth = self.depth.saturating_add(1);
                    self.begun = true;
                }
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
    }

    /// Whether nothing is missing.
    pub(super) fn is_complete(&self) -> bool {
        self.begun && self.depth == 0
    }
}

#[cfg(test)]
mod tests;
