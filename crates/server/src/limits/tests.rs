use belay_core::Excerpt;
use belay_core::event::{ModelAnswered, ModelFailed, UsageLimitHit};

use super::*;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(seconds * 1000)
}

fn event(source: Source, body: Body) -> Event {
    Event::new("e1", SessionKey::new("codex", "s1"), source, at(1_000), body)
}

fn limit_hit(resets_at: Option<Timestamp>) -> Event {
    event(Source::Transcript, Body::LimitHit(UsageLimitHit { what: Excerpt::new("weekly limit"), resets_at }))
}

fn failed(status: u16, retry_at: Option<Timestamp>) -> Event {
    let message = Excerpt::new("slow down");
    event(Source::Proxy, Body::ModelFailed(ModelFailed { status: Some(status), message, retry_at }))
}

/// When the limit of an event ends, and when it was hit.
fn hit(event: &Event, now: i64) -> Option<(Option<Timestamp>, Timestamp)> {
    match change(event, at(now)) {
        Some(LimitChange::Hit { until, at, .. }) => Some((until, at)),
        Some(LimitChange::Refused { until, at, .. }) => Some((Some(until), at)),
        Some(LimitChange::Answered { .. }) | None => None,
    }
}

#[test]
fn usage_limits_and_refusals_with_a_time_are_limits() {
    assert_eq!(hit(&limit_hit(Some(at(5_000))), 1_001), Some((Some(at(5_000)), at(1_000))));
    assert_eq!(hit(&limit_hit(None), 1_001), Some((None, at(1_000))));
    assert_eq!(hit(&failed(429, Some(at(5_000))), 1_001), Some((Some(at(5_000)), at(1_000))));
    assert_eq!(hit(&failed(429, None), 1_001), None);
    assert_eq!(hit(&failed(529, Some(at(5_000))), 1_001), None, "the provider is overloaded");
}

#[test]
fn what_an_old_session_file_tells_is_over() {
    assert_eq!(hit(&limit_hit(Some(at(5_000))), 5_000), None);
    assert_eq!(hit(&limit_hit(None), 1_000 + 900), None);
}

#[test]
fn an_event_of_unknown_or_future_time_happened_now() {
    for time in [Timestamp::UNKNOWN, at(9_000)] {
        let event = Event { at: time, ..limit_hit(None) };
        assert_eq!(hit(&event, 1_001), Some((None, at(1_001))));
    }
}

#[test]
fn an_agent_cannot_limit_others_by_posting_an_event() {
    let posted = Event { source: Source::Unverified, ..limit_hit(None) };
    assert_eq!(change(&posted, at(1_001)), None);
}

#[test]
fn answers_of_auxiliary_requests_tell_nothing() {
    let answered =
        |auxiliary| event(Source::Proxy, Body::ModelAnswered(ModelAnswered { auxiliary, ..Default::default() }));
    assert_eq!(change(&answered(false), at(1_001)), Some(LimitChange::Answered { at: at(1_000) }));
    assert_eq!(change(&answered(true), at(1_001)), None);
}
