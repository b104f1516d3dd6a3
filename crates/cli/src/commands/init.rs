//! `belay init` and `belay uninit`: hooks into agents' settings and out again, nothing unseen.

mod report;

use std::io::{BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};

use belay_agents::install::{FileChange, HookInstaller, InstallContext, Scope, installer, installers};
use belay_agents::spec::Maturity;
use belay_agents::{UserDirs, find};
use belay_hooks::install::{self, InstallRecord, UninstallPlan};
use clap::Args;

use self::report::{Outcome, Report};
use super::CommandResult;
use crate::context::Context;
use crate::error::CommandError;

#[derive(Debug, Args)]
pub(crate) struct UninitArgs {
    /// Only this agent; may be given several times. All that are installed, without it.
    #[arg(long, value_name = "AGENT")]
    agent: Vec<String>,
    /// In your own settings, for everything you do (the default).
    #[arg(long, conflicts_with = "project")]
    user: bool,
    /// In this project's settings, for everybody who works in it.
    #[arg(long)]
    project: bool,
    /// Show what would change, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Do not ask.
    #[arg(long, short)]
    yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    #[command(flatten)]
    which: UninitArgs,
    /// Show Belay's line in the agent's status bar too (Claude Code, where none is set yet).
    #[arg(long)]
    status_line: bool,
}

/// What is done, and to whom.
struct InstallJob<'a> {
    context: &'a Context,
    args: &'a UninitArgs,
    dirs: UserDirs,
    project: PathBuf,
    belay: String,
}

impl<'a> InstallJob<'a> {
    fn new(context: &'a Context, args: &'a UninitArgs) -> Result<Self, CommandError> {
        let dirs =
            UserDirs::for_current_user().ok_or_else(|| CommandError::new("there is no home folder to look in"))?;
        let here = std::env::current_dir()?;
        let repository = here.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(&here).to_owned();
        // A project's settings are shared: there the program is found by its name.
        let belay = match args.project {
            true => "belay".to_owned(),
            false => own_path(context)?.to_string_lossy().into_owned(),
        };
        Ok(Self { context, args, dirs, project: repository, belay })
    }

    fn setting(&self) -> InstallContext<'_> {
        InstallContext {
            dirs: &self.dirs,
            scope: if self.args.project { Scope::Project } else { Scope::User },
            project: &self.project,
            belay: &self.belay,
            read: &install::read,
        }
    }

    /// The agents named, or else those that `all` accepts.
    fn recipes(
        &self,
        all: impl Fn(&dyn HookInstaller) -> bool,
    ) -> Result<Vec<&'static dyn HookInstaller>, CommandError> {
        if self.args.agent.is_empty() {
            return Ok(installers().filter(|recipe| all(*recipe)).collect());
        }
        let known = || installers().map(|recipe| recipe.agent()).collect::<Vec<_>>().join(", ");
        let find = |name: &String| {
            installer(name).ok_or_else(|| {
                CommandError::new(format!("{name} has no hooks Belay could use"))
                    .hint(format!("there are: {}", known()))
            })
        };
        self.args.agent.iter().map(find).collect()
    }

    /// One agent's odd settings are no reason not to serve the others.
    fn one_of_many(&self, outcome: Result<Outcome, CommandError>) -> Result<Outcome, CommandError> {
        match outcome {
            Err(error) if self.args.agent.len() != 1 => Ok(Outcome::Failed(error)),
            other => other,
        }
    }

    /// Shows the changes, and asks for them unless told not to.
    fn ask(
        &self,
        recipe: &dyn HookInstaller,
        changes: &[FileChange],
        question: &str,
    ) -> Result<Confirmation, CommandError> {
        if !self.context.out.json {
            report::show(self.context, name(recipe), changes)?;
        }
        if self.args.dry_run {
            return Ok(Confirmation::Unspoken);
        }
        if self.args.yes {
            return Ok(Confirmation::Yes);
        }
        if self.context.out.json || !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
            return Ok(Confirmation::Nobody);
        }
        let mut err = anstream::stderr();
        write!(err, "{question} [Y/n] ")?;
        err.flush()?;
        let mut answer = String::new();
        let read = std::io::stdin().lock().read_line(&mut answer)?;
        let yes = matches!(answer.trim().to_ascii_lowercase().as_str(), "" | "y" | "yes");
        // Whoever closes the line has not said yes.
        Ok(if yes && read > 0 { Confirmation::Yes } else { Confirmation::No })
    }
}

