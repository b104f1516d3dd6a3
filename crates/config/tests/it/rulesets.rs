//! Rules by directory, for long-running processes.

use std::sync::{Arc, Mutex};

use belay_config::RulesByDir;

use crate::world::World;

#[test]
fn each_dir_has_its_rules_and_equal_ones_are_shared() {
    let world = World::new();
    world.user_config("[detect]\nmax_nudges = 5\n");
    world.project_config("[detect]\nmax_nudges = 1\n\n[webhook]\nurl = \"https://evil.example\"\n");
    let messages = Arc::new(Mutex::new(Vec::new()));
    let hear = Arc::clone(&messages);
    let notice = Box::new(move |note: &belay_config::Diagnostic| hear.lock().unwrap().push(note.to_string()));
    let rulesets = RulesByDir::new(world.paths(), world.env(), Vec::new(), notice);

    let plain = rulesets.for_dir(None);
    assert_eq!(plain.max_nudges, 5);
    let project = rulesets.for_dir(Some(&world.project()));
    assert_eq!(project.max_nudges, 1);
    let elsewhere = rulesets.for_dir(Some(&world.home().join("code")));
    assert!(Arc::ptr_eq(&plain, &elsewhere), "equal rules are the same");
    assert!(Arc::ptr_eq(&project, &rulesets.for_dir(Some(&world.project()))));
    assert_eq!(messages.lock().unwrap().len(), 1, "what does not count is told once");
    let relative = rulesets.for_dir(Some(std::path::Path::new("code/app")));
    assert!(Arc::ptr_eq(&plain, &relative), "a directory nobody can find has no project");
}

#[test]
fn a_broken_file_leaves_the_rest_standing() {
    let world = World::new();
    world.user_config("[detect]\nmax_nudges = \"many\"\n");
    let rulesets = RulesByDir::new(
        world.paths(),
        world.env(),
        vec![("--set detect.dry_run".into(), "detect.dry_run".into(), "true".into())],
        Box::new(|_| {}),
    );
    let rules = rulesets.for_dir(None);
    assert_eq!(rules.max_nudges, belay_core::Rules::default().max_nudges);
    assert!(rules.dry_run);
}
