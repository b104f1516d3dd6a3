//! Prints all turns of a session file, for a reader who labels it: `show_session FILE [FIRST LAST]`. Calls are numbered as in
//! alarms; a range of numbers limits what is printed.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program prints")]

use std::collections::HashMap;
use std::path::Path;
use std::process::ExitCode;

use belay_core::event::Author;
use belay_core::{Body, CallStatus, Event, SessionKey};

/// Longer texts are cut; the file has all of them.
const MAX_CHARS: usize = 1200;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (file, first, last) = match args.as_slice() {
        [file] => (file, 0, u64::MAX),
        [file, first, last] => match (first.parse(), last.parse()) {
            (Ok(first), Ok(last)) => (file, first, last),
            _ => return usage(),
        },
        _ => return usage(),
    };
    match show(Path::new(file), first, last) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cannot show {file}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> ExitCode {
    eprintln!("usage: show_session FILE [FIRST LAST]");
    ExitCode::FAILURE
}

fn show(file: &Path, first: u64, last: u64) -> Result<(), Box<dyn std::error::Error>> {
    let format = belay_agents::detect_format(file)?.ok_or("the format is unknown")?;
    let mut reader = Reader { first, last, sessions: HashMap::new() };
    format.read(file, &mut |event: Event| reader.event(&event))?;
    Ok(())
}

struct Reader {
    first: u64,
    last: u64,
    sessions: HashMap<SessionKey, Numbers>,
}

/// The numbers of a session's calls.
#[derive(Default)]
struct Numbers {
    calls: u64,
    by_id: HashMap<String, u64>,
}

impl Reader {
    fn event(&mut self, event: &Event) {
        let agent = if event.parent.is_some() { format!("{} ", event.session.short_id()) } else { String::new() };
        let numbers = self.sessions.entry(event.session.clone()).or_default();
        let (number, line) = match &event.body {
            Body::Prompt(prompt) => {
                let who = match prompt.by {
                    Author::Person => "PERSON",
                    Author::Agent => "PARENT",
                    Author::Continuation => "HARNESS",
                    _ => "SYSTEM",
                };
                (numbers.calls.saturating_sub(1), format!("[{who}] {}", prompt.text.as_str()))
            }
            Body::ModelAnswered(answer) if !answer.text.as_str().trim().is_empty() => {
                (numbers.calls.saturating_sub(1), format!("[SAYS] {}", answer.text.as_str()))
            }
            Body::ToolCalled(call) => {
                let number = numbers.calls;
                numbers.calls += 1;
                if let Some(id) = &call.call {
                    numbers.by_id.insert(id.clone(), number);
                }
                (number, format!("{number}> {} {}", call.tool.name, call.input.as_str()))
            }
            Body::ToolReturned(result) => {
                let known = result.call.as_ref().and_then(|id| numbers.by_id.get(id)).copied();
                let number = known.unwrap_or(numbers.calls.saturating_sub(1));
                let mark = if result.status == CallStatus::Ok { "=" } else { "!" };
                (number, format!("  {mark}{number} {:?} {}", result.status, result.output.as_str()))
            }
            Body::Compacted(_) => (numbers.calls.saturating_sub(1), "[COMPACTED]".to_owned()),
            _ => return,
        };
        if (self.first..=self.last).contains(&number) {
            println!("{agent}{}", shortened(&line));
        }
    }
}

/// One line, cut in the middle.
fn shortened(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = if text.starts_with(' ') { format!("  {line}") } else { line };
    let length = line.chars().count();
    if length <= MAX_CHARS {
        return line;
    }
    let head: String = line.chars().take(MAX_CHARS * 3 / 4).collect();
    let tail: String = line.chars().skip(length - MAX_CHARS / 4).collect();
    format!("{head} […] {tail}")
}
