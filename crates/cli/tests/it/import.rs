//! `belay import heartbeat`: its settings with what they meant there.

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
    let world = world.var("HEARTBEAT_MAX_NUDGES", "4");
    insta::assert_snapshot!(world.tell(&["import", "heartbeat"]));
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
    let said = world.run(&["config", "list"]);
    assert_eq!(said.code, Some(0), "what was written is valid: {said:?}");
}
