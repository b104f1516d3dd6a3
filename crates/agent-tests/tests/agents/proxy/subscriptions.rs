//! Logins at ChatGPT and claude.ai: their requests go to their own upstream unchanged, and can be held like others.

use belay_agent_tests::agent_setups::{CLAUDE_CODE_SUBSCRIPTION, CODEX_SUBSCRIPTION};
use belay_agent_tests::{Agent, AgentSetup, Workbench};
use belay_scripted_model::{Script, ScriptedModel};

use super::belay::{Belay, number};
use super::healthy::not_forwarded;
use super::request_recorder::{RequestRecorder, SentRequest};

#[test]
fn a_login_at_chatgpt_works_and_can_be_held() {
    let turns = a_login_works_and_can_be_held(&CODEX_SUBSCRIPTION, "chatgpt");
    for turn in turns {
        assert_eq!((turn.header("chatgpt-account-id"), turn.header("content-encoding")), ("account-1", "zstd"));
    }
}

#[test]
fn a_login_at_claude_ai_works_and_can_be_held() {
    let turns = a_login_works_and_can_be_held(&CLAUDE_CODE_SUBSCRIPTION, "anthropic");
    for turn in turns {
        assert_eq!(turn.header("authorization"), "Bearer sk-ant-oat01-test");
        assert!(turn.header("anthropic-beta").contains("oauth-"), "{turn:?}");
    }
}

/// Returns all requests for turns. All but the last one reached `upstream`, the one that the login is for.
fn a_login_works_and_can_be_held(setup: &'static AgentSetup, upstream: &str) -> Vec<SentRequest> {
    let Some(agent) = Agent::or_skip(setup) else { return vec![] };
    let bench = Workbench::new().expect("a workbench");
    let script = Script::new().shell("echo one > notes.txt").text("Done.").shell("cat no-such-file").repeat(30);
    let model = ScriptedModel::start(script).expect("a model");
    // Only Belay knows this address of the provider; the agent has none configured.
    let place = format!("[proxy.upstreams.{upstream}]\nurl = \"{}\"\n", model.url());
    let belay = Belay::configure_with(&agent, &bench, &place);
    let recorder = RequestRecorder::start(belay.proxy());
    let redirected = recorder.redirected(&agent, &bench);
    let finished = belay.proxied(redirected.run(&bench, "", "Take a note")).finish().expect("an end");
    assert_eq!(bench.read("notes.txt").expect("a file"), "one\n", "{}", belay.report(&finished));
    assert_eq!((finished.code, number(&belay.session(), "calls")), (Some(0), 1), "{}", belay.report(&finished));
    // Codex tries a WebSocket first and falls back to plain requests.
    let is_plain = |sent: &SentRequest| sent.header("upgrade").is_empty();
    assert_eq!(not_forwarded(&recorder, &model).into_iter().filter(is_plain).collect::<Vec<_>>(), []);
    belay.archive_all();
    let finished = belay.proxied(redirected.run(&bench, "", "Show me the file")).finish().expect("an end");
    // The loop is found whether the requests are compressed or not.
    assert_eq!(belay.session()["state"], "paused", "{}", belay.report(&finished));
    assert!(finished.output().contains("belay resume"), "the output shows how to resume: {}", finished.output());
    let sent: Vec<SentRequest> = recorder.sent().into_iter().filter(is_plain).collect();
    assert_eq!(sent.len(), model.requests().len() + 1, "one was refused and not retried: {}", belay.report(&finished));
    sent.into_iter().filter(|sent| sent.method == "POST").collect()
}
