//! `belay top`: the overview and the pages of sessions in the terminal. `belay_tui` holds the screens; this file connects
//! them to the terminal ([`screen`]) and to the data ([`worker`]).
//!
//! Three threads send to one channel: keys, signals, and the worker, which reads views and records decisions. This
//! thread applies what arrives and draws, at least once a second, because ages change.

mod screen;
mod worker;

use std::io::{IsTerminal, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use belay_clock::now;
use belay_ipc::SessionPageRequest;
use belay_tui::{App, Command, Message, Settings};
use clap::Args;
use ratatui::crossterm::event::{self, Event};
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::CommandResult;
use crate::backend::Backend;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_status::ExitStatus;
use crate::operator::OperatorArgs;
use crate::output::terminal_size;
use screen::FullScreen;
use worker::Job;

/// Ages are shown in seconds at most.
const TICK: Duration = Duration::from_secs(1);

/// Width if stdout is not a terminal and `COLUMNS` is not set.
const DEFAULT_COLUMNS: u16 = 80;
/// Height for `--once`, whose output is as long as necessary.
const DEFAULT_ROWS: u16 = 24;

#[derive(Debug, Args)]
pub(crate) struct TopArgs {
    /// Session to open: any unique prefix of `agent:id`. Without it, the overview.
    id: Option<String>,
    /// Print one frame as plain text and exit; COLUMNS sets its width.
    #[arg(long)]
    once: bool,
    #[command(flatten)]
    operator: OperatorArgs,
}

pub(crate) fn run(context: &Context, args: &TopArgs) -> CommandResult {
    if args.once || context.out.json {
        return once(context, args);
    }
    let dumb = context.env.text("TERM").is_none_or(|name| name == "dumb");
    let Some(size) = terminal_size().filter(|_| !dumb) else {
        let why = if std::io::stdout().is_terminal() { "TERM is unset or `dumb`" } else { "stdout is not a terminal" };
        return Err(CommandError::new(format!("cannot draw on the screen: {why}"))
            .hint("print one frame with `belay top --once`, or list sessions with `belay sessions`"));
    };
    let mut app = App::new(settings(context), now(), size);
    let mut commands = Vec::new();
    if let Some(id) = &args.id {
        commands = app.open(Backend::open(context)?.resolve(id)?);
    }
    full_screen(context, args.operator, app, commands)
}

/// Prints one frame, or the data behind it.
fn once(context: &Context, args: &TopArgs) -> CommandResult {
    let mut backend = Backend::open(context)?;
    let overview = backend.overview()?;
    let columns = context.env.text("COLUMNS").and_then(|text| text.parse().ok());
    let columns = columns.or(terminal_size().map(|(columns, _)| columns)).unwrap_or(DEFAULT_COLUMNS);
    let settings = Settings { color: false, ..settings(context) };
    let mut app = App::new(settings, overview.now, (columns.clamp(20, 500), DEFAULT_ROWS));
    if let Some(id) = &args.id {
        let key = backend.resolve(id)?;
        let request = app.open(key.clone()).into_iter().find_map(|command| match command {
            Command::Watch(request) => request,
            _ => None,
        });
        let calls = request.map_or(0, |request| request.calls);
        let page = SessionPageRequest { session: key.clone(), before: None, calls, events_before: None };
        let page = backend.read(&page)?;
        if context.out.json {
            context.out.json(&page)?;
            return Ok(ExitStatus::Done);
        }
        app.update(Message::Overview(Box::new(overview)));
        app.update(Message::Page(key, page));
    } else {
        if context.out.json {
            context.out.json(&overview)?;
            return Ok(ExitStatus::Done);
        }
        app.update(Message::Overview(Box::new(overview)));
    }
    app.update(Message::Approvals(super::approvals::pending(context)));
    let mut stdout = std::io::stdout().lock();
    // The frame holds no controls but line breaks.
    stdout.write_all(belay_tui::plain_text(&app).as_bytes())?;
    stdout.flush()?;
    Ok(ExitStatus::Done)
}

fn settings(context: &Context) -> Settings {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(|name| context.env.text(name));
    let locale = locale.unwrap_or_default().to_ascii_lowercase();
    Settings {
        color: context.env.text("NO_COLOR").is_none(),
        unicode: locale.contains("utf-8") || locale.contains("utf8"),
        zone: jiff::tz::TimeZone::system(),
    }
}

/// What the main thread waits for.
enum Input {
    Message(Message),
    Signal(i32),
    /// The terminal is gone.
    Closed,
}

fn full_screen(context: &Context, operator: OperatorArgs, app: App, commands: Vec<Command>) -> CommandResult {
    let (send, inputs) = channel();
    let (jobs, worker_jobs) = channel();
    let (warn, warnings) = channel();
    let context = context.capture_messages(warn);
    let signals = Signals::new([SIGTERM, SIGINT, SIGHUP, SIGCONT])?;
    let mut screen = FullScreen::enter()?;
    // These two wait for input for ever, so they are never joined.
    read_keys(send.clone());
    read_signals(signals, send.clone());
    std::thread::scope(|scope| {
        let answers = move |message| send.send(Input::Message(message)).is_ok();
        let worker = scope.spawn(move || worker::run(&context, operator, &worker_jobs, &warnings, answers));
        let mut driver = Driver { app, screen: &mut screen, jobs };
        let exit = driver.run(commands, &inputs, || worker.is_finished());
        // Without senders, the worker ends.
        drop(driver);
        exit
    })
}

fn read_keys(send: Sender<Input>) {
    std::thread::spawn(move || {
        loop {
            let input = match event::read() {
                Ok(Event::Key(key)) => Input::Message(Message::Key(key)),
                Ok(Event::Paste(text)) => Input::Message(Message::Paste(text)),
                Ok(Event::Resize(columns, rows)) => Input::Message(Message::Resize(columns, rows)),
                Ok(_) => continue,
                Err(_) => Input::Closed,
            };
            let closed = matches!(input, Input::Closed);
            if send.send(input).is_err() || closed {
                return;
            }
        }
    });
}

fn read_signals(mut signals: Signals, send: Sender<Input>) {
    std::thread::spawn(move || signals.forever().all(|signal| send.send(Input::Signal(signal)).is_ok()));
}

/// Applies messages, performs commands and draws.
struct Driver<'s> {
    app: App,
    screen: &'s mut FullScreen,
    jobs: Sender<Job>,
}

