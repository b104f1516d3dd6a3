//! `loop`, the dashboard that alternates Claude Code and Codex: its variables, database and artifacts.
//!
//! Its tables are not documented, so that the one with tasks is found by its columns, whatever their spelling.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use belay_config::EnvSnapshot;
use belay_core::Timestamp;
use belay_fs::Dir;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row};

use crate::import::{ImportError, MAX_IMPORT_BYTES, MappedSetting};

/// The two agents that `loop` alternates.
pub const BUILDER: &str = "claude-code";
pub const REVIEWER: &str = "codex";

const ENV_FILE: &str = ".env";
/// Most tasks that are imported.
const MAX_TASKS: usize = 10_000;

/// A task that `loop` has finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinishedTask {
    /// Its id in `loop`.
    pub id: String,
    pub title: String,
    pub prompt: String,
    pub project_dir: String,
    /// done, needs_attention or failed.
    pub status: String,
    pub filed_at: Option<Timestamp>,
    pub rounds: Option<u32>,
    /// Directory of its prompts and outputs, if it exists.
    pub artifacts: Option<PathBuf>,
}

/// The variables of the environment and of the `.env` file; the environment wins, as in `loop`.
fn variables(project_dir: &Path, env: &EnvSnapshot) -> Result<Vec<(String, String)>, ImportError> {
    let text = match Dir::open(project_dir).and_then(|dir| dir.read_regular_text(ENV_FILE, MAX_IMPORT_BYTES)) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        Err(source) => return Err(ImportError::Read { path: project_dir.join(ENV_FILE), source }),
    };
    let mut found: Vec<(String, String)> = text.lines().filter_map(parse_line).collect();
    for name in env.names("LOOP_") {
        // Loop Watchdog's variables begin in the same way.
        if let Some(value) = env.text(name).filter(|_| !name.starts_with("LOOP_WATCHDOG_")) {
            found.retain(|(known, _)| known != name);
            found.push((name.to_owned(), value.to_owned()));
        }
    }
    Ok(found)
}

/// `NAME=value` of a variable of `loop`.
fn parse_line(line: &str) -> Option<(String, String)> {
    let line = line.trim().strip_prefix("export ").unwrap_or(line.trim());
    let (name, value) = line.split_once('=')?;
    let name = name.trim();
    let is_ours = name.starts_with("LOOP_") && !name.starts_with("LOOP_WATCHDOG_");
    is_ours.then(|| (name.to_owned(), value.trim().trim_matches(['"', '\'']).to_owned()))
}

/// Every variable of `loop`, and the key that it becomes.
pub fn settings(project_dir: &Path, env: &EnvSnapshot) -> Result<Vec<MappedSetting>, ImportError> {
    let found = variables(project_dir, env)?;
    Ok(found.iter().map(|(name, value)| map(project_dir, name, value).for_user()).collect())
}

fn map(project_dir: &Path, name: &str, value: &str) -> MappedSetting {
    let from = format!("{name}={value}");
    let to = |key: &str, value: String| MappedSetting {
        from: from.clone(),
        to: Some((key.to_owned(), value)),
        user: true,
        note: None,
    };
    let quoted = |path: &Path| toml::Value::String(path.display().to_string()).to_string();
    let number = value.parse::<u64>().ok().filter(|number| *number > 0);
    let program = |agent: &str| match value.contains('/') {
        true => to(&format!("agents.{agent}.program"), quoted(&project_dir.join(value))),
        false => MappedSetting::skipped(from.clone(), "a name without a directory is found in PATH anyway"),
    };
    match (name, number) {
        ("LOOP_CLAUDE_BIN", _) => program(BUILDER),
        ("LOOP_CODEX_BIN", _) => program(REVIEWER),
        ("LOOP_ARTIFACTS_DIR", _) => to("review.artifacts_dir", quoted(&project_dir.join(value))),
        ("LOOP_DB_PATH", _) => MappedSetting::skipped(from, "its finished tasks are imported; Belay has its own store"),
        ("LOOP_MAX_ITERATIONS", Some(rounds)) => to("review.rounds", rounds.to_string()),
        ("LOOP_MAX_QUEUE_DEPTH", Some(depth)) => to("review.queue_depth", depth.to_string()),
        ("LOOP_ITERATION_TIMEOUT_MS", Some(millis)) => {
            to("review.round_timeout", format!("\"{}s\"", millis.div_ceil(1000)))
        }
        ("LOOP_MAX_ITERATIONS" | "LOOP_MAX_QUEUE_DEPTH" | "LOOP_ITERATION_TIMEOUT_MS", None) => {
            MappedSetting::skipped(from, "it is not a whole number above 0")
        }
        _ => MappedSetting::skipped(from, "Belay has no such setting"),
    }
}

