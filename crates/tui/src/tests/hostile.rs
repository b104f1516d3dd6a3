//! Texts that an agent or a repository chose stay text.

use unicode_width::UnicodeWidthStr;

use super::{fixture, frame, settings};
use crate::{App, Message, plain_text};

const HOSTILE: &str =
    "\u{1b}[31mred\u{1b}]0;title\u{7}\r\n\t\u{202e}gpj.exe\u{200b}\u{feff} 日本語👩\u{200d}💻❤\u{fe0f} é\u{301}";

fn hostile() -> App {
    let text = format!("{HOSTILE}{}", "长x".repeat(3_000));
    let mut view = fixture::with_reviews();
    for task in &mut view.reviews {
        task.id = text.clone();
        task.title = text.clone();
        task.status = text.clone();
        task.project_dir = text.clone();
        task.builder = text.clone();
    }
    for need in &mut view.needs {
        need.reason = text.clone();
        need.subject = Some(text.clone());
        need.session.task = Some(text.clone());
        need.session.branch = Some(text.clone());
    }
    for session in &mut view.active {
        session.task = Some(text.clone());
        session.status.why = text.clone();
    }
    let mut app = App::new(settings(), fixture::now(), (80, 40));
    app.update(Message::Overview(Box::new(view)));
    app
}

#[test]
fn controls_and_invisible_characters_are_not_drawn() {
    for columns in [20, 41, 80, 133, 200] {
        let mut app = hostile();
        app.update(Message::Resize(columns, 60));
        for cell in &frame(&app).content {
            assert!(!cell.symbol().chars().any(belay_core::printable::is_unprintable), "{:?}", cell.symbol());
        }
        let text = plain_text(&app);
        assert!(text.contains("[31mred") && !text.contains('\u{1b}'));
        for line in text.lines() {
            assert!(line.width() <= usize::from(columns), "{columns}: {line}");
        }
    }
}

#[test]
fn a_page_of_hostile_texts_keeps_its_width() {
    let text = format!("{HOSTILE}{}", "长x".repeat(3_000));
    let mut page = fixture::page();
    page.session.task = Some(text.clone());
    page.session.model = Some(text.clone());
    page.session.branch = Some(text.clone());
    page.files[0].path = text.clone();
    page.picture.rows[0].what = text.clone();
    page.picture.flags[0].text = text.clone();
    page.events[0].what = text.clone();
    page.events[0].outcome = text.clone();
    page.failing.as_mut().unwrap().tests[0].name = text;
    for columns in [20_u16, 41, 80, 133, 200] {
        let mut app = App::new(settings(), fixture::now(), (columns, 40));
        app.open(fixture::key());
        app.update(Message::Page(fixture::key(), Some(Box::new(page.clone()))));
        for line in plain_text(&app).lines() {
            assert!(line.width() <= usize::from(columns), "{columns}: {line}");
            assert!(!line.chars().any(belay_core::printable::is_unprintable));
        }
    }
}
