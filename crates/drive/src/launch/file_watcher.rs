//! Watches the work tree for changes.
//!
//! The operating system reports changes; nothing is polled. Directories that git ignores are not watched, so a tree
//! with a hundred thousand files in `node_modules` costs nothing. Changes are debounced, because a save is often
//! several of them.

mod file_index;
mod work_tree;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use belay_core::event::FileChanged;
use notify::{RecommendedWatcher, RecursiveMode, Watcher};

use file_index::FileIndex;
use work_tree::WorkTree;

/// How long changes are collected before they are reported.
const DEBOUNCE: Duration = Duration::from_millis(300);
/// Timeout for the last changes of a run.
const FINAL_FLUSH_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum number of files reported at once: a checkout is one change, not a thousand.
const MAX_FILES_PER_EVENT: usize = 200;

enum Message {
    Event(notify::Result<notify::Event>),
    Stop,
}

/// Watches until dropped; earlier changes are reported before the drop returns.
#[derive(Debug)]
pub(super) struct FileWatcher {
    stop: Sender<Message>,
    thread: Option<JoinHandle<()>>,
}

impl FileWatcher {
    /// Watches the tree around `dir` in its own thread, so that the agent starts at once. `fence` is a directory of
    /// the run, see [`WatcherThread::catch_up`].
    pub(super) fn start(
        dir: &Path,
        fence: PathBuf,
        report: impl FnMut(Vec<FileChanged>) + Send + 'static,
    ) -> Option<Self> {
        let tree = WorkTree::around(dir)?;
        let began = file_system_now(&fence);
        let (stop, messages) = channel();
        let events = stop.clone();
        let thread = std::thread::Builder::new().name("watch".to_owned()).spawn(move || {
            let watcher = notify::recommended_watcher(move |event| drop(events.send(Message::Event(event))));
            if let Ok(mut watcher) = watcher {
                let is_fenced = watcher.watch(&fence, RecursiveMode::NonRecursive).is_ok();
                let fence = is_fenced.then_some(fence);
                let thread = WatcherThread { tree, watcher, fence, files: FileIndex::default(), report };
                thread.run(&messages, began);
            }
        });
        Some(Self { stop, thread: Some(thread.ok()?) })
    }
}

impl Drop for FileWatcher {
    fn drop(&mut self) {
        let _ = self.stop.send(Message::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct WatcherThread<T> {
    tree: WorkTree,
    watcher: RecommendedWatcher,
    fence: Option<PathBuf>,
    files: FileIndex,
    report: T,
}

impl<T: FnMut(Vec<FileChanged>)> WatcherThread<T> {
    fn run(mut self, messages: &Receiver<Message>, began: Option<SystemTime>) {
        let mut early = self.watch_tree(began);
        loop {
            let mut touched = std::mem::take(&mut early);
            let mut stopped = false;
            // Changes from before the watch are reported at once.
            if touched.is_empty() {
                let Ok(first) = messages.recv() else { return };
                stopped = collect(first, &mut touched);
            }
            let until = Instant::now() + DEBOUNCE;
            while !stopped {
                match messages.recv_timeout(until.saturating_duration_since(Instant::now())) {
                    Ok(message) => stopped = collect(message, &mut touched),
                    Err(RecvTimeoutError::Timeout) => break,
                    Err(RecvTimeoutError::Disconnected) => stopped = true,
                }
            }
            if stopped {
                self.catch_up(messages, &mut touched);
            }
            let mut changes = self.changes(touched);
            changes.truncate(MAX_FILES_PER_EVENT);
            if !changes.is_empty() {
                (self.report)(changes);
            }
            if stopped {
                return;
            }
        }
    }

    /// Watches the whole tree and returns the files that changed since `began`, before the watch was set up.
    fn watch_tree(&mut self, began: Option<SystemTime>) -> BTreeSet<PathBuf> {
        let root = self.tree.root().to_path_buf();
        let since = |path: &Path| {
            let changed = path.symlink_metadata().and_then(|found| found.modified()).ok();
            changed.zip(began).is_some_and(|(changed, began)| changed >= began)
        };
        let mut early = BTreeSet::new();
        // A new file changes the time of its directory, so files of unchanged directories need no check.
        let mut is_new: Option<(PathBuf, bool)> = None;
        self.watch(&root, |files, file| {
            let Some(dir) = file.parent() else { return };
            if is_new.as_ref().is_none_or(|(known, _)| known != dir) {
                is_new = Some((dir.to_path_buf(), since(dir)));
            }
            if is_new.as_ref().is_some_and(|(_, new)| *new) && since(&file) {
                early.insert(file);
            } else {
                files.insert(&file);
            }
        });
        early
    }

    /// Receives the remaining events. They arrive in order, so once the event of our own marker file arrives, all earlier
    /// changes have been reported.
    fn catch_up(&self, messages: &Receiver<Message>, touched: &mut BTreeSet<PathBuf>) {
        let Some(mark) = self.fence.as_ref().map(|fence| fence.join("mark")) else { return };
        let until = Instant::now() + FINAL_FLUSH_TIMEOUT;
        if std::fs::write(&mark, "").is_err() {
            return;
        }
        while !touched.contains(&mark) {
            match messages.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(message) => drop(collect(message, touched)),
                Err(_) => return,
            }
        }
    }

    /// Watches a directory and its subdirectories, except ignored ones and those that cannot be watched.
    fn watch(&mut self, dir: &Path, mut file: impl FnMut(&mut FileIndex, PathBuf)) {
        let Self { tree, watcher, files, .. } = self;
        let watch = |dir: &Path| drop(watcher.watch(dir, RecursiveMode::NonRecursive));
        tree.visit(dir, watch, |path| file(files, path));
    }

    fn changes(&mut self, touched: BTreeSet<PathBuf>) -> Vec<FileChanged> {
        if touched.iter().any(|path| path.ends_with(".gitignore")) {
            self.tree.clear_rules();
        }
        let mut changes = Vec::new();
        for path in touched {
            if self.tree.is_ignored(&path) {
                continue;
            }
            match path.symlink_metadata() {
                // Files may have been created in a new directory before it was watched.
                Ok(found) if found.is_dir() => {
                    let mut inside = Vec::new();
                    self.watch(&path, |files, file| {
                        if !files.contains(&file) {
                            inside.push(file);
                        }
                    });
                    changes.extend(inside.iter().filter_map(|file| self.files.update(file)));
                }
                _ => changes.extend(self.files.update(&path)),
            }
        }
        changes
    }
}

/// The current time of the file system's clock, which differs slightly from the system clock.
fn file_system_now(fence: &Path) -> Option<SystemTime> {
    let mark = fence.join("begin");
    std::fs::write(&mark, "").ok()?;
    mark.metadata().and_then(|found| found.modified()).ok()
}

/// Collects the changed paths; returns `true` to stop.
fn collect(message: Message, touched: &mut BTreeSet<PathBuf>) -> bool {
    match message {
        Message::Stop => return true,
        // A read is not a change.
        Message::Event(Ok(event)) if event.kind.is_access() => {}
        Message::Event(Ok(event)) => touched.extend(event.paths),
        Message::Event(Err(error)) => tracing::debug!(%error, "a change may have been missed"),
    }
    false
}

#[cfg(test)]
mod tests;
