//! Edits a configuration file and keeps its comments and layout.

use std::io;
use std::path::{Path, PathBuf};

use toml_edit::{DocumentMut, Item, Table, Value};

use crate::diagnostic::Diagnostic;
use crate::key::ConfigKey;
use crate::layer::{Layer, Source};
use crate::load::built_in_table;
use crate::project::MAX_PROJECT_FILE_BYTES;
use crate::validate;
use belay_fs::{FileMode, Links};

/// A larger configuration file of the user is refused.
pub(crate) const MAX_USER_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// An edit in progress. [`Edit::save`] writes it.
#[derive(Debug)]
pub struct Edit {
    path: PathBuf,
    document: DocumentMut,
    source: Source,
}

#[derive(Debug, thiserror::Error)]
pub enum EditError {
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    /// The file is invalid.
    #[error("{0}")]
    File(Box<Diagnostic>),
    /// The new value is invalid.
    #[error("{}", .0.what)]
    Value(Box<Diagnostic>),
}

impl EditError {
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::File(problem) | Self::Value(problem) => problem.hint.as_deref(),
            Self::Read { .. } | Self::Write { .. } => {
                Some("check the owner and permissions of the file and its directory")
            }
        }
    }
}

impl Edit {
    /// Opens a file, which need not exist yet.
    pub fn open(path: &Path, source: Source) -> Result<Self, EditError> {
        let (links, max_bytes) = match source {
            // A repository may have linked it to another file of the user.
            Source::Project { .. } => (Links::Refuse, MAX_PROJECT_FILE_BYTES),
            _ => (Links::Follow, MAX_USER_FILE_BYTES),
        };
        let text = match belay_fs::read_regular_text(path, links, max_bytes) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(source) => return Err(EditError::Read { path: path.to_path_buf(), source }),
        };
        // Parsed by `Layer` first, so that errors read the same everywhere.
        let layer = Layer::parse(source.clone(), text).map_err(EditError::File)?;
        let document = layer.text.unwrap_or_default().parse().unwrap_or_default();
        Ok(Self { path: path.to_path_buf(), document, source })
    }

    /// Sets a key after validating the value.
    pub fn set(&mut self, key: &ConfigKey, text: &str) -> Result<(), EditError> {
        let mut document = self.document.clone();
        let refuse = |what: &str| {
            let (source, key, what) = (self.source.clone(), Some(key.clone()), format!("`{key}`: {what}"));
            EditError::Value(Box::new(Diagnostic { source, position: None, key, what, hint: None }))
        };
        let value = validate::parse_value(key, text).map_err(|what| refuse(&what))?;
        let single = Layer::from_value(self.source.clone(), key, value.clone());
        let invalid = validate::validate_layer(&built_in_table(), &single);
        if let Some(problem) = invalid.and_then(|invalid| invalid.problems.into_iter().next()) {
            return Err(EditError::Value(Box::new(problem)));
        }
        let value = to_edit_value(&value);
        let blocked = || refuse("a parent key is not a section");
        let Some((last, parents)) = key.parts().split_last() else { return Err(blocked()) };
        let mut table: &mut dyn toml_edit::TableLike = document.as_table_mut();
        for part in parents {
            let next = table.entry(part).or_insert_with(|| {
                let mut section = Table::new();
                // Only the innermost section gets a header.
                section.set_implicit(true);
                Item::Table(section)
            });
            table = next.as_table_like_mut().ok_or_else(blocked)?;
        }
        match table.get_mut(last) {
            Some(Item::Value(old)) => {
                // Assigning a new item would drop the comment at the end of the line.
                let decor = old.decor().clone();
                *old = value;
                *old.decor_mut() = decor;
            }
            Some(item) => *item = Item::Value(value),
            None => {
                table.insert(last, Item::Value(value));
            }
        }
        self.document = document;
        Ok(())
    }

    /// Removes a key and the sections that become empty. Returns whether it was set.
    pub fn unset(&mut self, key: &ConfigKey) -> bool {
        remove_key(self.document.as_table_mut(), key.parts())
    }

    /// The edited text.
    pub fn text(&self) -> String {
        self.document.to_string()
    }

    pub fn save(&self) -> Result<(), EditError> {
        let text = self.text();
        let written = match self.source {
            Source::Project { .. } => belay_fs::replace_file(&self.path, text.as_bytes(), FileMode::Keep),
            _ => belay_fs::atomic_write(&self.path, text.as_bytes(), FileMode::Keep),
        };
        written.map_err(|source| EditError::Write { path: self.path.clone(), source })
    }
}

fn remove_key(table: &mut dyn toml_edit::TableLike, path: &[String]) -> bool {
    match path {
        [] => false,
        [last] => table.remove(last).is_some(),
        [first, rest @ ..] => {
            let Some(inner) = table.get_mut(first).and_then(Item::as_table_like_mut) else { return false };
            let removed = remove_key(inner, rest);
            if removed && inner.is_empty() {
                table.remove(first);
            }
            removed
        }
    }
}

/// Converts a value to `toml_edit`.
fn to_edit_value(value: &toml::Value) -> Value {
    #[expect(clippy::expect_used, reason = "both TOML libraries accept the same values")]
    value.to_string().parse().expect("a TOML value reads back")
}
