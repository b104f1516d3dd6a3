//! The smallest value that a JSON schema accepts: for required arguments without a scripted value, and for auxiliary
//! requests that require structured output.

use serde_json::{Map, Value, json};

/// `words` is used for every string.
pub(crate) fn instance(schema: &Value, words: &str) -> Value {
    if let Some(first) = schema["enum"].as_array().and_then(|values| values.first()) {
        return first.clone();
    }
    if let Some(constant) = schema.get("const") {
        return constant.clone();
    }
    for union in ["anyOf", "oneOf", "allOf"] {
        if let Some(first) = schema[union].as_array().and_then(|schemas| schemas.first()) {
            return instance(first, words);
        }
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds.first().and_then(Value::as_str),
        kind => kind.as_str(),
    };
    match kind.map(str::to_ascii_lowercase).as_deref() {
        Some("object") => {
            let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let fill = |name: &str| (name.to_owned(), instance(&schema["properties"][name], words));
            Value::Object(required.map(fill).collect::<Map<_, _>>())
        }
        Some("array") => json!([]),
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or(json!(0)),
        Some("boolean") => json!(false),
        Some("null") => Value::Null,
        _ => {
            let limit = schema["maxLength"].as_u64().map_or(usize::MAX, |limit| limit as usize);
            json!(words.chars().take(limit).collect::<String>())
        }
    }
}
