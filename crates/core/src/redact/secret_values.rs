//! Classifies values: chosen or generated secrets as opposed to code and placeholders.

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
    /// As `Dashed`, and one part between dashes is random: words joined by dashes are a name.
    DashedRandom,
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
            Self::Dashed | Self::DashedRandom => b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'),
            Self::Dotted => b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'),
            Self::Base64 => b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=' | b'_' | b'-'),
        }
    }

    /// Length of the leading run of this set.
    pub(super) fn token_end(self, bytes: &[u8]) -> usize {
        let run = bytes.iter().take_while(|b| self.contains(**b)).count();
        // A private key that follows without a gap is not part of it.
        memchr::memmem::find(&bytes[..run], b"-----BEGIN").unwrap_or(run)
    }

    /// Whether a run of this set can be a token: tokens hold digits, words do not.
    pub(super) fn is_token(self, run: &[u8]) -> bool {
        let is_random = |part: &[u8]| {
            part.len() >= 12 && part.iter().any(u8::is_ascii_digit) && part.iter().any(u8::is_ascii_alphabetic)
        };
        match self {
            Self::DashedRandom => run.split(|b| matches!(b, b'-' | b'_')).any(is_random) && !run.starts_with(b"learn"),
            _ => run.iter().any(u8::is_ascii_digit),
        }
    }

    /// The end of a token whose first line ends at `end`: terminals and mail wrap long tokens. A line that continues
    /// a token holds nothing else.
    pub(super) fn wrapped_end(self, bytes: &[u8], end: usize, min: usize) -> usize {
        const MAX_LINES: usize = 64;
        const MIN_PIECE: usize = 4;
        let mut stop = end;
        for _ in 0..MAX_LINES {
            let Some(next) = next_line(bytes, stop) else { break };
            let more = self.token_end(&bytes[next..]);
            let piece = &bytes[next..next + more];
            let ends_line = bytes.get(next + more).is_none_or(|b| !self.contains(*b) && ends_piece(*b));
            let complete = stop >= min;
            if !ends_line || more < MIN_PIECE || complete && !piece.iter().any(u8::is_ascii_digit) {
                break;
            }
            stop = next + more;
        }
        stop
    }
}

fn ends_piece(b: u8) -> bool {
    b.is_ascii_whitespace() || matches!(b, b'"' | b'\'' | b'`' | b'\\' | b',' | b';' | b')' | b'+')
}

/// The start of the next line, if a text literal can continue there: past quotes, a joining sign and indentation.
fn next_line(bytes: &[u8], end: usize) -> Option<usize> {
    let blanks = |at: usize| at + bytes[at..].iter().take(80).take_while(|b| matches!(b, b' ' | b'\t')).count();
    let quote = |at: usize| at + usize::from(matches!(bytes.get(at), Some(b'"' | b'\'')));
    let mut at = blanks(quote(end));
    at = blanks(at + usize::from(matches!(bytes.get(at), Some(b'+' | b'\\' | b'.'))));
    at += usize::from(bytes.get(at) == Some(&b'\r'));
    (bytes.get(at) == Some(&b'\n')).then(|| quote(blanks(at + 1)))
}

/// A placeholder: a variable, a template, a mask, or an earlier redaction.
pub(super) fn is_placeholder(value: &str) -> bool {
    let value = value.trim();
    let starts_with = |word: &str| {
        value.as_bytes().get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word.as_bytes()))
            && !value.bytes().any(|b| b.is_ascii_digit())
    };
    let is_word = |word: &str| {
        starts_with(word) && !value.as_bytes().get(word.len()).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_')
    };
    value.contains(super::REDACTION_PREFIX)
        || is_reference(value)
        || value.bytes().all(|b| matches!(b, b'*' | b'.' | b'x' | b'X' | b'-' | b'_' | b'?'))
        || ["your", "example", "changeme", "redacted"].into_iter().any(starts_with)
        || [
            "none",
            "null",
            "nil",
            "undefined",
            "true",
            "false",
            "yes",
            "no",
            "ok",
            "string",
            "str",
            "optional",
            "required",
        ]
        .into_iter()
        .any(is_word)
}

/// A variable, a template or a bracketed remark: `$NAME`, `${name}`, `%s`, `<name>`, `[hidden]`. Generated passwords
/// begin with the same characters, but hold digits or more punctuation.
fn is_reference(value: &str) -> bool {
    let Some(rest) = value.get(1..) else { return value.is_empty() };
    match value.as_bytes()[0] {
        b'<' | b'{' | b'&' | b'\\' => true,
        b'$' => is_variable(rest),
        b'!' | b'*' => rest.is_empty(),
        b'%' => {
            let flags = rest.trim_end_matches(|c: char| c.is_ascii_alphabetic());
            rest.len() <= 2
                || rest.starts_with(['(', '{', '['])
                || rest.ends_with('%')
                || flags.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'-' | b'.' | b'+' | b'#'))
                    && rest.len() - flags.len() == 1
        }
        b'[' | b'(' => rest.is_empty() || value.ends_with([']', ')']),
        _ => false,
    }
}

