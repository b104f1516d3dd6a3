use belay_agents::hook::{HookPoint, ParsedHook, PermissionPrompt};
use belay_core::event::{CheckKind, SessionEnded, ToolCalled, ToolReturned, TurnEnded};
use belay_core::{CallStatus, Source};
use serde_json::json;

use super::*;
use crate::tickets::Waiter;

const WAIT: Duration = Duration::from_secs(60);

fn now(seconds: i64) -> Timestamp {
    Timestamp::from_millis(1_800_000_000_000 + seconds * 1000)
}

fn session() -> SessionKey {
    SessionKey::new("claude-code", "s1")
}

fn registry() -> Arc<Registry> {
    Arc::new(Registry::new(Arc::default()))
}

fn offer(command: &str) -> HookOffer {
    let hooks = belay_agents::registry::find("claude-code").unwrap().hooks.unwrap();
    let called = ToolCalled::new(None, None, "Bash", &json!({ "command": command }));
    let prompt = PermissionPrompt { tool: "Bash".into(), text: command.into(), key: called.action.key, call: None };
    let parsed = ParsedHook { event: "PermissionRequest", ..ParsedHook::default() };
    HookOffer {
        session: session(),
        hook: "h1".into(),
        point: HookPoint::Permission,
        permission: Some(prompt),
        cwd: None,
        at: now(0),
        event: hooks.event_of(&parsed).unwrap(),
        ci: false,
        encoder: HookEncoder::new(hooks.protocol, &parsed),
    }
}

/// Offers a prompt that no hook awaits yet, and returns its id.
fn unawaited(registry: &Arc<Registry>, offer: HookOffer) -> String {
    registry.add(offer, session(), WAIT, now(0)).unwrap().id
}

/// Offers a prompt to a hook that waits, and returns its id.
fn awaited(registry: &Arc<Registry>, offer: HookOffer) -> (String, Waiter) {
    let id = unawaited(registry, offer);
    let waiter = registry.tickets.take(&id).unwrap();
    (id, waiter)
}

fn event(body: Body) -> Event {
    Event::new(uuid::Uuid::now_v7().to_string(), session(), Source::Hook, now(1), body)
}

fn allow<'r>(registry: &'r Registry, id: &str, hash: &str, by: &str) -> Result<Claim<'r>, ErrorBody> {
    registry.claim(id, hash, PermissionAnswer::Allow, by, now(2))
}

