//! Lenient deserialization of JSON written by other programs: a value of the wrong type becomes a default.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use belay_core::Timestamp;
use belay_core::event::Usage;
use serde::de::{Deserialize, Deserializer, IgnoredAny, Visitor};
use serde_json::Value;

/// Visitor methods that map the listed types to a default, so that one odd field does not fail the whole record.
macro_rules! impl_lenient {
    ($value:expr; $($kind:ident),*) => { $(impl_lenient!(@ $value, $kind);)* };
    (@ $value:expr, bool) => { fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> { Ok($value) } };
    (@ $value:expr, u64) => { fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> { Ok($value) } };
    (@ $value:expr, i64) => { fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> { Ok($value) } };
    (@ $value:expr, f64) => { fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> { Ok($value) } };
    (@ $value:expr, str) => { fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> { Ok($value) } };
    (@ $value:expr, unit) => { fn visit_unit<E>(self) -> Result<Self::Value, E> { Ok($value) } };
    (@ $value:expr, seq) => {
        fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            while seq.next_element::<serde::de::IgnoredAny>()?.is_some() {}
            Ok($value)
        }
    };
    (@ $value:expr, map) => {
        fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            while map.next_entry::<serde::de::IgnoredAny, serde::de::IgnoredAny>()?.is_some() {}
            Ok($value)
        }
    };
}
pub(crate) use impl_lenient;

/// A string; empty if it is missing or of another type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LenientString<'a>(pub(crate) Cow<'a, str>);

impl Deref for LenientString<'_> {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'a> From<LenientString<'a>> for Cow<'a, str> {
    fn from(text: LenientString<'a>) -> Self {
        text.0
    }
}

impl LenientString<'_> {
    /// The string, unless it is empty.
    pub(crate) fn non_empty(&self) -> Option<&str> {
        (!self.0.is_empty()).then_some(&*self.0)
    }

    /// Like [`Self::non_empty`], owned.
    pub(crate) fn owned(&self) -> Option<String> {
        self.non_empty().map(str::to_owned)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for LenientString<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Lenient;
        impl<'de> Visitor<'de> for Lenient {
            type Value = LenientString<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(LenientString(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(LenientString(Cow::Owned(text.to_owned())))
            }
            fn visit_string<E>(self, text: String) -> Result<Self::Value, E> {
                Ok(LenientString(Cow::Owned(text)))
            }
            impl_lenient!(LenientString::default(); bool, u64, i64, f64, unit, seq, map);
        }
        deserializer.deserialize_any(Lenient)
    }
}

/// A boolean; false if it is missing or of another type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LenientBool(pub(crate) bool);

impl<'de> Deserialize<'de> for LenientBool {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Lenient;
        impl<'de> Visitor<'de> for Lenient {
            type Value = LenientBool;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a boolean")
            }
            fn visit_bool<E>(self, flag: bool) -> Result<LenientBool, E> {
                Ok(LenientBool(flag))
            }
            impl_lenient!(LenientBool::default(); u64, i64, f64, str, unit, seq, map);
        }
        deserializer.deserialize_any(Lenient)
    }
}

/// A count; 0 if it is missing, negative or of another type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LenientU64(pub(crate) u64);

impl LenientU64 {
    /// The count as an HTTP status.
    pub(crate) fn status(self) -> Option<u16> {
        u16::try_from(self.0).ok().filter(|status| *status != 0)
    }
}

impl<'de> Deserialize<'de> for LenientU64 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Lenient;
        impl<'de> Visitor<'de> for Lenient {
            type Value = LenientU64;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a count")
            }
            fn visit_u64<E>(self, count: u64) -> Result<LenientU64, E> {
                Ok(LenientU64(count))
            }
            fn visit_f64<E>(self, count: f64) -> Result<LenientU64, E> {
                // The cast saturates; NaN becomes 0.
                Ok(LenientU64(count as u64))
            }
            impl_lenient!(LenientU64::default(); bool, i64, str, unit, seq, map);
        }
        deserializer.deserialize_any(Lenient)
    }
}

/// A timestamp; unknown if it is missing or invalid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LenientTime(pub(crate) Timestamp);

impl LenientTime {
    pub(crate) fn or(self, other: Timestamp) -> Timestamp {
        if self.0.is_known() { self.0 } else { other }
    }
}

