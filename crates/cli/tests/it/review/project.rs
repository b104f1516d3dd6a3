//! A project under git, and programs that build and review.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use serde_json::Value;

use crate::world::{CommandOutput, TEST_TIMEOUT, World, file_says, within};

/// Writes `two` into a file that says `one`, as the task asks.
pub(super) const BUILDS: &str = "echo two > notes.txt; echo 'I changed notes.txt.'";
/// Approves.
pub(super) const APPROVES: &str = "echo 'STATUS: DONE'";
/// Finds one issue in its first review, and approves then.
pub(super) const APPROVES_LATER: &str = r#"case $n in
1) echo 'STATUS: ISSUES_FOUND'; echo '- [major] notes.txt:1: the second line is missing' ;;
*) echo 'STATUS: DONE' ;;
esac"#;
/// Never exits by itself.
pub(super) const HANGS: &str = "exec tail -f /dev/null";

/// The project, its programs, and where they log. The resident process is stopped when dropped.
pub(super) struct Project {
    pub(super) world: World,
}

impl Project {
    pub(super) fn new() -> Self {
        Self::with_config("")
    }

    /// With the user's configuration.
    pub(super) fn with_config(config: &str) -> Self {
        Self::under_git(Self::without_git(config))
    }

    /// With a variable in the person's shell.
    pub(super) fn with_var(name: &str, value: &str) -> Self {
        Self::under_git(Self::prepare("", |world| world.var(name, value)))
    }

    fn under_git(project: Self) -> Self {
        project.git(&["init", "--quiet", "--initial-branch", "main"]);
        project.write("notes.txt", "one\n");
        project.commit("start");
        project
    }

    /// A directory that is not under git.
    pub(super) fn without_git(config: &str) -> Self {
        Self::prepare(config, |world| world)
    }

    fn prepare(config: &str, with: impl FnOnce(World) -> World) -> Self {
        // A git of the person that is newer than the system's.
        let git = belay_config::EnvSnapshot::from_process().find_executable("git").unwrap();
        let path = format!("{}:/usr/bin:/bin", git.parent().unwrap().display());
        let world = with(World::new().var("BELAY_LISTEN", "127.0.0.1:0").var("PATH", path));
        world.write("home/.config/belay/config.toml", config);
        let identity = "[user]\nname = Ada\nemail = ada@example.com\n[protocol \"file\"]\nallow = always\n";
        world.write("home/.gitconfig", identity);
        std::fs::create_dir(world.path("out")).unwrap();
        Self { world }
    }

    /// A program of this name. The body knows `$OUT`, a directory outside of the project, and `$n`, the number of this
    /// run. What it reads from stdin is in `$OUT/NAME-$n.prompt`.
    pub(super) fn program(&self, name: &str, body: &str) -> String {
        let prelude = format!(
            "#!/bin/sh\nOUT='{}'\necho '{name} start' >> \"$OUT/log\"\nn=$(grep -c '^{name} start' \"$OUT/log\")\n\
             cat > \"$OUT/{name}-$n.prompt\"\ntrap \"echo '{name} end' >> '$OUT/log'\" EXIT\n",
            self.out().display()
        );
        let program = self.world.write(&format!("programs/{name}"), &format!("{prelude}{body}\n"));
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        program.display().to_string()
    }

    /// Where the programs write what they saw.
    pub(super) fn out(&self) -> PathBuf {
        self.world.path("out")
    }

