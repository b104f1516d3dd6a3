//! One layer of configuration, and how layers lie over each other.

use std::fmt;
use std::path::PathBuf;

use toml::{Table, Value};

use crate::diagnostic::{Diagnostic, Position};
use crate::key::ConfigKey;

/// Where a layer comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Shipped with Belay.
    BuiltIn,
    /// The user's file.
    User(PathBuf),
    /// A project's file.
    Project { path: PathBuf, trusted: bool },
    /// An environment variable.
    Env(&'static str),
    /// A flag, as the user wrote it.
    Flag(String),
}

impl Source {
    /// One word for lists and `--json`.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::BuiltIn => "built-in",
            Self::User(_) => "user",
            Self::Project { .. } => "project",
            Self::Env(_) => "environment",
            Self::Flag(_) => "flag",
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built-in"),
            Self::User(path) | Self::Project { path, .. } => write!(f, "{}", path.display()),
            Self::Env(name) => f.write_str(name),
            Self::Flag(flag) => f.write_str(flag),
        }
    }
}

/// A table and where it comes from.
#[derive(Clone, Debug)]
pub struct Layer {
    pub source: Source,
    pub table: Table,
    /// The text it was read from, to find positions in.
    pub(crate) text: Option<String>,
}

impl Layer {
    /// Reads a file's text.
    pub(crate) fn parse(source: Source, text: String) -> Result<Self, Box<Diagnostic>> {
        match toml::from_str::<Table>(&text) {
            Ok(table) => Ok(Self { source, table, text: Some(text) }),
            Err(error) => Err(Box::new(Diagnostic {
                source,
                position: error.span().map(|span| Position::of(&text, span.start)),
                key: None,
                what: format!("not TOML: {}", error.message().lines().next().unwrap_or("")),
                hint: None,
            })),
        }
    }

    /// A layer of one value, from a variable or a flag.
    pub(crate) fn from_value(source: Source, key: &ConfigKey, value: Value) -> Self {
        let mut table = Table::new();
        key.set(&mut table, value);
        Self { source, table, text: None }
    }
}

/// Lists that add up over the layers instead of replacing each other.
const APPENDING_KEYS: &[&[&str]] =
    &[&["detect", "allow", "actions"], &["detect", "allow", "pairs"], &["detect", "custom"], &["detect", "prices"]];

/// Whether the layers' values of this key add up.
pub(crate) fn is_appending(key: &ConfigKey) -> bool {
    APPENDING_KEYS.iter().any(|path| key.parts().iter().map(String::as_str).eq(path.iter().copied()))
}

/// Lays `upper` over `lower`: tables merge, some lists add up, anything else replaces.
pub(crate) fn overlay(lower: &mut Table, upper: &Table) {
    fn lay(path: &ConfigKey, lower: &mut Table, upper: &Table) {
        for (name, value) in upper {
            let key = path.child(name);
            match (lower.get_mut(name), value) {
                (Some(Value::Table(below)), Value::Table(above)) => lay(&key, below, above),
                (Some(Value::Array(below)), Value::Array(above)) if is_appending(&key) => add(below, above),
                _ => {
                    lower.insert(name.clone(), value.clone());
                }
            }
        }
    }
    lay(&ConfigKey::default(), lower, upper);
}

/// What is above comes first and takes the place of what has the same name below.
fn add(below: &mut Vec<Value>, above: &[Value]) {
    let name = |value: &Value| value.get("name").and_then(Value::as_str).map(str::to_owned);
    let replaced = |old: &Value| above.iter().any(|new| new == old || (name(new).is_some() && name(new) == name(old)));
    below.retain(|old| !replaced(old));
    below.splice(0..0, above.iter().cloned());
}

/// Every value that is no table, with its key. An empty table is a value: it says "nothing".
pub(crate) fn leaves(table: &Table) -> Vec<(ConfigKey, &Value)> {
    fn walk<'t>(prefix: &ConfigKey, table: &'t Table, found: &mut Vec<(ConfigKey, &'t Value)>) {
        for (name, value) in table {
            let key = prefix.child(name);
            match value {
                Value::Table(inner) if !inner.is_empty() => walk(&key, inner, found),
                _ => found.push((key, value)),
            }
        }
    }
    let mut found = Vec::new();
    walk(&ConfigKey::default(), table, &mut found);
    found
}
