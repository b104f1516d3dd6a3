//! `belay review` with the real CLIs in both roles: real edits, a real test as gate, supervised sessions.

mod rounds;
mod stopping;
mod tasks;
mod waiting;

use belay_agent_tests::agent_setups::{CLAUDE_CODE, CODEX, GEMINI, OPENCODE};

/// Each agent builds once and reviews once.
mod pairs {
    use super::rounds::a_gate_and_a_reviewer_are_satisfied_after_three_rounds;
    use super::*;

    #[test]
    fn claude_code_builds_and_codex_reviews() {
        a_gate_and_a_reviewer_are_satisfied_after_three_rounds(&CLAUDE_CODE, &CODEX);
    }

    #[test]
    fn codex_builds_and_gemini_reviews() {
        a_gate_and_a_reviewer_are_satisfied_after_three_rounds(&CODEX, &GEMINI);
    }

    #[test]
    fn gemini_builds_and_opencode_reviews() {
        a_gate_and_a_reviewer_are_satisfied_after_three_rounds(&GEMINI, &OPENCODE);
    }

    #[test]
    fn opencode_builds_and_claude_code_reviews() {
        a_gate_and_a_reviewer_are_satisfied_after_three_rounds(&OPENCODE, &CLAUDE_CODE);
    }
}

#[test]
fn claude_code_waits_for_a_limit_while_codex_works() {
    waiting::a_limit_is_waited_for_without_a_worker(&CLAUDE_CODE, &CODEX);
}

belay_agent_tests::for_each_agent! {
    claude_code CLAUDE_CODE:
    waiting::a_paused_step_waits_and_continues_in_its_session,
    stopping::a_budget_stops_a_step_and_more_of_it_continues,
    stopping::a_refused_permission_does_not_stop_the_task,
    stopping::a_refused_permission_without_an_answer_needs_a_person
}

/// The same scenarios with the other agents: `cargo xtask soak reviews`.
mod soak {
    use super::*;

    macro_rules! soak {
        ($($test:ident: $scenario:path, $($setup:ident),+;)*) => {
            $(
                #[test]
                fn $test() {
                    $scenario($(&$setup),+);
                }
            )*
        };
    }

    soak! {
        codex_waits_for_a_limit: waiting::a_limit_is_waited_for_without_a_worker, CODEX, CLAUDE_CODE;
        gemini_waits_for_a_limit: waiting::a_limit_is_waited_for_without_a_worker, GEMINI, CLAUDE_CODE;
        opencode_waits_for_a_limit: waiting::a_limit_is_waited_for_without_a_worker, OPENCODE, CLAUDE_CODE;
        codex_is_paused: waiting::a_paused_step_waits_and_continues_in_its_session, CODEX;
        gemini_is_paused: waiting::a_paused_step_waits_and_continues_in_its_session, GEMINI;
        opencode_is_paused: waiting::a_paused_step_waits_and_continues_in_its_session, OPENCODE;
        codex_uses_its_budget_up: stopping::a_budget_stops_a_step_and_more_of_it_continues, CODEX;
        gemini_uses_its_budget_up: stopping::a_budget_stops_a_step_and_more_of_it_continues, GEMINI;
        opencode_uses_its_budget_up: stopping::a_budget_stops_a_step_and_more_of_it_continues, OPENCODE;
        codex_is_refused_a_permission: stopping::a_refused_permission_does_not_stop_the_task, CODEX;
        opencode_is_refused_a_permission: stopping::a_refused_permission_does_not_stop_the_task, OPENCODE;
    }
}
