//! `cargo xtask bench`: tables of speed and memory. The last honest numbers stand in `bench/README.md`.

use crate::shell;

/// A bench: its name, what it measures, and the arguments of the cargo call that prints its table.
const BENCHES: &[(&str, &str, &[&str])] = &[];

pub(crate) fn run(args: &[String]) -> Result<bool, String> {
    let known = || BENCHES.iter().map(|(name, what, _)| format!("  {name:<10} {what}\n")).collect::<String>();
    let mut chosen = Vec::new();
    for arg in args {
        match BENCHES.iter().find(|(name, ..)| name == arg) {
            Some(bench) => chosen.push(bench),
            None => return Err(format!("there is no bench `{arg}`; there are\n{}", known())),
        }
    }
    if chosen.is_empty() {
        chosen.extend(BENCHES);
    }
    let mut ok = true;
    for (name, what, cargo) in chosen {
        println!("\n=== {name}: {what}");
        ok &= shell::run(&mut shell::cargo(cargo))?;
    }
    Ok(ok)
}
