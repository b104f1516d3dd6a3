use super::*;

/// The document is part of the public interface: a change of it is reviewed.
#[test]
fn the_document_changes_only_on_purpose() {
    let text = serde_json::to_string_pretty(&build()).unwrap();
    insta::with_settings!({ prepend_module_to_snapshot => false }, { insta::assert_snapshot!("openapi", text) });
}

#[test]
fn every_reference_resolves() {
    fn references(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => fields.iter().for_each(|(name, value)| match value.as_str() {
                Some(target) if name == "$ref" => found.push(target.to_owned()),
                _ => references(value, found),
            }),
            Value::Array(values) => values.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }
    let document = build();
    let mut found = Vec::new();
    references(&document, &mut found);
    assert!(found.len() > 20, "{found:?}");
    for target in found {
        let pointer = target.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{target}");
    }
}
