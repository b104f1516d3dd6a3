//! Belay's hooks inside the real CLIs: installed by `belay init`, called by the agent, answered by `belay`. The tests
//! check what reaches the model and what the agent does next.

mod approving;
mod belay;
mod faults;
mod healthy;
mod hostile_repository;
mod looping;
mod parallel_sessions;
mod pausing;
mod plugin;

belay_agent_tests::for_each_agent! {
    looping::a_loop_is_nudged_at_the_right_call_and_the_model_reads_why,
    pausing::ignored_nudges_end_in_a_pause_that_a_resume_lifts_and_a_kill_that_it_does_not,
    healthy::healthy_work_is_not_disturbed,
    parallel_sessions::parallel_sessions_and_calls_do_not_mix,
    faults::killing_the_resident_process_changes_nothing,
    hostile_repository::a_hostile_repository_loosens_nothing,
    faults::an_agent_continues_without_a_working_belay,
}

belay_agent_tests::for_each_agent! { qwen QWEN: faults::an_agent_continues_without_a_working_belay }
