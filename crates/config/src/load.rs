//! Loads the layers and merges them into a typed configuration.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use belay_fs::Links;
use toml::{Table, Value};

use crate::diagnostic::{ConfigError, Diagnostic};
use crate::edit::MAX_USER_FILE_BYTES;
use crate::env::{EnvSnapshot, VARIABLES};
use crate::key::ConfigKey;
use crate::layer::{Layer, Source, overlay};
use crate::model::Config;
use crate::paths::Paths;
use crate::project::ProjectFile;
use crate::project_limits;
use crate::trust::{TrustState, TrustStore};
use crate::validate::{self, parse_value};

/// How to handle an invalid layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// Fail with all errors.
    Strict,
    /// Ignore unknown keys, invalid values and lines that are no TOML, and report them in [`LoadedConfig::notes`]: a typing
    /// error must not block decisions and hooks. If an ignored value could have made Belay intervene less, it only records:
    /// see [`LoadedConfig::is_record_only`].
    Lenient,
}

/// Loads the configuration.
#[derive(Clone, Debug)]
pub struct Loader<'p> {
    paths: &'p Paths,
    env: &'p EnvSnapshot,
    dir: Option<PathBuf>,
    file: Option<PathBuf>,
    flags: Vec<(String, String, String)>,
    strictness: Strictness,
}

/// A configuration with its layers.
#[derive(Clone, Debug)]
pub struct LoadedConfig {
    pub config: Config,
    /// What was ignored, and why.
    pub notes: Vec<Diagnostic>,
    /// Part of the user's configuration is invalid and may have restricted interventions, so `detect.dry_run` is on.
    pub is_record_only: bool,
    /// The project file and whether it is trusted.
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

pub(crate) fn built_in_table() -> Table {
    BUILT_IN.clone()
}

/// The built-in document with its comments, as one file.
pub fn built_in_text() -> String {
    let mut text = format!("{}\n[detect]\n", include_str!("default.toml"));
    for line in belay_core::rules::DEFAULT_RULES.lines() {
        // Sections of the rules belong to `detect`.
        match line.strip_prefix("[[").map(|rest| ("[[", rest)).or_else(|| Some(("[", line.strip_prefix('[')?))) {
            Some((bracket, rest)) => text.push_str(&format!("{bracket}detect.{rest}\n")),
            None => text.push_str(&format!("{line}\n")),
        }
    }
    text
}

impl<'p> Loader<'p> {
    pub fn new(paths: &'p Paths, env: &'p EnvSnapshot) -> Self {
        Self { paths, env, dir: None, file: None, flags: Vec::new(), strictness: Strictness::Strict }
    }

    /// Also loads the project file found from this directory upwards.
    #[must_use]
    pub fn from_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.dir = Some(dir.into());
        self
    }

    /// Uses this file instead of the user's.
    #[must_use]
    pub fn from_file(mut self, file: impl Into<PathBuf>) -> Self {
        self.file = Some(file.into());
        self
    }

