use super::super::quotas::MAX_QUOTAS;
use super::*;

const NOW: Timestamp = Timestamp::from_millis(1_760_000_000_000);

fn report(limits: &Limits, credential: Option<Digest>, quotas: Vec<ReportedQuota>, at: Timestamp) {
    limits.report(&account("claude-code"), credential, quotas, at);
}

fn quota(limit: &str, used_percent: f64, resets_at: Option<Timestamp>) -> ReportedQuota {
    ReportedQuota::new("Anthropic", limit, used_percent, resets_at)
}

fn later(seconds: u64) -> Timestamp {
    NOW + Duration::from_secs(seconds)
}

fn shown(limits: &Limits, at: Timestamp) -> Vec<f32> {
    limits.view(at).iter().map(|quota| quota.used_percent).collect()
}

#[test]
fn the_last_report_holds_until_the_reset() {
    let dir = tempfile::tempdir().unwrap();
    let limits = Limits::load(dir.path());
    let first = vec![quota("5 hours", 10.0, Some(later(60))), quota("requests", 5.0, None)];
    report(&limits, Some(Digest(9)), first, NOW);
    report(&limits, Some(Digest(9)), vec![quota("5 hours", 20.0, Some(later(60)))], later(1));
    report(&limits, Some(Digest(9)), vec![quota("5 hours", 15.0, Some(later(60)))], NOW);
    report(&limits, Some(Digest(7)), vec![quota("week", 90.0, Some(later(600)))], later(2));
    let mut now = shown(&limits, later(3));
    now.sort_by(f32::total_cmp);
    assert_eq!(now, [5.0, 20.0, 90.0], "an older report does not replace a newer one");
    assert_eq!(shown(&limits, later(60)).len(), 2, "the limit was reset");
    assert_eq!(shown(&limits, later(2 * 86_400)), [] as [f32; 0]);
}

#[test]
fn quotas_are_known_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let before = Limits::load(dir.path());
    report(&before, None, vec![quota("week", 62.0, Some(later(600)))], NOW);
    assert_eq!(shown(&Limits::load(dir.path()), later(1)), [] as [f32; 0], "not written yet");
    before.save();
    assert_eq!(shown(&Limits::load(dir.path()), later(1)), [62.0]);
    assert_eq!(Limits::load(dir.path()).resets_at(&account("claude-code"), NOW), None, "it is not used up");
    std::fs::write(dir.path().join("limits.json"), "[{").unwrap();
    assert_eq!(shown(&Limits::load(dir.path()), later(1)), [] as [f32; 0], "a damaged file is ignored");
}

#[test]
fn a_limit_of_an_unnamed_account_is_shown_unless_the_account_is_known() {
    let dir = tempfile::tempdir().unwrap();
    let limits = Limits::load(dir.path());
    report(&limits, None, vec![quota("week", 40.0, None)], NOW);
    assert_eq!(shown(&limits, NOW), [40.0]);
    report(&limits, Some(Digest(7)), vec![quota("week", 41.0, None)], NOW);
    assert_eq!(shown(&limits, NOW), [41.0]);
    report(&limits, None, vec![quota("week", 55.0, None)], later(3_600));
    assert!(shown(&limits, later(3_600)).contains(&55.0), "the agent no longer uses the proxy");
}

#[test]
fn the_number_of_quotas_is_bounded() {
    let dir = tempfile::tempdir().unwrap();
    let limits = Limits::load(dir.path());
    for n in 0..200 {
        report(&limits, None, vec![quota(&format!("limit {n}"), 1.0, None)], later(n));
    }
    let view = limits.view(later(200));
    assert_eq!(view.len(), MAX_QUOTAS);
    assert!(view.iter().any(|quota| quota.limit == "limit 199"));
}
