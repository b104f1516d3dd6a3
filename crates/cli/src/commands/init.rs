//! `belay init` and `belay uninit`: install hooks into agents' settings and remove them. Every change is shown first.

mod report;

use std::io::{BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};

use belay_agents::install::{BelayCommand, FileChange, HookInstaller, InstallContext, Scope, installer, installers};
use belay_agents::spec::Maturity;
use belay_agents::{UserDirs, display_name, find};
use belay_config::{EnvSnapshot, Paths};
use belay_fs::repository::Repository;
use belay_hooks::install::{self, InstallRecord, UninstallPlan};
use clap::Args;

use self::report::{Outcome, Report};
use super::CommandResult;
use crate::context::Context;
use crate::error::CommandError;
use crate::operator::{OperatorArgs, require_operator};

#[derive(Debug, Args)]
pub(crate) struct InstallArgs {
    /// Only this agent; may be repeated. By default all installed agents.
    #[arg(long, value_name = "AGENT")]
    agent: Vec<String>,
    /// Use your own settings (default).
    #[arg(long, conflicts_with = "project")]
    user: bool,
    /// Use the settings of this project, which its other users share.
    #[arg(long)]
    project: bool,
    /// Show the changes without making them.
    #[arg(long)]
    dry_run: bool,
    /// Do not ask for confirmation.
    #[arg(long, short)]
    yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct UninitArgs {
    #[command(flatten)]
    which: InstallArgs,
    #[command(flatten)]
    operator: OperatorArgs,
}

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    #[command(flatten)]
    which: InstallArgs,
    /// Also add Belay's status line (Claude Code, if none is set).
    #[arg(long)]
    status_line: bool,
}

/// The parameters of an installation or removal.
struct InstallJob<'a> {
    context: &'a Context,
    args: &'a InstallArgs,
    dirs: UserDirs,
    project: PathBuf,
    belay: BelayCommand,
}

impl<'a> InstallJob<'a> {
    fn new(context: &'a Context, args: &'a InstallArgs) -> Result<Self, CommandError> {
        let dirs = UserDirs::for_current_user().ok_or_else(|| CommandError::new("cannot find your home directory"))?;
        let here = std::env::current_dir()?;
        let repository = Repository::find(&here).map_or(here, |repository| repository.root);
        // Project settings are shared between machines, so they name the program without its path.
        let belay = match args.project {
            true => BelayCommand::new("belay"),
            false => BelayCommand {
                program: own_path(context)?.to_string_lossy().into_owned(),
                options: context.paths.to_args().to_options(),
            },
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

    /// The named agents, or those that `all` accepts.
    fn installers(
        &self,
        all: impl Fn(&dyn HookInstaller) -> bool,
    ) -> Result<Vec<&'static dyn HookInstaller>, CommandError> {
        if self.args.agent.is_empty() {
            return Ok(installers().filter(|installer| all(*installer)).collect());
        }
        let known = || installers().map(|installer| installer.agent()).collect::<Vec<_>>().join(", ");
        let find = |name: &String| {
            installer(name).ok_or_else(|| {
                CommandError::new(format!("no hooks are available for {name}"))
                    .hint(format!("agents with hooks: {}", known()))
            })
        };
        self.args.agent.iter().map(find).collect()
    }

    /// With several agents, the failure of one does not affect the others.
    fn isolate_failure(&self, outcome: Result<Outcome, CommandError>) -> Result<Outcome, CommandError> {
        match outcome {
            Err(error) if self.args.agent.len() != 1 => Ok(Outcome::Failed(error)),
            other => other,
        }
    }

    /// Shows the changes and asks for confirmation.
    fn confirm(
        &self,
        installer: &dyn HookInstaller,
        changes: &[FileChange],
        question: &str,
    ) -> Result<Confirmation, CommandError> {
        if !self.context.out.json {
            report::show(self.context, name(installer), changes)?;
        }
        if self.args.dry_run {
            return Ok(Confirmation::DryRun);
        }
        if self.args.yes {
            return Ok(Confirmation::Yes);
        }
        if self.context.out.json || !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
            return Ok(Confirmation::NoTerminal);
        }
        let mut err = anstream::stderr();
        write!(err, "{question} [Y/n] ")?;
        err.flush()?;
        let mut answer = String::new();
        let read = std::io::stdin().lock().read_line(&mut answer)?;
        let yes = matches!(answer.trim().to_ascii_lowercase().as_str(), "" | "y" | "yes");
        // End of input is not a yes.
        Ok(if yes && read > 0 { Confirmation::Yes } else { Confirmation::No })
    }
}

