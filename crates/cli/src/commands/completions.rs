//! `belay completions` and `belay man`: completion scripts and manual pages.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::CommandResult;
use crate::args::Cli;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_status::ExitStatus;

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// Shell to generate the script for.
    shell: Shell,
}

pub(crate) fn run(_context: &Context, args: &CompletionsArgs) -> CommandResult {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "belay", &mut script);
    std::io::stdout().write_all(&script)?;
    Ok(ExitStatus::Done)
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Write a page for every command into this directory instead of printing the main page.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(crate) fn man(context: &Context, args: &ManArgs) -> CommandResult {
    match &args.out {
        None => clap_mangen::Man::new(Cli::command()).render(&mut std::io::stdout())?,
        Some(dir) => {
            let cannot = |error| CommandError::new(format!("cannot write to {}", dir.display())).cause(error);
            std::fs::create_dir_all(dir).map_err(cannot)?;
            clap_mangen::generate_to(Cli::command(), dir).map_err(cannot)?;
            context.out.info(format!("Wrote the manual pages to {}.", dir.display()));
        }
    }
    Ok(ExitStatus::Done)
}
