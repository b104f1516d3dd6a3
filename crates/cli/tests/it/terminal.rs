//! `belay run` in a pseudo-terminal: the program behaves as if it was started directly.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::run::{Leaves, with_program};
use crate::world::{TEST_TIMEOUT, within};

/// The controlling side of a pseudo-terminal.
pub(crate) struct Terminal {
    screen: File,
    /// Output that the test has not read yet.
    shown: String,
}

impl Terminal {
    /// A terminal of this many lines and columns, and the end that programs get.
    pub(crate) fn new(lines: u16, columns: u16) -> (Self, OwnedFd) {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY;
        // Atomically if possible: a program started by another test must not inherit this descriptor.
        #[cfg(target_os = "linux")]
        let flags = flags | OpenptFlags::CLOEXEC;
        let screen = openpt(flags).unwrap();
        rustix::io::fcntl_setfd(&screen, rustix::io::FdFlags::CLOEXEC).unwrap();
        grantpt(&screen).unwrap();
        unlockpt(&screen).unwrap();
        let name = ptsname(&screen, Vec::new()).unwrap();
        let line = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).unwrap();
        let terminal = Self { screen: screen.into(), shown: String::new() };
        terminal.resize(lines, columns);
        (terminal, line)
    }

    fn resize(&self, lines: u16, columns: u16) {
        let size = Winsize { ws_row: lines, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.screen, size).unwrap();
    }

    pub(crate) fn types(&mut self, keys: &str) {
        self.screen.write_all(keys.as_bytes()).unwrap();
    }

    /// The output up to and including `end`.
    pub(crate) fn shows(&mut self, end: &str) -> String {
        let patience = Timespec { tv_sec: TEST_TIMEOUT.as_secs().cast_signed(), tv_nsec: 0 };
        loop {
            if let Some(at) = self.shown.find(end) {
                let rest = self.shown.split_off(at + end.len());
                return std::mem::replace(&mut self.shown, rest);
            }
            let ready = poll(&mut [PollFd::new(&self.screen, PollFlags::IN)], Some(&patience)).unwrap();
            assert!(ready > 0, "{end:?} is never shown, only {:?}", self.shown);
            let mut bytes = [0; 1024];
            let n = self.screen.read(&mut bytes).unwrap_or_else(|error| panic!("{end:?}: {error}: {:?}", self.shown));
            self.shown.push_str(std::str::from_utf8(&bytes[..n]).unwrap());
        }
    }
}

/// Starts a command as the foreground process of the terminal. Its stdin is the terminal unless given.
pub(crate) fn start(mut command: Command, line: OwnedFd, elsewhere: Option<Stdio>) -> Child {
    let end = || Stdio::from(line.try_clone().unwrap());
    command.stdin(elsewhere.unwrap_or_else(end)).stdout(end()).stderr(end());
    let own = move || {
        rustix::process::setsid()?;
        Ok(rustix::process::ioctl_tiocsctty(&line)?)
    };
    #[expect(unsafe_code, reason = "two system calls, both safe between fork and exec")]
    unsafe {
        command.pre_exec(own);
    }
    command.spawn().unwrap()
}

pub(crate) fn end(mut child: Child) -> ExitStatus {
    within("its end", move || child.wait().unwrap())
}

