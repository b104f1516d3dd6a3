//! The suite `lint`: static checks.

use std::process::Command;
use std::thread;

use super::SuiteResult;
use crate::install::{self, Tool};
use crate::{links, shell};

pub(super) fn prepare() {
    for tool in [&install::TYPOS, &install::DENY] {
        thread::spawn(|| tool.path());
    }
}

pub(super) fn run() -> Result<SuiteResult, String> {
    let mut result = SuiteResult::step(links()?);
    result.add(tool(&install::TYPOS, &["--format", "brief"])?);
    let mut clippy = shell::cargo(&["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"]);
    result.add(SuiteResult::step(shell::run(&mut clippy)?));
    let mut doc = shell::cargo(&["doc", "--workspace", "--no-deps", "--quiet"]);
    result.add(SuiteResult::step(shell::run(doc.env("RUSTDOCFLAGS", "-D warnings"))?));
    // Not the advisories: their database is a git repository that not every machine can reach.
    let checks = ["--log-level", "error", "check", "--hide-inclusion-graph", "bans", "licenses", "sources"];
    result.add(tool(&install::DENY, &checks)?);
    Ok(result)
}

fn tool(tool: &'static Tool, args: &[&str]) -> Result<SuiteResult, String> {
    match tool.path() {
        Ok(program) => {
            let mut command = Command::new(program);
            shell::run(command.args(args).current_dir(shell::root())).map(SuiteResult::step)
        }
        Err(why) => Ok(SuiteResult::skip(format!("lint: {why}"))),
    }
}

/// Prints every broken link of the Markdown files.
fn links() -> Result<bool, String> {
    let broken = links::check()?;
    for link in &broken {
        println!("{link}");
    }
    println!("{} broken links in Markdown files", broken.len());
    Ok(broken.is_empty())
}