/// The answer to a proposed change.
enum Confirmation {
    Yes,
    No,
    NoTerminal,
    DryRun,
}

impl Confirmation {
    /// The outcome if the changes are not made; `None` if they are confirmed.
    fn rejection(self, changes: &[FileChange]) -> Option<Outcome> {
        match self {
            Self::Yes => None,
            Self::No => Some(Outcome::Declined),
            Self::NoTerminal => Some(Outcome::Unasked),
            Self::DryRun => Some(Outcome::Planned(changes.to_vec())),
        }
    }
}

fn name(installer: &dyn HookInstaller) -> &'static str {
    display_name(installer.agent())
}

/// Whether hooks are installed without the agent being named.
fn is_supported(installer: &dyn HookInstaller) -> bool {
    find(installer.agent()).is_some_and(|agent| agent.maturity == Maturity::Supported)
}

/// Whether the agent's program or its session files exist.
fn is_installed(context: &Context, installer: &dyn HookInstaller, setting: &InstallContext<'_>) -> bool {
    let Some(agent) = find(installer.agent()) else { return false };
    let sessions = agent.transcript_roots(setting.dirs);
    context.env.find_executable(agent.executable).is_some() || sessions.iter().any(|path| path.exists())
}

/// The path of this program: the entry in PATH if it resolves to it, because package managers install the program itself
/// in a directory that changes with every version.
fn own_path(context: &Context) -> std::io::Result<PathBuf> {
    let exe = std::env::current_exe()?;
    let real = std::fs::canonicalize(&exe)?;
    let is_this_program = |path: &PathBuf| std::fs::canonicalize(path).is_ok_and(|found| found == real);
    let named = context.env.find_executable("belay").filter(|path| path.is_absolute());
    Ok(named.filter(is_this_program).unwrap_or(exe))
}

/// Whether state and configuration are where the user has them without any option or variable.
fn is_own_directory(context: &Context) -> bool {
    let own = Paths::resolve(&EnvSnapshot::default().with_home_of_user(), None);
    own.is_ok_and(|own| own.state() == context.paths.state() && own.config_file() == context.paths.config_file())
}

pub(crate) fn init(context: &Context, args: &InitArgs) -> CommandResult {
    let job = InstallJob::new(context, &args.which)?;
    let setting = job.setting();
    let selected = job.installers(|installer| is_supported(installer) && is_installed(context, installer, &setting))?;
    if selected.is_empty() {
        return Err(CommandError::new("no supported agent is installed")
            .hint("install one, or name it: `belay init --agent claude-code`"));
    }
    if !args.which.dry_run {
        // Hooks with another directory take the next sessions out of the person's store and configuration.
        if !is_own_directory(context) {
            require_operator(context, OperatorArgs::default(), "init with another directory", None)?;
        }
        context.paths.create()?;
    }
    let mut report = Report::new(context, "init", args.which.dry_run);
    for installer in selected {
        let done = install_hooks(&job, &setting, installer, args.status_line);
        let remarks = installer.user_note(&setting).into_iter().chain(installer.blocking_setting(&setting)).collect();
        report.add(installer.agent(), name(installer), job.isolate_failure(done)?, remarks)?;
    }
    report.finish()
}

fn install_hooks(
    job: &InstallJob<'_>,
    setting: &InstallContext<'_>,
    installer: &dyn HookInstaller,
    status_line: bool,
) -> Result<Outcome, CommandError> {
    let changes = plan_changes(setting, installer, status_line)?;
    let mut installation = None;
    if !changes.is_empty() {
        let confirmation = job.confirm(installer, &changes, &format!("Install the hooks of {}?", name(installer)))?;
        if let Some(outcome) = confirmation.rejection(&changes) {
            return Ok(outcome);
        }
        installation = Some(install::install(&job.context.paths, installer, setting, &changes)?);
    } else if job.args.dry_run {
        return Ok(Outcome::Already);
    }
    // Runs the hook as the agent will; the session that it creates is archived.
    match install::run_self_test(&job.context.paths, installer, setting) {
        Ok(session) => super::decide::archive_quietly(job.context, &session),
        Err(error) => {
            let problem = error.to_string();
            // Hooks that do not work would only slow the agent down.
            return Ok(match installation.map(|installation| installation.roll_back(&job.context.paths)) {
                Some(Ok(())) => Outcome::RolledBack(problem),
                Some(Err(error)) => Outcome::Silent(format!("{problem}; they cannot be removed: {error}")),
                None => Outcome::Silent(problem),
            });
        }
    }
    Ok(if changes.is_empty() {
        Outcome::Already
    } else {
        Outcome::Done { changes, edited: Vec::new(), aside: Vec::new() }
    })
}

