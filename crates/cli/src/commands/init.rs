//! `belay init` and `belay uninit`: hooks into agents' settings and out again, nothing unseen.

mod report;

use std::io::{BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};

use belay_agents::install::{Change, RECIPES, Recipe, Scope, Setting, recipe};
use belay_agents::{UserDirs, agent};
use belay_hooks::install::{self, Receipt};
use clap::Args;

use self::report::{Outcome, Report};
use super::Ended;
use crate::context::Context;
use crate::error::CommandError;

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
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

/// `uninit` takes the same.
pub(crate) type UninitArgs = InitArgs;

/// What is done, and to whom.
struct Job<'a> {
    context: &'a Context,
    args: &'a InitArgs,
    dirs: UserDirs,
    project: PathBuf,
    belay: String,
}

impl<'a> Job<'a> {
    fn new(context: &'a Context, args: &'a InitArgs) -> Result<Self, CommandError> {
        let dirs = UserDirs::of_user().ok_or_else(|| CommandError::new("there is no home folder to look in"))?;
        let here = std::env::current_dir()?;
        let repository = here.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(&here).to_owned();
        // A project's settings are shared: there the program is found by its name.
        let belay = match args.project {
            true => "belay".to_owned(),
            false => std::env::current_exe()?.to_string_lossy().into_owned(),
        };
        Ok(Self { context, args, dirs, project: repository, belay })
    }

    fn setting(&self) -> Setting<'_> {
        Setting {
            dirs: &self.dirs,
            scope: if self.args.project { Scope::Project } else { Scope::User },
            project: &self.project,
            belay: &self.belay,
            read: &install::read,
        }
    }

    /// The agents named, or else those that `all` accepts.
    fn recipes(&self, all: impl Fn(&dyn Recipe) -> bool) -> Result<Vec<&'static dyn Recipe>, CommandError> {
        if self.args.agent.is_empty() {
            return Ok(RECIPES.iter().copied().filter(|recipe| all(*recipe)).collect());
        }
        let known = || RECIPES.iter().map(|recipe| recipe.agent()).collect::<Vec<_>>().join(", ");
        let find = |name: &String| {
            recipe(name).ok_or_else(|| {
                CommandError::new(format!("{name} has no hooks Belay could use"))
                    .hint(format!("there are: {}", known()))
            })
        };
        self.args.agent.iter().map(find).collect()
    }

    /// Shows the changes, and asks for them unless told not to. `false`: leave it.
    fn agreed(&self, recipe: &dyn Recipe, changes: &[Change], question: &str) -> Result<bool, CommandError> {
        if !self.context.out.json {
            show(self.context, name(recipe), changes)?;
        }
        if self.args.dry_run {
            return Ok(false);
        }
        if self.args.yes {
            return Ok(true);
        }
        if self.context.out.json || !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
            return Err(CommandError::new(
                "changing an agent's settings needs your word, and there is no terminal to ask at",
            )
            .hint("look at it with --dry-run, then use --yes"));
        }
        let mut err = anstream::stderr();
        write!(err, "{question} [Y/n] ")?;
        err.flush()?;
        let mut answer = String::new();
        std::io::stdin().lock().read_line(&mut answer)?;
        Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "" | "y" | "yes"))
    }
}

fn name(recipe: &dyn Recipe) -> &'static str {
    agent(recipe.agent()).map_or(recipe.agent(), |agent| agent.name)
}

/// Whether the agent is here: its program, or settings it left.
fn is_installed(context: &Context, recipe: &dyn Recipe, setting: &Setting<'_>) -> bool {
    let Some(agent) = agent(recipe.agent()) else { return false };
    let sessions = (agent.sessions)(setting.dirs);
    super::doctor::which(context, agent.executable).is_some() || sessions.iter().any(|path| path.exists())
}

pub(crate) fn init(context: &Context, args: &InitArgs) -> Ended {
    let job = Job::new(context, args)?;
    let setting = job.setting();
    let recipes = job.recipes(|recipe| !recipe.experimental() && is_installed(context, recipe, &setting))?;
    if recipes.is_empty() {
        return Err(CommandError::new("none of the agents Belay knows is installed here")
            .hint("install one, or name it: belay init --agent claude-code"));
    }
    context.places.create()?;
    let mut report = Report::new(context, args.dry_run);
    for recipe in recipes {
        let outcome = match put_in(&job, &setting, recipe) {
            Ok(outcome) => outcome,
            // One agent's odd settings are no reason not to serve the others.
            Err(error) if args.agent.len() != 1 => Outcome::Failed(error.message().to_owned()),
            Err(error) => return Err(error),
        };
        report.add(recipe.agent(), name(recipe), outcome, recipe.note(&setting))?;
    }
    report.finish("init")
}

