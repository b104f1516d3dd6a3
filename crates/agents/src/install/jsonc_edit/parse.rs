//! The positions of all elements of a JSON text.

use serde_json::{Map, Value};

use super::{JsoncError, Span};

/// Maximum nesting; deeper than any settings file.
const MAX_DEPTH: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Object,
    Array,
    Scalar,
}

#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) kind: Kind,
    pub(super) span: Span,
    pub(super) children: Vec<Member>,
    /// A comma follows the last child.
    pub(super) trailing_comma: bool,
}

/// A member or element.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) key: Option<String>,
    /// From the key, or the value where there is none, to the end of the value.
    pub(super) span: Span,
    /// End of the comma after it, if there is one.
    pub(super) comma: Option<usize>,
    pub(super) node: Node,
}

impl Node {
    pub(super) fn member(&self, key: &str) -> Option<&Self> {
        // The last of several equal keys counts, as in the agents' parsers.
        self.children.iter().rev().find(|child| child.key.as_deref() == Some(key)).map(|child| &child.node)
    }

    pub(super) fn is(&self, other: &Self) -> bool {
        self.span == other.span
    }

    /// The insertion point of the next child.
    pub(super) fn end_of_last_child(&self) -> Option<usize> {
        self.children.last().map(|child| child.comma.unwrap_or(child.span.end))
    }

    pub(super) fn value(&self, text: &str) -> Value {
        match self.kind {
            Kind::Object => {
                let members = self.children.iter().filter_map(|c| Some((c.key.clone()?, c.node.value(text))));
                Value::Object(members.collect::<Map<_, _>>())
            }
            Kind::Array => self.children.iter().map(|child| child.node.value(text)).collect(),
            Kind::Scalar => serde_json::from_str(&text[self.span.clone()]).unwrap_or_default(),
        }
    }

    /// Whether it contains anything besides `child`, including comments.
    pub(super) fn has_other_children(&self, child: &Self, text: &str) -> bool {
        let this = self.children.iter().find(|c| c.node.is(child));
        self.children.len() > 1 || this.is_some_and(|this| !self.is_alone(this, text))
    }

    /// Only whitespace around the only child.
    fn is_alone(&self, this: &Member, text: &str) -> bool {
        let end = this.comma.unwrap_or(this.span.end);
        text[self.span.start + 1..this.span.start].trim_matches(WHITESPACE).is_empty()
            && text[end..self.span.end - 1].trim_matches(WHITESPACE).is_empty()
    }

    /// The range to delete for removing `child`: the child with the whitespace before it, and the preceding comma if it
    /// becomes redundant. Comments around it stay.
    pub(super) fn removal_ranges(&self, child: &Self, text: &str) -> Option<(Span, Option<Span>)> {
        let at = self.children.iter().position(|c| c.node.is(child))?;
        let this = &self.children[at];
        let end = this.comma.unwrap_or(this.span.end);
        let start = text[..this.span.start].trim_end_matches(WHITESPACE).len();
        let before = at.checked_sub(1).map(|before| &self.children[before]);
        Some(match before {
            // The last of several, in a list without a trailing comma.
            Some(before) if this.comma.is_none() => (start..end, before.comma.map(|comma| comma - 1..comma)),
            Some(_) => (start..end, None),
            None if self.children.len() > 1 => {
                let rest = text[end..].trim_start_matches(WHITESPACE);
                (this.span.start..text.len() - rest.len(), None)
            }
            // The only one: nothing is left between the brackets except comments.
            None if self.is_alone(this, text) => (self.span.start + 1..self.span.end - 1, None),
            None => (start..end, None),
        })
    }
}

/// Whitespace that may occur between two tokens.
pub(super) const WHITESPACE: [char; 4] = [' ', '\t', '\r', '\n'];

