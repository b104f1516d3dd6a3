mod quotas;

use super::*;
use crate::environment::Environment;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(seconds * 1000)
}

fn account(name: &str) -> AccountId {
    AccountId::from_name(name)
}

/// The limit that the account waits for.
fn limit(limits: &Limits, name: &str, now: Timestamp) -> Option<Limit> {
    match limits.admit(&account(name), 9, now) {
        Admission::Limited(limit) => Some(limit),
        Admission::Go(_) | Admission::Busy => None,
    }
}

fn go(limits: &Limits, name: &str, most: usize, now: Timestamp) -> Option<Slot> {
    match limits.admit(&account(name), most, now) {
        Admission::Go(slot) => Some(slot),
        Admission::Busy | Admission::Limited(_) => None,
    }
}

#[test]
fn a_limit_holds_for_its_account_until_it_resets_and_over_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let limits = Limits::load(dir.path());
    assert_eq!(limits.hit(&account("codex"), Some(at(500)), "weekly limit", at(100)), at(500));
    let limits = Limits::load(dir.path());
    assert_eq!(limit(&limits, "codex", at(499)).unwrap().message, "weekly limit");
    assert_eq!(limit(&limits, "codex", at(500)), None);
    assert_eq!(limit(&limits, "claude-code", at(200)), None);
}

#[test]
fn a_limit_without_a_credible_end_is_retried_after_a_while() {
    for until in [None, Some(at(50)), Some(at(100_000_000))] {
        let dir = tempfile::tempdir().unwrap();
        let limits = Limits::load(dir.path());
        assert_eq!(limits.hit(&account("codex"), until, "", at(100)), at(100 + 900));
    }
}

#[test]
fn a_limit_that_resets_within_a_minute_stops_nobody() {
    let dir = tempfile::tempdir().unwrap();
    let limits = Limits::load(dir.path());
    assert_eq!(limits.hit(&account("codex"), Some(at(159)), "slow down", at(100)), at(159));
    assert_eq!(limit(&limits, "codex", at(101)), None);
    limits.hit(&account("codex"), Some(at(160)), "slow down", at(100));
    assert!(limit(&limits, "codex", at(101)).is_some());
}

#[test]
fn a_limit_without_a_time_ends_when_it_or_the_quota_that_is_used_up_resets() {
    let dir = tempfile::tempdir().unwrap();
    let limits = Limits::load(dir.path());
    let quota = |limit, used, reset| ReportedQuota::new("OpenAI", limit, used, Some(at(reset)));
    let quotas = vec![quota("5 hours", 100.0, 3_000), quota("week", 40.0, 9_000)];
    limits.report(&account("codex"), None, quotas, at(90));
    assert_eq!(limits.hit(&account("codex"), None, "limit reached", at(100)), at(3_000));
    assert_eq!(limits.resets_at(&account("codex"), at(100)), Some(at(3_000)));
    assert_eq!(limits.resets_at(&account("codex"), at(3_000)), None);
    assert_eq!(limits.resets_at(&account("codex (/work/second)"), at(100)), None);
    limits.hit(&account("gemini"), Some(at(7_000)), "", at(100));
    assert_eq!(limits.hit(&account("gemini"), None, "", at(200)), at(7_000), "the banner repeats what is known");
}

#[test]
fn the_number_of_limits_is_bounded() {
    let dir = tempfile::tempdir().unwrap();
    let limits = Limits::load(dir.path());
    for n in 0..MAX_LIMITS + 9 {
        limits.hit(&account(&format!("agent-{n}")), Some(at(1_000 + i64::try_from(n).unwrap())), "", at(100));
    }
    assert_eq!(limit(&limits, "agent-8", at(101)), None);
    assert!(limit(&limits, "agent-9", at(101)).is_some());
}

#[test]
fn an_answer_ends_a_limit_unless_it_may_have_begun_before() {
    let dir = tempfile::tempdir().unwrap();
    let limits = Limits::load(dir.path());
    limits.hit(&account("codex"), Some(at(9_000)), "", at(100));
    limits.answered(&account("codex"), at(159));
    limits.answered(&account("gemini"), at(900));
    assert!(limit(&limits, "codex", at(160)).is_some());
    limits.answered(&account("codex"), at(160));
    assert_eq!(limit(&limits, "codex", at(160)), None);
    assert_eq!(limit(&Limits::load(dir.path()), "codex", at(160)), None, "also after a restart");
}

