//! Precedence of layers, and diagnostics.

use crate::world::World;
use belay_config::{ConfigKey, LogLevel, Strictness};

fn key(text: &str) -> ConfigKey {
    ConfigKey::parse(text).unwrap()
}

#[test]
fn built_in_values_stand_alone() {
    let loaded = World::new().load().unwrap();
    assert_eq!(loaded.config.serve.listen.to_string(), "127.0.0.1:8787");
    assert_eq!(loaded.config.detect, belay_core::Rules::default());
    assert!(loaded.notes.is_empty());
}

#[test]
fn the_built_in_text_says_what_counts() {
    let world = World::new();
    world.user_config(&belay_config::built_in_text());
    let (written, built_in) = (world.load().unwrap(), World::new().load().unwrap());
    assert_eq!(written.config, built_in.config);
    assert!(written.entries().iter().all(|entry| entry.source.as_str() == "user"), "every value stands in it");
}

#[test]
fn each_layer_lies_over_the_one_below() {
    let world = World::new().var("BELAY_LOG", "debug");
    let user = world.user_config("[serve]\nlisten = \"127.0.0.1:1111\"\nhttp = false\n\n[log]\nlevel = \"warn\"\n");
    let loaded = world.load_as(Strictness::Strict, &[("--listen", "serve.listen", "127.0.0.1:2222")]).unwrap();
    assert_eq!(loaded.config.serve.listen.to_string(), "127.0.0.1:2222");
    assert!(!loaded.config.serve.http);
    assert_eq!(loaded.config.log.level, LogLevel::Debug);

    let origin = |text: &str| {
        let entry = loaded.entry(&key(text)).unwrap();
        (entry.source.to_string(), entry.position.map(|p| (p.line, p.column)))
    };
    assert_eq!(origin("serve.listen"), ("--listen".to_owned(), None));
    assert_eq!(origin("serve.http"), (user.display().to_string(), Some((3, 1))));
    assert_eq!(origin("log.level"), ("BELAY_LOG".to_owned(), None));
    assert_eq!(origin("store.max_age"), ("built-in".to_owned(), None));
}

#[test]
fn an_empty_variable_counts_as_absent() {
    let loaded = World::new().var("BELAY_LOG", "").load().unwrap();
    assert_eq!(loaded.config.log.level, LogLevel::Info);
}

