//! Review loops: what Belay adds to a round, what an idle queue costs, and a list of many tasks. Prints a table.
//! Linux only, because it reads `/proc`.
//!
//!     cargo bench -p belayer --bench review

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "the table is the output; a bench that fails should say where"
)]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use belay_core::Timestamp;
use belay_ipc::ReviewsRequest;
use belay_review_runner::import::{ForeignTask, import};
use belay_review_runner::read;
use belay_review_runner::task_dir::TaskDir;

/// Tasks that are run, of two rounds each.
const RUNS: usize = 8;
const TASKS: usize = 1_000;
const IDLE: Duration = Duration::from_secs(10);

const MAX_OVERHEAD_MS: f64 = 150.0;
const MAX_LIST_MS: f64 = 50.0;
/// A scheduler that polls would use far more.
const MAX_IDLE_CPU_MS: f64 = 20.0;

/// Raises an issue in the first round, and none in the second.
const REVIEWER: &str = r#"#!/bin/sh
cat > /dev/null
n=$(ls file-* | wc -l)
if [ "$n" -ge 2 ]; then echo "STATUS: DONE"; exit; fi
echo "STATUS: ISSUES_FOUND"
echo "- [critical] file-$((n - 1)):1: file-$n is missing"
echo "  Evidence: ls file-$n"
echo "  Reason: the task asks for it"
"#;
const BUILDER: &str =
    "#!/bin/sh\ncat > /dev/null\nn=$(ls file-* 2>/dev/null | wc -l)\necho $n > file-$n\necho made file-$n\n";

fn main() {
    let project_dir = tempfile::tempdir().unwrap();
    let bench = Bench { home: project_dir.path().join("home"), project: project_dir.path().join("project") };
    bench.make_project();
    let builder = bench.program(project_dir.path(), "builder", BUILDER);
    let reviewer = bench.program(project_dir.path(), "reviewer", REVIEWER);
    let mut ok = true;
    let mut row = |name: &str, value: f64, unit: &str, limit: f64| {
        let verdict = if value <= limit { "" } else { "  MISSED" };
        ok &= value <= limit;
        println!("{name:<52} {value:>9.1} {unit:<3} (at most {limit}){verdict}");
    };

    let own = bench.own_time(&[&builder, &reviewer]);
    let rounds: Vec<f64> = (0..RUNS).flat_map(|_| bench.review(&builder, &reviewer)).collect();
    let slowest = rounds.iter().copied().fold(0.0, f64::max) - own;
    println!("a round with programs that take {own:.1} ms: median {:.1} ms", median(&rounds));
    row("overhead of a round, median", median(&rounds) - own, "ms", MAX_OVERHEAD_MS);
    println!("  the slowest of {}: {slowest:.1} ms", rounds.len());

    let pid = bench.pid();
    let before = cpu_ms(pid);
    std::thread::sleep(IDLE);
    row("CPU time of an idle queue in 10 s", cpu_ms(pid) - before, "ms", MAX_IDLE_CPU_MS);

    for number in 0..TASKS {
        import(&bench.reviews(), &finished(number)).unwrap();
    }
    let list = median(&(0..15).map(|_| bench.timed(&["review", "list"])).collect::<Vec<_>>());
    row("`belay review list` with 1,000 tasks, whole process", list, "ms", MAX_LIST_MS);
    let request = ReviewsRequest { limit: Some(50), ..ReviewsRequest::default() };
    let in_process = (0..15).map(|_| {
        let start = Instant::now();
        assert_eq!(read::list(&bench.reviews(), &request).tasks.len(), 50);
        millis(start.elapsed())
    });
    row("the list in the resident process, p50", median(&in_process.collect::<Vec<_>>()), "ms", MAX_LIST_MS);
    bench.belay(&["stop"]);
    if !ok {
        println!("a target was missed");
    }
}

struct Bench {
    home: PathBuf,
    project: PathBuf,
}

