//! Shared budgets: spend of one session counts for all.

use belay_scripted_model::{Script, ScriptedModel, Usage};
use serde_json::{Value, json};

use crate::resident::{Serve, wait_for_events};
use crate::world::World;

/// A resident process with an account's budget for the day, and a model whose answers cost 1,000 tokens.
struct Account {
    world: World,
    serve: Serve,
    model: ScriptedModel,
}

impl Account {
    fn with(tokens: u64) -> Self {
        Self::with_limit(World::new(), &["--set", &format!("detect.budget.account_day_tokens={tokens}")])
    }

    fn with_limit(world: World, settings: &[&str]) -> Self {
        let answer = Script::new().without_tools().text("Here you are.").repeat(100);
        let model = ScriptedModel::start(answer.usage(Usage { input: 900, output: 100, ..Usage::default() })).unwrap();
        let upstream = format!("proxy.upstreams.openai.url={}", model.url());
        let args =
            [&["--listen", "127.0.0.1:0", "--set", &upstream, "--set", "proxy.hold_timeout=0s"], settings].concat();
        Self { serve: Serve::start_with(&world, &args), world, model }
    }

    /// A model call of a session, paid for by the same key as all others.
    fn call(&self, session: &str) -> u16 {
        let body = json!({ "model": "gpt-5", "messages": [{ "role": "user", "content": "Go on" }] }).to_string();
        let answer = self.serve.http(&format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\nx-loop-session: {session}\r\n\
             x-loop-workspace: {}\r\nauthorization: Bearer sk-of-all\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            self.world.path("home/code/other").display(),
            body.len()
        ));
        answer.split(' ').nth(1).unwrap().parse().unwrap()
    }

    fn sessions(&self) -> Value {
        self.world.run(&["sessions", "--json"]).json()
    }
}

#[test]
fn what_one_session_uses_up_no_other_may_spend() {
    let account = Account::with(2_500);
    assert_eq!(["a", "b", "a"].map(|session| account.call(session)), [200, 200, 200]);
    // 3,000 tokens are spent, and the last response has just ended.
    assert_eq!(account.call("b"), 409, "{}", account.sessions());
    assert_eq!(account.call("c"), 409, "nor one that nobody has seen before: {}", account.sessions());
    assert_eq!(account.model.requests().len(), 3, "{}", account.sessions());
}

#[test]
fn a_budget_that_only_a_project_sets_is_known_after_a_restart_too() {
    let world = World::new();
    world.write("home/code/other/.belay.toml", "[detect.budget]\nday_tokens = 1500\n");
    let account = Account::with_limit(world, &[]);
    assert_eq!(["a", "b"].map(|session| account.call(session)), [200, 200]);
    wait_for_events(&account.world, "legacy", "b", &["model_answered"], 1);
    assert_eq!(account.call("a"), 409, "{}", account.sessions());
    let Account { world, serve, .. } = account;
    serve.kill();
    let account = Account::with_limit(world, &[]);
    assert_eq!(account.call("c"), 409, "nobody has seen it before: {}", account.sessions());
    assert_eq!(account.model.requests().len(), 0);
}

#[test]
fn as_long_as_something_is_left_all_of_them_go_on() {
    let account = Account::with(50_000);
    for session in ["a", "b", "c", "a", "b", "c"] {
        assert_eq!(account.call(session), 200, "{}", account.sessions());
    }
    assert_eq!(account.model.requests().len(), 6);
}
