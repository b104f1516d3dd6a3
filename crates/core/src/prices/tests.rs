use super::*;

#[test]
fn the_built_in_table_is_valid_and_dated() {
    let prices = Prices::built_in();
    assert_eq!(prices.as_of.len(), "2025-01-01".len());
    for row in &prices.rows {
        assert!(row.output > row.input && row.input >= row.cache_read, "{} looks wrong", row.matches);
        assert!(row.window.is_some_and(|window| window >= 100_000), "{} has no window", row.matches);
    }
}

#[test]
fn models_are_found_however_agents_spell_them() {
    let opus = ModelPrice::for_model("claude-opus-4-1-20250805", &[]).unwrap();
    assert_eq!(ModelPrice::for_model("anthropic/claude-opus-4.1", &[]), Some(opus));
    assert_eq!(ModelPrice::for_model("us.anthropic.claude-opus-4-1-20250805-v1:0", &[]), Some(opus));
    assert_ne!(ModelPrice::for_model("claude-opus-4.5", &[]), Some(opus));
    assert!(ModelPrice::for_model("gpt-4.1", &[]).is_some());
    assert_eq!(ModelPrice::for_model("gpt-5.1-codex-mini", &[]), ModelPrice::for_model("gpt-5-mini", &[]));
    assert_eq!(ModelPrice::for_model("some-model-nobody-knows", &[]), None);
}

#[test]
fn cost_adds_up_by_kind_of_token() {
    let sonnet = ModelPrice::for_model("claude-sonnet-4-5", &[]).unwrap();
    let usage = Usage { input: 1_000, output: 2_000, cache_read: 100_000, cache_write: 10_000 };
    // 0.003 + 0.03 + 0.03 + 0.0375 dollars
    assert_eq!(sonnet.cost_micros(&usage), 100_500);
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
fn no_sum_overflows() {
    let tariff = ModelPrice::for_model("o1", &[]).unwrap();
    let most = Usage { input: u64::MAX, output: u64::MAX, cache_read: u64::MAX, cache_write: u64::MAX };
    assert_eq!(tariff.cost_micros(&most), u64::MAX);
}
