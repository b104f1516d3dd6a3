//! A configuration with errors: the valid values apply, and Belay is never stricter than intended.

use crate::hook::{alone, hook, payload};
use crate::resident::Serve;
use crate::world::World;

/// The configuration of a user with `dry_run`, and a typo elsewhere.
const DRY_RUN_WITH_TYPO: &str = "[detect]\ndry_run = true\n\n[serve]\nlistne = 1\n";

/// Seven equal calls that fail alike: without dry run, the fourth is denied and the sixth stops the agent.
fn failures(world: &World, session: &str) -> Vec<String> {
    let mut output = Vec::new();
    for call in 1..=7 {
        for event in ["PreToolUse", "PostToolUseFailure"] {
            output.push(hook(world, &payload(event, session, &format!("t{call}"), "make")).out);
        }
    }
    output
}

#[test]
fn a_typing_error_elsewhere_does_not_turn_dry_run_off() {
    let world = alone();
    world.write("home/.config/belay/config.toml", DRY_RUN_WITH_TYPO);
    assert!(failures(&world, "s").iter().all(String::is_empty));
    let log = std::fs::read_to_string(world.state().join("logs/hook.log")).unwrap();
    assert_eq!(log.matches("unknown key `serve.listne`").count(), 1, "once, not per hook: {log}");

    let serve = Serve::start(&world);
    assert!(failures(&world, "served").iter().all(String::is_empty));
    let status = world.run(&["status"]);
    assert!(status.err.contains("unknown key `serve.listne`"), "{status:?}");
    let sessions = world.run(&["sessions", "--json"]);
    assert!(sessions.json()["config_problems"][0].as_str().unwrap().contains("serve.listne"), "{sessions:?}");
    let doctor = world.run(&["doctor"]);
    assert!(doctor.code == Some(1) && doctor.out.contains("XX  configuration"), "{doctor:?}");
    assert!(doctor.out.contains("Belay ignores these values and uses the others"), "{doctor:?}");
    drop(serve);
}

#[test]
fn a_configuration_that_cannot_be_parsed_never_makes_belay_stricter() {
    for text in [
        "[detect]\ndry_rnu = true\n",
        "[detct]\ndry_run = true\n",
        "[detect]\ndry_run = \"yes\"\n",
        "[detect.patterns.exact_repeat]\nenabled = \"no\"\n",
        "[detect.allow]\nactions = [\"Bash make\"]\n",
    ] {
        let world = alone();
        world.write("home/.config/belay/config.toml", text);
        assert!(failures(&world, "s").iter().all(String::is_empty), "{text}");
        let status = world.run(&["status"]);
        let sentence = "until this is fixed, Belay records interventions and does not carry them out";
        assert!(status.err.contains(sentence), "{text}{status:?}");
        let log = std::fs::read_to_string(world.state().join("logs/hook.log")).unwrap();
        assert!(log.contains(sentence), "{text}{log}");
        let doctor = world.run(&["doctor"]);
        assert!(doctor.code == Some(1) && doctor.out.contains(sentence), "{text}{doctor:?}");
        world.run(&["kill", "s"]);
        let held = hook(&world, &payload("PreToolUse", "s", "t8", "make"));
        assert!(held.out.contains("killed"), "a person's decision applies: {held:?}");
    }
}

#[test]
fn one_unknown_key_turns_nothing_off_and_is_on_the_page() {
    for (text, place) in [
        ("[detect]\nmax_nudgse = 9\n", "config.toml:2:1: unknown key `detect.max_nudgse`"),
        ("colour = \"red\"\n", "config.toml:1:1: unknown key `colour`"),
        ("[serve\nhttp = false\n", "config.toml:1:7: invalid TOML"),
    ] {
        let world = alone();
        world.write("home/.config/belay/config.toml", &format!("{text}[hooks]\nautostart = false\n"));
        assert!(failures(&world, "s").iter().any(|output| output.contains("deny")), "{text}");
        let serve = Serve::start(&world);
        let page = serve.get("/").replace("<code>", "`").replace("</code>", "`");
        assert!(page.contains("Ignored in the configuration: ") && page.contains(place), "{text}: {page}");
        let status = world.run(&["status", "--json"]).json();
        assert!(status["resident"]["notices"].to_string().contains(place), "{status}");
        let shown = world.run(&["status"]).err;
        assert_eq!(shown.matches(place).count(), 1, "{shown}");
        assert!(world.run(&["doctor"]).out.contains(place), "{text}");
    }
}

#[test]
fn the_valid_values_beside_a_broken_one_still_apply() {
    let denies = |config: &str| {
        let world = alone();
        world.write("home/.config/belay/config.toml", config);
        failures(&world, "s").iter().any(|output| output.contains("deny"))
    };
    assert!(denies("[detect.budget]\nsession_usd = -1\n"), "a broken budget turns nothing else off");
    assert!(!denies("[detect]\ndry_run = true\n[detect.budget]\nsession_usd = -1\n"));
    assert!(!denies("[detect]\ndry_run = true\n[serve\n"), "nor does a line that is no TOML");
}
