//! `cargo xtask soak`: tests that take too long for `cargo xtask test`. They run before a release.

use crate::{agents, fuzz, nextest, shell};

/// A long-running test.
struct Soak {
    name: &'static str,
    description: &'static str,
    run: fn() -> Result<bool, String>,
}

const SOAKS: &[Soak] = &[
    Soak {
        name: "kill",
        description: "kill -9 of eight writers at random points, 20 times 56 kills: acknowledged events survive",
        run: || {
            let killed = "test(/^kill::/) or test(=spool::saved_events_survive_sigkill_and_count_once)";
            let tests = ["--package", "belay-engine", "--test", "engine", "--no-capture", "--filterset", killed];
            stress(&tests, 20)
        },
    },
    Soak {
        name: "flood",
        description: "up to 8,000 events per second for a minute: the store stays near its limit, nothing is lost",
        run: || {
            let tests = ["--package", "belayer", "--test", "it", "--ignore-default-filter", "--no-capture"];
            let flood = ["--filterset", "test(/^flood::soak::/)"];
            shell::run(&mut nextest::command("default", &[&tests[..], &flood].concat())?)
        },
    },
    Soak {
        name: "repeat",
        description: "unit and integration tests 20 times, property tests with new inputs: no test is flaky",
        run: || {
            let tests = ["--workspace", "--lib", "--bins", "--test", "*"];
            stress(&[&tests[..], &["--filterset", "not package(belay-agent-tests)"]].concat(), 20)
        },
    },
    Soak {
        name: "reviews",
        description: "review tasks with every agent CLI: rounds, limits, pauses, budgets, permissions; kill -9 at every record",
        run: || {
            for (name, installed) in agents::ensure_agents() {
                installed.as_ref().map_err(|why| format!("{name}: {why}"))?;
            }
            // The tests of the CLI are selected because cargo builds the `belay` binary with them.
            let tests = ["--workspace", "--test", "agents", "--test", "it", "--ignore-default-filter"];
            let reviews = "(package(belay-agent-tests) and test(/^review::/)) or test(/^review::crash::soak::/)";
            let filter = ["--filterset", reviews];
            shell::run(&mut nextest::command("agents", &[&tests[..], &filter].concat())?)
        },
    },
    Soak {
        name: "fuzz",
        description: "every fuzz target for 180 s with new inputs",
        run: || fuzz::explore(&[], fuzz::DEFAULT_SECONDS),
    },
];

pub(crate) fn run(args: &[String]) -> Result<bool, String> {
    let list = || SOAKS.iter().map(|soak| format!("  {:<8} {}\n", soak.name, soak.description)).collect::<String>();
    if let Some(unknown) = args.iter().find(|arg| SOAKS.iter().all(|soak| soak.name != **arg)) {
        return Err(format!("unknown soak `{unknown}`; the soaks are\n{}", list()));
    }
    let mut succeeded = true;
    for soak in SOAKS.iter().filter(|soak| args.is_empty() || args.iter().any(|arg| arg == soak.name)) {
        println!("\n=== {}: {}", soak.name, soak.description);
        succeeded &= (soak.run)()?;
    }
    Ok(succeeded)
}

fn stress(tests: &[&str], count: u32) -> Result<bool, String> {
    shell::run(nextest::command("default", tests)?.args(["--stress-count", &count.to_string()]))
}
