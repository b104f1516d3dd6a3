//! Small lenient pieces for reading JSON that other programs wrote.

use std::fmt;

use belay_core::Time;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A time that may be missing or odd: then it is unknown, and the line is still of use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stamp(pub(crate) Time);

impl Stamp {
    pub(crate) fn or(self, other: Time) -> Time {
        if self.0.is_known() { self.0 } else { other }
    }
}

impl<'de> Deserialize<'de> for Stamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Lenient;
        impl<'de> Visitor<'de> for Lenient {
            type Value = Stamp;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time")
            }
            fn visit_str<E>(self, text: &str) -> Result<Stamp, E> {
                Ok(Stamp(Time::parse(text).unwrap_or_default()))
            }
            fn visit_i64<E>(self, number: i64) -> Result<Stamp, E> {
                Ok(Stamp(Time::from_number(number as f64).unwrap_or_default()))
            }
            fn visit_u64<E>(self, number: u64) -> Result<Stamp, E> {
                Ok(Stamp(Time::from_number(number as f64).unwrap_or_default()))
            }
            fn visit_f64<E>(self, number: f64) -> Result<Stamp, E> {
                Ok(Stamp(Time::from_number(number).unwrap_or_default()))
            }
            fn visit_bool<E>(self, _: bool) -> Result<Stamp, E> {
                Ok(Stamp::default())
            }
            fn visit_unit<E>(self) -> Result<Stamp, E> {
                Ok(Stamp::default())
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Stamp, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Stamp::default())
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Stamp, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Stamp::default())
            }
        }
        deserializer.deserialize_any(Lenient)
    }
}

/// Whether a line is a whole JSON object: tells an unknown line from a damaged one.
pub(crate) fn well_formed(line: &str) -> bool {
    line.starts_with('{') && serde_json::from_str::<IgnoredAny>(line).is_ok()
}
