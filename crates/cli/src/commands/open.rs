//! `belay open`: opens the dashboard in the browser, logged in.

use std::net::Ipv4Addr;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use belay_config::{EnvSnapshot, Strictness};
use belay_drive::launch;
use belay_ipc::{Client, ClientError, ListenRequest};
use clap::Args;
use serde_json::json;

use super::CommandResult;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_status::ExitStatus;
use crate::operator::{OperatorArgs, require_operator};

/// How long the program that opens the browser may take to fail. It may also run as long as the browser.
const OPENER_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Debug, Args)]
pub(crate) struct OpenArgs {
    /// Print the link instead of opening it. It works once, within 10 minutes.
    #[arg(long)]
    print: bool,
    /// Log out all browsers.
    #[arg(long, conflicts_with = "print")]
    logout_all: bool,
    #[command(flatten)]
    operator: OperatorArgs,
}

pub(crate) fn run(context: &Context, args: &OpenArgs) -> CommandResult {
    // A login permits decisions.
    require_operator(context, args.operator, "open", None)?;
    if args.logout_all {
        return log_out_all(context);
    }
    let link = login_link(context)?;
    let opened = !args.print && has_display(&context.env) && open_browser(&link);
    if context.out.json {
        context.out.json(&json!({ "url": link, "opened": opened }))?;
    } else if opened {
        context.out.line("The dashboard is open in your browser.")?;
    } else {
        context.out.line(&link)?;
        context.out.info("Open this link in a browser. It works once, within 10 minutes.");
    }
    Ok(ExitStatus::Done)
}

/// Starts the resident process and its HTTP if necessary.
fn login_link(context: &Context) -> Result<String, CommandError> {
    let idle_exit = context.config(Strictness::Lenient, &[])?.config.hooks.idle_exit;
    let belay = context.belay_env();
    let mut client = launch::connect_or_start(belay, idle_exit)?;
    match client.listen(ListenRequest::default()) {
        // The configured port is taken by another program.
        Err(ClientError::Refused(_)) => {
            let any_port = ListenRequest { address: Some((Ipv4Addr::LOCALHOST, 0).into()), ..ListenRequest::default() };
            client.listen(any_port)?
        }
        opened => opened?,
    };
    Ok(client.login_link()?)
}

fn log_out_all(context: &Context) -> CommandResult {
    let revoked = match Client::connect(&context.paths, Duration::from_secs(5)) {
        Ok(mut client) => client.revoke_logins()?,
        Err(ClientError::NotRunning(_)) => belay_server::revoke_stored_logins(&context.paths.logins())?,
        Err(error) => return Err(error.into()),
    };
    if context.out.json {
        context.out.json(&json!({ "revoked": revoked }))?;
    } else {
        let browsers = if revoked == 1 { "browser" } else { "browsers" };
        context.out.line(format!("Logged out {revoked} {browsers}."))?;
    }
    Ok(ExitStatus::Done)
}

/// Whether a browser can show something to the person who runs this command.
fn has_display(env: &EnvSnapshot) -> bool {
    let is_set = |name: &str| env.text(name).is_some_and(|value| !value.is_empty());
    if cfg!(target_os = "macos") {
        return !is_set("SSH_CONNECTION");
    }
    is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")
}

/// Opens a URL in the user's browser. `false` if no program can.
fn open_browser(url: &str) -> bool {
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(opener);
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Ctrl-C in this terminal must not end the browser.
    command.process_group(0);
    let Ok(mut child) = command.spawn() else { return false };
    let deadline = Instant::now() + OPENER_TIMEOUT;
    while Instant::now() < deadline {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) => std::thread::sleep(Duration::from_millis(20)),
            Err(_) => return false,
        }
    }
    true
}
