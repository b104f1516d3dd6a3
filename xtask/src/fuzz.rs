//! `cargo xtask fuzz`: coverage-guided fuzzing of every parser on the stable toolchain.
//!
//! The targets are one binary in `fuzz/`, linked with libFuzzer. The coverage instrumentation is an LLVM pass that
//! stable rustc accepts as a flag, so neither nightly nor cargo-fuzz is needed.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use crate::shell;

/// Reports to libFuzzer which edges an input took.
const COVERAGE: &str = "-Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    --cfg fuzzing";

/// Targets that run at the same time.
const PROCESSES: usize = 2;

/// How long `cargo xtask fuzz` runs each target by default.
pub(crate) const DEFAULT_SECONDS: u32 = 180;

/// How the inputs are chosen and how many there are.
#[derive(Clone, Copy)]
enum FuzzMode {
    /// The same inputs every time: a test must not fail by chance, nor depend on the speed of the machine.
    Smoke,
    /// New inputs every time, starting from the corpus of earlier runs.
    Explore { seconds: u32 },
}

struct Target {
    name: String,
    smoke_runs: u32,
}

pub(crate) fn run(args: &[String]) -> Result<bool, String> {
    let mut seconds = DEFAULT_SECONDS;
    let mut names = Vec::new();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--seconds" => {
                let value = args.next().ok_or("--seconds needs a number")?;
                seconds = value.parse().map_err(|_| format!("invalid number of seconds `{value}`"))?;
            }
            name => names.push(name),
        }
    }
    explore(&names, seconds)
}

/// Fuzzes the named targets, or all of them, for so many seconds each.
pub(crate) fn explore(names: &[&str], seconds: u32) -> Result<bool, String> {
    let binary = build()?;
    let mut targets = targets(&binary)?;
    if let Some(unknown) = names.iter().find(|name| targets.iter().all(|target| target.name != **name)) {
        let known: Vec<_> = targets.iter().map(|target| target.name.as_str()).collect();
        return Err(format!("unknown fuzz target `{unknown}`; the targets are {}", known.join(", ")));
    }
    targets.retain(|target| names.is_empty() || names.contains(&target.name.as_str()));
    let failed = fuzz_all(&binary, &targets, FuzzMode::Explore { seconds })?;
    println!("\n{} targets, {seconds} s each, {failed} failed", targets.len());
    Ok(failed == 0)
}

/// A fixed number of inputs for every target. Returns how many targets passed and failed.
pub(crate) fn smoke() -> Result<(u64, u64), String> {
    let binary = build()?;
    let targets = targets(&binary)?;
    let failed = fuzz_all(&binary, &targets, FuzzMode::Smoke)?;
    Ok((targets.len() as u64 - failed, failed))
}

fn build() -> Result<PathBuf, String> {
    let host = host()?;
    let mut build = shell::cargo(&["build", "--release", "--quiet", "--manifest-path", "fuzz/Cargo.toml"]);
    // With an explicit target the flags apply to the code under test, not to build scripts.
    build.args(["--target", &host, "--target-dir", "fuzz/target"]).env("RUSTFLAGS", COVERAGE);
    if !shell::run(&mut build)? {
        return Err("the fuzz targets do not build".to_owned());
    }
    Ok(shell::root().join("fuzz/target").join(host).join("release/belay-fuzz"))
}

fn targets(binary: &Path) -> Result<Vec<Target>, String> {
    let output = Command::new(binary).arg("--list").output().map_err(|e| format!("{}: {e}", binary.display()))?;
    let list = String::from_utf8_lossy(&output.stdout);
    let target = |line: &str| {
        let (name, runs) = line.split_once(' ')?;
        Some(Target { name: name.to_owned(), smoke_runs: runs.parse().ok()? })
    };
    list.lines().map(|line| target(line).ok_or_else(|| format!("invalid fuzz target `{line}`"))).collect()
}

/// Returns how many targets failed.
fn fuzz_all(binary: &Path, targets: &[Target], mode: FuzzMode) -> Result<u64, String> {
    let queue = Mutex::new(targets.iter());
    let worker = || -> Result<u64, String> {
        let mut failed = 0;
        loop {
            // A statement of its own: the lock must not be held while a target runs.
            let next = queue.lock().map_err(|e| e.to_string())?.next();
            let Some(target) = next else { return Ok(failed) };
            failed += u64::from(!fuzz(binary, target, mode)?);
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..PROCESSES).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().map(|worker| worker.join().map_err(|_| "a fuzz worker panicked".to_owned())?).sum()
    })
}

fn fuzz(binary: &Path, target: &Target, mode: FuzzMode) -> Result<bool, String> {
    let root = shell::root();
    let name = &target.name;
    let corpus = match mode {
        FuzzMode::Smoke => root.join("fuzz/target/smoke").join(name),
        FuzzMode::Explore { .. } => root.join("fuzz/corpus").join(name),
    };
    if matches!(mode, FuzzMode::Smoke) && corpus.exists() {
        std::fs::remove_dir_all(&corpus).map_err(|e| format!("{}: {e}", corpus.display()))?;
    }
    let (artifacts, scratch) = (root.join("fuzz/artifacts").join(name), root.join("fuzz/target/scratch"));
    for dir in [&corpus, &artifacts, &scratch] {
        std::fs::create_dir_all(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    }
    let mut command = Command::new(binary);
    command.arg(format!("--target={name}")).arg(&corpus).args(seeds(&root, name)).env("TMPDIR", scratch);
    match mode {
        FuzzMode::Smoke => command.arg("-seed=1").arg(format!("-runs={}", target.smoke_runs)),
        FuzzMode::Explore { seconds } => command.arg(format!("-max_total_time={seconds}")),
    };
    command.arg(format!("-artifact_prefix={}/", artifacts.display())).args([
        "-max_len=16384",
        "-timeout=10",
        "-rss_limit_mb=2048",
        "-print_final_stats=1",
        "-verbosity=0",
    ]);
    let start = Instant::now();
    let output = command.output().map_err(|e| format!("cannot start {name}: {e}"))?;
    let log = String::from_utf8_lossy(&output.stderr);
    let stat = |key: &str| log.lines().find_map(|line| line.strip_prefix(key)).map_or("?", str::trim).to_owned();
    if output.status.success() {
        let (runs, memory) = (stat("stat::number_of_executed_units:"), stat("stat::peak_rss_mb:"));
        println!("{name:<24} {runs:>9} runs {:>6.1} s {memory:>5} MB", start.elapsed().as_secs_f64());
        return Ok(true);
    }
    println!("{log}\n{name:<24} FAILED; the input is in fuzz/artifacts/{name}");
    Ok(false)
}

/// A target starts from its own seeds; a transcript parser also starts from the fixtures of its tests.
fn seeds(root: &Path, target: &str) -> Vec<PathBuf> {
    let mut dirs = vec![root.join("fuzz/seeds").join(target)];
    if let Some(agent) = target.strip_prefix("transcript_") {
        let fixtures = std::fs::read_dir(root.join("crates/agents/tests/fixtures").join(agent));
        dirs.extend(fixtures.into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())));
    }
    dirs.retain(|dir| dir.is_dir());
    dirs.sort();
    dirs
}

fn host() -> Result<String, String> {
    let output = Command::new("rustc").arg("-vV").output().map_err(|e| format!("cannot start rustc: {e}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| "`rustc -vV` names no host".to_owned())
}
