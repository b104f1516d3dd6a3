//! Parses a readable session script into events.
//!
//! ```text
//! person: fix the failing test
//! repeat 3
//!   Bash: npm test
//!     ! 3 failing
//!     exit 1
//! end
//! ```
//!
//! | line | meaning |
//! |---|---|
//! | `person: TEXT`, `machine: TEXT`, `news: TEXT` | a prompt: typed, by a harness that continues, a notification |
//! | `says: TEXT`, `chants: TEXT` | the model responds without a tool call; with degenerate output |
//! | `uses N [MODEL]` | an answer that cost N thousand tokens of context |
//! | `Tool: INPUT` | a tool call; INPUT is a command or JSON |
//! | `| TEXT`, `! TEXT` | a line of its output; `!` says that it failed |
//! | `exit N`, `refused`, `running`, `hangs` | how it ended; `hangs`: it was not answered |
//! | `together` ... `end` | calls made side by side |
//! | `repeat N` ... `end` | repeats the block; `{n}` is the iteration, from 1 |
//! | `file PATH = CONTENT`, `file PATH = OLD => CONTENT` | a file's content after the call before, and what the call found |
//! | `check COMMAND passed`, `check COMMAND failed NAME ...` | a reporter's word on tests |
//! | `reports edit PATH ...`, `reports failure TEXT`, `reports pass` | events posted to Loop Watchdog's API |
//! | `asks: TEXT` | a model request whose news is TEXT, seen by a proxy |
//! | `fails STATUS`, `answers nothing` | a model call that failed; one that returned an empty message |
//! | `turn ends`, `compacts`, `commit SHA`, `waits 10m`, `wait over`, `permission` | what they say |
//! | `after 5m` | time passes; `tick 5m`: time passes, then a tick |
//! | `agent NAME` | what follows happens in that session; `main` is the parent of all |

use std::time::Duration;

use belay_core::event::*;
use belay_core::{Body, CallStatus, Digest, Event, Excerpt, SessionKey, Source, Timestamp};
use serde_json::Value;

#[derive(Debug)]
enum Step {
    Line(String),
    Call { head: String, tail: Vec<String> },
    Together(Vec<Step>),
    Repeat(u32, Vec<Step>),
}

/// The events of a script, in order.
pub(crate) fn events(text: &str) -> Vec<Event> {
    let mut lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|l| !l.is_empty() && !l.starts_with('#') && !l.starts_with("expect "))
        .collect();
    lines.reverse();
    let steps = block(&mut lines);
    assert!(lines.is_empty(), "`end` without a beginning");
    let mut writer = Writer::default();
    writer.steps(&steps, &[]);
    writer.events
}

fn block(lines: &mut Vec<&str>) -> Vec<Step> {
    let mut steps = Vec::new();
    while let Some(line) = lines.pop() {
        if line == "end" {
            return steps;
        }
        if let Some(times) = line.strip_prefix("repeat ") {
            steps.push(Step::Repeat(times.parse().expect("repeat N"), block(lines)));
        } else if line == "together" {
            steps.push(Step::Together(block(lines)));
        } else if is_call(line) {
            let mut tail = Vec::new();
            while lines.last().is_some_and(|next| is_outcome(next)) {
                tail.push(lines.pop().unwrap_or_default().to_owned());
            }
            steps.push(Step::Call { head: line.to_owned(), tail });
        } else {
            steps.push(Step::Line(line.to_owned()));
        }
    }
    steps
}

fn is_call(line: &str) -> bool {
    let words = ["person", "machine", "news", "says", "chants", "asks"];
    line.split_once(':').is_some_and(|(head, _)| {
        !words.contains(&head) && !head.is_empty() && head.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c))
    })
}

fn is_outcome(line: &str) -> bool {
    line.starts_with("| ")
        || line == "|"
        || line.starts_with("! ")
        || line.starts_with("exit ")
        || ["refused", "running", "hangs"].contains(&line)
}

struct Writer {
    events: Vec<Event>,
    now: i64,
    calls: u32,
    session: String,
    last_call: Option<String>,
}

impl Default for Writer {
    fn default() -> Self {
        Self { events: Vec::new(), now: 1_767_225_600_000, calls: 0, session: "main".to_owned(), last_call: None }
    }
}

impl Writer {
    fn emit(&mut self, source: Source, body: Body) -> &mut Event {
        self.now += 1_000;
        let key = SessionKey::new("script", &self.session);
        let id = format!("e{}", self.events.len());
        let mut event = Event::new(id, key, source, Timestamp::from_millis(self.now), body);
        event.parent = (self.session != "main").then(|| SessionKey::new("script", "main"));
        self.events.push(event);
        self.events.last_mut().expect("an event was told")
    }

