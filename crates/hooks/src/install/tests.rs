//! Installs and removes hooks in all kinds of settings.

use std::path::{Path, PathBuf};

use belay_agents::UserDirs;
use belay_agents::install::{BelayCommand, FileChange, HookInstaller, InstallContext, Scope, installers};
use belay_config::{EnvSnapshot, Paths};

use super::{InstallRecord, InstallerError, UninstallPlan, diff, install, read, restore, uninstall};

struct Home {
    dir: tempfile::TempDir,
    dirs: UserDirs,
    paths: Paths,
    belay: BelayCommand,
}

impl Home {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let dirs = UserDirs::with_home(dir.path());
        let env: EnvSnapshot = [("HOME", dir.path().to_str().expect("text"))].into_iter().collect();
        let paths = Paths::resolve(&env, Some(&dir.path().join("state"))).expect("paths");
        paths.create().expect("a state directory");
        Self { dir, dirs, paths, belay: BelayCommand::new("/opt/belay/bin/belay") }
    }

    fn setting<'a>(&'a self, scope: Scope, project: &'a Path) -> InstallContext<'a> {
        InstallContext { dirs: &self.dirs, scope, project, belay: &self.belay, read: &read }
    }

    /// Every file outside Belay's own directory, with what it holds.
    fn files(&self) -> Vec<(PathBuf, String)> {
        let mut found = Vec::new();
        let mut dirs = vec![self.dir.path().to_owned()];
        while let Some(dir) = dirs.pop() {
            for entry in std::fs::read_dir(dir).expect("a directory").map(|entry| entry.expect("an entry").path()) {
                match entry.is_dir() {
                    true if entry.ends_with("state") => {}
                    true => dirs.push(entry),
                    false => found.push((entry.clone(), std::fs::read_to_string(entry).expect("text"))),
                }
            }
        }
        found.sort();
        found
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.dir.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("directories");
        std::fs::write(path, text).expect("a file");
    }
}

/// Typical settings of a user.
fn furnished() -> Home {
    let home = Home::new();
    home.write(".claude/settings.json", "{\n    \"model\": \"opus\",\n    \"hooks\": {\n        \"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]}]\n    }\n}");
    home.write(".codex/config.toml", "# mine\nmodel = \"gpt-5.5\"  # best\n\n[hooks.state.\"/x/hooks.json:stop:0:0\"]\ntrusted_hash = \"sha256:00\"\n");
    home.write(
        ".codex/hooks.json",
        "{\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"say done\"}]}]}}\n",
    );
    home.write(
        ".gemini/settings.json",
        "{\n  // how I log in\n  \"security\": { \"auth\": { \"selectedType\": \"gemini-api-key\" } },\n}\n",
    );
    home.write(".qwen/settings.json", "{}");
    home.write(".copilot/config.json", "{\"banner\":\"never\"}");
    home
}

fn install_all(home: &Home, recipe: &dyn HookInstaller, setting: &InstallContext<'_>) -> Vec<FileChange> {
    let changes = recipe.install(setting).expect("a plan");
    if !changes.is_empty() {
        install(&home.paths, recipe, setting, &changes).expect("written");
    }
    changes
}

fn remove(home: &Home, recipe: &dyn HookInstaller, setting: &InstallContext<'_>) -> UninstallPlan {
    let removal = uninstall(&home.paths, recipe, setting).expect("a plan");
    restore(&home.paths, recipe, setting, &removal).expect("written");
    removal
}

#[test]
fn everything_is_as_it_was_byte_for_byte() {
    for home in [Home::new(), furnished()] {
        let project = home.dir.path().join("project");
        std::fs::create_dir(&project).expect("a project");
        let before = home.files();
        for scope in [Scope::User, Scope::Project] {
            let setting = home.setting(scope, &project);
            for recipe in installers() {
                let changes = install_all(&home, recipe, &setting);
                assert!(!changes.is_empty(), "{} {scope:?}", recipe.agent());
                assert_ne!(home.files(), before);
                assert_eq!(install_all(&home, recipe, &setting), [], "{} again", recipe.agent());
                remove(&home, recipe, &setting);
                assert_eq!(home.files(), before, "{} {scope:?}", recipe.agent());
            }
        }
        assert_eq!(InstallRecord::all(&home.paths), []);
    }
}

