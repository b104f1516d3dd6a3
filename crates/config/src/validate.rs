//! Finds all errors of a layer. Runs only after deserialization has failed, so it may be slow.

mod valid_subset;

use serde_path_to_error::Segment;
use toml::{Table, Value};

use crate::diagnostic::Diagnostic;
use crate::key::ConfigKey;
use crate::layer::{Layer, leaves, overlay};
use crate::load::built_in_table;
use crate::model::Config;
use crate::schema::{self, Node};
use crate::source_position::{self, PathStep};
use valid_subset::ValidSubset;

/// The errors of a layer, and the layer without the values that cause them.
#[derive(Debug)]
pub(crate) struct InvalidLayer {
    pub(crate) problems: Vec<Diagnostic>,
    /// `None` if no valid part could be isolated.
    pub(crate) valid: Option<Table>,
}

/// All errors of a layer on top of `below`; `None` if it is valid.
pub(crate) fn validate_layer(below: &Table, layer: &Layer) -> Option<InvalidLayer> {
    let schema = schema::json_schema();
    let mut problems = Vec::new();
    let mut remaining = ValidSubset::new(layer.table.clone());
    let mut unknown = Vec::new();
    unknown_in_table(Node::root(&schema), &layer.table, &mut Vec::new(), &mut unknown);
    for (path, hint) in unknown {
        problems.push(problem(layer, &path, format!("unknown key `{}`", display_path(&path)), hint));
        remaining.remove(&path);
    }
    let mut is_valid = true;
    while let Some((path, what)) = first_error(below, &remaining.table) {
        let path = remaining.original_path(path);
        problems.push(problem(layer, &path, format!("`{}`: {what}", display_path(&path)), None));
        is_valid = remaining.remove(&path);
        if !is_valid {
            break;
        }
    }
    if problems.is_empty() {
        return None;
    }
    problems.sort_by_key(|problem| problem.position);
    Some(InvalidLayer { problems, valid: is_valid.then_some(remaining.table) })
}

/// Keys by which a person makes Belay intervene less.
const RELAXING_KEYS: &[&str] = &["dry_run", "enabled", "allow", "actions", "pairs"];

/// Whether ignoring the value of `key` could make Belay intervene where the user did not want it to. Without a key, the
/// whole layer is ignored. An unknown key has no meaning that could be lost, unless it resembles one of
/// [`RELAXING_KEYS`]: a typing error in a threshold must not turn detection off.
pub(crate) fn may_tighten_if_ignored(key: Option<&ConfigKey>) -> bool {
    let Some(key) = key else { return true };
    let parts: Vec<&str> = key.parts().iter().map(String::as_str).collect();
    let is_known = || Node::at(&schema::json_schema(), key).is_some();
    let is_relaxing = |name: &str| closest_match(name, RELAXING_KEYS).is_some();
    match parts.as_slice() {
        // Without a limit or a custom pattern, Belay intervenes less. But limits that should ignore a model would count it.
        ["detect", "budget", name, ..] => closest_match(name, &["unknown_model"]).is_some(),
        ["detect", "budget" | "custom", ..] => false,
        ["detect", .., name] => is_relaxing(name) || is_known(),
        ["detect"] => true,
        [] => true,
        [section, ..] => {
            let built_in = built_in_table();
            let sections: Vec<&str> = built_in.keys().map(String::as_str).collect();
            closest_match(section, &sections).map_or_else(|| is_relaxing(section), |section| section == "detect")
        }
    }
}

fn problem(layer: &Layer, path: &[PathStep], what: String, hint: Option<String>) -> Diagnostic {
    // Parser messages span several lines; a diagnostic is one line.
    let what = what.split_whitespace().collect::<Vec<_>>().join(" ");
    let position = layer.text.as_deref().and_then(|text| source_position::position(text, path));
    Diagnostic { source: layer.source.clone(), position, key: Some(name_key(path)), what, hint }
}

/// The key of a path, up to the first list index.
fn name_key(path: &[PathStep]) -> ConfigKey {
    let names = path.iter().map_while(|step| match step {
        PathStep::Name(name) => Some(name.clone()),
        PathStep::Index(_) => None,
    });
    names.collect()
}

/// Formats a path, such as `detect.custom[2].command`.
fn display_path(path: &[PathStep]) -> String {
    let mut text = String::new();
    for step in path {
        match step {
            PathStep::Index(index) => text.push_str(&format!("[{}]", index + 1)),
            PathStep::Name(name) => {
                text.push_str(if text.is_empty() { "" } else { "." });
                text.push_str(&[name].into_iter().collect::<ConfigKey>().to_string());
            }
        }
    }
    text
}

/// Deserializes the configuration; `None` if it is invalid.
pub(crate) fn parse_config(table: &Table) -> Option<Config> {
    let config = Value::Table(table.clone()).try_into::<Config>().ok()?;
    config.detect.check().is_ok().then_some(config)
}

