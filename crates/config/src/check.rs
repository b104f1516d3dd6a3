//! Finding every mistake of a layer. Slow and thorough: it runs only when there is a mistake.

use serde_path_to_error::Segment;
use toml::{Table, Value};

use crate::key::Key;
use crate::layer::{Layer, leaves, overlay};
use crate::load::built_in_table;
use crate::locate::{self, Step};
use crate::model::Config;
use crate::problem::Problem;
use crate::schema::{self, Node};

/// What is wrong with a layer laid over `below`. Empty when nothing is.
pub(crate) fn layer(below: &Table, layer: &Layer) -> Vec<Problem> {
    let schema = schema::json_schema();
    let mut problems = Vec::new();
    let mut table = layer.table.clone();
    let mut unknown = Vec::new();
    unknown_in_table(Node::root(&schema), &layer.table, &mut Vec::new(), &mut unknown);
    for (path, hint) in unknown {
        let key = name_key(&path);
        problems.push(problem(layer, &path, format!("unknown key `{key}`"), hint));
        key.take(&mut table);
    }
    // One mistake hides the next: take it out and look again, as long as there is something to take out.
    while let Some((path, what)) = first_mistake(below, &table) {
        let key = longest_present(&table, &path);
        problems.push(problem(layer, &path, format!("`{}`: {what}", name_key(&path)), None));
        if key.and_then(|key| key.take(&mut table)).is_none() {
            break;
        }
    }
    problems.sort_by_key(|problem| problem.position);
    problems
}

fn problem(layer: &Layer, path: &[Step], what: String, hint: Option<String>) -> Problem {
    let position = layer.text.as_deref().and_then(|text| locate::position(text, path));
    Problem { source: layer.source.clone(), position, key: Some(name_key(path)), what, hint }
}

/// The key of a path, up to where a list begins.
fn name_key(path: &[Step]) -> Key {
    let names = path.iter().map_while(|step| match step {
        Step::Name(name) => Some(name.clone()),
        Step::Index(_) => None,
    });
    names.collect()
}

/// The longest beginning of `path` that is set in `table`.
fn longest_present(table: &Table, path: &[Step]) -> Option<Key> {
    let key = name_key(path);
    (1..=key.parts().len())
        .rev()
        .map(|len| key.parts()[..len].iter().cloned().collect::<Key>())
        .find(|key| key.look_up(table).is_some())
}

fn first_mistake(below: &Table, table: &Table) -> Option<(Vec<Step>, String)> {
    let mut merged = below.clone();
    overlay(&mut merged, table);
    let error = serde_path_to_error::deserialize::<_, Config>(Value::Table(merged)).err()?;
    let path = error.path().iter().filter_map(|segment| match segment {
        Segment::Seq { index } => Some(Step::Index(*index)),
        Segment::Map { key } => Some(Step::Name(key.clone())),
        Segment::Enum { .. } | Segment::Unknown => None,
    });
    Some((path.collect(), error.inner().message().trim().to_owned()))
}

type Unknown = (Vec<Step>, Option<String>);

fn unknown_in_table(node: Node<'_>, table: &Table, path: &mut Vec<Step>, found: &mut Vec<Unknown>) {
    if node.is_open() {
        return;
    }
    for (name, value) in table {
        path.push(Step::Name(name.clone()));
        match node.child(name) {
            Some(child) => unknown_in_value(child, value, path, found),
            None => found.push((path.clone(), suggestion(node, name, path))),
        }
        path.pop();
    }
}

fn unknown_in_value(node: Node<'_>, value: &Value, path: &mut Vec<Step>, found: &mut Vec<Unknown>) {
    match value {
        // A table where a plain value belongs is a wrong type, not an unknown key.
        Value::Table(table) if !node.names().is_empty() || node.child("").is_some() => {
            unknown_in_table(node, table, path, found);
        }
        Value::Array(elements) => {
            let Some(element) = node.element() else { return };
            for (index, value) in elements.iter().enumerate() {
                path.push(Step::Index(index));
                unknown_in_value(element, value, path, found);
                path.pop();
            }
        }
        _ => {}
    }
}

/// A sibling spelled alike, or the same name in another section.
fn suggestion(node: Node<'_>, name: &str, path: &[Step]) -> Option<String> {
    let names = node.names();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    if let Some(near) = nearest(name, &names) {
        let mut parts: Vec<String> = name_key(path).parts().to_vec();
        parts.pop();
        parts.push(near.to_owned());
        return Some(format!("did you mean `{}`?", parts.into_iter().collect::<Key>()));
    }
    let built_in = built_in_table();
    let elsewhere = leaves(&built_in).into_iter().find(|(key, _)| key.parts().last().is_some_and(|last| last == name));
    elsewhere.map(|(key, _)| format!("did you mean `{key}`?"))
}

/// The candidate spelled most like `name`, if any is spelled much like it.
pub(crate) fn nearest<'c>(name: &str, candidates: &[&'c str]) -> Option<&'c str> {
    let scored = candidates.iter().map(|candidate| (strsim::jaro_winkler(name, candidate), *candidate));
    scored.filter(|(score, _)| *score >= 0.8).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, candidate)| candidate)
}

/// Reads a value from a flag, a variable or `config set`, where strings need no quotes.
pub(crate) fn parse_value(key: &Key, text: &str) -> Result<Value, String> {
    let built_in = built_in_table();
    let as_toml = || toml::from_str::<Table>(&format!("v = {text}")).ok().and_then(|mut table| table.remove("v"));
    match key.look_up(&built_in) {
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
