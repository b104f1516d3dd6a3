//! `belay run` in a real terminal: the program cannot tell that anybody stands between it and the person typing.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::run::{Leaves, with_program};
use crate::world::{PATIENCE, within};

/// The side of a pseudo-terminal where the person sits.
struct Terminal {
    screen: File,
    /// What has come but was not yet read by the test.
    shown: String,
}

impl Terminal {
    /// A terminal of this many lines and columns, and the end that programs get.
    fn new(lines: u16, columns: u16) -> (Self, OwnedFd) {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY;
        // At once, where that is possible: another test may start a program just now, which must not keep this end.
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

    fn types(&mut self, keys: &str) {
        self.screen.write_all(keys.as_bytes()).unwrap();
    }

    /// What is shown up to and including `end`.
    fn shows(&mut self, end: &str) -> String {
        let patience = Timespec { tv_sec: PATIENCE.as_secs().cast_signed(), tv_nsec: 0 };
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

/// Starts a command as the one the terminal belongs to. It reads from there, unless from somewhere else.
fn start(mut command: Command, line: OwnedFd, elsewhere: Option<Stdio>) -> Child {
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

fn status(mut child: Child) -> Option<i32> {
    within("its end", move || child.wait().unwrap().code())
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
    // The terminal shows what is typed, and then the program answers.
    assert_eq!(terminal.shows("It is Ada.\r\n"), "Ada\r\nIt is Ada.\r\n");
    terminal.resize(50, 132);
    assert_eq!(terminal.shows("\r\n"), "50 132\r\n");
    terminal.types("\x03");
    assert!(terminal.shows("interrupted\r\n").starts_with("^C"));
    assert_eq!(status(child), Some(9));
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
    assert_eq!(status(child), Some(130), "as shells say it");
}

#[test]
fn ctrl_c_comes_once_though_the_input_is_no_terminal() {
    let script = r#"
told=0
trap '' INT
tail -f /dev/null &
trap 'told=$((told + 1)); echo interrupted' INT
trap 'kill $!; echo "$told in all"; exit 0' TERM
echo ready
while wait $!; [ $? -gt 128 ]; do :; done"#;
    let (world, _) = with_program("thing", script);
    let _leaves = Leaves(&world);
    let (mut terminal, line) = Terminal::new(24, 80);
    let child = start(world.command(["run", "--quiet", "thing"]), line, Some(Stdio::null()));
    terminal.shows("ready\r\n");
    terminal.types("\x03");
    terminal.shows("interrupted\r\n");
    // Time to count.
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(terminal.shows("in all\r\n"), "1 in all\r\n");
    assert_eq!(status(child), Some(0));
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
    assert_eq!(status(child), Some(0));
    assert_eq!(std::fs::read_to_string(world.path("home/code/app/closed.txt")).unwrap(), "told\n");
    let session = world.run(&["sessions", "--json"]).json()["sessions"][0].clone();
    assert_eq!((&session["state"], &session["edits"]), (&"ended".into(), &1.into()), "{session}");
}
