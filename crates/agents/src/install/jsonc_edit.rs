//! Edits a user's JSON file and leaves the rest unchanged byte for byte.
//!
//! Settings files have an order, an indentation and often comments that their owners care about. An edit therefore
//! replaces text at a known range; the file is never parsed and rewritten. Comments and trailing commas, which several
//! agents allow, are parsed and preserved.
//!
//! The `cst` module of `jsonc-parser` 0.34 does not replace this module. It breaks single-line objects into several
//! lines and does not join them again when the entry is removed, drops blank lines before a closing bracket, refuses a
//! byte order mark and lone surrogates, and edits the first of several equal keys where the agents read the last.

mod parse;

use std::ops::Range;

use serde_json::Value;

use parse::{Kind, Node, WHITESPACE, parse};

/// Why a file cannot be edited.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsoncError {
    #[error("line {line}: {problem}")]
    Syntax { line: usize, problem: String },
    /// A path, and what its value should be.
    #[error("{0} is not {1}")]
    Shape(String, &'static str),
}

/// A JSON text being edited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsoncDocument {
    text: String,
}

impl JsoncDocument {
    /// Parses a text; an empty one is an empty object.
    pub fn new(text: &str) -> Result<Self, JsoncError> {
        let text = if text.trim().is_empty() { "{}\n".to_owned() } else { text.to_owned() };
        parse(&text)?;
        Ok(Self { text })
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// The value at a path; `None` if it does not exist.
    pub fn get(&self, path: &[&str]) -> Option<Value> {
        let root = parse(&self.text).ok()?;
        path.iter().try_fold(&root, |node, key| node.member(key)).map(|node| node.value(&self.text))
    }

    /// Appends an element to the array at a path, which is created if necessary.
    pub fn append(&mut self, path: &[&str], element: &Value) -> Result<(), JsoncError> {
        let root = parse(&self.text)?;
        let mut node = &root;
        for (depth, key) in path.iter().enumerate() {
            if node.kind != Kind::Object {
                return Err(shape(&path[..depth], "an object"));
            }
            match node.member(key) {
                Some(inner) => node = inner,
                None => {
                    let (node, inside) = (node.clone(), &path[depth + 1..]);
                    self.insert(&node, depth, Some(key), &Insertion::List(inside, element));
                    return Ok(());
                }
            }
        }
        if node.kind != Kind::Array {
            return Err(shape(path, "a list"));
        }
        let node = node.clone();
        self.insert(&node, path.len(), None, &Insertion::Value(element));
        Ok(())
    }

    /// Adds a member to the root object.
    pub fn set_if_absent(&mut self, key: &str, value: &Value) -> Result<(), JsoncError> {
        let root = parse(&self.text)?;
        if root.kind != Kind::Object {
            return Err(shape(&[], "an object"));
        }
        if root.member(key).is_none() {
            self.insert(&root, 0, Some(key), &Insertion::Value(value));
        }
        Ok(())
    }

    /// Removes the elements that `ours` accepts from all arrays below the object at a path, and containers that become
    /// empty. Returns the number of removed elements.
    pub fn remove(&mut self, path: &[&str], ours: impl Fn(&Value) -> bool) -> Result<usize, JsoncError> {
        let mut removed = 0;
        loop {
            let root = parse(&self.text)?;
            let Some(place) = path.iter().try_fold(&root, |node, key| node.member(key)) else { return Ok(removed) };
            let Some(trail) = find(place, &self.text, &ours) else { return Ok(removed) };
            // The element itself, or the largest container that holds nothing else.
            let mut whole: Vec<&Node> = path
                .iter()
                .scan(&root, |node, key| {
                    let before = *node;
                    *node = node.member(key)?;
                    Some(before)
                })
                .collect();
            whole.extend(trail);
            let lonely =
                whole.windows(2).rposition(|pair| pair[0].has_other_children(pair[1], &self.text) || pair[0].is(&root));
            let at = lonely.unwrap_or(0);
            self.take(whole[at + 1], whole[at]);
            removed += 1;
        }
    }

    /// Removes a member of the root object, if it exists.
    pub fn remove_member(&mut self, key: &str) -> Result<(), JsoncError> {
        let root = parse(&self.text)?;
        if let Some(member) = root.member(key) {
            self.take(member, &root);
        }
        Ok(())
    }

    fn take(&mut self, child: &Node, from: &Node) {
        let Some((element, comma)) = from.removal_ranges(child, &self.text) else { return };
        let without = |instead: &str| {
            let mut text = self.text.clone();
            text.replace_range(element.clone(), instead);
            if let Some(comma) = comma.clone() {
                text.replace_range(comma, "");
            }
            text
        };
        // The whitespace before it may have ended a line comment, which would otherwise extend over the following text.
        let text = Some(without("")).filter(|text| parse(text).is_ok());
        self.text = text.unwrap_or_else(|| without("\n"));
    }

    fn insert(&mut self, into: &Node, depth: usize, key: Option<&str>, new: &Insertion<'_>) {
        let unit = indentation(&self.text);
        let name = key.map_or_else(String::new, |key| format!("{}: ", Value::from(key)));
        let margin = unit.repeat(depth + 1);
        let body = new.text(&unit, &margin);
        let Some(at) = into.end_of_last_child() else {
            // Other text between the brackets is a comment.
            let inside = into.span.start + 1..into.span.end - 1;
            let from = inside.start + self.text[inside.clone()].trim_end_matches(WHITESPACE).len();
            let piece = format!("\n{margin}{name}{body}\n{}", unit.repeat(depth));
            self.put(from..inside.end, &piece);
            return;
        };
        // Add a trailing comma if the last element has one.
        let (comma, last) = if into.trailing_comma { ("", ",") } else { (",", "") };
        if !self.text[into.span.clone()].contains('\n') {
            self.put(at..at, &format!("{comma} {name}{}{last}", new.on_one_line()));
            return;
        }
        let after = at + remark(&self.text[at..]);
        self.put(after..after, &format!("\n{margin}{name}{body}{last}"));
        self.put(at..at, comma);
    }

    /// Writes lines with the line ending of the file.
    fn put(&mut self, at: Span, piece: &str) {
        match self.text.contains("\r\n") {
            true => self.text.replace_range(at, &piece.replace('\n', "\r\n")),
            false => self.text.replace_range(at, piece),
        }
    }
}

fn shape(path: &[&str], should: &'static str) -> JsoncError {
    let place = if path.is_empty() { "the root".to_owned() } else { format!("`{}`", path.join(".")) };
    JsoncError::Shape(place, should)
}

/// Length of a comment at the end of the line, which belongs to the preceding element.
fn remark(rest: &str) -> usize {
    let line = rest.lines().next().unwrap_or_default();
    let said = line.trim_end();
    let comment = said.trim_start();
    let block = comment.strip_prefix("/*").and_then(|body| body.split_once("*/"));
    let whole = comment.starts_with("//") || block.is_some_and(|(_, rest)| rest.is_empty());
    if whole { said.len() } else { 0 }
}

/// The path from a node to the first element that is ours.
fn find<'n>(node: &'n Node, text: &str, ours: &impl Fn(&Value) -> bool) -> Option<Vec<&'n Node>> {
    if node.kind == Kind::Array
        && let Some(element) = node.children.iter().find(|child| ours(&child.node.value(text)))
    {
        return Some(vec![node, &element.node]);
    }
    node.children.iter().find_map(|child| {
        let mut trail = find(&child.node, text, ours)?;
        trail.insert(0, node);
        Some(trail)
    })
}

