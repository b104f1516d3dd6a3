//! `toolUseResult`: the result of a tool, repeated in more detail. It is often half of a file and rarely needed, so a line
//! is split before it and it is parsed only on demand.

use std::sync::LazyLock;

use memchr::memmem::{self, Finder};
use serde::Deserialize;
use serde_json::value::RawValue;

static DETAILS_KEY: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"toolUseResult\":"));

/// Maximum distance between a line's id and time and its details.
const MAX_KEY_DISTANCE: usize = 512;

/// Larger details are not parsed.
const MAX_DETAILS_BYTES: usize = 4 * 1024 * 1024;

/// The details of a result, parsed or not.
#[derive(Clone, Copy, Debug)]
pub(super) enum Details<'a> {
    /// No details.
    None,
    /// Parsed with the line.
    Read(&'a RawValue),
    /// The rest of the line: the value, then further fields.
    Unread(&'a str),
}

impl<'a> Details<'a> {
    /// Deserializes the details, if they are of type `T`.
    pub(super) fn read<T: Deserialize<'a>>(self) -> Option<T> {
        let text = match self {
            Self::None => return None,
            Self::Read(value) => value.get(),
            Self::Unread(rest) => rest,
        };
        if text.len() > MAX_DETAILS_BYTES {
            return None;
        }
        T::deserialize(&mut serde_json::Deserializer::from_str(text)).ok()
    }

    /// Whether the details are followed by a field about a denial.
    pub(super) fn mark_denied(self) -> bool {
        match self {
            Self::Unread(rest) => memmem::find(rest.as_bytes(), b",\"toolDenialKind\":\"").is_some(),
            Self::None | Self::Read(_) => false,
        }
    }
}

/// Splits a line before its details: the line without them, built in `buffer`, and the rest.
///
/// Inside a string the quotes of the name would be escaped, so a match is a field. The rest is not validated; only the end
/// of the line must look complete.
pub(super) fn splice_out<'l, 'b>(line: &'l str, buffer: &'b mut String) -> Option<(&'b str, &'l str)> {
    let at = DETAILS_KEY.find(line.as_bytes())?;
    let rest = &line[at + DETAILS_KEY.needle().len()..];
    let head = line[..at].trim_end().strip_suffix(',')?;
    // The order of fields is not guaranteed; a line in another order must be parsed completely.
    let near = &head.as_bytes()[head.len().saturating_sub(MAX_KEY_DISTANCE)..];
    let has = |text: &[u8], name: &str| memmem::find(text, name.as_bytes()).is_some();
    let whole = has(near, "\"timestamp\":") && has(near, "\"uuid\":") && has(head.as_bytes(), "\"message\":");
    if !line.ends_with('}') || !whole {
        return None;
    }
    buffer.clear();
    buffer.push_str(head);
    buffer.push('}');
    Some((buffer, rest))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_line_is_cut_and_its_details_are_still_there() {
        let line = r#"{"message":{"a":"x"},"uuid":"u","timestamp":"t","toolUseResult":{"b":[1]},"toolDenialKind":"user-rejected"}"#;
        let mut buffer = String::new();
        let (head, rest) = splice_out(line, &mut buffer).expect("cut");
        assert_eq!(head, r#"{"message":{"a":"x"},"uuid":"u","timestamp":"t"}"#);
        let details = Details::Unread(rest);
        assert_eq!(details.read::<Value>(), Some(json!({"b": [1]})));
        assert!(details.mark_denied());
    }

    #[test]
    fn a_line_that_only_talks_about_details_stays_whole() {
        let mut buffer = String::new();
        assert!(splice_out(r#"{"message":"say ,\"toolUseResult\": x"}"#, &mut buffer).is_none());
        assert!(splice_out(r#"{"uuid":"u","timestamp":"t","toolUseResult":{},"message":{}}"#, &mut buffer).is_none());
        assert!(
            splice_out(r#"{"message":{},"uuid":"u","timestamp":"t","toolUseResult":{"torn":"#, &mut buffer).is_none()
        );
    }
}
