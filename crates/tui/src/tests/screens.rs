//! Screens at the usual sizes.

use super::{app, press, screen, session};
use crate::{App, Message, Settings, plain_text};

#[test]
fn the_overview_at_the_usual_sizes() {
    insta::assert_snapshot!("overview-80x24", screen(&app(80, 24)));
    insta::assert_snapshot!("overview-120x40", screen(&app(120, 40)));
    insta::assert_snapshot!("overview-200x50", screen(&app(200, 50)));
    insta::assert_snapshot!("overview-40x24", screen(&app(40, 24)));
}

#[test]
fn review_tasks_stand_among_the_sessions() {
    for (columns, rows) in [(120, 40), (80, 40), (40, 40)] {
        let mut app = app(columns, rows);
        app.update(Message::Overview(Box::new(super::fixture::with_reviews())));
        insta::assert_snapshot!(format!("reviews-{columns}x{rows}"), screen(&app));
    }
}

#[test]
fn a_session_at_the_usual_sizes() {
    insta::assert_snapshot!("session-80x24", screen(&session(80, 24)));
    insta::assert_snapshot!("session-120x40", screen(&session(120, 40)));
    insta::assert_snapshot!("session-200x50", screen(&session(200, 50)));
}

#[test]
fn the_rest_of_a_session_is_below() {
    let mut app = session(80, 24);
    press(&mut app, "G");
    insta::assert_snapshot!("session-80x24-end", screen(&app));
}

#[test]
fn dialogs_name_what_stays() {
    let mut app = app(80, 24);
    press(&mut app, "jK");
    let kill = screen(&app);
    assert!(kill.contains("Uncommitted files stay") && kill.contains("belay kill claude-code:3f9c"), "{kill}");
    press(&mut app, "\x1brDo not touch cart.ts");
    insta::assert_snapshot!("resume-80x24", screen(&app));
    press(&mut app, "\x1b?");
    insta::assert_snapshot!("help-80x24", screen(&app));
}

#[test]
fn without_utf_8_only_ascii_is_drawn() {
    for columns in [40, 80, 200] {
        let settings = Settings { unicode: false, color: false, ..super::settings() };
        let mut app = App::new(settings, super::fixture::now(), (columns, 40));
        app.update(Message::Overview(Box::new(super::fixture::overview())));
        assert!(screen(&app).is_ascii() && plain_text(&app).is_ascii());
        app.open(super::fixture::key());
        app.update(Message::Page(super::fixture::key(), Some(Box::new(super::fixture::page()))));
        assert!(screen(&app).is_ascii() && plain_text(&app).is_ascii());
    }
}

#[test]
fn without_colour_no_cell_has_one() {
    let settings = Settings { color: false, ..super::settings() };
    let mut app = App::new(settings, super::fixture::now(), (120, 40));
    app.update(Message::Overview(Box::new(super::fixture::overview())));
    let colored = |app: &App| super::frame(app).content.iter().any(|cell| cell.fg != ratatui::style::Color::Reset);
    assert!(!colored(&app));
    assert!(colored(&super::app(120, 40)));
}

#[test]
fn every_size_is_drawn() {
    for columns in [1, 2, 7, 19, 40, 59, 60, 75, 76, 99, 123, 139, 150, 300] {
        for rows in [1, 2, 3, 10, 60] {
            let mut app = session(columns, rows);
            screen(&app);
            press(&mut app, "r");
            screen(&app);
            press(&mut app, "\x1b\x1bjj?");
            screen(&app);
        }
    }
}

#[test]
fn stale_data_is_marked() {
    let mut app = app(80, 24);
    app.update(Message::ReadFailed("the store is locked".to_owned()));
    let text = screen(&app);
    assert!(text.contains("as of 13:53") && text.contains("Not up to date: the store is locked"), "{text}");
    app.update(Message::Overview(Box::new(super::fixture::overview())));
    assert!(screen(&app).contains("live"));
}

#[test]
fn an_empty_overview_names_the_next_command() {
    let mut app = App::new(super::settings(), super::fixture::now(), (80, 24));
    assert!(screen(&app).contains("Reading the store"));
    app.update(Message::Overview(Box::default()));
    assert!(screen(&app).contains("belay run claude"), "{}", screen(&app));
}
