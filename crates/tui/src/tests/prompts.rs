//! Permission prompts that are answered in `belay top`.

use belay_core::event::PermissionAnswer;
use belay_ipc::views::PendingApproval;

use super::{app, fixture, press, screen};
use crate::{Action, App, Command, Message};

const COMMAND: &str = "psql \"$DATABASE_URL\" \\\n  -c \"ALTER TABLE orders  ADD COLUMN refunded_at timestamptz\"";

fn prompt(text: &str) -> PendingApproval {
    PendingApproval {
        id: "apr-1f3a".to_owned(),
        session: "codex:cccc1111".to_owned(),
        tool: "Bash".to_owned(),
        text: text.to_owned(),
        cwd: Some("/home/ada/src/orders".to_owned()),
        hash: "00ff".to_owned(),
        asked_at: fixture::at("13:51:12"),
        until: fixture::at("13:54:12"),
    }
}

/// The overview with the session selected that asks to run this.
fn asking(text: &str, columns: u16, rows: u16) -> App {
    let mut app = app(columns, rows);
    app.update(Message::Approvals(vec![prompt(text)]));
    press(&mut app, "jjjj");
    app
}

fn answers(commands: &[Command]) -> Vec<Action> {
    let decision = |command: &Command| match command {
        Command::Decide(decision) => Some(decision.action.clone()),
        _ => None,
    };
    commands.iter().filter_map(decision).collect()
}

fn answer(answer: PermissionAnswer, why: &str) -> Vec<Action> {
    let (approval, hash) = ("apr-1f3a".to_owned(), "00ff".to_owned());
    vec![Action::Answer { approval, hash, answer, why: why.to_owned() }]
}

#[test]
fn allowing_shows_the_exact_command_and_asks() {
    let mut app = asking(COMMAND, 100, 30);
    let list = screen(&app);
    assert!(list.contains("y allows it once, n denies it; the offer ends in 1 min 12 s"), "{list}");
    assert!(list.contains("y allow  n deny"), "{list}");
    assert_eq!(press(&mut app, "y"), []);
    insta::assert_snapshot!("allow-100x30", screen(&app));
    assert_eq!(press(&mut app, "\x1b"), [], "decide later");
    assert_eq!(answers(&press(&mut app, "y\n")), answer(PermissionAnswer::Allow, ""));
    assert_eq!(press(&mut app, "\n"), [], "it is pending");
    app.update(Message::Decided(Err("apr-1f3a is already decided: ben denied it".to_owned())));
    assert!(screen(&app).contains("already decided: ben denied it"), "the first answer wins");
}

#[test]
fn a_command_is_not_shown_twice() {
    let mut view = fixture::overview();
    let need = view.needs.last_mut().unwrap();
    need.subject = Some("make deploy".to_owned());
    need.reason = "Asks to run: make deploy".to_owned();
    let mut app = app(80, 24);
    app.update(Message::Overview(Box::new(view)));
    let list = screen(&app);
    assert!(list.contains("$ make deploy") && !list.contains("Asks to run: make deploy"), "{list}");
}

#[test]
fn denying_asks_for_a_reason() {
    let mut app = asking(COMMAND, 80, 24);
    assert_eq!(press(&mut app, "n"), []);
    assert_eq!(press(&mut app, "not on a Friday"), []);
    insta::assert_snapshot!("deny-80x24", screen(&app));
    assert_eq!(answers(&press(&mut app, "\n")), answer(PermissionAnswer::Deny, "not on a Friday"));
}

#[test]
fn what_does_not_fit_cannot_be_allowed_but_denied() {
    let long: String = (0..60).map(|line| format!("step {line}\n")).collect();
    let mut app = asking(&long, 80, 24);
    press(&mut app, "y");
    assert!(screen(&app).contains("more lines"), "{}", screen(&app));
    assert_eq!(press(&mut app, "\n"), []);
    assert!(screen(&app).contains("Not all of it fits on the screen"), "{}", screen(&app));
    assert_eq!(answers(&press(&mut app, "\x1bn\n")), answer(PermissionAnswer::Deny, ""));
    let mut large = asking(&long, 80, 80);
    assert_eq!(answers(&press(&mut large, "y\n")), answer(PermissionAnswer::Allow, ""));
}

#[test]
fn nothing_in_a_command_is_invisible() {
    let mut app = asking("rm -rf\u{202e}dliub/\x1b[2K   tmp\t\u{200b}x", 80, 24);
    press(&mut app, "y");
    let shown = screen(&app);
    assert!(shown.contains(r"rm -rf\u{202e}dliub/\u{1b}[2K   tmp\t\u{200b}x"), "{shown}");
}

#[test]
fn look_alikes_tool_and_directory_are_shown_in_full() {
    let tool = "Bash\n apr-2222".to_owned();
    let cwd = Some(format!("/{}/\u{440}\u{430}", "w".repeat(90)));
    let text = format!("echo {}\nrm -rf x\u{37e}", "a".repeat(80));
    let mut app = app(80, 24);
    app.update(Message::Approvals(vec![PendingApproval { tool, cwd, ..prompt(&text) }]));
    press(&mut app, "jjjjy");
    let shown = screen(&app);
    assert!(shown.contains(r"Bash\n apr-2222 in /www") && shown.contains(r"ww/\u{440}\u{430}"), "{shown}");
    assert!(shown.contains("↪ aaa") && shown.contains(r"  rm -rf x\u{37e}"), "a full row is not a line break: {shown}");
}

#[test]
fn an_answer_is_bound_to_the_prompt_that_was_shown() {
    let mut app = asking("make", 80, 24);
    press(&mut app, "y");
    let other = PendingApproval { id: "apr-2222".to_owned(), hash: "2222".to_owned(), ..prompt("make deploy") };
    app.update(Message::Approvals(vec![other]));
    assert!(!screen(&app).contains("make deploy in"), "the dialog keeps what it asked");
    assert_eq!(answers(&press(&mut app, "\n")), answer(PermissionAnswer::Allow, ""));
    // Without a prompt in Belay, the agent's terminal asks.
    let mut app = asking("make", 80, 24);
    app.update(Message::Approvals(Vec::new()));
    assert_eq!(press(&mut app, "y"), []);
    assert!(screen(&app).contains("Answer this in the agent's own terminal."));
}