/// The indentation of one level: that of the first indented line, otherwise two spaces.
fn indentation(text: &str) -> String {
    let indented = text.lines().find(|line| line.starts_with([' ', '\t']) && !line.trim().is_empty());
    let unit: String =
        indented.map(|line| line.chars().take_while(|c| *c == ' ' || *c == '\t').collect()).unwrap_or_default();
    if unit.is_empty() { "  ".to_owned() } else { unit }
}

/// The value to insert.
enum Insertion<'a> {
    Value(&'a Value),
    /// An element in a list below these keys, which do not exist yet.
    List(&'a [&'a str], &'a Value),
}

impl Insertion<'_> {
    /// One line per entry, so that the diff is readable.
    fn text(&self, unit: &str, margin: &str) -> String {
        match self {
            Self::Value(value) => spaced(value),
            Self::List([], element) => format!("[{}]", spaced(element)),
            Self::List([key, rest @ ..], element) => {
                let inner = format!("{margin}{unit}");
                let below = Self::List(rest, element).text(unit, &inner);
                format!("{{\n{inner}{}: {below}\n{margin}}}", Value::from(*key))
            }
        }
    }

    fn on_one_line(&self) -> String {
        match self {
            Self::Value(value) => value.to_string(),
            Self::List([], element) => format!("[{element}]"),
            Self::List([key, rest @ ..], element) => {
                format!("{{{}:{}}}", Value::from(*key), Self::List(rest, element).on_one_line())
            }
        }
    }
}

/// A value on one line, with spaces for readability.
fn spaced(value: &Value) -> String {
    let joined = |parts: Vec<String>| parts.join(", ");
    match value {
        Value::Object(members) if !members.is_empty() => {
            let member = |(key, value): (&String, &Value)| format!("{}: {}", Value::from(key.as_str()), spaced(value));
            format!("{{ {} }}", joined(members.iter().map(member).collect()))
        }
        Value::Array(elements) => format!("[{}]", joined(elements.iter().map(spaced).collect())),
        other => other.to_string(),
    }
}

/// A path for error messages.
type Span = Range<usize>;

#[cfg(test)]
mod tests;
