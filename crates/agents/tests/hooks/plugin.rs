//! One plugin for three agents: the payload tells which of them speaks.

use belay_agents::hook::dialect;

use crate::support::recorded;

#[test]
fn the_agent_behind_the_plugin_is_told_by_its_payloads() {
    for recorded in recorded() {
        let claude_names = recorded.event.starts_with(|c: char| c.is_ascii_uppercase());
        let loads_it = matches!(recorded.agent.as_str(), "claude-code" | "codex" | "copilot");
        if claude_names && loads_it {
            let speaker = dialect("plugin", &recorded.payload).expect("a dialect").agent();
            assert_eq!(speaker, recorded.agent, "{}", recorded.name);
        }
    }
}

#[test]
fn aliases_and_strangers() {
    assert_eq!(dialect("claude", b"").expect("a dialect").agent(), "claude-code");
    assert!(dialect("aider", b"").is_none(), "aider has no hooks");
    assert!(dialect("nobody", b"").is_none());
}
