//! Belay's proxy between the real CLIs and their model: each scenario runs once per agent under `belay run --no-hooks`,
//! unless it states otherwise.

mod aider;
pub(crate) mod belay;
mod budgets;
mod cutting;
mod healthy;
mod hooks_and_proxy;
mod looping;
mod request_recorder;
mod subscriptions;

belay_agent_tests::for_each_agent! {
    healthy::requests_reach_the_model_unchanged,
    looping::a_loop_ends_in_one_refused_request_and_a_resume_continues_the_conversation,
    budgets::a_budget_stops_it_before_the_next_request,
    cutting::repetitive_output_is_cut_and_the_agent_continues,
    hooks_and_proxy::hooks_and_proxy_are_one_session,
}

belay_agent_tests::for_each_agent! {
    qwen QWEN: budgets::a_budget_stops_it_before_the_next_request, hooks_and_proxy::hooks_and_proxy_are_one_session
}

/// Gemini's API does not stream the input of a call, so there is nothing to cut.
mod streamed_calls {
    use belay_agent_tests::agent_setups::{CLAUDE_CODE, CODEX, COPILOT, COPILOT_RESPONSES, OPENCODE};

    use super::cutting::a_repetitive_call_is_cut_and_not_run;

    #[test]
    fn a_repetitive_call_is_cut_and_not_run_over_responses() {
        a_repetitive_call_is_cut_and_not_run(&CODEX);
        a_repetitive_call_is_cut_and_not_run(&COPILOT_RESPONSES);
    }

    #[test]
    fn a_repetitive_call_is_cut_and_not_run_over_messages() {
        a_repetitive_call_is_cut_and_not_run(&CLAUDE_CODE);
        a_repetitive_call_is_cut_and_not_run(&COPILOT);
    }

    #[test]
    fn a_repetitive_call_is_cut_and_not_run_over_chat() {
        a_repetitive_call_is_cut_and_not_run(&OPENCODE);
    }
}