#[test]
fn a_limit_that_is_hit_again_after_an_answer_outlives_the_answers_of_another_model() {
    let dir = tempfile::tempdir().unwrap();
    let limits = Limits::load(dir.path());
    limits.hit(&account("claude-code"), Some(at(9_000)), "weekly limit of one model", at(100));
    limits.answered(&account("claude-code"), at(200));
    // The same event is read once more after a restart.
    let limits = Limits::load(dir.path());
    limits.hit(&account("claude-code"), Some(at(9_000)), "weekly limit of one model", at(100));
    limits.answered(&account("claude-code"), at(200));
    assert_eq!(limit(&limits, "claude-code", at(200)), None, "the first answer ends it");
    let limits = Limits::load(dir.path());
    for hit_at in [260, 400] {
        limits.hit(&account("claude-code"), Some(at(9_000)), "weekly limit of one model", at(hit_at));
        limits.answered(&account("claude-code"), at(hit_at + 60));
        assert!(limit(&limits, "claude-code", at(hit_at + 60)).is_some(), "that was another model");
    }
    let limits = Limits::load(dir.path());
    limits.answered(&account("claude-code"), at(8_999));
    assert!(limit(&limits, "claude-code", at(8_999)).is_some(), "also after a restart");
    limits.answered(&account("claude-code"), at(9_000));
    // What is hit after that is a new limit.
    limits.hit(&account("claude-code"), Some(at(20_000)), "5-hour limit", at(9_100));
    limits.answered(&account("claude-code"), at(9_200));
    assert_eq!(limit(&limits, "claude-code", at(9_200)), None);
}

#[test]
fn a_request_that_is_refused_for_a_while_does_not_shorten_a_limit() {
    let dir = tempfile::tempdir().unwrap();
    let limits = Limits::load(dir.path());
    limits.hit(&account("codex"), Some(at(9_000)), "weekly limit", at(100));
    limits.refused(&account("codex"), at(300), "slow down", at(200));
    let known = limit(&limits, "codex", at(200)).unwrap();
    assert_eq!((known.until, known.message.as_str()), (at(9_000), "weekly limit"));
    limits.refused(&account("codex"), at(9_500), "monthly limit", at(200));
    assert_eq!(limit(&limits, "codex", at(200)).unwrap().until, at(9_500));
    limits.hit(&account("codex"), Some(at(600)), "5-hour limit", at(300));
    assert_eq!(limit(&limits, "codex", at(300)).unwrap().until, at(600), "the agent itself knows better");
    limits.refused(&account("codex"), at(900), "slow down", at(700));
    assert_eq!(limit(&limits, "codex", at(700)).unwrap().until, at(900), "the other one has reset");
}

#[test]
fn after_a_reset_one_run_goes_first_until_it_is_answered() {
    let dir = tempfile::tempdir().unwrap();
    Limits::load(dir.path()).hit(&account("codex"), Some(at(500)), "", at(100));
    let limits = Limits::load(dir.path());
    let first = go(&limits, "codex", 3, at(500)).unwrap();
    assert!(go(&limits, "codex", 3, at(501)).is_none(), "the first one finds out");
    assert!(go(&limits, "claude-code", 3, at(501)).is_some(), "another account has no limit");
    drop(first);
    let second = go(&limits, "codex", 3, at(502)).expect("the first one ended without an answer");
    limits.answered(&account("codex"), at(510));
    let third = go(&limits, "codex", 3, at(510));
    assert!(third.is_some(), "the limit is over");
    drop((second, third));
    limits.hit(&account("codex"), Some(at(900)), "", at(520));
    assert!(limit(&limits, "codex", at(521)).is_some(), "the reset time was wrong");
}

#[test]
fn two_users_together_never_exceed_the_runs_of_an_account() {
    const RUNS: usize = 2;
    let dir = tempfile::tempdir().unwrap();
    let limits = Limits::load(dir.path());
    let running = std::sync::atomic::AtomicUsize::new(0);
    let most = std::sync::atomic::AtomicUsize::new(0);
    let finished = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                use std::sync::atomic::Ordering::SeqCst;
                // Each user has its own handle, as two drivers have.
                let limits = limits.clone();
                while finished.load(SeqCst) < 200 {
                    let Some(slot) = go(&limits, "codex", RUNS, at(1)) else {
                        std::thread::yield_now();
                        continue;
                    };
                    most.fetch_max(running.fetch_add(1, SeqCst) + 1, SeqCst);
                    std::thread::yield_now();
                    running.fetch_sub(1, SeqCst);
                    finished.fetch_add(1, SeqCst);
                    drop(slot);
                }
            });
        }
    });
    let most = most.into_inner();
    assert!((1..=RUNS).contains(&most), "{most} runs at once");
}

