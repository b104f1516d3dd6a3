//! The dashboard's guided trial, with a real resident process.

use belay_ipc::SubscribeRequest;
use serde_json::Value;

use crate::receiver::{Receiver, TAKEN};
use crate::resident::{Serve, client};
use crate::world::{World, call, lines, within};

/// A person in the dashboard, with the API token instead of a login.
pub(crate) struct Person<'a> {
    world: &'a World,
    serve: &'a Serve,
    token: String,
}

impl<'a> Person<'a> {
    pub(crate) fn new(world: &'a World, serve: &'a Serve) -> Self {
        let token = world.run(&["status", "--token", "--json"]).json()["token"].as_str().unwrap().to_owned();
        Self { world, serve, token }
    }

    /// Sends a form; returns the status and the response.
    pub(crate) fn post(&self, path: &str, fields: &str) -> (u16, Value) {
        self.send("POST", path, "application/x-www-form-urlencoded", fields)
    }

    pub(crate) fn send(&self, method: &str, path: &str, content_type: &str, body: &str) -> (u16, Value) {
        let (token, length) = (&self.token, body.len());
        parse(&self.serve.http(&format!(
            "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\naccept: application/json\r\n\
             authorization: Bearer {token}\r\ncontent-type: {content_type}\r\ncontent-length: {length}\r\n\r\n{body}"
        )))
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        parse(&self.serve.get(path)).1
    }

    /// Waits until a resource satisfies a condition, and returns it. Looked at after every event.
    pub(crate) fn sees(&self, path: &str, is_enough: impl Fn(&Value) -> bool + Send + 'static) -> Value {
        let (mut subscriber, mut settled) = (client(self.world), client(self.world));
        let (address, path) = (self.serve.address(), path.to_owned());
        within(&path.clone(), move || {
            let get = format!("GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n");
            let mut look = move || {
                // The log is readable before the effects of its events are applied.
                settled.status(false).unwrap();
                parse(&crate::resident::http(&address, &get)).1
            };
            let mut seen = look();
            if !is_enough(&seen) {
                let all = SubscribeRequest { session: None, after: Some(0), kinds: Vec::new() };
                let look_again = |_: &[u8]| {
                    seen = look();
                    !is_enough(&seen)
                };
                subscriber.subscribe(&all, look_again).unwrap();
            }
            seen
        })
    }
}

fn parse(answer: &str) -> (u16, Value) {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), serde_json::from_str(body).unwrap_or_default())
}

fn has_loop(overview: &Value) -> bool {
    overview["needs"].as_array().unwrap().iter().any(|need| need["kind"] == "loop")
}

#[test]
fn the_trial_loops_waits_for_a_person_and_finishes() {
    let world = World::new();
    let receiver = Receiver::start(TAKEN);
    let hook = format!("[webhook]\nurl = \"http://127.0.0.1:{}/\"\n", receiver.port);
    world.write("home/.config/belay/config.toml", &hook);
    let serve = Serve::start(&world);
    let person = Person::new(&world, &serve);
    let refused = "POST /trial HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\ncontent-length: 0\r\n\
                   content-type: application/x-www-form-urlencoded\r\n\r\n";
    assert!(serve.http(refused).starts_with("HTTP/1.1 401"), "only a person starts it");
    let (status, output) = person.post("/trial", "");
    assert_eq!(status, 200, "{output}");
    let overview = person.sees("/api/v1/overview", has_loop);
    assert_eq!(overview["trial"], true);
    let session = overview["needs"][0]["session"]["session"].as_str().unwrap().to_owned();
    assert!(session.starts_with("trial:"), "{session}");
    let (status, output) = person.post("/trial", "");
    assert_eq!(status, 422, "one at a time: {output}");
    // The person resumes it from the page, and the agent finishes.
    let (status, output) = person.post(&format!("/sessions/{session}/decisions"), "decision=resume");
    assert_eq!((status, &output["message"]), (200, &"Resumed.".into()));
    let path = format!("/api/v1/sessions/{session}");
    let done = person.sees(&path, |session| session["status"]["value"] == "finished");
    assert!(done["nudges"].as_u64() >= Some(1), "{done}");
    // It counts in no figure.
    let spend = person.get("/api/v1/spend");
    assert_eq!((&spend["total"]["tokens"], &spend["by_agent"]), (&0.into(), &serde_json::json!([])));
    let overview = person.get("/api/v1/overview");
    assert_eq!(
        (&overview["today"]["spent"]["tokens"], &overview["today"]["avoided"]["cost_micros"]),
        (&0.into(), &0.into())
    );
    assert!(serve.get("/metrics").contains("belay_stored_calls 0\n"));
    // It alerts nobody: the first alert is about another session.
    world.run_with(&["events", "post"], &lines(&[call("e1", "other", "ls")]));
    assert_eq!(world.run(&["pause", "other"]).code, Some(0));
    let alert = receiver.next();
    assert!(alert.body.to_string().contains("other") && !alert.body.to_string().contains("trial"), "{alert:?}");
    // One click removes it.
    let (status, output) = person.post("/trial/remove", "");
    assert_eq!((status, &output["message"]), (200, &"Removed 1 session of the guided trial.".into()));
    assert_eq!(person.get("/api/v1/overview")["trial"], false);
    assert!(serve.get(&path).starts_with("HTTP/1.1 404"));
    let held: Value = serde_json::from_str(&std::fs::read_to_string(world.state().join("held.json")).unwrap()).unwrap();
    assert!(!held.to_string().contains("trial"), "{held}");
}

#[test]
fn a_trial_that_runs_is_removed_and_can_start_again() {
    let world = World::new();
    let serve = Serve::start(&world);
    let person = Person::new(&world, &serve);
    for _ in 0..2 {
        assert_eq!(person.post("/trial", "").0, 200);
        let overview = person.sees("/api/v1/overview", |overview| overview["trial"] == true);
        assert_eq!(overview["active"].as_array().map(Vec::len), Some(1), "{overview}");
        let (status, output) = person.post("/trial/remove", "");
        assert_eq!((status, &output["message"]), (200, &"Removed 1 session of the guided trial.".into()));
        assert_eq!(person.get("/api/v1/overview")["trial"], false);
    }
    assert!(serve.get("/").contains("No agent is supervised yet"), "the page begins anew");
    let (_, output) = person.post("/trial/remove", "");
    assert_eq!(output["message"], "There are no sessions of the guided trial.");
}

#[test]
fn a_killed_trial_ends() {
    let world = World::new();
    let serve = Serve::start(&world);
    let person = Person::new(&world, &serve);
    assert_eq!(person.post("/trial", "").0, 200);
    let overview = person.sees("/api/v1/overview", has_loop);
    let session = overview["needs"][0]["session"]["session"].as_str().unwrap().to_owned();
    assert_eq!(person.post(&format!("/sessions/{session}/decisions"), "decision=kill").0, 200);
    assert_eq!(person.get(&format!("/api/v1/sessions/{session}"))["state"], "killed");
    assert_eq!(person.post("/trial/remove", "").0, 200);
    assert_eq!(person.get("/api/v1/overview")["trial"], false);
}
