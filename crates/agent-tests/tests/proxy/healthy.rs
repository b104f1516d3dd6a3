//! Honest work: what leaves for the model is what the agent sent.

use belay_agent_tests::{Agent, AgentSetup, Workbench};
use belay_scripted_model::{Script, ScriptedModel};

use crate::rope::{Rope, number};
use crate::wiretap::{Sent, Wiretap};

pub(crate) fn what_leaves_for_the_model_is_what_the_agent_sent(recipe: &'static AgentSetup) {
    let Some(agent) = Agent::or_skip(recipe) else { return };
    let bench = Workbench::new().expect("a bench");
    let rope = Rope::tie(&agent, &bench);
    let tap = Wiretap::start(rope.proxy());
    let bugged = tap.bugged(&agent, &bench);
    let file = bench.path("notes.txt");
    let script = Script::new()
        .shell("ls")
        .with_text("Grüße – I will look around first. \u{1F9D7}")
        .write(&file, "one\n")
        .shell("cat notes.txt")
        .text("Done.");
    let model = ScriptedModel::start(script).expect("a model");
    let finished = rope.proxied(bugged.run(&bench, &model.url(), "Take a note")).finish().expect("an end");
    assert_eq!((finished.code, model.remaining()), (Some(0), 0), "{}", rope.story(&finished));
    assert_eq!(bench.read("notes.txt").expect("a file"), "one\n");
    assert!(tap.sent().len() >= 4, "the wire was tapped: {:?}", tap.sent());
    assert_eq!(kept_back(&tap, &model), []);
    let session = rope.session();
    assert_eq!(
        (number(&session, "calls"), number(&session, "nudges"), number(&session, "pauses")),
        (3, 0, 0),
        "{session}"
    );
    assert_eq!(session["state"], "ended", "{session}");
}

/// Everything that came to the model is what the agent sent, byte for byte. What the agent sent beside that.
pub(crate) fn kept_back(tap: &Wiretap, model: &ScriptedModel) -> Vec<Sent> {
    let mut left: Vec<Sent> = tap.sent().into_iter().map(without_prefix).collect();
    for request in model.requests() {
        let line = String::from_utf8_lossy(&request.head).lines().next().unwrap_or_default().to_owned();
        let came = without_version(Sent::new(&line, request.headers, request.wire_body));
        match left.iter().position(|sent| *sent == came) {
            Some(at) => drop(left.remove(at)),
            None => {
                let closest = left.iter().find(|sent| sent.path == came.path);
                panic!("{} {} {:?} was sent as {closest:?}", came.method, came.path, came.headers);
            }
        }
    }
    left
}

/// The path without what `belay run` put in front of it: `/s/KEY/UPSTREAM`.
fn without_prefix(mut sent: Sent) -> Sent {
    let rest = sent.path.strip_prefix("/s/").and_then(|rest| rest.splitn(3, '/').nth(2));
    sent.path = format!("/{}", rest.unwrap_or_else(|| panic!("no run in {}", sent.path)));
    without_version(sent)
}

/// Some agents' base URLs end in `/v1`, which is then part of the upstream's address.
fn without_version(mut sent: Sent) -> Sent {
    if let Some(rest) = sent.path.strip_prefix("/v1/") {
        sent.path = format!("/{rest}");
    }
    sent
}
