//! The output of a command, within bounds.

use std::collections::VecDeque;
use std::io;
use std::path::Path;

use belay_fs::FileMode;

/// Kept at the beginning and at the end each.
const MAX_KEPT_BYTES: usize = 4 * 1024 * 1024;

/// What a command wrote to stdout and stderr, in order. The middle of a long output is left out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Output {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    omitted: u64,
}

impl Output {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let room = MAX_KEPT_BYTES.saturating_sub(self.head.len()).min(bytes.len());
        let (first, rest) = bytes.split_at(room);
        self.head.extend_from_slice(first);
        self.tail.extend(rest);
        let surplus = self.tail.len().saturating_sub(MAX_KEPT_BYTES);
        self.tail.drain(..surplus);
        self.omitted += surplus as u64;
    }

    /// The whole output; a line tells what was left out.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.head.clone();
        if self.omitted > 0 {
            bytes.extend_from_slice(format!("\n[belay: {} bytes left out]\n", self.omitted).as_bytes());
        }
        let (first, second) = self.tail.as_slices();
        bytes.extend_from_slice(first);
        bytes.extend_from_slice(second);
        bytes
    }

    /// The end as text, of at most `limit` bytes before invalid ones are replaced.
    pub(crate) fn tail_text(&self, limit: usize) -> String {
        let skipped = (self.head.len() + self.tail.len()).saturating_sub(limit);
        let kept: Vec<u8> = self.head.iter().chain(&self.tail).skip(skipped).copied().collect();
        // A cut inside a character.
        let start = if skipped > 0 { kept.iter().take(3).take_while(|byte| **byte & 0xC0 == 0x80).count() } else { 0 };
        String::from_utf8_lossy(&kept[start..]).into_owned()
    }

    /// Writes it to a file that only the owner can read.
    pub(super) fn write(&self, path: &Path) -> io::Result<()> {
        belay_fs::replace_file(path, &self.bytes(), FileMode::Private)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_a_long_output_is_left_out() {
        let mut output = Output::default();
        output.push(b"first\n");
        (0..3).for_each(|_| output.push(&vec![b'x'; MAX_KEPT_BYTES]));
        output.push("\nlast ü\n".as_bytes());
        let bytes = output.bytes();
        assert!(bytes.starts_with(b"first\n") && bytes.ends_with("last ü\n".as_bytes()));
        assert!(bytes.len() < 2 * MAX_KEPT_BYTES + 100);
        let told = String::from_utf8_lossy(&bytes);
        assert!(told.contains("bytes left out]"));
        assert_eq!(output.tail_text(8), "last ü\n");
        assert_eq!(output.tail_text(2), "\n");
    }
}
