//! Installing what the tests need. Everything is optional at home; with `CI=true` what could not be
//! installed fails the run.

use std::process::{Command, Stdio};

use crate::shell;

/// How often an install is tried: registries have bad minutes.
const TRIES: u32 = 3;

/// Makes sure the Debian packages are there. Tells which of them are missing afterwards.
pub(crate) fn debian(packages: &[&str]) -> Vec<String> {
    let missing = |packages: &[&str]| -> Vec<String> {
        packages.iter().filter(|p| !installed(p)).map(|p| (*p).to_owned()).collect()
    };
    let mut wanted = missing(packages);
    if wanted.is_empty() || !shell::has("apt-get") {
        return wanted;
    }
    for _ in 0..TRIES {
        let mut update = apt();
        let _ = shell::run(update.args(["update", "-qq"]));
        let mut install = apt();
        let _ = shell::run(install.args(["install", "-y", "-qq", "--no-install-recommends"]).args(&wanted));
        wanted = missing(packages);
        if wanted.is_empty() {
            break;
        }
    }
    wanted
}

fn apt() -> Command {
    // Only root may install; ask sudo without a prompt where it exists.
    let root = Command::new("id").arg("-u").output().is_ok_and(|o| o.stdout.starts_with(b"0\n"));
    let mut command = if root || !shell::has("sudo") { Command::new("apt-get") } else { Command::new("sudo") };
    if command.get_program() == "sudo" {
        command.args(["-n", "apt-get"]);
    }
    command.env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null());
    command
}

fn installed(package: &str) -> bool {
    let query = Command::new("dpkg-query").args(["-W", "-f", "${db:Status-Abbrev}", package]).output();
    query.is_ok_and(|output| output.stdout.starts_with(b"ii"))
}