/// The finished tasks in the database of `loop`.
pub fn tasks(project_dir: &Path, env: &EnvSnapshot) -> Result<Vec<FinishedTask>, ImportError> {
    let variables = variables(project_dir, env)?;
    let value = |name: &str| variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    let database = project_dir.join(value("LOOP_DB_PATH").unwrap_or("loop.db"));
    let artifacts = project_dir.join(value("LOOP_ARTIFACTS_DIR").unwrap_or(".loops"));
    if !database.is_file() {
        return Ok(Vec::new());
    }
    let failed = |source| ImportError::Database { path: database.clone(), source };
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(&database, flags).map_err(failed)?;
    let Some((table, columns)) = task_table(&connection).map_err(failed)? else { return Ok(Vec::new()) };
    let mut tasks = read_tasks(&connection, &table, &columns).map_err(failed)?;
    for task in &mut tasks {
        let is_name = !task.id.is_empty() && !task.id.contains('/') && !task.id.starts_with('.');
        task.artifacts = Some(artifacts.join(&task.id)).filter(|dir| is_name && dir.is_dir());
    }
    Ok(tasks)
}

/// The columns that a task needs, by what they mean.
#[derive(Debug, Default)]
struct TaskColumns {
    id: Option<String>,
    title: Option<String>,
    prompt: Option<String>,
    project_dir: Option<String>,
    status: Option<String>,
    filed_at: Option<String>,
    rounds: Option<String>,
}

impl TaskColumns {
    fn new(names: &[String]) -> Self {
        let find = |spellings: &[&str]| {
            let is = |name: &&String| spellings.contains(&name.to_lowercase().replace('_', "").as_str());
            names.iter().find(is).cloned()
        };
        Self {
            id: find(&["id", "taskid", "uuid"]),
            title: find(&["title", "name"]),
            prompt: find(&["prompt", "task", "description"]),
            project_dir: find(&["workingdir", "workingdirectory", "cwd", "workdir", "folder"]),
            status: find(&["status", "state"]),
            filed_at: find(&["createdat", "created", "createdon"]),
            rounds: find(&["maxiterations", "iterationcap", "iterations"]),
        }
    }

    fn is_complete(&self) -> bool {
        self.id.is_some() && self.prompt.is_some() && self.project_dir.is_some() && self.status.is_some()
    }
}

/// The table with tasks; `None` if there is none.
fn task_table(connection: &Connection) -> rusqlite::Result<Option<(String, TaskColumns)>> {
    let mut tables = connection.prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")?;
    let names: Vec<String> = tables.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    for table in names {
        let mut info = connection.prepare("SELECT name FROM pragma_table_info(?1)")?;
        let columns: Vec<String> = info.query_map([&table], |row| row.get(0))?.collect::<Result<_, _>>()?;
        let columns = TaskColumns::new(&columns);
        if columns.is_complete() {
            return Ok(Some((table, columns)));
        }
    }
    Ok(None)
}

fn read_tasks(connection: &Connection, table: &str, columns: &TaskColumns) -> rusqlite::Result<Vec<FinishedTask>> {
    // Names come from the database itself, and are quoted as identifiers.
    let name = |column: &Option<String>| column.as_deref().map_or_else(|| "NULL".to_owned(), identifier);
    let list = [
        &columns.id,
        &columns.title,
        &columns.prompt,
        &columns.project_dir,
        &columns.status,
        &columns.filed_at,
        &columns.rounds,
    ];
    let list = list.map(name).join(", ");
    let mut query = connection.prepare(&format!("SELECT {list} FROM {} LIMIT {MAX_TASKS}", identifier(table)))?;
    let rows = query.query_map([], task)?;
    let tasks: Vec<FinishedTask> = rows.collect::<Result<_, _>>()?;
    Ok(tasks.into_iter().filter(|task| ["done", "needs_attention", "failed"].contains(&task.status.as_str())).collect())
}

fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn task(row: &Row<'_>) -> rusqlite::Result<FinishedTask> {
    let text = |index: usize| {
        Ok::<_, rusqlite::Error>(match row.get_ref(index)? {
            ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
            ValueRef::Integer(number) => number.to_string(),
            _ => String::new(),
        })
    };
    let filed_at = match row.get_ref(5)? {
        ValueRef::Text(text) => Timestamp::parse(&String::from_utf8_lossy(text)),
        ValueRef::Integer(number) => Timestamp::from_number(number as f64),
        ValueRef::Real(number) => Timestamp::from_number(number),
        _ => None,
    };
    Ok(FinishedTask {
        id: text(0)?,
        title: text(1)?,
        prompt: text(2)?,
        project_dir: text(3)?,
        status: text(4)?.to_lowercase().replace([' ', '-'], "_"),
        filed_at,
        rounds: text(6)?.parse().ok(),
        artifacts: None,
    })
}

#[cfg(test)]
mod tests;