#[test]
fn what_others_change_meanwhile_stays() {
    let home = furnished();
    let setting = home.setting(Scope::User, Path::new("/nowhere"));
    for recipe in installers().filter(|recipe| ["claude-code", "codex", "gemini"].contains(&recipe.agent())) {
        install_all(&home, recipe, &setting);
    }
    let edit = |path: &str, from: &str, to: &str| {
        let text = std::fs::read_to_string(home.dir.path().join(path)).expect("text");
        assert!(text.contains(from), "{path}: {text}");
        home.write(path, &text.replacen(from, to, 1));
    };
    edit(".claude/settings.json", "\"opus\"", "\"sonnet\"");
    edit(".codex/config.toml", "# best", "# worst");
    edit(".gemini/settings.json", "how I log in", "how we log in");
    for recipe in installers().filter(|recipe| ["claude-code", "codex", "gemini"].contains(&recipe.agent())) {
        remove(&home, recipe, &setting);
    }
    for (path, text) in home.files() {
        assert!(!text.contains("belay"), "{}: {text}", path.display());
    }
    let text = |path: &str| std::fs::read_to_string(home.dir.path().join(path)).expect("text");
    assert!(text(".claude/settings.json").contains("\"sonnet\"") && text(".claude/settings.json").contains("say done"));
    assert!(text(".codex/config.toml").contains("# worst") && text(".codex/config.toml").contains("sha256:00"));
    assert!(text(".gemini/settings.json").contains("how we log in"));
}

#[test]
fn a_new_belay_takes_the_place_of_the_old_one() {
    let home = furnished();
    let before = home.files();
    let old = home.setting(Scope::User, Path::new("/nowhere"));
    let belay = BelayCommand::new("/usr/local/bin/belay");
    let new = InstallContext { belay: &belay, ..home.setting(Scope::User, Path::new("/nowhere")) };
    for recipe in installers() {
        install_all(&home, recipe, &old);
        install_all(&home, recipe, &new);
    }
    for (path, text) in home.files() {
        assert!(!text.contains("/opt/belay"), "{}", path.display());
    }
    for recipe in installers() {
        remove(&home, recipe, &new);
    }
    assert_eq!(home.files(), before);
}

#[test]
fn a_file_that_is_no_settings_is_not_touched() {
    let home = Home::new();
    home.write(".claude/settings.json", "{ \"hooks\": { oops\n");
    home.write(".codex/config.toml", "hooks = 3\n");
    let setting = home.setting(Scope::User, Path::new("/nowhere"));
    let problem = |agent: &str| {
        let recipe = belay_agents::install::installer(agent).expect("a recipe");
        let text = recipe.install(&setting).expect_err("no plan").to_string();
        text.replace(home.dir.path().to_str().expect("text"), "~")
    };
    insta::assert_snapshot!(problem("claude"), @"~/.claude/settings.json cannot be edited: line 1: a name in quotes is missing");
    insta::assert_snapshot!(problem("codex"), @"~/.codex/config.toml cannot be edited: `hooks` is not a table");
}

#[test]
fn a_change_is_shown_as_lines_that_come_and_go() {
    let home = furnished();
    let setting = home.setting(Scope::User, Path::new("/nowhere"));
    let recipe = belay_agents::install::installer("gemini").expect("a recipe");
    let changes = recipe.install(&setting).expect("a plan");
    let shown: String = diff(&changes[0]).lines().take(16).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(shown);
}

fn one(agent: &str) -> &'static dyn HookInstaller {
    belay_agents::install::installer(agent).expect("a recipe")
}

#[test]
fn hooks_that_somebody_puts_beside_ours_stay() {
    let home = furnished();
    let setting = home.setting(Scope::User, Path::new("/nowhere"));
    for agent in ["claude", "copilot", "codex"] {
        install_all(&home, one(agent), &setting);
    }
    let path = |below: &str| home.dir.path().join(below);
    let edit = |below: &str, from: &str, to: &str| {
        let text = std::fs::read_to_string(path(below)).expect("text");
        assert!(text.contains(from), "{text}");
        home.write(below, &text.replacen(from, to, 1));
    };
    // Into our own group, and into our own file.
    let date = "{ \"type\": \"command\", \"command\": \"date\" }, ";
    let ours = "\"SessionEnd\": [{ \"hooks\": [";
    edit(".claude/settings.json", ours, &format!("{ours}{date}"));
    edit(".copilot/hooks/belay.json", "\"sessionEnd\": [", "\"sessionEnd\": [{ \"bash\": \"date\" }, ");
    for (agent, file) in [("claude", ".claude/settings.json"), ("copilot", ".copilot/hooks/belay.json")] {
        let removal = remove(&home, one(agent), &setting);
        assert_eq!(removal.edited, [path(file)]);
        let text = std::fs::read_to_string(path(file)).expect("text");
        assert!(text.contains("date") && !text.contains("belay hook"), "{text}");
    }
    assert_eq!(remove(&home, one("codex"), &setting).edited, Vec::<PathBuf>::new());
}

