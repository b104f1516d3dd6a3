//! A disk that becomes full while the resident process runs, and is freed later.

use belay_core::event::OperatorDecision;
use belay_core::{Event, SessionKey, Verdict};
use belay_ipc::{Client, DecideRequest, EventResult};
use belay_store::{Access, EventQuery, StoreUrl};
use rustix::process::{Pid, Resource, Rlimit, prlimit};

use crate::resident::{Serve, client};
use crate::world::{World, call, file_says};

/// Limits the file size of the process, which has the effect of a full disk.
fn limit_files(serve: &Serve, bytes: Option<u64>) {
    let pid = Pid::from_raw(i32::try_from(serve.pid()).unwrap()).unwrap();
    prlimit(Some(pid), Resource::Fsize, Rlimit { current: bytes, maximum: None }).unwrap();
}

fn post(client: &mut Client, number: usize) -> belay_core::EventOutcome {
    let event = Event::from_json(call(&format!("e{number}"), "s", &format!("make part_{number}")).as_bytes()).unwrap();
    match client.observe(&[event]).unwrap().answers.swap_remove(0) {
        EventResult::Accepted(outcome) => outcome,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_full_disk_blocks_no_decision_and_loses_no_event() {
    let world = World::new();
    let mut shell = world.program("/bin/sh");
    // Otherwise the signal of the limit would kill the process; a full disk sends none.
    let serve = "trap '' XFSZ && exec \"$0\" serve --json --no-http --set serve.tick=50ms";
    shell.args(["-c", serve, env!("CARGO_BIN_EXE_belay")]);
    let serve = Serve::from_command(shell);
    let mut client = client(&world);
    assert!(post(&mut client, 0).committed);

    limit_files(&serve, Some(4096));
    let unkept = post(&mut client, 1);
    assert_eq!((unkept.decision.verdict, unkept.committed), (Verdict::Go, false), "the agent goes on");
    let output = world.run(&["status"]);
    assert!(output.err.contains("Decisions continue in memory; 1 events wait"), "{output:?}");
    let key = SessionKey::new("claude-code", "s");
    let pause = DecideRequest::new(key.clone(), OperatorDecision::Pause);
    assert!(!client.decide(&pause).unwrap().committed);
    let held = post(&mut client, 2);
    assert!(matches!(held.decision.verdict, Verdict::Hold { .. }), "{held:?}");

    limit_files(&serve, None);
    file_says(&world.log(), |log| log.contains("store recovered"));
    assert!(post(&mut client, 3).committed);
    let store = belay_store::open(&StoreUrl::local(world.paths().database()), Access::Read).unwrap();
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
    assert!(store.session(&key).unwrap().unwrap().state.is_paused());
    let events = store.events(&EventQuery { limit: usize::MAX, ..EventQuery::default() }).unwrap();
    assert_eq!(events.len(), 4 + 1, "every call and the pause, once");
}
