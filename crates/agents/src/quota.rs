//! How much of an account's limits is used, as its provider reported it.

use belay_core::Timestamp;

/// A limit and how much of it is used.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportedQuota {
    pub provider: &'static str,
    /// "5 hours", "week", "requests".
    pub limit: String,
    pub used_percent: f32,
    pub resets_at: Option<Timestamp>,
}

impl ReportedQuota {
    pub fn new(provider: &'static str, limit: &str, percent: f64, resets_at: Option<Timestamp>) -> Self {
        Self { provider, limit: limit.to_owned(), used_percent: percent.clamp(0.0, 100.0) as f32, resets_at }
    }
}

/// The name of a limit by the length of its window: "5 hours", "week", "30 minutes".
pub fn window_name(minutes: u64) -> String {
    // ChatGPT's windows of five hours and of a week are sometimes reported one minute short.
    let minutes = if minutes.saturating_add(1).is_multiple_of(60) { minutes + 1 } else { minutes };
    match minutes {
        10_080 => "week".to_owned(),
        1_440 => "day".to_owned(),
        minutes if minutes >= 1_440 && minutes.is_multiple_of(1_440) => format!("{} days", minutes / 1_440),
        60 => "hour".to_owned(),
        minutes if minutes >= 60 && minutes.is_multiple_of(60) => format!("{} hours", minutes / 60),
        minutes => format!("{minutes} minutes"),
    }
}