#[test]
fn every_mistake_is_named_with_its_place_and_a_suggestion() {
    let world = World::new().var("BELAY_HTTP", "perhaps").var("BELAY_LISTN", "x");
    world.user_config(
        "[serve]\nlisen = \"127.0.0.1:1\"\nhttp = \"yes\"\n\nmax_age = \"1d\"\n[store]\nmax_age = \"soon\"\n\n[detekt]\ndry_run = true\n",
    );
    let error = world.load().unwrap_err();
    insta::assert_snapshot!(world.plain(&error), @r#"
    the configuration has 6 errors
      /home/.config/belay/config.toml:2:1: unknown key `serve.lisen`
      /home/.config/belay/config.toml:3:1: `serve.http`: invalid type: string "yes", expected a boolean
      /home/.config/belay/config.toml:5:1: unknown key `serve.max_age`
      /home/.config/belay/config.toml:7:1: `store.max_age`: invalid duration `soon`; use for example 30s, 5m, 2h, 7d or never
      /home/.config/belay/config.toml:9:2: unknown key `detekt`
      BELAY_HTTP: `serve.http`: `perhaps` is not true or false
    "#);
    insta::assert_snapshot!(error.hints().join("\n"), @r"
    did you mean `serve.listen`?
    did you mean `store.max_age`?
    did you mean `detect`?
    ");
}

#[test]
fn rules_are_checked_where_they_stand() {
    let world = World::new();
    world.user_config(
        "[detect.allow]\nactions = [\"npm test\"]\n\n[detect.patterns.cycle]\nwindow = 0\n\n\
         [[detect.custom]]\nname = \"fine\"\nmessage = \"no\"\ncommand = \"^git\"\n\n\
         [[detect.custom]]\nname = \"broken\"\nmessage = \"no\"\ncommand = \"(\"\n\n\
         [[detect.custom]]\nname = \"typo\"\nmesage = \"no\"\n",
    );
    insta::assert_snapshot!(world.plain(world.load().unwrap_err()), @r"
    the configuration has 4 errors
      /home/.config/belay/config.toml:2:1: `detect.allow.actions`: `npm test` names no tool; write `Bash:npm test` or `*:npm test`
      /home/.config/belay/config.toml:5:1: `detect.patterns.cycle.window`: must be 1 to 64 calls
      /home/.config/belay/config.toml:15:1: `detect.custom[2].command`: is not a regular expression: regex parse error: ( ^ error: unclosed group
      /home/.config/belay/config.toml:19:1: unknown key `detect.custom[3].mesage`
    ");
}

#[test]
fn allow_lists_and_patterns_add_up_over_the_layers() {
    let world = World::new();
    world.user_config(
        "[detect.allow]\nactions = [\"Bash:a\"]\n\n[[detect.custom]]\nname = \"one\"\nmessage = \"mine\"\ncommand = \"x\"\n",
    );
    let flags = [
        ("--set", "detect.allow.actions", "[\"Bash:b\", \"Bash:a\"]"),
        ("--set", "detect.custom", "[{ name = \"one\", message = \"theirs\", command = \"x\" }]"),
    ];
    let loaded = world.load_as(Strictness::Strict, &flags).unwrap();
    assert_eq!(loaded.config.detect.allow.actions, ["Bash:b", "Bash:a"]);
    assert_eq!(loaded.config.detect.custom.len(), 1, "a pattern of the same name takes the other's place");
    assert_eq!(loaded.config.detect.custom[0].message, "theirs");
    assert!(loaded.explain(&key("detect.allow.actions")).unwrap().adds_up);
}

#[test]
fn a_syntax_error_has_its_place() {
    let world = World::new();
    world.user_config("[serve]\nlisten = \n");
    insta::assert_snapshot!(world.plain(world.load().unwrap_err()), @"/home/.config/belay/config.toml:2:10: invalid TOML: string values must be quoted, expected literal string");
}

#[test]
fn lenient_loading_leaves_only_the_invalid_values_out_and_reports_them() {
    let world = World::new().var("BELAY_LOG", "debug");
    world.user_config("[serve]\nhttp = 3\n[detect]\nmax_nudges = 7\n[webhook]\nurl = \"https://a.example\"\n");
    let loaded = world.load_as(Strictness::Lenient, &[]).unwrap();
    assert!(loaded.config.serve.http, "the invalid value does not count");
    assert_eq!((loaded.config.detect.max_nudges, loaded.config.webhook.url.as_str()), (7, "https://a.example"));
    assert!(!loaded.config.detect.dry_run && !loaded.is_record_only, "it could not have restricted interventions");
    assert_eq!(loaded.config.log.level, LogLevel::Debug, "the layers above it count");
    let notes: Vec<String> = loaded.notes.iter().map(|note| world.plain(note)).collect();
    insta::assert_snapshot!(notes.join("\n"), @"/home/.config/belay/config.toml:2:1: `serve.http`: invalid type: integer `3`, expected a boolean");
}

#[test]
fn an_invalid_value_that_may_restrict_interventions_means_to_record_only() {
    for (text, record_only) in [
        ("[serve]\nlistne = 1\n", false),
        ("[serv]\nlisten = 1\n", false),
        ("[detect.budget]\nsession_usd = -1\n", false),
        ("[detect.budget]\nsesion_usd = 1\n", false),
        ("[detect.budget]\nunknown_model = \"ignorant\"\n", true),
        ("[detect.budget]\nunkown_model = \"ignore\"\n", true),
        ("[[detect.custom]]\nname = \"x\"\n", false),
        ("[detect\n", true),
        ("dry_run = true\n", true),
        ("[detct]\ndry_run = true\n", true),
        ("[detect]\ndryrun = true\n", true),
        ("[detect]\nmax_nudgse = 9\n", false),
        ("[detect]\ncolour = \"red\"\n", false),
        ("[detect.patterns.exact_repeat]\nnudge_ta = 3\n", false),
        ("[detect.patterns.exact_repeat]\nenable = false\n", true),
        ("[detect.alow]\nactions = [\"Bash:make\"]\n", true),
        ("[colours]\nred = 1\n", false),
        ("[serve\nlisten = 1\n[detect]\nmax_nudges = 9\n", false),
        ("[serve]\nlisten = \n", false),
        ("[detect]\ndry_run true\n", true),
        ("[detect]\ndry_run = true\ndry_run = false\n", true),
        ("[detect]\ndry_run = 1\n", true),
        ("[detect.allow]\nactions = [\"npm test\"]\n", true),
        ("[detect.ladder]\npause_at = \"never\"\n", true),
        ("detect = 3\n", true),
    ] {
        let world = World::new();
        world.user_config(text);
        world.project_config("[detect]\ndry_run = false\n");
        let loaded = world.load_as(Strictness::Lenient, &[]).unwrap();
        assert_eq!((loaded.is_record_only, loaded.config.detect.dry_run), (record_only, record_only), "{text}");
        let notes: Vec<String> = loaded.notes.iter().map(ToString::to_string).collect();
        assert_eq!(notes.iter().any(|note| note.contains("does not carry them out")), record_only, "{notes:?}");
    }
    let world = World::new().var("BELAY_DRY_RUN", "please");
    assert!(world.load_as(Strictness::Lenient, &[]).unwrap().config.detect.dry_run);
    let world = World::new();
    world.project_config("[detect\n");
    assert!(!world.load_as(Strictness::Lenient, &[]).unwrap().config.detect.dry_run, "a project cannot turn Belay off");
}

#[test]
fn the_lines_beside_a_broken_one_count() {
    let world = World::new();
    world.user_config(
        "[log]\nlevel = \"debug\n[serve\nhttp = false\n\n[detect]\nmax_nudges = 7\n[detect.budget]\nsession_usd = 2\n\
         daily_usd : 3\n[webhook]\nurl = \"https://a.example\"\n",
    );
    let loaded = world.load_as(Strictness::Lenient, &[]).unwrap();
    assert_eq!((loaded.config.detect.max_nudges, loaded.config.webhook.url.as_str()), (7, "https://a.example"));
    assert_eq!(loaded.get(&key("detect.budget.session_usd")).unwrap().to_string(), "2");
    assert!(loaded.config.serve.http && !loaded.is_record_only, "a section without its heading does not count");
    let places: Vec<String> = loaded.notes.iter().map(|note| world.plain(note.location())).collect();
    let lines: Vec<&str> = places.iter().map(|place| place.split(':').nth(1).unwrap()).collect();
    assert_eq!(lines, ["2", "3", "10"], "{:?}", loaded.notes);
    assert!(world.load().is_err(), "`belay config` is strict");
}

#[test]
fn an_unknown_variable_of_ours_is_pointed_out() {
    let loaded = World::new().var("BELAY_LISTN", "127.0.0.1:1").load().unwrap();
    assert_eq!(loaded.notes[0].to_string(), "BELAY_LISTN: unknown variable; it has no effect");
    assert_eq!(loaded.notes[0].hint.as_deref(), Some("did you mean BELAY_LISTEN?"));
}

#[test]
fn an_invalid_address_is_refused() {
    let error = World::new().load_as(Strictness::Strict, &[("--listen", "serve.listen", "everywhere")]).unwrap_err();
    insta::assert_snapshot!(error, @"--listen: `serve.listen`: invalid address `everywhere`; use for example 127.0.0.1:8787");
}

#[test]
fn explain_tells_meaning_layers_and_what_a_project_may_do() {
    let world = World::new().var("BELAY_DRY_RUN", "true");
    let loaded = world.load().unwrap();
    let explained = loaded.explain(&key("detect.dry_run")).unwrap();
    assert!(explained.description.unwrap().contains("Record interventions"));
    let layers: Vec<String> = explained.layers.iter().map(|e| format!("{} {}", e.source, e.value)).collect();
    assert_eq!(layers, ["built-in false", "BELAY_DRY_RUN true"]);
    assert_eq!(explained.variable, Some("BELAY_DRY_RUN"));
    assert_eq!(explained.project, "A project file may turn it off; to turn it on there, trust the project.");
    assert!(loaded.explain(&key("detect.no_such")).is_none());
    assert_eq!(loaded.explain(&key("webhook.format")).unwrap().choices, ["belay", "heartbeat"]);
    assert_eq!(loaded.suggest("serve.lisen").as_deref(), Some("serve.listen"));
}

#[test]
fn every_key_of_the_schema_has_a_built_in_value_and_a_meaning() {
    let loaded = World::new().load().unwrap();
    for section in ["serve", "store", "hooks", "notify", "webhook", "log"] {
        let explained = loaded.explain(&key(section)).unwrap();
        for below in explained.below {
            assert!(loaded.get(&below).is_some(), "{below} is missing in default.toml");
            assert!(loaded.explain(&below).unwrap().description.is_some(), "{below} has no description");
        }
    }
}
