//! What the pages of review tasks say, and what can be decided on them.

use belay_dashboard::review::{IssueFilter, ReviewPage};
use belay_dashboard::reviews::ReviewsPage;
use belay_dashboard::{Frame, Page, PageView, Theme};
use belay_ipc::views::{ReviewPhase, ReviewView, ReviewsView};

use crate::fixtures;
use crate::html::tags;
use crate::pages::text;

fn frame() -> Frame<'static> {
    fixtures::frame(Page::Reviews, None)
}

fn part(page: &impl PageView, ids: &str) -> String {
    page.fragment(&frame(), ids).expect("the page has these parts").into_string()
}

fn review(view: ReviewView) -> ReviewPage {
    fixtures::review_page(view)
}

/// The decisions that a part offers, in its order.
fn decisions(html: &str) -> Vec<String> {
    let ask = |tag: &crate::html::Tag<'_>| {
        let value = |key: &str| tag.get("name").filter(|name| *name == key).and_then(|_| tag.get("value"));
        let dialog = tag.get("data-ask").and_then(|dialog| dialog.strip_prefix("ask-review-"));
        let decided = value("decision").or(dialog).or(value("done").map(|_| "done")).map(str::to_owned);
        decided.filter(|_| tag.name == "button" || tag.get("value") == Some("answer"))
    };
    tags(html).iter().filter_map(ask).collect()
}

#[test]
fn the_list_says_which_tasks_need_a_person_and_why() {
    insta::assert_snapshot!("reviews", text(&part(&fixtures::reviews_page(), "queue,tasks")));
}

#[test]
fn a_task_is_told_round_by_round() {
    let page = review(fixtures::running_review());
    insta::assert_snapshot!("review", text(&part(&page, "state,rounds,ledger,roles,output,record")));
}

#[test]
fn a_dispute_is_explained_and_can_be_decided() {
    insta::assert_snapshot!("review_disputed", text(&part(&review(fixtures::disputed_review()), "state,decide")));
}

#[test]
fn the_empty_list_explains_itself_and_names_the_command() {
    let html = part(&fixtures::no_reviews_page(), "tasks");
    let text = text(&html);
    assert!(text.contains("one agent builds what you ask for"), "{text}");
    assert!(text.contains("belay review start \"task\" --reviewer codex"), "{text}");
}

#[test]
fn only_what_fits_the_phase_can_be_decided() {
    let of = |phase: ReviewPhase, landed: bool| {
        let mut view = fixtures::running_review();
        view.issues.clear();
        view.summary.phase = phase;
        view.summary.landed = landed;
        decisions(&part(&review(view), "state,decide"))
    };
    assert_eq!(of(ReviewPhase::Queued, false), ["cancel"]);
    assert_eq!(of(ReviewPhase::Gating, false), ["answer", "cancel"]);
    assert_eq!(of(ReviewPhase::NeedsAttention, false), ["archive", "cancel", "answer", "done", "resume"]);
    assert_eq!(of(ReviewPhase::Failed, false), ["archive", "cancel", "answer", "done", "resume"]);
    assert_eq!(of(ReviewPhase::Cancelled, false), ["resume", "archive"]);
    assert_eq!(of(ReviewPhase::Done, false), ["land", "land_apply", "archive"]);
    assert!(of(ReviewPhase::Done, true).is_empty());
}

#[test]
fn what_cannot_be_undone_asks_first() {
    for (name, page) in fixtures::pages(Theme::Light) {
        let html = page.into_string();
        for tag in tags(&html).iter().filter(|tag| tag.name == "button") {
            let asks = ["cancel", "archive", "land", "land_apply"].contains(&tag.get("value").unwrap_or_default());
            let is_review = tag.get("name") == Some("decision") && (name.starts_with("review") || name == "overview");
            assert!(!(asks && is_review) || tag.get("data-confirm").is_some(), "{name}: {tag:?}");
        }
    }
}

#[test]
fn landing_names_the_issues_that_are_still_open() {
    for open in [0, 2] {
        let mut view = fixtures::running_review();
        view.summary.phase = ReviewPhase::Done;
        view.summary.landed = false;
        view.summary.open_issues = open;
        let html = part(&review(view), "state");
        let buttons = tags(&html);
        for wanted in ["land", "land_apply"] {
            let button = buttons.iter().find(|tag| tag.get("value") == Some(wanted)).expect(wanted);
            let question = button.get("data-confirm").expect("a question");
            let is_named = question.contains(", with 2 open issues?");
            assert_eq!(is_named, open == 2, "{question}");
        }
    }
}

#[test]
fn an_answer_never_means_done_by_accident() {
    let html = part(&review(fixtures::disputed_review()), "decide");
    let fix = tags(&html).into_iter().find(|tag| tag.get("name") == Some("fix")).expect("what to fix");
    assert!(fix.get("required").is_some());
    let done = tags(&html).into_iter().find(|tag| tag.get("name") == Some("done")).expect("accept as done");
    assert!(done.get("formnovalidate").is_some() && done.get("data-confirm").is_some());
}