/// What a person says to a change.
enum Confirmation {
    Yes,
    No,
    /// There is nobody to ask.
    Nobody,
    /// It is only shown.
    Unspoken,
}

impl Confirmation {
    /// What becomes of changes that were not agreed to; `None` if they were.
    fn instead(self, changes: &[FileChange]) -> Option<Outcome> {
        match self {
            Self::Yes => None,
            Self::No => Some(Outcome::Declined),
            Self::Nobody => Some(Outcome::Unasked),
            Self::Unspoken => Some(Outcome::Planned(changes.to_vec())),
        }
    }
}

fn name(recipe: &dyn HookInstaller) -> &'static str {
    find(recipe.agent()).map_or(recipe.agent(), |agent| agent.display_name)
}

/// Whether hooks are installed without the agent being named.
fn is_supported(recipe: &dyn HookInstaller) -> bool {
    find(recipe.agent()).is_some_and(|agent| agent.maturity == Maturity::Supported)
}

/// Whether the agent is here: its program, or settings it left.
fn is_installed(context: &Context, recipe: &dyn HookInstaller, setting: &InstallContext<'_>) -> bool {
    let Some(agent) = find(recipe.agent()) else { return false };
    let sessions = agent.transcript_roots(setting.dirs);
    super::doctor::which(context, agent.executable).is_some() || sessions.iter().any(|path| path.exists())
}

/// This program under the name that outlives its next version: the one on the PATH where that leads
/// here. Package managers keep the program itself in a folder that is named after its version.
fn own_path(context: &Context) -> std::io::Result<PathBuf> {
    let exe = std::env::current_exe()?;
    let real = std::fs::canonicalize(&exe)?;
    let leads_here = |path: &PathBuf| std::fs::canonicalize(path).is_ok_and(|found| found == real);
    let named = super::doctor::which(context, "belay").filter(|path| path.is_absolute());
    Ok(named.filter(leads_here).unwrap_or(exe))
}

pub(crate) fn init(context: &Context, args: &InitArgs) -> CommandResult {
    let job = InstallJob::new(context, &args.which)?;
    let setting = job.setting();
    let recipes = job.recipes(|recipe| is_supported(recipe) && is_installed(context, recipe, &setting))?;
    if recipes.is_empty() {
        return Err(CommandError::new("none of the agents Belay knows is installed here")
            .hint("install one, or name it: belay init --agent claude-code"));
    }
    if !args.which.dry_run {
        context.places.create()?;
    }
    let mut report = Report::new(context, "init", args.which.dry_run);
    for recipe in recipes {
        let done = put_in(&job, &setting, recipe, args.status_line);
        let remarks = recipe.user_note(&setting).into_iter().chain(recipe.blocking_setting(&setting)).collect();
        report.add(recipe.agent(), name(recipe), job.one_of_many(done)?, remarks)?;
    }
    report.finish()
}

