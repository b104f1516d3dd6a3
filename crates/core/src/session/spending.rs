//! Tokens and money: prices, budgets, the clock of progress.

use super::evidence::evaluation_trigger;
use super::{Budget, Session};
use crate::detect::Trigger;
use crate::effect::{Effect, Spend};
use crate::event::{Event, ModelAnswered, SharedSpend, Usage};
use crate::rules::Rules;

impl Session {
    /// Books what an answer cost; the table fills in what the sensor does not know.
    pub(super) fn record_spend(
        &mut self,
        event: &Event,
        model: Option<&str>,
        usage: Option<&Usage>,
        told: Option<u64>,
        rules: &Rules,
    ) {
        let named = model.or(self.facts.model.as_deref()).map(str::to_owned);
        let cost = self.meter.record_answer(named.as_deref(), usage, told, event.at, &rules.prices);
        for spent in [&mut self.spent, &mut self.clock.since] {
            if let Some(usage) = usage {
                spent.usage.add(usage);
            }
            spent.cost_micros = spent.cost_micros.saturating_add(cost);
        }
    }

    /// How full the window is, after a real turn.
    pub(super) fn record_context_fill(&mut self, answer: &ModelAnswered, rules: &Rules) {
        if let Some(usage) = answer.usage.filter(|_| !answer.auxiliary) {
            let named = answer.model.as_deref().or(self.facts.model.as_deref()).map(str::to_owned);
            self.meter.record_context_fill(named.as_deref(), &usage, &rules.prices);
        }
    }

    pub(super) fn check_budgets(&mut self, event: &Event, rules: &Rules, effects: &mut Vec<Effect>) {
        if event.at.is_known() && self.clock.at.is_known() {
            self.clock.since.millis =
                u64::try_from(event.at.saturating_since(self.clock.at).as_millis()).unwrap_or(u64::MAX);
        }
        self.load_limits(rules);
        self.evaluate(evaluation_trigger(Trigger::Spent, self.last_call_index(), event), rules, effects);
    }

    /// Something is about to be spent: what limits it is to be known before.
    pub(super) fn load_limits(&mut self, rules: &Rules) {
        self.limits = limits(&self.budget, rules);
    }

    /// A person says what this session may cost. It counts at once, for the next answer.
    pub(super) fn set_budget(&mut self, tokens: Option<u64>, cost_micros: Option<u64>) {
        self.budget.tokens = tokens.or(self.budget.tokens);
        self.budget.cost_micros = cost_micros.or(self.budget.cost_micros);
        self.limits[0] = tokens.unwrap_or(self.limits[0]);
        self.limits[1] = cost_micros.unwrap_or(self.limits[1]);
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
        let cost = beneath.cost_micros.saturating_sub(self.beneath.cost_micros);
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
        // Tokens and money by turns; speeds come last and are no sums.
        let least = |first: usize| (first..CUMULATIVE_LIMITS).step_by(2).filter_map(left).min();
        Budget { tokens: least(0), cost_micros: least(1) }
    }

    /// Whether other sessions spend from a budget that limits this one.
    pub fn has_shared_budget(&self) -> bool {
        self.limits[SHARED_LIMITS].iter().any(|limit| *limit > 0)
    }

    /// What has been used, in the order of [`NAMES`].
    fn used(&self) -> [u64; LIMIT_COUNT] {
        let (day, own_tokens, own_cost) = self.meter.today();
        let tokens = self.spent.usage.total().saturating_add(self.beneath.usage.total());
        let cost = self.spent.cost_micros.saturating_add(self.beneath.cost_micros);
        // Where nobody adds up over sessions, at least this one counts.
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
    let micros = |usd: f64| (usd.max(0.0) * 1e6).round() as u64;
    let budget = &rules.budget;
    [
        own.tokens.unwrap_or(budget.session_tokens),
        own.cost_micros.unwrap_or_else(|| micros(budget.session_usd)),
        budget.day_tokens,
        micros(budget.day_usd),
        budget.account_day_tokens,
        micros(budget.account_day_usd),
        budget.tokens_per_minute,
        micros(budget.usd_per_minute),
    ]
}
