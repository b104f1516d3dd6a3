use super::*;

#[test]
fn the_built_in_table_is_valid_and_dated() {
    let prices = Prices::built_in();
    assert_eq!(prices.as_of.len(), "2025-01-01".len());
    for (name, row) in &prices.rows {
        let price = ModelPrice::parse(row).unwrap_or_else(|| panic!("{name} {row}"));
        assert_eq!(canonical(name), *name);
        assert!(price.rates.output >= price.rates.input && price.rates.input >= price.rates.cache_read, "{name} {row}");
        assert!(price.window >= 8_000 && price.window <= 20_000_000, "{name} {row}");
        assert!(price.long_context.is_sorted_by_key(|(threshold, _)| *threshold), "{name} {row}");
    }
}

#[test]
fn default_models_of_current_agents_have_a_price() {
    for model in ["claude-opus-5-5", "claude-sonnet-5", "claude-haiku-4-5-20251001", "gpt-6.1-sol", "gpt-5.5"] {
        assert!(ModelPrice::for_model(model, &[]).is_some(), "{model}");
    }
}

#[test]
fn models_are_found_however_agents_spell_them() {
    let opus = ModelPrice::for_model("claude-opus-4-1-20250805", &[]).unwrap();
    assert_eq!(ModelPrice::for_model("anthropic/claude-opus-4.1", &[]).unwrap(), opus);
    assert_eq!(ModelPrice::for_model("us.anthropic.claude-opus-4-1-20250805-v1:0", &[]).unwrap(), opus);
    assert_eq!(ModelPrice::for_model("claude-opus-4-1@20250805", &[]).unwrap(), opus);
    assert_eq!(ModelPrice::for_model("Claude-Opus-4-1[1m]", &[]).unwrap(), opus);
    assert_ne!(ModelPrice::for_model("claude-opus-4.5", &[]).unwrap(), opus);
    let dated = ModelPrice::for_model("gpt-4.1-2025-04-14", &[]);
    assert!(dated.is_some() && dated == ModelPrice::for_model("gpt-4.1", &[]));
}

#[test]
fn a_model_never_gets_the_price_of_a_shorter_name() {
    let unknown = ["some-model", "gpt-5-terra-max", "claude-opus-5-5-ultra", "claude-opus-4-1-fast", "gpt-6.1", "o3-x"];
    for model in unknown {
        assert_eq!(ModelPrice::for_model(model, &[]), None, "{model}");
    }
}

#[test]
fn cost_adds_up_by_kind_of_token() {
    let sonnet = ModelPrice::for_model("claude-sonnet-4-0", &[]).unwrap();
    let usage = Usage { input: 1_000, output: 2_000, cache_read: 100_000, cache_write: 10_000, ..Usage::default() };
    // 0.003 + 0.03 + 0.03 + 0.0375 dollars
    assert_eq!(sonnet.cost_micros(&usage), 100_500);
}

#[test]
fn a_long_context_has_its_own_rates() {
    let price = ModelPrice::parse("1 2 0 0 500 >100 10 20 0 0 >200 100 200 0 0").unwrap();
    let cost = |input: u64| price.cost_micros(&Usage { input, ..Usage::default() });
    assert_eq!([100, 101, 200, 201, 500].map(cost), [100, 1_010, 2_000, 20_100, 50_000]);
    assert_eq!(cost(501), 501, "more than the window is the sum of several requests");
}

#[test]
fn own_rows_come_first() {
    let own = [PriceRow {
        matches: "claude-*".into(),
        input: 1.0,
        output: 1.0,
        cache_read: 0.0,
        cache_write: 0.0,
        window: None,
    }];
    let usage = Usage { input: 1_000_000, ..Usage::default() };
    assert_eq!(ModelPrice::for_model("claude-sonnet-4-5", &own).unwrap().cost_micros(&usage), 1_000_000);
}