    /// What the programs logged so far.
    pub(super) fn log(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.out().join("log")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// How often a program was started.
    pub(super) fn runs(&self, name: &str) -> usize {
        self.log().iter().filter(|line| **line == format!("{name} start")).count()
    }

    /// Waits for a line in the log of the programs.
    pub(super) fn logged(&self, line: &str) {
        file_says(&self.out().join("log"), |text| text.lines().any(|found| found == line));
    }

    /// What a program read from stdin.
    pub(super) fn prompt(&self, name: &str, run: usize) -> String {
        std::fs::read_to_string(self.out().join(format!("{name}-{run}.prompt"))).unwrap()
    }

    pub(super) fn dir(&self) -> PathBuf {
        self.world.path("home/code/app")
    }

    pub(super) fn write(&self, file: &str, text: &str) -> PathBuf {
        self.world.write(&format!("home/code/app/{file}"), text)
    }

    pub(super) fn read(&self, file: &str) -> String {
        std::fs::read_to_string(self.dir().join(file)).unwrap_or_default()
    }

    pub(super) fn git(&self, args: &[&str]) -> String {
        let output = self.world.program("git").args(args).output().unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    pub(super) fn commit(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", message]);
    }

    /// Runs `belay review` and fails the test if it hangs.
    pub(super) fn review(&self, args: &[&str]) -> CommandOutput {
        run_to_end(self.world.command([&["review"], args].concat()))
    }

    /// Runs `belay review`, which must succeed.
    pub(super) fn ok(&self, args: &[&str]) -> CommandOutput {
        let output = self.review(args);
        assert_eq!(output.code, Some(0), "{args:?}: {output:?}");
        output
    }

    /// Files a task and waits for its end.
    pub(super) fn start(&self, args: &[&str]) -> Ended {
        let id = self.file(args);
        self.watch(&id)
    }

    /// Files a task and returns its id.
    pub(super) fn file(&self, args: &[&str]) -> String {
        let filed = self.ok(&[&["start", "Write two into notes.txt", "--detach"], args].concat());
        filed.out.trim().to_owned()
    }

    /// Waits for the end of a task.
    pub(super) fn watch(&self, id: &str) -> Ended {
        let watched = self.review(&["watch", id]);
        Ended { code: watched.code, view: self.show(id), text: watched.out }
    }

    pub(super) fn show(&self, id: &str) -> Value {
        self.review(&["show", id, "--json"]).json()
    }

    /// The directory of a task.
    pub(super) fn task_dir(&self, id: &str) -> PathBuf {
        self.world.state().join("reviews").join(id)
    }

    /// Waits until the journal of a task satisfies `enough`.
    pub(super) fn journal(&self, id: &str, enough: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        let text = file_says(&self.task_dir(id).join("journal.jsonl"), |text| enough(&records(text)));
        records(&text)
    }

    /// The pid of the resident process.
    pub(super) fn resident(&self) -> Option<u32> {
        let pid = self.world.run(&["status", "--json"]).json()["resident"]["pid"].as_u64()?;
        Some(u32::try_from(pid).unwrap())
    }

    /// Kills the resident process, with no chance to clean up.
    pub(super) fn kill_resident(&self) {
        kill(self.resident().unwrap());
    }

    /// Starts the resident process, if none runs, and returns its pid. Commands that need it start it, too, but wait
    /// before they do that again.
    pub(super) fn start_resident(&self) -> u32 {
        // An agent without a resident process starts one as well; the one of them that comes late exits.
        let started = (0..100).find_map(|_| {
            self.serve();
            self.resident()
        });
        started.unwrap()
    }

    fn serve(&self) {
        let mut command = self.world.command(["serve", "--json", "--set", "serve.listen=127.0.0.1:0"]);
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        let mut ready = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        std::thread::spawn(move || child.wait());
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        let _ = self.world.command(["stop"]).output();
    }
}

/// An ended task.
#[derive(Debug)]
pub(super) struct Ended {
    /// Exit status of `belay review watch`.
    pub(super) code: Option<i32>,
    /// `belay review show --json`.
    pub(super) view: Value,
    /// What `watch` printed at the end.
    pub(super) text: String,
}

impl Ended {
    pub(super) fn id(&self) -> &str {
        self.view["id"].as_str().unwrap()
    }

    pub(super) fn status(&self) -> &str {
        self.view["status"].as_str().unwrap()
    }

    /// The answers of the reviewers, round by round.
    pub(super) fn answers(&self) -> Vec<Vec<&str>> {
        let rounds = self.view["rounds"].as_array().unwrap();
        rounds
            .iter()
            .map(|round| round["reviews"].as_array().unwrap().iter().filter_map(|it| it["answer"].as_str()).collect())
            .collect()
    }
}

/// The output of a command, which must end.
pub(super) fn run_to_end(mut command: Command) -> CommandOutput {
    let what = format!("{command:?}");
    let output = within(&what, move || command.output().unwrap());
    CommandOutput {
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
        code: output.status.code(),
    }
}

/// The complete lines of a journal.
fn records(text: &str) -> Vec<Value> {
    let complete = text.rfind('\n').map_or("", |end| &text[..end]);
    complete.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Kills a process and waits until it is gone.
pub(super) fn kill(pid: u32) {
    // It may have exited by itself.
    let _ = kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), Signal::KILL);
    wait_for_exit(pid);
}

/// Waits until a process is gone.
pub(super) fn wait_for_exit(pid: u32) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { return };
    let timeout = Timespec::try_from(TEST_TIMEOUT).unwrap();
    assert_eq!(poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&timeout)).unwrap(), 1, "{pid:?} lives");
}

/// The processes with this text among their arguments, apart from zombies.
pub(super) fn processes_with(argument: &str) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let has_argument = |pid: &u32| {
        let arguments = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        arguments.split(|byte| *byte == 0).any(|found| found == argument.as_bytes())
    };
    pids.filter(has_argument).collect()
}

/// Permission bits of a file.
pub(super) fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

/// Waits until a file has this content.
pub(super) fn wait_for_file(path: &Path, content: &str) {
    file_says(path, |text| text == content);
}