fn put_in(
    job: &InstallJob<'_>,
    setting: &InstallContext<'_>,
    recipe: &dyn HookInstaller,
    status_line: bool,
) -> Result<Outcome, CommandError> {
    let changes = wanted(setting, recipe, status_line)?;
    if !changes.is_empty() {
        let word = job.ask(recipe, &changes, &format!("Put {} on the rope?", name(recipe)))?;
        if let Some(outcome) = word.instead(&changes) {
            return Ok(outcome);
        }
        install::install(&job.context.places, recipe, setting, &changes)?;
    } else if job.args.dry_run {
        return Ok(Outcome::Already);
    }
    // Fired the way the agent will fire it; the session it leaves is put out of sight.
    match install::run_self_test(&job.context.places, recipe, setting) {
        Ok(session) => super::decide::archive_quietly(job.context, &session),
        Err(error) => return Ok(Outcome::Silent(error.to_string())),
    }
    Ok(if changes.is_empty() {
        Outcome::Already
    } else {
        Outcome::Done { changes, edited: Vec::new(), aside: Vec::new() }
    })
}

/// Hooks, and on top of them the status line if it is wanted: one change for each file.
fn wanted(
    setting: &InstallContext<'_>,
    recipe: &dyn HookInstaller,
    status_line: bool,
) -> Result<Vec<FileChange>, CommandError> {
    let mut changes = recipe.install(setting)?;
    if status_line {
        let planned = changes.clone();
        let read = |path: &Path| match planned.iter().find(|change| change.path == path) {
            Some(change) => Ok(change.after.clone()),
            None => (setting.read)(path),
        };
        for more in recipe.status_line(&InstallContext { read: &read, ..*setting })? {
            match changes.iter_mut().find(|change| change.path == more.path) {
                Some(change) => change.after = more.after,
                None => changes.push(more),
            }
        }
    }
    Ok(changes)
}

pub(crate) fn uninit(context: &Context, args: &UninitArgs) -> CommandResult {
    let job = InstallJob::new(context, args)?;
    let setting = job.setting();
    let ours = |recipe: &dyn HookInstaller| {
        InstallRecord::find(&context.places, recipe.agent(), setting.scope, setting.project).is_some()
            || recipe.remove(&setting).is_ok_and(|changes| !changes.is_empty())
    };
    let recipes = job.recipes(ours)?;
    let mut report = Report::new(context, "uninit", args.dry_run);
    for recipe in recipes {
        let done = take_out(&job, &setting, recipe);
        report.add(recipe.agent(), name(recipe), job.one_of_many(done)?, Vec::new())?;
    }
    report.elsewhere(&InstallRecord::all(&context.places), &setting);
    report.finish()
}

fn take_out(
    job: &InstallJob<'_>,
    setting: &InstallContext<'_>,
    recipe: &dyn HookInstaller,
) -> Result<Outcome, CommandError> {
    let places = &job.context.places;
    let removal = install::uninstall(places, recipe, setting)?;
    if !removal.changes.is_empty() {
        let word = job.ask(recipe, &removal.changes, &format!("Take {} off the rope?", name(recipe)))?;
        if let Some(outcome) = word.instead(&removal.changes) {
            return Ok(outcome);
        }
    }
    if !job.args.dry_run {
        install::restore(places, recipe, setting, &removal)?;
    }
    let UninstallPlan { changes, edited, aside } = removal;
    Ok(if changes.is_empty() { Outcome::Already } else { Outcome::Done { changes, edited, aside } })
}

impl From<belay_agents::install::InstallError> for CommandError {
    fn from(error: belay_agents::install::InstallError) -> Self {
        Self::new(error.to_string()).hint("nothing was changed; mend the file, then try again")
    }
}

impl From<install::InstallerError> for CommandError {
    fn from(error: install::InstallerError) -> Self {
        match error {
            install::InstallerError::Recipe(error) => error.into(),
            error @ install::InstallerError::ReadOnly(_) => Self::new(error.to_string())
                .hint("nothing was changed; if Belay may change it, allow writing (chmod u+w) and try again"),
            error @ install::InstallerError::Changed(_) => {
                Self::new(error.to_string()).hint("nothing was changed; look again: the same command shows what is new")
            }
            error @ (install::InstallerError::Write { .. } | install::InstallerError::Receipt { .. }) => {
                Self::new(error.to_string())
                    .hint("nothing was changed; check owner and permissions of the file and its folder")
            }
        }
    }
}
