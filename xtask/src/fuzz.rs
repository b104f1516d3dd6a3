//! `cargo xtask fuzz`: coverage-guided fuzzing of every parser on the stable toolchain.
//!
//! The targets are plain binaries in `fuzz/`, linked with libFuzzer. The coverage instrumentation
//! is an LLVM pass that stable rustc can be asked for, so neither nightly nor cargo-fuzz is needed.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::shell;

/// What tells libFuzzer which edges an input took.
const COVERAGE: &str = "-Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Ccodegen-units=1 -Cdebug-assertions -Coverflow-checks --cfg fuzzing";

pub(crate) fn run(args: &[String]) -> Result<bool, String> {
    let mut seconds = 180;
    let mut wanted = Vec::new();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--seconds" => {
                let value = args.next().ok_or("--seconds wants a number")?;
                seconds = value.parse().map_err(|_| format!("--seconds {value}: not a number"))?;
            }
            target => wanted.push(target.to_owned()),
        }
    }
    let targets = targets()?;
    if let Some(unknown) = wanted.iter().find(|w| !targets.contains(w)) {
        return Err(format!("there is no target `{unknown}`; there are {}", targets.join(", ")));
    }
    let chosen = if wanted.is_empty() { targets } else { wanted };
    let folder = build()?;
    let mut failed = Vec::new();
    for target in &chosen {
        if !fuzz(&folder, target, seconds, Way::New)? {
            failed.push(target.clone());
        }
    }
    println!("\n{} targets, {} s each, {} with a finding", chosen.len(), seconds, failed.len());
    Ok(failed.is_empty())
}

/// Every target for so many seconds; how many ran clean and how many did not.
pub(crate) fn all(seconds: u32) -> Result<(u64, u64), String> {
    let folder = build()?;
    let (mut passed, mut failed) = (0, 0);
    for target in targets()? {
        if fuzz(&folder, &target, seconds, Way::Same)? {
            passed += 1;
        } else {
            failed += 1;
        }
    }
    Ok((passed, failed))
}

fn targets() -> Result<Vec<String>, String> {
    let folder = shell::root().join("fuzz/src/bin");
    let entries = std::fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.path().file_stem().map(|stem| stem.to_string_lossy().into_owned()))
        .collect();
    names.sort();
    Ok(names)
}

fn build() -> Result<PathBuf, String> {
    let host = host()?;
    let mut build = shell::cargo(&["build", "--release", "--quiet", "--manifest-path", "fuzz/Cargo.toml"]);
    // With an explicit target the flags reach only what is fuzzed, not build scripts.
    build.args(["--target", &host]).env("RUSTFLAGS", COVERAGE);
    if !shell::run(&mut build)? {
        return Err("the fuzz targets do not build".to_owned());
    }
    Ok(shell::root().join("fuzz/target").join(host).join("release"))
}

/// Which way through the inputs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// The same every time: a test must not fail by chance.
    Same,
    /// Another one each time, going on from what was found before.
    New,
}

fn fuzz(folder: &Path, target: &str, seconds: u32, way: Way) -> Result<bool, String> {
    let root = shell::root();
    let corpus = match way {
        Way::Same => root.join("fuzz/target/smoke").join(target),
        Way::New => root.join("fuzz/corpus").join(target),
    };
    if way == Way::Same && corpus.exists() {
        std::fs::remove_dir_all(&corpus).map_err(|e| format!("{}: {e}", corpus.display()))?;
    }
    let artifacts = root.join("fuzz/artifacts").join(target);
    for folder in [&corpus, &artifacts] {
        std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    }
    let mut command = Command::new(folder.join(target));
    command.arg(&corpus);
    for seeds in seeds(&root, target) {
        command.arg(seeds);
    }
    command
        .arg(format!("-seed={}", u8::from(way == Way::Same)))
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        .args(["-max_len=16384", "-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1", "-verbosity=0"]);
    let output = command.output().map_err(|e| format!("{target} could not be started: {e}"))?;
    let log = String::from_utf8_lossy(&output.stderr);
    let stat = |name: &str| log.lines().find_map(|l| l.strip_prefix(name)).map_or("?", str::trim).to_owned();
    let runs = stat("stat::number_of_executed_units:");
    if output.status.success() {
        println!("{target:<20} clean after {runs} runs in {seconds} s, peak {} MB", stat("stat::peak_rss_mb:"));
        return Ok(true);
    }
    println!("{log}\n{target:<20} FAILED; the input lies in fuzz/artifacts/{target}");
    Ok(false)
}

/// Where a target starts from: its own seeds, and for readers the fixtures of their tests.
fn seeds(root: &Path, target: &str) -> Vec<PathBuf> {
    let mut folders = vec![root.join("fuzz/seeds").join(target)];
    if let Some(agent) = target.strip_prefix("transcript_") {
        let fixtures = std::fs::read_dir(root.join("crates/agents/tests/fixtures").join(agent));
        folders.extend(fixtures.into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())));
    }
    folders.retain(|folder| folder.is_dir());
    folders
}

fn host() -> Result<String, String> {
    let output = Command::new("rustc").arg("-vV").output().map_err(|e| format!("rustc: {e}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| "rustc -vV names no host".to_owned())
}
