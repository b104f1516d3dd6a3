//! Changing a configuration file the way a person would: comments and layout stay.

use std::io;
use std::path::{Path, PathBuf};

use toml_edit::{DocumentMut, Item, Table, Value};

use crate::atomic_file;
use crate::diagnostic::Diagnostic;
use crate::key::ConfigKey;
use crate::layer::{Layer, Source};
use crate::load::built_in_table;
use crate::validate;

/// A file being changed. Nothing is written before [`Edit::save`].
#[derive(Debug)]
pub struct Edit {
    path: PathBuf,
    document: DocumentMut,
    source: Source,
}

/// Why a file was not changed.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    #[error("{} cannot be read: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} cannot be written: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    /// The file itself is wrong.
    #[error("{0}")]
    File(Box<Diagnostic>),
    /// The new value is.
    #[error("{}", .0.what)]
    Value(Box<Diagnostic>),
}

impl EditError {
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::File(problem) | Self::Value(problem) => problem.hint.as_deref(),
            Self::Read { .. } | Self::Write { .. } => {
                Some("check the owner and permissions of the file and its folder")
            }
        }
    }
}

impl Edit {
    /// Opens a file, which need not exist yet.
    pub fn open(path: &Path, source: Source) -> Result<Self, EditError> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(source) => return Err(EditError::Read { path: path.to_path_buf(), source }),
        };
        // Our own reader words the mistakes of a file; the editing one would say them differently.
        let layer = Layer::parse(source.clone(), text).map_err(EditError::File)?;
        let document = layer.text.unwrap_or_default().parse().unwrap_or_default();
        Ok(Self { path: path.to_path_buf(), document, source })
    }

    /// Sets a key, refusing what would not be valid.
    pub fn set(&mut self, key: &ConfigKey, text: &str) -> Result<(), EditError> {
        let mut document = self.document.clone();
        let refuse = |what: &str| {
            let (source, key, what) = (self.source.clone(), Some(key.clone()), format!("`{key}`: {what}"));
            EditError::Value(Box::new(Diagnostic { source, position: None, key, what, hint: None }))
        };
        let value = validate::parse_value(key, text).map_err(|what| refuse(&what))?;
        let single = Layer::from_value(self.source.clone(), key, value.clone());
        if let Some(problem) = validate::validate_layer(&built_in_table(), &single).into_iter().next() {
            return Err(EditError::Value(Box::new(problem)));
        }
        let value = edited_value(&value);
        let blocked = || refuse("a plain value stands where a section belongs");
        let Some((last, folders)) = key.parts().split_last() else { return Err(blocked()) };
        let mut table: &mut dyn toml_edit::TableLike = document.as_table_mut();
        for part in folders {
            let next = table.entry(part).or_insert_with(|| {
                let mut section = Table::new();
                // Only the innermost section needs a heading of its own.
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

    /// Takes a key out, and sections that are empty then. Whether it was there.
    pub fn unset(&mut self, key: &ConfigKey) -> bool {
        take_out(self.document.as_table_mut(), key.parts())
    }

    /// The file as it would be.
    pub fn text(&self) -> String {
        self.document.to_string()
    }

    pub fn save(&self) -> Result<(), EditError> {
        atomic_file::write(&self.path, self.text().as_bytes(), atomic_file::FileMode::Keep)
            .map_err(|source| EditError::Write { path: self.path.clone(), source })
    }
}

fn take_out(table: &mut dyn toml_edit::TableLike, path: &[String]) -> bool {
    match path {
        [] => false,
        [last] => table.remove(last).is_some(),
        [first, rest @ ..] => {
            let Some(inner) = table.get_mut(first).and_then(Item::as_table_like_mut) else { return false };
            let taken = take_out(inner, rest);
            if taken && inner.is_empty() {
                table.remove(first);
            }
            taken
        }
    }
}

/// The same value for the editing document.
fn edited_value(value: &toml::Value) -> Value {
    #[expect(clippy::expect_used, reason = "what one TOML library writes the other reads")]
    value.to_string().parse().expect("a TOML value reads back")
}
