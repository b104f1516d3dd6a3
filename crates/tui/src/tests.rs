//! What a person sees and what keys do.

mod fixture;
mod hostile;
mod keys;
mod prompts;
mod screens;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::{App, Command, Message, Settings, render};

fn settings() -> Settings {
    Settings { color: true, unicode: true, zone: jiff::tz::TimeZone::UTC }
}

/// The overview of the fixture at this size.
fn app(columns: u16, rows: u16) -> App {
    let mut app = App::new(settings(), fixture::now(), (columns, rows));
    app.update(Message::Overview(Box::new(fixture::overview())));
    app
}

/// The page of the looping session at this size.
fn session(columns: u16, rows: u16) -> App {
    let mut app = app(columns, rows);
    app.open(fixture::key());
    app.update(Message::Page(fixture::key(), Some(Box::new(fixture::page()))));
    app
}

fn press(app: &mut App, keys: &str) -> Vec<Command> {
    let mut commands = Vec::new();
    for key in keys.chars() {
        let code = match key {
            '\n' => KeyCode::Enter,
            '\x1b' => KeyCode::Esc,
            '\t' => KeyCode::Tab,
            '\x08' => KeyCode::Backspace,
            c => KeyCode::Char(c),
        };
        commands.extend(app.update(Message::Key(KeyEvent::new(code, KeyModifiers::NONE))));
    }
    commands
}

fn frame(app: &App) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(app.size.0, app.size.1)).unwrap();
    terminal.draw(|frame| render(app, frame)).unwrap();
    terminal.backend().buffer().clone()
}

/// The text of a frame. A `|` ends each line, so that snapshots show the width.
fn screen(app: &App) -> String {
    let buffer = frame(app);
    let rows = buffer.content.chunks(usize::from(buffer.area.width));
    rows.map(|row| format!("{}|\n", row.iter().map(|cell| cell.symbol()).collect::<String>())).collect()
}
