//! Belay between the real CLIs and their model: each story is told once for every agent, through `belay run` and with
//! its proxy alone (`--no-hooks`), unless it says otherwise.
//!
//! `cargo build --bins` must have made `belay` first.

mod cutting;
mod healthy;
mod looping;
mod rope;
mod spending;
mod together;
mod wiretap;

/// The stories, for one agent after the other.
macro_rules! for_each_agent {
    ($($agent:ident = $recipe:ident,)*) => { $(
        mod $agent {
            use belay_agent_tests::recipe::$recipe;

            #[test]
            fn what_leaves_for_the_model_is_what_the_agent_sent() {
                super::healthy::what_leaves_for_the_model_is_what_the_agent_sent(&$recipe);
            }

            #[test]
            fn a_loop_ends_in_one_refused_request_and_a_resume_goes_on_in_the_same_conversation() {
                super::looping::a_loop_ends_in_one_refused_request_and_a_resume_goes_on(&$recipe);
            }

            #[test]
            fn a_budget_stops_it_before_the_next_request() {
                super::spending::a_budget_stops_it_before_the_next_request(&$recipe);
            }

            #[test]
            fn chanting_is_cut_off_and_the_agent_goes_on() {
                super::cutting::chanting_is_cut_off_and_the_agent_goes_on(&$recipe);
            }

            #[test]
            fn hooks_and_proxy_are_one_session() {
                super::together::hooks_and_proxy_are_one_session(&$recipe);
            }
        }
    )* };
}

for_each_agent! {
    codex = CODEX,
    claude_code = CLAUDE_CODE,
    gemini = GEMINI,
    copilot = COPILOT,
    opencode = OPENCODE,
}
