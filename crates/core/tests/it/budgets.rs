//! Budget thresholds: the operator is notified at the configured share and not a token or a millionth of a
//! dollar earlier, and the session is paused when the budget is exhausted.

use belay_core::event::{ModelAnswered, ModelAsked, Operator, OperatorDecision, Usage};
use belay_core::rules::{BudgetRules, UnknownModel};
use belay_core::session::Budget;
use belay_core::{Body, Effect, Event, Excerpt, InterventionLevel, Rules, Session, SessionKey, Source, Timestamp};

/// 2026-01-01, noon, so that no day or minute ends during a test.
const NOON: i64 = 1_767_268_800_000;

#[derive(Clone, Copy, Debug)]
enum Unit {
    Tokens,
    Micros,
}

/// A session that only spends.
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

    /// Applies an event and returns the levels of its interventions.
    fn apply(&mut self, source: Source, body: Body) -> Vec<InterventionLevel> {
        self.events += 1;
        let key = self.session.key.clone();
        let event = Event::new(format!("e{}", self.events), key, source, Timestamp::from_millis(NOON), body);
        let step = |effect: Effect| match effect {
            Effect::Intervened(step) => {
                assert_eq!(step.finding.pattern, "budget");
                Some(step.level)
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
            // Some sensors report the cost but not the tokens.
            Unit::Micros => ModelAnswered { cost_micros: Some(amount), ..ModelAnswered::default() },
        };
        self.apply(Source::Proxy, Body::ModelAnswered(answer))
    }

    /// Checks that the warning and the pause come at exactly these amounts.
    fn assert_limits_at(mut self, soft: u64, hard: u64, what: &str) {
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
    // Rates are averaged over five minutes, so five times the limit may be spent at once.
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
        Spender::new(limited(budget), unit).assert_limits_at(minutes * 800_000, minutes * 1_000_000, name);
    }
}

#[test]
fn the_share_is_the_configured_one() {
    let mut rules = limited(BudgetRules { session_tokens: 1_000, ..BudgetRules::default() });
    rules.patterns.budget.notice_at = Some(65);
    rules.patterns.budget.pause_at = Some(90);
    Spender::new(rules, Unit::Tokens).assert_limits_at(650, 900, "65 % and 90 %");
}

#[test]
fn a_share_that_is_no_whole_number_is_reached_above_it() {
    // 80 % of 1,001 tokens are 800.8.
    let rules = limited(BudgetRules { session_tokens: 1_001, ..BudgetRules::default() });
    Spender::new(rules, Unit::Tokens).assert_limits_at(801, 1_001, "1,001 tokens");
}

#[test]
fn dollars_are_taken_to_the_millionth() {
    // Binary floating point represents these slightly too low.
    for (usd, micros) in [(2.01, 2_010_000), (1.001, 1_001_000), (4.1, 4_100_000)] {
        let rules = limited(BudgetRules { session_usd: usd, ..BudgetRules::default() });
        Spender::new(rules, Unit::Micros).assert_limits_at(micros * 4 / 5, micros, &format!("${usd}"));
    }
}

#[test]
fn what_a_person_allows_is_meant_just_as_exactly() {
    let budgets = [(Unit::Tokens, Some(500_000), None), (Unit::Micros, None, Some(2_500_000))];
    for (unit, tokens, cost_micros) in budgets {
        let mut spender = Spender::new(Rules::default(), unit);
        let decision = OperatorDecision::Budget(Budget { tokens, cost_micros });
        let budget = Body::Operator(Operator { decision, note: Excerpt::default(), by: None, caller: None });
        assert_eq!(spender.apply(Source::Operator, budget), []);
        let hard = tokens.or(cost_micros).unwrap();
        spender.assert_limits_at(hard * 4 / 5, hard, "a person's budget");
    }
}

/// A response of 100,000 output tokens by a model without a price: $7.50 at the assumed price.
fn unpriced_answer() -> Body {
    Body::ModelAnswered(ModelAnswered {
        model: Some("gpt-99-unheard-of".into()),
        usage: Some(Usage { output: 100_000, ..Usage::default() }),
        ..ModelAnswered::default()
    })
}

fn with_unknown_model(unknown_model: UnknownModel) -> Spender {
    let budget = BudgetRules { session_usd: 5.0, unknown_model, ..BudgetRules::default() };
    Spender::new(limited(budget), Unit::Micros)
}

#[test]
fn a_model_without_a_price_counts_at_an_assumed_price() {
    let mut spender = with_unknown_model(UnknownModel::Estimate);
    assert_eq!(spender.apply(Source::Proxy, unpriced_answer()), [InterventionLevel::Pause]);
    let spent = spender.session.spent;
    assert_eq!((spent.cost_micros, spent.unpriced_micros), (0, 7_500_000));
    assert_eq!(spender.session.facts.unpriced_model.as_deref(), Some("gpt-99-unheard-of"));
    let sentence = &spender.session.incident.as_ref().unwrap().sentence;
    assert!(sentence.contains("~$7.50") && !sentence.contains("$0"), "{sentence}");
}

#[test]
fn the_operator_is_warned_of_a_model_without_a_price_once() {
    let (rules, mut session) = (
        limited(BudgetRules { session_usd: 500.0, ..BudgetRules::default() }),
        Session::new(SessionKey::new("script", "main")),
    );
    let mut warned = 0;
    for n in 0..3 {
        let at = Timestamp::from_millis(NOON + n);
        let event = Event::new(format!("e{n}"), session.key.clone(), Source::Proxy, at, unpriced_answer());
        for effect in session.apply(&event, &rules) {
            if let Effect::NotifyOperator { pattern, sentence } = effect {
                assert_eq!(pattern, "unpriced_model");
                assert!(sentence.contains("gpt-99-unheard-of") && sentence.contains("$75"), "{sentence}");
                warned += 1;
            }
        }
    }
    assert_eq!(warned, 1);
}

#[test]
fn a_refused_model_is_paused_before_it_is_used() {
    let mut spender = with_unknown_model(UnknownModel::Refuse);
    let ask = |model: &str| Body::ModelAsked(ModelAsked { model: Some(model.into()), ..ModelAsked::default() });
    assert_eq!(spender.apply(Source::Proxy, ask("claude-sonnet-5")), []);
    assert_eq!(spender.apply(Source::Proxy, ask("gpt-99-unheard-of")), [InterventionLevel::Pause]);
    assert!(spender.session.state.is_paused());
    let sentence = &spender.session.incident.as_ref().unwrap().sentence;
    assert!(sentence.contains("gpt-99-unheard-of has no price"), "{sentence}");
}

#[test]
fn an_ignored_model_costs_nothing_and_tokens_still_count() {
    let mut spender = with_unknown_model(UnknownModel::Ignore);
    assert_eq!(spender.apply(Source::Proxy, unpriced_answer()), []);
    assert_eq!((spender.session.spent.max_cost_micros(), spender.session.tokens()), (0, 100_000));
}

#[test]
fn without_a_limit_in_dollars_nothing_is_refused() {
    let budget =
        BudgetRules { session_tokens: 1_000_000, unknown_model: UnknownModel::Refuse, ..BudgetRules::default() };
    let mut spender = Spender::new(limited(budget), Unit::Tokens);
    assert_eq!(spender.apply(Source::Proxy, unpriced_answer()), []);
}
