//! Parses well-formed events in one pass, without an intermediate `Value`. Anything unusual is left to the lenient
//! reader, which reports what is wrong. Saves 4 to 6 us per posted event.
//!
//! Well-formed means the order in which Belay itself writes fields: the common fields, `kind` last, then the fields of
//! that kind.

use std::fmt;

use serde::Deserialize;
use serde::de::value::{BorrowedStrDeserializer, MapAccessDeserializer, StrDeserializer};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};

use super::{Body, Event, SCHEMA_VERSION, Source};
use crate::key::{SessionKey, validate_id};
use crate::time::Timestamp;

struct FastEvent(Event);

/// The event, or `None` if the lenient reader has to parse it.
pub(super) fn read(json: &[u8]) -> Option<Event> {
    let FastEvent(mut event) = serde_json::from_slice(json).ok()?;
    event.bound_amounts();
    event.redact_names();
    Some(event)
}

impl<'de> Deserialize<'de> for FastEvent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Reader).map(Self)
    }
}

/// Fields common to all events.
#[derive(Clone, Copy, Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum Field {
    V,
    Id,
    Session,
    Parent,
    Source,
    At,
    Batch,
    Cwd,
    Report,
    Kind,
    #[serde(other)]
    Other,
}

/// The frequent kinds.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    ToolCalled,
    ToolReturned,
    ModelAsked,
    ModelAnswered,
    Learned,
    FileChanged,
    CheckRan,
    Prompt,
    TurnEnded,
    SessionStarted,
    Tick,
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Event;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Event, A::Error> {
        let (mut v, mut source, mut at) = (SCHEMA_VERSION, Source::default(), Timestamp::default());
        let (mut id, mut session): (String, Option<SessionKey>) = (String::new(), None);
        let (mut parent, mut batch, mut cwd, mut report) = (None, None, None, None);
        let kind: Kind = loop {
            match map.next_key()? {
                Some(Field::V) => v = map.next_value()?,
                Some(Field::Id) => id = map.next_value()?,
                Some(Field::Session) => session = Some(map.next_value()?),
                Some(Field::Parent) => parent = map.next_value()?,
                Some(Field::Source) => source = map.next_value()?,
                Some(Field::At) => at = map.next_value()?,
                Some(Field::Batch) => batch = map.next_value()?,
                Some(Field::Cwd) => cwd = map.next_value()?,
                Some(Field::Report) => report = map.next_value()?,
                Some(Field::Kind) => break map.next_value()?,
                Some(Field::Other) | None => return Err(unusual()),
            }
        };
        let session = session.ok_or_else(unusual)?;
        let named = validate_id(&id).is_ok() && session.validate().is_ok();
        if !(1..=SCHEMA_VERSION).contains(&v) || !named {
            return Err(unusual());
        }
        let mut rest = BodyFields { map, late: false };
        let body = body(kind, &mut rest)?;
        if rest.late {
            return Err(unusual());
        }
        Ok(Event { v, id, session, parent, source, at, batch, cwd, report, body })
    }
}

fn unusual<E: Error>() -> E {
    E::custom("left to the lenient reader")
}

fn body<'de, A: MapAccess<'de>>(kind: Kind, rest: &mut BodyFields<A>) -> Result<Body, A::Error> {
    fn part<'de, T: Deserialize<'de>, A: MapAccess<'de>>(rest: &mut BodyFields<A>) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(rest))
    }
    Ok(match kind {
        Kind::ToolCalled => Body::ToolCalled(part(rest)?),
        Kind::ToolReturned => Body::ToolReturned(part(rest)?),
        Kind::ModelAsked => Body::ModelAsked(part(rest)?),
        Kind::ModelAnswered => Body::ModelAnswered(part(rest)?),
        Kind::Learned => Body::Learned(part(rest)?),
        Kind::FileChanged => Body::FileChanged(part(rest)?),
        Kind::CheckRan => Body::CheckRan(part(rest)?),
        Kind::Prompt => Body::Prompt(part(rest)?),
        Kind::TurnEnded => Body::TurnEnded(part(rest)?),
        Kind::SessionStarted => Body::SessionStarted(part(rest)?),
        Kind::Tick => {
            part::<IgnoredAny, _>(rest)?;
            Body::Tick
        }
    })
}

/// The fields after `kind`. A common field in this position would be ignored, so it is reported.
struct BodyFields<A> {
    map: A,
    late: bool,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for &mut BodyFields<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        self.map.next_key_seed(Key { seed, late: &mut self.late })
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}

/// Captures a key before passing it on to the inner deserializer.
struct Key<'a, K> {
    seed: K,
    late: &'a mut bool,
}

impl<K> Key<'_, K> {
    fn inspect(&mut self, key: &str) {
        *self.late |=
            matches!(key, "v" | "id" | "session" | "parent" | "source" | "at" | "batch" | "cwd" | "report" | "kind");
    }
}

impl<'de, K: DeserializeSeed<'de>> DeserializeSeed<'de> for Key<'_, K> {
    type Value = K::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<K::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de, K: DeserializeSeed<'de>> Visitor<'de> for Key<'_, K> {
    type Value = K::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a field")
    }

    fn visit_borrowed_str<E: Error>(mut self, key: &'de str) -> Result<K::Value, E> {
        self.inspect(key);
        self.seed.deserialize(BorrowedStrDeserializer::new(key))
    }

    fn visit_str<E: Error>(mut self, key: &str) -> Result<K::Value, E> {
        self.inspect(key);
        self.seed.deserialize(StrDeserializer::new(key))
    }
}
