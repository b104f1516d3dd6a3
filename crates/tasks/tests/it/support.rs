//! A directory of tasks, and a host that tells when something changes.

use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use belay_config::{Config, EnvSnapshot, Loader, Paths};
use belay_core::Subject;
use belay_core::task::Spend;
use belay_drive::environment::Environment;
use belay_drive::limits::Limits;
use belay_tasks::{DriverHost, NewTask, Resources, TaskDir, Tasks};

use crate::toy::{Act, Spec, Summary, Toy};

/// Longest wait for something that happens within milliseconds.
const TIMEOUT: Duration = Duration::from_secs(20);

#[derive(Debug)]
struct Host {
    config: Config,
    changes: Mutex<u64>,
    changed: Condvar,
}

impl DriverHost for Host {
    fn config(&self) -> Result<Config, String> {
        Ok(self.config.clone())
    }

    fn task_changed(&self, _: &Subject) {
        *self.changes.lock().unwrap() += 1;
        self.changed.notify_all();
    }

    fn is_held(&self, _: &str) -> bool {
        true
    }

    fn session_spend(&self, _: &str) -> Option<Spend> {
        None
    }

    fn has_live_session(&self, _: &Path) -> bool {
        false
    }
}

/// A driver with its directory. Several may share what tasks compete for.
pub(crate) struct World {
    pub(crate) toy: Toy,
    pub(crate) tasks: Tasks<Toy>,
    host: Arc<Host>,
    paths: Paths,
    resources: Arc<Resources>,
    home: Arc<tempfile::TempDir>,
}

impl World {
    pub(crate) fn new() -> Self {
        let home = Arc::new(tempfile::tempdir().unwrap());
        let resources = Arc::new(Resources::new(Limits::load(home.path())));
        Self::start(home, Toy::default(), resources)
    }

    fn start(home: Arc<tempfile::TempDir>, toy: Toy, resources: Arc<Resources>) -> Self {
        let paths = Paths::resolve(&EnvSnapshot::default(), Some(home.path())).unwrap();
        let config = Loader::new(&paths, &EnvSnapshot::default()).load().unwrap().config;
        let host = Arc::new(Host { config, changes: Mutex::default(), changed: Condvar::new() });
        let tasks = Tasks::start(&paths, toy.clone(), host.clone(), resources.clone()).unwrap();
        Self { toy, tasks, host, paths, resources, home }
    }

    /// Another driver that competes with this one.
    pub(crate) fn other(&self) -> Self {
        let home = Arc::new(tempfile::tempdir().unwrap());
        Self::start(home, Toy::default(), self.resources.clone())
    }

    /// The next process, after this one was stopped or died.
    pub(crate) fn restart(self) -> Self {
        self.tasks.shut_down();
        let resources = Arc::new(Resources::new(Limits::load(self.home.path())));
        Self::start(self.home.clone(), self.toy.clone(), resources)
    }

    pub(crate) fn file(&self, spec: Spec) -> TaskDir {
        let task =
            NewTask { spec, by: "ada".to_owned(), env: Environment::default(), artifacts_dir: None, files: Vec::new() };
        let summary = self.tasks.file(task).unwrap();
        self.tasks.resolve(&summary.id).unwrap()
    }

    /// A task of two steps.
    pub(crate) fn count(&self, name: &str) -> TaskDir {
        self.file(Spec { name: name.to_owned(), count: 2, ..Spec::default() })
    }

    /// What the next step of the task of this name does.
    pub(crate) fn act(&self, name: &str, act: Act) {
        self.toy.0.acts.lock().unwrap().push((name.to_owned(), act));
    }

    /// The next step of the task of this name runs until something is sent.
    pub(crate) fn block(&self, name: &str) -> Sender<()> {
        let (sender, receiver): (Sender<()>, Receiver<()>) = channel();
        self.act(name, Act::Block(receiver));
        sender
    }

    pub(crate) fn log(&self) -> Vec<String> {
        self.toy.0.log.lock().unwrap().clone()
    }

    pub(crate) fn summary(&self, dir: &TaskDir) -> Summary {
        self.tasks.summaries().into_iter().find(|summary| summary.id == dir.id()).unwrap()
    }

    /// Waits until something is the case. The host hears of every change.
    pub(crate) fn until(&self, what: impl Fn() -> bool) {
        let mut changes = self.host.changes.lock().unwrap();
        loop {
            let seen = *changes;
            drop(changes);
            if what() {
                return;
            }
            changes = self.host.changes.lock().unwrap();
            if *changes == seen {
                let waited = self.host.changed.wait_timeout(changes, TIMEOUT).unwrap();
                assert!(!waited.1.timed_out(), "it did not happen; so far: {:?}", self.log());
                changes = waited.0;
            }
        }
    }

    /// Waits for the end of a task, and returns how it ended.
    pub(crate) fn end(&self, dir: &TaskDir) -> String {
        self.until(|| self.summary(dir).end.is_some());
        self.summary(dir).end.unwrap()
    }

    pub(crate) fn root(&self) -> std::path::PathBuf {
        self.paths.state().join("counts")
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.tasks.shut_down();
    }
}