fn first_error(below: &Table, table: &Table) -> Option<(Vec<PathStep>, String)> {
    let mut merged = below.clone();
    overlay(&mut merged, table);
    let error = match serde_path_to_error::deserialize::<_, Config>(Value::Table(merged)) {
        Ok(config) => return config.detect.check().err().map(|error| (rule_path(&config, &error.at), error.problem)),
        Err(error) => error,
    };
    let path = error.path().iter().filter_map(|segment| match segment {
        Segment::Seq { index } => Some(PathStep::Index(*index)),
        Segment::Map { key } => Some(PathStep::Name(key.clone())),
        Segment::Enum { .. } | Segment::Unknown => None,
    });
    Some((path.collect(), error.inner().message().trim().to_owned()))
}

/// The path of a rule error. Rules identify a custom pattern by its name and a price by its index; files use indices.
fn rule_path(config: &Config, at: &str) -> Vec<PathStep> {
    let mut path = vec![PathStep::Name("detect".to_owned())];
    let mut parts = at.split('.').map(str::to_owned);
    if let Some(first) = parts.next() {
        let is_list = matches!(first.as_str(), "custom" | "prices");
        path.push(PathStep::Name(first));
        if is_list && let Some(name) = parts.next() {
            let index = config.detect.custom.iter().position(|pattern| pattern.name == name);
            path.extend(index.or_else(|| name.parse().ok()).map(PathStep::Index));
        }
    }
    path.extend(parts.map(PathStep::Name));
    path
}

type UnknownKey = (Vec<PathStep>, Option<String>);

fn unknown_in_table(node: Node<'_>, table: &Table, path: &mut Vec<PathStep>, found: &mut Vec<UnknownKey>) {
    if node.is_open() {
        return;
    }
    for (name, value) in table {
        path.push(PathStep::Name(name.clone()));
        match node.child(name) {
            Some(child) => unknown_in_value(child, value, path, found),
            None => found.push((path.clone(), suggestion(node, name, path))),
        }
        path.pop();
    }
}

fn unknown_in_value(node: Node<'_>, value: &Value, path: &mut Vec<PathStep>, found: &mut Vec<UnknownKey>) {
    match value {
        // A table in place of a scalar is a type error, not an unknown key.
        Value::Table(table) if !node.names().is_empty() || node.child("").is_some() => {
            unknown_in_table(node, table, path, found);
        }
        Value::Array(elements) => {
            let Some(element) = node.element() else { return };
            for (index, value) in elements.iter().enumerate() {
                path.push(PathStep::Index(index));
                unknown_in_value(element, value, path, found);
                path.pop();
            }
        }
        _ => {}
    }
}

/// Suggests a similar key of the same section, or the same name in another section.
fn suggestion(node: Node<'_>, name: &str, path: &[PathStep]) -> Option<String> {
    let names = node.names();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    if let Some(near) = closest_match(name, &names) {
        let mut parts: Vec<String> = name_key(path).parts().to_vec();
        parts.pop();
        parts.push(near.to_owned());
        return Some(format!("did you mean `{}`?", parts.into_iter().collect::<ConfigKey>()));
    }
    let built_in = built_in_table();
    let elsewhere = leaves(&built_in).into_iter().find(|(key, _)| key.parts().last().is_some_and(|last| last == name));
    elsewhere.map(|(key, _)| format!("did you mean `{key}`?"))
}

/// The candidate most similar to `name`, if it is similar enough.
pub(crate) fn closest_match<'c>(name: &str, candidates: &[&'c str]) -> Option<&'c str> {
    let scored = candidates.iter().map(|candidate| (strsim::jaro_winkler(name, candidate), *candidate));
    scored.filter(|(score, _)| *score >= 0.8).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, candidate)| candidate)
}

/// Parses a value of a flag, a variable or `config set`. Strings need no quotes.
pub(crate) fn parse_value(key: &ConfigKey, text: &str) -> Result<Value, String> {
    let built_in = built_in_table();
    let as_toml = || toml::from_str::<Table>(&format!("v = {text}")).ok().and_then(|mut table| table.remove("v"));
    match key.get(&built_in) {
        Some(Value::String(_)) => Ok(Value::String(text.to_owned())),
        Some(Value::Boolean(_)) => match text {
            "true" | "1" | "yes" | "on" => Ok(Value::Boolean(true)),
            "false" | "0" | "no" | "off" => Ok(Value::Boolean(false)),
            other => Err(format!("`{other}` is not true or false")),
        },
        Some(Value::Table(_)) => Err("is a section; use a key inside it".to_owned()),
        Some(Value::Integer(_)) => as_toml().ok_or_else(|| format!("`{text}` is not an integer")),
        Some(Value::Float(_)) => match as_toml() {
            Some(Value::Integer(number)) => Ok(Value::Float(number as f64)),
            Some(value) => Ok(value),
            None => Err(format!("`{text}` is not a number")),
        },
        Some(Value::Array(_)) => {
            as_toml().ok_or_else(|| format!("`{text}` is not a list; use the form [\"a\", \"b\"]"))
        }
        Some(Value::Datetime(_)) | None => Ok(as_toml().unwrap_or_else(|| Value::String(text.to_owned()))),
    }
}
