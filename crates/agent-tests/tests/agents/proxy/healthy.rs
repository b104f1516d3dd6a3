//! Healthy work: requests reach the model unchanged.

use belay_agent_tests::{Agent, AgentSetup, Workbench};
use belay_scripted_model::{Script, ScriptedModel};

use super::belay::{Belay, number};
use super::request_recorder::{RequestRecorder, SentRequest};

pub(crate) fn requests_reach_the_model_unchanged(setup: &'static AgentSetup) {
    let Some(agent) = Agent::or_skip(setup) else { return };
    let bench = Workbench::new().expect("a workbench");
    let belay = Belay::configure(&agent, &bench);
    let recorder = RequestRecorder::start(belay.proxy());
    let redirected = recorder.redirected(&agent, &bench);
    let file = bench.path("notes.txt");
    let script = Script::new()
        .shell("ls")
        .with_text("Grüße – I will look around first. \u{1F9D7}")
        .write(&file, "one\n")
        .shell("cat notes.txt")
        .text("Done.");
    let model = ScriptedModel::start(script).expect("a model");
    let finished = belay.proxied(redirected.run(&bench, &model.url(), "Take a note")).finish().expect("an end");
    assert_eq!((finished.code, model.remaining()), (Some(0), 0), "{}", belay.report(&finished));
    assert_eq!(bench.read("notes.txt").expect("a file"), "one\n");
    assert!(recorder.sent().len() >= 4, "requests were recorded: {:?}", recorder.sent());
    assert_eq!(not_forwarded(&recorder, &model), []);
    let session = belay.session();
    assert_eq!(
        (number(&session, "calls"), number(&session, "nudges"), number(&session, "pauses")),
        (3, 0, 0),
        "{session}"
    );
    assert_eq!(session["state"], "ended", "{session}");
}

/// Checks that every request to the model is one of the agent's, byte for byte. Returns the agent's other requests.
pub(crate) fn not_forwarded(recorder: &RequestRecorder, model: &ScriptedModel) -> Vec<SentRequest> {
    let mut left: Vec<SentRequest> = recorder.sent().into_iter().map(without_prefix).collect();
    for request in model.requests() {
        let line = String::from_utf8_lossy(&request.head).lines().next().unwrap_or_default().to_owned();
        let came = without_version(SentRequest::new(&line, request.headers, request.wire_body));
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

/// The path without the prefix of `belay run`: `/s/KEY/UPSTREAM`.
fn without_prefix(mut sent: SentRequest) -> SentRequest {
    let rest = sent.path.strip_prefix("/s/").and_then(|rest| rest.splitn(3, '/').nth(2));
    sent.path = format!("/{}", rest.unwrap_or_else(|| panic!("no run in {}", sent.path)));
    without_version(sent)
}

/// Some agents' base URLs end in `/v1`, which is then part of the upstream's address.
fn without_version(mut sent: SentRequest) -> SentRequest {
    if let Some(rest) = sent.path.strip_prefix("/v1/") {
        sent.path = format!("/{rest}");
    }
    sent
}
