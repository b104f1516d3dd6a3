//! Checks a task before it is filed: what would fail later is refused now, with what to do about it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use belay_clock::now;
use belay_config::{Config, EnvSnapshot, Paths};
use belay_core::session::Budget;
use belay_core::task::WorkspaceMode;
use belay_drive::environment::Environment;
use belay_drive::workspace;
use belay_ipc::FileReviewRequest;
use belay_review::Task;
use belay_review::task::{Role, TaskSpec};

use crate::error::RunnerError;
use crate::{project_templates, prompts};
use belay_tasks::NewTask;

/// Who files a task, and what follows from that.
#[derive(Clone, Copy, Debug)]
pub enum FiledBy<'a> {
    /// The user's own shell, whose environment comes with the request.
    Shell,
    /// A browser. The task gets the environment of the resident process, and must be in one of these directories.
    Browser { env: &'a EnvSnapshot, roots: &'a [PathBuf] },
}

/// Stands for no limit: 136 years.
const NO_TIMEOUT_SECS: u64 = u32::MAX as u64;
/// Longest prompt.
const MAX_PROMPT_BYTES: usize = 1024 * 1024;
/// Longest title, in characters.
const MAX_TITLE_CHARS: usize = 80;

/// Checks a request against the configuration and the machine.
pub(crate) fn check(
    request: &FileReviewRequest,
    filed_by: &FiledBy<'_>,
    config: &Config,
    paths: &Paths,
) -> Result<NewTask<TaskSpec>, RunnerError> {
    let project_dir = project_dir(request, filed_by)?;
    let env = match filed_by {
        FiledBy::Shell => {
            let pairs = request.env.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
            Environment::capture(pairs)
        }
        FiledBy::Browser { env, .. } => Environment::capture(env.iter()),
    };
    let review = &config.review;
    let reviewers = match request.reviewers.is_empty() && request.gates.is_empty() {
        true => &review.reviewers,
        false => &request.reviewers,
    };
    let builder = request.builder.as_ref().unwrap_or(&review.builder);
    let role = |text: &String| role(text, config, &env);
    if request.prompt.len() > MAX_PROMPT_BYTES {
        return Err(RunnerError::Invalid(format!("the prompt is larger than {MAX_PROMPT_BYTES} bytes")));
    }
    let spec = TaskSpec {
        title: title(request),
        prompt: request.prompt.trim().to_owned(),
        workspace: mode(request, &project_dir, &env)?,
        project_dir: project_dir.display().to_string(),
        builder: role(builder)?,
        reviewers: reviewers.iter().map(role).collect::<Result<_, _>>()?,
        arbiter: request.arbiter.as_ref().map(role).transpose()?,
        quorum: request.quorum,
        gates: request.gates.iter().map(|gate| gate.trim().to_owned()).filter(|gate| !gate.is_empty()).collect(),
        rounds: request.rounds.unwrap_or(review.rounds),
        round_timeout_secs: request
            .round_timeout_secs
            .or_else(|| review.round_timeout.get().map(|timeout| timeout.as_secs()))
            .map_or(NO_TIMEOUT_SECS, |secs| secs.min(NO_TIMEOUT_SECS)),
        budget: Budget { cost_micros: request.budget_micros, tokens: request.budget_tokens },
        policy: belay_review::convergence::Policy::default(),
    };
    // The pure checks, before anything is written.
    Task::new(spec.clone(), now())?;
    let templates = project_templates::find(paths, &project_dir);
    let templates: BTreeMap<String, String> =
        templates.into_iter().filter_map(|it| Some((it.name.to_owned(), it.text.ok()?))).collect();
    // A mistake in one is reported now, and not in the middle of the task.
    let config_dir = paths.config_file().parent().unwrap_or(Path::new("/")).to_owned();
    prompts::templates(&config_dir, templates.clone()).map_err(|error| RunnerError::Invalid(error.to_string()))?;
    Ok(NewTask {
        spec,
        by: request.by.clone().unwrap_or_else(|| "unknown".to_owned()),
        env,
        artifacts_dir: Some(&review.artifacts_dir).filter(|moved| !moved.is_empty()).map(PathBuf::from),
        files: vec![(prompts::PROJECT_TEMPLATES, serde_json::json!(templates))],
    })
}

