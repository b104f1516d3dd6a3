//! The work tree, watched for changes.
//!
//! The system tells us of changes; nothing is scanned again and again. Folders that git ignores are
//! not watched at all, so a tree with a hundred thousand files in `node_modules` costs nothing. Changes
//! are collected for a moment, because a save is often several of them.

mod tree;

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use belay_core::Digest;
use belay_core::event::{ChangeKind, FileChanged};
use notify::{RecommendedWatcher, RecursiveMode, Watcher};

use tree::Tree;

/// How long changes are collected.
const MOMENT: Duration = Duration::from_millis(300);
/// Files beyond this are not read, only mentioned.
const READ: u64 = 4 * 1024 * 1024;
/// Most files told of at once: a checkout is one thing, not a thousand.
const AT_ONCE: usize = 200;

enum Message {
    Seen(notify::Result<notify::Event>),
    Stop,
}

/// Watches until dropped; what was collected is told before.
#[derive(Debug)]
pub(super) struct Watch {
    stop: Sender<Message>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Watches the tree around `folder` in a thread of its own; the agent need not wait for it.
    pub(super) fn start(folder: &Path, tell: impl FnMut(Vec<FileChanged>) + Send + 'static) -> Option<Self> {
        let tree = Tree::of(folder)?;
        let (stop, messages) = channel();
        let seen = stop.clone();
        let thread = std::thread::Builder::new().name("watch".to_owned()).spawn(move || {
            let watcher = notify::recommended_watcher(move |event| drop(seen.send(Message::Seen(event))));
            if let Ok(watcher) = watcher {
                Follower { tree, watcher, known: HashMap::new(), tell }.follow(&messages);
            }
        });
        Some(Self { stop, thread: Some(thread.ok()?) })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.stop.send(Message::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Follower<T> {
    tree: Tree,
    watcher: RecommendedWatcher,
    /// What files held when they were last looked at.
    known: HashMap<PathBuf, Digest>,
    tell: T,
}

impl<T: FnMut(Vec<FileChanged>)> Follower<T> {
    fn follow(mut self, messages: &Receiver<Message>) {
        let root = self.tree.root().to_path_buf();
        self.watch(&root);
        while let Ok(first) = messages.recv() {
            let mut touched = BTreeSet::new();
            let mut stopped = note(first, &mut touched);
            let until = Instant::now() + MOMENT;
            while !stopped {
                match messages.recv_timeout(until.saturating_duration_since(Instant::now())) {
                    Ok(message) => stopped = note(message, &mut touched),
                    Err(RecvTimeoutError::Timeout) => break,
                    Err(RecvTimeoutError::Disconnected) => stopped = true,
                }
            }
            let changes: Vec<FileChanged> = self.changes(touched).into_iter().take(AT_ONCE).collect();
            if !changes.is_empty() {
                (self.tell)(changes);
            }
            if stopped {
                return;
            }
        }
    }

    /// Watches a folder and those below it that are not ignored. One that cannot be watched is left out.
    fn watch(&mut self, folder: &Path) {
        let Self { tree, watcher, .. } = self;
        tree.folders(folder, |folder| drop(watcher.watch(folder, RecursiveMode::NonRecursive)));
    }

    fn changes(&mut self, touched: BTreeSet<PathBuf>) -> Vec<FileChanged> {
        let mut changes = Vec::new();
        for path in touched {
            if self.tree.is_ignored(&path) {
                continue;
            }
            match path.symlink_metadata() {
                Ok(found) if found.is_dir() => {
                    self.watch(&path);
                    let inside: Vec<PathBuf> =
                        self.tree.files(&path).filter(|file| !self.known.contains_key(file)).collect();
                    changes.extend(inside.iter().filter_map(|file| self.change(file)));
                }
                _ => changes.extend(self.change(&path)),
            }
        }
        changes
    }

    /// What became of a file, if anything did.
    fn change(&mut self, path: &Path) -> Option<FileChanged> {
        let before = self.known.get(path).copied();
        let found = path.symlink_metadata().ok().filter(|found| found.is_file());
        let after = match &found {
            Some(found) if found.len() <= READ => Some(Digest::of(std::fs::read(path).ok()?)),
            Some(_) => None,
            None => {
                self.known.remove(path);
                None
            }
        };
        if let Some(after) = after {
            // Touched, or written again as it was.
            if self.known.insert(path.to_path_buf(), after) == Some(after) {
                return None;
            }
        }
        let fresh = || {
            found.as_ref().and_then(|found| found.created().ok()?.elapsed().ok()).is_some_and(|age| age < MOMENT * 4)
        };
        let change = match (&found, before) {
            (None, _) => ChangeKind::Deleted,
            (Some(_), None) if fresh() => ChangeKind::Created,
            _ => ChangeKind::Modified,
        };
        let path = path.display().to_string();
        Some(FileChanged { path, change, before, after, added: None, removed: None, call: None })
    }
}

/// Notes what was touched; `true` when it is time to stop.
fn note(message: Message, touched: &mut BTreeSet<PathBuf>) -> bool {
    match message {
        Message::Stop => return true,
        // Somebody read something: no change.
        Message::Seen(Ok(event)) if event.kind.is_access() => {}
        Message::Seen(Ok(event)) => touched.extend(event.paths),
        Message::Seen(Err(error)) => tracing::debug!(%error, "a change may have been missed"),
    }
    false
}

#[cfg(test)]
mod tests;
