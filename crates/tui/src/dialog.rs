//! Questions before a decision, the list of keys, and command lines. Drawn over a screen.

use belay_core::SessionKey;
use belay_ipc::views::{NeedKind, NeedView, SessionView};
use ratatui::text::Line;

use crate::action::{Action, Decision};
use crate::line::{LineBuilder, wrap};
use crate::style::{Theme, Tone};

#[derive(Debug)]
pub(crate) enum Dialog {
    Ask(Question),
    Help,
    /// Command lines for a session.
    Commands {
        title: String,
        lines: Vec<String>,
    },
}

/// A decision that is not made yet.
#[derive(Debug)]
pub(crate) struct Question {
    key: SessionKey,
    short: String,
    title: String,
    action: Action,
    /// Sent, and not answered yet.
    pending: bool,
    error: Option<String>,
}

impl Dialog {
    pub(crate) fn ask(key: SessionKey, session: &SessionView, action: Action) -> Self {
        let (short, title) = (session.short.clone(), session.title().to_owned());
        Self::Ask(Question { key, short, title, action, pending: false, error: None })
    }

    /// The command lines that do what the keys do.
    pub(crate) fn commands(session: &SessionView, need: Option<&NeedView>) -> Self {
        let short = &session.short;
        let mut lines = vec![format!("belay show {short}"), format!("belay explain {short}")];
        let of = |action: Action| action.command_line(short);
        if session.held.is_some() {
            lines.push(of(Action::Acknowledge));
            lines.push(of(Action::Resume { note: "...".to_owned() }));
        }
        let resume = need.is_some_and(|need| need.kind == NeedKind::OverBudget);
        lines.push(of(Action::RaiseBudget { amount: String::new(), resume }));
        if need.is_some_and(|need| need.kind == NeedKind::Finished) {
            lines.push(of(Action::MarkSeen));
        }
        lines.push(of(Action::Archive));
        lines.push(of(Action::Kill));
        lines.push(format!("belay events tail {short} --follow"));
        Self::Commands { title: session.title().to_owned(), lines }
    }

    /// The text that is being typed.
    pub(crate) fn input(&mut self) -> Option<&mut String> {
        let Self::Ask(question) = self else { return None };
        let text = match &mut question.action {
            Action::Resume { note } => note,
            Action::RaiseBudget { amount, .. } => amount,
            _ => return None,
        };
        (!question.pending).then_some(text)
    }

    /// The decision, if the dialog asks for one that is not pending already.
    pub(crate) fn confirm(&mut self) -> Option<Decision> {
        let Self::Ask(question) = self else { return None };
        if question.pending {
            return None;
        }
        (question.pending, question.error) = (true, None);
        Some(Decision { session: question.key.clone(), action: question.action.clone() })
    }

    pub(crate) fn is_pending(&self) -> bool {
        matches!(self, Self::Ask(question) if question.pending)
    }

    pub(crate) fn fail(&mut self, error: String) {
        if let Self::Ask(question) = self {
            (question.pending, question.error) = (false, Some(error));
        }
    }

    pub(crate) fn title(&self) -> &'static str {
        match self {
            Self::Ask(question) => question.heading(),
            Self::Help => "Keys",
            Self::Commands { .. } => "The same on the command line",
        }
    }

    pub(crate) fn lines(&self, theme: Theme, columns: usize) -> Vec<Line<'static>> {
        match self {
            Self::Ask(question) => question.lines(theme, columns),
            Self::Help => help(theme, columns),
            Self::Commands { title, lines } => {
                let mut all = vec![LineBuilder::new(columns).put(title, theme.strong()).build(), Line::default()];
                for command in lines {
                    all.extend(paragraph(command, columns, theme.plain()));
                }
                all.push(Line::default());
                all.push(LineBuilder::new(columns).put("Esc closes", theme.muted()).build());
                all
            }
        }
    }
}

