//! Shell-like matching of complete texts: `*` for any text, `?` for one character. Nothing else is special, so
//! brackets and braces need no escaping.

/// Whether all of `text` matches `pattern`. Backtracks only to the latest `*`.
pub fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (&[u8], &[u8]) = (pattern.as_bytes(), text.as_bytes());
    let (mut p, mut t) = (0, 0);
    // Where to resume after a mismatch: the latest star, one byte further.
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p + 1, t));
                p += 1;
            }
            Some(b'?') => {
                p += 1;
                t += 1;
                while text.get(t).is_some_and(|byte| byte & 0xc0 == 0x80) {
                    t += 1;
                }
            }
            Some(byte) if *byte == text[t] => {
                p += 1;
                t += 1;
            }
            _ => match star {
                Some((after, from)) => {
                    p = after;
                    t = from + 1;
                    star = Some((after, from + 1));
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn stars_and_question_marks() {
        for (pattern, text) in [
            ("*", ""),
            ("Bash:npm test", "Bash:npm test"),
            ("Bash:npm *", "Bash:npm run build -- --watch"),
            ("*:git status*", "Bash:git status --short"),
            ("a*b*c", "a-bb-bc"),
            ("h?llo", "hällo"),
            ("[1m]*", "[1m] x"),
        ] {
            assert!(matches(pattern, text), "{pattern} should fit {text}");
        }
        for (pattern, text) in [("", "a"), ("a", "ab"), ("a*b", "a"), ("?", ""), ("npm test", "npm tests"), ("*x", "y")]
        {
            assert!(!matches(pattern, text), "{pattern} should not fit {text}");
        }
    }
}
