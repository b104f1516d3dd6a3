//! `cargo xtask prices DATE FILE...`: updates the built-in price table.

use std::process::Command;

const TABLE: &str = "crates/core/src/prices.txt";

/// Replaces the table with what the converter prints.
pub(crate) fn run(args: &[String]) -> Result<bool, String> {
    if args.len() < 2 {
        return Err("usage: cargo xtask prices DATE FILE...; docs/dev/prices.md names the source".to_owned());
    }
    let mut converter = Command::new("cargo");
    converter.args(["run", "--quiet", "--package", "belay-core", "--example", "prices", "--"]).args(args);
    let output = converter.output().map_err(|error| format!("cannot run cargo: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    // Differences between the sources.
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    let path = crate::shell::root().join(TABLE);
    std::fs::write(&path, &output.stdout).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    println!("updated {TABLE}: {} lines", output.stdout.iter().filter(|byte| **byte == b'\n').count());
    Ok(true)
}
