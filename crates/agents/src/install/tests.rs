use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use proptest::prelude::*;
use serde_json::Value;

use super::{BelayCommand, FileChange, HookInstaller, InstallContext, Scope, installers};
use crate::registry::UserDirs;

const HOME: &str = "/home/someone";

/// Files of an agent, in memory.
#[derive(Default)]
struct Files(RefCell<BTreeMap<PathBuf, String>>);

impl Files {
    fn with<T>(&self, run: impl FnOnce(&InstallContext<'_>) -> T) -> T {
        let dirs = UserDirs::with_home(HOME);
        let read = |path: &Path| Ok(self.0.borrow().get(path).cloned());
        let belay = &BelayCommand::new("/opt/belay/bin/belay");
        run(&InstallContext { dirs: &dirs, scope: Scope::User, project: Path::new("/project"), belay, read: &read })
    }

    fn apply(&self, changes: Vec<FileChange>) {
        for FileChange { path, after, .. } in changes {
            match after {
                Some(text) => self.0.borrow_mut().insert(path, text),
                None => self.0.borrow_mut().remove(&path),
            };
        }
    }

    fn install(&self, installer: &dyn HookInstaller) {
        let changes = self.with(|context| installer.install(context)).expect("an install plan");
        self.apply(changes);
    }

    fn remove(&self, installer: &dyn HookInstaller) -> Vec<FileChange> {
        self.with(|context| installer.remove(context)).expect("a removal plan")
    }
}

/// The files that an installer writes.
fn paths(installer: &dyn HookInstaller) -> Vec<PathBuf> {
    let files = Files::default();
    files.install(installer);
    files.0.into_inner().into_keys().collect()
}

/// JSON and TOML of a user: any order of common lines, any layout.
fn settings_file(extension: &str) -> BoxedStrategy<String> {
    let members = match extension {
        "toml" => vec![
            "model = \"m\"",
            "model = 'm'  # why",
            "# why",
            "",
            "\t",
            "[hooks]",
            "[hooks.state]",
            "[hooks.state.\"/x/hooks.json:stop:0:0\"]\ntrusted_hash = \"sha256:00\"",
            "hooks = { state = {} }",
            "hooks = 1",
            "[mcp_servers.x]\nargs = [\n  'a', # why\n]",
        ],
        "json" => vec![
            "\"a\": 1",
            "\"a\": [[], [1, [2,],],]",
            "\"a\": {\"b\": {}} // why",
            "/* why */ \"a\": \"\\ud800 \\\" //\"",
            "\"hooks\": {}",
            "\"hooks\": {\"Stop\": []}",
            "\"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]}], \"Stop\": [ ]}",
            "\"version\": 1",
            "\"statusLine\": {\"command\": \"other\"}",
        ],
        _ => vec!["// belay", "export const Mine = async () => ({});", ""],
    };
    let json = extension == "json";
    let lines = prop::collection::vec(prop::sample::select(members), 0..6);
    let layout = (any::<bool>(), any::<bool>(), prop::sample::select(vec!["\n", "\r\n", "\n\t", "\n\n  "]));
    (lines, layout, prop::sample::select(vec!["", "\n", "\n\n", " "]))
        .prop_map(move |(lines, (bom, last_comma, line_break), end)| {
            let bom = if bom { "\u{feff}" } else { "" };
            let body = if json {
                let comma = if last_comma && !lines.is_empty() { "," } else { "" };
                let members: Vec<_> = lines.iter().map(|line| format!("{line_break}{line}")).collect();
                format!("{{{}{line_break}{comma}{line_break}}}", members.join(&format!("{line_break},")))
            } else {
                let text = lines.join(line_break).replace("\r\n", "\n");
                if line_break == "\r\n" { text.replace('\n', "\r\n") } else { text }
            };
            format!("{bom}{body}{end}")
        })
        .prop_filter("TOML", {
            let toml = extension == "toml";
            move |text| !toml || text.parse::<toml_edit::DocumentMut>().is_ok()
        })
        .boxed()
}

fn agent_files() -> impl Strategy<Value = (&'static dyn HookInstaller, BTreeMap<PathBuf, String>)> {
    let installer = prop::sample::select((0..installers().count()).collect::<Vec<_>>());
    installer.prop_flat_map(|index| {
        let installer = installers().nth(index).expect("an installer");
        let file = |path: PathBuf| {
            let extension = path.extension().unwrap_or_default().to_string_lossy().into_owned();
            (Just(path), prop::option::weighted(0.9, settings_file(&extension)))
        };
        let files: Vec<_> = paths(installer).into_iter().map(file).collect();
        let existing =
            files.prop_map(|files| files.into_iter().filter_map(|(path, text)| Some((path, text?))).collect());
        (Just(installer), existing)
    })
}

proptest! {
    #[test]
    fn removal_leaves_files_without_our_entries_untouched((installer, files) in agent_files()) {
        let files = Files(RefCell::new(files));
        prop_assert_eq!(files.remove(installer), []);
    }

    #[test]
    fn a_removal_leaves_nothing_of_ours_and_a_second_changes_nothing((installer, files) in agent_files()) {
        let before = files.clone();
        let files = Files(RefCell::new(files));
        let Ok(changes) = files.with(|context| installer.install(context)) else { return Ok(()) };
        files.apply(changes);
        let changes = files.remove(installer);
        prop_assert!(!changes.is_empty());
        files.apply(changes);
        prop_assert_eq!(files.remove(installer), []);
        for (path, text) in files.0.borrow().iter() {
            // The final line break is ours once a table follows the user's last line.
            if let Some(original) = before.get(path).filter(|_| path.ends_with("config.toml")) {
                prop_assert_eq!(text.trim_end(), original.trim_end());
            }
            prop_assert!(!text.contains("/opt/belay"), "{}: {text}", path.display());
        }
    }
}

/// All commands that an installer writes for this program.
fn commands(installer: &dyn HookInstaller, scope: Scope, belay: &str) -> BTreeSet<String> {
    let dirs = UserDirs::with_home(HOME);
    let belay = &BelayCommand::new(belay);
    let context =
        InstallContext { dirs: &dirs, scope, project: Path::new("/project"), belay, read: &|_: &Path| Ok(None) };
    let changes = installer.install(&context).expect("an install plan");
    let json = changes.iter().filter(|change| change.path.extension().is_some_and(|extension| extension == "json"));
    let mut found = BTreeSet::new();
    for change in json {
        collect_commands(&serde_json::from_str(change.after.as_deref().expect("text")).expect("JSON"), &mut found);
    }
    found
}

fn collect_commands(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| collect_commands(value, found)),
        Value::Object(members) => {
            for (key, value) in members {
                match value.as_str().filter(|_| key == "command" || key == "bash") {
                    Some(command) => drop(found.insert(command.to_owned())),
                    None => collect_commands(value, found),
                }
            }
        }
        _ => {}
    }
}