#[test]
fn the_program_has_the_terminal_to_itself() {
    let script = r#"
trap '' INT  # What is started now does not mind Ctrl-C.
tail -f /dev/null &
trap 'kill $!; echo interrupted; exit 9' INT
trap 'stty size' WINCH
test -t 0 && test -t 1 && test -t 2 && echo "all three"
stty size
printf 'Who? ' >/dev/tty
read -r name
echo "It is $name."
while wait $!; [ $? -gt 128 ]; do :; done"#;
    let (world, _) = with_program("thing", script);
    let _leaves = Leaves(&world);
    let (mut terminal, line) = Terminal::new(37, 113);
    let child = start(world.command(["run", "--quiet", "--", "thing"]), line, None);
    assert_eq!(terminal.shows("Who? "), "all three\r\n37 113\r\nWho? ");
    terminal.types("Ada\n");
    // The terminal echoes the input, then the program responds.
    assert_eq!(terminal.shows("It is Ada.\r\n"), "Ada\r\nIt is Ada.\r\n");
    terminal.resize(50, 132);
    assert_eq!(terminal.shows("\r\n"), "50 132\r\n");
    terminal.types("\x03");
    assert!(terminal.shows("interrupted\r\n").starts_with("^C"));
    assert_eq!(end(child).code(), Some(9));
    assert_eq!(world.run(&["status", "--json"]).json()["running"], true, "Ctrl-C was not for the resident process");
}

#[test]
fn a_program_that_ctrl_c_ends_has_ended_by_it() {
    let (world, _) = with_program("thing", "echo ready\nexec tail -f /dev/null");
    let _leaves = Leaves(&world);
    let (mut terminal, line) = Terminal::new(24, 80);
    let child = start(world.command(["run", "--quiet", "thing"]), line, None);
    terminal.shows("ready\r\n");
    terminal.types("\x03");
    assert_eq!(end(child).signal(), Some(2), "whoever runs it in a loop leaves the loop");
}

/// Prints every signal it receives, and their number at the end.
const COUNTS: &str = r#"
heard=0
trap '' INT QUIT
tail -f /dev/null &
for signal in INT QUIT; do trap "heard=\$((heard + 1)); echo heard $signal" $signal; done
trap 'kill $!; echo "$heard in all"; exit 0' TERM
echo ready
while wait $!; [ $? -gt 128 ]; do :; done"#;

/// Ends a program that counts signals, and checks the count.
fn has_heard(terminal: &mut Terminal, child: Child, count: usize) {
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(terminal.shows("in all\r\n"), format!("{count} in all\r\n"));
    assert_eq!(end(child).code(), Some(0));
}

#[test]
fn ctrl_c_comes_once_though_the_input_is_no_terminal() {
    let (world, _) = with_program("thing", COUNTS);
    let _leaves = Leaves(&world);
    let (mut terminal, line) = Terminal::new(24, 80);
    let child = start(world.command(["run", "--quiet", "thing"]), line, Some(Stdio::null()));
    terminal.shows("ready\r\n");
    terminal.types("\x03");
    terminal.shows("heard INT\r\n");
    terminal.types("\x1c");
    terminal.shows("heard QUIT\r\n");
    has_heard(&mut terminal, child, 2);
}

/// If the system does not report the sender of a signal, it is attributed to the terminal.
#[cfg(target_os = "linux")]
#[test]
fn what_another_process_sends_to_us_alone_comes_once_too() {
    let (world, _) = with_program("thing", COUNTS);
    let _leaves = Leaves(&world);
    let (mut terminal, line) = Terminal::new(24, 80);
    let child = start(world.command(["run", "--quiet", "thing"]), line, None);
    terminal.shows("ready\r\n");
    for (signal, expected) in [(Signal::INT, "heard INT\r\n"), (Signal::QUIT, "heard QUIT\r\n")] {
        kill_process(Pid::from_child(&child), signal).unwrap();
        assert_eq!(terminal.shows("\r\n"), expected);
    }
    has_heard(&mut terminal, child, 2);
}

#[cfg(target_os = "linux")]
#[test]
fn what_the_program_sends_to_its_whole_group_is_not_sent_back_to_it() {
    let script = r#"
heard=0
trap 'heard=$((heard + 1))' USR1
trap 'echo "$heard in all"; exit 0' TERM
kill -USR1 0
echo ready
while read -r _ || [ $? -gt 128 ]; do :; done"#;
    let (world, _) = with_program("thing", script);
    let _leaves = Leaves(&world);
    let (mut terminal, line) = Terminal::new(24, 80);
    let child = start(world.command(["run", "--quiet", "thing"]), line, None);
    terminal.shows("ready\r\n");
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    terminal.types("\n");
    assert!(terminal.shows("in all\r\n").ends_with("1 in all\r\n"));
    assert_eq!(end(child).code(), Some(0));
}