/// The changes for the hooks and, if requested, the status line; one change per file.
fn plan_changes(
    setting: &InstallContext<'_>,
    installer: &dyn HookInstaller,
    status_line: bool,
) -> Result<Vec<FileChange>, CommandError> {
    let mut changes = installer.install(setting)?;
    if status_line {
        let planned = changes.clone();
        let read = |path: &Path| match planned.iter().find(|change| change.path == path) {
            Some(change) => Ok(change.after.clone()),
            None => (setting.read)(path),
        };
        for more in installer.status_line(&InstallContext { read: &read, ..*setting })? {
            match changes.iter_mut().find(|change| change.path == more.path) {
                Some(change) => change.after = more.after,
                None => changes.push(more),
            }
        }
    }
    Ok(changes)
}

pub(crate) fn uninit(context: &Context, UninitArgs { which: args, operator }: &UninitArgs) -> CommandResult {
    if !args.dry_run {
        require_operator(context, *operator, "uninit", None)?;
    }
    let job = InstallJob::new(context, args)?;
    let setting = job.setting();
    let is_present = |installer: &dyn HookInstaller| {
        InstallRecord::find(&context.paths, installer.agent(), setting.scope, setting.project).is_some()
            || installer.remove(&setting).is_ok_and(|changes| !changes.is_empty())
    };
    let selected = job.installers(is_present)?;
    let mut report = Report::new(context, "uninit", args.dry_run);
    for installer in selected {
        let done = remove_hooks(&job, &setting, installer);
        report.add(installer.agent(), name(installer), job.isolate_failure(done)?, Vec::new())?;
    }
    report.list_other_locations(&InstallRecord::all(&context.paths), &setting);
    report.finish()
}

fn remove_hooks(
    job: &InstallJob<'_>,
    setting: &InstallContext<'_>,
    installer: &dyn HookInstaller,
) -> Result<Outcome, CommandError> {
    let paths = &job.context.paths;
    let removal = install::uninstall(paths, installer, setting)?;
    if !removal.changes.is_empty() {
        let confirmation =
            job.confirm(installer, &removal.changes, &format!("Remove the hooks of {}?", name(installer)))?;
        if let Some(outcome) = confirmation.rejection(&removal.changes) {
            return Ok(outcome);
        }
    }
    if !job.args.dry_run {
        install::restore(paths, installer, setting, &removal)?;
    }
    let UninstallPlan { changes, edited, aside } = removal;
    Ok(if changes.is_empty() { Outcome::Already } else { Outcome::Done { changes, edited, aside } })
}

impl From<belay_agents::install::InstallError> for CommandError {
    fn from(error: belay_agents::install::InstallError) -> Self {
        Self::new(error.to_string()).hint("nothing was changed; fix the file, then try again")
    }
}

impl From<install::InstallerError> for CommandError {
    fn from(error: install::InstallerError) -> Self {
        match error {
            install::InstallerError::Recipe(error) => error.into(),
            error @ install::InstallerError::ReadOnly(_) => {
                Self::new(error.to_string()).hint("nothing was changed; make it writable (chmod u+w) and try again")
            }
            error @ install::InstallerError::Changed(_) => {
                Self::new(error.to_string()).hint("nothing was changed; run the command again to see the new content")
            }
            error @ install::InstallerError::Link(_) => Self::new(error.to_string())
                .hint("nothing was changed; replace the link by a file, or install for the user: belay init"),
            error @ (install::InstallerError::Write { .. } | install::InstallerError::Receipt { .. }) => {
                Self::new(error.to_string())
                    .hint("nothing was changed; check the owner and permissions of the file and its directory")
            }
        }
    }
}
