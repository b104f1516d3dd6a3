//! Logins at ChatGPT and claude.ai: what they send goes where it would have gone, as it is, and is held like any other.

use belay_agent_tests::agent_setups::{CLAUDE_CODE_SUBSCRIPTION, CODEX_SUBSCRIPTION};
use belay_agent_tests::{Agent, AgentSetup, Workbench};
use belay_scripted_model::{Script, ScriptedModel};

use crate::healthy::kept_back;
use crate::rope::{Rope, number};
use crate::wiretap::{Sent, Wiretap};

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

/// All requests for turns, of which all but the last one came to `upstream`, where the login is good.
fn a_login_works_and_can_be_held(recipe: &'static AgentSetup, upstream: &str) -> Vec<Sent> {
    let Some(agent) = Agent::or_skip(recipe) else { return vec![] };
    let bench = Workbench::new().expect("a bench");
    let script = Script::new().shell("echo one > notes.txt").text("Done.").shell("cat no-such-file").repeat(30);
    let model = ScriptedModel::start(script).expect("a model");
    // The provider's own place, as far as Belay knows: the agent is not told of any.
    let place = format!("[proxy.upstreams.{upstream}]\nurl = \"{}\"\n", model.url());
    let rope = Rope::tie_with(&agent, &bench, &place);
    let tap = Wiretap::start(rope.proxy());
    let bugged = tap.bugged(&agent, &bench);
    let finished = rope.proxied(bugged.run(&bench, "", "Take a note")).finish().expect("an end");
    assert_eq!(bench.read("notes.txt").expect("a file"), "one\n", "{}", rope.story(&finished));
    assert_eq!((finished.code, number(&rope.session(), "calls")), (Some(0), 1), "{}", rope.story(&finished));
    // Codex tries a socket first, and is asked for plain requests.
    let is_plain = |sent: &Sent| sent.header("upgrade").is_empty();
    assert_eq!(kept_back(&tap, &model).into_iter().filter(is_plain).collect::<Vec<_>>(), []);
    rope.forget();
    let finished = rope.proxied(bugged.run(&bench, "", "Show me the file")).finish().expect("an end");
    // Packed or not, its calls are known, and so is that they run in circles.
    assert_eq!(rope.session()["state"], "paused", "{}", rope.story(&finished));
    assert!(finished.output().contains("belay resume"), "the person reads how to go on: {}", finished.output());
    let sent: Vec<Sent> = tap.sent().into_iter().filter(is_plain).collect();
    assert_eq!(sent.len(), model.requests().len() + 1, "one was refused, and once: {}", rope.story(&finished));
    sent.into_iter().filter(|sent| sent.method == "POST").collect()
}