    fn steps(&mut self, steps: &[Step], rounds: &[u32]) {
        for step in steps {
            match step {
                Step::Repeat(times, steps) => {
                    for round in 1..=*times {
                        let rounds: Vec<u32> = rounds.iter().copied().chain([round]).collect();
                        self.steps(steps, &rounds);
                    }
                }
                Step::Together(steps) => {
                    let batch = format!("batch{}", self.events.len());
                    let mut open = Vec::new();
                    for step in steps {
                        let Step::Call { head, tail } = step else { panic!("only calls stand together: {step:?}") };
                        let id = self.call(&fill(head, rounds), Some(&batch));
                        open.push((id, tail));
                    }
                    for (id, tail) in open {
                        self.outcome(&id, tail, rounds);
                    }
                }
                Step::Call { head, tail } => {
                    let id = self.call(&fill(head, rounds), None);
                    self.outcome(&id, tail, rounds);
                }
                Step::Line(line) => self.line(&fill(line, rounds)),
            }
        }
    }

    fn call(&mut self, head: &str, batch: Option<&str>) -> String {
        let (tool, input) = head.split_once(':').expect("Tool: INPUT");
        let input = input.trim();
        let input: Value = match serde_json::from_str(input) {
            Ok(value @ Value::Object(_)) => value,
            _ => serde_json::json!({ "command": input }),
        };
        self.calls += 1;
        let id = format!("call{}", self.calls);
        let called = ToolCalled::new(Some(id.clone()), None, tool, &input);
        let event = self.emit(Source::Hook, Body::ToolCalled(called));
        event.batch = batch.map(str::to_owned);
        self.last_call = Some(id.clone());
        id
    }

    fn outcome(&mut self, id: &str, tail: &[String], rounds: &[u32]) {
        let (mut text, mut status, mut exit) = (Vec::new(), None, None);
        for line in tail.iter().map(|line| fill(line, rounds)) {
            match line.split_at(1) {
                ("|", rest) => text.push(rest.strip_prefix(' ').unwrap_or(rest).to_owned()),
                ("!", rest) => {
                    status.get_or_insert(CallStatus::Error);
                    text.push(rest.trim_start().to_owned());
                }
                _ if line == "refused" => status = Some(CallStatus::Refused),
                _ if line == "running" => status = Some(CallStatus::Running),
                _ if line == "hangs" => return,
                _ => exit = Some(line.trim_start_matches("exit ").parse().expect("exit N")),
            }
        }
        self.now += 2_000;
        let returned = ToolReturned::new(Some(id.to_owned()), status, exit, &text.join("\n"));
        self.emit(Source::Hook, Body::ToolReturned(returned));
    }

    fn line(&mut self, line: &str) {
        let excerpt = |text: &str| Excerpt::new(text.trim());
        if let Some((word, text)) = line.split_once(": ") {
            let said = |degenerate| {
                let said = Some(TextFingerprint::from_text(text));
                Body::ModelAnswered(ModelAnswered {
                    text: excerpt(text),
                    said,
                    degenerate,
                    tool_calls: Some(0),
                    ..ModelAnswered::default()
                })
            };
            let body = match word {
                "person" => Body::Prompt(Prompt { by: Author::Person, text: excerpt(text) }),
                "machine" => Body::Prompt(Prompt { by: Author::Continuation, text: excerpt(text) }),
                "news" => Body::Prompt(Prompt { by: Author::System, text: excerpt(text) }),
                "says" => said(false),
                "chants" => said(true),
                "asks" => Body::ModelAsked(ModelAsked {
                    tail: Some(TextFingerprint::from_text(text)),
                    ..ModelAsked::default()
                }),
                _ => panic!("cannot read `{line}`"),
            };
            self.emit(Source::Hook, body);
            return;
        }
        let words: Vec<&str> = line.split(' ').collect();
        let body = match words[..] {
            ["uses", thousands] | ["uses", thousands, _] => Body::ModelAnswered(ModelAnswered {
                usage: Some(Usage {
                    cache_read: thousands.parse::<u64>().expect("uses N") * 1000,
                    output: 200,
                    ..Usage::default()
                }),
                model: words.get(2).map(|model| (*model).to_owned()),
                tool_calls: Some(1),
                ..ModelAnswered::default()
            }),
            ["file", path, "=", ..] => {
                let content = line.split_once("= ").map_or("", |(_, content)| content);
                let (before, content) =
                    content.split_once(" => ").map_or((None, content), |(old, new)| (Some(old), new));
                let call = self.last_call.clone();
                Body::FileChanged(FileChanged {
                    path: path.to_owned(),
                    change: ChangeKind::Modified,
                    before: before.map(Digest::from_bytes),
                    after: Some(Digest::from_bytes(content)),
                    added: None,
                    removed: None,
                    call,
                })
            }
            ["check", ref rest @ ..] => check(rest),
            ["reports", what, ref rest @ ..] => return self.report(what, rest),
            ["fails", status] => {
                Body::ModelFailed(ModelFailed { status: status.parse().ok(), ..ModelFailed::default() })
            }
            ["turn", "ends"] => Body::TurnEnded(TurnEnded::default()),
            ["compacts"] => Body::Compacted(Compacted { automatic: true, before: None }),
            ["commit", sha] => Body::Committed(Committed { sha: sha.to_owned(), files: None }),
            ["waits", time] => Body::Waiting(Waiting {
                until: Some(Timestamp::from_millis(self.now) + span(time)),
                what: excerpt("it"),
                all: Vec::new(),
            }),
            ["wait", "over"] => Body::WaitEnded(WaitEnded { met: true }),
            ["permission"] => Body::PermissionAsked(PermissionRequested::default()),
            ["answers", "nothing"] => {
                Body::ModelAnswered(ModelAnswered { tool_calls: Some(0), ..ModelAnswered::default() })
            }
            ["starts", child] => {
                Body::SubAgentStarted(SubAgent { child: SessionKey::new("script", child), role: None })
            }
            ["after", time] => {
                self.now += i64::try_from(span(time).as_millis()).unwrap_or(0);
                return;
            }
            ["tick", time] => {
                self.now += i64::try_from(span(time).as_millis()).unwrap_or(0);
                Body::Tick
            }
            ["agent", name] => {
                name.clone_into(&mut self.session);
                return;
            }
            _ => panic!("cannot read `{line}`"),
        };
        self.emit(Source::Hook, body);
    }
}

