//! Spending: prices, budgets, and the spend since the last progress.

use super::evidence::evaluation;
use super::{Budget, Session};
use crate::detect::Trigger;
use crate::effect::{Effect, Spend};
use crate::event::{Body, Event, ModelAnswered, ModelAsked, SharedSpend, Usage};
use crate::prices::ModelPrice;
use crate::rules::{Rules, UnknownModel};

/// What one event adds to the total of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charge<'a> {
    /// The model that answered; the session's current one if the event does not name it.
    pub model: Option<&'a str>,
    /// Tokens.
    pub usage: Usage,
    /// Millionths of a US dollar; `None` if the price is unknown.
    pub cost_micros: Option<u64>,
    /// An unknown cost at the assumed price, in millionths of a US dollar; 0 if the rules ignore it.
    pub unpriced_micros: u64,
}

impl Session {
    /// The charge for an event that is being applied or was applied last; `None` if it costs nothing. The session adds
    /// up charges, and reports that split its total by day or model split the same charges.
    pub fn charge<'a>(&'a self, event: &'a Event, rules: &Rules) -> Option<Charge<'a>> {
        self.charge_at(self.price(event, rules).as_ref(), event, rules)
    }

    /// The price of the tokens that an event reports: of the model that it names, or of the session's current one.
    fn price(&self, event: &Event, rules: &Rules) -> Option<ModelPrice> {
        let (model, usage) = match &event.body {
            Body::ModelAnswered(answer) => (&answer.model, &answer.usage),
            Body::Learned(fact) => (&fact.model, &fact.usage),
            _ => return None,
        };
        usage.as_ref()?;
        ModelPrice::for_model(model.as_deref().or(self.facts.model.as_deref())?, &rules.prices)
    }

    /// Like [`Session::charge`], at a known price.
    fn charge_at<'a>(&'a self, price: Option<&ModelPrice>, event: &'a Event, rules: &Rules) -> Option<Charge<'a>> {
        let (model, usage, reported) = match &event.body {
            Body::ModelAnswered(answer) => (&answer.model, answer.usage, answer.cost_micros),
            Body::Learned(fact) => (&fact.model, fact.usage, None),
            _ => return None,
        };
        if usage.is_none() && reported.is_none() {
            return None;
        }
        let model = model.as_deref().or(self.facts.model.as_deref());
        // A reported cost overrides the price table.
        let cost_micros = reported.or_else(|| Some(price?.cost_micros(&usage?)));
        let usage = usage.unwrap_or_default();
        let unpriced_micros = match (cost_micros, rules.budget.unknown_model) {
            (None, UnknownModel::Estimate | UnknownModel::Refuse) => ModelPrice::assumed_for(model).cost_micros(&usage),
            _ => 0,
        };
        Some(Charge { model, usage, cost_micros, unpriced_micros })
    }

    /// Adds the charge for an event, and how full the context window was when it was answered.
    pub(super) fn record_spend(&mut self, event: &Event, rules: &Rules) {
        let price = self.price(event, rules);
        if let Body::ModelAnswered(ModelAnswered { usage: Some(usage), auxiliary: false, .. }) = &event.body {
            self.meter.fill = (usage.context(), price.as_ref().map_or(0, |price| price.window));
        }
        let Some(Charge { model, usage, cost_micros, unpriced_micros }) = self.charge_at(price.as_ref(), event, rules)
        else {
            return;
        };
        let unpriced = cost_micros.is_none() && usage != Usage::default();
        let cost = cost_micros.unwrap_or(0);
        if unpriced {
            self.facts.unpriced_model = Some(model.unwrap_or("an unnamed model").to_owned());
        }
        self.meter.unpriced = unpriced;
        self.meter.add(usage.total(), cost.saturating_add(unpriced_micros), event.at);
        for spent in [&mut self.spent, &mut self.clock.since] {
            spent.usage.add(&usage);
            spent.cost_micros = spent.cost_micros.saturating_add(cost);
            spent.unpriced_micros = spent.unpriced_micros.saturating_add(unpriced_micros);
        }
    }

    /// Pauses before a model without a price is used, if the rules refuse it.
    pub(super) fn refuse_unpriced_model(
        &mut self,
        event: &Event,
        ask: &ModelAsked,
        rules: &Rules,
        effects: &mut Vec<Effect>,
    ) {
        if rules.budget.unknown_model != UnknownModel::Refuse {
            return;
        }
        let Some(model) = ask.model.as_deref().or(self.facts.model.as_deref()) else { return };
        self.meter.unpriced = ModelPrice::for_model(model, &rules.prices).is_none();
        if self.meter.unpriced {
            self.facts.unpriced_model = Some(model.to_owned());
            self.check_budgets(event, rules, effects);
        }
    }

    /// Notifies the operator once that a limit in US dollars applies to a model without a price.
    fn warn_of_unpriced_model(&mut self, effects: &mut Vec<Effect>) {
        let estimates = self.unknown_model == UnknownModel::Estimate && self.has_money_limit();
        let Some(model) = self.facts.unpriced_model.as_deref().filter(|_| estimates && !self.meter.unpriced_warned)
        else {
            return;
        };
        let assumed = ModelPrice::assumed_for(Some(model)).phrase();
        let sentence = format!(
            "{model} has no price. Its tokens count towards the budget at an assumed price: {assumed}. \
             `detect.prices` sets its price."
        );
        self.meter.unpriced_warned = true;
        effects.push(Effect::NotifyOperator { pattern: "unpriced_model".to_owned(), sentence });
    }

    /// Whether any limit is in US dollars.
    fn has_money_limit(&self) -> bool {
        self.limits.iter().skip(1).step_by(2).any(|limit| *limit > 0)
    }