/// A YAML tag or alias, a dereference, a list or a group: `!Ref`, `*alias`, `[name`. Only where code or YAML can stand:
/// in quotes, after `NAME=` and on a command line these are passwords.
pub(super) fn is_code_reference(value: &str) -> bool {
    let Some(rest) = value.get(1..) else { return false };
    if rest.bytes().any(|b| b.is_ascii_digit()) {
        return false;
    }
    match value.as_bytes()[0] {
        b'!' | b'*' => rest.bytes().all(|b| b.is_ascii_alphabetic() || matches!(b, b'_' | b'.' | b':' | b'-')),
        b'[' | b'(' => !rest.contains(['!', '@', '#', '^', '*', '+', '?', '$', '%']),
        _ => false,
    }
}

/// What follows a `$`: a variable, an expansion or a parameter.
fn is_variable(rest: &str) -> bool {
    match rest.as_bytes() {
        [] | [b'{' | b'(', ..] | [b'@' | b'*' | b'#' | b'?' | b'$'] => return true,
        // A makefile writes `$$NAME` for the shell's `$NAME`.
        [b'$', ..] => return is_variable(&rest[1..]),
        _ => {}
    }
    let has_digit = rest.bytes().any(|b| b.is_ascii_digit());
    let name = rest.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
    let (name, tail) = rest.split_at(name);
    if name.len() == 1 && has_digit {
        return tail.is_empty();
    }
    let upper = !name.bytes().any(|b| b.is_ascii_lowercase()) && !name.starts_with(|c: char| c.is_ascii_digit());
    let lower = !has_digit && (tail.is_empty() || tail.starts_with(['[', '.', '(', '/']) || tail.starts_with("->"));
    !name.is_empty() && (upper || lower)
}

/// A path in a file system. `PWD=/home/me` is not a password.
pub(super) fn is_path(value: &str) -> bool {
    let drive = matches!(value.as_bytes(), [drive, b':', ..] if drive.is_ascii_alphabetic());
    drive || ["/", "~", "./", "../"].iter().any(|start| value.starts_with(start))
}

/// Too short to be a password: a counter such as `PASS=3`.
pub(super) fn is_counter(value: &str) -> bool {
    value.len() < 4 && value.bytes().all(|b| b.is_ascii_digit())
}

/// A sentence about a password and not a password with blanks.
pub(super) fn is_prose(value: &str) -> bool {
    let value = format!(" {} ", value.to_ascii_lowercase());
    [" is ", " the ", " your ", " enter ", " must ", " please ", " at least ", "password", "passwort"]
        .iter()
        .any(|word| value.contains(word))
}

/// Long, with both letters and digits.
pub(super) fn looks_random(value: &str) -> bool {
    value.len() >= 16
        && value.bytes().all(|b| Charset::Base64.contains(b) || matches!(b, b'.' | b'~' | b':' | b'%'))
        && value.bytes().any(|b| b.is_ascii_digit())
        && value.bytes().any(|b| b.is_ascii_alphabetic())
        && !is_identifier_path(value)
        && !is_words(value)
}

/// Contains a digit or punctuation that no identifier, type or call has.
pub(super) fn looks_like_password(value: &str) -> bool {
    // A list, a tuple or a group is code unless it is as mixed as a password.
    let inner = match value.strip_prefix(['[', '(']) {
        Some(inner) if inner.contains(['!', '@', '#', '^', '?', '$', '%']) => inner,
        _ => value,
    };
    value.len() >= 4
        && !inner.contains(['(', ')', '{', '}', '[', ']', '<', '>', ';', ',', '|', '`'])
        && (value.starts_with(['$', '%', '*'])
            || value.bytes().any(|b| b.is_ascii_digit() || matches!(b, b'!' | b'@' | b'#' | b'^' | b'+' | b'?')))
        && !is_identifier_path(value)
        && !is_number(value)
}

/// `self.settings.key_2`, `module::NAME`: a reference to a value.
fn is_identifier_path(value: &str) -> bool {
    let parts: Vec<_> = value.split(['.', ':']).filter(|part| !part.is_empty()).collect();
    parts.len() > 1
        && parts.iter().all(|part| {
            part.len() <= 24
                && part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        })
}

/// `user_42_profile_cache`: short words and numbers.
fn is_words(value: &str) -> bool {
    let parts = || value.split(['_', '-', '.', '/', ':']).filter(|part| !part.is_empty());
    parts().count() > 2
        && parts().all(|part| {
            (part.len() <= 12 && part.bytes().all(|b| b.is_ascii_lowercase()))
                || (part.len() <= 12 && part.bytes().all(|b| b.is_ascii_uppercase()))
                || (part.len() <= 4 && part.bytes().all(|b| b.is_ascii_digit()))
        })
}

fn is_number(value: &str) -> bool {
    value.parse::<f64>().is_ok()
        || value.strip_prefix("0x").is_some_and(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()))
}
