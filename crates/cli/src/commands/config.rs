//! `belay config`: shows values with their origin, and changes them.

use belay_config::{ConfigKey, Edit, Entry, Explained, LoadedConfig, PROJECT_FILE, ProjectFile, Source, Strictness};
use belay_core::redact::redact;
use clap::Subcommand;
use serde_json::{Value, json};

use super::CommandResult;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_status::ExitStatus;
use crate::operator::{OperatorArgs, require_operator};
use crate::output::Table;

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// List the effective values and their origin.
    List {
        /// Only keys with this prefix.
        prefix: Option<String>,
    },
    /// Print one value.
    Get {
        /// Key, such as serve.listen.
        key: String,
    },
    /// Set a value in your configuration file; comments are kept.
    Set {
        /// Key, such as serve.listen.
        key: String,
        /// New value; strings need no quotes.
        value: String,
        /// Change the project's file instead.
        #[arg(long)]
        project: bool,
        #[command(flatten)]
        operator: OperatorArgs,
    },
    /// Remove a value from your configuration file, so that the default applies.
    Unset {
        /// Key, such as serve.listen.
        key: String,
        /// Change the project's file instead.
        #[arg(long)]
        project: bool,
        #[command(flatten)]
        operator: OperatorArgs,
    },
    /// Print the built-in configuration with its comments.
    Default,
    /// Show the paths of Belay's files.
    Path,
    /// Explain a key: its meaning, its value in each layer, and what a project file may change.
    Explain {
        /// Key, such as detect.max_nudges, or a section.
        key: String,
    },
}

pub(crate) fn run(context: &Context, command: &ConfigCommand) -> CommandResult {
    match command {
        ConfigCommand::List { prefix } => list(context, prefix.as_deref()),
        ConfigCommand::Get { key } => get(context, key),
        ConfigCommand::Set { key, value, project, operator } => {
            require_operator(context, *operator, "config set", None)?;
            set(context, key, Some(value), *project)
        }
        ConfigCommand::Unset { key, project, operator } => {
            require_operator(context, *operator, "config unset", None)?;
            set(context, key, None, *project)
        }
        ConfigCommand::Default => {
            context.out.line(belay_config::built_in_text().trim_end())?;
            Ok(ExitStatus::Done)
        }
        ConfigCommand::Path => path(context),
        ConfigCommand::Explain { key } => explain(context, key),
    }
}

fn load(context: &Context) -> Result<LoadedConfig, CommandError> {
    context.config(Strictness::Strict, &[])
}

fn parse(key: &str) -> Result<ConfigKey, CommandError> {
    ConfigKey::parse(key)
        .ok_or_else(|| CommandError::new(format!("invalid key `{key}`")).hint("use the form section.name"))
}

fn unknown(loaded: &LoadedConfig, key: &str) -> CommandError {
    let error = CommandError::new(format!("unknown key `{key}`"));
    match loaded.suggest(key) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint("list all keys with `belay config list`"),
    }
}

/// A value as JSON, with secrets redacted.
fn value_json(value: &toml::Value) -> Value {
    fn clean(value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(redact(&text).into_owned()),
            Value::Array(values) => values.into_iter().map(clean).collect(),
            Value::Object(map) => map.into_iter().map(|(name, value)| (name, clean(value))).collect(),
            other => other,
        }
    }
    clean(serde_json::to_value(value).unwrap_or_default())
}

fn value_text(value: &toml::Value) -> String {
    redact(&value.to_string()).into_owned()
}

fn origin(entry: &Entry) -> String {
    match entry.position {
        Some(position) => format!("{}:{}", entry.source, position.line),
        None => entry.source.to_string(),
    }
}

fn entry_json(entry: &Entry) -> Value {
    json!({
        "key": entry.key.to_string(),
        "value": value_json(&entry.value),
        "layer": entry.source.as_str(),
        "origin": entry.source.to_string(),
        "line": entry.position.map(|position| position.line),
    })
}

fn list(context: &Context, prefix: Option<&str>) -> CommandResult {
    let loaded = load(context)?;
    let entries: Vec<Entry> = match prefix.map(parse).transpose()? {
        Some(prefix) => loaded.entries().into_iter().filter(|entry| entry.key.starts_with(&prefix)).collect(),
        None => loaded.entries(),
    };
    if entries.is_empty() {
        return Err(unknown(&loaded, prefix.unwrap_or_default()));
    }
    if context.out.json {
        context.out.json(&json!({ "values": entries.iter().map(entry_json).collect::<Vec<_>>() }))?;
        return Ok(ExitStatus::Done);
    }
    let mut table = Table::new(&["key", "value", "from"]);
    for entry in &entries {
        table.row(vec![entry.key.to_string(), value_text(&entry.value), origin(entry)]);
    }
    table.print(&context.out)?;
    Ok(ExitStatus::Done)
}

