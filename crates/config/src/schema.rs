//! The JSON Schema of the configuration, for editors and for Belay's own diagnostics. It is generated from the types in
//! `model.rs`.

use serde_json::{Map, Value};

use crate::key::ConfigKey;
use crate::model::Config;

/// The schema of `config.toml` and `.belay.toml`.
pub fn json_schema() -> Value {
    let mut root = schemars::schema_for!(Config).to_value();
    if let Some(object) = root.as_object_mut() {
        object.insert("title".to_owned(), "Belay configuration".into());
        object.insert("$id".to_owned(), "https://belay.dev/schema/config.json".into());
        let mut definitions = match object.remove("$defs") {
            Some(Value::Object(definitions)) => definitions,
            _ => Map::new(),
        };
        relax(&mut definitions, object, &crate::load::built_in_table());
        object.insert("$defs".to_owned(), Value::Object(definitions));
    }
    root
}

/// Removes `required` from all keys that have a built-in value.
fn relax(definitions: &mut Map<String, Value>, node: &mut Map<String, Value>, defaults: &toml::Table) {
    node.remove("required");
    for (name, inner) in defaults.iter().filter_map(|(name, value)| Some((name, value.as_table()?))) {
        let child = match node.get("properties").and_then(|properties| properties.get(name)) {
            Some(property) => property,
            None => continue,
        };
        let Some(definition) = definition_name(child) else { continue };
        if let Some(Value::Object(mut taken)) = definitions.remove(&definition) {
            relax(definitions, &mut taken, inner);
            definitions.insert(definition, Value::Object(taken));
        }
    }
}

fn definition_name(node: &Value) -> Option<String> {
    node.get("$ref")?.as_str()?.strip_prefix("#/$defs/").map(str::to_owned)
}

/// A node of the schema.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node<'s> {
    root: &'s Value,
    /// With its description; may be a reference.
    here: &'s Value,
}

impl<'s> Node<'s> {
    pub(crate) fn root(root: &'s Value) -> Self {
        Self { root, here: root }
    }

    /// The node of a key.
    pub(crate) fn at(root: &'s Value, key: &ConfigKey) -> Option<Self> {
        key.parts().iter().try_fold(Self::root(root), |node, part| node.child(part))
    }

    /// The schema of a table's entry.
    pub(crate) fn child(self, name: &str) -> Option<Self> {
        self.shapes().into_iter().find_map(|shape| {
            let named = shape.get("properties").and_then(|properties| properties.get(name));
            let any = || shape.get("additionalProperties").filter(|any| any.is_object());
            Some(Self { root: self.root, here: named.or_else(any)? })
        })
    }

    /// What the elements of a list are.
    pub(crate) fn element(self) -> Option<Self> {
        self.shapes().into_iter().find_map(|shape| Some(Self { root: self.root, here: shape.get("items")? }))
    }

    /// Names a table may hold.
    pub(crate) fn names(self) -> Vec<String> {
        let shapes = self.shapes();
        let properties = shapes.iter().filter_map(|shape| shape.get("properties")?.as_object());
        properties.flat_map(|properties| properties.keys().cloned()).collect()
    }

    /// Whether any value is allowed.
    pub(crate) fn is_open(self) -> bool {
        let shapes = self.shapes();
        shapes.iter().all(|shape| {
            shape.get("properties").is_none()
                && shape.get("items").is_none()
                && shape.get("type").is_none_or(|kind| kind == "object" || kind == "array")
                && shape.get("additionalProperties").is_none_or(|any| any == &Value::Bool(true))
        })
    }

    pub(crate) fn description(self) -> Option<&'s str> {
        let text = |node: &'s Value| node.get("description")?.as_str();
        text(self.here).or_else(|| self.shapes().into_iter().find_map(text))
    }

    /// Allowed values of an enumeration.
    pub(crate) fn choices(self) -> Vec<String> {
        let mut choices = Vec::new();
        for shape in self.shapes() {
            let values = shape.get("enum").and_then(Value::as_array).into_iter().flatten().chain(shape.get("const"));
            choices.extend(values.filter_map(Value::as_str).map(str::to_owned));
        }
        choices
    }

    /// This node with its references and alternatives resolved.
    fn shapes(self) -> Vec<&'s Value> {
        let mut shapes = vec![self.here];
        let mut next = 0;
        // Bounded, because schemas of recursive types refer to themselves.
        while let Some(node) = shapes.get(next).copied().filter(|_| next < 64) {
            next += 1;
            if let Some(name) = definition_name(node) {
                shapes.extend(self.root.get("$defs").and_then(|definitions| definitions.get(&name)));
            }
            for list in ["anyOf", "oneOf", "allOf"] {
                shapes.extend(node.get(list).and_then(Value::as_array).into_iter().flatten());
            }
        }
        shapes
    }
}