impl Question {
    fn heading(&self) -> &'static str {
        match self.action {
            Action::Resume { .. } => "Resume",
            Action::RaiseBudget { .. } => "Raise the budget",
            Action::Kill => "Kill",
            Action::Archive => "Archive",
            Action::Acknowledge => "Acknowledge",
            Action::MarkSeen => "Mark as seen",
        }
    }

    /// What happens, and what stays.
    fn consequence(&self) -> &'static str {
        match self.action {
            Action::Resume { .. } => "Its next call runs. The evidence stays: the same loop is found again.",
            Action::RaiseBudget { resume: true, .. } => "The new total budget. It also resumes the session.",
            Action::RaiseBudget { resume: false, .. } => {
                "The new total budget: an amount such as $10, or tokens such as 2M. A hold stays in force."
            }
            Action::Kill => {
                "All further calls and requests are refused, and a resume does not lift this. Uncommitted files stay. \
                 The project's next session reads what ended this one."
            }
            Action::Archive => "It leaves the lists. Its log stays, and a pause stays in force.",
            Action::Acknowledge => "The session stays held.",
            Action::MarkSeen => "It leaves the list until it finishes something again.",
        }
    }

    fn lines(&self, theme: Theme, columns: usize) -> Vec<Line<'static>> {
        let line = || LineBuilder::new(columns);
        let mut lines = vec![line().put(&self.title, theme.strong()).build()];
        lines.extend(paragraph(self.consequence(), columns, theme.plain()));
        lines.push(Line::default());
        let typed = match &self.action {
            Action::Resume { note } => Some(("Note the agent reads (optional): ", note)),
            Action::RaiseBudget { amount, .. } => Some(("Budget: ", amount)),
            _ => None,
        };
        if let Some((label, text)) = typed {
            lines.push(line().raw(label, theme.muted()).build());
            // The end of a long text is what is being typed.
            let all = wrap(&format!("{text}_"), columns.saturating_sub(2), usize::MAX);
            let shown = &all[all.len().saturating_sub(3)..];
            lines.extend(shown.iter().map(|part| line().raw("> ", theme.muted()).put(part, theme.plain()).build()));
            lines.push(Line::default());
        }
        lines.extend(paragraph(&self.action.command_line(&self.short), columns, theme.muted()));
        if let Some(error) = &self.error {
            lines.push(Line::default());
            lines.extend(paragraph(error, columns, theme.tone(Tone::Bad)));
        }
        lines.push(Line::default());
        lines.push(match self.pending {
            true => line().put("Waiting for Belay to record it …", theme.plain()).build(),
            false => line()
                .put("Enter", theme.strong())
                .raw(" ", theme.plain())
                .put(self.confirm_label(), theme.plain())
                .raw("   ", theme.plain())
                .put("Esc", theme.strong())
                .raw(" ", theme.plain())
                .put(self.cancel_label(), theme.plain())
                .build(),
        });
        lines
    }

    fn confirm_label(&self) -> &'static str {
        match self.action {
            Action::Resume { .. } => "resume it",
            Action::RaiseBudget { resume: true, .. } => "raise and resume",
            Action::RaiseBudget { resume: false, .. } => "set the budget",
            Action::Kill => "kill it",
            Action::Archive => "archive it",
            Action::Acknowledge => "acknowledge it",
            Action::MarkSeen => "mark it as seen",
        }
    }

    fn cancel_label(&self) -> &'static str {
        match self.action {
            Action::Resume { .. } => "keep it held",
            Action::RaiseBudget { .. } => "keep the budget",
            Action::Kill => "let it live",
            _ => "leave it",
        }
    }
}

fn paragraph(text: &str, columns: usize, style: ratatui::style::Style) -> Vec<Line<'static>> {
    let lines = wrap(text, columns, 12);
    lines.into_iter().map(|part| LineBuilder::new(columns).put(part, style).build()).collect()
}

const KEYS: &[(&str, &str)] = &[
    ("j k", "next, previous session; also arrows"),
    ("Enter", "open the session"),
    ("Esc q", "back; q in the overview exits"),
    ("a", "acknowledge; the session stays held"),
    ("r", "resume, with a note"),
    ("b", "raise the budget"),
    ("K", "kill; asks first"),
    ("s", "mark as seen"),
    ("x", "archive; asks first"),
    ("c", "show the command lines"),
    ("/", "filter the sessions"),
    ("h l", "in a session: earlier, later calls"),
    ("Tab", "in a session: next; Shift-Tab previous"),
    ("Ctrl-C", "exit"),
];

fn help(theme: Theme, columns: usize) -> Vec<Line<'static>> {
    let row = |(keys, what): &(&str, &str)| {
        LineBuilder::new(columns).cell(keys, 8, theme.strong()).put(what, theme.plain()).build()
    };
    KEYS.iter().map(row).collect()
}
