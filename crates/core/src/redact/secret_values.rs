//! What values look like: literals somebody chose or a machine made up, against code and placeholders.

/// Characters a token is made of.
#[derive(Clone, Copy, Debug)]
pub(super) enum Charset {
    Hex,
    Upper,
    Alnum,
    /// Letters, digits and underscores.
    Word,
    /// As `Word`, with dashes.
    Dashed,
    /// As `Dashed`, with dots.
    Dotted,
    Base64,
}

impl Charset {
    pub(super) fn contains(self, b: u8) -> bool {
        match self {
            Self::Hex => b.is_ascii_hexdigit(),
            Self::Upper => b.is_ascii_uppercase() || b.is_ascii_digit(),
            Self::Alnum => b.is_ascii_alphanumeric(),
            Self::Word => b.is_ascii_alphanumeric() || b == b'_',
            Self::Dashed => b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'),
            Self::Dotted => b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'),
            Self::Base64 => b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=' | b'_' | b'-'),
        }
    }

    /// How many of the bytes from the start are of this set.
    pub(super) fn token_end(self, bytes: &[u8]) -> usize {
        let run = bytes.iter().take_while(|b| self.contains(**b)).count();
        // A private key that follows without a gap is not part of it.
        memchr::memmem::find(&bytes[..run], b"-----BEGIN").unwrap_or(run)
    }
}

/// A value that stands for one: a variable, a template, a mask, or a cut made earlier.
pub(super) fn is_placeholder(value: &str) -> bool {
    let value = value.trim();
    value.contains(super::REDACTION_PREFIX)
        || value.starts_with(['$', '<', '{', '%', '*', '&', '!', '[', '(', '\\'])
        || value.bytes().all(|b| matches!(b, b'*' | b'.' | b'x' | b'X' | b'-' | b'_' | b'?'))
        || [
            "your",
            "example",
            "changeme",
            "redacted",
            "none",
            "null",
            "nil",
            "undefined",
            "true",
            "false",
            "string",
            "str",
            "optional",
            "required",
        ]
        .iter()
        .any(|word| {
            value.len() >= word.len()
                && value.as_bytes()[..word.len()].eq_ignore_ascii_case(word.as_bytes())
                && !value.bytes().any(|b| b.is_ascii_digit())
        })
}

/// Long, and of letters and digits both: made by a machine.
pub(super) fn looks_random(value: &str) -> bool {
    value.len() >= 16
        && value.bytes().all(|b| Charset::Base64.contains(b) || matches!(b, b'.' | b'~' | b':' | b'%'))
        && value.bytes().any(|b| b.is_ascii_digit())
        && value.bytes().any(|b| b.is_ascii_alphabetic())
        && !is_identifier_path(value)
}

/// Not a word of code: a digit or a sign in it that no identifier, type or call has.
pub(super) fn looks_like_password(value: &str) -> bool {
    value.len() >= 4
        && !value.contains(['(', ')', '{', '}', '[', ']', '<', '>', ';', ',', '|', '`'])
        && value.bytes().any(|b| b.is_ascii_digit() || matches!(b, b'!' | b'@' | b'#' | b'^' | b'+' | b'?'))
        && !is_identifier_path(value)
        && !is_number(value)
}

/// `self.settings.key_2`, `module::NAME`: a way to a value, not a value.
fn is_identifier_path(value: &str) -> bool {
    let parts: Vec<_> = value.split(['.', ':']).filter(|part| !part.is_empty()).collect();
    parts.len() > 1
        && parts.iter().all(|part| {
            part.len() <= 24
                && part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        })
}

fn is_number(value: &str) -> bool {
    value.parse::<f64>().is_ok()
        || value.strip_prefix("0x").is_some_and(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()))
}
