//! Changing a JSON file of somebody else's without touching the rest of it.
//!
//! Settings files have an order, an indentation and often comments that their owners care about.
//! So a change is an edit of the text at a known place, never a parse and a rewrite: what we do not
//! change stays byte for byte. Comments and trailing commas, which several agents allow, are read
//! past.

mod parse;

use std::ops::Range;

use serde_json::Value;

use parse::{Kind, Node, parse};

/// Why a file cannot be edited.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    #[error("line {line}: {problem}")]
    Syntax { line: usize, problem: String },
    #[error("`{0}` is there, but is not what it should be")]
    Shape(String),
}

/// A JSON text being edited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    text: String,
}

impl Document {
    /// Reads a text; an empty one stands for an empty object.
    pub fn new(text: &str) -> Result<Self, JsonError> {
        let text = if text.trim().is_empty() { "{}\n".to_owned() } else { text.to_owned() };
        parse(&text)?;
        Ok(Self { text })
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// The value at a path; `None` when it is not there.
    pub fn get(&self, path: &[&str]) -> Option<Value> {
        let root = parse(&self.text).ok()?;
        path.iter().try_fold(&root, |node, key| node.member(key)).map(|node| node.value(&self.text))
    }

    /// Appends an element to the array at a path, which is made if it is not there.
    pub fn append(&mut self, path: &[&str], element: &Value) -> Result<(), JsonError> {
        let root = parse(&self.text)?;
        let mut node = &root;
        for (depth, key) in path.iter().enumerate() {
            if node.kind != Kind::Object {
                return Err(JsonError::Shape(path[..depth].join(".")));
            }
            match node.member(key) {
                Some(inner) => node = inner,
                None => {
                    let inside = path[depth + 1..].iter().rev();
                    let array = Value::Array(vec![element.clone()]);
                    let value = inside
                        .fold(array, |value, key| Value::Object([((*key).to_owned(), value)].into_iter().collect()));
                    let node = node.clone();
                    self.insert(&node, depth, Some(key), &value);
                    return Ok(());
                }
            }
        }
        if node.kind != Kind::Array {
            return Err(JsonError::Shape(path.join(".")));
        }
        let node = node.clone();
        self.insert(&node, path.len(), None, element);
        Ok(())
    }

    /// Sets a member of the root object that is not there yet.
    pub fn set_missing(&mut self, key: &str, value: &Value) -> Result<(), JsonError> {
        let root = parse(&self.text)?;
        if root.kind != Kind::Object {
            return Err(JsonError::Shape("the file".to_owned()));
        }
        if root.member(key).is_none() {
            self.insert(&root, 0, Some(key), value);
        }
        Ok(())
    }

    /// Removes the elements that `ours` recognises from all arrays below the object at a path, and
    /// what is empty without them. Tells how many there were.
    pub fn remove(&mut self, path: &[&str], ours: impl Fn(&Value) -> bool) -> Result<usize, JsonError> {
        let mut removed = 0;
        loop {
            let root = parse(&self.text)?;
            let Some(place) = path.iter().try_fold(&root, |node, key| node.member(key)) else { return Ok(removed) };
            let Some(trail) = find(place, &self.text, &ours) else { return Ok(removed) };
            // The element itself, or the largest thing around it that holds nothing else.
            let mut whole: Vec<&Node> = path
                .iter()
                .scan(&root, |node, key| {
                    let before = *node;
                    *node = node.member(key)?;
                    Some(before)
                })
                .collect();
            whole.extend(trail);
            let lonely = whole.windows(2).rposition(|pair| pair[0].children.len() > 1 || pair[0].is(&root));
            let at = lonely.unwrap_or(0);
            let range = whole[at].range_without(whole[at + 1], &self.text);
            self.text.replace_range(range, "");
            removed += 1;
        }
    }

    fn insert(&mut self, into: &Node, depth: usize, key: Option<&str>, value: &Value) {
        let unit = indentation(&self.text);
        let inline = !into.children.is_empty() && !self.text[into.span.clone()].contains('\n');
        let name = key.map_or_else(String::new, |key| format!("{}: ", Value::from(key)));
        let at = into.last_end().unwrap_or(into.span.start + 1);
        let comma = into.children.is_empty() || into.trailing_comma;
        let comma = if comma { "" } else { "," };
        let piece = if inline {
            format!("{comma} {name}{value}")
        } else {
            let margin = unit.repeat(depth + 1);
            let body = pretty(value, &unit).replace('\n', &format!("\n{margin}"));
            let end = match into.children.is_empty() {
                true => format!("\n{}", unit.repeat(depth)),
                false => String::new(),
            };
            format!("{comma}\n{margin}{name}{body}{end}")
        };
        let until = if into.children.is_empty() { into.span.end - 1 } else { at };
        self.text.replace_range(at..until, &piece);
    }
}

/// The way from a node down to the first element that is ours.
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

/// What one level is indented by: as in the first indented line, else two blanks.
fn indentation(text: &str) -> String {
    let indented = text.lines().find(|line| line.starts_with([' ', '\t']) && !line.trim().is_empty());
    let unit: String =
        indented.map(|line| line.chars().take_while(|c| *c == ' ' || *c == '\t').collect()).unwrap_or_default();
    if unit.is_empty() { "  ".to_owned() } else { unit }
}

fn pretty(value: &Value, unit: &str) -> String {
    use serde::Serialize;
    let mut out = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(unit.as_bytes());
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, formatter);
    match value.serialize(&mut serializer) {
        Ok(()) => String::from_utf8(out).unwrap_or_default(),
        Err(_) => value.to_string(),
    }
}

/// A place in a text.
type Span = Range<usize>;

#[cfg(test)]
mod tests;
