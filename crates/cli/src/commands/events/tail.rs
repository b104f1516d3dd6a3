//! `belay events tail`: prints the newest events and follows the log.

use std::collections::HashMap;
use std::io;
use std::time::Duration;

use belay_core::{Body, Event, SessionKey};
use belay_server::views::EventView;
use belay_store::{EventQuery, EventRow, Order, Store};
use clap::Args;

use crate::commands::CommandResult;
use crate::context::Context;
use crate::exit_status::ExitStatus;
use crate::format::local_time;
use crate::output::single_line;

/// Poll interval while following; a poll takes microseconds.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

#[derive(Debug, Args)]
pub(crate) struct TailArgs {
    /// Only events of this session.
    id: Option<String>,
    /// Print new events as they arrive.
    #[arg(long, short)]
    follow: bool,
    /// Number of past events to print first.
    #[arg(long, short = 'n', default_value_t = 20, value_name = "N")]
    lines: usize,
    /// Only events of these kinds (see `belay schema event`).
    #[arg(long, value_delimiter = ',', value_name = "KIND")]
    kind: Vec<String>,
}

pub(crate) fn run(context: &Context, args: &TailArgs) -> CommandResult {
    let (store, session) = match &args.id {
        Some(id) => {
            let (store, key) = context.session(id)?;
            (Some(store), Some(key))
        }
        None => (context.store()?, None),
    };
    let Some(store) = wait_for_store(context, store, args.follow)? else {
        context.out.info("No events yet.");
        return Ok(ExitStatus::Done);
    };
    let mut query = EventQuery {
        session,
        kinds: args.kind.clone(),
        order: Order::Last,
        limit: args.lines.max(1),
        ..EventQuery::default()
    };
    let mut names = ShortNames::default();
    let mut mark = store.change_token()?;
    // Read before the first query, so that no event between the query and the first poll is lost.
    let end = newest(&*store, &query)?;
    let mut rows = if args.lines == 0 { Vec::new() } else { store.events(&query)? };
    query.after = Some(end);
    loop {
        for row in &rows {
            query.after = Some(number(&query, row));
            print(context, &*store, &mut names, row)?;
        }
        if !args.follow {
            return Ok(ExitStatus::Done);
        }
        query.order = Order::First;
        query.limit = 1000;
        while store.change_token()? == mark {
            std::thread::sleep(POLL_INTERVAL);
        }
        mark = store.change_token()?;
        rows = store.events(&query)?;
    }
}

/// Waits for the store if the log is followed: it may not exist yet.
fn wait_for_store(
    context: &Context,
    store: Option<Box<dyn Store>>,
    follow: bool,
) -> Result<Option<Box<dyn Store>>, crate::error::CommandError> {
    let mut store = store;
    while store.is_none() && follow {
        std::thread::sleep(POLL_INTERVAL);
        store = context.store()?;
    }
    Ok(store)
}

fn newest(store: &dyn Store, query: &EventQuery) -> Result<u64, crate::error::CommandError> {
    let last = EventQuery { kinds: Vec::new(), order: Order::Last, limit: 1, ..query.clone() };
    Ok(store.events(&last)?.last().map_or(0, |row| number(query, row)))
}

fn number(query: &EventQuery, row: &EventRow) -> u64 {
    if query.session.is_some() { row.seq } else { u64::try_from(row.ord).unwrap_or(0) }
}

/// Cache of short session names.
#[derive(Default)]
struct ShortNames(HashMap<SessionKey, String>);

impl ShortNames {
    fn short_name(&mut self, store: &dyn Store, key: &SessionKey) -> String {
        if let Some(name) = self.0.get(key) {
            return name.clone();
        }
        let short = store.short_names(std::slice::from_ref(key), 6).ok().and_then(|mut names| names.pop());
        let short = short.unwrap_or_else(|| key.to_string());
        self.0.insert(key.clone(), short.clone());
        short
    }
}

fn print(context: &Context, store: &dyn Store, names: &mut ShortNames, row: &EventRow) -> io::Result<()> {
    if context.out.json {
        return context.out.json(&EventView::from_row(row));
    }
    let what = row.event().map(|event| what(&event)).unwrap_or_else(|error| error.to_string());
    let name = names.short_name(store, &row.session);
    let at = local_time(row.at);
    context.out.line(single_line(&format!("{at}  {name}  #{:<4} {:<16} {what}", row.seq, row.kind)).trim_end())
}

/// Summary of an event in one line.
fn what(event: &Event) -> String {
    let text = match &event.body {
        Body::ToolCalled(call) => format!("{}: {}", call.tool.name, call.input),
        Body::ToolReturned(result) => {
            let code = result.exit_code.map_or_else(String::new, |code| format!(" ({code})"));
            format!("{:?}{code}: {}", result.status, result.output).to_lowercase()
        }
        Body::Prompt(prompt) => prompt.text.to_string(),
        Body::FileChanged(file) => file.path.clone(),
        Body::CheckRan(check) => match check.ok {
            Some(true) => "passed".to_owned(),
            Some(false) => format!("{} failed", check.failed.unwrap_or(0)),
            None => "started".to_owned(),
        },
        Body::ModelAsked(ask) => ask.model.clone().unwrap_or_default(),
        Body::ModelAnswered(answer) => {
            let tokens = answer.usage.map_or(0, |usage| usage.total());
            format!("{} {}", answer.model.as_deref().unwrap_or(""), belay_core::format::tokens(tokens))
        }
        Body::Operator(operator) => {
            let decision = serde_json::to_value(&operator.decision).unwrap_or_default();
            format!("{} {}", decision["decision"].as_str().unwrap_or(""), operator.note)
        }
        Body::Note(note) => note.text.to_string(),
        _ => String::new(),
    };
    let text = single_line(text.trim());
    match text.char_indices().nth(100) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into_owned(),
    }
}
