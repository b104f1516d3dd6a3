use std::time::Duration;

use belay_core::{Effect, SessionKey, Timestamp};
use belay_store::{Access, Durability, MessageState, NewMessage, Result, Store, StoreUrl};
use serde_json::json;

use super::{Channels, Dispatcher, Outbox};
use crate::webhook::{Webhook, WebhookFormat};

struct Shelf(Box<dyn Store>);

impl Outbox for Shelf {
    fn with_store(&mut self, work: &mut dyn FnMut(&mut dyn Store) -> Result<()>) -> Result<()> {
        work(&mut *self.0)
    }
}

fn shelf(folder: &tempfile::TempDir) -> Shelf {
    Shelf(belay_store::open(&StoreUrl::local(folder.path().join("belay.db")), Access::Write).expect("a store"))
}

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_millis(1_800_000_000_000) + Duration::from_secs(seconds)
}

fn put(shelf: &mut Shelf, key: &str) {
    let news =
        Effect::NotifyOperator { pattern: "stall".into(), sentence: "Nothing has happened for 10 minutes.".into() };
    let payload = json!({ "session": SessionKey::new("codex", "s"), "event": "e", "at": at(0), "news": news });
    let message = NewMessage { key: key.into(), topic: "tell_person".into(), payload, at: at(0) };
    let mut transaction = shelf.0.begin(Durability::ProcessCrash).expect("the lock");
    assert!(transaction.enqueue(&message).expect("room"));
    transaction.commit().expect("written");
}

fn states(shelf: &Shelf) -> Vec<(MessageState, u32)> {
    let messages = shelf.0.outbox(None, 10).expect("messages");
    messages.into_iter().map(|message| (message.state, message.attempts)).collect()
}

#[test]
fn without_channels_news_is_told_to_nobody_and_gone() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut shelf = shelf(&folder);
    put(&mut shelf, "one");
    assert_eq!(Dispatcher::default().dispatch_due(&mut shelf, at(1)).expect("a round"), 1);
    assert_eq!(states(&shelf), [(MessageState::Sent, 1)]);
    assert_eq!(Dispatcher::default().dispatch_due(&mut shelf, at(2)).expect("a round"), 0);
}

#[test]
fn what_fails_comes_due_again_ever_later_and_is_given_up_at_last() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut shelf = shelf(&folder);
    put(&mut shelf, "one");
    // Nobody listens there: the port was just given back.
    let port = std::net::TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port").port();
    let webhook = Webhook::new(&format!("http://127.0.0.1:{port}/"), WebhookFormat::Belay, None, "box".into());
    let courier = Dispatcher::new(Channels { desktop: false, webhook: Some(webhook.expect("a webhook")) });
    let mut now = 1;
    let mut tries = 0;
    while states(&shelf)[0].0 == MessageState::Pending {
        let told = courier.dispatch_due(&mut shelf, at(now)).expect("a round");
        tries += told;
        if told == 1 {
            assert_eq!(courier.dispatch_due(&mut shelf, at(now + 1)).expect("a round"), 0, "not at once again");
        }
        now += now.max(4);
        assert!(tries < 20, "it is given up some day");
    }
    assert_eq!(states(&shelf), [(MessageState::Failed, 10)]);
}
