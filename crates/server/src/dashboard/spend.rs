//! Spend by day, project, model and agent. Days are those of the user's time zone.

use std::collections::BTreeMap;

use belay_core::Timestamp;
use belay_ipc::views::{CostView, SpendView};
use belay_store::{Result, SpendRow, Store};
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::Serialize;

const HOUR_MILLIS: i64 = 3_600_000;

/// Spend over several days.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct SpendReport {
    pub days: u32,
    pub total: CostView,
    /// By day, oldest first; each day is present.
    pub by_day: Vec<SpendView>,
    /// The following lists begin with the highest cost.
    pub by_project: Vec<SpendView>,
    pub by_model: Vec<SpendView>,
    pub by_agent: Vec<SpendView>,
}

/// Spend of the last `days` days up to `now`, today included.
pub fn spend_report(store: &dyn Store, now: Timestamp, days: u32, zone: &TimeZone) -> Result<SpendReport> {
    let today = date_of(now, zone);
    let dates: Vec<jiff::civil::Date> = (0..i64::from(days.max(1)))
        .rev()
        .filter_map(|back| today.checked_sub(jiff::Span::new().days(back)).ok())
        .collect();
    let from = dates.first().map_or(0, |date| first_hour(*date, zone));
    let rows = store.spend(from, now.millis().div_euclid(HOUR_MILLIS) + 1)?;
    let mut by_day: BTreeMap<String, SpendView> = dates.iter().map(|date| named(&date.to_string())).collect();
    for row in &rows {
        let date = date_of(Timestamp::from_millis(row.hour * HOUR_MILLIS), zone).to_string();
        add(by_day.entry(date.clone()).or_insert_with(|| named(&date).1), row);
    }
    Ok(SpendReport {
        days,
        total: total(&rows),
        by_day: by_day.into_values().collect(),
        by_project: grouped(&rows, |row| &row.project),
        by_model: grouped(&rows, |row| &row.model),
        by_agent: grouped(&rows, |row| &row.agent),
    })
}

/// The spend rows of today, and the hour since 1970 at which today began.
pub(super) fn today(store: &dyn Store, now: Timestamp, zone: &TimeZone) -> Result<(Vec<SpendRow>, i64)> {
    let from = first_hour(date_of(now, zone), zone);
    Ok((store.spend(from, now.millis().div_euclid(HOUR_MILLIS) + 1)?, from))
}

/// The first hour since 1970 that belongs to a day. Where days begin within an hour, as in India, that hour belongs to the
/// day before.
fn first_hour(date: jiff::civil::Date, zone: &TimeZone) -> i64 {
    (start_of(date, zone) + HOUR_MILLIS - 1).div_euclid(HOUR_MILLIS)
}

/// When the day of `now` began.
pub(crate) fn day_start(now: Timestamp, zone: &TimeZone) -> Timestamp {
    Timestamp::from_millis(start_of(date_of(now, zone), zone))
}

pub(super) fn total(rows: &[SpendRow]) -> CostView {
    rows.iter().fold(CostView::default(), |sum, row| CostView {
        calls: 0,
        tokens: sum.tokens.saturating_add(row.tokens),
        cost_micros: sum.cost_micros.saturating_add(row.cost_micros),
        unpriced_micros: sum.unpriced_micros.saturating_add(row.unpriced_micros),
    })
}

/// Sums by a name, highest cost first.
pub(super) fn grouped(rows: &[SpendRow], name: impl Fn(&SpendRow) -> &String) -> Vec<SpendView> {
    let mut groups: BTreeMap<&str, SpendView> = BTreeMap::new();
    for row in rows {
        let name = name(row).as_str();
        add(groups.entry(name).or_insert_with(|| named(name).1), row);
    }
    let mut groups: Vec<SpendView> = groups.into_values().collect();
    let cost = |spend: &SpendView| spend.cost_micros.saturating_add(spend.unpriced_micros);
    groups.sort_by_key(|spend| (std::cmp::Reverse(cost(spend)), std::cmp::Reverse(spend.tokens)));
    groups
}

fn named(name: &str) -> (String, SpendView) {
    (name.to_owned(), SpendView { name: name.to_owned(), ..SpendView::default() })
}

fn add(sum: &mut SpendView, row: &SpendRow) {
    sum.tokens = sum.tokens.saturating_add(row.tokens);
    sum.cost_micros = sum.cost_micros.saturating_add(row.cost_micros);
    sum.unpriced_micros = sum.unpriced_micros.saturating_add(row.unpriced_micros);
}

fn date_of(at: Timestamp, zone: &TimeZone) -> jiff::civil::Date {
    jiff::Timestamp::from_millisecond(at.millis()).unwrap_or_default().to_zoned(zone.clone()).date()
}

/// Milliseconds since 1970 at which a day begins.
fn start_of(date: jiff::civil::Date, zone: &TimeZone) -> i64 {
    date.to_zoned(zone.clone()).map_or(0, |start| start.timestamp().as_millisecond())
}
