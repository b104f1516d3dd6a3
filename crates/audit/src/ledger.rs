//! A session's cost, split by model and by day.

use std::collections::BTreeMap;

use belay_core::Timestamp;
use belay_core::event::Usage;
use belay_core::session::Charge;
use jiff::civil::Date;
use jiff::tz::TimeZone;

/// Usage and cost of one model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelSpend {
    /// The model's name, as the agent reports it.
    pub model: String,
    /// Tokens.
    pub usage: Usage,
    /// Millionths of a US dollar.
    pub cost_micros: u64,
    /// Whether the price is known; otherwise only tokens are counted.
    pub priced: bool,
}

/// Activity and cost of one day.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DaySpend {
    /// Tool calls.
    pub calls: u64,
    /// Tokens.
    pub tokens: u64,
    /// Millionths of a US dollar.
    pub cost_micros: u64,
}

/// A session's charges by model and by day. Their total is the session's own.
#[derive(Debug)]
pub(crate) struct Ledger {
    pub(crate) models: Vec<ModelSpend>,
    pub(crate) days: BTreeMap<Date, DaySpend>,
    zone: TimeZone,
    /// The day of the last event, in milliseconds. Events are ordered, so it rarely changes.
    today: Option<(i64, i64, Date)>,
}

const UNKNOWN_MODEL: &str = "unknown model";

impl Ledger {
    pub(crate) fn new(zone: TimeZone) -> Self {
        Self { models: Vec::new(), days: BTreeMap::new(), zone, today: None }
    }

    pub(crate) fn call(&mut self, at: Timestamp) {
        if let Some(day) = self.day(at) {
            day.calls += 1;
        }
    }

    pub(crate) fn charge(&mut self, at: Timestamp, charge: &Charge<'_>) {
        let model = charge.model.unwrap_or(UNKNOWN_MODEL);
        let row = match self.models.iter().position(|known| known.model == model) {
            Some(row) => row,
            None => {
                self.models.push(ModelSpend {
                    model: model.to_owned(),
                    usage: Usage::default(),
                    cost_micros: 0,
                    priced: false,
                });
                self.models.len() - 1
            }
        };
        let entry = &mut self.models[row];
        let cost = charge.cost_micros.unwrap_or(0);
        entry.usage.add(&charge.usage);
        entry.priced |= charge.cost_micros.is_some();
        entry.cost_micros = entry.cost_micros.saturating_add(cost);
        if let Some(day) = self.day(at) {
            day.tokens = day.tokens.saturating_add(charge.usage.total());
            day.cost_micros = day.cost_micros.saturating_add(cost);
        }
    }

    fn day(&mut self, at: Timestamp) -> Option<&mut DaySpend> {
        if !at.is_known() {
            return None;
        }
        let millis = at.millis();
        let date = match self.today {
            Some((from, to, date)) if (from..to).contains(&millis) => date,
            _ => {
                let zoned = jiff::Timestamp::from_millisecond(millis).ok()?.to_zoned(self.zone.clone());
                let from = zoned.start_of_day().ok()?;
                let to = from.tomorrow().ok()?;
                let bounds = (from.timestamp().as_millisecond(), to.timestamp().as_millisecond());
                self.today = Some((bounds.0, bounds.1, zoned.date()));
                zoned.date()
            }
        };
        Some(self.days.entry(date).or_default())
    }
}
