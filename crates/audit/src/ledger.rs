//! What a session cost: by model and by day.

use std::collections::BTreeMap;

use belay_core::Timestamp;
use belay_core::effect::Spend;
use belay_core::event::Usage;
use belay_core::prices::{ModelPrice, PriceRow};
use jiff::civil::Date;
use jiff::tz::TimeZone;

/// What was spent on one model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelSpend {
    /// As the agent names it.
    pub model: String,
    /// Tokens.
    pub usage: Usage,
    /// Millionths of a US dollar.
    pub cost_micros: u64,
    /// Whether the price is known; if not, only the tokens count.
    pub priced: bool,
}

/// What happened on one day.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DaySpend {
    /// Tool calls.
    pub calls: u64,
    /// Tokens.
    pub tokens: u64,
    /// Millionths of a US dollar.
    pub cost_micros: u64,
}

/// The running account of a session.
#[derive(Debug)]
pub(crate) struct Ledger {
    pub(crate) models: Vec<ModelSpend>,
    tariffs: Vec<Option<ModelPrice>>,
    pub(crate) days: BTreeMap<Date, DaySpend>,
    pub(crate) spent: Spend,
    zone: TimeZone,
    /// The day of the last event, in milliseconds: events come in order, so it is nearly always the same.
    today: Option<(i64, i64, Date)>,
    began: Timestamp,
    last: Timestamp,
}

const UNKNOWN_MODEL: &str = "unknown model";

impl Ledger {
    pub(crate) fn new(zone: TimeZone) -> Self {
        Self {
            models: Vec::new(),
            tariffs: Vec::new(),
            days: BTreeMap::new(),
            spent: Spend::default(),
            zone,
            today: None,
            began: Timestamp::UNKNOWN,
            last: Timestamp::UNKNOWN,
        }
    }

    /// Time passes.
    pub(crate) fn at(&mut self, at: Timestamp) {
        if !at.is_known() {
            return;
        }
        if !self.began.is_known() {
            self.began = at;
        }
        self.last = self.last.max(at);
        self.spent.millis = u64::try_from(self.last.saturating_since(self.began).as_millis()).unwrap_or(u64::MAX);
    }

    pub(crate) fn call(&mut self, at: Timestamp) {
        self.spent.calls += 1;
        if let Some(day) = self.day(at) {
            day.calls += 1;
        }
    }

    /// Tokens of one answer. What the agent says it cost wins over the table.
    pub(crate) fn answer(
        &mut self,
        at: Timestamp,
        model: Option<&str>,
        usage: &Usage,
        said: Option<u64>,
        own: &[PriceRow],
    ) {
        let model = model.unwrap_or(UNKNOWN_MODEL);
        let row = match self.models.iter().position(|known| known.model == model) {
            Some(row) => row,
            None => {
                self.tariffs.push(ModelPrice::for_model(model, own));
                self.models.push(ModelSpend {
                    model: model.to_owned(),
                    usage: Usage::default(),
                    cost_micros: 0,
                    priced: false,
                });
                self.models.len() - 1
            }
        };
        let cost = said.or_else(|| self.tariffs[row].map(|tariff| tariff.cost_micros(usage)));
        let entry = &mut self.models[row];
        entry.usage.add(usage);
        entry.priced |= cost.is_some();
        let cost = cost.unwrap_or(0);
        entry.cost_micros += cost;
        self.spent.usage.add(usage);
        self.spent.cost_micros += cost;
        if let Some(day) = self.day(at) {
            day.tokens += usage.total();
            day.cost_micros += cost;
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

/// What was spent between two moments.
pub(crate) fn spend_between(from: &Spend, to: &Spend) -> Spend {
    Spend {
        calls: to.calls.saturating_sub(from.calls),
        usage: Usage {
            input: to.usage.input.saturating_sub(from.usage.input),
            output: to.usage.output.saturating_sub(from.usage.output),
            cache_read: to.usage.cache_read.saturating_sub(from.usage.cache_read),
            cache_write: to.usage.cache_write.saturating_sub(from.usage.cache_write),
        },
        cost_micros: to.cost_micros.saturating_sub(from.cost_micros),
        millis: to.millis.saturating_sub(from.millis),
    }
}

/// Adds up.
pub(crate) fn add(sum: &mut Spend, more: &Spend) {
    sum.calls = sum.calls.saturating_add(more.calls);
    sum.usage.add(&more.usage);
    sum.cost_micros = sum.cost_micros.saturating_add(more.cost_micros);
    sum.millis = sum.millis.saturating_add(more.millis);
}
