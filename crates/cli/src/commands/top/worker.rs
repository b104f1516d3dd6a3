//! Reads the views that are shown and records decisions, on a thread of its own: a resident process that hangs must not
//! freeze the keys.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, SystemTime};

use belay_core::event::OperatorDecision;
use belay_core::session::BudgetError;
use belay_ipc::SessionPageRequest;
use belay_ipc::views::{NeedKind, PendingApproval};
use belay_review_runner::{read, root};
use belay_store::{ChangeToken, Store};
use belay_tui::{Action, Decision, Message, PageRequest};

use crate::backend::Backend;
use crate::commands::{approvals, budget, decide};
use crate::context::Context;
use crate::error::CommandError;
use crate::operator::{OperatorArgs, require_operator};

/// How often the store is asked whether it has changed, which takes microseconds.
const POLL_INTERVAL: Duration = Duration::from_millis(400);

/// Without a change, views are read again after this many polls: a status also depends on time and on processes.
const POLLS_PER_REFRESH: u32 = 25;

/// What the main thread asks for.
#[derive(Debug)]
pub(super) enum Job {
    /// Keep this page up to date besides the overview.
    Watch(Option<PageRequest>),
    Decide(Decision),
}

/// Runs until the sender of jobs is gone, or `answer` returns false.
pub(super) fn run(
    context: &Context,
    operator: OperatorArgs,
    jobs: &Receiver<Job>,
    warnings: &Receiver<String>,
    answer: impl Fn(Message) -> bool,
) {
    let mut watched = None;
    let mut change = ChangeDetector::default();
    let mut prompts = Prompts::default();
    let mut due = true;
    loop {
        if due {
            change.is_due(context);
            let read = read_views(context, watched.as_ref());
            let messages = read.unwrap_or_else(|error| vec![Message::ReadFailed(error.to_line())]);
            prompts.asked = messages.iter().any(asks_permission);
            if !messages.into_iter().chain(warnings.try_iter().map(Message::Warning)).all(&answer) {
                return;
            }
        }
        if let Some(message) = prompts.read(context)
            && !answer(message)
        {
            return;
        }
        let mut next = match jobs.recv_timeout(POLL_INTERVAL) {
            Ok(job) => Some(job),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        due = next.is_some() || change.is_due(context);
        // All that is asked for by now, before views are read once.
        while let Some(job) = next {
            match job {
                Job::Watch(page) => watched = page,
                Job::Decide(decision) => {
                    let result = perform(context, operator, decision).map_err(|error| error.to_line());
                    if !answer(Message::Decided(result)) {
                        return;
                    }
                }
            }
            next = jobs.try_recv().ok();
        }
    }
}

/// Follows the permission prompts that can be answered. They are not in the store.
#[derive(Default)]
struct Prompts {
    /// A session waits for permission. Without one, the resident process is left alone.
    asked: bool,
    sent: Vec<PendingApproval>,
}

impl Prompts {
    /// The prompts, if they have changed.
    fn read(&mut self, context: &Context) -> Option<Message> {
        let pending = if self.asked { approvals::pending(context) } else { Vec::new() };
        (pending != self.sent).then(|| {
            self.sent.clone_from(&pending);
            Message::Approvals(pending)
        })
    }
}

fn asks_permission(message: &Message) -> bool {
    match message {
        Message::Overview(view) => view.needs.iter().any(|need| need.kind == NeedKind::Permission),
        _ => false,
    }
}

/// Notices changes of the store and of review tasks.
#[derive(Default)]
struct ChangeDetector {
    store: Option<Box<dyn Store>>,
    token: Option<ChangeToken>,
    /// When a review task last changed. Tasks are not in the store.
    reviews: Option<SystemTime>,
    polls: u32,
}

impl ChangeDetector {
    /// Whether the store or a review task has changed since the last call, or the time for a refresh has come.
    fn is_due(&mut self, context: &Context) -> bool {
        if self.store.is_none() {
            self.store = context.store().ok().flatten();
        }
        let token = self.store.as_ref().and_then(|store| store.change_token().ok());
        let reviews = read::newest_change(&root(&context.paths));
        self.polls += 1;
        let due = token != self.token || reviews != self.reviews || self.polls >= POLLS_PER_REFRESH;
        if due {
            (self.token, self.reviews, self.polls) = (token, reviews, 0);
        }
        due
    }
}

fn read_views(context: &Context, watched: Option<&PageRequest>) -> Result<Vec<Message>, CommandError> {
    let mut backend = Backend::open(context)?;
    let mut messages = vec![Message::Overview(Box::new(backend.overview()?))];
    if let Some(request) = watched {
        let page = SessionPageRequest {
            session: request.session.clone(),
            before: request.before,
            calls: request.calls,
            events_before: None,
        };
        messages.push(Message::Page(request.session.clone(), backend.read(&page)?));
    }
    Ok(messages)
}

/// Records a decision as the command of the same name does, and says what came of it.
fn perform(context: &Context, operator: OperatorArgs, decision: Decision) -> Result<String, CommandError> {
    let Decision { session, action } = decision;
    let as_operator = |command: &str| require_operator(context, operator, command, Some(&session));
    let unless_held =
        |command: &str| decide::caller_unless_held(context, &mut Backend::open(context)?, &session, command, operator);
    let (caller, decision, note) = match action {
        Action::Acknowledge => (unless_held("ack")?, OperatorDecision::Acknowledge, String::new()),
        Action::MarkSeen => (unless_held("seen")?, OperatorDecision::MarkSeen, String::new()),
        Action::Archive => (unless_held("archive")?, OperatorDecision::Archive, String::new()),
        Action::Kill => (as_operator("kill")?, OperatorDecision::Kill, String::new()),
        Action::Resume { note } => (as_operator("resume")?, OperatorDecision::RESUME, note),
        Action::Answer { approval, hash, answer, why } => {
            let answer = approvals::Answer { id: &approval, hash: &hash, answer, why: &why };
            let response = approvals::send(context, operator, Some(&session), answer)?;
            return Ok(format!("{}.", approvals::sentence(&response)));
        }
        Action::RaiseBudget { amount, resume } => {
            let budget = amount.parse().map_err(|error: BudgetError| CommandError::usage(error.to_string()))?;
            let caller = as_operator("budget")?;
            let mut backend = Backend::open(context)?;
            budget::set(context, &mut backend, &session, budget, resume, &caller)?;
            let name = backend.session(&session)?.short;
            return Ok(match resume {
                true => format!("{name} has a budget of {amount} and is resumed."),
                false => format!("{name} has a budget of {amount}."),
            });
        }
    };
    let mut backend = Backend::open(context)?;
    Ok(decide::record(context, &mut backend, session, decision, &note, caller)?.sentence)
}
