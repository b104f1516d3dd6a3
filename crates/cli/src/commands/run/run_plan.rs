//! What is going to be started.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use belay_agents::launch::{LaunchCommand, LaunchContext};
use belay_agents::{UserDirs, find, install};
use belay_config::Strictness;
use belay_core::SessionKey;
use belay_core::redact::redact;
use belay_hooks::install::{InstallRecord, read};
use belay_ipc::Client;
use serde_json::json;

use super::RunArgs;
use super::daemon_keeper::REQUEST_TIMEOUT;
use crate::context::Context;
use crate::error::CommandError;

/// A run before it starts.
#[derive(Debug)]
pub(super) struct RunPlan {
    /// Canonical agent id; the command's own name where it is no agent we know.
    agent: String,
    /// Name for people.
    pub(super) name: String,
    pub(super) program: PathBuf,
    args: Vec<OsString>,
    run: String,
    scratch: PathBuf,
    user: UserDirs,
    pub(super) proxy: Option<String>,
    belay: Option<PathBuf>,
    /// Belay's own, if it is not the usual one.
    home: Option<String>,
    /// Where the agent works.
    pub(super) folder: PathBuf,
}

impl RunPlan {
    pub(super) fn new(context: &Context, args: &RunArgs, run: &str, scratch: &Path) -> Result<Self, CommandError> {
        let (command, rest) = args
            .command
            .split_first()
            .filter(|(command, _)| !command.is_empty())
            .ok_or_else(|| CommandError::usage("name a command to run").hint("for example: belay run claude"))?;
        // `claude` and `~/bin/claude` are both Claude Code; the second one says which.
        let is_path = Path::new(command).components().count() > 1;
        let named = Path::new(command).file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let known = find(&named);
        let wanted = known.filter(|_| !is_path).map_or_else(|| command.clone(), |agent| agent.executable.into());
        let program = find_program(&wanted, context.env.get("PATH")).map_err(|error| match known {
            Some(agent) => {
                error.hint(format!("install {} first, or say where it is: belay run PATH", agent.display_name))
            }
            None if is_path => error,
            None => error.hint("agents Belay knows: claude, codex, copilot, gemini, opencode, qwen, aider, pi"),
        })?;
        let home = context.places.user_home().map(Path::to_path_buf);
        let home = home.ok_or_else(|| CommandError::new("HOME is not set").hint("set it to your home folder"))?;
        let user = UserDirs { home, lookup: |name| std::env::var_os(name) };
        let folder = std::env::current_dir().map_err(|error| {
            CommandError::new("the folder you are in cannot be worked in")
                .cause(error)
                .hint("it may be gone: cd to another")
        })?;
        let has_home = context.global.home.is_some() || context.env.get("BELAY_HOME").is_some();
        let installed = known.is_some_and(|agent| has_hooks(context, &user, agent.id, &folder));
        Ok(Self {
            agent: known.map_or_else(|| plain(&named), |agent| agent.id.to_owned()),
            name: known.map_or_else(|| named.clone(), |agent| agent.display_name.to_owned()),
            program,
            args: rest.to_vec(),
            run: run.to_owned(),
            scratch: scratch.to_path_buf(),
            user,
            proxy: None,
            belay: (!args.no_hooks && !installed).then(std::env::current_exe).transpose()?,
            home: has_home.then(|| context.places.state().display().to_string()),
            folder,
        })
    }

    /// The key the run goes by.
    pub(super) fn key(&self) -> String {
        SessionKey::new(&self.agent, &self.run).to_string()
    }

    /// Where the proxy is or would be, without starting anything.
    pub(super) fn find_proxy(&mut self, context: &Context, args: &RunArgs) -> Result<(), CommandError> {
        if args.no_proxy {
            return Ok(());
        }
        let running = Client::connect(&context.places, REQUEST_TIMEOUT).and_then(|mut client| client.status(false));
        self.proxy = match running.ok().and_then(|status| status.url) {
            Some(url) => Some(url),
            None => {
                let config = context.config(Strictness::Lenient, &[])?.config;
                Some(format!("http://{}/", config.serve.listen.socket_addr()))
            }
        };
        Ok(())
    }

    pub(super) fn launch(&self) -> LaunchCommand {
        let setting = LaunchContext {
            proxy: self.proxy.as_deref(),
            agent: &self.agent,
            run: &self.run,
            belay: self.belay.as_deref(),
            user: &self.user,
            args: &self.args,
            folder: &self.folder,
            scratch: &self.scratch,
        };
        let mut launch = belay_agents::launch::launch(&setting);
        // Hooks of agents that name no session on the wire find it here.
        launch.env.push(("BELAY_SESSION".to_owned(), self.key()));
        // Hooks, and whatever else the agent calls of Belay's, tell it where the run is told.
        if let Some(home) = &self.home {
            launch.env.push(("BELAY_HOME".to_owned(), home.clone()));
        }
        launch
    }

