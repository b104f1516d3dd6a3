//! From layers to a typed configuration.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use toml::{Table, Value};

use crate::diagnostic::{ConfigError, Diagnostic};
use crate::env::{EnvSnapshot, VARIABLES};
use crate::key::ConfigKey;
use crate::layer::{Layer, Source, overlay};
use crate::model::Config;
use crate::paths::Paths;
use crate::project::ProjectFile;
use crate::project_limits;
use crate::trust::{TrustState, TrustStore};
use crate::validate::{self, parse_value};

/// What to do about a layer that is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// Refuse, naming every mistake.
    Strict,
    /// Leave that layer out, and say so in [`LoadedConfig::notes`]: a person's decision and an agent's
    /// hook must not hang on a typing error.
    Lenient,
}

/// Reads the layers.
#[derive(Clone, Debug)]
pub struct Loader<'p> {
    places: &'p Paths,
    env: &'p EnvSnapshot,
    folder: Option<PathBuf>,
    file: Option<PathBuf>,
    flags: Vec<(String, String, String)>,
    strictness: Strictness,
}

/// A configuration, and where it comes from.
#[derive(Clone, Debug)]
pub struct LoadedConfig {
    pub config: Config,
    /// What was left out, and why.
    pub notes: Vec<Diagnostic>,
    /// The project's file that was looked at, and what the user thinks of it.
    pub project: Option<(PathBuf, TrustState)>,
    pub(crate) layers: Vec<Layer>,
    pub(crate) merged: Table,
}

static BUILT_IN: LazyLock<Table> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "a test reads the built-in document")]
    let mut table: Table = toml::from_str(include_str!("default.toml")).expect("built-in configuration is TOML");
    #[expect(clippy::expect_used, reason = "a test reads the built-in document")]
    let rules: Table = toml::from_str(belay_core::rules::DEFAULT_RULES).expect("built-in rules are TOML");
    table.insert("detect".to_owned(), Value::Table(rules));
    table
});

/// The built-in document.
pub(crate) fn built_in_table() -> Table {
    BUILT_IN.clone()
}

/// The built-in document with its comments, as one would write it.
pub fn built_in_text() -> String {
    let mut text = format!("{}\n[detect]\n", include_str!("default.toml"));
    for line in belay_core::rules::DEFAULT_RULES.lines() {
        // A heading inside the rules is a heading below `detect`.
        match line.strip_prefix("[[").map(|rest| ("[[", rest)).or_else(|| Some(("[", line.strip_prefix('[')?))) {
            Some((bracket, rest)) => text.push_str(&format!("{bracket}detect.{rest}\n")),
            None => text.push_str(&format!("{line}\n")),
        }
    }
    text
}

impl<'p> Loader<'p> {
    pub fn new(places: &'p Paths, env: &'p EnvSnapshot) -> Self {
        Self { places, env, folder: None, file: None, flags: Vec::new(), strictness: Strictness::Strict }
    }

    /// Also looks for a project's file from this folder upwards.
    #[must_use]
    pub fn from_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Reads this file in place of the user's.
    #[must_use]
    pub fn from_file(mut self, file: impl Into<PathBuf>) -> Self {
        self.file = Some(file.into());
        self
    }

    /// A flag that sets a key; `flag` is how the user knows it (`--listen`).
    #[must_use]
    pub fn flag(mut self, flag: impl Into<String>, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.flags.push((flag.into(), key.into(), value.into()));
        self
    }

    #[must_use]
    pub fn strictness(mut self, strictness: Strictness) -> Self {
        self.strictness = strictness;
        self
    }

    pub fn load(&self) -> Result<LoadedConfig, ConfigError> {
        let mut stack = LayerStack::new(self.strictness);
        stack.take(self.user_layer()?);
        let project = self.folder.as_deref().and_then(|folder| ProjectFile::locate(self.places, folder));
        let project = project.map(|path| {
            let standing = self.project_layer(&path, &mut stack);
            (path, standing)
        });
        for variable in VARIABLES {
            if let Some((key, text)) = variable.key.zip(self.env.text(variable.name)) {
                stack.take(Some(single(Source::Env(variable.name), key, text)));
            }
        }
        stack.notes.extend(self.unknown_variables());
        for (flag, key, value) in &self.flags {
            stack.take(Some(single(Source::Flag(flag.clone()), key, value)));
        }
        stack.finish(project)
    }

