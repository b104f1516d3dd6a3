//! Belay's hooks inside the real CLIs: installed by `belay init`, told by the agent, answered by `belay`, and judged by
//! what reaches the model and what the agent does then.

mod faults;
mod healthy;
mod holding;
mod looping;
mod plugin;
mod rope;
mod sharing;

macro_rules! for_each_agent {
    ($($agent:ident = $recipe:ident),* $(,)?) => { $(
        mod $agent {
            use belay_agent_tests::recipe::$recipe;

            #[test]
            fn a_loop_is_nudged_at_the_right_call_and_the_model_reads_why() {
                super::looping::a_loop_is_nudged_at_the_right_call_and_the_model_reads_why(&$recipe);
            }

            #[test]
            fn ignored_nudges_end_in_a_pause_that_a_person_lifts_and_a_kill_that_nobody_lifts() {
                super::holding::ignored_nudges_end_in_a_pause_that_a_person_lifts_and_a_kill_that_nobody_lifts(
                    &$recipe,
                );
            }

            #[test]
            fn healthy_work_is_left_alone() {
                super::healthy::healthy_work_is_left_alone(&$recipe);
            }

            #[test]
            fn two_sessions_and_four_calls_at_once_do_not_mix() {
                super::sharing::two_sessions_and_four_calls_at_once_do_not_mix(&$recipe);
            }

            #[test]
            fn killing_the_resident_process_changes_nothing() {
                super::faults::killing_the_resident_process_changes_nothing(&$recipe);
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
