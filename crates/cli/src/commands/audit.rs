//! `belay audit`: replays past sessions and reports costs and loops.

use std::fs;
use std::io::{self, BufWriter};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::time::Duration;

use belay_agents::UserDirs;
use belay_audit::discover::SearchFilter;
use belay_audit::replay::ReplayOptions;
use belay_audit::report::LabelStyle;
use belay_audit::run::AuditItem;
use belay_audit::{Collector, Discovery, Progress, RuleSet, SearchScope, SessionFilter, Tuning, find};
use belay_config::{EnvSnapshot, Loader, RulesByDir};
use belay_core::{Rules, Timestamp};
use clap::Args;
use jiff::tz::TimeZone;

use super::CommandResult;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_status::ExitStatus;
use crate::progress_bar;

#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    /// Session files and directories; by default, all sessions of your agents.
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Format of the files; detected by default.
    #[arg(long, value_name = "FORMAT")]
    format: Option<FormatName>,
    /// Only sessions active since a date, a time, or a time ago (7d, 12h).
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Only sessions of this project, by directory or name.
    #[arg(long, value_name = "DIR")]
    project: Option<String>,
    /// Only sessions of this agent.
    #[arg(long)]
    agent: Option<String>,
    /// Use the rules of this file instead of your configuration.
    #[arg(long, value_name = "FILE", conflicts_with = "compare")]
    config: Option<PathBuf>,
    /// Compare the results of two rule files; `default` names the built-in rules.
    #[arg(long, num_args = 2, value_names = ["A", "B"])]
    compare: Vec<PathBuf>,
    /// Propose settings from this history: which alarms were not needed, and what ignoring them would lose.
    #[arg(long, conflicts_with_all = ["compare", "html"])]
    tune: bool,
    /// Also write the report as a self-contained HTML page.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Number of threads; by default one per core.
    #[arg(long, value_name = "N")]
    jobs: Option<NonZero<usize>>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum FormatName {
    /// One JSON line per call, result and text.
    Toolcalls,
}

pub(crate) fn run(context: &Context, args: &AuditArgs) -> CommandResult {
    let since = args.since.as_deref().map(|text| parse_time(text, belay_clock::now())).transpose()?;
    let found = discover(context, args, since)?;
    let variants = variants(context, args)?;
    let zone = TimeZone::system();
    let settings = ReplayOptions { variants: &variants, zone: zone.clone(), keep_notices: context.out.json };
    let filter = SessionFilter { since, project: args.project.as_deref().map(dir) };
    let names = if args.paths.is_empty() { LabelStyle::Ids } else { LabelStyle::Files };
    let out = context.out.json.then(|| BufWriter::new(io::stdout()));
    let mut tuning = Tuning::default();
    let mut collector = Collector::new(&variants, filter.clone(), names, out);
    collector.add_unknown_files(found.left_out_count);
    let progress = Progress::default();
    let bytes = found.sources.iter().map(|source| source.bytes).sum();
    let show = !context.out.json && !context.global.quiet;
    progress_bar::with_progress_bar(
        show,
        bytes,
        || (progress.bytes(), format!("{} sessions", progress.sessions())),
        || {
            belay_audit::run(found.sources, &settings, args.jobs, &progress, |item| {
                if let AuditItem::Session(report) = &item
                    && filter.includes(report)
                {
                    tuning.add(report);
                }
                collector.add(item);
            });
        },
    );
    let report = collector.finish()?;
    if args.tune && !context.out.json {
        context.out.line(tuning.text(&(variants[0].rules)(None)).trim_end())?;
    } else if !context.out.json {
        context.out.line(report.text(&zone).trim_end())?;
    }
    if let Some(path) = &args.html {
        write_page(path, &report.html(&zone))?;
        context.out.info(format!("Wrote {}.", path.display()));
    }
    Ok(ExitStatus::Done)
}

