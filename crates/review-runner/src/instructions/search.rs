//! Finding files that instruct agents, without following what a builder has prepared.

use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use belay_fs::Links;
use sha2::{Digest, Sha256};

use super::Instructions;
use crate::error::RunnerError;

/// A larger file is compared by its size and the time of its last change.
const MAX_BYTES: u64 = 4 * 1024 * 1024;
/// Directory entries below a workspace that are looked at. A builder that makes more must not hide a file.
const MAX_ENTRIES: usize = 5_000_000;
/// Files and links that instructions import, and those that these import.
const MAX_IMPORTS: usize = 2000;

/// Keys of settings below which texts name files that an agent reads or runs: its hooks can tell it what to do.
const KEYS_THAT_NAME_FILES: &[&str] =
    &["hooks", "instructions", "mcpServers", "mcp", "context", "statusLine", "apiKeyHelper"];

/// A search for the files that instruct agents.
pub(super) struct Search<'a> {
    /// Names are relative to it.
    root: &'a Path,
    /// Names of files, and names of directories that end with `/`.
    names: &'a [&'a str],
    home: Option<PathBuf>,
    found: Instructions,
    imports: Vec<PathBuf>,
    entries: usize,
}

impl<'a> Search<'a> {
    pub(super) fn new(root: &'a Path, names: &'a [&'a str], home: Option<PathBuf>) -> Self {
        Self { root, names, home, found: Instructions::new(), imports: Vec::new(), entries: 0 }
    }

    /// Looks at everything below a directory, also at what git ignores.
    pub(super) fn look_below(&mut self, dir: &Path) -> Result<(), RunnerError> {
        let mut open = vec![dir.to_owned()];
        while let Some(next) = open.pop() {
            let Ok(entries) = std::fs::read_dir(&next) else { continue };
            for entry in entries.flatten() {
                self.entries += 1;
                if self.entries > MAX_ENTRIES {
                    return Err(RunnerError::TooManyFiles { dir: dir.to_owned(), count: MAX_ENTRIES });
                }
                let (path, Ok(kind)) = (entry.path(), entry.file_type()) else { continue };
                if kind.is_dir() {
                    if entry.file_name() != ".git" {
                        open.push(path);
                    }
                    continue;
                }
                let name = path.strip_prefix(dir).unwrap_or(&path).to_string_lossy();
                // A link may stand for a directory.
                if matches(self.names, &name) || (kind.is_symlink() && matches(self.names, &format!("{name}/"))) {
                    self.add(&path);
                }
            }
        }
        Ok(())
    }

    /// Looks in the directories above `dir`, up to the home directory.
    pub(super) fn look_above(&mut self, dir: &Path) {
        for above in dir.ancestors().skip(1) {
            if Some(above) == self.home.as_deref() {
                return self.look_in_home(above);
            }
            self.look_in(above);
        }
    }

    /// Directories of these names in the home directory are those of the agents themselves, with logs and caches. Only
    /// files of instructions count there, as in `~/.claude/CLAUDE.md`.
    fn look_in_home(&mut self, home: &Path) {
        let (dirs, files): (Vec<&str>, Vec<&str>) = self.names.iter().partition(|name| name.ends_with('/'));
        for dir in dirs.into_iter().chain([""]) {
            files.iter().for_each(|name| self.add_if_there(&home.join(dir).join(name)));
        }
    }

    /// Looks for the names in one directory.
    pub(super) fn look_in(&mut self, dir: &Path) {
        for name in self.names {
            let path = dir.join(name.trim_end_matches('/'));
            match name.ends_with('/') {
                true => self.add_below(&path),
                false => self.add_if_there(&path),
            }
        }
    }

    /// What was found, with what it imports.
    pub(super) fn finish(mut self) -> Result<Instructions, RunnerError> {
        let mut seen = 0;
        while let Some(path) = self.imports.pop() {
            seen += 1;
            if seen > MAX_IMPORTS {
                return Err(RunnerError::TooManyFiles { dir: self.root.to_owned(), count: MAX_IMPORTS });
            }
            if path.starts_with("/dev") || path.starts_with("/proc") || path.starts_with("/sys") {
                continue;
            }
            match path.symlink_metadata() {
                Ok(found) if found.is_dir() => self.add_below(&path),
                Ok(_) => self.add(&path),
                Err(_) => {}
            }
        }
        Ok(self.found)
    }

    /// The files below a directory of instructions; links are followed one by one.
    fn add_below(&mut self, dir: &Path) {
        let mut open = vec![dir.to_owned()];
        while let Some(next) = open.pop() {
            if next.symlink_metadata().is_ok_and(|found| !found.is_dir()) {
                self.add(&next);
                continue;
            }
            self.entries += 1;
            let Ok(entries) = std::fs::read_dir(&next) else { continue };
            open.extend(entries.flatten().map(|entry| entry.path()));
            if self.entries + open.len() > MAX_ENTRIES {
                break;
            }
        }
    }

    fn add_if_there(&mut self, path: &Path) {
        if path.symlink_metadata().is_ok() {
            self.add(path);
        }
    }

    /// Records a file, and notes what it imports.
    fn add(&mut self, path: &Path) {
        let Ok(metadata) = path.symlink_metadata() else { return };
        let name = path.strip_prefix(self.root).unwrap_or(path).to_string_lossy().into_owned();
        if self.found.contains_key(&name) {
            return;
        }
        let dir = path.parent().unwrap_or(Path::new("/"));
        let digest = match belay_fs::read_regular(path, Links::Refuse, MAX_BYTES) {
            Ok(bytes) => {
                let text = String::from_utf8_lossy(&bytes);
                let imports = imports(&text).map(|import| self.resolve(dir, import));
                let exists = |path: &PathBuf| path.symlink_metadata().is_ok();
                self.imports.extend(imports.filter(exists).collect::<Vec<_>>());
                if path.extension().is_some_and(|end| end == "json" || end == "jsonc") {
                    self.imports.extend(self.named_in_settings(dir, &text));
                }
                Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect()
            }
            // A link, or too large.
            Err(_) => match std::fs::read_link(path) {
                Ok(target) => {
                    self.imports.push(lexical(&dir.join(&target)));
                    format!("link to {}", target.display())
                }
                Err(_) => format!("{} bytes, {}.{:09}", metadata.len(), metadata.ctime(), metadata.ctime_nsec()),
            },
        };
        self.found.insert(name, digest);
    }

    /// The files below the root that settings in `dir` name, and directories of patterns such as `rules/*.md`.
    fn named_in_settings(&self, dir: &Path, text: &str) -> Vec<PathBuf> {
        let settings = serde_json::from_str::<serde_json::Value>(text).unwrap_or_default();
        let mut named = Vec::new();
        for key in KEYS_THAT_NAME_FILES {
            let mut texts = Vec::new();
            settings.get(key).into_iter().for_each(|below| texts_in(below, &mut texts));
            // `"$CLAUDE_PROJECT_DIR"/x.sh` names a file below the root.
            let is_end = |c: char| c.is_whitespace() || "\"'`$(){};|&<>=,".contains(c);
            for word in texts.iter().flat_map(|text| text.split(is_end)).filter(|word| !word.is_empty()) {
                let dir_of_pattern =
                    word.split_once('*').map(|(before, _)| before.rsplit_once('/').map_or("", |(dir, _)| dir));
                let name = dir_of_pattern.filter(|_| *key == "instructions").unwrap_or(word);
                for path in [self.root.join(name.trim_start_matches('/')), dir.join(name)] {
                    let path = lexical(&path);
                    let is_named = |is_dir: bool| !is_dir || dir_of_pattern.is_some();
                    if path.starts_with(self.root)
                        && path != self.root
                        && path.symlink_metadata().is_ok_and(|found| is_named(found.is_dir()))
                    {
                        named.push(path);
                    }
                }
            }
        }
        named
    }

    /// The path that an import in a file of `dir` names.
    fn resolve(&self, dir: &Path, import: &str) -> PathBuf {
        match (import.strip_prefix("~/"), &self.home) {
            (Some(below), Some(home)) => lexical(&home.join(below)),
            _ => lexical(&dir.join(import)),
        }
    }
}

/// Whether a path names a file that instructs the agent.
pub(super) fn matches(names: &[&str], path: &str) -> bool {
    let path = format!("/{}", path.to_ascii_lowercase());
    names.iter().map(|name| name.to_ascii_lowercase()).any(|name| match name.ends_with('/') {
        true => path.contains(&format!("/{name}")),
        false => path.ends_with(&format!("/{name}")),
    })
}

/// Paths after an `@`, as in `see @docs/rules.md`. More than agents would read: a name in a code block counts, too.
fn imports(text: &str) -> impl Iterator<Item = &str> {
    let words = text
        .split(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | '[' | ']' | '"' | '\'' | '`' | ',' | '<' | '>'));
    words
        .filter_map(|word| word.strip_prefix('@'))
        .map(|path| path.trim_end_matches(['.', ':', ';', '!', '?', '*', '_']))
        .filter(|path| !path.is_empty())
}