pub(super) fn parse(text: &str) -> Result<Node, JsoncError> {
    let mut parser = Parser { text, at: 0 };
    // A byte order mark is not part of the text.
    if text.starts_with('\u{feff}') {
        parser.at = '\u{feff}'.len_utf8();
    }
    let node = parser.value(0)?;
    parser.blanks()?;
    if parser.at < text.len() {
        return Err(parser.error("text follows the root value"));
    }
    Ok(node)
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl Parser<'_> {
    fn error(&self, problem: &str) -> JsoncError {
        let line = self.text[..self.at.min(self.text.len())].matches('\n').count() + 1;
        JsoncError::Syntax { line, problem: problem.to_owned() }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Skips whitespace and comments.
    fn blanks(&mut self) -> Result<(), JsoncError> {
        loop {
            let rest = &self.text[self.at..];
            let trimmed = rest.trim_start_matches(WHITESPACE);
            self.at += rest.len() - trimmed.len();
            if trimmed.starts_with("//") {
                self.at += trimmed.find('\n').unwrap_or(trimmed.len());
            } else if let Some(body) = trimmed.strip_prefix("/*") {
                let end = body.find("*/").ok_or_else(|| self.error("a comment has no end"))?;
                self.at += "/*".len() + end + "*/".len();
            } else {
                return Ok(());
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Node, JsoncError> {
        if depth > MAX_DEPTH {
            return Err(self.error("nested too deeply"));
        }
        self.blanks()?;
        match self.peek() {
            Some(b'{') => self.list(Kind::Object, b'}', depth),
            Some(b'[') => self.list(Kind::Array, b']', depth),
            Some(b'"') => {
                let span = self.string()?;
                Ok(Node { kind: Kind::Scalar, span, children: Vec::new(), trailing_comma: false })
            }
            Some(_) => self.word(),
            None => Err(self.error("a value is missing")),
        }
    }

    fn list(&mut self, kind: Kind, close: u8, depth: usize) -> Result<Node, JsoncError> {
        let start = self.at;
        self.at += 1;
        let mut children: Vec<Member> = Vec::new();
        loop {
            self.blanks()?;
            match self.peek() {
                Some(byte) if byte == close => break,
                None => return Err(self.error("a bracket is not closed")),
                _ => {}
            }
            if children.last().is_some_and(|child| child.comma.is_none()) {
                return Err(self.error("a comma is missing"));
            }
            let begin = self.at;
            let key = match kind {
                Kind::Object => Some(self.key()?),
                _ => None,
            };
            let node = self.value(depth + 1)?;
            let span = begin..node.span.end;
            self.blanks()?;
            let comma = (self.peek() == Some(b',')).then(|| {
                self.at += 1;
                self.at
            });
            children.push(Member { key, span, comma, node });
        }
        self.at += 1;
        let trailing_comma = children.last().is_some_and(|child| child.comma.is_some());
        Ok(Node { kind, span: start..self.at, children, trailing_comma })
    }

    fn key(&mut self) -> Result<String, JsoncError> {
        if self.peek() != Some(b'"') {
            return Err(self.error("a name in quotes is missing"));
        }
        let span = self.string()?;
        let key = serde_json::from_str(&self.text[span]).map_err(|_| self.error("a name cannot be read"))?;
        self.blanks()?;
        if self.peek() != Some(b':') {
            return Err(self.error("a colon is missing"));
        }
        self.at += 1;
        Ok(key)
    }

    fn string(&mut self) -> Result<Span, JsoncError> {
        let start = self.at;
        let bytes = self.text.as_bytes();
        let mut at = start + 1;
        loop {
            match bytes.get(at) {
                Some(b'"') => break,
                Some(b'\\') => at += 2,
                Some(b'\n') | None => return Err(self.error("a string has no end")),
                Some(_) => at += 1,
            }
        }
        self.at = at + 1;
        Ok(start..self.at)
    }

    fn word(&mut self) -> Result<Node, JsoncError> {
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c))).unwrap_or(rest.len());
        let span = self.at..self.at + end;
        if serde_json::from_str::<Value>(&self.text[span.clone()]).is_err() {
            return Err(self.error("invalid value"));
        }
        self.at = span.end;
        Ok(Node { kind: Kind::Scalar, span, children: Vec::new(), trailing_comma: false })
    }
}
