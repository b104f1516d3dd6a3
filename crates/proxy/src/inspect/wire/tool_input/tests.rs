//! Detection of complete inputs, and invalidation of partial ones.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn object() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![any::<i32>().prop_map(Value::from), ".*".prop_map(Value::from), Just(Value::Null)];
    let value = leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map(".*", inner, 0..4).prop_map(|map| json!(map)),
        ]
    });
    prop::collection::hash_map(".*", value, 0..4).prop_map(|map| json!(map))
}

proptest! {
    #[test]
    fn an_object_is_complete_at_its_end_and_not_before(object in object(), at in any::<prop::sample::Index>()) {
        let text = object.to_string();
        let cut = text.floor_char_boundary(at.index(text.len()));
        let mut input = ToolInput::default();
        input.push(&text[..cut]);
        prop_assert!(!input.is_complete());
        input.push(&text[cut..]);
        prop_assert!(input.is_complete());
    }

    #[test]
    fn nothing_can_be_made_of_a_spoilt_beginning(object in object(), at in any::<prop::sample::Index>(), more in ".*") {
        let text = object.to_string();
        let cut = text.floor_char_boundary(at.index(text.len()));
        for rest in ["", &text[cut..], &more, "\"}", "}"] {
            let spoilt = format!("{}{INVALIDATING_SUFFIX}{rest}", &text[..cut]);
            prop_assert!(serde_json::from_str::<Value>(&spoilt).is_err(), "{spoilt}");
        }
    }

    /// Partial-JSON parsers cut at the last backslash and close open containers.
    #[test]
    fn nothing_can_be_made_of_a_spoilt_string_without_its_last_escape(
        text in ".*",
        at in any::<prop::sample::Index>(),
    ) {
        let text = Value::from(text).to_string();
        let cut = text.floor_char_boundary(1 + at.index(text.len() - 1));
        let spoilt = format!("{}{INVALIDATING_SUFFIX}", &text[..cut]);
        let closed = format!("{}\"", &spoilt[..spoilt.rfind('\\').unwrap()]);
        prop_assert!(serde_json::from_str::<Value>(&closed).is_err(), "{closed}");
    }
}

/// Repairing parsers drop the backslash of an unknown escape, but reject an incomplete `\u`.
#[test]
fn no_escape_of_what_spoils_is_unknown() {
    assert!(INVALIDATING_SUFFIX.split('\\').skip(1).all(|escape| escape.starts_with('u')), "{INVALIDATING_SUFFIX}");
}