fn get(context: &Context, key: &str) -> CommandResult {
    let loaded = load(context)?;
    let parsed = parse(key)?;
    let Some(value) = loaded.get(&parsed) else { return Err(unknown(&loaded, key)) };
    if context.out.json {
        let value = match loaded.entry(&parsed).filter(|_| !value.is_table()) {
            Some(entry) => entry_json(&entry),
            None => json!({ "key": key, "value": value_json(value) }),
        };
        context.out.json(&value)?;
        return Ok(ExitStatus::Done);
    }
    context.out.line(match value {
        toml::Value::String(text) => redact(text).into_owned(),
        toml::Value::Table(table) => redact(toml::to_string(table).unwrap_or_default().trim_end()).into_owned(),
        other => other.to_string(),
    })?;
    Ok(ExitStatus::Done)
}

fn set(context: &Context, key: &str, value: Option<&str>, project: bool) -> CommandResult {
    let parsed = parse(key)?;
    let source = match project {
        false => Source::User(context.paths.config_file().to_path_buf()),
        true => Source::Project { path: project_file(context)?, trusted: false },
    };
    let (Source::User(path) | Source::Project { path, .. }) = &source else {
        return Err(CommandError::new("only files can be changed"));
    };
    let mut edit = Edit::open(path, source.clone())?;
    let done = match value {
        Some(value) => {
            edit.set(&parsed, value)?;
            format!("Set `{parsed}` in {}.", path.display())
        }
        None if edit.unset(&parsed) => format!("Removed `{parsed}` from {}.", path.display()),
        None => return Err(CommandError::new(format!("`{parsed}` is not set in {}", path.display()))),
    };
    edit.save()?;
    let loaded = context.config(Strictness::Lenient, &[])?;
    let entry = loaded.entry(&parsed);
    if context.out.json {
        context.out.json(&json!({ "file": path.display().to_string(), "now": entry.as_ref().map(entry_json) }))?;
        return Ok(ExitStatus::Done);
    }
    context.out.line(done)?;
    if let Some(entry) = entry.filter(|entry| value.is_some() && entry.source.to_string() != source.to_string()) {
        let text =
            format!("the value has no effect here: {} overrides it with {}", origin(&entry), value_text(&entry.value));
        context.out.warn(&text, None);
    }
    Ok(ExitStatus::Done)
}

/// The project's file, or the path of a new one.
fn project_file(context: &Context) -> Result<std::path::PathBuf, CommandError> {
    let dir = std::env::current_dir()?;
    Ok(ProjectFile::locate(&context.paths, &dir).unwrap_or_else(|| dir.join(PROJECT_FILE)))
}

fn path(context: &Context) -> CommandResult {
    let project = std::env::current_dir().ok().and_then(|dir| ProjectFile::locate(&context.paths, &dir));
    let rows = [
        ("user", Some(context.paths.config_file().to_path_buf())),
        ("project", project),
        ("state", Some(context.paths.state().to_path_buf())),
        ("store", Some(context.paths.database())),
        ("socket", Some(context.paths.socket().to_path_buf())),
        ("logs", Some(context.paths.logs())),
    ];
    if context.out.json {
        let rows = rows.map(|(name, path)| (name.to_owned(), path.map(|path| path.display().to_string()).into()));
        context.out.json(&Value::Object(rows.into_iter().collect()))?;
        return Ok(ExitStatus::Done);
    }
    for (name, path) in rows {
        let path =
            path.map_or_else(|| "none in this directory or its parents".to_owned(), |path| path.display().to_string());
        context.out.line(format!("{name:<9}{path}"))?;
    }
    Ok(ExitStatus::Done)
}

fn explain(context: &Context, key: &str) -> CommandResult {
    let loaded = context.config(Strictness::Lenient, &[])?;
    let Some(explained) = loaded.explain(&parse(key)?) else { return Err(unknown(&loaded, key)) };
    if context.out.json {
        context.out.json(&json!({
            "key": explained.key.to_string(),
            "description": explained.description,
            "choices": explained.choices,
            "adds_up": explained.adds_up,
            "layers": explained.layers.iter().map(entry_json).collect::<Vec<_>>(),
            "below": explained.below.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "variable": explained.variable,
            "project": explained.project,
        }))?;
        return Ok(ExitStatus::Done);
    }
    for line in explanation(&explained) {
        context.out.line(line)?;
    }
    Ok(ExitStatus::Done)
}

fn explanation(explained: &Explained) -> Vec<String> {
    let mut lines = vec![explained.key.to_string()];
    lines.extend(explained.description.iter().map(|text| format!("  {}", text.replace('\n', "\n  "))));
    if !explained.choices.is_empty() {
        lines.push(format!("  One of: {}.", explained.choices.join(", ")));
    }
    lines.push(String::new());
    if !explained.below.is_empty() {
        lines.extend(explained.below.iter().map(|key| format!("  {key}")));
        return lines;
    }
    let layer_count = explained.layers.len();
    for (index, entry) in explained.layers.iter().enumerate() {
        let mark = if index + 1 == layer_count && !explained.adds_up { "  <- effective" } else { "" };
        lines.push(format!("  {:<12} {}  ({}){mark}", entry.source.as_str(), value_text(&entry.value), origin(entry)));
    }
    if explained.layers.is_empty() {
        lines.push("  Not set.".to_owned());
    }
    lines.push(String::new());
    if explained.adds_up {
        lines.push("  The values of all layers are combined.".to_owned());
    }
    lines.extend(explained.variable.map(|name| format!("  {name} overrides it.")));
    lines.push(format!("  {}", explained.project));
    lines
}