#[test]
fn a_running_task_can_be_accepted_but_not_sent_back() {
    let html = review(fixtures::running_review()).page(&frame()).into_string();
    let dialog = html.split("id=\"ask-review-answer\"").nth(1).expect("the dialog");
    let dialog = dialog.split("</dialog>").next().unwrap_or_default();
    let names: Vec<&str> = tags(dialog).into_iter().filter_map(|tag| tag.get("name")).collect();
    assert!(names.contains(&"done") && !names.contains(&"fix"), "{names:?}");
}

#[test]
fn every_open_issue_can_be_waived_and_no_other() {
    let html = part(&review(fixtures::running_review()), "ledger");
    let fields: Vec<&str> = tags(&html).into_iter().filter_map(|tag| tag.get("data-fields")).collect();
    assert_eq!(fields, ["{&quot;issue&quot;:&quot;I-9&quot;}"]);
    assert!(!part(&review(fixtures::done_review()), "ledger").contains("Waive"));
}

#[test]
fn the_ledger_shows_the_issues_of_its_filter() {
    let rows = |issues: IssueFilter| {
        let html = part(&ReviewPage { issues, ..review(fixtures::running_review()) }, "ledger");
        html.matches("<tr id=\"issue-").count()
    };
    assert_eq!(
        ["", "open", "follow-ups", "closed", "<script>"].map(|value| rows(IssueFilter::from_query(value))),
        [11, 1, 2, 8, 11]
    );
}

#[test]
fn links_keep_the_diff_and_the_filter() {
    let page = ReviewPage { issues: IssueFilter::Open, ..fixtures::with_diff(fixtures::running_review()) };
    let html = page.page(&frame()).into_string();
    assert!(html.contains("href=\"/reviews/r-7f3k?diff=1&amp;issues=open#diff\""));
    assert!(html.contains("href=\"/reviews/r-7f3k?diff=4&amp;issues=closed#ledger\""));
    assert!(html.contains("href=\"/reviews/r-7f3k?issues=open#rounds\""), "closing the diff keeps the filter");
}

#[test]
fn a_diff_shows_its_signs_and_what_is_hidden_in_it() {
    let mut page = fixtures::with_diff(fixtures::running_review());
    let html = page.page(&frame()).into_string();
    assert!(html.contains(
        "<span class=\"add\"><i>90</i><span>+        let guard = self.locks.lock_key(&amp;key)?;</span></span>"
    ));
    assert!(html.contains(
        "<span class=\"del\"><i>90</i><span>-        let guard = self.locks.lock_key(&amp;key);</span></span>"
    ));
    let trojan = "@@ -1 +1 @@\n-a\n+b \u{202e}// safe";
    page.diff.as_mut().unwrap().text = trojan.to_owned();
    assert!(page.page(&frame()).into_string().contains("<mark>\\u{202e}</mark>// safe"));
}

#[test]
fn a_long_diff_is_cut_and_says_so() {
    let mut page = fixtures::with_diff(fixtures::running_review());
    page.diff.as_mut().unwrap().text = format!("@@ -0,0 +1,9000 @@\n{}", "+x\n".repeat(9_000));
    let html = page.page(&frame()).into_string();
    assert!(html.contains("The diff is longer than this page shows."));
    assert!(html.contains("belay review diff r-7f3k 4"));
    assert!(html.len() < 400 * 1024, "{} bytes", html.len());
}

#[test]
fn pages_follow_only_changes_of_reviews() {
    let main = |html: &str, key: &str| {
        tags(html).into_iter().find(|tag| tag.get("id") == Some("main")).and_then(|tag| tag.get(key)).map(str::to_owned)
    };
    let list = fixtures::reviews_page().page(&frame()).into_string();
    assert_eq!(main(&list, "data-kind").as_deref(), Some("review"));
    assert_eq!(main(&list, "data-session"), None);
    let page = review(fixtures::running_review()).page(&frame()).into_string();
    assert_eq!(main(&page, "data-session").as_deref(), Some("review:r-7f3k"));
    let overview = fixtures::overview_page(fixtures::overview(), Vec::new()).page(&frame()).into_string();
    assert_eq!(main(&overview, "data-kind"), None);
    assert!(main(&overview, "data-reviews").is_some(), "the overview lists tasks besides sessions");
    assert_eq!(main(&list, "data-reviews"), None);
}