impl Writer {
    /// An event that a client posted, with its own words beside it.
    fn report(&mut self, what: &str, words: &[&str]) {
        let text = words.join(" ");
        let (body, files, summary) = match what {
            "edit" => {
                let change = FileChanged {
                    path: words[0].to_owned(),
                    change: ChangeKind::Modified,
                    before: None,
                    after: None,
                    added: None,
                    removed: None,
                    call: None,
                };
                let files = words.iter().map(|path| (*path).to_owned()).collect();
                (Body::FileChanged(change), files, Excerpt::default())
            }
            "failure" | "pass" => {
                let run = CheckRan {
                    check: CheckKind::Test,
                    ok: Some(what == "pass"),
                    command: Excerpt::default(),
                    passed: None,
                    failed: None,
                    failing: Default::default(),
                    failure: (what == "failure").then(|| Digest::from_bytes(&text)),
                    call: None,
                };
                (Body::CheckRan(run), Vec::new(), Excerpt::new(&text))
            }
            _ => panic!("cannot read `reports {what}`"),
        };
        let report = ClientReport { kind: what.to_owned(), summary, files, metadata: Excerpt::default() };
        self.emit(Source::Unverified, body).report = Some(Box::new(report));
    }
}

fn check(words: &[&str]) -> Body {
    let at = words.iter().position(|word| ["passed", "failed"].contains(word)).expect("passed or failed");
    let ok = words[at] == "passed";
    Body::CheckRan(CheckRan {
        check: CheckKind::Test,
        ok: Some(ok),
        command: Excerpt::new(&words[..at].join(" ")),
        passed: None,
        failed: (!ok).then_some(1),
        failing: words[at + 1..].iter().map(|name| (*name).to_owned()).collect(),
        failure: None,
        call: None,
    })
}

/// `{n}` is the index of the innermost repeat, `{m}` that of the outer one; `{n*3}`, `{n+5}` and `{n%2}` are computed.
fn fill(line: &str, rounds: &[u32]) -> String {
    let mut text = line.to_owned();
    for (name, round) in ["n", "m"].iter().zip(rounds.iter().rev()) {
        while let Some(start) = text.find(&format!("{{{name}")) {
            let end = start + text[start..].find('}').expect("}");
            let sum = &text[start + 2..end];
            let value = match sum.split_at(sum.len().min(1)) {
                ("", _) => *round,
                ("*", by) => round * by.parse::<u32>().expect("{n*3}"),
                ("+", by) => round + by.parse::<u32>().expect("{n+3}"),
                ("-", by) => by.parse::<u32>().expect("{n-3}").saturating_sub(*round),
                ("%", by) => round % by.parse::<u32>().expect("{n%3}"),
                _ => panic!("cannot read {{{name}{sum}}}"),
            };
            text.replace_range(start..=end, &value.to_string());
        }
    }
    text
}

fn span(text: &str) -> Duration {
    let (number, unit) = text.split_at(text.len() - 1);
    let number: u64 = number.parse().expect("5m");
    Duration::from_secs(
        number
            * match unit {
                "s" => 1,
                "m" => 60,
                "h" => 3600,
                _ => panic!("cannot read the time `{text}`"),
            },
    )
}
