//! Events as JSON, quickly.
//!
//! Every event is written to the log as JSON. serde_json looks at each byte by itself to see whether it has to be escaped,
//! and most of an event is names, digests and times, where none has. This writer looks at many bytes at once. It knows the
//! shapes that events have; whatever else comes is left to serde_json. What both write is the same, byte for byte.

use std::fmt;

use serde::Serialize;
use serde::ser::{self, Impossible, Serializer};

/// Writes a value in place of what `out` holds.
pub fn write(value: &impl Serialize, out: &mut String) -> serde_json::Result<()> {
    out.clear();
    if value.serialize(Writer(out)).is_err() {
        *out = serde_json::to_string(value)?;
    }
    Ok(())
}

/// Whether a value is written without serde_json's help.
#[cfg(test)]
pub(crate) fn is_quick(value: &impl Serialize) -> bool {
    value.serialize(Writer(&mut String::new())).is_ok()
}

/// What this writer leaves to serde_json.
#[derive(Debug)]
struct Unusual;

impl fmt::Display for Unusual {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this is for another writer")
    }
}

impl std::error::Error for Unusual {}

impl ser::Error for Unusual {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

struct Writer<'a>(&'a mut String);

/// The inside of a list or an object.
struct Inside<'a> {
    out: &'a mut String,
    empty: bool,
    end: char,
}

impl<'a> Writer<'a> {
    fn open(self, start: char, end: char) -> Inside<'a> {
        self.0.push(start);
        Inside { out: self.0, empty: true, end }
    }
}

impl Inside<'_> {
    fn next(&mut self) {
        if !self.empty {
            self.out.push(',');
        }
        self.empty = false;
    }

    fn close(self) {
        self.out.push(self.end);
    }
}

fn string(text: &str, out: &mut String) {
    out.reserve(text.len() + 2);
    out.push('"');
    if is_plain(text.as_bytes()) {
        out.push_str(text);
    } else {
        escaped(text, out);
    }
    out.push('"');
}

/// Apart from the rest, as few strings need it.
#[inline(never)]
fn escaped(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some(at) = first_suspicious(rest.as_bytes()) {
        out.push_str(&rest[..at]);
        match rest.as_bytes()[at] {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            0x08 => out.push_str("\\b"),
            0x0c => out.push_str("\\f"),
            other => {
                out.push_str("\\u00");
                out.extend([other >> 4, other & 15].map(|half| char::from(b"0123456789abcdef"[usize::from(half)])));
            }
        }
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
}

/// Where the first byte is that has to be escaped.
fn first_suspicious(bytes: &[u8]) -> Option<usize> {
    let plain = bytes.as_chunks::<16>().0.iter().take_while(|block| !suspicious(block)).count() * 16;
    let found = bytes[plain..].iter().position(|byte| suspicious(&[*byte]));
    found.map(|at| plain + at)
}

/// Whether all of it can stand in a string as it is.
fn is_plain(bytes: &[u8]) -> bool {
    // The last block may have a part of the one before in it.
    if let (Some(first), Some(last)) = (bytes.first_chunk::<16>(), bytes.last_chunk::<16>()) {
        let between = bytes[16..].as_chunks::<16>().0;
        let found = between.iter().fold(suspicious(first) | suspicious(last), |found, block| found | suspicious(block));
        !found
    } else if let (Some(first), Some(last)) = (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
        !(suspicious(first) | suspicious(last))
    } else if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        !(suspicious(first) | suspicious(last))
    } else {
        !bytes.iter().any(|byte| suspicious(&[*byte]))
    }
}

/// Whether one of the bytes has to be escaped. All of them are looked at, without a branch: that is done side by side.
fn suspicious<const N: usize>(bytes: &[u8; N]) -> bool {
    bytes.iter().fold(false, |found, byte| found | (*byte == b'"') | (*byte == b'\\') | (*byte < b' '))
}

macro_rules! integers {
    ($($method:ident: $type:ty),*) => {
        $(fn $method(self, value: $type) -> Result<(), Unusual> {
            self.0.push_str(itoa::Buffer::new().format(value));
            Ok(())
        })*
    };
}

impl<'a> Serializer for Writer<'a> {
    type Ok = ();
    type Error = Unusual;
    type SerializeSeq = Inside<'a>;
    type SerializeTuple = Impossible<(), Unusual>;
    type SerializeTupleStruct = Impossible<(), Unusual>;
    type SerializeTupleVariant = Impossible<(), Unusual>;
    type SerializeMap = Inside<'a>;
    type SerializeStruct = Inside<'a>;
    type SerializeStructVariant = Impossible<(), Unusual>;

    integers!(serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64);
    integers!(serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64);

    fn serialize_bool(self, value: bool) -> Result<(), Unusual> {
        self.0.push_str(if value { "true" } else { "false" });
        Ok(())
    }

    fn serialize_str(self, text: &str) -> Result<(), Unusual> {
        string(text, self.0);
        Ok(())
    }

    fn serialize_none(self) -> Result<(), Unusual> {
        self.0.push_str("null");
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Unusual> {
        value.serialize(self)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), Unusual> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<(), Unusual> {
        value.serialize(self)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Inside<'a>, Unusual> {
        Ok(self.open('[', ']'))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Inside<'a>, Unusual> {
        Ok(self.open('{', '}'))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Inside<'a>, Unusual> {
        Ok(self.open('{', '}'))
    }

    fn serialize_f32(self, _: f32) -> Result<(), Unusual> {
        Err(Unusual)
    }

    fn serialize_f64(self, _: f64) -> Result<(), Unusual> {
        Err(Unusual)
    }

    fn serialize_char(self, _: char) -> Result<(), Unusual> {
        Err(Unusual)
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<(), Unusual> {
        Err(Unusual)
    }

    fn serialize_unit(self) -> Result<(), Unusual> {
        Err(Unusual)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Unusual> {
        Err(Unusual)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), Unusual> {
        Err(Unusual)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, Unusual> {
        Err(Unusual)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeTupleStruct, Unusual> {
        Err(Unusual)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Unusual> {
        Err(Unusual)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, Unusual> {
        Err(Unusual)
    }
}

impl ser::SerializeSeq for Inside<'_> {
    type Ok = ();
    type Error = Unusual;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Unusual> {
        self.next();
        value.serialize(Writer(self.out))
    }

    fn end(self) -> Result<(), Unusual> {
        self.close();
        Ok(())
    }
}

impl ser::SerializeMap for Inside<'_> {
    type Ok = ();
    type Error = Unusual;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Unusual> {
        self.next();
        let start = self.out.len();
        key.serialize(Writer(self.out))?;
        // Numbers are written as text there.
        if self.out.as_bytes().get(start) == Some(&b'"') { Ok(()) } else { Err(Unusual) }
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Unusual> {
        self.out.push(':');
        value.serialize(Writer(self.out))
    }

    fn end(self) -> Result<(), Unusual> {
        self.close();
        Ok(())
    }
}

impl ser::SerializeStruct for Inside<'_> {
    type Ok = ();
    type Error = Unusual;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Unusual> {
        // Names of ours need no escapes.
        self.next();
        self.out.push('"');
        self.out.push_str(name);
        self.out.push_str("\":");
        value.serialize(Writer(self.out))
    }

    fn end(self) -> Result<(), Unusual> {
        self.close();
        Ok(())
    }
}

#[cfg(test)]
mod tests;
