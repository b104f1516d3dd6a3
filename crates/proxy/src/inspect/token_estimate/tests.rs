use proptest::prelude::*;

use super::*;

fn response(bytes: u64, complete: bool, usage: Option<Usage>) -> ResponseSummary {
    ResponseSummary { output_bytes: bytes, complete, usage, ..ResponseSummary::default() }
}

fn estimated(mut answered: ResponseSummary, question: PromptTokens) -> Option<Usage> {
    answered.fill_missing_usage(question);
    answered.usage
}

fn usage(input: u64, cache_read: u64, output: u64) -> Usage {
    Usage { input, output, cache_read, cache_write: 0, ..Usage::default() }
}

const QUESTION: PromptTokens = PromptTokens { tokens: 1000, before: None };

#[test]
fn what_nobody_told_is_estimated_from_what_was_asked_and_said() {
    assert_eq!(estimated(response(400, true, None), QUESTION), Some(usage(1000, 0, 100)));
    assert_eq!(estimated(response(400, false, None), QUESTION), Some(usage(1000, 0, 100)));
    let zeros = Some(Usage::default());
    assert_eq!(estimated(response(400, true, zeros), QUESTION), Some(usage(1000, 0, 100)), "zeros tell nothing");
    let call = ResponseSummary { tool_calls: 1, complete: true, ..ResponseSummary::default() };
    assert_eq!(estimated(call, QUESTION), Some(usage(1000, 0, 1)), "a call without any input is an answer, too");
}

#[test]
fn what_was_told_is_believed() {
    let reported = Some(usage(7, 3, 5));
    assert_eq!(estimated(response(40_000, true, reported), QUESTION), reported);
    let begun = Some(usage(7, 3, 1));
    assert_eq!(
        estimated(response(400, false, begun), QUESTION),
        Some(usage(7, 3, 100)),
        "but not a beginning for the end"
    );
    let most = Some(usage(7, 3, 500));
    assert_eq!(estimated(response(400, false, most), QUESTION), most, "thoughts nobody sees count");
}

#[test]
fn an_answer_without_a_word_costs_what_it_tells_and_no_more() {
    assert_eq!(estimated(response(0, true, None), QUESTION), None);
    assert_eq!(estimated(response(0, false, None), QUESTION), None);
    let reported = Some(usage(9, 0, 1));
    assert_eq!(estimated(response(0, false, reported), QUESTION), reported);
}

#[test]
fn as_much_of_a_question_comes_from_the_cache_as_of_the_one_before() {
    let before = Some(usage(100, 300, 50));
    assert_eq!(
        estimated(response(400, false, None), PromptTokens { tokens: 1000, before }),
        Some(usage(250, 750, 100))
    );
}

#[test]
fn a_picture_counts_for_less_than_its_letters() {
    let words = "Look at the picture, and fix what it shows. ".repeat(1000);
    let picture = "iVBORw0KGgoAAAANSUhEUgAA".repeat(50_000);
    let body = format!(r#"{{"messages":[{{"text":"{words}"}},{{"url":"data:image/png;base64,{picture}"}}]}}"#);
    let (with, without) = (estimate_prompt_tokens(body.as_bytes()), estimate_prompt_tokens(words.as_bytes()));
    assert!(with.abs_diff(without) < 2 * SAMPLE_STRIDE as u64, "{with} {without}");
}

proptest! {
    #[test]
    fn no_figure_runs_over_or_gets_lost(text_bytes: u64, complete: bool, tokens: u64, reported: Option<[u64; 3]>, before: Option<[u64; 3]>) {
        let of = |[input, cache_read, output]: [u64; 3]| usage(input, cache_read, output);
        let (reported, before) = (reported.map(of), before.map(of));
        let found = estimated(response(text_bytes, complete, reported), PromptTokens { tokens, before });
        prop_assert_eq!(found.is_some(), text_bytes > 0 || reported.is_some());
        let (found, reported) = (found.unwrap_or_default(), reported.unwrap_or_default());
        prop_assert!(found.output >= reported.output);
        prop_assert_eq!(found.context(), if reported.context() > 0 || text_bytes == 0 { reported.context() } else { tokens });
    }

    #[test]
    fn a_question_never_counts_for_more_than_its_length(body in proptest::collection::vec(any::<u8>(), 0..20_000)) {
        prop_assert!(estimate_prompt_tokens(&body) <= body.len() as u64 / 4);
    }
}
