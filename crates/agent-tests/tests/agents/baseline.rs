//! The CLIs without Belay: a healthy run, a loop, parallel calls, a resumed session. The other suites compare with
//! this.

mod model_apis;
mod parallel_sessions;
mod repeatability;
mod resuming;
mod single_session;

belay_agent_tests::for_each_agent! {
    single_session::finishes_its_work,
    single_session::loops_as_long_as_the_model_loops,
    single_session::runs_four_calls_of_one_turn,
    resuming::resumes_a_session,
    parallel_sessions::two_sessions_share_a_dir,
    repeatability::two_equal_runs_are_equal,
}

// Qwen Code has its own guard, which ends a run after five equal calls, and sometimes loses the output of a command.
belay_agent_tests::for_each_agent! { qwen QWEN: single_session::finishes_its_work, resuming::resumes_a_session }
