//! What keys do.

use belay_core::session::ResumeRequires;

use super::{app, fixture, press, screen, session};
use crate::{Action, Command, Decision, Message};

fn decide(action: Action) -> Vec<Command> {
    vec![Command::Decide(Decision { session: fixture::key(), action })]
}

fn selected(app: &crate::App) -> &str {
    app.current().unwrap().title()
}

#[test]
fn the_selection_moves_through_both_lists_and_stays_in_view() {
    let mut app = app(80, 24);
    assert_eq!(selected(&app), "PDF invoices for EU customers");
    press(&mut app, "k");
    assert_eq!(selected(&app), "PDF invoices for EU customers", "it is the first");
    for _ in 0..20 {
        press(&mut app, "j");
        let marked = screen(&app).lines().any(|line| line.starts_with('▌'));
        assert!(marked, "{}", screen(&app));
    }
    assert_eq!(selected(&app), "Plan of the ledger rewrite");
    press(&mut app, "g");
    assert!(screen(&app).contains("Needs you"), "the heading is in view again");
}

#[test]
fn the_selection_follows_its_session_when_the_list_changes() {
    let mut app = app(80, 24);
    press(&mut app, "j");
    let mut view = fixture::overview();
    view.needs.swap(0, 1);
    app.update(Message::Overview(Box::new(view.clone())));
    assert_eq!(selected(&app), "Fix the cart discount test");
    view.needs.remove(0);
    app.update(Message::Overview(Box::new(view)));
    assert_eq!(selected(&app), "PDF invoices for EU customers", "what took its place");
}

#[test]
fn acknowledging_needs_no_question() {
    let mut app = app(80, 24);
    press(&mut app, "j");
    assert_eq!(press(&mut app, "a"), decide(Action::Acknowledge));
    app.update(Message::Decided(Ok("Incident inc-1 is acknowledged; it stays paused.".to_owned())));
    assert!(screen(&app).contains("Incident inc-1 is acknowledged"));
}

#[test]
fn what_is_not_possible_says_why() {
    let mut app = app(80, 24);
    assert_eq!(press(&mut app, "r"), []);
    assert!(screen(&app).contains("Not resumed: claude-code:aaaa is not held."), "{}", screen(&app));
    press(&mut app, "y");
    assert!(screen(&app).contains("Answer this in the agent's own terminal."));
}

#[test]
fn a_killed_session_is_not_resumed() {
    let mut app = app(120, 24);
    let mut view = fixture::overview();
    let needs = view.needs.iter_mut().find(|need| need.session.session == fixture::key().to_string()).unwrap();
    needs.session.held.as_mut().unwrap().resume_requires = ResumeRequires::Never;
    app.update(Message::Overview(Box::new(view)));
    assert_eq!(press(&mut app, "jr"), []);
    let refusal = "claude-code:3f9c is killed and cannot be resumed; start a new session of the agent.";
    assert!(screen(&app).contains(refusal), "{}", screen(&app));
}

#[test]
fn resuming_asks_for_a_note() {
    let mut app = app(80, 24);
    press(&mut app, "j");
    assert_eq!(press(&mut app, "rtry x\x08another file"), []);
    let note = "try another file".to_owned();
    assert_eq!(press(&mut app, "\n"), decide(Action::Resume { note }));
    assert_eq!(press(&mut app, "\n"), [], "it is pending, so a second Enter decides nothing");
    app.update(Message::Decided(Err("the store is read-only".to_owned())));
    let text = screen(&app);
    assert!(
        text.contains("the store is read-only") && text.contains("try another file"),
        "what was typed stays: {text}"
    );
    press(&mut app, "\n");
    app.update(Message::Decided(Ok("It is resumed.".to_owned())));
    assert!(!screen(&app).contains("try another file"));
}

#[test]
fn killing_asks_and_escape_keeps_the_session() {
    let mut app = app(80, 24);
    press(&mut app, "j");
    assert_eq!(press(&mut app, "K\x1b"), []);
    assert_eq!(press(&mut app, "K\n"), decide(Action::Kill));
}

#[test]
fn a_used_up_budget_is_raised_to_the_suggestion_and_resumed() {
    let mut app = app(80, 24);
    let commands = press(&mut app, "jjjb\n");
    let [Command::Decide(decision)] = commands.as_slice() else { panic!("{commands:?}") };
    assert_eq!(decision.action, Action::RaiseBudget { amount: "$10".to_owned(), resume: true });
}

