//! Recorded payloads with random damage: always a reply that the agent accepts, never an accidental denial, no panic,
//! and bounded events.

use belay_agents::hook::{HookReply, ParsedHook};
use serde_json::Value;

use crate::support::{Recorded, parse_or_default, recorded, verdicts};
use crate::validity::check;

/// Number of damaged payloads per protocol.
const PAYLOADS: usize = 10_000;

/// A seeded generator, so that a failure can be reproduced by its number.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        // splitmix64
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % sides.max(1) as u64) as usize
    }
}

/// A value that no agent writes there.
fn odd(dice: &mut Dice) -> Value {
    match dice.roll(12) {
        0 => Value::Null,
        1 => Value::Bool(dice.roll(2) == 0),
        2 => Value::from(-1),
        3 => Value::from(1e308),
        4 => Value::from(u64::MAX),
        5 => Value::from(""),
        6 => Value::from("\u{0}\u{1b}[31m\u{202e}\n"),
        7 => Value::from("deny"),
        8 if dice.roll(160) == 0 => Value::from("Ω日本語العربية".repeat(20_000)),
        8 => Value::from("Ω日本語العربية".repeat(1 + dice.roll(100))),
        9 => Value::Array(vec![Value::Null; dice.roll(200)]),
        10 => serde_json::json!({ "decision": "deny", "continue": false, "permissionDecision": "deny" }),
        _ => (0..dice.roll(60)).fold(Value::from("deep"), |inner, _| serde_json::json!([{ "content": inner }])),
    }
}

/// Damages one random value of the payload.
fn damage(value: &mut Value, dice: &mut Dice) {
    match value {
        Value::Object(object) if !object.is_empty() => {
            let key = object.keys().nth(dice.roll(object.len())).cloned().unwrap_or_default();
            match dice.roll(5) {
                0 => drop(object.remove(&key)),
                1 => drop(object.insert(key, odd(dice))),
                2 => {
                    let moved = object.remove(&key).unwrap_or_default();
                    object.insert(format!("{key}x"), moved);
                }
                _ => {
                    if let Some(inner) = object.get_mut(&key) {
                        damage(inner, dice);
                    }
                }
            }
        }
        Value::Array(items) if !items.is_empty() && dice.roll(3) > 0 => {
            let at = dice.roll(items.len());
            damage(&mut items[at], dice);
        }
        other => *other = odd(dice),
    }
}

/// A damaged payload as bytes: possibly truncated, possibly invalid UTF-8.
fn damaged(recorded: &Recorded, dice: &mut Dice) -> Vec<u8> {
    let mut value: Value = serde_json::from_slice(&recorded.payload).expect("a recorded payload is JSON");
    for _ in 0..=dice.roll(4) {
        damage(&mut value, dice);
    }
    let mut bytes = value.to_string().into_bytes();
    match dice.roll(8) {
        0 => bytes.truncate(dice.roll(bytes.len())),
        1 => {
            let at = dice.roll(bytes.len());
            bytes[at] = 0xff;
        }
        2 => {
            let (at, byte) = (dice.roll(bytes.len()), dice.roll(256) as u8);
            bytes.insert(at, byte);
        }
        _ => {}
    }
    bytes
}

fn is_bounded(parsed: &ParsedHook) {
    assert!(parsed.events.len() <= 130, "{} events from one payload", parsed.events.len());
    assert!(parsed.edited.len() <= 32 * 64);
    for event in &parsed.events {
        let size = serde_json::to_vec(event).expect("JSON").len();
        assert!(size < 32 * 1024, "an event of {size} bytes: {event:?}");
        assert!(event.session.id.len() <= belay_core::key::MAX_ID_BYTES && !event.session.id.is_empty());
        assert!(event.id.starts_with("h1"));
    }
}

#[test]
fn damaged_payloads_never_hold_an_agent_back() {
    let all = recorded();
    let agents: std::collections::BTreeSet<&str> = all.iter().map(|r| r.agent.as_str()).collect();
    assert_eq!(agents.len(), 7);
    for agent in agents {
        let own: Vec<&Recorded> = all.iter().filter(|r| r.agent == agent).collect();
        for number in 0..PAYLOADS {
            let mut dice = Dice(number as u64);
            let recorded = own[dice.roll(own.len())];
            let payload = damaged(recorded, &mut dice);
            let protocol = recorded.protocol();
            let parsed = parse_or_default(protocol, &recorded.event, &payload);
            is_bounded(&parsed);
            let go = protocol.encode_bytes(&parsed, &HookReply::ALLOW);
            assert!(go.is_empty(), "{agent} {} #{number}: {}", recorded.name, String::from_utf8_lossy(&go));
            for (_, verdict) in &verdicts() {
                check(
                    agent,
                    parsed.event,
                    &protocol.encode_bytes(
                        &parsed,
                        &HookReply {
                            verdict,
                            context: Some("read this"),
                            person: Some("and you this"),
                            continuation: Some("go on"),
                        },
                    ),
                );
            }
        }
    }
}

#[test]
fn whole_payloads_can_be_held_back_where_it_matters() {
    // The counterpart: verifies that the checks above can detect a denial.
    let hold = &verdicts()[2].1;
    for recorded in recorded() {
        use belay_agents::hook::HookPoint::{BeforeModel, BeforeTool, Permission, Prompt};
        let parsed = recorded.parsed();
        let answer = recorded.protocol().encode_bytes(&parsed, &HookReply { verdict: hold, ..HookReply::ALLOW });
        let held = check(&recorded.agent, parsed.event, &answer);
        let matters = matches!(parsed.point, BeforeTool | BeforeModel | Permission)
            || parsed.point == Prompt && recorded.agent != "opencode";
        assert!(held || !matters, "{} {} is not held back", recorded.agent, recorded.name);
    }
}
