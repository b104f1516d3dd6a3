//! The line that an error names. An error that moves on through a file is progress, although its message stays.

/// How far before the message a position may stand: the frames of a trace, the arrow of a compiler.
const MAX_BYTES_BEFORE: usize = 400;
/// How far after the message: `error[E0308]: ...` is followed by `--> file:12:5`.
const MAX_BYTES_AFTER: usize = 160;

/// The line named by the message, else by what follows it closely, else by the last position before it.
pub(super) fn error_line(text: &str, message: &str) -> Option<u32> {
    // The message is a part of the text, so the distance of the pointers is its offset.
    let start = (message.as_ptr() as usize).checked_sub(text.as_ptr() as usize).filter(|at| *at <= text.len())?;
    let message = crate::excerpt::floor(message, 300);
    let end = (start + message.len()).min(text.len());
    let after = text.get(end..).map(|rest| crate::excerpt::floor(rest, MAX_BYTES_AFTER)).unwrap_or_default();
    let arrow = || after.find("--> ").and_then(|at| lines(after[at..].lines().next()?).next());
    let before = || lines(crate::excerpt::ceil(text.get(..start)?, start.saturating_sub(MAX_BYTES_BEFORE))).last();
    lines(message).next().or_else(arrow).or_else(before)
}

/// Line numbers in a text: `line 12`, `a.py:12`, `a.ts(12,3)`.
fn lines(text: &str) -> impl Iterator<Item = u32> + '_ {
    let bytes = text.as_bytes();
    bytes.iter().enumerate().filter_map(move |(at, byte)| {
        let start = match byte {
            b':' | b'(' if at > 0 && bytes[at - 1].is_ascii_alphanumeric() && has_extension(&bytes[..at]) => at + 1,
            b'l' | b'L' if bytes[at..].len() > 5 && bytes[at + 1..at + 5] == *b"ine " => at + 5,
            _ => return None,
        };
        let digits = bytes[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if !(1..=6).contains(&digits) {
            return None;
        }
        text[start..start + digits].parse().ok()
    })
}

/// Whether the bytes end with a file name such as `a.py`.
fn has_extension(before: &[u8]) -> bool {
    let extension = before.iter().rev().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    (1..=5).contains(&extension) && before.len() > extension && before[before.len() - extension - 1] == b'.'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str, message: &str) -> Option<u32> {
        let at = text.find(message).expect("the message is in the text");
        error_line(text, &text[at..at + message.len()])
    }

    #[test]
    fn a_trace_names_the_line_before_the_error() {
        let trace = "Traceback (most recent call last):\n  File \"a.py\", line 7, in f\n    g()\n  File \"b.py\", line 23\n    x = \nSyntaxError: invalid syntax";
        assert_eq!(line(trace, "SyntaxError: invalid syntax"), Some(23));
    }

    #[test]
    fn compilers_name_it_in_or_after_the_message() {
        assert_eq!(line("src/a.ts(227,5): error TS2304: x", "src/a.ts(227,5): error TS2304: x"), Some(227));
        assert_eq!(line("a.c:269:3: error: expected ';'", "a.c:269:3: error: expected ';'"), Some(269));
        let rust = "error[E0308]: mismatched types\n  --> src/a.rs:12:5\n";
        assert_eq!(line(rust, "error[E0308]: mismatched types"), Some(12));
    }

    #[test]
    fn other_numbers_are_no_lines() {
        assert_eq!(line("AssertionError: 3 != 4 at 12:30", "AssertionError: 3 != 4 at 12:30"), None);
    }
}
