//! Signals for the agent, and their senders.
//!
//! The terminal sends Ctrl-C to the foreground process group; a process that uses `kill` signals only us. Linux reports
//! which one it was. macOS does not (it reports a sender in both cases), so a signal in the foreground is attributed to
//! the terminal there.

use std::fs::File;
use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::task::Poll;

use rustix::process::{Pid, Signal, getpgrp};
use rustix::termios::tcgetpgrp;
use tokio::signal::unix::{Signal as Stream, SignalKind, signal};

/// No process sent it.
const NO_SENDER: i32 = -1;

/// The signals to catch, in the order of handling. `CONT` comes first, so that a stop that is already over is not taken
/// for a new one.
const FORWARDED_SIGNALS: [Signal; 9] = [
    Signal::CONT,
    Signal::CHILD,
    Signal::INT,
    Signal::QUIT,
    Signal::TSTP,
    Signal::TERM,
    Signal::HUP,
    Signal::USR1,
    Signal::USR2,
];

/// The signals of one run.
#[derive(Debug)]
pub(super) struct Signals(Vec<SignalState>);

#[derive(Debug)]
struct SignalState {
    signal: Signal,
    stream: Stream,
    sender: Arc<AtomicI32>,
}

/// A signal, once or several times.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReceivedSignal {
    pub(super) signal: Signal,
    /// The process that sent it, 0 if it is not visible; `None` if it came from the terminal or is unknown.
    sender: Option<i32>,
}

impl Signals {
    /// Installs the handlers. Signals that were ignored at the start (`nohup`) stay ignored, also by the agent, which
    /// inherits that.
    pub(super) fn install_handlers() -> io::Result<Self> {
        let wanted = FORWARDED_SIGNALS.into_iter().filter(|signal| *signal == Signal::CHILD || !is_ignored(*signal));
        wanted.map(SignalState::catch).collect::<io::Result<_>>().map(Self)
    }

    /// Waits for the next signal.
    pub(super) async fn next(&mut self) -> ReceivedSignal {
        poll_fn(|task| {
            for caught in &mut self.0 {
                if caught.stream.poll_recv(task).is_ready() {
                    let sender = caught.sender.swap(NO_SENDER, Ordering::Relaxed);
                    return Poll::Ready(ReceivedSignal {
                        signal: caught.signal,
                        sender: (sender != NO_SENDER).then_some(sender),
                    });
                }
            }
            Poll::Pending
        })
        .await
    }
}

impl SignalState {
    fn catch(wanted: Signal) -> io::Result<Self> {
        let sender = Arc::new(AtomicI32::new(NO_SENDER));
        // Registered before the stream: handlers run in order.
        note_sender(wanted, Arc::clone(&sender))?;
        Ok(Self { signal: wanted, stream: signal(SignalKind::from_raw(wanted.as_raw()))?, sender })
    }
}

impl ReceivedSignal {
    /// Whether the agent has not received it yet. Agents treat a second Ctrl-C as a request to quit, so a signal from
    /// the terminal must not be repeated, nor one that the agent sent itself.
    pub(super) fn should_forward(self, agent: Pid) -> bool {
        let is_from_keyboard = [Signal::INT, Signal::QUIT, Signal::TSTP].contains(&self.signal);
        match self.sender {
            Some(sender) => sender != agent.as_raw_nonzero().get(),
            None => !is_from_keyboard || !comes_from_terminal(),
        }
    }
}

/// Whether a signal without a known sender comes from the terminal.
fn comes_from_terminal() -> bool {
    if cfg!(target_os = "linux") {
        return true;
    }
    let terminal = File::open("/dev/tty");
    terminal.is_ok_and(|terminal| tcgetpgrp(terminal).is_ok_and(|foreground| foreground == getpgrp()))
}

#[cfg(target_os = "linux")]
fn note_sender(signal: Signal, sender: Arc<AtomicI32>) -> io::Result<()> {
    let note = move |info: &libc::siginfo_t| {
        // Positive codes are the kernel's own.
        if info.si_code <= 0 {
            #[expect(unsafe_code, reason = "the field that a signal sent by a process has")]
            let pid = unsafe { info.si_pid() };
            sender.store(pid, Ordering::Relaxed);
        }
    };
    #[expect(unsafe_code, reason = "runs in a signal handler, and does no more than write to an atomic")]
    let registered = unsafe { signal_hook_registry::register_sigaction(signal.as_raw(), note) };
    registered.map(drop)
}

#[cfg(not(target_os = "linux"))]
fn note_sender(_: Signal, _: Arc<AtomicI32>) -> io::Result<()> {
    Ok(())
}

fn is_ignored(signal: Signal) -> bool {
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    #[expect(unsafe_code, reason = "asks only; an action of zeros is a valid one")]
    unsafe {
        libc::sigaction(signal.as_raw(), std::ptr::null(), action.as_mut_ptr()) == 0
            && action.assume_init().sa_sigaction == libc::SIG_IGN
    }
}