    /// Shows what would be started; secrets are masked.
    pub(super) fn show(&self, context: &Context) -> Result<(), CommandError> {
        let launch = self.launch();
        let masked = |text: &str| redact(text).into_owned();
        let args = masked_words(&launch.args);
        let env: Vec<(String, String)> = launch
            .env
            .iter()
            .map(|(name, value)| (name.clone(), masked(&format!("{name}={value}"))[name.len() + 1..].to_owned()))
            .collect();
        if context.out.json {
            let upstreams: Vec<_> =
                launch.upstreams.iter().map(|(name, url)| json!({ "name": name, "url": masked(url) })).collect();
            context.out.json(&json!({
                "program": self.program, "args": args, "env": env.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
                "session": launch.session, "upstreams": upstreams, "notes": launch.notes,
                "files": launch.files.iter().map(|(path, _)| path).collect::<Vec<_>>(),
            }))?;
            return Ok(());
        }
        // One command, as a shell would take it.
        for (name, value) in &env {
            context.out.line(format!("{name}={} \\", word(value)))?;
        }
        let words: Vec<String> = std::iter::once(self.program.display().to_string()).chain(args).collect();
        context.out.line(words.iter().map(|text| word(text)).collect::<Vec<_>>().join(" "))?;
        for (path, _) in &launch.files {
            context.out.info(format!("written for the time of the run: {}", path.display()));
        }
        for (name, url) in &launch.upstreams {
            context.out.info(format!("requests to {name} are relayed to {}", masked(url)));
        }
        for note in &launch.notes {
            context.out.info(format!("note: {note}"));
        }
        Ok(())
    }
}

/// Where programs are looked for if nobody says where.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The program, as a shell would find it.
fn find_program(program: &OsStr, path: Option<&OsStr>) -> Result<PathBuf, CommandError> {
    let runs = |path: &Path| is_program(path).is_ok();
    let named = Path::new(program);
    match named.components().count() {
        1 if !program.as_bytes().contains(&b'/') => {
            let path = path.unwrap_or(OsStr::new(DEFAULT_PATH));
            let found = std::env::split_paths(path).map(|folder| folder.join(named)).find(|candidate| runs(candidate));
            found.ok_or_else(|| {
                CommandError::new(format!("{} is not to be found in any folder of PATH", named.display()))
            })
        }
        _ => is_program(named).map(|()| named.to_path_buf()),
    }
}

/// Whether this can be run, or why not.
fn is_program(path: &Path) -> Result<(), CommandError> {
    use std::os::unix::fs::PermissionsExt;
    let refuse = |why: &str| CommandError::new(format!("{} {why}", path.display()));
    let found = path.metadata().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => refuse("is not to be found"),
        _ => refuse("cannot be run").cause(error),
    })?;
    match () {
        () if found.is_dir() => Err(refuse("is a folder, not a program")),
        () if found.permissions().mode() & 0o111 == 0 => {
            Err(refuse("may not be executed").hint(format!("allow it: chmod +x {}", word(&path.to_string_lossy()))))
        }
        () => Ok(()),
    }
}

/// Whether `belay init` has put hooks in that will speak for this run, so that nothing is told twice.
fn has_hooks(context: &Context, dirs: &UserDirs, agent: &str, folder: &Path) -> bool {
    let of_this_run = |receipt: &InstallRecord| {
        receipt.agent == agent && receipt.project.as_ref().is_none_or(|project| folder.starts_with(project))
    };
    InstallRecord::all(&context.places).iter().filter(|receipt| of_this_run(receipt)).any(|receipt| {
        let project = receipt.project.clone().unwrap_or_default();
        let setting = install::InstallContext {
            dirs,
            scope: receipt.scope(),
            project: &project,
            belay: &receipt.belay,
            read: &read,
        };
        let missing = install::installer(agent).and_then(|recipe| recipe.install(&setting).ok());
        missing.is_some_and(|missing| missing.is_empty())
    })
}

/// A name that needs no escaping in a path.
fn plain(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    name.chars().map(|c| if is_plain(c) { c } else { '-' }).collect()
}

/// Arguments without secrets. Of some only the word before tells that they are one: `--api-key VALUE`.
fn masked_words(args: &[OsString]) -> Vec<String> {
    let words: Vec<_> = args.iter().map(|arg| arg.to_string_lossy()).collect();
    let alone = words.iter().map(|word| redact(word).into_owned());
    let masked = alone.enumerate().map(|(at, alone)| {
        let Some(flag) = at.checked_sub(1).map(|before| &words[before]).filter(|word| word.starts_with('-')) else {
            return alone;
        };
        let pair = redact(&format!("{flag} {}", words[at])).into_owned();
        pair.strip_prefix(&**flag).and_then(|rest| rest.strip_prefix(' ')).map_or(alone, str::to_owned)
    });
    masked.collect()
}

/// A text as one word of a shell.
fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%:,=".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}
