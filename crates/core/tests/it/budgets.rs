//! Where a budget begins to count: a person is told at the configured share and not a token or a millionth of a dollar
//! before, and the session is held when all of it is used.

use belay_core::event::{ModelAnswered, Operator, OperatorDecision, Usage};
use belay_core::rules::BudgetRules;
use belay_core::{Body, Effect, Event, Excerpt, InterventionLevel, Rules, Session, SessionKey, Source, Timestamp};

/// 2026-01-01, noon: neither a day nor a minute ends while a test spends.
const NOON: i64 = 1_767_268_800_000;

#[derive(Clone, Copy, Debug)]
enum Unit {
    Tokens,
    Micros,
}

/// A session that does nothing but spend.
struct Spender {
    session: Session,
    rules: Rules,
    unit: Unit,
    events: u32,
}

impl Spender {
    fn new(rules: Rules, unit: Unit) -> Self {
        Self { session: Session::new(SessionKey::new("script", "main")), rules, unit, events: 0 }
    }

    /// Takes an event in; the rungs that are stepped on.
    fn hears(&mut self, source: Source, body: Body) -> Vec<InterventionLevel> {
        self.events += 1;
        let key = self.session.key.clone();
        let event = Event::new(format!("e{}", self.events), key, source, Timestamp::from_millis(NOON), body);
        let step = |effect: Effect| match effect {
            Effect::Intervened(step) => {
                assert_eq!(step.finding.pattern, "budget");
                Some(step.rung)
            }
            _ => None,
        };
        self.session.apply(&event, &self.rules).into_iter().filter_map(step).collect()
    }

    fn spends(&mut self, amount: u64) -> Vec<InterventionLevel> {
        let answer = match self.unit {
            Unit::Tokens => ModelAnswered {
                usage: Some(Usage { output: amount, ..Usage::default() }),
                cost_micros: Some(0),
                ..ModelAnswered::default()
            },
            // Some sensors know what an answer cost, and not of how many tokens.
            Unit::Micros => ModelAnswered { cost_micros: Some(amount), ..ModelAnswered::default() },
        };
        self.hears(Source::Proxy, Body::ModelAnswered(answer))
    }

    /// Warned and held exactly at these amounts.
    fn must_be_told_at(mut self, soft: u64, hard: u64, what: &str) {
        assert_eq!(self.spends(soft - 1), [], "{what}: one before the warning");
        assert_eq!(self.spends(1), [InterventionLevel::Notice], "{what}: the warning");
        assert!(!self.session.state.is_paused(), "{what}: a warning holds nobody");
        assert_eq!(self.spends(hard - soft - 1), [], "{what}: one before the end");
        assert!(!self.session.state.is_paused(), "{what}: there is one left");
        assert_eq!(self.spends(1), [InterventionLevel::Pause], "{what}: the end");
        assert!(self.session.state.is_paused(), "{what}: before the next call");
    }
}

fn limited(budget: BudgetRules) -> Rules {
    let mut rules = Rules::default();
    rules.budget = budget;
    rules
}

#[test]
fn every_limit_warns_at_eighty_percent_and_holds_at_a_hundred() {
    use Unit::{Micros, Tokens};
    let none = BudgetRules::default();
    // Speeds are measured over five minutes: five times as much may come at once.
    let limits = [
        ("session_tokens", Tokens, 1, BudgetRules { session_tokens: 1_000_000, ..none }),
        ("session_usd", Micros, 1, BudgetRules { session_usd: 1.0, ..none }),
        ("day_tokens", Tokens, 1, BudgetRules { day_tokens: 1_000_000, ..none }),
        ("day_usd", Micros, 1, BudgetRules { day_usd: 1.0, ..none }),
        ("account_day_tokens", Tokens, 1, BudgetRules { account_day_tokens: 1_000_000, ..none }),
        ("account_day_usd", Micros, 1, BudgetRules { account_day_usd: 1.0, ..none }),
        ("tokens_per_minute", Tokens, 5, BudgetRules { tokens_per_minute: 1_000_000, ..none }),
        ("usd_per_minute", Micros, 5, BudgetRules { usd_per_minute: 1.0, ..none }),
    ];
    for (name, unit, minutes, budget) in limits {
        Spender::new(limited(budget), unit).must_be_told_at(minutes * 800_000, minutes * 1_000_000, name);
    }
}

#[test]
fn the_share_is_the_configured_one() {
    let mut rules = limited(BudgetRules { session_tokens: 1_000, ..BudgetRules::default() });
    rules.patterns.budget.notice_at = Some(65);
    rules.patterns.budget.pause_at = Some(90);
    Spender::new(rules, Unit::Tokens).must_be_told_at(650, 900, "65 % and 90 %");
}

#[test]
fn a_share_that_is_no_whole_number_is_reached_above_it() {
    // 80 % of 1,001 tokens are 800.8.
    let rules = limited(BudgetRules { session_tokens: 1_001, ..BudgetRules::default() });
    Spender::new(rules, Unit::Tokens).must_be_told_at(801, 1_001, "1,001 tokens");
}

#[test]
fn dollars_are_taken_to_the_millionth() {
    // As binary fractions these are a little less than what they say.
    for (usd, micros) in [(2.01, 2_010_000), (1.001, 1_001_000), (4.1, 4_100_000)] {
        let rules = limited(BudgetRules { session_usd: usd, ..BudgetRules::default() });
        Spender::new(rules, Unit::Micros).must_be_told_at(micros * 4 / 5, micros, &format!("${usd}"));
    }
}

#[test]
fn what_a_person_allows_is_meant_just_as_exactly() {
    let budgets = [(Unit::Tokens, Some(500_000), None), (Unit::Micros, None, Some(2_500_000))];
    for (unit, tokens, cost_micros) in budgets {
        let mut spender = Spender::new(Rules::default(), unit);
        let decision = OperatorDecision::Budget { tokens, cost_micros };
        let budget = Body::Operator(Operator { decision, note: Excerpt::default(), by: None });
        assert_eq!(spender.hears(Source::Operator, budget), []);
        let hard = tokens.or(cost_micros).unwrap();
        spender.must_be_told_at(hard * 4 / 5, hard, "a person's budget");
    }
}
