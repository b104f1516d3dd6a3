//! `belay import`.

use crate::world::World;

#[test]
fn heartbeats_settings_come_along() {
    let world = World::alone();
    world.write(
        "home/code/app/.heartbeat.yml",
        "# team settings\nloop_threshold: 4\nstall_timeout: 300   # five minutes\nwindow_size: 30\n\
         error_threshold: 6\ncontext_pct: 75\nmax_nudges: many\ndry_run: 1\ncolour: blue\n\
         allowlist: Bash:npm test\nwebhook_url: https://hooks.example.com/x\n",
    );
    world.write(
        "home/code/app/.heartbeat/patterns/deploys.json",
        r#"{"name":"deploys","display_name":"Deploys","tools":["Bash"],"nudge":"You keep deploying {target}.","severity":"high"}"#,
    );
    let world = world.var("HEARTBEAT_MAX_NUDGES", "4").var("HEARTBEAT_COLOUR", "red");
    insta::assert_snapshot!(world.run_text(&["import", "heartbeat"]));
    let list = |key: &str| world.run(&["config", "get", key]).out.trim().to_owned();
    assert_eq!((list("webhook.url").as_str(), list("webhook.format").as_str()), ("", "belay"), "not unasked");
    assert_eq!(list("detect.max_nudges"), "4", "a person's own variables become their own settings");
    assert_eq!(world.run(&["import", "heartbeat", "--webhook"]).code, Some(0));
    assert_eq!(
        (list("webhook.url").as_str(), list("webhook.format").as_str()),
        ("https://hooks.example.com/x", "heartbeat")
    );
    let file = std::fs::read_to_string(world.path("home/code/app/.belay.toml")).unwrap();
    assert!(file.contains("nudge_at = 4") && file.contains("deploys"), "{file}");
    let output = world.run(&["config", "list"]);
    assert_eq!(output.code, Some(0), "what was written is valid: {output:?}");
}

#[test]
fn loop_watchdogs_settings_and_sessions_come_along() {
    let world = World::alone();
    world.write(
        "home/code/app/.loop_watchdog/state.json",
        r#"{"version":1,"sessions":[
          {"session_id":"shop:me:main","created_at":"2026-01-01T10:00:00.000000Z","archived":false,
           "events":[{"event_id":"e1","created_at":"2026-01-01T10:01:00.000000Z","session_id":"shop:me:main","kind":"test_failure","summary":"refund fails"}],
           "incident":{"incident_id":"i1","score":9.3,"reasons":["The same test failed twice."]}},
          {"session_id":"old/one","created_at":"2026-01-01T09:00:00.000000Z","archived":false,"events":[],
           "incident":{"incident_id":"i2","score":999.0,"reasons":["enough"]}}]}"#,
    );
    world.write("home/code/app/.env", "LOOP_WATCHDOG_UPSTREAM_BASE_URL=https://evil.example\n");
    let world = world
        .var("LOOP_WATCHDOG_UPSTREAM_BASE_URL", "https://llm.corp/")
        .var("LOOP_WATCHDOG_UPSTREAM_AUTH_MODE", "bearer")
        .var("LOOP_WATCHDOG_UPSTREAM_API_KEY", "sk-very-secret")
        .var("LOOP_WATCHDOG_UPSTREAM_TIMEOUT_SECONDS", "180")
        .var("LOOP_WATCHDOG_PAUSE_SCORE_THRESHOLD", "4.8");
    insta::assert_snapshot!(world.run_text(&["import", "loop-watchdog"]));
    let get = |key: &str| world.run(&["config", "get", key]).out.trim().to_owned();
    assert_eq!(get("proxy.upstreams.openai.url"), "https://llm.corp");
    assert_eq!(get("proxy.upstreams.openai.key_env"), "LOOP_WATCHDOG_UPSTREAM_API_KEY");
    let state = |id: &str| world.run(&["show", id, "--json"]).json()["session"]["state"].as_str().unwrap().to_owned();
    assert_eq!((state("legacy:shop:me:main").as_str(), state("legacy:old/one").as_str()), ("paused", "killed"));
    world.run(&["resume", "legacy:shop:me:main"]);
    let again = world.run(&["import", "loop-watchdog"]);
    assert_eq!(again.code, Some(0));
    assert!(again.out.contains("session legacy:shop:me:main: already imported"), "{again:?}");
    assert_eq!(state("legacy:shop:me:main"), "active", "a second import takes nothing back");
}

#[test]
fn links_of_the_project_are_not_followed() {
    let files = [
        (".heartbeat.yml", "heartbeat"),
        (".heartbeat/patterns", "heartbeat"),
        (".heartbeat/patterns/x.json", "heartbeat"),
        (".loop_watchdog", "loop-watchdog"),
        (".loop_watchdog/state.json", "loop-watchdog"),
    ];
    for (link, tool) in files {
        let world = World::new();
        world.write("home/private/state.json", r#"{"version":1,"sessions":[{"session_id":"mine"}]}"#);
        let target =
            if link.ends_with(".yml") || link.ends_with(".json") { "home/private/state.json" } else { "home/private" };
        let link = world.path("home/code/app").join(link);
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(world.path(target), &link).unwrap();
        let output = world.run(&["import", tool, "--dry-run"]);
        assert_eq!(output.code, Some(1), "{output:?}");
        assert!(output.err.contains("is a symbolic link, which is not followed"), "{}: {output:?}", link.display());
    }
}
