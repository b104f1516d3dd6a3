//! The state of `belay top`, and how messages change it.

mod keys;
mod listing;
mod prompts;

use belay_core::status::StatusValue;
use belay_core::{SessionKey, Timestamp};
use belay_ipc::views::{NeedKind, OverviewView, PendingApproval, SessionPageView};
use jiff::tz::TimeZone;
use ratatui::crossterm::event::KeyEvent;

use crate::action::{Action, Decision};
use crate::dialog::Dialog;
use crate::style::Theme;
use crate::{overview, picture, session, words};

/// What the terminal can show.
#[derive(Clone, Debug)]
pub struct Settings {
    pub color: bool,
    /// The locale is UTF-8.
    pub unicode: bool,
    pub zone: TimeZone,
}

/// What happened.
#[derive(Debug)]
pub enum Message {
    Key(KeyEvent),
    /// Text pasted from the clipboard.
    Paste(String),
    /// The new size in columns and rows.
    Resize(u16, u16),
    /// The time.
    Tick(Timestamp),
    Overview(Box<OverviewView>),
    /// The permission prompts that can be answered here, the oldest first.
    Approvals(Vec<PendingApproval>),
    /// A session's page; `None` if the session does not exist.
    Page(SessionKey, Option<Box<SessionPageView>>),
    /// Data could not be read.
    ReadFailed(String),
    /// The data was read, but the user should know this.
    Warning(String),
    /// The result of a decision, as a sentence.
    Decided(Result<String, String>),
}

/// What the driver has to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Keep this page up to date besides the overview; none if only the overview is shown.
    Watch(Option<PageRequest>),
    Decide(Decision),
    /// Give the terminal back to the shell until the process continues.
    Suspend,
    Exit,
}

/// Which page of a session is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRequest {
    pub session: SessionKey,
    /// Only calls before this number.
    pub before: Option<u64>,
    /// Number of calls.
    pub calls: usize,
}

/// The state.
#[derive(Debug)]
pub struct App {
    pub(crate) settings: Settings,
    pub(crate) now: Timestamp,
    pub(crate) size: (u16, u16),
    pub(crate) overview: Option<Box<OverviewView>>,
    pub(crate) approvals: Vec<PendingApproval>,
    /// Why the data is stale, and since when.
    pub(crate) stale: Option<(Timestamp, String)>,
    pub(crate) screen: Screen,
    /// The selected row of the overview, by its name, and its place in the list.
    pub(crate) selected: Option<(String, usize)>,
    /// First line of the overview in view.
    pub(crate) scroll: usize,
    pub(crate) filter: Filter,
    pub(crate) dialog: Option<Dialog>,
    pub(crate) notice: Option<Notice>,
}

#[derive(Debug)]
pub(crate) enum Screen {
    Overview,
    Session(Box<SessionScreen>),
}

#[derive(Debug)]
pub(crate) struct SessionScreen {
    pub(crate) key: SessionKey,
    pub(crate) page: Option<Box<SessionPageView>>,
    /// The session does not exist.
    pub(crate) missing: bool,
    pub(crate) scroll: usize,
    /// Only calls before this number; none at the newest end.
    pub(crate) before: Option<u64>,
}

#[derive(Debug, Default)]
pub(crate) struct Filter {
    pub(crate) text: String,
    /// Keys go to the text.
    pub(crate) editing: bool,
}

/// A message in the last line.
#[derive(Debug)]
pub(crate) struct Notice {
    pub(crate) text: String,
    pub(crate) is_error: bool,
}

impl App {
    pub fn new(settings: Settings, now: Timestamp, size: (u16, u16)) -> Self {
        Self {
            settings,
            now,
            size,
            overview: None,
            approvals: Vec::new(),
            stale: None,
            screen: Screen::Overview,
            selected: None,
            scroll: 0,
            filter: Filter::default(),
            dialog: None,
            notice: None,
        }
    }

    /// Opens the page of a session.
    pub fn open(&mut self, key: SessionKey) -> Vec<Command> {
        self.screen =
            Screen::Session(Box::new(SessionScreen { key, page: None, missing: false, scroll: 0, before: None }));
        self.watch()
    }

    /// Applies a message.
    pub fn update(&mut self, message: Message) -> Vec<Command> {
        let commands = match message {
            Message::Key(key) => self.key(key),
            Message::Paste(text) => {
                self.paste(&text);
                Vec::new()
            }
            Message::Resize(columns, rows) => {
                self.size = (columns, rows);
                self.watch_if_session()
            }
            Message::Tick(now) => {
                self.now = self.now.max(now);
                Vec::new()
            }
            Message::Overview(view) => {
                self.now = self.now.max(view.now);
                self.stale = None;
                self.overview = Some(view);
                Vec::new()
            }
            Message::Approvals(approvals) => {
                self.approvals = approvals;
                Vec::new()
            }
            Message::Page(key, page) => {
                self.set_page(&key, page);
                Vec::new()
            }
            Message::ReadFailed(problem) => {
                let since = self.stale.take().map_or(self.now, |(since, _)| since);
                self.stale = Some((since, problem));
                Vec::new()
            }
            Message::Warning(text) => {
                self.notice = Some(Notice { text, is_error: true });
                Vec::new()
            }
            Message::Decided(result) => {
                self.decided(result);
                Vec::new()
            }
        };
        self.keep_in_view();
        commands
    }

    pub(crate) fn theme(&self) -> Theme {
        Theme { color: self.settings.color }
    }

