//! Paced responses with one event every 2 ms: the delay of each event, on idle cores and on busy cores, as during an
//! agent's build.

use std::net::SocketAddr;
use std::time::Duration;

use crate::client::Client;
use crate::load::Conversation;
use crate::process::Process;
use crate::table::{Order, micros, percentile};
use crate::targets::Target;
use crate::upstream::{PACED, nanos};

const ROUNDS: usize = 40;

pub(crate) fn print(direct: SocketAddr, targets: &[Target]) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    println!("\nevents 2 ms apart, {} of each; how late they come, microseconds", ROUNDS * PACED);
    println!("{:<8} {:>17} {:>25}", "", "idle cores", "two others on each core");
    println!("{:<8} {:>8} {:>8} {:>16} {:>8}", "", "p50", "p99", "p50", "p99");
    let idle = lateness(direct, targets, "idle");
    let others: Vec<Process> = (0..2 * cores).map(|_| Process::start_again(&["keep", "busy"])).collect();
    let busy = lateness(direct, targets, "busy");
    drop(others);
    let names = std::iter::once("direct").chain(asked(targets).map(|target| target.name));
    for (name, (idle, busy)) in names.zip(idle.into_iter().zip(busy)) {
        let [a, b] = [50, 99].map(|percent| micros(percentile(idle.iter().copied(), percent)));
        let [c, d] = [50, 99].map(|percent| micros(percentile(busy.iter().copied(), percent)));
        println!("{name:<8} {a:>8.0} {b:>8.0} {c:>16.0} {d:>8.0}");
    }
}

/// The slow targets would take almost an hour.
fn asked(targets: &[Target]) -> impl Iterator<Item = &Target> {
    targets.iter().filter(|target| target.every == 1)
}

/// The delay of every event, direct and per target.
fn lateness(direct: SocketAddr, targets: &[Target], session: &str) -> Vec<Vec<Duration>> {
    let addresses: Vec<SocketAddr> =
        std::iter::once(direct).chain(asked(targets).map(|target| target.address)).collect();
    let mut clients: Vec<Client> = addresses.iter().map(|address| Client::new(*address)).collect();
    let mut late = vec![Vec::new(); clients.len()];
    let mut talk = Conversation::new(1 << 10, true);
    let mut order = Order::new(clients.len());
    for _ in 0..ROUNDS {
        talk.grow();
        order.shuffle();
        for index in order.indices.clone() {
            let request = talk.request(addresses[index], &format!("paced{session}"), "x-pace-us: 2000\r\n");
            let received = clients[index].hear(&request, |piece| late[index].extend(ages(piece)));
            received.unwrap_or_else(|problem| panic!("{}: {problem}", addresses[index]));
        }
    }
    assert!(late.iter().all(|late| late.len() == ROUNDS * PACED), "events came in pieces or not at all");
    late
}

/// How long ago the events in a piece of an answer were sent.
fn ages(piece: &[u8]) -> Vec<Duration> {
    let now = nanos();
    let text = String::from_utf8_lossy(piece);
    let sent = text.split("word ").skip(1).filter_map(|rest| rest.split(' ').next()?.parse::<u64>().ok());
    sent.map(|sent| Duration::from_nanos(now.saturating_sub(sent))).collect()
}

/// Keeps a core busy, as a build does.
pub(crate) fn keep_busy() {
    let mut sum = 0_u64;
    loop {
        sum = std::hint::black_box(sum.wrapping_add(1));
    }
}
