//! Finished tasks of another tool, kept for the record.

use std::path::{Path, PathBuf};

use belay_core::Timestamp;
use belay_core::session::Budget;
use belay_core::task::WorkspaceMode;
use belay_fs::Links;
use belay_review::Task;
use belay_review::convergence::Policy;
use belay_review::task::{Answer, Decision, Record, Role, TaskSpec};
use belay_tasks::{Journal, TaskDir, TaskError};

use crate::error::RunnerError;
use crate::read;
use crate::task_dir::{FiledTask, write_artifact};

/// A finished task.
#[derive(Clone, Debug)]
pub struct ForeignTask {
    /// The tool, and the task's id there: the same task is imported once.
    pub source: String,
    pub title: String,
    pub prompt: String,
    pub project_dir: String,
    pub builder: String,
    pub reviewer: String,
    pub rounds: u32,
    pub is_done: bool,
    /// How it ended, in the tool's words.
    pub status: String,
    pub filed_at: Timestamp,
    /// Directory whose files become artifacts.
    pub artifacts: Option<PathBuf>,
}

/// A larger file is not copied.
const MAX_ARTIFACT_BYTES: u64 = 16 * 1024 * 1024;

/// Stores a task. Returns its id, and whether it is new.
pub fn import(root: &Path, task: &ForeignTask) -> Result<(String, bool), RunnerError> {
    let dir = TaskDir::new(root, &id(&task.source));
    if dir.is_task() {
        return Ok((dir.id().to_owned(), false));
    }
    let spec = spec(task);
    let filed = Task::new(spec.clone(), task.filed_at)?;
    // Left by an import that was interrupted.
    let _ = std::fs::remove_dir_all(dir.path());
    dir.create()?;
    if let Some(artifacts) = &task.artifacts {
        copy_artifacts(artifacts, dir.path())?;
    }
    let (by, decision) = match task.is_done {
        true => (task.source.clone(), Decision::Answer { answer: Answer::Done }),
        false => (format!("{} ({})", task.source, task.status), Decision::Cancel),
    };
    // How it ended is written first: a task without an end would be run.
    let mut journal = Journal::open(&dir.journal(), filed).map_err(TaskError::from)?;
    journal.record(task.filed_at, Record::Decided { by, decision }).map_err(TaskError::from)?;
    let artifacts = dir.path().to_owned();
    dir.write_json("task.json", &FiledTask { at: task.filed_at, by: task.source.clone(), spec, artifacts })?;
    let replayed = dir.replay::<Task>()?;
    let ledger = serde_json::to_vec_pretty(&replayed.machine.ledger).unwrap_or_default();
    write_artifact(dir.path(), "ledger.json", &ledger)?;
    dir.write_json("meta.json", &read::summary(replayed.view(&dir)))?;
    Ok((dir.id().to_owned(), true))
}

fn spec(task: &ForeignTask) -> TaskSpec {
    let role = |agent: &str| Role { agent: agent.to_owned(), model: None };
    TaskSpec {
        title: if task.title.is_empty() { first_line(&task.prompt) } else { task.title.clone() },
        prompt: task.prompt.clone(),
        project_dir: task.project_dir.clone(),
        builder: role(&task.builder),
        reviewers: vec![role(&task.reviewer)],
        arbiter: None,
        quorum: None,
        gates: Vec::new(),
        rounds: task.rounds.max(1),
        round_timeout_secs: 0,
        budget: Budget::default(),
        workspace: WorkspaceMode::InPlace,
        policy: Policy::default(),
    }
}

/// The same id for the same source.
fn id(source: &str) -> String {
    // FNV-1a: stable over versions, and no secret depends on it.
    let hash = source
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("r-{hash:016x}")
}

fn first_line(text: &str) -> String {
    text.trim().lines().next().unwrap_or_default().chars().take(80).collect()
}

/// Copies files, with names that are artifacts here.
fn copy_artifacts(from: &Path, to: &Path) -> Result<(), RunnerError> {
    let read = |source| RunnerError::Read { path: from.to_owned(), source };
    let mut names: Vec<String> =
        std::fs::read_dir(from).map_err(read)?.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.sort();
    for name in names {
        // A link in the directory could lead anywhere.
        let Ok(bytes) = belay_fs::read_regular(&from.join(&name), Links::Refuse, MAX_ARTIFACT_BYTES) else { continue };
        let plain: String =
            name.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' }).collect();
        let is_numbered = plain.len() > 2 && plain.bytes().take(2).all(|byte| byte.is_ascii_digit());
        let name = if is_numbered { plain } else { format!("00-{plain}") };
        write_artifact(to, &name, &bytes)?;
    }
    Ok(())
}
