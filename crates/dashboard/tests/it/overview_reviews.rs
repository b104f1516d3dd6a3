//! Review tasks in the attention list of the overview.

use std::sync::Arc;

use belay_dashboard::overview::OverviewPage;
use belay_dashboard::{Frame, Page, PageView as _};
use belay_ipc::views::{OverviewView, ReviewAttention, ReviewPhase, ReviewSummaryView};

use crate::fixtures;
use crate::html::{Tag, tags};

fn frame() -> Frame<'static> {
    fixtures::frame(Page::Overview, None)
}

fn page_of(view: OverviewView) -> OverviewPage {
    OverviewPage { view: Arc::new(view), ..OverviewPage::default() }
}

/// The row of one task.
fn row(task: ReviewSummaryView) -> String {
    let page = page_of(OverviewView { reviews: vec![task], ..OverviewView::default() });
    page.fragment(&frame(), "needs").expect("the overview has this part").into_string()
}

fn task(phase: ReviewPhase, attention: Option<ReviewAttention>) -> ReviewSummaryView {
    let done = fixtures::done_review().summary;
    ReviewSummaryView { phase, attention, landed: false, ..done }
}

/// What a row offers, in its order: decisions, dialogs and links.
fn offers(html: &str) -> Vec<String> {
    let offer = |tag: &Tag<'_>| {
        let decision = tag.get("value").filter(|_| tag.get("name") == Some("decision"));
        let asks = tag.get("data-ask").and_then(|dialog| dialog.strip_prefix("ask-review-"));
        let link = tag.get("class").filter(|class| class.starts_with("button")).map(|_| "link");
        decision.or(asks).or(link).map(str::to_owned)
    };
    tags(html).iter().filter(|tag| tag.name == "button" || tag.name == "a").filter_map(offer).collect()
}

fn hidden(html: &str, name: &str) -> Option<String> {
    let field = tags(html).into_iter().find(|tag| tag.name == "input" && tag.get("name") == Some(name))?;
    field.get("value").map(str::to_owned)
}

#[test]
fn the_first_button_ends_the_wait() {
    let of = |attention| offers(&row(task(ReviewPhase::NeedsAttention, Some(attention))));
    assert_eq!(of(ReviewAttention::RoundsUsed), ["resume", "fix", "answer", "cancel"]);
    assert_eq!(of(ReviewAttention::BudgetUsed), ["resume", "answer", "cancel"], "nothing of its budget is used");
    assert_eq!(of(ReviewAttention::BlockedOnHuman), ["resume", "fix", "answer", "cancel"]);
    assert_eq!(of(ReviewAttention::Dispute), ["fix", "answer", "resume", "cancel"]);
    assert_eq!(offers(&row(task(ReviewPhase::NeedsAttention, None))), ["fix", "answer", "resume", "cancel"]);
    assert_eq!(offers(&row(task(ReviewPhase::Failed, None))), ["resume", "fix", "cancel"]);
    assert_eq!(offers(&row(task(ReviewPhase::Done, None))), ["land", "link", "archive"]);
}

#[test]
fn more_rounds_or_money_is_one_click() {
    let rounds = row(ReviewSummaryView {
        max_rounds: 4,
        ..task(ReviewPhase::NeedsAttention, Some(ReviewAttention::RoundsUsed))
    });
    assert!(rounds.contains("Give it 1 more round"));
    assert_eq!(hidden(&rounds, "rounds").as_deref(), Some("5"));
    let used = ReviewSummaryView {
        budget_micros: Some(5_000_000),
        cost_micros: 5_030_000,
        budget_tokens: Some(2_000_000),
        tokens: 100,
        ..task(ReviewPhase::NeedsAttention, Some(ReviewAttention::BudgetUsed))
    };
    let money = row(used.clone());
    assert!(money.contains("Raise to $10"), "{money}");
    assert_eq!((hidden(&money, "dollars").as_deref(), hidden(&money, "tokens")), (Some("10"), None));
    let tokens = row(ReviewSummaryView { cost_micros: 0, tokens: 2_000_000, ..used });
    assert!(tokens.contains("Raise to 4.0 M tokens"), "{tokens}");
    assert_eq!((hidden(&tokens, "tokens").as_deref(), hidden(&tokens, "dollars")), (Some("4000000"), None));
}

#[test]
fn accepting_asks_first_and_says_what_is_open() {
    let html =
        row(ReviewSummaryView { open_issues: 2, ..task(ReviewPhase::NeedsAttention, Some(ReviewAttention::Dispute)) });
    let accept = tags(&html).into_iter().find(|tag| tag.get("value") == Some("answer")).expect("accept");
    assert_eq!(accept.get("data-confirm"), Some("Accept the result as done, with 2 open issues?"));
    assert_eq!(hidden(&html, "done").as_deref(), Some("true"), "an answer without a text accepts");
}

#[test]
fn sessions_and_tasks_are_one_list_and_are_counted_once() {
    let page = fixtures::overview_page(fixtures::overview(), Vec::new());
    let html = page.fragment(&frame(), "summary,needs").unwrap().into_string();
    let rows: Vec<_> =
        tags(&html).into_iter().filter(|tag| tag.name == "li" && tag.get("data-row").is_some()).collect();
    assert_eq!(rows.len(), page.view.needs.len() + page.view.reviews.len());
    assert!(html.contains(&format!("Needs you <span class=\"count\">{}</span>", rows.len())), "{html}");
    let title = format!("<title>{} need you · Belay</title>", rows.len());
    assert!(page.page(&frame()).into_string().contains(&title));
    let alone = page_of(OverviewView { reviews: vec![task(ReviewPhase::Failed, None)], ..OverviewView::default() });
    assert!(alone.page(&frame()).into_string().contains("<title>1 needs you · Belay</title>"));
}

#[test]
fn a_reader_without_login_sees_the_task_and_decides_nothing() {
    let reader = Frame { form_token: None, ..frame() };
    let page = page_of(OverviewView {
        reviews: vec![task(ReviewPhase::NeedsAttention, Some(ReviewAttention::RoundsUsed))],
        ..OverviewView::default()
    });
    let html = page.fragment(&reader, "needs").unwrap().into_string();
    assert!(html.contains("Give it 1 more round") && html.contains("<fieldset disabled"));
    assert!(!html.contains("form_token"));
}
