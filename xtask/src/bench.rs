//! `cargo xtask bench`: tables of speed and memory. The last honest numbers stand in `bench/README.md`.

mod audit;
mod transcripts;

use crate::shell;

/// A bench: its name, what it measures, and what prints its table, given its own options.
struct Bench {
    name: &'static str,
    what: &'static str,
    run: fn(&[String]) -> Result<bool, String>,
}

const BENCHES: &[Bench] = &[
    Bench {
        name: "audit",
        what: "replaying a history, beside tools that only add it up  [--size 1GB]",
        run: audit::run,
    },
    Bench {
        name: "core",
        what: "events per second through Session::apply, all patterns on",
        run: |_| shell::run(&mut shell::cargo(CORE)),
    },
    Bench {
        name: "text",
        what: "normalising, redacting and judging outputs, in MB/s",
        run: |_| shell::run(&mut shell::cargo(TEXT)),
    },
    Bench {
        name: "proxy",
        what: "a hop through us, beside nginx, a bare hyper, Portkey and LiteLLM  [TARGET...]",
        run: |targets| Ok(shell::run(&mut shell::cargo(BELAY))? && shell::run(shell::cargo(PROXY).args(targets))?),
    },
    Bench {
        name: "socket",
        what: "an event through the resident process, beside bare SQLite; 100,000 sessions  [SESSIONS]",
        run: |sessions| shell::run(shell::cargo(SOCKET).args(sessions)),
    },
    Bench {
        name: "hook",
        what: "a hook call beside the cheapest process there is",
        run: |_| shell::run(&mut shell::cargo(HOOK)),
    },
];

const TEXT: &[&str] = &["run", "--release", "--quiet", "-p", "belay-core", "--example", "text_bench"];
const CORE: &[&str] = &["run", "--release", "--quiet", "-p", "belay-core", "--example", "apply_bench"];
const HOOK: &[&str] = &["bench", "--quiet", "-p", "belayer", "--bench", "hook"];
const BELAY: &[&str] = &["build", "--release", "--quiet", "-p", "belayer"];
const PROXY: &[&str] = &["bench", "--quiet", "-p", "belay-proxy", "--bench", "proxy", "--"];
const SOCKET: &[&str] = &["bench", "--quiet", "-p", "belayer", "--bench", "socket", "--"];

pub(crate) fn run(args: &[String]) -> Result<bool, String> {
    let known = || BENCHES.iter().map(|bench| format!("  {:<10} {}\n", bench.name, bench.what)).collect::<String>();
    // Options follow the bench they belong to.
    let mut chosen: Vec<(&Bench, Vec<String>)> = Vec::new();
    for arg in args {
        match (BENCHES.iter().find(|bench| bench.name == arg), chosen.last_mut()) {
            (Some(bench), _) => chosen.push((bench, Vec::new())),
            (None, Some((_, options))) => options.push(arg.clone()),
            (None, None) => return Err(format!("there is no bench `{arg}`; there are\n{}", known())),
        }
    }
    if chosen.is_empty() {
        chosen.extend(BENCHES.iter().map(|bench| (bench, Vec::new())));
    }
    let mut ok = true;
    for (bench, options) in chosen {
        println!("\n=== {}: {}", bench.name, bench.what);
        ok &= (bench.run)(&options)?;
    }
    Ok(ok)
}
