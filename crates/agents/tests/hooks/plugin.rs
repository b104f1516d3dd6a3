//! One plugin for three agents: the payload shows which of them runs it.

use belay_agents::hook::{protocol, resolve_agent};

use crate::support::recorded;

#[test]
fn payloads_identify_the_agent_behind_the_plugin() {
    for recorded in recorded() {
        let claude_names = recorded.event.starts_with(|c: char| c.is_ascii_uppercase());
        let loads_it = matches!(recorded.agent.as_str(), "claude-code" | "codex" | "copilot");
        if claude_names && loads_it {
            let agent = resolve_agent("plugin", &recorded.payload).expect("an agent").id;
            assert_eq!(agent, recorded.agent, "{}", recorded.name);
        }
    }
}

#[test]
fn aliases_resolve_and_unknown_names_do_not() {
    assert_eq!(resolve_agent("claude", b"").expect("an agent").id, "claude-code");
    assert!(protocol("aider", b"").is_none(), "aider has no hooks");
    assert!(protocol("nobody", b"").is_none());
}
