//! The five CLIs as they are, without Belay: a healthy run, a loop, parallel calls, a resumed session. What Belay does
//! to an agent is judged against this ground.

mod resuming;
mod same;
mod sharing;
mod wires;
mod working;

macro_rules! for_each_agent {
    ($($agent:ident = $recipe:ident),* $(,)?) => { $(
        mod $agent {
            use belay_agent_tests::recipe::$recipe;

            #[test]
            fn does_its_work_to_the_end() {
                super::working::does_its_work_to_the_end(&$recipe);
            }

            #[test]
            fn loops_as_long_as_the_model_does() {
                super::working::loops_as_long_as_the_model_does(&$recipe);
            }

            #[test]
            fn runs_four_calls_of_one_turn() {
                super::working::runs_four_calls_of_one_turn(&$recipe);
            }

            #[test]
            fn takes_up_a_session_again() {
                super::resuming::takes_up_a_session_again(&$recipe);
            }

            #[test]
            fn two_sessions_share_a_folder() {
                super::sharing::two_sessions_share_a_folder(&$recipe);
            }

            #[test]
            fn tells_the_same_story_twice() {
                super::same::tells_the_same_story_twice(&$recipe);
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
