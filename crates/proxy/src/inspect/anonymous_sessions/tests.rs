use super::*;

const START: Digest = Digest(7);
const MINUTE: Duration = Duration::from_secs(60);

/// The requests of several runs with the same prompt.
struct Requests {
    sessions: AnonymousSessions,
    at: Timestamp,
    held: Vec<String>,
}

impl Requests {
    fn new() -> Self {
        Self { sessions: AnonymousSessions::default(), at: Timestamp::from_millis(1_000_000), held: Vec::new() }
    }

    fn resolve(&mut self, position: Position, messages: &str) -> String {
        let request = AnonymousRequest { start: START, position, messages: messages.as_bytes(), at: self.at };
        let is_held = |key: &SessionKey| self.held.contains(&key.id.to_string());
        self.sessions.resolve("gemini", &request, is_held).id.to_string()
    }

    fn start(&mut self) -> String {
        self.resolve(Position::Start, "[1]")
    }

    /// A request with more messages than the start.
    fn later(&mut self, more: &str) -> String {
        self.resolve(Position::Later, &format!("[1],{more}"))
    }

    fn restart(&mut self) {
        self.sessions = AnonymousSessions::default();
    }
}

#[test]
fn a_fresh_run_with_the_same_prompt_is_another_session() {
    let mut requests = Requests::new();
    let first = requests.start();
    assert_eq!(requests.start(), first, "a retry of the first request");
    requests.resolve(Position::Auxiliary, "[1],[title]");
    assert_eq!(requests.start(), first, "a request beside the conversation proves nothing");
    assert_eq!(requests.later("[a]"), first);
    requests.held.push(first.clone());
    assert_eq!(requests.later("[a]"), first, "a held run stays held");
    let second = requests.start();
    assert_eq!(second, format!("{first}-2"));
    assert_eq!(requests.start(), second);
    assert_eq!(requests.later("[b]"), second);
    assert_eq!(requests.start(), format!("{first}-3"));
}

#[test]
fn a_held_run_does_not_become_the_run_that_started_after_it() {
    let mut requests = Requests::new();
    let first = requests.start();
    requests.later("[a],[b]");
    requests.held.push(first.clone());
    let second = requests.start();
    assert_eq!(requests.later("[a],[b]"), first, "it repeats the request that was refused");
    assert_eq!(requests.later("[a],[b],[c]"), first);
    assert_eq!(requests.later("[x]"), second);
    assert_eq!(requests.later("[a],[b],[c],[d]"), first);
    assert_eq!(requests.later("[x],[y]"), second);
    assert_eq!(requests.later("[changed]"), first, "a history that no run explains may be that of the held one");
    // Its number is not lost either.
    for _ in 0..2 * AnonymousSessions::MAX_LIVE_RUNS {
        requests.start();
        requests.later("[z]");
    }
    assert_eq!(requests.later("[changed],[d]"), first);
}

#[test]
fn runs_that_proceed_alike_stay_apart() {
    let mut requests = Requests::new();
    let first = requests.start();
    requests.later("[a]");
    requests.later("[a],[b]");
    let second = requests.start();
    for more in ["[a]", "[a],[b]", "[a],[b],[c]"] {
        assert_eq!(requests.later(more), second, "{more}");
    }
    assert_ne!(first, second);
    // A message that only begins alike is another one.
    requests.resolve(Position::Start, "[1]");
    assert_eq!(requests.resolve(Position::Later, "[1],12"), format!("{first}-3"));
    assert_eq!(requests.resolve(Position::Later, "[1],1"), format!("{first}-3"), "it fits none, so it is the last one");
    assert_eq!(requests.resolve(Position::Later, "[1],12,3"), format!("{first}-3"));
}

#[test]
fn the_same_request_after_a_long_gap_is_a_new_run() {
    let mut requests = Requests::new();
    let first = requests.start();
    requests.held.push(first.clone());
    requests.at = requests.at + 20 * MINUTE;
    assert_eq!(requests.start(), first, "a retry");
    requests.at = requests.at + 40 * MINUTE;
    let second = requests.start();
    assert_ne!(second, first);
    requests.later("[a]");
    requests.held.push(second.clone());
    requests.at = requests.at + 40 * MINUTE;
    assert_eq!(requests.later("[a],[b]"), second, "it continues the conversation, however long that takes");
}

#[test]
fn a_new_process_finds_the_held_run_and_starts_fresh_ones_beside_it() {
    let mut requests = Requests::new();
    let first = requests.start();
    let second = format!("{first}-2");
    requests.restart();
    assert_eq!(requests.later("[a]"), first);
    requests.held = vec![first.clone(), second.clone()];
    requests.restart();
    assert_eq!(requests.later("[a]"), second);
    requests.restart();
    assert_eq!(requests.start(), format!("{first}-3"));
}

#[test]
fn starts_and_runs_are_bounded() {
    let mut requests = Requests::new();
    for start in 0..1_000 {
        let request =
            AnonymousRequest { start: Digest(start), position: Position::Start, messages: b"", at: requests.at };
        requests.sessions.resolve("gemini", &request, |_| false);
    }
    assert_eq!(requests.sessions.0.len(), AnonymousSessions::MAX_STARTS);
    for _ in 0..100 {
        requests.start();
        requests.later("[a]");
    }
    assert_eq!(requests.sessions.0[0].1.live.len(), AnonymousSessions::MAX_LIVE_RUNS);
}