/// Runs a program as interactive shells do: as a job that can be stopped and continued.
const AS_A_JOB: &str = r#"
set -m
"$BELAY" run --quiet thing
echo "the shell is back"
fg > /dev/null
echo "ended with $?""#;

#[test]
fn a_program_that_stops_gives_the_terminal_back_to_the_shell() {
    // By itself, as agents in raw mode do, and by Ctrl-Z.
    for (stop, keys) in [("kill -STOP $$", ""), ("read -r _", "\x1a")] {
        let script = format!("echo ready\n{stop}\necho again\nread -r name\necho \"It is $name.\"\nexit 5");
        let (world, _) = with_program("thing", &script);
        let world = world.var("BELAY", env!("CARGO_BIN_EXE_belay"));
        let _leaves = Leaves(&world);
        let (mut terminal, line) = Terminal::new(24, 80);
        let mut shell = world.program("bash");
        shell.args(["-c", AS_A_JOB]);
        let shell = start(shell, line, None);
        terminal.shows("ready\r\n");
        terminal.types(keys);
        terminal.shows("the shell is back\r\n");
        if !keys.is_empty() {
            terminal.types("\n");
        }
        terminal.shows("again\r\n");
        terminal.types("Ada\n");
        terminal.shows("It is Ada.\r\n");
        terminal.shows("ended with 5\r\n");
        assert_eq!(end(shell).code(), Some(0), "{stop}");
    }
}

#[test]
fn a_program_that_does_not_stop_keeps_the_terminal() {
    let (world, _) = with_program("thing", "trap '' TSTP\necho ready\nread -r name\necho \"It is $name.\"\nexit 5");
    let world = world.var("BELAY", env!("CARGO_BIN_EXE_belay"));
    let _leaves = Leaves(&world);
    let (mut terminal, line) = Terminal::new(24, 80);
    let mut shell = world.program("bash");
    shell.args(["-c", AS_A_JOB]);
    let shell = start(shell, line, None);
    terminal.shows("ready\r\n");
    terminal.types("\x1aAda\n");
    terminal.shows("It is Ada.\r\n");
    assert!(terminal.shows("ended with").starts_with("the shell is back"), "only after its end");
    assert_eq!(end(shell).code(), Some(0));
}

#[test]
fn whoever_lets_us_go_on_lets_the_program_go_on() {
    let (world, _) = with_program("thing", "echo ready\nkill -STOP $$\necho again");
    let _leaves = Leaves(&world);
    let (mut terminal, line) = Terminal::new(24, 80);
    let child = start(world.command(["run", "--quiet", "thing"]), line, None);
    let pid = Pid::from_child(&child);
    within("its stop", move || waitid(WaitId::Pid(pid), WaitIdOptions::STOPPED)).unwrap();
    kill_process(pid, Signal::CONT).unwrap();
    terminal.shows("again\r\n");
    assert_eq!(end(child).code(), Some(0));
}

#[test]
fn a_window_that_is_closed_ends_the_run_in_order() {
    let script = r#"
tail -f /dev/null &
trap 'kill $!; echo told > closed.txt; exit 0' HUP
echo ready
wait"#;
    let (world, _) = with_program("thing", script);
    let _leaves = Leaves(&world);
    let (mut terminal, line) = Terminal::new(24, 80);
    let child = start(world.command(["run", "thing"]), line, None);
    terminal.shows("ready\r\n");
    drop(terminal);
    assert_eq!(end(child).code(), Some(0));
    assert_eq!(std::fs::read_to_string(world.path("home/code/app/closed.txt")).unwrap(), "told\n");
    let session = world.run(&["sessions", "--json"]).json()["sessions"][0].clone();
    assert_eq!((&session["state"], &session["edits"]), (&"ended".into(), &1.into()), "{session}");
}
