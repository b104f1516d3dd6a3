//! Event times in UTC, in milliseconds. Core has no clock.

#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A moment in UTC. On the wire an RFC 3339 string; whole numbers are read as milliseconds since
/// 1970, and small ones or fractions as seconds, because that is what agents write.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, JsonSchema)]
#[schemars(with = "String")]
pub struct Timestamp(i64);

impl Timestamp {
    /// The beginning of 1970: stands for "unknown" where an agent gives no time.
    pub const UNKNOWN: Self = Self(0);

    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    pub const fn millis(self) -> i64 {
        self.0
    }

    pub const fn is_known(self) -> bool {
        self.0 != 0
    }

    /// Time since `earlier`; zero if a clock jumped back.
    pub fn saturating_since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// `2026-01-31T12:00:00.000Z`; `None` outside the years 0 to 9999.
    fn rfc3339(self) -> Option<[u8; 24]> {
        let day = self.0.div_euclid(86_400_000);
        let (year, month, date) = civil(day);
        let year = u64::try_from(year).ok().filter(|year| *year <= 9999)?;
        let millis = self.0.rem_euclid(86_400_000).cast_unsigned();
        let mut text = *b"0000-00-00T00:00:00.000Z";
        let mut put = |at: usize, width: usize, mut number: u64| {
            for digit in text[at..at + width].iter_mut().rev() {
                *digit = b'0' + (number % 10) as u8;
                number /= 10;
            }
        };
        put(0, 4, year);
        put(5, 2, month);
        put(8, 2, date);
        put(11, 2, millis / 3_600_000);
        put(14, 2, millis / 60_000 % 60);
        put(17, 2, millis / 1000 % 60);
        put(20, 3, millis % 1000);
        Some(text)
    }

    /// Parses RFC 3339, with or without a zone (default UTC), with `T` or a space.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Ok(stamp) = text.parse::<jiff::Timestamp>() {
            return Some(Self(stamp.as_millisecond()));
        }
        let civil = text.parse::<jiff::civil::DateTime>().ok()?;
        let zoned = civil.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
        Some(Self(zoned.timestamp().as_millisecond()))
    }

    /// Parses a number as agents write times: seconds (with or without fraction) or milliseconds.
    pub fn from_number(number: f64) -> Option<Self> {
        // 1e11 s is in the year 5138 and 1e11 ms in 1973, so the units cannot be confused.
        let millis = if number.abs() < 1e11 { number * 1e3 } else { number };
        (millis.is_finite() && millis.abs() < 2.5e14).then_some(Self(millis.round() as i64))
    }
}

/// Year, month and day of a day counted from 1970, in the Gregorian calendar: eras of 400 years, years that begin in
/// March.
fn civil(day: i64) -> (i64, u64, u64) {
    let day = day + 719_468;
    let era = day.div_euclid(146_097);
    let of_era = day.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let date = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month.cast_unsigned(), date.cast_unsigned())
}

impl Add<Duration> for Timestamp {
    type Output = Self;
    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)))
    }
}

impl Sub<Duration> for Timestamp {
    type Output = Self;
    fn sub(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Avoids the formatting machinery, because every event and snapshot contains times.
        match (self.rfc3339(), jiff::Timestamp::from_millisecond(self.0)) {
            (Some(text), _) => f.write_str(str::from_utf8(&text).unwrap_or_default()),
            (None, Ok(stamp)) => write!(f, "{stamp:.3}"),
            (None, Err(_)) => write!(f, "{}ms", self.0),
        }
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.rfc3339() {
            Some(text) => serializer.serialize_str(str::from_utf8(&text).unwrap_or_default()),
            None => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Timestamp;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time: RFC 3339 text such as 2026-01-31T12:00:00Z, or a number of milliseconds")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Timestamp, E> {
                Timestamp::parse(text).ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(text), &self))
            }
            fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Timestamp, E> {
                self.visit_f64(number as f64)
            }
            fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Timestamp, E> {
                self.visit_f64(number as f64)
            }
            fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Timestamp, E> {
                Timestamp::from_number(number)
                    .ok_or_else(|| E::invalid_value(serde::de::Unexpected::Float(number), &self))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}