/// All texts in a value.
fn texts_in<'a>(value: &'a serde_json::Value, texts: &mut Vec<&'a str>) {
    match value {
        serde_json::Value::String(text) => texts.push(text),
        serde_json::Value::Array(items) => items.iter().for_each(|item| texts_in(item, texts)),
        serde_json::Value::Object(fields) => fields.values().for_each(|field| texts_in(field, texts)),
        _ => {}
    }
}

/// The path without `.` and `..`, so that a file has one name.
fn lexical(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(clean.pop()),
            other => clean.push(other),
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_known_by_name_and_by_directory() {
        let names = belay_tasks::agent::known_agent("claude").unwrap().project_instructions;
        for path in ["CLAUDE.md", "sub/claude.md", ".claude/settings.json", "a/.claude/skills/x/SKILL.md", ".mcp.json"]
        {
            assert!(matches(names, path), "{path}");
        }
        for path in ["docs/CLAUDE.md.txt", "my.claude/x", "src/claude.rs", "AGENTS.md"] {
            assert!(!matches(names, path), "{path}");
        }
    }

    #[test]
    fn imports_are_paths_after_an_at_sign() {
        let text = "Read @docs/rules.md, (@~/mine.md) and `@../up.md`.\n- @/abs/x\nme@example.com @";
        assert_eq!(imports(text).collect::<Vec<_>>(), ["docs/rules.md", "~/mine.md", "../up.md", "/abs/x"]);
        assert_eq!(lexical(Path::new("/a/./b/../c.md")), Path::new("/a/c.md"));
    }

    #[test]
    fn imports_of_imports_and_targets_of_links_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("root");
        std::fs::create_dir_all(root.join("docs")).unwrap();
        std::fs::create_dir_all(root.join("shared")).unwrap();
        std::fs::write(root.join("CLAUDE.md"), "See @docs/a.md").unwrap();
        std::fs::write(root.join("docs/a.md"), "See @b.md and @a.md").unwrap();
        std::fs::write(root.join("docs/b.md"), "Use tabs.").unwrap();
        std::fs::write(root.join("shared/skill.md"), "skill").unwrap();
        std::os::unix::fs::symlink("shared", root.join(".claude")).unwrap();
        let mut search = Search::new(&root, &["CLAUDE.md", ".claude/"], None);
        search.look_below(&root).unwrap();
        let found = search.finish().unwrap();
        let names: Vec<&str> = found.keys().map(String::as_str).collect();
        assert_eq!(names, [".claude", "CLAUDE.md", "docs/a.md", "docs/b.md", "shared/skill.md"]);
    }

    #[test]
    fn files_that_settings_name_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("root");
        let hook = |command: &str| format!(r#"{{ "hooks": [{{ "type": "command", "command": {command:?} }}] }}"#);
        let hooks = [hook("\"$CLAUDE_PROJECT_DIR\"/scripts/check.sh --fast"), hook("node ./tools/x.js|cat")].join(", ");
        for (path, text) in [
            (
                ".claude/settings.json",
                format!(r#"{{ "hooks": {{ "Stop": [{hooks}] }}, "permissions": ["Edit(src/a.rs)"] }}"#),
            ),
            ("opencode.json", r#"{ "instructions": ["rules/**/*.md", "STYLE.md", "../up.md"] }"#.to_owned()),
            (".mcp.json", r#"{ "mcpServers": { "x": { "command": "python", "args": ["serve.py"] } } }"#.to_owned()),
            ("scripts/check.sh", "See @no.md".to_owned()),
            ("tools/x.js", String::new()),
            ("rules/a/b.md", String::new()),
            ("STYLE.md", String::new()),
            ("serve.py", String::new()),
            ("src/a.rs", String::new()),
        ] {
            std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            std::fs::write(root.join(path), text).unwrap();
        }
        let mut search = Search::new(&root, &[".claude/", ".mcp.json", "opencode.json"], None);
        search.look_below(&root).unwrap();
        let found = search.finish().unwrap();
        let names: Vec<&str> = found.keys().map(String::as_str).collect();
        let settings = [".claude/settings.json", ".mcp.json", "STYLE.md", "opencode.json"];
        let named = ["rules/a/b.md", "scripts/check.sh", "serve.py", "tools/x.js"];
        assert_eq!(names, [settings, named].concat());
    }

    #[test]
    fn files_above_count_up_to_the_home_directory() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap().join("home");
        let root = home.join("code/app");
        for file in ["code/app/x", "code/CLAUDE.md", "code/.claude/a", "CLAUDE.md", ".claude/CLAUDE.md", ".claude/log"]
        {
            std::fs::create_dir_all(home.join(file).parent().unwrap()).unwrap();
            std::fs::write(home.join(file), "text").unwrap();
        }
        std::fs::write(dir.path().join("CLAUDE.md"), "above").unwrap();
        let mut search = Search::new(&root, &["CLAUDE.md", ".claude/"], Some(home.clone()));
        search.look_above(&root);
        let found = search.finish().unwrap();
        let names: Vec<_> = found.keys().map(|name| name.strip_prefix(home.to_str().unwrap()).unwrap()).collect();
        assert_eq!(names, ["/.claude/CLAUDE.md", "/CLAUDE.md", "/code/.claude/a", "/code/CLAUDE.md"]);
    }
}