#[test]
fn the_first_answer_wins_and_the_second_is_told_whose_it_was() {
    let registry = registry();
    let (id, mut answer) = awaited(&registry, offer("rm -rf build"));
    let [shown] = &registry.pending(now(1))[..] else { panic!("one prompt") };
    assert_eq!((shown.text.as_str(), shown.tool.as_str()), ("rm -rf build", "Bash"));
    let wrong = allow(&registry, &id, "0000", "eve").unwrap_err();
    assert_eq!((wrong.code, wrong.field.as_deref()), (ErrorCode::Conflict, Some("hash")));
    let first = allow(&registry, &id, &shown.hash, "anna").unwrap();
    let second = allow(&registry, &id, &shown.hash, "ben").unwrap_err();
    assert!(second.message.contains("anna allowed it"), "{second}");
    assert!(registry.pending(now(2)).is_empty(), "an answer is on its way");
    first.deliver("").unwrap();
    assert!(answer.try_answer().unwrap().contains(r#""behavior":"allow""#));
    let third = allow(&registry, &id, &shown.hash, "ben").unwrap_err();
    assert!(third.message.contains("anna allowed it"), "{third}");
}

#[test]
fn an_answer_that_is_not_recorded_leaves_the_prompt_open() {
    let registry = registry();
    let (id, mut answer) = awaited(&registry, offer("make deploy"));
    let hash = registry.pending(now(1))[0].hash.clone();
    drop(allow(&registry, &id, &hash, "anna").unwrap());
    assert_eq!(registry.pending(now(1)).len(), 1);
    let denial = registry.claim(&id, &hash, PermissionAnswer::Deny, "anna", now(2)).unwrap();
    denial.deliver("not on a Friday").unwrap();
    assert!(answer.try_answer().unwrap().contains("not on a Friday"));
}

/// The resident process took too long to make the offer: the hook has decided without it, and the terminal asks.
#[test]
fn a_prompt_that_no_hook_waits_for_cannot_be_answered() {
    let registry = registry();
    let id = unawaited(&registry, offer("make deploy"));
    assert!(registry.pending(now(1)).is_empty());
    assert_eq!(allow(&registry, &id, "", "anna").unwrap_err().code, ErrorCode::NotFound);
    let answer = registry.tickets.take(&id).unwrap();
    let hash = registry.pending(now(1))[0].hash.clone();
    let claim = allow(&registry, &id, &hash, "anna").unwrap();
    drop(answer);
    assert!(claim.deliver("").is_none(), "the hook is gone");
}

#[test]
fn events_that_show_an_answer_in_the_terminal_end_the_prompt() {
    let called = |id: &str, command: &str| {
        event(Body::ToolCalled(ToolCalled::new(Some(id.into()), None, "Bash", &json!({ "command": command }))))
    };
    let returned =
        |id: &str| event(Body::ToolReturned(ToolReturned::new(Some(id.into()), Some(CallStatus::Ok), None, "done")));
    let registry = registry();
    registry.on_events(&[called("c1", "make deploy"), called("c2", "ls")], now(0));
    let (id, mut answer) = awaited(&registry, offer("make deploy"));
    registry.on_events(&[returned("c2")], now(1));
    assert_eq!(registry.pending(now(1)).len(), 1, "another call, side by side");
    registry.on_events(&[returned("c1")], now(1));
    assert!(registry.pending(now(1)).is_empty());
    assert_eq!(answer.try_answer(), None, "the hook is told nothing");
    assert!(allow(&registry, &id, "", "anna").unwrap_err().message.contains("elsewhere"));
    let _test = awaited(&registry, offer("make test"));
    registry.on_events(&[event(Body::TurnEnded(TurnEnded::default()))], now(1));
    assert!(registry.pending(now(1)).is_empty());
    let other = Body::CheckRan(belay_core::event::CheckRan {
        check: CheckKind::Test,
        ok: Some(true),
        command: Default::default(),
        passed: None,
        failed: None,
        failing: Default::default(),
        failure: None,
        call: None,
    });
    let _lint = awaited(&registry, offer("make lint"));
    registry.on_events(&[event(other)], now(1));
    assert_eq!(registry.pending(now(1)).len(), 1, "an event that says nothing about it");
}

#[test]
fn a_prompt_of_a_session_that_ended_was_not_answered() {
    let registry = registry();
    let id = unawaited(&registry, offer("make deploy"));
    registry.on_events(&[event(Body::SessionEnded(SessionEnded::default()))], now(1));
    assert!(registry.pending(now(1)).is_empty());
    let late = allow(&registry, &id, "", "anna").unwrap_err();
    assert!(late.message.contains("no longer waits"), "{late}");
}

#[test]
fn prompts_expire_and_are_bounded() {
    let registry = registry();
    let (id, _hook) = awaited(&registry, offer("make"));
    assert!(registry.pending(now(60)).is_empty());
    assert!(allow(&registry, &id, "", "anna").unwrap_err().message.contains("in time"));
    let long = offer(&"x".repeat(MAX_TEXT_BYTES + 1));
    assert!(registry.add(long, session(), WAIT, now(0)).is_none(), "too long to be shown");
    let gone = unawaited(&registry, offer("make"));
    registry.pending(now(10));
    assert!(allow(&registry, &gone, "", "anna").unwrap_err().message.contains("no longer waits"), "nobody came");
    let of = |session: usize, number: usize| {
        let root = SessionKey::new("claude-code", format!("s{session}"));
        let session = SessionKey::new("claude-code", format!("s{session}/agent{number}"));
        registry.add(HookOffer { session, ..offer("make") }, root, WAIT, now(0))
    };
    for session in 0..MAX_PENDING / MAX_PENDING_PER_SESSION {
        (0..MAX_PENDING_PER_SESSION).for_each(|number| assert!(of(session, number).is_some()));
        assert!(of(session, 99).is_none(), "sub-agents count for their session");
    }
    assert!(of(99, 0).is_none(), "all places are taken");
}

#[test]
fn all_of_it_is_shown_and_the_log_gets_no_secret() {
    let registry = registry();
    let secret = ["ghp", "_", &"AbCdEf0123456789".repeat(3)[..36]].concat();
    for command in [format!("TOKEN={secret};touch${{IFS}}pwn"), format!("cat > .env <<E\nA=1x\nB={secret}\nE")] {
        let _hook = awaited(&registry, offer(&command));
        assert_eq!(registry.pending(now(1))[0].text, command);
        let [ended] = &registry.take_unrecorded(now(60))[..] else { panic!("one event") };
        let logged = serde_json::to_string(ended).unwrap();
        assert!(logged.contains("redacted") && !logged.contains(&secret) && !logged.contains("1x"), "{logged}");
    }
}

#[test]
fn an_id_names_one_prompt() {
    let registry = registry();
    let (first, _first) = awaited(&registry, offer("make"));
    let (second, _second) = awaited(&registry, offer("make"));
    assert_ne!(first, second, "nobody can predict the id of a call");
    let shown = registry.pending(now(1))[0].clone();
    assert_eq!(shown.id, format!("apr-{}", &shown.hash[..16]));
    for hash in ["", &shown.hash[..15], &registry.pending(now(1))[1].hash] {
        assert_eq!(allow(&registry, &first, hash, "anna").unwrap_err().code, ErrorCode::Conflict, "{hash}");
    }
    assert_eq!(allow(&registry, &first[..12], &shown.hash, "anna").unwrap_err().code, ErrorCode::NotFound);
    assert_eq!(allow(&registry, &first, &shown.hash[..16], "anna").unwrap().hash(), shown.hash);
}

#[test]
fn an_answer_of_a_held_session_is_not_delivered() {
    let registry = registry();
    let (id, mut answer) = awaited(&registry, offer("make deploy"));
    let hash = registry.pending(now(1))[0].hash.clone();
    allow(&registry, &id, &hash, "anna").unwrap().withhold();
    assert_eq!(answer.try_answer(), None, "the hook is told nothing");
    let [Event { body: Body::ApprovalEnded(ended), .. }] = &registry.take_unrecorded(now(2))[..] else {
        panic!("the end")
    };
    assert_eq!(ended.how, ApprovalEnding::SessionHeld);
    assert!(allow(&registry, &id, &hash, "anna").unwrap_err().message.contains("was held"));
}
