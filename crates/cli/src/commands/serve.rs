//! `belay serve`: the resident process.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use belay_config::{Config, Paths, Strictness};
use belay_ipc::Client;
use belay_server::instance_lock::InstanceInfo;
use belay_server::log_file::RotatingLogFile;
use belay_server::{Daemon, ServeError, ServeOptions};
use clap::Args;
use serde_json::json;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::prelude::*;

use super::CommandResult;
use crate::context::Context;
use crate::exit_status::ExitStatus;

/// How long a second one waits for the first to be ready, to tell where it is.
const OTHER_INSTANCE_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Address of the page and the HTTP API; loopback only.
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// Do not answer HTTP; the socket is always there.
    #[arg(long, conflicts_with = "listen")]
    no_http: bool,
    /// Leave after this long without anything to do, such as 30m.
    #[arg(long, value_name = "TIME")]
    idle_exit: Option<String>,
}

pub(crate) fn run(context: &Context, args: &ServeArgs) -> CommandResult {
    let mut flags = Vec::new();
    if let Some(listen) = &args.listen {
        flags.push(("--listen".to_owned(), "serve.listen".to_owned(), listen.clone()));
    }
    if args.no_http {
        flags.push(("--no-http".to_owned(), "serve.http".to_owned(), "false".to_owned()));
    }
    if let Some(idle) = &args.idle_exit {
        flags.push(("--idle-exit".to_owned(), "serve.idle_exit".to_owned(), idle.clone()));
    }
    let config = context.config(Strictness::Strict, &flags)?.config;
    start_log(&context.places, &config);
    let options =
        ServeOptions { places: context.places.clone(), env: context.env.clone(), config, flags: context.flags()? };
    let resident = match Daemon::start(options) {
        Ok(resident) => resident,
        Err(ServeError::AlreadyRunning(holder)) => return second(context, holder),
        Err(error) => return Err(error.into()),
    };
    greet(context, &resident)?;
    let reason = resident.run()?;
    belay_hooks::daemon_autostart::clear_start_marker(&context.places);
    context.out.info(format!("Belay has left: {reason}."));
    Ok(ExitStatus::Done)
}

/// Says where everything is: the line that tells we are ready.
fn greet(context: &Context, resident: &Daemon) -> Result<(), crate::error::CommandError> {
    let health = resident.health();
    if let Some(problem) = &health.problem {
        let text = format!("{problem}. Decisions go on in memory; nothing is kept until this is mended");
        context.out.warn(&text, health.hint.as_deref());
    }
    tracing::info!(version = belay_server::VERSION, pid = std::process::id(), "serving");
    let socket = resident.socket().display().to_string();
    if context.out.json {
        let state = context.places.state().display().to_string();
        context.out.json(&json!({
            "serving": true, "pid": std::process::id(), "version": belay_server::VERSION,
            "url": resident.url(), "socket": socket, "state": state, "kept": health.ok,
        }))?;
        return Ok(());
    }
    context.out.line(format!("Belay {} is on the rope.", belay_server::VERSION))?;
    if let Some(url) = resident.url() {
        context.out.line(format!("  page    {url}"))?;
    }
    context.out.line(format!("  socket  {socket}"))?;
    context.out.line(format!("  state   {}", context.places.state().display()))?;
    context.out.line("Stop it with Ctrl-C or `belay stop`.")?;
    Ok(())
}

/// Another one serves this state folder: that is what the user wanted.
fn second(context: &Context, holder: Option<InstanceInfo>) -> CommandResult {
    // It may have got the lock a moment ago and not be ready yet.
    let deadline = Instant::now() + OTHER_INSTANCE_TIMEOUT;
    let status = loop {
        let asked =
            Client::connect(&context.places, Duration::from_secs(1)).and_then(|mut client| client.status(false));
        match asked {
            Ok(status) => break Some(status),
            Err(_) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(20)),
            Err(_) => break None,
        }
    };
    let pid = status.as_ref().map(|status| status.pid).or(holder.as_ref().map(|holder| holder.pid));
    let url = status.and_then(|status| status.url).or(holder.and_then(|holder| holder.url));
    if context.out.json {
        context.out.json(&json!({ "serving": false, "already": { "pid": pid, "url": url } }))?;
        return Ok(ExitStatus::Done);
    }
    let who = pid.map_or_else(String::new, |pid| format!(" (pid {pid})"));
    context.out.line(format!("Belay already runs for this state folder{who}."))?;
    if let Some(url) = url {
        context.out.line(format!("  page    {url}"))?;
    }
    Ok(ExitStatus::Done)
}

fn start_log(places: &Paths, config: &Config) {
    let log = &config.log;
    let file =
        RotatingLogFile::new(places.logs().join("serve.log"), log.max_bytes.get().unwrap_or(u64::MAX), log.max_files);
    let level = log.level.as_str().parse().unwrap_or(LevelFilter::INFO);
    let lines = tracing_subscriber::fmt::layer().with_ansi(false).with_target(false).with_writer(Mutex::new(file));
    // What is wrong is also said where somebody may be looking.
    let spoken = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .with_target(false)
        .without_time()
        .with_writer(std::io::stderr);
    let registry =
        tracing_subscriber::registry().with(lines.with_filter(level)).with(spoken.with_filter(LevelFilter::WARN));
    // Only a second subscriber in the same process can fail this.
    let _ = registry.try_init();
}