#[test]
fn looking_at_what_is_finished_marks_it_as_seen() {
    let mut app = app(80, 24);
    let commands = press(&mut app, "jj\n");
    assert!(matches!(&commands[0], Command::Watch(Some(request)) if request.calls > 20), "{commands:?}");
    assert!(matches!(&commands[1], Command::Decide(Decision { action: Action::MarkSeen, .. })), "{commands:?}");
}

#[test]
fn a_session_is_closed_before_the_program() {
    let mut app = session(80, 24);
    assert_eq!(press(&mut app, "q"), [Command::Watch(None)]);
    assert_eq!(selected(&app), "Fix the cart discount test", "where it was opened");
    assert_eq!(press(&mut app, "q"), [Command::Exit]);
}

#[test]
fn earlier_calls_are_half_a_window_away() {
    let mut app = session(80, 24);
    let before = |commands: &[Command]| match commands {
        [Command::Watch(Some(request))] => request.before,
        other => panic!("{other:?}"),
    };
    let mut page = fixture::page();
    page.picture.calls.drain(..11);
    app.update(Message::Page(fixture::key(), Some(Box::new(page))));
    assert_eq!(before(&press(&mut app, "h")), Some(22));
    assert_eq!(before(&press(&mut app, "l")), Some(42));
}

#[test]
fn the_filter_finds_titles_agents_and_states() {
    let mut app = app(80, 24);
    press(&mut app, "/gemini\n");
    let text = screen(&app);
    assert!(text.contains("Translate the setup guide") && !text.contains("PDF invoices"), "{text}");
    press(&mut app, "/\x08\x08\x08\x08\x08\x08limited\n");
    assert_eq!(selected(&app), "Plan of the ledger rewrite");
    press(&mut app, "\x1b");
    assert!(screen(&app).contains("PDF invoices"));
    press(&mut app, "/nothing like it\n");
    assert!(screen(&app).contains("Nothing matches the filter"));
    assert_eq!(press(&mut app, "K"), [], "there is nothing to kill");
}

#[test]
fn the_command_line_of_every_action_is_shown() {
    let mut app = app(80, 24);
    press(&mut app, "jc");
    let text = screen(&app);
    for command in ["belay explain claude-code:3f9c", "belay resume claude-code:3f9c", "belay kill claude-code:3f9c"] {
        assert!(text.contains(command), "{text}");
    }
    press(&mut app, "\x1brit's \"done\"");
    assert!(screen(&app).contains(r#"--note 'it'\''s "done"'"#), "{}", screen(&app));
}

#[test]
fn a_paste_stays_on_one_line() {
    let mut app = app(80, 24);
    press(&mut app, "jr");
    app.update(Message::Paste("first\nsecond\x1b[0m".to_owned()));
    let note = "first second [0m".to_owned();
    assert_eq!(press(&mut app, "\n"), decide(Action::Resume { note }));
}

#[test]
fn a_review_task_is_decided_with_the_commands_that_it_names() {
    let mut app = app(100, 40);
    app.update(Message::Overview(Box::new(fixture::with_reviews())));
    press(&mut app, "j");
    assert!(app.current().is_none());
    assert_eq!(app.current_review().map(|task| &*task.id), Some("r-3d2e"));
    assert!(screen(&app).contains("Enter commands"), "{}", screen(&app));
    for key in ["\n", "c"] {
        assert_eq!(press(&mut app, key), []);
        let commands = screen(&app);
        for command in ["show r-3d2e", "answer r-3d2e --done", "resume r-3d2e --rounds 5", "cancel r-3d2e"] {
            assert!(commands.contains(&format!("belay review {command}")), "{commands}");
        }
        press(&mut app, "\x1b");
    }
    assert_eq!(press(&mut app, "r"), []);
    assert!(screen(&app).contains("r-3d2e is a review task: c shows the commands"), "{}", screen(&app));
    // Tab in a session goes to the next session.
    press(&mut app, "g\n");
    press(&mut app, "\t");
    assert!(screen(&app).contains("Esc back"), "{}", screen(&app));
}

#[test]
fn the_filter_finds_review_tasks() {
    let mut app = app(100, 40);
    app.update(Message::Overview(Box::new(fixture::with_reviews())));
    press(&mut app, "/webhooks\n");
    assert_eq!(app.current_review().map(|task| &*task.id), Some("r-04ce"));
    press(&mut app, "\x1b/out of rounds\n");
    assert_eq!(app.current_review().map(|task| &*task.id), Some("r-3d2e"));
}
