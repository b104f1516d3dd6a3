//! Questions before a decision, the list of keys, and command lines. Drawn over a screen.

use belay_core::SessionKey;
use belay_core::event::PermissionAnswer;
use belay_ipc::views::{
    NeedKind, NeedView, PendingApproval, ReviewAttention, ReviewPhase, ReviewSummaryView, SessionView,
};
use ratatui::text::Line;

use crate::action::{Action, Decision, quoted};
use crate::line::{LineBuilder, wrap};
use crate::prompt;
use crate::style::{Theme, Tone};

#[derive(Debug)]
pub(crate) enum Dialog {
    Ask(Question),
    Help,
    /// Command lines for a session or a review task.
    Commands {
        title: String,
        lines: Vec<String>,
    },
}

/// Widest dialog; a command gets more room.
const MAX_COLUMNS: usize = 76;
const MAX_PROMPT_COLUMNS: usize = 156;

/// A decision that is not made yet.
#[derive(Debug)]
pub(crate) struct Question {
    key: SessionKey,
    short: String,
    title: String,
    action: Action,
    /// The permission prompt that it answers.
    prompt: Option<Box<PendingApproval>>,
    /// Sent, and not answered yet.
    pending: bool,
    error: Option<String>,
}

impl Dialog {
    pub(crate) fn ask(key: SessionKey, session: &SessionView, action: Action) -> Self {
        let (short, title) = (session.short.clone(), session.title().to_owned());
        Self::Ask(Question { key, short, title, action, prompt: None, pending: false, error: None })
    }

    /// Answers a permission prompt by `action`.
    pub(crate) fn answer(key: SessionKey, session: &SessionView, prompt: PendingApproval, action: Action) -> Self {
        let (short, title) = (session.short.clone(), session.title().to_owned());
        Self::Ask(Question { key, short, title, action, prompt: Some(Box::new(prompt)), pending: false, error: None })
    }