impl<'de> Deserialize<'de> for LenientTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Lenient;
        impl<'de> Visitor<'de> for Lenient {
            type Value = LenientTime;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a timestamp")
            }
            fn visit_str<E>(self, text: &str) -> Result<LenientTime, E> {
                Ok(LenientTime(Timestamp::parse(text).unwrap_or_default()))
            }
            fn visit_i64<E>(self, number: i64) -> Result<LenientTime, E> {
                Ok(LenientTime(Timestamp::from_number(number as f64).unwrap_or_default()))
            }
            fn visit_u64<E>(self, number: u64) -> Result<LenientTime, E> {
                Ok(LenientTime(Timestamp::from_number(number as f64).unwrap_or_default()))
            }
            fn visit_f64<E>(self, number: f64) -> Result<LenientTime, E> {
                Ok(LenientTime(Timestamp::from_number(number).unwrap_or_default()))
            }
            impl_lenient!(LenientTime::default(); bool, unit, seq, map);
        }
        deserializer.deserialize_any(Lenient)
    }
}

/// A value of another type; `None` if it cannot be deserialized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LenientOption<T>(pub(crate) Option<T>);

impl<T> Default for LenientOption<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for LenientOption<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&serde_json::value::RawValue>::deserialize(deserializer)?;
        Ok(Self(serde_json::from_str(raw.get()).ok()))
    }
}

/// Whether a line is a complete JSON object. Distinguishes an unknown record from a damaged one.
pub(crate) fn is_valid_json(line: &str) -> bool {
    line.starts_with('{') && serde_json::from_str::<IgnoredAny>(line).is_ok()
}

/// Usage from token counts whose input includes the cached tokens.
pub(crate) fn usage_with_cached_input(input: u64, output: u64, cache_read: u64, cache_write: u64) -> Usage {
    let input = input.saturating_sub(cache_read).saturating_sub(cache_write);
    Usage { input, output, cache_read, cache_write, ..Usage::default() }
}

/// The text of a content field: a string, content items, or an object with either in `content`.
pub(crate) fn text_of(raw: &str) -> Cow<'_, str> {
    if let Ok(text) = serde_json::from_str::<LenientString<'_>>(raw)
        && !text.is_empty()
    {
        return text.into();
    }
    let Ok(value) = serde_json::from_str::<Value>(raw) else { return Cow::Borrowed("") };
    let value = match value {
        Value::Object(mut map) => map.remove("content").unwrap_or(Value::Object(map)),
        other => other,
    };
    match value {
        Value::String(text) => Cow::Owned(text),
        Value::Array(items) => {
            let text = |item: &Value| match item.get("text") {
                Some(Value::String(text)) => text.clone(),
                _ => format!("[{}]", item.get("type").and_then(Value::as_str).unwrap_or("item")),
            };
            Cow::Owned(items.iter().map(text).collect::<Vec<_>>().join("\n"))
        }
        Value::Null => Cow::Borrowed(""),
        other => Cow::Owned(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_items_are_joined() {
        assert_eq!(
            text_of(r#"[{"type":"input_text","text":"a"},{"type":"input_image","image_url":"data:"}]"#),
            "a\n[input_image]"
        );
        assert_eq!(text_of(r#"{"content":"plain","success":true}"#), "plain");
        assert_eq!(text_of(r#""text""#), "text");
    }

    #[test]
    fn values_of_the_wrong_type_become_defaults() {
        assert_eq!(serde_json::from_str::<LenientU64>("-3").map(|count| count.0).ok(), Some(0));
        assert_eq!(serde_json::from_str::<LenientU64>("7.0").map(|count| count.0).ok(), Some(7));
        assert_eq!(serde_json::from_str::<LenientBool>("\"yes\"").map(|flag| flag.0).ok(), Some(false));
        assert_eq!(
            serde_json::from_str::<LenientString<'_>>("[1]").map(|text| text.to_string()).ok().as_deref(),
            Some("")
        );
        assert_eq!(serde_json::from_str::<LenientTime>("{\"a\":1}").map(|stamp| stamp.0.is_known()).ok(), Some(false));
        assert_eq!(serde_json::from_str::<LenientOption<i32>>("\"x\"").map(|code| code.0).ok(), Some(None));
    }
}