#[test]
fn a_slot_is_free_again_after_a_panic() {
    let dir = tempfile::tempdir().unwrap();
    let limits = Limits::load(dir.path());
    let slot = go(&limits, "codex", 1, at(1)).unwrap();
    assert!(go(&limits, "codex", 1, at(1)).is_none());
    let run = std::thread::spawn(move || {
        let _slot = slot;
        panic!("a bug");
    });
    assert!(run.join().is_err());
    assert!(go(&limits, "codex", 1, at(1)).is_some());
}

#[test]
fn adopted_runs_count() {
    let dir = tempfile::tempdir().unwrap();
    let limits = Limits::load(dir.path());
    let adopted = [limits.adopt(&account("codex")), limits.adopt(&account("codex"))];
    assert!(go(&limits, "codex", 2, at(1)).is_none());
    drop(adopted);
    assert!(go(&limits, "codex", 2, at(1)).is_some());
}

#[test]
fn the_files_of_earlier_versions_are_read_and_one_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let (limits_file, quotas_file) = (dir.path().join("limits.json"), dir.path().join("quotas.json"));
    std::fs::write(&limits_file, r#"{"codex":{"until":"1970-01-01T00:08:20Z","message":"weekly limit"}}"#).unwrap();
    let quota =
        r#"[{"account":"OpenAI 1f2e","limit":"week","used_percent":62.0,"reported_at":"1970-01-01T00:01:00Z"}]"#;
    std::fs::write(&quotas_file, quota).unwrap();
    let limits = Limits::load(dir.path());
    let check = |limits: &Limits| {
        assert_eq!(limit(limits, "codex", at(499)).unwrap().message, "weekly limit");
        let view = limits.view(at(100));
        assert_eq!((view.len(), view[0].account.as_str(), view[0].used_percent), (1, "OpenAI 1f2e", 62.0));
    };
    check(&limits);
    limits.hit(&account("gemini"), None, "", at(100));
    assert!(!quotas_file.exists());
    check(&Limits::load(dir.path()));
    for damaged in ["", "[{", "[]", "{\"limits\":3}"] {
        std::fs::write(&limits_file, damaged).unwrap();
        assert_eq!(limit(&Limits::load(dir.path()), "codex", at(499)), None, "{damaged:?}");
    }
}

#[test]
fn a_moved_configuration_directory_is_another_account() {
    let env = Environment::default().with([("HOME", "/home/user"), ("CODEX_HOME", "/work/second/")]);
    let agent = |name: &str| belay_agents::find(name).unwrap();
    let account = |name: &str, env: &Environment| AccountId::from_environment(agent(name), env).to_string();
    assert_eq!(account("codex", &env), "codex (/work/second)");
    assert_eq!(account("claude", &env), "claude-code");
    let default = env.with([("CODEX_HOME", "/home/user/.codex")]);
    assert_eq!(account("codex", &default), "codex", "it is where it always was");
}

#[test]
fn a_session_file_tells_the_account_of_its_session() {
    let account = |name: &str, transcript: Option<&str>| {
        let agent = belay_agents::find(name).unwrap();
        AccountId::from_transcript(agent, transcript.map(Path::new), Some(Path::new("/home/user"))).to_string()
    };
    assert_eq!(account("codex", None), "codex");
    assert_eq!(account("codex", Some("/home/user/.codex/sessions/2026/11/19/rollout-1.jsonl")), "codex");
    assert_eq!(account("codex", Some("/work/second/sessions/2026/11/19/rollout-1.jsonl")), "codex (/work/second)");
    let claude = "/home/user/projects/.claude-two/projects/-home-user-projects-app/1.jsonl";
    assert_eq!(account("claude", Some(claude)), "claude-code (/home/user/projects/.claude-two)");
    assert_eq!(account("claude", Some("/somewhere/else.jsonl")), "claude-code", "no directory of the agent");
}
