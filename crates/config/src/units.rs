//! Settings with units: durations, sizes and addresses.

use std::borrow::Cow;
use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A duration, or "never".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DurationSetting(Option<Duration>);

impl DurationSetting {
    pub const NEVER: Self = Self(None);

    pub const fn new(duration: Duration) -> Self {
        Self(Some(duration))
    }

    /// `None` for "never".
    pub const fn get(self) -> Option<Duration> {
        self.0
    }
}

const TIME_UNITS: &[(&str, u64)] =
    &[("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000), ("w", 604_800_000)];

impl FromStr for DurationSetting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text == "never" {
            return Ok(Self::NEVER);
        }
        let millis = with_unit(text, TIME_UNITS)
            .ok_or_else(|| format!("invalid duration `{text}`; use for example 30s, 5m, 2h, 7d or never"))?;
        Ok(Self::new(Duration::from_millis(millis)))
    }
}

impl fmt::Display for DurationSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str("never"),
            Some(duration) => {
                let millis = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
                write_with_unit(f, millis, TIME_UNITS, "s")
            }
        }
    }
}

/// A number of bytes, or "unlimited".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteSize(Option<u64>);

impl ByteSize {
    pub const fn from_bytes(bytes: u64) -> Self {
        Self(Some(bytes))
    }

    /// `None` for "unlimited".
    pub const fn get(self) -> Option<u64> {
        self.0
    }
}

const BYTE_UNITS: &[(&str, u64)] = &[("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40)];
const DECIMAL_UNITS: &[(&str, u64)] = &[("kB", 1_000), ("KB", 1_000), ("MB", 1_000_000), ("GB", 1_000_000_000)];

impl FromStr for ByteSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text == "unlimited" {
            return Ok(Self(None));
        }
        let bytes = with_unit(text, BYTE_UNITS)
            .or_else(|| with_unit(text, DECIMAL_UNITS))
            .ok_or_else(|| format!("invalid size `{text}`; use for example 512MiB, 2GiB or unlimited"))?;
        Ok(Self::from_bytes(bytes))
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str("unlimited"),
            Some(bytes) => write_with_unit(f, bytes, BYTE_UNITS, "B"),
        }
    }
}

fn with_unit(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let number: u64 = text[..digits].parse().ok()?;
    let unit = text[digits..].trim_start();
    let (_, factor) = units.iter().find(|(name, _)| *name == unit)?;
    number.checked_mul(*factor)
}

/// Writes a number in the largest unit that divides it, so that it parses back to the same value.
fn write_with_unit(f: &mut fmt::Formatter<'_>, number: u64, units: &[(&str, u64)], zero: &str) -> fmt::Result {
    if number == 0 {
        return write!(f, "0{zero}");
    }
    match units.iter().rev().find(|(_, factor)| number.is_multiple_of(*factor)) {
        Some((unit, factor)) => write!(f, "{}{unit}", number / factor),
        None => write!(f, "{number}"),
    }
}

/// An address to listen on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListenAddr(SocketAddr);

impl ListenAddr {
    pub const fn socket_addr(self) -> SocketAddr {
        self.0
    }
}

impl FromStr for ListenAddr {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let spelled =
            text.strip_prefix("localhost:").map_or(Cow::Borrowed(text), |port| format!("127.0.0.1:{port}").into());
        let addr = spelled.parse().map_err(|_| format!("invalid address `{text}`; use for example 127.0.0.1:8787"))?;
        Ok(Self(addr))
    }
}

impl fmt::Display for ListenAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

macro_rules! impl_string_serde {
    ($type:ident, $description:literal, $examples:tt) => {
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }

        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "description": $description, "examples": $examples })
            }
        }
    };
}

impl_string_serde!(DurationSetting, "A duration with its unit, or \"never\".", ["30s", "5m", "7d", "never"]);
impl_string_serde!(ByteSize, "A size with its unit, or \"unlimited\".", ["512MiB", "2GiB", "unlimited"]);
impl_string_serde!(ListenAddr, "An IP address with a port.", ["127.0.0.1:8787"]);