    /// The command lines that do what the keys do.
    pub(crate) fn commands(session: &SessionView, need: Option<&NeedView>, prompt: Option<&PendingApproval>) -> Self {
        let short = &session.short;
        let mut lines = vec![format!("belay show {short}"), format!("belay explain {short}")];
        let of = |action: Action| action.command_line(short);
        if let Some(prompt) = prompt {
            lines.push(prompt::command_line(&prompt.id, PermissionAnswer::Allow, ""));
            lines.push(prompt::command_line(&prompt.id, PermissionAnswer::Deny, "..."));
        }
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

    /// The command lines that decide about a review task.
    pub(crate) fn review_commands(task: &ReviewSummaryView) -> Self {
        let of = |verb: &str| format!("belay review {verb} {}", quoted(&task.id));
        let mut lines = vec![of("show"), of("diff")];
        if task.phase == ReviewPhase::Done {
            lines.extend([of("land"), of("archive")]);
        } else {
            lines.push(format!("{} --done", of("answer")));
            lines.push(format!("{} --fix '...'", of("answer")));
            lines.push(match task.attention {
                Some(ReviewAttention::RoundsUsed) => {
                    format!("{} --rounds {}", of("resume"), task.max_rounds.saturating_add(1))
                }
                Some(ReviewAttention::BudgetUsed) => format!("{} --budget AMOUNT", of("resume")),
                _ => of("resume"),
            });
            lines.push(of("cancel"));
        }
        Self::Commands { title: task.title.clone(), lines }
    }

    /// The text that is being typed.
    pub(crate) fn input(&mut self) -> Option<&mut String> {
        let Self::Ask(question) = self else { return None };
        let text = match &mut question.action {
            Action::Resume { note } => note,
            Action::RaiseBudget { amount, .. } => amount,
            Action::Answer { answer: PermissionAnswer::Deny, why, .. } => why,
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

    /// Whether a person who allows something has seen all of it, on a screen of this size.
    pub(crate) fn shows_all(&self, screen: (u16, u16)) -> bool {
        let Self::Ask(question) = self else { return true };
        let allows = matches!(question.action, Action::Answer { answer: PermissionAnswer::Allow, .. });
        let (columns, rows) = self.inner_size(screen);
        let room = question.prompt_rows(columns, rows);
        !allows || question.prompt.as_ref().is_none_or(|prompt| prompt::fits(prompt, columns, room))
    }

    /// Columns and rows inside the frame of the dialog, at most.
    pub(crate) fn inner_size(&self, (columns, rows): (u16, u16)) -> (usize, usize) {
        let max = match self {
            Self::Ask(Question { prompt: Some(_), .. }) => MAX_PROMPT_COLUMNS,
            _ => MAX_COLUMNS,
        };
        (usize::from(columns).saturating_sub(4).min(max), usize::from(rows).saturating_sub(2))
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

    /// Its lines. A prompt gets what is left of `rows`; the others are as long as they are.
    pub(crate) fn lines(&self, theme: Theme, columns: usize, rows: usize) -> Vec<Line<'static>> {
        match self {
            Self::Ask(question) => question.lines(theme, columns, rows),
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
            Action::Answer { answer: PermissionAnswer::Allow, .. } => "Allow once",
            Action::Answer { answer: PermissionAnswer::Deny, .. } => "Deny",
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
            Action::Answer { answer: PermissionAnswer::Allow, .. } => "The agent runs exactly this, once.",
            Action::Answer { answer: PermissionAnswer::Deny, .. } => {
                "The agent does not run this, and reads the reason."
            }
        }
    }

    /// Rows that are left for the prompt.
    fn prompt_rows(&self, columns: usize, rows: usize) -> usize {
        rows.saturating_sub(self.lines_around(Theme { color: false }, columns, Vec::new()).len() + 1)
    }

    fn lines(&self, theme: Theme, columns: usize, rows: usize) -> Vec<Line<'static>> {
        let Some(prompt) = &self.prompt else { return self.lines_around(theme, columns, Vec::new()) };
        let mut shown = prompt::lines(prompt, theme, columns, self.prompt_rows(columns, rows));
        shown.push(Line::default());
        self.lines_around(theme, columns, shown)
    }

    fn lines_around(&self, theme: Theme, columns: usize, prompt: Vec<Line<'static>>) -> Vec<Line<'static>> {
        let line = || LineBuilder::new(columns);
        let mut lines = vec![line().put(&self.title, theme.strong()).build()];
        lines.extend(paragraph(self.consequence(), columns, theme.plain()));
        lines.push(Line::default());
        lines.extend(prompt);
        let typed = match &self.action {
            Action::Resume { note } => Some(("Note the agent reads (optional): ", note)),
            Action::RaiseBudget { amount, .. } => Some(("Budget: ", amount)),
            Action::Answer { answer: PermissionAnswer::Deny, why, .. } => {
                Some(("Reason the agent reads (optional): ", why))
            }
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
            Action::Answer { answer: PermissionAnswer::Allow, .. } => "allow it once",
            Action::Answer { answer: PermissionAnswer::Deny, .. } => "deny it",
        }
    }

    fn cancel_label(&self) -> &'static str {
        match self.action {
            Action::Resume { .. } => "keep it held",
            Action::RaiseBudget { .. } => "keep the budget",
            Action::Kill => "let it live",
            Action::Answer { .. } => "decide later",
            _ => "leave it",
        }
    }
}

fn paragraph(text: &str, columns: usize, style: ratatui::style::Style) -> Vec<Line<'static>> {
    let lines = wrap(text, columns, 12);
    lines.into_iter().map(|part| LineBuilder::new(columns).put(part, style).build()).collect()
}

const KEYS: &[(&str, &str)] = &[
    ("j k", "next, previous row; also arrows"),
    ("Enter", "open the session; of a review task, its commands"),
    ("Esc q", "back; q in the overview exits"),
    ("y n", "allow, deny what it asks to run; asks first"),
    ("a", "acknowledge; the session stays held"),
    ("r", "resume, with a note"),
    ("b", "raise the budget"),
    ("K", "kill; asks first"),
    ("s", "mark as seen"),
    ("x", "archive; asks first"),
    ("c", "show the command lines"),
    ("/", "filter the rows"),
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
