//! `cargo xtask bench`: tables of speed and memory. The latest results are in `bench/README.md`.

mod audit;
mod transcripts;

use crate::shell;

/// A benchmark. `run` gets its own options and prints its table.
struct Bench {
    name: &'static str,
    description: &'static str,
    run: fn(&[String]) -> Result<bool, String>,
}

const BENCHES: &[Bench] = &[
    Bench {
        name: "audit",
        description: "replay of a history, compared with tools that only sum it up  [--size 1GB]",
        run: audit::run,
    },
    Bench {
        name: "core",
        description: "events per second through Session::apply, all patterns on",
        run: |_| shell::run(&mut shell::cargo(CORE)),
    },
    Bench {
        name: "text",
        description: "normalising, redacting and classifying tool output, in MB/s",
        run: |_| shell::run(&mut shell::cargo(TEXT)),
    },
    Bench {
        name: "proxy",
        description: "a hop through Belay, compared with nginx, plain hyper, Portkey and LiteLLM  [TARGET...]",
        run: |targets| Ok(shell::run(&mut shell::cargo(BELAY))? && shell::run(shell::cargo(PROXY).args(targets))?),
    },
    Bench {
        name: "socket",
        description: "an event through the resident process, compared with plain SQLite; 100,000 sessions  [SESSIONS]",
        run: |sessions| shell::run(shell::cargo(SOCKET).args(sessions)),
    },
    Bench {
        name: "hook",
        description: "a hook call, compared with `sh -c true`",
        run: |_| shell::run(&mut shell::cargo(HOOK)),
    },
    Bench {
        name: "memory",
        description: "memory of the resident process and of a hook under large payloads",
        run: |_| shell::run(&mut shell::cargo(MEMORY)),
    },
    Bench {
        name: "dashboard",
        description: "server time of pages, cost of live streams, size of files, memory",
        run: |_| shell::run(&mut shell::cargo(DASHBOARD)),
    },
    Bench {
        name: "review",
        description: "what a review loop adds to its agents' own time; many tasks",
        run: |_| shell::run(&mut shell::cargo(REVIEW)),
    },
    Bench {
        name: "screen",
        description: "from an agent's hook to the browser's screen  [SECONDS]",
        run: crate::browser::bench,
    },
    Bench {
        name: "retention",
        description: "pruning 1,000,000 events in 10,000 sessions beside load  [SESSIONS]",
        run: |sessions| shell::run(shell::cargo(RETENTION).args(sessions)),
    },
];

const TEXT: &[&str] = &["run", "--release", "--quiet", "-p", "belay-core", "--example", "text_bench"];
const CORE: &[&str] = &["run", "--release", "--quiet", "-p", "belay-core", "--example", "apply_bench"];
const HOOK: &[&str] = &["bench", "--quiet", "-p", "belayer", "--bench", "hook"];
const MEMORY: &[&str] = &["bench", "--quiet", "-p", "belayer", "--bench", "memory"];
const DASHBOARD: &[&str] = &["bench", "--quiet", "-p", "belayer", "--bench", "dashboard"];
const REVIEW: &[&str] = &["bench", "--quiet", "-p", "belayer", "--bench", "review"];
const RETENTION: &[&str] = &["bench", "--quiet", "-p", "belayer", "--bench", "retention", "--"];
const BELAY: &[&str] = &["build", "--release", "--quiet", "-p", "belayer"];
const PROXY: &[&str] = &["bench", "--quiet", "-p", "belay-proxy", "--bench", "proxy", "--"];
const SOCKET: &[&str] = &["bench", "--quiet", "-p", "belayer", "--bench", "socket", "--"];

pub(crate) fn run(args: &[String]) -> Result<bool, String> {
    let known =
        || BENCHES.iter().map(|bench| format!("  {:<10} {}\n", bench.name, bench.description)).collect::<String>();
    // Options follow the bench they belong to.
    let mut chosen: Vec<(&Bench, Vec<String>)> = Vec::new();
    for arg in args {
        match (BENCHES.iter().find(|bench| bench.name == arg), chosen.last_mut()) {
            (Some(bench), _) => chosen.push((bench, Vec::new())),
            (None, Some((_, options))) => options.push(arg.clone()),
            (None, None) => return Err(format!("unknown bench `{arg}`; the benches are\n{}", known())),
        }
    }
    if chosen.is_empty() {
        chosen.extend(BENCHES.iter().map(|bench| (bench, Vec::new())));
    }
    let mut ok = true;
    for (bench, options) in chosen {
        println!("\n=== {}: {}", bench.name, bench.description);
        ok &= (bench.run)(&options)?;
    }
    Ok(ok)
}
