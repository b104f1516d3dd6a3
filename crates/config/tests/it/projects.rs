//! A project's file may be hostile.

use crate::world::World;
use belay_config::trust::{TrustState, TrustStore};
use belay_config::{ProjectFile, Strictness};
use belay_core::Timestamp;

fn notes(world: &World) -> String {
    let loaded = world.load().unwrap();
    let notes: Vec<String> = loaded
        .notes
        .iter()
        .map(|n| format!("{}\n  -> {}", world.plain(n), n.hint.clone().unwrap_or_default()))
        .collect();
    notes.join("\n")
}

fn trust(world: &World) {
    let path = world.paths().trust();
    let file = ProjectFile::read(&ProjectFile::locate(&world.paths(), &world.project()).unwrap()).unwrap();
    let mut trusted = TrustStore::load(&path).unwrap();
    trusted.trust(&file, Timestamp::from_millis(1));
    trusted.save(&path).unwrap();
}

#[test]
fn it_may_tighten_detection_without_being_trusted() {
    let world = World::new();
    world.user_config("[detect]\ndry_run = true\n");
    world.project_config("[detect]\ndry_run = false\n");
    let loaded = world.load().unwrap();
    assert!(!loaded.config.detect.dry_run);
    assert!(loaded.notes.is_empty());
}

