//! The five CLIs as they are, without Belay: a healthy run, a loop, parallel calls, a resumed session. What Belay does
//! to an agent is judged against this ground.

mod resuming;
mod same;
mod sharing;
mod wires;
mod working;

belay_agent_tests::for_each_agent! {
    working::does_its_work_to_the_end,
    working::loops_as_long_as_the_model_does,
    working::runs_four_calls_of_one_turn,
    resuming::takes_up_a_session_again,
    sharing::two_sessions_share_a_folder,
    same::tells_the_same_story_twice,
}
