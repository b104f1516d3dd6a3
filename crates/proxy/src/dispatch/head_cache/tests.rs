use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;

use belay_core::SessionKey;
use proptest::prelude::*;

use super::*;
use crate::dispatch::plan;
use crate::head::HeaderStorage;
use crate::{AllowAll, Config, LocalService, PrefixedIo};

struct Nobody;

impl LocalService for Nobody {
    fn serve(&self, _: PrefixedIo, _: SocketAddr) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(std::future::ready(()))
    }
}

fn relay() -> Relay {
    Relay::new(&Config::default(), Arc::new(Nobody), Arc::new(AllowAll)).unwrap()
}

fn head(path: &str, length: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nHost: localhost:8080\r\nContent-Length:  {length}\r\nAuthorization: Bearer sk-1\r\n\
         User-Agent: opencode/1\r\nX-Session-Id: ses_1\r\nConnection: keep-alive\r\n\r\n"
    )
}

/// What goes to the upstream, and how long its body is.
type Relayed = (String, Framing);

fn relayed(plan: Dispatch) -> Option<Relayed> {
    let Dispatch::Relay(outgoing) = plan else { return None };
    Some((String::from_utf8(outgoing.head).unwrap(), outgoing.framing))
}

/// Reads a head, and remembers it.
fn read(relay: &Relay, head: &str) -> (Option<Relayed>, Option<HeadCache>) {
    let (mut room, mut known) = (HeaderStorage::new(), None);
    let head = RequestHead::parse(head.as_bytes(), &mut room).unwrap().unwrap();
    (relayed(plan(relay, &head, &mut known)), known)
}

#[test]
fn a_head_that_comes_again_is_relayed_as_if_it_had_been_read() {
    let relay = relay();
    let (_, known) = read(&relay, &head("/v1/chat/completions", "17"));
    for length in ["17", "5", "0042", "123456789012"] {
        let head = head("/v1/chat/completions", length);
        let (plan, len) = known.as_ref().unwrap().reuse(&relay, format!("{head}{{\"model\"").as_bytes()).unwrap();
        assert_eq!(relayed(plan), read(&relay, &head).0);
        assert_eq!(len, head.len());
    }
}

#[test]
fn what_may_mean_something_else_is_read() {
    let relay = relay();
    let known = read(&relay, &head("/v1/chat/completions", "17")).1.unwrap();
    let other =
        ["0", "", "-1", "1 1", "1,1", "99999999999999999999999"].map(|length| head("/v1/chat/completions", length));
    for other in other.iter().chain(&[head("/v1/responses", "17"), head("/v1/chat/completions", "17").to_lowercase()]) {
        assert!(known.reuse(&relay, other.as_bytes()).is_none(), "{other}");
    }
    let chunked = head("/v1/chat/completions", "").replace("Content-Length:  ", "Transfer-Encoding: chunked");
    assert!(read(&relay, &chunked).1.is_none());
}

#[test]
fn what_is_learned_of_a_run_counts_from_the_next_request_on() {
    let relay = relay();
    relay.begin_run("opencode:run", &[]).unwrap();
    let head = head("/s/opencode:run/v1/chat/completions", "17");
    // The first request names the run's session, which was not known before.
    let (_, first) = read(&relay, &head);
    assert!(first.unwrap().reuse(&relay, head.as_bytes()).is_none());
    let (_, second) = read(&relay, &head);
    let second = second.unwrap();
    assert!(second.reuse(&relay, head.as_bytes()).is_some());
    relay.bind_run_session("opencode:run", &SessionKey::new("opencode", "ses_2"));
    assert!(second.reuse(&relay, head.as_bytes()).is_none());
}

proptest! {
    /// Whatever else a head says, it is not taken for the one before.
    #[test]
    fn another_byte_makes_it_another_head(at in 0_usize..1000, byte: u8) {
        let relay = relay();
        let (_, known) = read(&relay, &head("/v1/chat/completions", "17"));
        let mut bytes = head("/v1/chat/completions", "17").into_bytes();
        let at = at % bytes.len();
        prop_assume!(bytes[at] != byte);
        let is_length = content_length_range(&bytes).unwrap().contains(&at);
        bytes[at] = byte;
        let again = known.unwrap().reuse(&relay, &bytes);
        prop_assert_eq!(again.is_some(), is_length && byte.is_ascii_digit());
    }

    /// Part of a head is no head.
    #[test]
    fn a_head_that_is_not_complete_does_not_come_again(cut in 0_usize..1000) {
        let relay = relay();
        let head = head("/v1/chat/completions", "17");
        let (_, known) = read(&relay, &head);
        prop_assert!(known.unwrap().reuse(&relay, &head.as_bytes()[..cut % head.len()]).is_none());
    }
}
