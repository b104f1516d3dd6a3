//! `belay serve`: the resident process.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use belay_config::{Config, Paths, Strictness};
use belay_ipc::{Client, ClientError, ListenRequest};
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

/// How long a second instance waits for the first one to be ready.
const OTHER_INSTANCE_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Address of the status page and the HTTP API; loopback only.
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// Do not serve HTTP; the Unix socket is always available.
    #[arg(long, conflicts_with = "listen")]
    no_http: bool,
    /// Exit after this long without work, such as 30m.
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
    let config = context.config(Strictness::Lenient, &flags)?.config;
    start_log(&context.paths, &config);
    let address = args.listen.as_ref().map(|_| config.serve.listen.socket_addr());
    let listen = ListenRequest { address, keep_running: args.idle_exit.is_none() };
    let listen = config.serve.http.then_some(listen);
    let options =
        ServeOptions { paths: context.paths.clone(), env: context.env.clone(), config, flags: context.flags()? };
    let resident = match Daemon::start(options) {
        Ok(resident) => resident,
        Err(ServeError::AlreadyRunning(holder)) => return use_running(context, holder, listen),
        Err(error) => return Err(error.into()),
    };
    report_ready(context, &resident)?;
    let reason = resident.run()?;
    belay_hooks::daemon_autostart::clear_start_marker(&context.paths);
    context.out.info(format!("Belay has stopped: {reason}."));
    Ok(ExitStatus::Done)
}

/// Prints the addresses once the process is ready.
fn report_ready(context: &Context, resident: &Daemon) -> Result<(), crate::error::CommandError> {
    let health = resident.health();
    if let Some(problem) = &health.problem {
        let text = format!("{problem}. Decisions continue in memory; nothing is saved until this is fixed");
        context.out.warn(&text, health.hint.as_deref());
    }
    tracing::info!(version = belay_server::VERSION, pid = std::process::id(), "serving");
    let socket = resident.socket().display().to_string();
    if context.out.json {
        let state = context.paths.state().display().to_string();
        context.out.json(&json!({
            "serving": true, "pid": std::process::id(), "version": belay_server::VERSION,
            "url": resident.url(), "socket": socket, "state": state, "kept": health.ok,
        }))?;
        return Ok(());
    }
    context.out.line(format!("Belay {} is running.", belay_server::VERSION))?;
    if let Some(url) = resident.url() {
        context.out.line(format!("  page    {url}"))?;
    }
    context.out.line(format!("  socket  {socket}"))?;
    context.out.line(format!("  state   {}", context.paths.state().display()))?;
    context.out.line("Stop it with Ctrl-C or `belay stop`.")?;
    Ok(())
}

/// Another instance already serves this state directory: asks it for what this command would have served.
fn use_running(context: &Context, holder: Option<InstanceInfo>, listen: Option<ListenRequest>) -> CommandResult {
    let running = connect_to_running(context).and_then(|mut client| {
        let opened = listen.map(|listen| client.listen(listen)).transpose()?;
        Ok((client.status(false)?, opened))
    });
    let (pid, url, opened) = match running {
        Ok((status, Some(opened))) => (Some(status.pid), Some(opened.url), opened.opened),
        Ok((status, None)) => (Some(status.pid), status.url, false),
        Err(ClientError::Refused(refusal)) => return Err(refusal.into()),
        Err(_) => (holder.as_ref().map(|holder| holder.pid), holder.and_then(|holder| holder.url), false),
    };
    if context.out.json {
        context.out.json(&json!({ "serving": false, "already": { "pid": pid, "url": url, "opened": opened } }))?;
        return Ok(ExitStatus::Done);
    }
    let who = pid.map_or_else(String::new, |pid| format!(" (pid {pid})"));
    context.out.line(format!("Belay is already running for this state directory{who}."))?;
    if opened {
        context.out.line("It now serves HTTP, and runs until `belay stop`.")?;
    }
    if let Some(url) = url {
        context.out.line(format!("  page    {url}"))?;
    }
    Ok(ExitStatus::Done)
}

/// Connects to the other instance, which may hold the lock without being ready yet.
fn connect_to_running(context: &Context) -> Result<Client, ClientError> {
    let deadline = Instant::now() + OTHER_INSTANCE_TIMEOUT;
    loop {
        let client = Client::connect(&context.paths, Duration::from_secs(1))
            .and_then(|mut client| client.ping().map(|_| client));
        match client {
            Err(_) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(20)),
            other => return other,
        }
    }
}

fn start_log(paths: &Paths, config: &Config) {
    let log = &config.log;
    let file =
        RotatingLogFile::new(paths.logs().join("serve.log"), log.max_bytes.get().unwrap_or(u64::MAX), log.max_files);
    let level = log.level.as_str().parse().unwrap_or(LevelFilter::INFO);
    let log_file = tracing_subscriber::fmt::layer().with_ansi(false).with_target(false).with_writer(Mutex::new(file));
    // Warnings also go to the terminal.
    let stderr = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .with_target(false)
        .without_time()
        .with_writer(std::io::stderr);
    let registry =
        tracing_subscriber::registry().with(log_file.with_filter(level)).with(stderr.with_filter(LevelFilter::WARN));
    // Only a second subscriber in the same process can fail this.
    let _ = registry.try_init();
}
