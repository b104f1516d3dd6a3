//! What keys do.

use belay_core::event::PermissionAnswer;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::{App, Command, Screen};
use crate::action::Action;
use crate::dialog::Dialog;

/// Lines that a page step keeps of the previous page.
const PAGE_OVERLAP: usize = 2;

/// Longest text that can be typed, in bytes.
const MAX_INPUT: usize = 2_000;

/// A person allows only what they have seen.
const CUT: &str = "Not all of it fits on the screen, so it cannot be allowed here. Enlarge the terminal, or read it \
                   with `belay approvals`.";

impl App {
    pub(super) fn key(&mut self, key: KeyEvent) -> Vec<Command> {
        if key.kind == KeyEventKind::Release {
            return Vec::new();
        }
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return match key.code {
                KeyCode::Char('c') => vec![Command::Exit],
                KeyCode::Char('z') => vec![Command::Suspend],
                _ => Vec::new(),
            };
        }
        if self.dialog.is_some() {
            return self.dialog_key(key.code);
        }
        if self.filter.editing {
            self.filter_key(key.code);
            return Vec::new();
        }
        match key.code {
            KeyCode::Char('a') => self.act(Action::Acknowledge),
            KeyCode::Char('r') => self.act(Action::Resume { note: String::new() }),
            KeyCode::Char('K') => self.act(Action::Kill),
            KeyCode::Char('b') => self.act(self.proposed_budget()),
            KeyCode::Char('s') => self.act(Action::MarkSeen),
            KeyCode::Char('x') => self.act(Action::Archive),
            KeyCode::Char('y') => self.answer(PermissionAnswer::Allow),
            KeyCode::Char('n') => self.answer(PermissionAnswer::Deny),
            KeyCode::Char('?') => self.show(Dialog::Help),
            KeyCode::Char('c') => match (self.current(), self.current_review()) {
                (Some(session), _) => {
                    let prompt = self.prompt_of(&session.session);
                    self.show(Dialog::commands(session, self.current_need(), prompt))
                }
                (None, Some(task)) => self.show(Dialog::review_commands(task)),
                (None, None) => Vec::new(),
            },
            code => match self.screen {
                Screen::Overview => self.overview_key(code),
                Screen::Session(_) => self.session_key(code),
            },
        }
    }

    /// The text that keys and pasted text go to.
    fn input(&mut self) -> Option<&mut String> {
        match &mut self.dialog {
            Some(dialog) => dialog.input(),
            None => self.filter.editing.then_some(&mut self.filter.text),
        }
    }

    pub(super) fn paste(&mut self, text: &str) {
        if let Some(input) = self.input() {
            crate::line::clean(text).chars().for_each(|c| type_into(input, c));
        }
    }

    fn show(&mut self, dialog: Dialog) -> Vec<Command> {
        self.dialog = Some(dialog);
        Vec::new()
    }

    fn dialog_key(&mut self, code: KeyCode) -> Vec<Command> {
        let size = self.size;
        let Some(dialog) = &mut self.dialog else { return Vec::new() };
        let (pending, shows_all) = (dialog.is_pending(), dialog.shows_all(size));
        match (code, dialog.input()) {
            (KeyCode::Esc, _) => self.dialog = None,
            (KeyCode::Enter, _) if pending => {}
            (KeyCode::Enter, _) if !shows_all => dialog.fail(CUT.to_owned()),
            (KeyCode::Enter, _) => match dialog.confirm() {
                Some(decision) => return vec![Command::Decide(decision)],
                None => self.dialog = None,
            },
            (KeyCode::Backspace, Some(text)) => {
                text.pop();
            }
            (KeyCode::Char(c), Some(text)) => type_into(text, c),
            (KeyCode::Char('q' | '?' | 'c'), None) if !pending => self.dialog = None,
            _ => {}
        }
        Vec::new()
    }

    fn filter_key(&mut self, code: KeyCode) {
        let filter = &mut self.filter;
        match code {
            KeyCode::Esc => {
                filter.text.clear();
                filter.editing = false;
            }
            KeyCode::Enter | KeyCode::Down | KeyCode::Up => filter.editing = false,
            KeyCode::Backspace => {
                filter.text.pop();
            }
            KeyCode::Char(c) => type_into(&mut filter.text, c),
            _ => {}
        }
    }

    fn overview_key(&mut self, code: KeyCode) -> Vec<Command> {
        self.notice = None;
        // Rows take about three lines.
        let page = (self.body_rows() / 3).max(1).cast_signed();
        match code {
            KeyCode::Char('j') | KeyCode::Down | KeyCode::Tab => self.select_by(1),
            KeyCode::Char('k') | KeyCode::Up | KeyCode::BackTab => self.select_by(-1),
            KeyCode::PageDown | KeyCode::Char(' ') => self.select_by(page),
            KeyCode::PageUp => self.select_by(-page),
            KeyCode::Char('g') | KeyCode::Home => self.select_by(isize::MIN),
            KeyCode::Char('G') | KeyCode::End => self.select_by(isize::MAX),
            KeyCode::Char('/') => self.filter.editing = true,
            KeyCode::Enter | KeyCode::Right | KeyCode::Char('l') => return self.open_current(),
            KeyCode::Esc => self.filter.text.clear(),
            KeyCode::Char('q') => return vec![Command::Exit],
            _ => {}
        }
        Vec::new()
    }

    fn session_key(&mut self, code: KeyCode) -> Vec<Command> {
        self.notice = None;
        let page = self.body_rows().saturating_sub(PAGE_OVERLAP).max(1);
        let Screen::Session(screen) = &mut self.screen else { return Vec::new() };
        match code {
            KeyCode::Char('j') | KeyCode::Down => screen.scroll += 1,
            KeyCode::Char('k') | KeyCode::Up => screen.scroll = screen.scroll.saturating_sub(1),
            KeyCode::PageDown | KeyCode::Char(' ') => screen.scroll += page,
            KeyCode::PageUp => screen.scroll = screen.scroll.saturating_sub(page),
            KeyCode::Char('g') | KeyCode::Home => screen.scroll = 0,
            KeyCode::Char('G') | KeyCode::End => screen.scroll = usize::MAX,
            KeyCode::Left | KeyCode::Char('h') => return self.move_window(true),
            KeyCode::Right | KeyCode::Char('l') => return self.move_window(false),
            KeyCode::Tab => return self.neighbour(1),
            KeyCode::BackTab => return self.neighbour(-1),
            KeyCode::Esc | KeyCode::Char('q') => return self.close_session(),
            _ => {}
        }
        Vec::new()
    }

    /// Opens the session next to the open one in the overview. Review tasks have no page here.
    fn neighbour(&mut self, step: isize) -> Vec<Command> {
        let commands = self.close_session();
        let start = self.selected.clone();
        loop {
            let before = self.selected.clone();
            self.select_by(step);
            if self.current_review().is_none() {
                return self.open_current();
            }
            if self.selected == before {
                // Only tasks are left in this direction.
                self.selected = start;
                return if self.current().is_some() { self.open_current() } else { commands };
            }
        }
    }

    /// Shows earlier or later calls, half a window at a time.
    fn move_window(&mut self, earlier: bool) -> Vec<Command> {
        let Screen::Session(screen) = &mut self.screen else { return Vec::new() };
        let Some(picture) = screen.page.as_ref().map(|page| &page.picture) else { return Vec::new() };
        let (Some(first), Some(last)) = (picture.calls.first(), picture.calls.last()) else { return Vec::new() };
        let half = (picture.calls.len() as u64 / 2).max(1);
        let end = last.call + 1;
        screen.before = match earlier {
            true if first.call == 1 => screen.before,
            true => Some(end.saturating_sub(half).max(2)),
            false => Some(end + half).filter(|before| *before <= picture.total),
        };
        self.watch()
    }
}

fn type_into(text: &mut String, c: char) {
    if text.len() < MAX_INPUT {
        text.push(c);
    }
}
