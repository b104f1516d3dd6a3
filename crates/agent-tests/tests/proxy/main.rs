//! Belay between the real CLIs and their model: each story is told once for every agent, through `belay run` and with
//! its proxy alone (`--no-hooks`), unless it says otherwise.
//!
//! `cargo build --bins` must have made `belay` first.

mod cutting;
mod healthy;
mod looping;
mod rope;
mod spending;
mod subscriptions;
mod together;
mod wiretap;

belay_agent_tests::for_each_agent! {
    healthy::what_leaves_for_the_model_is_what_the_agent_sent,
    looping::a_loop_ends_in_one_refused_request_and_a_resume_goes_on_in_the_same_conversation,
    spending::a_budget_stops_it_before_the_next_request,
    cutting::chanting_is_cut_off_and_the_agent_goes_on,
    together::hooks_and_proxy_are_one_session,
}

/// Gemini's API sends calls in one piece, so there is nothing to cut.
mod calls_in_pieces {
    use belay_agent_tests::agent_setups::{CLAUDE_CODE, CODEX, COPILOT, COPILOT_RESPONSES, OPENCODE};

    use super::cutting::a_call_that_chants_is_cut_off_and_not_run;

    #[test]
    fn a_call_that_chants_is_cut_off_and_not_run_over_responses() {
        a_call_that_chants_is_cut_off_and_not_run(&CODEX);
        a_call_that_chants_is_cut_off_and_not_run(&COPILOT_RESPONSES);
    }

    #[test]
    fn a_call_that_chants_is_cut_off_and_not_run_over_messages() {
        a_call_that_chants_is_cut_off_and_not_run(&CLAUDE_CODE);
        a_call_that_chants_is_cut_off_and_not_run(&COPILOT);
    }

    #[test]
    fn a_call_that_chants_is_cut_off_and_not_run_over_chat() {
        a_call_that_chants_is_cut_off_and_not_run(&OPENCODE);
    }
}