    pub(crate) fn clock(&self, at: Timestamp) -> String {
        words::clock(at, self.now, &self.settings.zone)
    }

    /// Rows between header and footer.
    pub(crate) fn body_rows(&self) -> usize {
        usize::from(self.size.1).saturating_sub(2)
    }

    pub(crate) fn columns(&self) -> usize {
        usize::from(self.size.0)
    }

    fn set_page(&mut self, key: &SessionKey, page: Option<Box<SessionPageView>>) {
        if let Screen::Session(screen) = &mut self.screen
            && screen.key == *key
        {
            screen.missing = page.is_none();
            screen.page = page;
        }
    }

    fn decided(&mut self, result: Result<String, String>) {
        match (result, &mut self.dialog) {
            (Ok(text), dialog) => {
                if dialog.as_ref().is_some_and(Dialog::is_pending) {
                    *dialog = None;
                }
                self.notice = Some(Notice { text, is_error: false });
            }
            // What was typed stays.
            (Err(error), Some(dialog)) if dialog.is_pending() => dialog.fail(error),
            (Err(text), _) => self.notice = Some(Notice { text, is_error: true }),
        }
    }

    fn watch(&self) -> Vec<Command> {
        let request = match &self.screen {
            Screen::Overview => None,
            Screen::Session(screen) => Some(PageRequest {
                session: screen.key.clone(),
                before: screen.before,
                calls: picture::window(self.columns()),
            }),
        };
        vec![Command::Watch(request)]
    }

    fn watch_if_session(&self) -> Vec<Command> {
        match &self.screen {
            Screen::Overview => Vec::new(),
            Screen::Session(_) => self.watch(),
        }
    }

    /// Opens the selected session, or tells how to decide about the selected task. Looking at what a session finished
    /// counts as having seen it.
    fn open_current(&mut self) -> Vec<Command> {
        if let Some(task) = self.current_review() {
            self.dialog = Some(Dialog::review_commands(task));
            return Vec::new();
        }
        let Some(session) = self.current() else { return Vec::new() };
        let finished = session.status.value == StatusValue::Finished;
        let Some(key) = SessionKey::parse(&session.session) else { return Vec::new() };
        let mut commands = self.open(key.clone());
        if finished {
            commands.push(Command::Decide(Decision { session: key, action: Action::MarkSeen }));
        }
        commands
    }

    fn close_session(&mut self) -> Vec<Command> {
        if let Screen::Session(screen) = &self.screen {
            let name = screen.key.to_string();
            if let Some(at) = self.names().iter().position(|other| *other == name) {
                self.selected = Some((name, at));
            }
        }
        self.screen = Screen::Overview;
        self.watch()
    }

    /// Decides at once, or asks first.
    fn act(&mut self, action: Action) -> Vec<Command> {
        let Some(session) = self.current() else {
            let text = match self.current_review() {
                Some(task) => format!("{} is a review task: c shows the commands that decide about it.", task.id),
                None => "No session is selected.".to_owned(),
            };
            self.notice = Some(Notice { text, is_error: true });
            return Vec::new();
        };
        if let Some(text) = action.refusal(session) {
            self.notice = Some(Notice { text, is_error: true });
            return Vec::new();
        }
        let Some(key) = SessionKey::parse(&session.session) else { return Vec::new() };
        match action {
            Action::Acknowledge | Action::MarkSeen => {
                self.notice = None;
                vec![Command::Decide(Decision { session: key, action })]
            }
            _ => {
                self.dialog = Some(Dialog::ask(key, session, action));
                Vec::new()
            }
        }
    }

    /// The budget that the dialog proposes: what the overview suggests, and whether a used-up budget holds the session.
    fn proposed_budget(&self) -> Action {
        let need = self.current_need();
        let resume = need.is_some_and(|need| need.kind == NeedKind::OverBudget);
        let amount = need.and_then(|need| need.next_budget_micros).map(words::amount).unwrap_or_default();
        Action::RaiseBudget { amount: amount.replace(',', ""), resume }
    }

    /// Selects the row this many places further.
    fn select_by(&mut self, step: isize) {
        let names = self.names();
        let Some(last) = names.len().checked_sub(1) else { return };
        let at = self.selected.as_ref().map_or(0, |(_, at)| at.saturating_add_signed(step).min(last));
        self.selected = names.into_iter().nth(at).map(|name| (name, at));
    }

    /// Keeps the selection on a listed row, and both within the lines in view.
    fn keep_in_view(&mut self) {
        let names = self.names();
        self.selected = match self.selected.take() {
            Some((name, at)) => match names.iter().position(|other| *other == name) {
                Some(at) => Some((name, at)),
                // It is gone: the one that took its place.
                None => {
                    let at = at.min(names.len().saturating_sub(1));
                    names.into_iter().nth(at).map(|name| (name, at))
                }
            },
            None => names.into_iter().next().map(|name| (name, 0)),
        };
        let (rows, columns) = (self.body_rows(), self.columns());
        match &self.screen {
            Screen::Overview => {
                let lines = overview::lines(self, columns);
                let first_selected = self.selected.as_ref().is_some_and(|(_, at)| *at == 0);
                self.scroll = lines.scroll_to_selection(self.scroll, rows, first_selected);
            }
            Screen::Session(_) => {
                let last = session::lines(self, columns).len().saturating_sub(rows);
                if let Screen::Session(screen) = &mut self.screen {
                    screen.scroll = screen.scroll.min(last);
                }
            }
        }
    }
}