#[test]
fn a_file_of_ours_that_somebody_changed_is_kept_aside() {
    let home = Home::new();
    let setting = home.setting(Scope::User, Path::new("/nowhere"));
    install_all(&home, one("opencode"), &setting);
    let path = ".config/opencode/plugin/belay.js";
    let edited = format!("{}// mine now\n", std::fs::read_to_string(home.dir.path().join(path)).expect("text"));
    home.write(path, &edited);
    let removal = remove(&home, one("opencode"), &setting);
    assert_eq!(std::fs::read_to_string(&removal.aside[0]).expect("a copy"), edited);
    assert_eq!(home.files(), []);
}

#[test]
fn a_file_that_the_user_replaced_stays() {
    let home = Home::new();
    let setting = home.setting(Scope::User, Path::new("/nowhere"));
    install_all(&home, one("opencode"), &setting);
    home.write(".config/opencode/plugin/belay.js", "// mine now\n");
    let mut expected = home.files();
    expected.retain(|(path, _)| !path.ends_with(".npmrc"));
    remove(&home, one("opencode"), &setting);
    assert_eq!(home.files(), expected);
}

#[test]
fn trust_follows_a_hook_that_moves() {
    let home = furnished();
    let setting = home.setting(Scope::User, Path::new("/nowhere"));
    install_all(&home, one("codex"), &setting);
    let file = home.dir.path().join(".codex/hooks.json");
    let text = std::fs::read_to_string(&file).expect("text");
    let group = "{\"hooks\":[{\"type\":\"command\",\"command\":\"first\"}]}";
    home.write(".codex/hooks.json", &text.replacen("\"SessionStart\": [", &format!("\"SessionStart\": [{group}, "), 1));
    assert_ne!(std::fs::read_to_string(&file).expect("text"), text, "somebody put a hook before ours");
    install_all(&home, one("codex"), &setting);
    let config = || std::fs::read_to_string(home.dir.path().join(".codex/config.toml")).expect("text");
    assert!(config().contains("session_start:1:0") && !config().contains("session_start:0:0"), "{}", config());
    remove(&home, one("codex"), &setting);
    assert!(!config().contains("session_start") && config().contains("sha256:00"), "{}", config());
}

#[test]
fn all_files_or_none() {
    let home = furnished();
    let setting = home.setting(Scope::User, Path::new("/nowhere"));
    let config = home.dir.path().join(".codex/config.toml");
    let mut permissions = std::fs::metadata(&config).expect("a file").permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&config, permissions).expect("permissions");
    let before = home.files();
    let changes = one("codex").install(&setting).expect("a plan");
    assert_eq!(changes.len(), 2);
    let error = install(&home.paths, one("codex"), &setting, &changes).expect_err("refused");
    assert!(matches!(&error, InstallerError::ReadOnly(path) if *path == config), "{error}");
    // A fault after the first write: the parent of the second file is a file.
    let mut odd = changes.clone();
    odd[1] = FileChange { path: config.join("x"), before: None, after: Some(String::new()) };
    install(&home.paths, one("codex"), &setting, &odd).expect_err("refused");
    assert_eq!((home.files(), InstallRecord::all(&home.paths)), (before, vec![]));
}

#[test]
fn what_was_shown_is_what_is_changed() {
    let home = furnished();
    let setting = home.setting(Scope::User, Path::new("/nowhere"));
    let changes = one("gemini").install(&setting).expect("a plan");
    home.write(".gemini/settings.json", "{}");
    let error = install(&home.paths, one("gemini"), &setting, &changes).expect_err("refused");
    assert!(matches!(error, InstallerError::Changed(_)), "{error}");
}