fn project_dir(request: &FileReviewRequest, filed_by: &FiledBy<'_>) -> Result<PathBuf, RunnerError> {
    let wanted = Path::new(&request.project_dir);
    if !wanted.is_absolute() {
        return Err(RunnerError::Invalid(format!(
            "the directory must be an absolute path, not `{}`",
            request.project_dir
        )));
    }
    let project_dir = wanted.canonicalize().map_err(|source| RunnerError::Read { path: wanted.to_owned(), source })?;
    if !project_dir.is_dir() {
        return Err(RunnerError::Invalid(format!("{} is not a directory", project_dir.display())));
    }
    match filed_by {
        FiledBy::Browser { roots, .. } if !roots.iter().any(|root| project_dir.starts_with(root)) => {
            Err(RunnerError::OutsideRoots(project_dir))
        }
        _ => Ok(project_dir),
    }
}

fn title(request: &FileReviewRequest) -> String {
    let given = request.title.as_deref().map(str::trim).filter(|title| !title.is_empty());
    let first_line = || request.prompt.trim().lines().next().unwrap_or_default().trim_start_matches(['#', ' ']);
    let title = given.unwrap_or_else(first_line);
    let mut short: String = title.chars().take(MAX_TITLE_CHARS).collect();
    if short.len() < title.len() {
        short.push('…');
    }
    short
}

/// The workspace, as far as the directory allows it.
fn mode(request: &FileReviewRequest, project_dir: &Path, env: &Environment) -> Result<WorkspaceMode, RunnerError> {
    let mode = request.workspace.unwrap_or_default();
    if mode != WorkspaceMode::InPlace {
        workspace::inspect(project_dir, &env.variables())?.check(project_dir, mode)?;
    }
    Ok(mode)
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// `agent` or `agent@model`: an agent that can run headless and is installed, or the path of a program.
fn role(text: &str, config: &Config, env: &Environment) -> Result<Role, RunnerError> {
    let (name, model) = match text.split_once('@') {
        Some((name, model)) => (name.trim(), Some(model.trim().to_owned()).filter(|model| !model.is_empty())),
        None => (text.trim(), None),
    };
    if name.contains('/') {
        return match Path::new(name) {
            // Relative to the workspace it would be a file that the builder can change.
            path if path.is_relative() => {
                Err(RunnerError::Invalid(format!("a program must be an absolute path, not `{name}`")))
            }
            path if !is_program(path) => Err(RunnerError::Invalid(format!("`{name}` is not an executable file"))),
            _ => Ok(Role { agent: name.to_owned(), model }),
        };
    }
    let agent = belay_agents::find(name).filter(|agent| agent.headless.is_some()).ok_or_else(|| {
        let known: Vec<&str> =
            belay_agents::AGENTS.iter().filter(|agent| agent.headless.is_some()).map(|agent| agent.id).collect();
        RunnerError::UnknownAgent(
            name.to_owned(),
            format!("known are {}; give the path of any other program", known.join(", ")),
        )
    })?;
    let configured = config.agent_program(agent.id);
    let path: EnvSnapshot = env.get("PATH").map(|path| ("PATH", path.clone())).into_iter().collect();
    let id = agent.id.to_owned();
    match configured {
        Some(program) if !program.is_file() => {
            return Err(RunnerError::NoProgram { agent: id, program: program.display().to_string() });
        }
        None if path.find_executable(agent.executable).is_none() => {
            return Err(RunnerError::NotInstalled { agent: id, program: agent.executable.to_owned() });
        }
        _ => {}
    }
    Ok(Role { agent: agent.id.to_owned(), model })
}
