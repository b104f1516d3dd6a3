use super::*;

const NOW: Timestamp = Timestamp::from_millis(1_760_000_000_000);

fn quotas(dir: &tempfile::TempDir) -> Quotas {
    Quotas::load(&Paths::resolve(&belay_config::EnvSnapshot::default(), Some(dir.path())).unwrap())
}

fn quota(limit: &str, used_percent: f64, resets_at: Option<Timestamp>) -> ReportedQuota {
    ReportedQuota::new("Anthropic", limit, used_percent, resets_at)
}

fn later(seconds: u64) -> Timestamp {
    NOW + Duration::from_secs(seconds)
}

fn shown(quotas: &Quotas, at: Timestamp) -> Vec<f32> {
    quotas.view(at).iter().map(|quota| quota.used_percent).collect()
}

#[test]
fn the_last_report_holds_until_the_reset() {
    let dir = tempfile::tempdir().unwrap();
    let quotas = quotas(&dir);
    quotas.report(Some(Digest(9)), vec![quota("5 hours", 10.0, Some(later(60))), quota("requests", 5.0, None)], NOW);
    quotas.report(Some(Digest(9)), vec![quota("5 hours", 20.0, Some(later(60)))], later(1));
    quotas.report(Some(Digest(9)), vec![quota("5 hours", 15.0, Some(later(60)))], NOW);
    quotas.report(Some(Digest(7)), vec![quota("week", 90.0, Some(later(600)))], later(2));
    let mut now = shown(&quotas, later(3));
    now.sort_by(f32::total_cmp);
    assert_eq!(now, [5.0, 20.0, 90.0], "an older report does not replace a newer one");
    assert_eq!(shown(&quotas, later(60)).len(), 2, "the limit was reset");
    assert_eq!(shown(&quotas, later(2 * 86_400)), [] as [f32; 0]);
}

#[test]
fn quotas_are_known_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let before = quotas(&dir);
    before.report(None, vec![quota("week", 62.0, Some(later(600)))], NOW);
    assert_eq!(shown(&quotas(&dir), later(1)), [] as [f32; 0], "not written yet");
    before.save();
    assert_eq!(shown(&quotas(&dir), later(1)), [62.0]);
    std::fs::write(&before.file, "[{").unwrap();
    assert_eq!(shown(&quotas(&dir), later(1)), [] as [f32; 0], "a damaged file is ignored");
}

#[test]
fn a_limit_of_an_unnamed_account_is_shown_unless_the_account_is_known() {
    let dir = tempfile::tempdir().unwrap();
    let quotas = quotas(&dir);
    quotas.report(None, vec![quota("week", 40.0, None)], NOW);
    assert_eq!(shown(&quotas, NOW), [40.0]);
    quotas.report(Some(Digest(7)), vec![quota("week", 41.0, None)], NOW);
    assert_eq!(shown(&quotas, NOW), [41.0]);
    quotas.report(None, vec![quota("week", 55.0, None)], later(3_600));
    assert!(shown(&quotas, later(3_600)).contains(&55.0), "the agent no longer uses the proxy");
}

#[test]
fn the_number_of_quotas_is_bounded() {
    let dir = tempfile::tempdir().unwrap();
    let quotas = quotas(&dir);
    for n in 0..200 {
        quotas.report(None, vec![quota(&format!("limit {n}"), 1.0, None)], later(n));
    }
    let view = quotas.view(later(200));
    assert_eq!(view.len(), MAX_QUOTAS);
    assert!(view.iter().any(|quota| quota.limit == "limit 199"));
}
