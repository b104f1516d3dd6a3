//! Effective values and their origin.

use toml::Value;

use crate::diagnostic::Position;
use crate::env::VARIABLES;
use crate::key::ConfigKey;
use crate::layer::{Layer, Source, is_appending, leaves};
use crate::load::LoadedConfig;
use crate::project_limits::{self, ProjectPermission};
use crate::schema::{self, Node};
use crate::source_position::{self, PathStep};

/// One effective value.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub key: ConfigKey,
    pub value: Value,
    /// The layer that sets it.
    pub source: Source,
    /// Its position in that layer.
    pub position: Option<Position>,
}

/// The explanation of a key.
#[derive(Clone, Debug, PartialEq)]
pub struct Explained {
    pub key: ConfigKey,
    pub description: Option<String>,
    /// Allowed values of an enumeration.
    pub choices: Vec<String>,
    /// The value in each layer, lowest first. Empty for a section.
    pub layers: Vec<Entry>,
    /// Whether the values of all layers are combined; otherwise the last one applies.
    pub adds_up: bool,
    /// Keys of a section.
    pub below: Vec<ConfigKey>,
    /// The environment variable that sets it.
    pub variable: Option<&'static str>,
    /// What a project file may do with it.
    pub project: &'static str,
}

impl LoadedConfig {
    /// All effective values.
    pub fn entries(&self) -> Vec<Entry> {
        leaves(&self.merged).into_iter().filter_map(|(key, _)| self.entry(&key)).collect()
    }

    /// The effective value of a key, or the table of a section.
    pub fn get(&self, key: &ConfigKey) -> Option<&Value> {
        key.get(&self.merged)
    }

    /// The effective value and its origin; for combined values, the uppermost layer.
    pub fn entry(&self, key: &ConfigKey) -> Option<Entry> {
        let mut entry = self.layers.iter().rev().find_map(|layer| entry_in(layer, key))?;
        if let Some(value) = self.get(key) {
            entry.value = value.clone();
        }
        Some(entry)
    }

    /// What a person must know about settings that hold for every session: dry run, and variables of the environment.
    pub fn notices(&self) -> Vec<String> {
        let dry_run = ConfigKey::default().child("detect").child("dry_run");
        let source_of = |key: &ConfigKey| self.entry(key).map(|entry| entry.source);
        let by = |source: &Source| match source {
            Source::BuiltIn => String::new(),
            source => format!(" ({dry_run}, set by {source})"),
        };
        let mut notices = Vec::new();
        if self.config.detect.dry_run {
            let by = source_of(&dry_run).as_ref().map(by).unwrap_or_default();
            notices.push(format!("Dry run is on: nothing is denied or paused{by}."));
        }
        let layers = self.layers.iter().filter(|layer| matches!(layer.source, Source::Env(_)));
        let set = layers.flat_map(|layer| leaves(&layer.table).into_iter().map(|(key, _)| (key, &layer.source)));
        let others = set.filter(|(key, source)| *key != dry_run && source_of(key).as_ref() == Some(*source));
        notices.extend(others.map(|(key, source)| format!("{source} sets {key} for all sessions.")));
        notices
    }

    /// Explains a key; `None` if it does not exist.
    pub fn explain(&self, key: &ConfigKey) -> Option<Explained> {
        let schema = schema::json_schema();
        let node = Node::at(&schema, key)?;
        let is_section = matches!(self.get(key), Some(Value::Table(_)));
        let layers = match is_section {
            true => Vec::new(),
            false => self.layers.iter().filter_map(|layer| entry_in(layer, key)).collect(),
        };
        Some(Explained {
            key: key.clone(),
            description: node.description().map(str::to_owned),
            choices: node.choices(),
            layers,
            adds_up: is_appending(key),
            below: node.names().iter().map(|name| key.child(name)).collect(),
            variable: VARIABLES.iter().find(|row| row.key == Some(key.to_string().as_str())).map(|row| row.name),
            project: match project_limits::permission(key) {
                ProjectPermission::Never => "A project file cannot set it.",
                ProjectPermission::Tighten(tighter) => tighter.describe(),
            },
        })
    }

    /// The existing key most similar to a mistyped one.
    pub fn suggest(&self, key: &str) -> Option<String> {
        let keys: Vec<String> = leaves(&self.merged).iter().map(|(key, _)| key.to_string()).collect();
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        crate::validate::closest_match(key, &keys).map(str::to_owned)
    }
}

fn entry_in(layer: &Layer, key: &ConfigKey) -> Option<Entry> {
    let value = key.get(&layer.table)?.clone();
    let path: Vec<PathStep> = key.parts().iter().cloned().map(PathStep::Name).collect();
    let position = layer.text.as_deref().and_then(|text| source_position::position(text, &path));
    Some(Entry { key: key.clone(), value, source: layer.source.clone(), position })
}