#[test]
fn the_assumed_price_is_the_stated_one() {
    assert_eq!(ModelPrice::assumed_for(None).phrase(), ASSUMED_PRICE_PHRASE);
    assert_eq!(ModelPrice::assumed_for(Some("gpt-99-unheard-of")).phrase(), ASSUMED_PRICE_PHRASE);
    // A cheap family does not get the price of an expensive one.
    assert_eq!(ModelPrice::assumed_for(Some("google/gemini-9-pro")).phrase(), ASSUMED_PRICE_PHRASE);
    let o1_pro = ModelPrice::for_model("o1-pro", &[]).unwrap();
    assert_eq!(ModelPrice::assumed_for(Some("o9-pro-2030-01-01")).phrase(), o1_pro.phrase());
}

/// If a row were missing, a budget would still hold. Models with a window that no agent's prompt fits into do not count.
#[test]
fn no_known_model_costs_more_than_is_assumed_of_it() {
    const MIN_WINDOW: u64 = 32_000;
    for (name, line) in &Prices::built_in().rows {
        let price = ModelPrice::parse(line).unwrap();
        let assumed = ModelPrice::assumed_for(Some(name));
        let covers = price.rates.input <= assumed.rates.input && price.rates.output <= assumed.rates.output;
        assert!(covers || price.window < MIN_WINDOW, "{name}: {} > {}", price.phrase(), assumed.phrase());
    }
}

#[test]
fn no_sum_overflows() {
    let price = ModelPrice::for_model("o1", &[]).unwrap();
    let most =
        Usage { input: u64::MAX, output: u64::MAX, cache_read: u64::MAX, cache_write: u64::MAX, ..Usage::default() };
    assert_eq!(price.cost_micros(&most), u64::MAX);
}

#[test]
fn a_cache_write_for_an_hour_costs_twice_the_input() {
    let price = ModelPrice::for_model("claude-sonnet-4-5", &[]).expect("it has a price");
    let usage = |kept| Usage { cache_write: 1_000_000, cache_write_1h: kept, ..Usage::default() };
    assert_eq!(price.cost_micros(&usage(0)), 3_750_000);
    assert_eq!(price.cost_micros(&usage(1_000_000)), 6_000_000);
    assert_eq!(price.cost_micros(&usage(400_000)), 4_650_000);
}

#[test]
fn a_provider_without_a_surcharge_has_one_price_for_writes() {
    let price = ModelPrice::for_model("gpt-5", &[]).expect("it has a price");
    let usage = |kept| Usage { cache_write: 1_000, cache_write_1h: kept, ..Usage::default() };
    assert_eq!(price.cost_micros(&usage(0)), price.cost_micros(&usage(1_000)));
}

/// Input, output, cache read and cache write as genai-prices 0.2.2 has them; `cargo xtask prices` compares all models.
#[test]
fn a_second_source_has_the_same_prices() {
    for (model, rates) in SECOND_SOURCE {
        let price = ModelPrice::for_model(model, &[]).unwrap_or_else(|| panic!("{model} has no price"));
        let Rates { input, output, cache_read, cache_write } = price.rates;
        let ours = [input, output, cache_read, cache_write].map(|micros| micros as f64 / 1e6);
        assert_eq!(ours, *rates, "{model}");
    }
}

const SECOND_SOURCE: &[(&str, [f64; 4])] = &[
    ("claude-opus-5-5", [4.0, 20.0, 0.2, 5.0]),
    ("claude-sonnet-5", [2.0, 10.0, 0.2, 2.5]),
    ("claude-sonnet-4-5", [3.0, 15.0, 0.3, 3.75]),
    ("claude-haiku-4-5", [1.0, 5.0, 0.1, 1.25]),
    ("claude-opus-4-1", [15.0, 75.0, 1.5, 18.75]),
    ("gpt-5.5", [5.0, 30.0, 0.5, 5.0]),
    ("gpt-5.4", [2.5, 15.0, 0.25, 2.5]),
    ("gpt-5", [1.25, 10.0, 0.125, 1.25]),
    ("gpt-5-mini", [0.25, 2.0, 0.025, 0.25]),
    ("gpt-4.1", [2.0, 8.0, 0.5, 2.0]),
    ("gemini-2.5-pro", [1.25, 10.0, 0.125, 1.25]),
    ("gemini-2.5-flash", [0.3, 2.5, 0.03, 0.3]),
];