    /// The model that the rules refuse because its price is unknown.
    pub(crate) fn refused_model(&self) -> Option<&str> {
        let refuses = self.unknown_model == UnknownModel::Refuse && self.meter.unpriced && self.has_money_limit();
        self.facts.unpriced_model.as_deref().filter(|_| refuses)
    }

    pub(super) fn check_budgets(&mut self, event: &Event, rules: &Rules, effects: &mut Vec<Effect>) {
        if event.at.is_known() && self.clock.at.is_known() {
            self.clock.since.millis =
                u64::try_from(event.at.saturating_since(self.clock.at).as_millis()).unwrap_or(u64::MAX);
        }
        self.load_limits(rules);
        self.warn_of_unpriced_model(effects);
        self.evaluate(evaluation(Trigger::Spent, self.last_call_index(), event), rules, effects);
    }

    /// Something is about to be spent: what limits it is to be known before.
    pub(super) fn load_limits(&mut self, rules: &Rules) {
        self.limits = limits(&self.budget, rules);
        self.unknown_model = rules.budget.unknown_model;
    }

    /// A person says what this session may cost. It counts at once, for the next answer.
    pub(super) fn set_budget(&mut self, budget: &Budget) {
        self.budget = budget.or(&self.budget);
        self.limits[0] = budget.tokens.unwrap_or(self.limits[0]);
        self.limits[1] = budget.cost_micros.unwrap_or(self.limits[1]);
    }

    /// Sub-agents spent something: it counts here too.
    pub(super) fn descendant_spend(
        &mut self,
        event: &Event,
        beneath: &Spend,
        rules: &Rules,
        effects: &mut Vec<Effect>,
    ) {
        let tokens = beneath.usage.total().saturating_sub(self.beneath.usage.total());
        let cost = beneath.max_cost_micros().saturating_sub(self.beneath.max_cost_micros());
        self.meter.add(tokens, cost, event.at);
        self.beneath = *beneath;
        self.check_budgets(event, rules, effects);
    }

    /// Whether there is a budget that what sub-agents cost could use up.
    pub fn has_budget(&self, rules: &Rules) -> bool {
        limits(&self.budget, rules).iter().any(|limit| *limit > 0)
    }

    /// The budget that is used up most: percent of it, and its name.
    pub(crate) fn highest_budget_use(&self) -> Option<(u32, &'static str)> {
        if self.refused_model().is_some() {
            return Some((100, "money budget"));
        }
        let used = self.used();
        let percent = |(at, limit): (usize, &u64)| {
            (*limit > 0)
                .then(|| (u32::try_from(used[at].saturating_mul(100) / limit).unwrap_or(u32::MAX), LIMIT_NAMES[at]))
        };
        self.limits.iter().enumerate().filter_map(percent).max_by_key(|(percent, _)| *percent)
    }

    /// What may still be spent before a budget is used up; `None` where there is no such limit.
    pub fn remaining_budget(&self) -> Budget {
        let used = self.used();
        let left = |at: usize| (self.limits[at] > 0).then(|| self.limits[at].saturating_sub(used[at]));
        // Tokens and money alternate; rates come last and are not sums.
        let least = |first: usize| (first..CUMULATIVE_LIMITS).step_by(2).filter_map(left).min();
        Budget { tokens: least(0), cost_micros: least(1) }
    }

    /// The limits of this session alone; `None` where there is none.
    pub fn own_limits(&self) -> Budget {
        let limit = |at: usize| Some(self.limits[at]).filter(|limit| *limit > 0);
        Budget { tokens: limit(0), cost_micros: limit(1) }
    }

    /// Whether other sessions spend from a budget that limits this one.
    pub fn has_shared_budget(&self) -> bool {
        self.limits[SHARED_LIMITS].iter().any(|limit| *limit > 0)
    }

    /// What has been used, in the order of [`NAMES`].
    fn used(&self) -> [u64; LIMIT_COUNT] {
        let (day, own_tokens, own_cost) = self.meter.today();
        let tokens = self.spent.usage.total().saturating_add(self.beneath.usage.total());
        let cost = self.spent.max_cost_micros().saturating_add(self.beneath.max_cost_micros());
        // Without a reported total over all sessions, at least this session counts.
        let today = if self.shared.day >= day { self.shared } else { SharedSpend::default() };
        let (per_minute, cost_per_minute) = self.meter.per_minute();
        let own_day = if self.shared.day > day { (0, 0) } else { (own_tokens, own_cost) };
        [
            tokens,
            cost,
            today.project.tokens.max(own_day.0),
            today.project.cost_micros.max(own_day.1),
            today.account.tokens.max(own_day.0),
            today.account.cost_micros.max(own_day.1),
            per_minute,
            cost_per_minute,
        ]
    }
}

/// How many limits there are; tokens and money by turns.
pub(super) const LIMIT_COUNT: usize = 8;
/// Those of them that sessions share.
const SHARED_LIMITS: std::ops::Range<usize> = 2..6;
/// How many of them, from the first on, are sums; the others are speeds.
const CUMULATIVE_LIMITS: usize = 6;

const LIMIT_NAMES: [&str; LIMIT_COUNT] = [
    "session's token budget",
    "session's money budget",
    "project's token budget for the day",
    "project's money budget for the day",
    "account's token budget for the day",
    "account's money budget for the day",
    "limit of tokens per minute",
    "limit of money per minute",
];

/// Limits in the order of [`NAMES`]; 0 for none. What an operator set wins.
fn limits(own: &Budget, rules: &Rules) -> [u64; LIMIT_COUNT] {
    let mut limits = rules.budget.limits();
    limits[0] = own.tokens.unwrap_or(limits[0]);
    limits[1] = own.cost_micros.unwrap_or(limits[1]);
    limits
}