impl Driver<'_> {
    fn run(
        &mut self,
        commands: Vec<Command>,
        inputs: &Receiver<Input>,
        worker_ended: impl Fn() -> bool,
    ) -> CommandResult {
        let mut exit = self.perform(commands)?;
        loop {
            if let Some(exit) = exit {
                return Ok(exit);
            }
            // It ends only by a panic, which is reported when the thread is joined.
            if worker_ended() {
                return Ok(ExitStatus::Failed);
            }
            self.screen.draw(&self.app)?;
            exit = match inputs.recv_timeout(TICK) {
                Ok(input) => self.apply(input)?,
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => Some(ExitStatus::Done),
            };
            // Everything that has arrived is drawn at once.
            while exit.is_none()
                && let Ok(input) = inputs.try_recv()
            {
                exit = self.apply(input)?;
            }
            self.app.update(Message::Tick(now()));
        }
    }

    fn apply(&mut self, input: Input) -> Result<Option<ExitStatus>, CommandError> {
        match input {
            Input::Message(message) => {
                let commands = self.app.update(message);
                self.perform(commands)
            }
            // Continued after a stop: the shell has used the terminal meanwhile.
            Input::Signal(SIGCONT) => {
                self.screen.resume()?;
                Ok(None)
            }
            Input::Signal(signal) => Ok(Some(ExitStatus::Signal(signal))),
            Input::Closed => Ok(Some(ExitStatus::Done)),
        }
    }

    fn perform(&mut self, commands: Vec<Command>) -> Result<Option<ExitStatus>, CommandError> {
        for command in commands {
            let job = match command {
                Command::Exit => return Ok(Some(ExitStatus::Done)),
                Command::Suspend => {
                    self.screen.suspend()?;
                    continue;
                }
                Command::Watch(page) => Job::Watch(page),
                Command::Decide(decision) => Job::Decide(decision),
            };
            // If the worker is gone, the loop ends.
            let _ = self.jobs.send(job);
        }
        Ok(None)
    }
}