    fn user_layer(&self) -> Result<Option<Result<Layer, Vec<Diagnostic>>>, ConfigError> {
        let path = self.file.as_deref().unwrap_or(self.places.config_file());
        match std::fs::read_to_string(path) {
            Ok(text) => {
                let layer = Layer::parse(Source::User(path.to_path_buf()), text);
                Ok(Some(layer.map_err(|problem| vec![*problem])))
            }
            // Nobody must have a file of their own; one that was named must be there.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && self.file.is_none() => Ok(None),
            Err(source) if self.strictness == Strictness::Strict => {
                Err(ConfigError::Read { path: path.to_path_buf(), source })
            }
            Err(error) => Ok(Some(Err(vec![Diagnostic {
                source: Source::User(path.to_path_buf()),
                position: None,
                key: None,
                what: format!("cannot be read: {error}"),
                hint: Some("check the file's owner and permissions".to_owned()),
            }]))),
        }
    }

    /// Lays the project's file over what is there, as far as it may go.
    fn project_layer(&self, path: &Path, stack: &mut LayerStack) -> TrustState {
        let file = match ProjectFile::read(path) {
            Ok(file) => file,
            Err(problem) => {
                stack.take(Some(Err(vec![*problem])));
                return TrustState::Unknown;
            }
        };
        // A list that cannot be read is an empty list: nothing is trusted.
        let standing = TrustStore::load(&self.places.trust()).unwrap_or_default().state(&file);
        let trusted = standing == TrustState::Trusted;
        let source = Source::Project { path: file.path, trusted };
        match Layer::parse(source, file.text).map_err(|problem| vec![*problem]) {
            Err(problems) => stack.take(Some(Err(problems))),
            Ok(mut layer) => match validate::validate_layer(&stack.merged, &layer) {
                problems if !problems.is_empty() => stack.take(Some(Err(problems))),
                _ => {
                    let (kept, notes) = project_limits::apply_project_limits(&layer, &stack.merged, standing);
                    stack.notes.extend(notes);
                    layer.table = kept;
                    stack.take(Some(Ok(layer)));
                }
            },
        }
        standing
    }

    fn unknown_variables(&self) -> Vec<Diagnostic> {
        let known: Vec<&str> = VARIABLES.iter().map(|variable| variable.name).collect();
        let unknown = self.env.belay_variables().filter(|name| !known.contains(name));
        unknown
            .map(|name| Diagnostic {
                source: Source::Flag(name.to_owned()),
                position: None,
                key: None,
                what: "no such variable; it changes nothing".to_owned(),
                hint: validate::closest_match(name, &known).map(|near| format!("did you mean {near}?")),
            })
            .collect()
    }
}

fn single(source: Source, key: &str, text: &str) -> Result<Layer, Vec<Diagnostic>> {
    let problem = |source, what, hint| vec![Diagnostic { source, position: None, key: None, what, hint }];
    let Some(key) = ConfigKey::parse(key) else {
        return Err(problem(source, format!("`{key}` is no key"), Some("write it as section.name".to_owned())));
    };
    match parse_value(&key, text) {
        Ok(value) => Ok(Layer::from_value(source, &key, value)),
        Err(what) => Err(problem(source, format!("`{key}`: {what}"), None)),
    }
}

/// Layers so far.
struct LayerStack {
    strictness: Strictness,
    merged: Table,
    layers: Vec<Layer>,
    notes: Vec<Diagnostic>,
    problems: Vec<Diagnostic>,
}

impl LayerStack {
    fn new(strictness: Strictness) -> Self {
        let merged = built_in_table();
        let layers = vec![Layer { source: Source::BuiltIn, table: merged.clone(), text: None }];
        Self { strictness, merged, layers, notes: Vec::new(), problems: Vec::new() }
    }

    /// Lays one more on top; wrong ones are left out and told about.
    fn take(&mut self, layer: Option<Result<Layer, Vec<Diagnostic>>>) {
        let Some(layer) = layer else { return };
        let checked = layer.and_then(|layer| {
            let mut merged = self.merged.clone();
            overlay(&mut merged, &layer.table);
            match validate::parse_config(&merged) {
                Some(_) => Ok((layer, merged)),
                None => Err(validate::validate_layer(&self.merged, &layer)),
            }
        });
        match checked {
            Ok((layer, merged)) => {
                self.merged = merged;
                self.layers.push(layer);
            }
            Err(problems) if self.strictness == Strictness::Strict => self.problems.extend(problems),
            Err(problems) => self.notes.extend(problems),
        }
    }

    fn finish(self, project: Option<(PathBuf, TrustState)>) -> Result<LoadedConfig, ConfigError> {
        if !self.problems.is_empty() {
            return Err(ConfigError::Invalid(self.problems));
        }
        match validate::parse_config(&self.merged) {
            Some(config) => {
                Ok(LoadedConfig { config, notes: self.notes, project, layers: self.layers, merged: self.merged })
            }
            None => Err(ConfigError::Invalid(vec![Diagnostic {
                source: Source::BuiltIn,
                position: None,
                key: None,
                what: "the built-in configuration is wrong".to_owned(),
                hint: Some("this is a fault of Belay; please report it".to_owned()),
            }])),
        }
    }
}
