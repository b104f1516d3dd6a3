//! Belay's hooks inside the real CLIs: installed by `belay init`, told by the agent, answered by `belay`, and judged by
//! what reaches the model and what the agent does then.

mod faults;
mod healthy;
mod holding;
mod looping;
mod plugin;
mod rope;
mod sharing;

belay_agent_tests::for_each_agent! {
    looping::a_loop_is_nudged_at_the_right_call_and_the_model_reads_why,
    holding::ignored_nudges_end_in_a_pause_that_a_person_lifts_and_a_kill_that_nobody_lifts,
    healthy::healthy_work_is_left_alone,
    sharing::two_sessions_and_four_calls_at_once_do_not_mix,
    faults::killing_the_resident_process_changes_nothing,
}