#[test]
fn links_are_followed_and_stay() {
    let home = Home::new();
    let setting = home.setting(Scope::User, Path::new("/nowhere"));
    home.write("dotfiles/claude.json", "{\"model\":\"opus\"}");
    std::fs::create_dir(home.dir.path().join(".claude")).expect("a directory");
    std::fs::create_dir(home.dir.path().join(".gemini")).expect("a directory");
    let claude = home.dir.path().join(".claude/settings.json");
    let gemini = home.dir.path().join(".gemini/settings.json");
    std::os::unix::fs::symlink("../dotfiles/claude.json", &claude).expect("a link");
    std::os::unix::fs::symlink("../dotfiles/gemini.json", &gemini).expect("a link to nothing yet");
    for agent in ["claude", "gemini"] {
        install_all(&home, one(agent), &setting);
    }
    for file in ["dotfiles/claude.json", "dotfiles/gemini.json"] {
        let text = std::fs::read_to_string(home.dir.path().join(file)).expect("text");
        assert!(text.contains("belay hook"), "{text}");
    }
    for agent in ["claude", "gemini"] {
        remove(&home, one(agent), &setting);
    }
    assert!(claude.is_symlink() && gemini.is_symlink());
    assert_eq!(std::fs::read_to_string(&claude).expect("text"), "{\"model\":\"opus\"}");
    assert!(!home.dir.path().join("dotfiles/gemini.json").exists());
}

#[test]
fn the_status_line_is_offered_once_and_goes_with_the_hooks() {
    let home = furnished();
    let before = home.files();
    let setting = home.setting(Scope::User, Path::new("/nowhere"));
    install_all(&home, one("claude"), &setting);
    let changes = one("claude").status_line(&setting).expect("a plan");
    install(&home.paths, one("claude"), &setting, &changes).expect("written");
    assert_eq!(one("claude").status_line(&setting).expect("a plan"), []);
    assert_eq!(install_all(&home, one("claude"), &setting), [], "the hooks are untouched");
    let file = home.dir.path().join(".claude/settings.json");
    let text = std::fs::read_to_string(&file).expect("text");
    assert!(text.contains("/opt/belay/bin/belay statusline"), "{text}");
    // Also if the file was modified in the meantime.
    home.write(".claude/settings.json", &text.replace("opus", "sonnet"));
    remove(&home, one("claude"), &setting);
    assert!(!std::fs::read_to_string(&file).expect("text").contains("statusline"));
    home.write(".claude/settings.json", &std::fs::read_to_string(&file).expect("text").replace("sonnet", "opus"));
    assert_eq!(home.files(), before);
    let own = "{\"statusLine\":{\"type\":\"command\",\"command\":\"mine\"}}";
    home.write(".claude/settings.json", own);
    assert_eq!(one("claude").status_line(&setting).expect("a plan"), [], "a person's own line stays");
}

#[test]
fn hooks_go_also_where_nobody_remembers_them() {
    let home = furnished();
    let setting = home.setting(Scope::User, Path::new("/nowhere"));
    for recipe in installers() {
        install_all(&home, recipe, &setting);
    }
    std::fs::remove_dir_all(home.paths.state()).expect("a state directory that is lost");
    for recipe in installers() {
        remove(&home, recipe, &setting);
    }
    let text: String = home.files().into_iter().map(|(_, text)| text).collect();
    assert!(!text.contains("belay"), "{text}");
    for theirs in ["say done", "# mine", "sha256:00", "// how I log in", "never"] {
        assert!(text.contains(theirs), "{theirs}: {text}");
    }
}

#[test]
fn dirs_that_were_there_stay() {
    let home = Home::new();
    std::fs::create_dir(home.dir.path().join(".codex")).expect("a directory");
    let setting = home.setting(Scope::User, Path::new("/nowhere"));
    for agent in ["codex", "copilot"] {
        install_all(&home, one(agent), &setting);
        remove(&home, one(agent), &setting);
    }
    assert!(home.dir.path().join(".codex").exists());
    assert!(!home.dir.path().join(".copilot").exists());
}

/// A repository may link its agent's settings to another file of the user.
#[test]
fn links_inside_a_project_are_refused() {
    let home = Home::new();
    let project = home.dir.path().join("project");
    home.write("elsewhere/settings.json", "{}\n");
    std::fs::create_dir_all(&project).unwrap();
    std::os::unix::fs::symlink(home.dir.path().join("elsewhere"), project.join(".claude")).unwrap();
    let setting = home.setting(Scope::Project, &project);
    let recipe = one("claude");
    let changes = recipe.install(&setting).unwrap();
    let refused = install(&home.paths, recipe, &setting, &changes).expect_err("refused");
    assert!(refused.to_string().contains("is a symbolic link"), "{refused}");
    assert_eq!(std::fs::read_to_string(home.dir.path().join("elsewhere/settings.json")).unwrap(), "{}\n");
}