impl Bench {
    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_belay"));
        command.args(args).env_clear().env("PATH", "/usr/bin:/bin").env("USER", "bench");
        command.env("HOME", self.home.parent().unwrap()).env("BELAY_HOME", &self.home).current_dir(&self.project);
        command.stdin(Stdio::null());
        command
    }

    fn belay(&self, args: &[&str]) -> String {
        let output = self.command(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn timed(&self, args: &[&str]) -> f64 {
        let start = Instant::now();
        self.belay(args);
        millis(start.elapsed())
    }

    fn reviews(&self) -> PathBuf {
        self.home.join("reviews")
    }

    fn pid(&self) -> u32 {
        let status: serde_json::Value = serde_json::from_str(&self.belay(&["status", "--json"])).unwrap();
        status["resident"]["pid"].as_u64().and_then(|pid| pid.try_into().ok()).unwrap()
    }

    fn make_project(&self) {
        std::fs::create_dir_all(&self.project).unwrap();
        std::fs::write(self.project.join("README"), "bench\n").unwrap();
        for args in [
            &["init", "--quiet"][..],
            &["add", "."],
            &["-c", "user.name=b", "-c", "user.email=b@example.com", "commit", "--quiet", "--message", "start"],
        ] {
            assert!(Command::new("git").args(args).current_dir(&self.project).status().unwrap().success());
        }
    }

    fn program(&self, project_dir: &Path, name: &str, script: &str) -> PathBuf {
        let path = project_dir.join(name);
        std::fs::write(&path, script).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// How long programs take by themselves, in milliseconds.
    fn own_time(&self, programs: &[&Path]) -> f64 {
        let times = programs.iter().map(|program| {
            let start = Instant::now();
            let mut command = Command::new(program);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).current_dir(&self.project);
            assert!(command.status().unwrap().success());
            millis(start.elapsed())
        });
        let total = times.sum();
        std::fs::remove_file(self.project.join("file-0")).unwrap();
        total
    }

    /// Runs a task. Returns the duration of its rounds but the last, in milliseconds.
    fn review(&self, builder: &Path, reviewer: &Path) -> Vec<f64> {
        let (builder, reviewer) = (builder.to_str().unwrap(), reviewer.to_str().unwrap());
        let id =
            self.belay(&["review", "start", "Make files", "--builder", builder, "--reviewer", reviewer, "--detach"]);
        let dir = TaskDir::new(&self.reviews(), &id);
        while !read::view(&dir).unwrap().summary.phase.has_ended() {
            std::thread::sleep(Duration::from_millis(50));
        }
        let view = read::view(&dir).unwrap();
        assert_eq!(view.rounds.len(), 2, "{}", view.summary.status);
        round_times(&dir)
    }
}

/// From the start of each build to the start of the next.
fn round_times(dir: &TaskDir) -> Vec<f64> {
    let journal = dir.read_journal::<belay_review::Task>().unwrap();
    let is_build = |record: &serde_json::Value| record["record"] == "started" && record["step"]["step"] == "build";
    let starts = journal.iter().filter(|entry| is_build(&serde_json::to_value(entry).unwrap()));
    let starts: Vec<Timestamp> = starts.map(|entry| entry.at).collect();
    starts.windows(2).map(|pair| millis(pair[1].saturating_since(pair[0]))).collect()
}

fn finished(number: usize) -> ForeignTask {
    ForeignTask {
        source: format!("bench {number}"),
        title: format!("Task {number}"),
        prompt: "Do it".to_owned(),
        project_dir: "/src/project".to_owned(),
        builder: "claude-code".to_owned(),
        reviewer: "codex".to_owned(),
        rounds: 3,
        is_done: true,
        status: "done".to_owned(),
        filed_at: Timestamp::from_millis(1_790_000_000_000 + i64::try_from(number).unwrap()),
        artifacts: None,
    }
}

/// CPU time of a process, user and system.
fn cpu_ms(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks: f64 = fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap();
    ticks * 10.0
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
