//! Tracks whether the streamed input of a tool call is complete JSON.

/// Text that makes any JSON prefix invalid: a backslash is only allowed in a string, and `\u` requires four hexadecimal
/// digits. Parsers that repair their input drop the backslash of an unknown escape and close the string, but fail on an
/// incomplete `\u`. One is enough for most texts; the second covers a prefix that ends with a backslash, and the third
/// covers parsers that first remove the last escape.
pub(super) const INVALIDATING_SUFFIX: &str = "\\uZ\\uZ\\uZ";

/// Tracks the nesting of a JSON object.
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

    /// Whether the object is complete.
    pub(super) fn is_complete(&self) -> bool {
        self.begun && self.depth == 0
    }
}

#[cfg(test)]
mod tests;
