//! The fields of a line that are read. All are optional, because formats change over time.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::lenient_json::{LenientBool, LenientOption, LenientString, LenientTime, LenientU64, impl_lenient};

/// One line.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Record<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: LenientString<'a>,
    #[serde(borrow)]
    pub(super) subtype: LenientString<'a>,
    #[serde(borrow)]
    pub(super) uuid: LenientString<'a>,
    #[serde(borrow)]
    pub(super) parent_uuid: LenientString<'a>,
    pub(super) timestamp: LenientTime,
    #[serde(borrow)]
    pub(super) session_id: LenientString<'a>,
    #[serde(borrow)]
    pub(super) agent_id: LenientString<'a>,
    pub(super) is_sidechain: LenientBool,
    pub(super) is_meta: LenientBool,
    pub(super) is_compact_summary: LenientBool,
    pub(super) is_api_error_message: LenientBool,
    #[serde(borrow)]
    pub(super) cwd: LenientString<'a>,
    #[serde(borrow)]
    pub(super) version: LenientString<'a>,
    #[serde(borrow)]
    pub(super) git_branch: LenientString<'a>,
    #[serde(borrow)]
    pub(super) tool_denial_kind: LenientString<'a>,
    #[serde(borrow)]
    pub(super) message: Message<'a>,
    #[serde(borrow)]
    pub(super) attachment: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) tool_use_result: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) origin: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) forked_from: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) compact_metadata: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
    pub(super) retry_in_ms: Option<f64>,
}

/// `message` of a user or assistant line.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Message<'a> {
    #[serde(borrow)]
    pub(super) id: LenientString<'a>,
    #[serde(borrow)]
    pub(super) model: LenientString<'a>,
    #[serde(borrow)]
    pub(super) content: Content<'a>,
    #[serde(borrow)]
    pub(super) stop_reason: LenientString<'a>,
    pub(super) usage: Option<Usage>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(super) struct Usage {
    pub(super) input_tokens: LenientU64,
    pub(super) output_tokens: LenientU64,
    pub(super) cache_read_input_tokens: LenientU64,
    pub(super) cache_creation_input_tokens: LenientU64,
    pub(super) cache_creation: LenientOption<CacheCreation>,
}

/// How long the written tokens are kept.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(super) struct CacheCreation {
    ephemeral_1h_input_tokens: LenientU64,
}

impl From<Usage> for belay_core::event::Usage {
    fn from(usage: Usage) -> Self {
        Self {
            input: usage.input_tokens.0,
            output: usage.output_tokens.0,
            cache_read: usage.cache_read_input_tokens.0,
            cache_write: usage.cache_creation_input_tokens.0,
            cache_write_1h: usage.cache_creation.0.map_or(0, |kept| kept.ephemeral_1h_input_tokens.0),
        }
    }
}

/// Plain text, or content blocks.
#[derive(Default)]
pub(super) enum Content<'a> {
    #[default]
    None,
    Text(Cow<'a, str>),
    Blocks(Vec<Block<'a>>),
}

/// A content block; which fields are set depends on its type.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Block<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: LenientString<'a>,
    #[serde(borrow)]
    pub(super) text: LenientString<'a>,
    #[serde(borrow)]
    pub(super) id: LenientString<'a>,
    #[serde(borrow)]
    pub(super) name: LenientString<'a>,
    pub(super) input: Value,
    #[serde(borrow)]
    pub(super) tool_use_id: LenientString<'a>,
    pub(super) is_error: LenientBool,
    #[serde(borrow)]
    pub(super) content: Content<'a>,
}

impl<'a> Content<'a> {
    /// All text, one line per block; a block of another type is represented by its type.
    pub(super) fn into_text(self) -> Cow<'a, str> {
        match self {
            Self::None => Cow::Borrowed(""),
            Self::Text(text) => text,
            Self::Blocks(mut blocks) if blocks.len() == 1 => blocks.remove(0).into_text(),
            Self::Blocks(blocks) => {
                let mut all = String::new();
                for block in blocks {
                    if !all.is_empty() {
                        all.push('\n');
                    }
                    all.push_str(&block.into_text());
                }
                Cow::Owned(all)
            }
        }
    }
}

impl<'a> Block<'a> {
    fn into_text(self) -> Cow<'a, str> {
        match &*self.kind {
            "text" | "" => self.text.into(),
            other => Cow::Owned(format!("[{other}]")),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Content<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text or content blocks")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Content::Text(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Content::Text(Cow::Owned(text.to_owned())))
            }
            impl_lenient!(Content::None; bool, u64, i64, f64, unit, map);
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut blocks = Vec::new();
                while let Some(block) = seq.next_element()? {
                    blocks.push(block);
                }
                Ok(Content::Blocks(blocks))
            }
        }
        deserializer.deserialize_any(Either)
    }
}
