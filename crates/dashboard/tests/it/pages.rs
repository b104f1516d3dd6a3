//! What pages say.

use belay_dashboard::{Frame, Page, PageView as _, Theme};

use crate::fixtures;

fn overview_part(id: &str) -> String {
    let frame = fixtures::frame(Page::Overview, None);
    fixtures::overview_page(fixtures::overview(), fixtures::approvals())
        .fragment(&frame, id)
        .expect("the overview has this part")
        .into_string()
}

/// The text of a part, one line per element, without the SVGs.
pub(crate) fn text(html: &str) -> String {
    let mut text = String::new();
    let mut rest = html;
    while let Some(start) = rest.find("<svg") {
        text.push_str(&rest[..start]);
        rest = rest[start..].split_once("</svg>").map_or("", |(_, after)| after);
    }
    text.push_str(rest);
    for block in [
        "</h3>",
        "</p>",
        "</li>",
        "</td>",
        "</th>",
        "</button>",
        "</h2>",
        "</a>",
        "</dd>",
        "</dt>",
        "</div>",
        "</small>",
    ] {
        text = text.replace(block, "\n");
    }
    text = text.replace("<time", " <time").replace("<span", " <span").replace("<b>", " <b>");
    let mut plain = String::new();
    let mut inside = false;
    for c in text.chars() {
        match c {
            '<' => inside = true,
            '>' => inside = false,
            c if !inside => plain.push(c),
            _ => {}
        }
    }
    let lines = plain.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("\n").replace("  ", " ").replace("&quot;", "\"").replace("&amp;", "&")
}

#[test]
fn the_needs_list_says_who_why_and_what_to_do() {
    insta::assert_snapshot!("needs", text(&overview_part("needs")));
}

#[test]
fn the_working_list_says_what_happens_now() {
    insta::assert_snapshot!("working", text(&overview_part("working")));
}

#[test]
fn today_is_told_in_figures() {
    insta::assert_snapshot!("today", text(&overview_part("today")));
}

#[test]
fn a_held_session_is_explained_with_its_evidence() {
    let frame = fixtures::frame(Page::Session, None);
    let part = fixtures::session_page(fixtures::looping_session()).fragment(&frame, "head,finding").unwrap();
    insta::assert_snapshot!("finding", text(&part.into_string()));
}

#[test]
fn a_working_session_can_be_paused() {
    let frame = fixtures::frame(Page::Session, None);
    let part = fixtures::session_page(fixtures::working_session()).fragment(&frame, "finding").unwrap().into_string();
    assert!(part.contains("value=\"pause\""));
    assert!(!part.contains("value=\"resume\""));
    assert!(part.contains("belay pause claude-code:3f9c"));
}

#[test]
fn an_approval_is_bound_to_what_is_shown() {
    let needs = overview_part("needs");
    assert!(needs.contains("action=\"/approvals/apr-19\""));
    assert!(needs.contains("name=\"hash\" value=\"b1946ac9\""));
    assert!(needs.contains("ALTER TABLE orders ADD COLUMN refunded_at"));
}

#[test]
fn tool_and_directory_of_an_approval_are_shown_in_full() {
    let mut approvals = fixtures::approvals();
    approvals[0].tool = "Shell\u{202e}".to_owned();
    approvals[0].cwd = Some(format!("/{}\nу", "w".repeat(400)));
    let page = fixtures::overview_page(fixtures::overview(), approvals);
    let needs = page.fragment(&fixtures::frame(Page::Overview, None), "needs").unwrap().into_string();
    assert!(needs.contains(r"Shell<mark>\u{202e}</mark> in /www"), "{needs}");
    assert!(needs.contains(r"ww<mark>\n</mark><mark>\u{443}</mark>"), "{needs}");
}

#[test]
fn every_form_that_decides_has_the_token() {
    for (name, page) in fixtures::pages(Theme::Light) {
        let html = page.into_string();
        for form in html.split("<form ").skip(1).filter(|form| form.contains("method=\"post\"")) {
            let form = form.split("</form>").next().unwrap();
            let guarded = form.contains("name=\"form_token\"") || form.contains("<fieldset disabled");
            assert!(guarded, "{name}: {}", &form[..form.len().min(160)]);
        }
    }
}

#[test]
fn a_reader_without_login_sees_everything_and_decides_nothing() {
    let frame = Frame { form_token: None, ..fixtures::frame(Page::Overview, None) };
    let page = fixtures::overview_page(fixtures::overview(), fixtures::approvals());
    let html = page.page(&frame).into_string();
    assert!(html.contains("belay open"));
    assert!(!html.contains("form_token"));
    assert!(html.contains("Fix the cart discount test"));
}

#[test]
fn fragments_are_the_parts_of_the_page() {
    let frame = fixtures::frame(Page::Session, None);
    let view = fixtures::session_page(fixtures::looping_session());
    let page = view.page(&frame).into_string();
    for id in ["pages", "head", "finding", "shape", "details", "record", "events"] {
        let part = view.fragment(&frame, id).unwrap().into_string();
        assert!(page.contains(&part), "{id}");
        assert!(part.contains(&format!("id=\"{id}\"")), "{id}");
    }
    assert!(view.fragment(&frame, "nonsense").is_none());
    let incidents = fixtures::incidents_page();
    assert!(incidents.fragment(&frame, "inbox,detail").is_some());
    assert!(fixtures::history_page().fragment(&frame, "audits,x").is_none());
}

#[test]
fn a_session_of_31_000_calls_is_a_page_of_usual_size() {
    let frame = fixtures::frame(Page::Session, None);
    let html = fixtures::session_page(fixtures::long_session()).page(&frame).into_string();
    assert!(html.contains("9,996 rounds alike"), "{}", html.len());
    assert!(html.len() < 160 * 1024, "{} bytes", html.len());
}

#[test]
fn the_theme_is_rendered_so_that_nothing_flashes() {
    let page = fixtures::overview_page(fixtures::overview(), Vec::new());
    let html = |theme| page.page(&fixtures::frame(Page::Overview, theme)).into_string();
    assert!(html(Some(Theme::Dark)).contains("data-theme=\"dark\""));
    assert!(!html(None).contains("data-theme=\""));
    assert_eq!(Theme::from_cookie("dark\"><script>"), None);
}