/// Copilot denies every tool and Gemini CLI sends no request after a hook that does not succeed.
#[test]
fn every_installed_command_succeeds_if_belay_is_missing_or_not_executable_or_killed() {
    let dir = tempfile::tempdir().expect("a directory");
    let script = |name: &str, mode: u32, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).expect("a file");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("permissions");
        path.display().to_string()
    };
    let programs = [
        dir.path().join("belay-missing").display().to_string(),
        script("belay-not-executable", 0o644, "#!/bin/sh\necho no\n"),
        script("belay-killed", 0o755, "#!/bin/sh\nkill -9 $$\n"),
        script("belay it's failing", 0o755, "#!/bin/sh\nexit 2\n"),
        "belay-not-in-the-path".to_owned(),
    ];
    let plugin = include_str!("../../../../plugins/belay/hooks/hooks.json");
    let mut in_plugin = BTreeSet::new();
    collect_commands(&serde_json::from_str(plugin).expect("JSON"), &mut in_plugin);
    let shell = |agent: &str, command: &str| {
        let output = std::process::Command::new("/bin/sh").args(["-c", command]).stdin(Stdio::null()).output();
        let output = output.expect("a shell");
        assert!(output.status.success(), "{agent}: `{command}`: {output:?}");
        assert!(output.stdout.is_empty(), "{agent}: `{command}`: {output:?}");
    };
    in_plugin.iter().for_each(|command| shell("plugin", &command.replace("belay hook", "belay-missing hook")));
    for installer in installers() {
        for (program, scope) in programs.iter().flat_map(|program| [(program, Scope::User), (program, Scope::Project)])
        {
            let commands = commands(installer, scope, program);
            // opencode's plugin starts the program itself.
            assert_eq!(commands.is_empty(), installer.agent() == crate::opencode::ID, "{}", installer.agent());
            commands.iter().for_each(|command| shell(installer.agent(), command));
        }
    }
}
