//! What agents are asked in a step, from the task and its workspace.

use std::collections::BTreeMap;
use std::path::Path;

use belay_drive::workspace::{TreeId, Workspace};
use belay_fs::Links;
use belay_review::Task;
use belay_review::prompt::{
    AnswerFormat, ClosedIssue, GateOutput, GateSummary, OpenIssue, PromptError, Prompts, ReviewPrompt, TEMPLATES,
    WorkPrompt, history,
};
use belay_review::task::{BuildStart, ReviewKind, Round};
use belay_review::verdict::VerdictError;

use crate::project_templates::template_file;

/// The templates of the project, as they were when the task was filed.
pub(crate) const PROJECT_TEMPLATES: &str = "templates.json";
/// Longest diff in a prompt. The rest is in the working directory, where the reviewer can read it.
const MAX_DIFF_BYTES: usize = 160 * 1024;
/// Tokens that the history of a task may take.
const HISTORY_TOKENS: usize = 2000;
/// A larger template is refused.
const MAX_TEMPLATE_BYTES: u64 = 256 * 1024;

/// What a paused or limited session is told when it goes on.
const CONTINUE_WORK: &str = "You were interrupted. Continue where you stopped.\n";
const CONTINUE_REVIEW: &str =
    "You were interrupted. Finish your review, and give your verdict in the form that was asked for.\n";

/// The templates: those of the user replace the built-in ones, and those of the project replace the user's.
pub(crate) fn templates(config_dir: &Path, project: BTreeMap<String, String>) -> Result<Prompts, PromptError> {
    let mut replacements = BTreeMap::new();
    for (name, _) in TEMPLATES {
        let path = config_dir.join("prompts").join(template_file(name));
        if let Ok(text) = belay_fs::read_regular_text(&path, Links::Follow, MAX_TEMPLATE_BYTES) {
            replacements.insert((*name).to_owned(), text);
        }
    }
    replacements.extend(project);
    Prompts::new(&replacements)
}

/// The prompt of a build.
pub(crate) fn work(
    prompts: &Prompts,
    task: &Task,
    resumes: bool,
    gate_output: Option<&str>,
) -> Result<String, PromptError> {
    if resumes {
        return Ok(CONTINUE_WORK.to_owned());
    }
    let Some((round, before)) = task.rounds.split_last() else { return Ok(task.spec.prompt.clone()) };
    let red = before.last().and_then(Round::red_gate);
    let gate = red.map(|gate| GateOutput { command: &gate.command, output: gate_output.unwrap_or(&gate.summary) });
    let history = history(before, HISTORY_TOKENS);
    let (confirmed, reverted) = match &round.start {
        BuildStart::Continue => (Vec::new(), None),
        BuildStart::Reverted { fix_of } => (Vec::new(), Some(*fix_of)),
        BuildStart::Upheld { issues } => (issues.iter().map(ToString::to_string).collect(), None),
    };
    prompts.work(&WorkPrompt {
        task: &task.spec.prompt,
        round: round.number,
        rounds: task.spec.rounds,
        issues: task.ledger.open().into_iter().map(OpenIssue::from).collect(),
        confirmed,
        reverted,
        partial_edits: round.has_leftovers,
        gate,
        history: history.as_deref(),
    })
}

/// What a reviewer is asked to look at.
pub(crate) struct ReviewInput<'a> {
    pub(crate) task: &'a Task,
    pub(crate) kind: ReviewKind,
    pub(crate) format: AnswerFormat,
    pub(crate) diff: Option<String>,
    /// The builder's final answer.
    pub(crate) answer: Option<String>,
}

/// The prompt of a review.
pub(crate) fn review(prompts: &Prompts, input: &ReviewInput<'_>, resumes: bool) -> Result<String, PromptError> {
    if resumes {
        return Ok(CONTINUE_REVIEW.to_owned());
    }
    let task = input.task;
    let open = task.ledger.open();
    let is_shown = |id| input.kind != ReviewKind::Arbitration || task.disputed().contains(&id);
    let round = task.current_round();
    let gates = round.map_or(&[][..], |round| &round.gates[..]);
    prompts.review(
        &ReviewPrompt {
            task: &task.spec.prompt,
            kind: input.kind,
            issues: open.into_iter().filter(|issue| is_shown(issue.id)).map(OpenIssue::from).collect(),
            closed: match input.kind {
                ReviewKind::Arbitration => Vec::new(),
                _ => task.ledger.issues().iter().filter(|issue| !issue.is_open()).map(ClosedIssue::from).collect(),
            },
            gates: gates.iter().map(|gate| GateSummary { command: &gate.command, summary: &gate.summary }).collect(),
            diff: input.diff.as_deref(),
            answer: input.answer.as_deref().filter(|_| input.diff.is_none()),
            is_later_round: task.rounds.iter().rev().skip(1).any(|round| !round.reviews.is_empty()),
        },
        input.format,
    )
}

/// Asks for the verdict once more, in the right form.
pub(crate) fn reask(prompts: &Prompts, error: &VerdictError, format: AnswerFormat) -> Result<String, PromptError> {
    prompts.reask(error, format)
}

/// The tree that a reviewer saw last, or the one that the task began with.
pub(crate) fn reviewed_tree(task: &Task, workspace: &Workspace, reviewer: &str, kind: ReviewKind) -> TreeId {
    let last = task
        .rounds
        .iter()
        .rev()
        .find(|round| kind == ReviewKind::Delta && round.reviews.iter().any(|review| review.reviewer == reviewer));
    let seen = last.and_then(|round| round.built.as_ref()).map(|built| TreeId::new(built.tree.clone()));
    seen.unwrap_or_else(|| workspace.base().clone())
}

/// A diff as text for a prompt; `None` if it is empty.
pub(crate) fn bounded(diff: &[u8]) -> Option<String> {
    if diff.is_empty() {
        return None;
    }
    let mut text = String::from_utf8_lossy(diff).into_owned();
    if text.len() > MAX_DIFF_BYTES {
        let cut = (0..=MAX_DIFF_BYTES).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let cut = text[..cut].rfind('\n').unwrap_or(cut);
        let omitted = text.len() - cut;
        text.truncate(cut);
        text.push_str(&format!("\n[{omitted} bytes omitted; read the changed files in the working directory]\n"));
    }
    Some(text)
}
