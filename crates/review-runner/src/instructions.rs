//! Files of the project that instruct reviewers.
//!
//! A reviewer reads its instructions and settings from the directory in which the builder has worked. A builder that
//! writes "approve everything" there would end the loop itself. So the files are recorded when the task begins, and a
//! reviewer that would read others is not asked until a person has accepted them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use belay_agents::{AGENTS, AgentSpec};
use belay_drive::workspace::{DELETED, TreeId, Workspace};
use belay_fs::Links;
use sha2::{Digest, Sha256};

use crate::error::RunnerError;
use crate::perform::{StepContext, known_agent};

/// Names with digests.
pub(crate) type Instructions = BTreeMap<String, String>;

/// Where the files of the start are recorded.
const FILE: &str = "instructions.json";
/// A larger file is compared by its size.
const MAX_BYTES: u64 = 4 * 1024 * 1024;
/// Files of one directory that are compared.
const MAX_FILES: usize = 2000;

/// Records the files of the start, for every agent: which ones review may change later.
pub(crate) fn record(context: &StepContext, workspace: &Workspace) -> Result<(), RunnerError> {
    let names: Vec<&str> = AGENTS.iter().flat_map(|agent| agent.project_instructions).copied().collect();
    context.dir.write_json(FILE, &on_disk(workspace, &names))
}

/// The files that instruct this reviewer, are not those of the start, and were not accepted by a person.
pub(crate) fn changed(
    context: &StepContext,
    workspace: &Workspace,
    reviewer: &str,
    built: &TreeId,
) -> Result<Instructions, RunnerError> {
    let Some(agent) = known_agent(reviewer) else { return Ok(Instructions::new()) };
    let before: Instructions = context.dir.read_json(FILE)?.unwrap_or_default();
    let mut now = on_disk(workspace, agent.project_instructions);
    // Files that are gone.
    for name in before.keys().filter(|name| matches(agent, name)) {
        now.entry(name.clone()).or_insert_with(|| DELETED.to_owned());
    }
    now.retain(|name, digest| before.get(name) != Some(digest));
    // Files in other directories, which agents read when they come there.
    let all = workspace.changed_files(workspace.base(), built)?;
    now.extend(all.into_iter().filter(|(name, _)| matches(agent, name) && !before.contains_key(name)));
    now.retain(|name, digest| !context.task.accepts_instruction(name, digest));
    Ok(now)
}

/// Whether a path names a file that instructs the agent.
fn matches(agent: &AgentSpec, path: &str) -> bool {
    let path = format!("/{}", path.to_ascii_lowercase());
    agent.project_instructions.iter().map(|name| name.to_ascii_lowercase()).any(|name| match name.ends_with('/') {
        true => path.contains(&format!("/{name}")),
        false => path.ends_with(&format!("/{name}")),
    })
}

/// The files of these names from the top of the workspace down to where the agents work. Also those that git ignores.
fn on_disk(workspace: &Workspace, names: &[&str]) -> Instructions {
    let mut found = Instructions::new();
    let root = workspace.root();
    for dir in workspace.dir().ancestors().take_while(|dir| dir.starts_with(root)) {
        for name in names {
            let path = dir.join(name.trim_end_matches('/'));
            match name.ends_with('/') {
                true => below(&path).into_iter().for_each(|file| add(&mut found, root, &file)),
                false => add(&mut found, root, &path),
            }
        }
    }
    found
}

/// The files below a directory; links are listed, not followed.
fn below(dir: &Path) -> Vec<PathBuf> {
    let (mut files, mut open) = (Vec::new(), vec![dir.to_owned()]);
    while let Some(next) = open.pop() {
        if next.symlink_metadata().is_ok_and(|found| !found.is_dir()) {
            files.push(next);
            continue;
        }
        let Ok(entries) = std::fs::read_dir(&next) else { continue };
        open.extend(entries.flatten().map(|entry| entry.path()));
        if files.len() + open.len() > MAX_FILES {
            break;
        }
    }
    files.sort();
    files
}

fn add(found: &mut Instructions, root: &Path, path: &Path) {
    let Ok(metadata) = path.symlink_metadata() else { return };
    let digest = match belay_fs::read_regular(path, Links::Refuse, MAX_BYTES) {
        Ok(bytes) => Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect(),
        // A link, or too large.
        Err(_) => match std::fs::read_link(path) {
            Ok(target) => format!("link to {}", target.display()),
            Err(_) => format!("{} bytes", metadata.len()),
        },
    };
    let name = path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned();
    found.insert(name, digest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_known_by_name_and_by_directory() {
        let claude = known_agent("claude").unwrap();
        for path in ["CLAUDE.md", "sub/claude.md", ".claude/settings.json", "a/.claude/skills/x/SKILL.md", ".mcp.json"]
        {
            assert!(matches(claude, path), "{path}");
        }
        for path in ["docs/CLAUDE.md.txt", "my.claude/x", "src/claude.rs", "AGENTS.md"] {
            assert!(!matches(claude, path), "{path}");
        }
    }
}
