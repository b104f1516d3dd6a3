//! A task with its journal open: the only way to change one.

use std::path::{Path, PathBuf};

use belay_clock::now;
use belay_core::task::{Machine, RecordOf};
use belay_drive::environment::Environment;

use crate::error::TaskError;
use crate::journal::{Entry, Journal};
use crate::task_dir::{Filed, TaskDir, TaskView, begin, create_private_dir};

/// Names that are tried for a new task.
const MAX_NAMES: u32 = 16;

/// A task that can be changed.
#[derive(Debug)]
pub struct OpenTask<M: Machine> {
    pub dir: TaskDir,
    pub filed: Filed<M::Spec>,
    journal: Journal<M>,
}

/// A task to file.
#[derive(Debug)]
pub struct NewTask<S> {
    pub spec: S,
    pub by: String,
    /// That of the shell that files the task.
    pub env: Environment,
    /// Directory of the artifacts of all tasks, if it is not that of the task.
    pub artifacts_dir: Option<PathBuf>,
    /// Further JSON files of the task.
    pub files: Vec<(&'static str, serde_json::Value)>,
}

impl<M: Machine> OpenTask<M> {
    pub fn open(dir: TaskDir) -> Result<Self, TaskError> {
        let filed = dir.read_filed::<M>()?;
        let journal = Journal::open(&dir.journal(), begin(&filed)?)?;
        Ok(Self { dir, filed, journal })
    }

    /// Writes a new task. It exists once its last file does.
    pub(crate) fn create(dir: &TaskDir, task: NewTask<M::Spec>) -> Result<Self, TaskError> {
        dir.create()?;
        Self::write(dir, task).inspect_err(|_| {
            // Without `task.json` it is not a task, but it takes space.
            let _ = std::fs::remove_dir_all(dir.path());
        })
    }

    fn write(dir: &TaskDir, task: NewTask<M::Spec>) -> Result<Self, TaskError> {
        let write = |path: &Path, source| TaskError::Write { path: path.to_owned(), source };
        let artifacts = task.artifacts_dir.map_or_else(|| dir.path().to_owned(), |moved| moved.join(dir.id()));
        let env_file = dir.path().join("env");
        task.env.save(&env_file).map_err(|source| write(&env_file, source))?;
        create_private_dir(&artifacts).map_err(|source| write(&artifacts, source))?;
        for (name, value) in &task.files {
            dir.write_json(name, value)?;
        }
        let filed = Filed { at: now(), by: task.by, spec: task.spec, artifacts };
        // Refused now, and not when it is read.
        begin::<M>(&filed)?;
        dir.write_json("task.json", &filed)?;
        Self::open(dir.clone())
    }

    /// Applies a record and writes it. If either fails, the task is what it was.
    pub fn record(&mut self, record: RecordOf<M>) -> Result<(), TaskError> {
        Ok(self.journal.record(now(), record)?)
    }

    pub fn machine(&self) -> &M {
        self.journal.state()
    }

    /// All records, oldest first.
    pub fn entries(&self) -> &[Entry<M::Record>] {
        self.journal.entries()
    }

    pub fn view(&self) -> TaskView<'_, M> {
        TaskView { dir: &self.dir, filed: &self.filed, machine: self.machine(), entries: self.entries() }
    }
}

/// A directory for a new task, which does not exist yet.
pub(crate) fn free_dir(root: &Path, prefix: &str) -> Result<TaskDir, TaskError> {
    let mut names = (0..MAX_NAMES).map(|_| TaskDir::new(root, &new_id(prefix)));
    let dir = names.find(|dir| !dir.path().exists());
    dir.ok_or_else(|| TaskError::Invalid("cannot find a free id".to_owned()))
}

/// Short enough to type, without letters that look alike.
fn new_id(prefix: &str) -> String {
    const ALPHABET: &[u8] = b"23456789abcdefghjkmnpqrstvwxyz";
    // The low bits are random.
    let random = uuid::Uuid::now_v7().as_u128();
    let digits = (0..6).map(|place| {
        let index = (random >> (place * 8)) as usize % ALPHABET.len();
        char::from(ALPHABET[index])
    });
    format!("{prefix}{}", digits.collect::<String>())
}