#[test]
fn what_loosens_counts_only_once_that_content_is_trusted() {
    let world = World::new();
    world.project_config("# comment\n[detect]\ndry_run = true\n");
    assert!(!world.load().unwrap().config.detect.dry_run);
    insta::assert_snapshot!(notes(&world), @r"
    /home/code/app/.belay.toml:3:1: `detect.dry_run` is ignored: it loosens detection, and the file is not trusted
      -> read the file, then run `belay trust` in its directory
    ");

    trust(&world);
    let loaded = world.load().unwrap();
    assert!(loaded.config.detect.dry_run);
    assert_eq!(loaded.project.unwrap().1, TrustState::Trusted);

    world.project_config("# changed\n[detect]\ndry_run = true\n");
    let loaded = world.load().unwrap();
    assert!(!loaded.config.detect.dry_run, "changed content is not trusted any more");
    assert_eq!(loaded.project.unwrap().1, TrustState::Changed);
    insta::assert_snapshot!(notes(&world), @r"
    /home/code/app/.belay.toml:3:1: `detect.dry_run` is ignored: it loosens detection, and the file has changed since you trusted it
      -> read the file again, then run `belay trust` in its directory
    ");
}

#[test]
fn each_key_has_its_own_way_of_being_tighter() {
    let world = World::new();
    world.project_config(
        "[detect]\nmax_nudges = 1\n[detect.ladder]\npause_at = 5\nnudge_at = 0\n[detect.patterns.monologue]\nnudge_at = 2\nenabled = false\n\
         [detect.patterns.cycle]\npause_at = 9\nwindow = 64\n[detect.patterns.revisiting]\npause_at = 20\n",
    );
    let loaded = world.load().unwrap();
    let rules = &loaded.config.detect;
    assert_eq!((rules.max_nudges, rules.ladder.pause_at), (1, 5));
    assert_eq!(rules.patterns.monologue.nudge_at, Some(2));
    assert_eq!(rules.patterns.cycle.window, 64);
    assert_eq!(rules.patterns.revisiting.pause_at, Some(20), "any number is sooner than never");
    let ignored: Vec<String> = loaded.notes.iter().filter_map(|note| Some(note.key.as_ref()?.to_string())).collect();
    assert_eq!(
        ignored,
        ["detect.ladder.nudge_at", "detect.patterns.cycle.pause_at", "detect.patterns.monologue.enabled"]
    );
}

#[test]
fn allow_lists_patterns_and_prices_need_trust() {
    let world = World::new();
    world.project_config(
        "[detect.allow]\nactions = [\"*:*\"]\n\n[detect.budget]\nsession_usd = 5.0\n\n\
         [[detect.custom]]\nname = \"x\"\nmessage = \"m\"\ncommand = \"y\"\n",
    );
    let loaded = world.load().unwrap();
    assert!(loaded.config.detect.allow.actions.is_empty() && loaded.config.detect.custom.is_empty());
    assert_eq!(loaded.config.detect.budget.session_usd, 5.0, "a budget where there was none is tighter");
    assert_eq!(loaded.notes.len(), 2);
    trust(&world);
    let loaded = world.load().unwrap();
    assert_eq!((loaded.config.detect.allow.actions.len(), loaded.config.detect.custom.len()), (1, 1));
}

#[test]
fn it_never_redirects_anything_trusted_or_not() {
    let world = World::new();
    world.project_config(
        "[webhook]\nurl = \"https://evil.example\"\n[serve]\nlisten = \"127.0.0.1:1\"\n[hooks]\nautostart = false\n[log]\nlevel = \"trace\"\n",
    );
    trust(&world);
    let loaded = world.load().unwrap();
    assert_eq!(loaded.config.webhook.url, "");
    assert_eq!(loaded.config.serve.listen.socket_addr().port(), 8787);
    assert!(loaded.config.hooks.autostart);
    insta::assert_snapshot!(notes(&world), @r"
    /home/code/app/.belay.toml:6:1: `hooks.autostart` is ignored: a project file cannot set it
      -> set it in your own configuration with `belay config set`
    /home/code/app/.belay.toml:8:1: `log.level` is ignored: a project file cannot set it
      -> set it in your own configuration with `belay config set`
    /home/code/app/.belay.toml:4:1: `serve.listen` is ignored: a project file cannot set it
      -> set it in your own configuration with `belay config set`
    /home/code/app/.belay.toml:2:1: `webhook.url` is ignored: a project file cannot set it
      -> set it in your own configuration with `belay config set`
    ");
}

#[test]
fn the_nearest_one_counts_and_the_home_dir_is_no_project() {
    let world = World::new();
    world.write("home/.belay.toml", "[detect]\ndry_run = true\n");
    world.project();
    assert!(world.load().unwrap().project.is_none());
    let outer = world.write("home/code/.belay.toml", "");
    assert_eq!(world.load().unwrap().project.unwrap().0, std::fs::canonicalize(outer).unwrap());
    let inner = world.project_config("");
    assert_eq!(world.load().unwrap().project.unwrap().0, std::fs::canonicalize(inner).unwrap());
}

#[cfg(unix)]
#[test]
fn links_devices_huge_and_binary_files_are_refused() {
    let refused = |make: &dyn Fn(&World)| {
        let world = World::new();
        world.project();
        make(&world);
        let strict = world.plain(world.load().unwrap_err());
        let lenient = world.load_as(Strictness::Lenient, &[]).unwrap();
        assert_eq!(lenient.notes.len(), 1, "lenient loading says it too");
        strict
    };
    let all = [
        refused(&|world| {
            let secret = world.write("home/.ssh/id", "secret");
            std::os::unix::fs::symlink(secret, world.project().join(".belay.toml")).unwrap();
        }),
        refused(&|world| {
            let path = world.project().join(".belay.toml");
            let made = std::process::Command::new("mkfifo").arg(path).status().unwrap();
            assert!(made.success());
        }),
        refused(&|world| {
            world.project_config(&"#".repeat(65 * 1024));
        }),
        refused(&|world| {
            std::fs::write(world.project().join(".belay.toml"), b"a = \"\xff\"").unwrap();
        }),
        refused(&|world| {
            world.project_config("[detect]\ndryrun = true\n");
        }),
    ];
    insta::assert_snapshot!(all.join("\n"), @r"
    /home/code/app/.belay.toml: is not a regular file
    /home/code/app/.belay.toml: is not a regular file
    /home/code/app/.belay.toml: is larger than 64 KiB
    /home/code/app/.belay.toml: is not UTF-8
    /home/code/app/.belay.toml:2:1: unknown key `detect.dryrun`
    ");
}