    /// Sets a key by a command-line flag, such as `--listen`.
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
        let user = self.user_layer(&mut stack)?;
        stack.push(user);
        let project = self.dir.as_deref().and_then(|dir| ProjectFile::locate(self.paths, dir));
        let project = project.map(|path| {
            let trust = self.project_layer(&path, &mut stack);
            (path, trust)
        });
        for variable in VARIABLES {
            if let Some((key, text)) = variable.key.zip(self.env.text(variable.name)) {
                stack.push(Some(single(Source::Env(variable.name), key, text)));
            }
        }
        stack.notes.extend(self.unknown_variables());
        // The user has just typed the flags, so an invalid one is always an error.
        stack.strictness = Strictness::Strict;
        for (flag, key, value) in &self.flags {
            stack.push(Some(single(Source::Flag(flag.clone()), key, value)));
        }
        stack.finish(project)
    }

    fn user_layer(&self, stack: &mut LayerStack) -> Result<Option<Result<Layer, Vec<Diagnostic>>>, ConfigError> {
        let path = self.file.as_deref().unwrap_or(self.paths.config_file());
        let text = match &self.file {
            Some(named) => std::fs::read_to_string(named),
            // Hooks read it, and a FIFO would hold them until the agent goes on without an answer.
            None => belay_fs::read_regular_text(path, Links::Follow, MAX_USER_FILE_BYTES),
        };
        match text {
            Ok(text) => {
                let source = Source::User(path.to_path_buf());
                let layer = match self.strictness {
                    Strictness::Strict => Layer::parse(source, text),
                    Strictness::Lenient => Layer::parse_valid_lines(source, text).map(|(layer, problems)| {
                        stack.report(problems);
                        layer
                    }),
                };
                Ok(Some(layer.map_err(|problem| vec![*problem])))
            }
            // The user's file is optional; an explicitly named one is not.
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

    /// Adds the permitted values of the project file.
    fn project_layer(&self, path: &Path, stack: &mut LayerStack) -> TrustState {
        let file = match ProjectFile::read(path) {
            Ok(file) => file,
            Err(problem) => {
                stack.push(Some(Err(vec![*problem])));
                return TrustState::Unknown;
            }
        };
        // If the list cannot be read, nothing is trusted.
        let trust = TrustStore::load(&self.paths.trust()).unwrap_or_default().state(&file);
        let trusted = trust == TrustState::Trusted;
        let source = Source::Project { path: file.path, trusted };
        match Layer::parse(source, file.text) {
            Err(problem) => stack.push(Some(Err(vec![*problem]))),
            Ok(layer) => {
                if let Some(mut layer) = stack.valid_part(layer) {
                    let (permitted, notes) = project_limits::apply_project_limits(&layer, &stack.merged, trust);
                    stack.notes.extend(notes);
                    layer.table = permitted;
                    stack.push(Some(Ok(layer)));
                }
            }
        }
        trust
    }

    fn unknown_variables(&self) -> Vec<Diagnostic> {
        let known: Vec<&str> = VARIABLES.iter().map(|variable| variable.name).collect();
        let unknown = self.env.belay_variables().filter(|name| !known.contains(name));
        unknown
            .map(|name| Diagnostic {
                source: Source::Flag(name.to_owned()),
                position: None,
                key: None,
                what: "unknown variable; it has no effect".to_owned(),
                hint: validate::closest_match(name, &known).map(|near| format!("did you mean {near}?")),
            })
            .collect()
    }
}

fn single(source: Source, key: &str, text: &str) -> Result<Layer, Vec<Diagnostic>> {
    let Some(key) = ConfigKey::parse(key) else {
        let (what, hint) = (format!("invalid key `{key}`"), Some("use the form section.name".to_owned()));
        return Err(vec![Diagnostic { source, position: None, key: None, what, hint }]);
    };
    parse_value(&key, text).map(|value| Layer::from_value(source.clone(), &key, value)).map_err(|what| {
        let what = format!("`{key}`: {what}");
        vec![Diagnostic { source, position: None, key: Some(key.clone()), what, hint: None }]
    })
}

/// The layers loaded so far.
struct LayerStack {
    strictness: Strictness,
    merged: Table,
    layers: Vec<Layer>,
    notes: Vec<Diagnostic>,
    problems: Vec<Diagnostic>,
    /// The first problem that requires to record only.
    record_only_cause: Option<Diagnostic>,
}

impl LayerStack {
    fn new(strictness: Strictness) -> Self {
        let merged = built_in_table();
        let layers = vec![Layer { source: Source::BuiltIn, table: merged.clone(), text: None }];
        Self { strictness, merged, layers, notes: Vec::new(), problems: Vec::new(), record_only_cause: None }
    }

    /// Adds the valid part of a layer on top and reports the rest.
    fn push(&mut self, layer: Option<Result<Layer, Vec<Diagnostic>>>) {
        match layer {
            None => {}
            Some(Err(problems)) => self.report(problems),
            Some(Ok(layer)) => {
                if let Some(layer) = self.valid_part(layer) {
                    overlay(&mut self.merged, &layer.table);
                    self.layers.push(layer);
                }
            }
        }
    }

    /// The layer without its invalid values, which are reported; `None` if it cannot be used.
    fn valid_part(&mut self, mut layer: Layer) -> Option<Layer> {
        let mut merged = self.merged.clone();
        overlay(&mut merged, &layer.table);
        if validate::parse_config(&merged).is_some() {
            return Some(layer);
        }
        let Some(invalid) = validate::validate_layer(&self.merged, &layer) else { return Some(layer) };
        self.report(invalid.problems);
        layer.table = invalid.valid?;
        Some(layer)
    }

    fn report(&mut self, problems: Vec<Diagnostic>) {
        if self.strictness == Strictness::Strict {
            return self.problems.extend(problems);
        }
        if self.record_only_cause.is_none() {
            self.record_only_cause = problems.iter().find(|problem| may_tighten_if_ignored(problem)).cloned();
        }
        self.notes.extend(problems);
    }

    fn finish(self, project: Option<(PathBuf, TrustState)>) -> Result<LoadedConfig, ConfigError> {
        if !self.problems.is_empty() {
            return Err(ConfigError::Invalid(self.problems));
        }
        match validate::parse_config(&self.merged) {
            Some(mut config) => {
                let Self { mut notes, layers, merged, record_only_cause, .. } = self;
                let is_record_only = record_only_cause.is_some();
                config.detect.dry_run |= is_record_only;
                notes.extend(record_only_cause.map(record_only_note));
                Ok(LoadedConfig { config, notes, is_record_only, project, layers, merged })
            }
            None => Err(ConfigError::Invalid(vec![Diagnostic {
                source: Source::BuiltIn,
                position: None,
                key: None,
                what: "the built-in configuration is invalid".to_owned(),
                hint: Some("this is a bug in Belay; please report it".to_owned()),
            }])),
        }
    }
}

/// Whether ignoring a value could make Belay intervene where the user did not want it to. Without trust, a project file
/// only tightens detection, and must not turn interventions off.
fn may_tighten_if_ignored(problem: &Diagnostic) -> bool {
    !matches!(problem.source, Source::Project { trusted: false, .. })
        && validate::may_tighten_if_ignored(problem.key.as_ref())
}

/// States the consequence of such a value.
fn record_only_note(cause: Diagnostic) -> Diagnostic {
    Diagnostic {
        what: "until this is fixed, Belay records interventions and does not carry them out".to_owned(),
        hint: Some("your own decisions, such as `belay pause`, still apply".to_owned()),
        ..cause
    }
}
