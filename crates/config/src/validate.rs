//! Finding every mistake of a layer. Slow and thorough: it runs only when there is a mistake.

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

/// What is wrong with a layer laid over `below`. Empty when nothing is.
pub(crate) fn validate_layer(below: &Table, layer: &Layer) -> Vec<Diagnostic> {
    let schema = schema::json_schema();
    let mut problems = Vec::new();
    let mut remaining = ValidSubset::new(layer.table.clone());
    let mut unknown = Vec::new();
    unknown_in_table(Node::root(&schema), &layer.table, &mut Vec::new(), &mut unknown);
    for (path, hint) in unknown {
        problems.push(problem(layer, &path, format!("unknown key `{}`", spell(&path)), hint));
        remaining.take(&path);
    }
    while let Some((path, what)) = first_mistake(below, &remaining.table) {
        let path = remaining.document(path);
        problems.push(problem(layer, &path, format!("`{}`: {what}", spell(&path)), None));
        if !remaining.take(&path) {
            break;
        }
    }
    problems.sort_by_key(|problem| problem.position);
    problems
}

fn problem(layer: &Layer, path: &[PathStep], what: String, hint: Option<String>) -> Diagnostic {
    // Libraries draw pictures of the mistake; here it is one line of a list.
    let what = what.split_whitespace().collect::<Vec<_>>().join(" ");
    let position = layer.text.as_deref().and_then(|text| source_position::position(text, path));
    Diagnostic { source: layer.source.clone(), position, key: Some(name_key(path)), what, hint }
}

/// The key of a path, up to where a list begins.
fn name_key(path: &[PathStep]) -> ConfigKey {
    let names = path.iter().map_while(|step| match step {
        PathStep::Name(name) => Some(name.clone()),
        PathStep::Index(_) => None,
    });
    names.collect()
}

/// A whole path for people: `detect.custom[2].command`.
fn spell(path: &[PathStep]) -> String {
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

/// The typed configuration, if nothing is wrong with it.
pub(crate) fn parse_config(table: &Table) -> Option<Config> {
    let config = Value::Table(table.clone()).try_into::<Config>().ok()?;
    config.detect.check().is_ok().then_some(config)
}

fn first_mistake(below: &Table, table: &Table) -> Option<(Vec<PathStep>, String)> {
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

/// Rules name a pattern of one's own by its name; files by its place in the list.
fn rule_path(config: &Config, at: &str) -> Vec<PathStep> {
    let mut path = vec![PathStep::Name("detect".to_owned())];
    let mut parts = at.split('.').map(str::to_owned);
    if let Some(first) = parts.next() {
        let is_list = first == "custom";
        path.push(PathStep::Name(first));
        if is_list && let Some(name) = parts.next() {
            let index = config.detect.custom.iter().position(|pattern| pattern.name == name);
            path.extend(index.map(PathStep::Index));
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
        // A table where a plain value belongs is a wrong type, not an unknown key.
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

/// A sibling spelled alike, or the same name in another section.
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

/// The candidate spelled most like `name`, if any is spelled much like it.
pub(crate) fn closest_match<'c>(name: &str, candidates: &[&'c str]) -> Option<&'c str> {
    let scored = candidates.iter().map(|candidate| (strsim::jaro_winkler(name, candidate), *candidate));
    scored.filter(|(score, _)| *score >= 0.8).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, candidate)| candidate)
}

/// Reads a value from a flag, a variable or `config set`, where strings need no quotes.
pub(crate) fn parse_value(key: &ConfigKey, text: &str) -> Result<Value, String> {
    let built_in = built_in_table();
    let as_toml = || toml::from_str::<Table>(&format!("v = {text}")).ok().and_then(|mut table| table.remove("v"));
    match key.get(&built_in) {
        Some(Value::String(_)) => Ok(Value::String(text.to_owned())),
        Some(Value::Boolean(_)) => match text {
            "true" | "1" | "yes" | "on" => Ok(Value::Boolean(true)),
            "false" | "0" | "no" | "off" => Ok(Value::Boolean(false)),
            other => Err(format!("`{other}` is neither true nor false")),
        },
        Some(Value::Table(_)) => Err("is a section; name a key inside it".to_owned()),
        Some(Value::Integer(_)) => as_toml().ok_or_else(|| format!("`{text}` is no whole number")),
        Some(Value::Float(_)) => match as_toml() {
            Some(Value::Integer(number)) => Ok(Value::Float(number as f64)),
            Some(value) => Ok(value),
            None => Err(format!("`{text}` is no number")),
        },
        Some(Value::Array(_)) => as_toml().ok_or_else(|| format!("`{text}` is no list; write it like [\"a\", \"b\"]")),
        Some(Value::Datetime(_)) | None => Ok(as_toml().unwrap_or_else(|| Value::String(text.to_owned()))),
    }
}