fn put_in(job: &Job<'_>, setting: &Setting<'_>, recipe: &dyn Recipe) -> Result<Outcome, CommandError> {
    let changes = recipe.install(setting)?;
    let files: Vec<PathBuf> = changes.iter().map(|change| change.path.clone()).collect();
    if !changes.is_empty() {
        if !job.agreed(recipe, &changes, &format!("Put {} on the rope?", name(recipe)))? {
            return Ok(if job.args.dry_run { Outcome::Would(files) } else { Outcome::Declined });
        }
        install::put_in(&job.context.places, recipe, setting, &changes)?;
    } else if job.args.dry_run {
        return Ok(Outcome::Already);
    }
    // Fired the way the agent will fire it; the session it leaves is put out of sight.
    match install::try_out(&job.context.places, recipe, setting) {
        Ok(session) => super::decide::archive_quietly(job.context, &session),
        Err(error) => return Ok(Outcome::Silent(error.to_string())),
    }
    Ok(if changes.is_empty() { Outcome::Already } else { Outcome::Done(files) })
}

pub(crate) fn uninit(context: &Context, args: &UninitArgs) -> Ended {
    let job = Job::new(context, args)?;
    let setting = job.setting();
    let known = Receipt::all(&context.places);
    let scope = setting.scope;
    let ours = |recipe: &dyn Recipe| {
        let here = |receipt: &&Receipt| receipt.agent == recipe.agent() && receipt.scope() == scope;
        known.iter().any(|receipt| here(&receipt)) || recipe.remove(&setting).is_ok_and(|changes| !changes.is_empty())
    };
    let recipes = job.recipes(ours)?;
    let mut report = Report::new(context, args.dry_run);
    for recipe in recipes {
        let changes = install::take_out(&context.places, recipe, &setting)?;
        let files: Vec<PathBuf> = changes.iter().map(|change| change.path.clone()).collect();
        let outcome = if changes.is_empty() {
            install::put_back(&context.places, recipe, &setting, &[])?;
            Outcome::Already
        } else if job.agreed(recipe, &changes, &format!("Take {} off the rope?", name(recipe)))? {
            install::put_back(&context.places, recipe, &setting, &changes)?;
            Outcome::Done(files)
        } else if args.dry_run {
            Outcome::Would(files)
        } else {
            Outcome::Declined
        };
        report.add(recipe.agent(), name(recipe), outcome, None)?;
    }
    report.finish("uninit")
}

/// What would change, file by file.
fn show(context: &Context, name: &str, changes: &[Change]) -> std::io::Result<()> {
    context.out.line(format!("{name}:"))?;
    for change in changes {
        let what = match (&change.before, &change.after) {
            (None, _) => "new",
            (_, None) => "removed",
            _ => "changed",
        };
        context.out.line(format!("  {} ({what})", tilde(&change.path)))?;
        for line in install::diff(change).lines() {
            context.out.line(format!("    {}", crate::output::one_line(line)))?;
        }
    }
    Ok(())
}

/// A path the way people write it.
fn tilde(path: &Path) -> String {
    let home = UserDirs::of_user().map(|dirs| dirs.home);
    match home.and_then(|home| path.strip_prefix(home).ok().map(Path::to_owned)) {
        Some(below) => format!("~/{}", below.display()),
        None => path.display().to_string(),
    }
}

impl From<belay_agents::install::InstallError> for CommandError {
    fn from(error: belay_agents::install::InstallError) -> Self {
        Self::new(error.to_string()).hint("nothing was changed; mend the file, then try again")
    }
}

impl From<install::SetupError> for CommandError {
    fn from(error: install::SetupError) -> Self {
        match error {
            install::SetupError::Recipe(error) => error.into(),
            other => Self::new(other.to_string()).hint("check owner and permissions of the file and its folder"),
        }
    }
}