#[test]
fn live_parts_are_parts_of_the_page() {
    let check = |view: &dyn PageView| {
        let page = view.page(&frame()).into_string();
        let live = tags(&page).into_iter().find_map(|tag| tag.get("data-live")).expect("live parts");
        for id in live.split(' ') {
            let part = view.fragment(&frame(), id).unwrap_or_else(|| panic!("no part {id}")).into_string();
            assert!(page.contains(&part) && part.contains(&format!("id=\"{id}\"")), "{id}");
        }
        // A form in a part that changes would lose what a person types.
        assert!(!live.split(' ').any(|id| id == "file" || id == "diff"));
    };
    check(&fixtures::reviews_page());
    check(&fixtures::no_reviews_page());
    for view in
        [fixtures::running_review(), fixtures::disputed_review(), fixtures::queued_review(), fixtures::done_review()]
    {
        check(&review(view));
    }
    assert!(fixtures::reviews_page().fragment(&frame(), "queue,nonsense").is_none());
}

#[test]
fn rare_options_are_folded_and_leave_the_defaults_alone() {
    let html = fixtures::reviews_page().page(&frame()).into_string();
    let more = html.split("<details class=\"more\">").nth(1).and_then(|rest| rest.split("</details>").next()).unwrap();
    let value = |name: &str| {
        let field =
            tags(more).into_iter().find(|tag| tag.get("name") == Some(name)).unwrap_or_else(|| panic!("{name}"));
        (field.get("value").map(str::to_owned), field.get("placeholder").map(str::to_owned))
    };
    for name in ["quorum", "tokens", "minutes"] {
        assert_eq!(value(name).0, None, "{name}: an empty field is the default");
    }
    assert_eq!(value("minutes").1.as_deref(), Some("30"));
    let options: Vec<_> =
        tags(more).into_iter().filter(|tag| tag.name == "option").filter_map(|tag| tag.get("value")).collect();
    assert_eq!(options, ["", "claude-code", "codex", "gemini", "opencode"], "nobody, or what is installed");
    assert!(!more.contains("required"), "a required field that is folded could not be seen");
}

#[test]
fn the_form_offers_what_is_installed() {
    let html = fixtures::reviews_page().page(&frame()).into_string();
    let inputs: Vec<_> = tags(&html).into_iter().filter(|tag| tag.get("name") == Some("reviewer")).collect();
    let checked: Vec<_> =
        inputs.iter().filter(|tag| tag.get("checked").is_some()).filter_map(|tag| tag.get("value")).collect();
    let disabled: Vec<_> =
        inputs.iter().filter(|tag| tag.get("disabled").is_some()).filter_map(|tag| tag.get("value")).collect();
    assert_eq!((checked, disabled), (vec!["codex"], vec!["copilot", "qwen"]));
    let nothing = ReviewsPage { view: ReviewsView::default(), ..ReviewsPage::default() };
    assert!(nothing.page(&frame()).into_string().contains("No agent was found on this machine."));
}

#[test]
fn a_dir_whose_name_misleads_is_not_offered() {
    let mut page = fixtures::reviews_page();
    page.form.project_dirs = vec!["/src/\u{202e}gpj".to_owned(), "/src/shop".to_owned()];
    let html = page.page(&frame()).into_string();
    assert!(html.contains("value=\"/src/shop\"") && !html.contains('\u{202e}'));
}

#[test]
fn a_full_queue_is_said_without_touching_the_form() {
    let mut page = fixtures::reviews_page();
    page.form.queue_is_full = true;
    assert!(part(&page, "room").contains("The queue is full."));
}

#[test]
fn the_navigation_counts_tasks_that_need_a_person() {
    let page = fixtures::reviews_page();
    assert_eq!(page.view.tasks.iter().filter(|task| task.needs_person()).count(), 2);
    let nav = part(&page, "pages");
    assert!(nav.contains("Reviews <span class=\"count\">2</span>"), "{nav}");
    let quiet = Frame { reviews_waiting: 0, ..frame() };
    assert!(!page.fragment(&quiet, "pages").unwrap().into_string().contains("Reviews <span"));
}

#[test]
fn a_reader_without_login_sees_the_task_and_decides_nothing() {
    let reader = Frame { form_token: None, ..frame() };
    let html = review(fixtures::disputed_review()).page(&reader).into_string();
    assert!(html.contains("The dispute") && html.contains("belay open"));
    assert!(!html.contains("form_token"));
}

#[test]
fn a_task_of_a_hundred_rounds_is_a_page_of_usual_size() {
    let mut view = fixtures::running_review();
    let (round, issue) = (view.rounds[0].clone(), view.issues[8].clone());
    view.rounds = (1..=100).map(|number| belay_ipc::views::ReviewRoundView { number, ..round.clone() }).collect();
    view.issues = (1..=1_000)
        .map(|number| belay_ipc::views::ReviewIssueView { id: format!("I-{number}"), ..issue.clone() })
        .collect();
    view.summary.round = 100;
    let html = review(view).page(&frame()).into_string();
    assert!(html.contains("the last 16 of 100") && html.contains("and 800 more"));
    assert!(html.len() < 700 * 1024, "{} bytes", html.len());
}
