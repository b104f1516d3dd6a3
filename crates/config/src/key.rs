//! Dotted configuration keys.

use std::fmt;

/// A configuration key, such as `serve.listen`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ConfigKey(Vec<String>);

impl ConfigKey {
    /// Parses a dotted key; parts may be quoted as in TOML.
    pub fn parse(text: &str) -> Option<Self> {
        let parts = toml_edit::Key::parse(text).ok()?;
        Some(Self(parts.iter().map(|part| part.get().to_owned()).collect()))
    }

    pub fn parts(&self) -> &[String] {
        &self.0
    }

    pub fn child(&self, part: &str) -> Self {
        let mut parts = self.0.clone();
        parts.push(part.to_owned());
        Self(parts)
    }

    pub fn starts_with(&self, other: &Self) -> bool {
        self.0.starts_with(&other.0)
    }

    pub fn get<'t>(&self, table: &'t toml::Table) -> Option<&'t toml::Value> {
        let (last, parents) = self.0.split_last()?;
        parents.iter().try_fold(table, |table, part| table.get(part)?.as_table())?.get(last)
    }

    pub(crate) fn get_mut<'t>(&self, table: &'t mut toml::Table) -> Option<&'t mut toml::Value> {
        let (last, parents) = self.0.split_last()?;
        parents.iter().try_fold(table, |table, part| table.get_mut(part)?.as_table_mut())?.get_mut(last)
    }

    /// Sets the value and creates missing tables. Returns `false` if a parent key holds a value that is not a table.
    pub fn set(&self, table: &mut toml::Table, value: toml::Value) -> bool {
        let Some((last, parents)) = self.0.split_last() else { return false };
        let mut table = table;
        for part in parents {
            let next = table.entry(part.clone()).or_insert_with(|| toml::Value::Table(toml::Table::new()));
            match next.as_table_mut() {
                Some(inner) => table = inner,
                None => return false,
            }
        }
        table.insert(last.clone(), value);
        true
    }

    pub fn remove(&self, table: &mut toml::Table) -> Option<toml::Value> {
        let (last, parents) = self.0.split_last()?;
        parents.iter().try_fold(table, |table, part| table.get_mut(part)?.as_table_mut())?.remove(last)
    }
}

impl<S: Into<String>> FromIterator<S> for ConfigKey {
    fn from_iter<T: IntoIterator<Item = S>>(parts: T) -> Self {
        Self(parts.into_iter().map(Into::into).collect())
    }
}

impl fmt::Display for ConfigKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, part) in self.0.iter().enumerate() {
            let dot = if index == 0 { "" } else { "." };
            write!(f, "{dot}{}", toml_edit::Key::new(part).display_repr())?;
        }
        Ok(())
    }
}
