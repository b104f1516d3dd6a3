//! Programs that run another program in a container or pod. Only the inner program counts.

/// What a command line really runs.
pub(super) enum ContainerCommand<'a> {
    /// This command line, inside the container.
    Program(&'a [String]),
    /// A program whose name consists of two words.
    Named(&'static str, &'a [String]),
}

/// Resolves `docker exec`, `docker compose run` and similar commands.
pub(super) fn container_command<'a>(program: &str, args: &'a [String]) -> Option<ContainerCommand<'a>> {
    let at = plain(args)?;
    let (sub, rest) = (args[at].as_str(), &args[at + 1..]);
    match (program, sub) {
        ("docker" | "podman" | "nerdctl", "compose") => Some(ContainerCommand::Named("docker-compose", rest)),
        ("docker" | "podman" | "nerdctl" | "docker-compose" | "podman-compose", "exec" | "run") => {
            // The container, image or service precedes the command.
            let place = plain(rest)?;
            within(&rest[place + 1..])
        }
        ("kubectl" | "oc", "exec") => within(&rest[rest.iter().position(|word| word == "--")? + 1..]),
        _ => None,
    }
}

fn within(words: &[String]) -> Option<ContainerCommand<'_>> {
    (!words.is_empty()).then_some(ContainerCommand::Program(words))
}

/// Options that take the next word as their value.
const OPTIONS_WITH_VALUE: &[&str] = &[
    "-e",
    "-u",
    "-w",
    "-v",
    "-p",
    "-f",
    "-n",
    "-c",
    "-m",
    "-l",
    "-h",
    "--env",
    "--user",
    "--workdir",
    "--volume",
    "--publish",
    "--file",
    "--name",
    "--network",
    "--entrypoint",
    "--env-file",
    "--project-name",
    "--profile",
    "--mount",
    "--platform",
    "--memory",
    "--cpus",
    "--hostname",
    "--add-host",
    "--label",
    "--namespace",
    "--container",
    "--context",
    "--index",
    "--project-directory",
    "--gpus",
    "--shm-size",
    "--ulimit",
    "--host",
    "-H",
];

/// Index of the first word that is neither an option nor its value.
fn plain(words: &[String]) -> Option<usize> {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        if !word.starts_with('-') {
            return Some(at);
        }
        at += if OPTIONS_WITH_VALUE.contains(&word.as_str()) { 2 } else { 1 };
    }
    None
}