/// Finds the session files and prints a warning for each unreadable one.
fn discover(context: &Context, args: &AuditArgs, since: Option<Timestamp>) -> Result<Discovery, CommandError> {
    let agent = match args.agent.as_deref() {
        Some(name) => Some(belay_agents::find(name).ok_or_else(|| {
            let known: Vec<&str> = belay_agents::AGENTS.iter().map(|agent| agent.id).collect();
            CommandError::usage(format!("unknown agent `{name}`")).hint(format!("known agents: {}", known.join(", ")))
        })?),
        None => None,
    };
    let only = SearchFilter {
        agent: agent.map(|agent| agent.id),
        format: args.format.map(|FormatName::Toolcalls| "toolcalls"),
        since: since.map(|at| std::time::UNIX_EPOCH + Duration::from_millis(at.millis().try_into().unwrap_or(0))),
    };
    let place = match args.paths.is_empty() {
        false => SearchScope::Paths(args.paths.clone()),
        true => {
            let dirs = UserDirs::for_current_user().ok_or_else(|| {
                CommandError::new("cannot find your home directory").hint("pass the session files as arguments")
            })?;
            SearchScope::User { dirs, here: std::env::current_dir()? }
        }
    };
    let found = find(&place, only);
    for problem in &found.problems {
        context.out.warn(&problem.to_string(), None);
    }
    if found.left_out_count > 0 {
        let names: Vec<String> = found.left_out.iter().map(|path| path.display().to_string()).collect();
        let more = found.left_out_count - found.left_out.len() as u64;
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let text = format!(
            "{} files were left out, their format is unknown: {}{more}",
            found.left_out_count,
            names.join(", ")
        );
        context.out.warn(&text, None);
    }
    if found.sources.is_empty() && !args.paths.is_empty() {
        return Err(CommandError::new("no session files in the given paths").hint(
            "Belay reads the session files of Claude Code, Codex, Gemini CLI, Copilot CLI, opencode, Qwen Code, pi and \
             aider, Belay's own events, and tool-call JSONL",
        ));
    }
    Ok(found)
}

/// The rules to replay with: the user's by default, those of one file, or those of two.
fn variants(context: &Context, args: &AuditArgs) -> Result<Vec<RuleSet>, CommandError> {
    let of_file = |path: &PathBuf| {
        if path.as_os_str() == "default" {
            return Ok(RuleSet::fixed("default", Rules::default()));
        }
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let env = EnvSnapshot::default();
        let loaded = Loader::new(&context.paths, &env).from_file(path).load()?;
        Ok::<_, CommandError>(RuleSet::fixed(name, loaded.config.detect))
    };
    if let [a, b] = args.compare.as_slice() {
        let mut both = [of_file(a)?, of_file(b)?];
        if both[0].name == both[1].name {
            for (variant, path) in both.iter_mut().zip([a, b]) {
                variant.name = path.to_string_lossy().into_owned();
            }
        }
        return Ok(both.into());
    }
    if let Some(path) = &args.config {
        return Ok(vec![of_file(path)?]);
    }
    let (paths, env, sink) = (context.paths.clone(), context.env.clone(), context.diagnostic_sink());
    let sets = RulesByDir::new(paths, env, context.flags()?, sink);
    Ok(vec![RuleSet { name: "yours".to_owned(), rules: Box::new(move |dir| sets.for_dir(dir)) }])
}

/// Writes the page atomically.
fn write_page(path: &Path, page: &str) -> Result<(), CommandError> {
    let fail = |error: io::Error| CommandError::new(format!("cannot write {}", path.display())).cause(error);
    if let Some(dir) = path.parent().filter(|dir| !dir.as_os_str().is_empty()) {
        fs::create_dir_all(dir).map_err(fail)?;
    }
    // The current directory may be a repository, and the name a link that it contains.
    belay_fs::replace_file(path, page.as_bytes(), belay_fs::FileMode::Keep).map_err(fail)
}

/// Makes relative directories absolute; a bare name stays a project name.
fn dir(text: &str) -> String {
    let path = Path::new(text);
    let named = path.components().count() == 1 && !matches!(text, "." | "..") && !text.ends_with('/');
    match fs::canonicalize(path) {
        Ok(real) if !named => real.to_string_lossy().into_owned(),
        _ => text.to_owned(),
    }
}

/// `2026-01-31`, `2026-01-31T12:00:00Z`, `7d`, `12h`, `30m`.
fn parse_time(text: &str, now: Timestamp) -> Result<Timestamp, CommandError> {
    let ago = || {
        let (number, unit) = text.split_at(text.len().checked_sub(1)?);
        let number: u64 = number.parse().ok()?;
        let seconds = match unit {
            "m" => 60,
            "h" => 3_600,
            "d" => 86_400,
            "w" => 604_800,
            _ => return None,
        };
        Some(now - Duration::from_secs(number.checked_mul(seconds)?))
    };
    let day = || {
        let date: jiff::civil::Date = text.parse().ok()?;
        let start = date.to_zoned(TimeZone::system()).ok()?;
        Some(Timestamp::from_millis(start.timestamp().as_millisecond()))
    };
    ago().or_else(day).or_else(|| Timestamp::parse(text)).ok_or_else(|| {
        CommandError::usage(format!("--since {text}: invalid time"))
            .hint("use a date (2026-01-31), a time (2026-01-31T12:00:00Z), or a time ago (7d, 12h, 30m)")
    })
}
