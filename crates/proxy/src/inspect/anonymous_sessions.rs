//! Sessions of agents that send no session id. A conversation is known by its start, and two runs with the same prompt
//! start alike, so each run gets a number.

use std::collections::VecDeque;

use belay_core::{Digest, SessionKey};

/// The newest run of each conversation start.
#[derive(Debug, Default)]
pub(crate) struct AnonymousSessions(VecDeque<(Digest, Run)>);

#[derive(Clone, Copy, Debug)]
struct Run {
    number: u32,
    /// A request had more than the start.
    has_grown: bool,
}

/// Where in its conversation a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Position {
    /// The model has not responded yet.
    Start,
    Later,
    /// Beside the conversation, such as a request for a title.
    Auxiliary,
}

impl AnonymousSessions {
    const MAX_STARTS: usize = 256;
    /// Held runs beyond this number are not looked for.
    const MAX_RUNS: u32 = 64;

    /// The session of a request. A request at the start, after a longer one, is a new run.
    ///
    /// `is_held` matters if the start is unknown, because this process is new or has forgotten it: a new run must not
    /// inherit the hold of an earlier one, and a held run must not escape.
    pub(crate) fn resolve(
        &mut self,
        agent: &str,
        start: Digest,
        position: Position,
        is_held: impl Fn(&SessionKey) -> bool,
    ) -> SessionKey {
        let key = |number: u32| match number {
            1 => SessionKey::new(agent, format!("anon-{start}")),
            _ => SessionKey::new(agent, format!("anon-{start}-{number}")),
        };
        let known = self.0.iter().position(|(known, _)| *known == start).and_then(|at| self.0.remove(at));
        let run = match known {
            Some((_, run)) if position == Position::Start && run.has_grown => {
                Run { number: run.number + 1, has_grown: false }
            }
            Some((_, run)) => Run { has_grown: run.has_grown || position == Position::Later, ..run },
            None => {
                let last_held = (1..=Self::MAX_RUNS).rev().find(|number| is_held(&key(*number)));
                let number = match last_held {
                    Some(held) if position == Position::Start => held + 1,
                    Some(held) => held,
                    None => 1,
                };
                Run { number, has_grown: position == Position::Later }
            }
        };
        self.0.truncate(Self::MAX_STARTS - 1);
        self.0.push_front((start, run));
        key(run.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Digest = Digest(7);

    fn resolve(sessions: &mut AnonymousSessions, is_start: bool, held: &[&str]) -> String {
        let is_held = |key: &SessionKey| held.contains(&&*key.id);
        let position = if is_start { Position::Start } else { Position::Later };
        sessions.resolve("gemini", START, position, is_held).id.to_string()
    }

    #[test]
    fn a_fresh_run_with_the_same_prompt_is_another_session() {
        let mut sessions = AnonymousSessions::default();
        let first = resolve(&mut sessions, true, &[]);
        assert_eq!(resolve(&mut sessions, true, &[]), first, "a retry of the first request");
        sessions.resolve("gemini", START, Position::Auxiliary, |_| false);
        assert_eq!(resolve(&mut sessions, true, &[]), first, "a request beside the conversation proves nothing");
        assert_eq!(resolve(&mut sessions, false, &[]), first);
        assert_eq!(resolve(&mut sessions, false, &[&first]), first, "a held run stays held");
        let second = resolve(&mut sessions, true, &[&first]);
        assert_eq!(second, format!("{first}-2"));
        assert_eq!(resolve(&mut sessions, true, &[&first]), second);
        assert_eq!(resolve(&mut sessions, false, &[&first]), second);
        assert_eq!(resolve(&mut sessions, true, &[&first]), format!("{first}-3"));
    }

    #[test]
    fn a_new_process_finds_the_held_run_and_starts_fresh_ones_beside_it() {
        let first = resolve(&mut AnonymousSessions::default(), true, &[]);
        let second = format!("{first}-2");
        assert_eq!(resolve(&mut AnonymousSessions::default(), false, &[&first, &second]), second);
        assert_eq!(resolve(&mut AnonymousSessions::default(), true, &[&first, &second]), format!("{first}-3"));
        assert_eq!(resolve(&mut AnonymousSessions::default(), false, &[]), first);
    }

    #[test]
    fn starts_are_bounded() {
        let mut sessions = AnonymousSessions::default();
        for start in 0..1_000 {
            sessions.resolve("gemini", Digest(start), Position::Start, |_| false);
        }
        assert_eq!(sessions.0.len(), AnonymousSessions::MAX_STARTS);
    }
}
