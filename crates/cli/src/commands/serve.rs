//! `belay serve`: the resident process.

use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use belay_config::{Config, Paths, Strictness};
use belay_ipc::{Client, ClientError, ListenRequest, ListenResponse};
use belay_server::instance_lock::InstanceInfo;
use belay_server::log_file::RotatingLogFile;
use belay_server::{Daemon, ServeError, ServeOptions};
use clap::Args;
use serde_json::json;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::prelude::*;

use super::CommandResult;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_status::ExitStatus;
use crate::operator::{CallerTree, OperatorArgs, require_operator};

/// How long a second instance waits for the first one to be ready.
const OTHER_INSTANCE_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Address of the page, the proxy and the HTTP API; beyond loopback, it requires TLS.
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// Certificate for --listen beyond loopback (PEM).
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Private key of the certificate (PEM).
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Create a certificate for --listen beyond loopback, and print its fingerprint.
    #[arg(long, conflicts_with = "tls_cert")]
    tls_self_signed: bool,
    /// Do not serve HTTP; the Unix socket is always available.
    #[arg(long, conflicts_with_all = ["listen", "tls_cert", "tls_self_signed"])]
    no_http: bool,
    /// Exit after this long without work, such as 30m.
    #[arg(long, value_name = "TIME")]
    idle_exit: Option<String>,
}

pub(crate) fn run(context: &Context, args: &ServeArgs) -> CommandResult {
    // Settings of the resident process hold for every session.
    if !context.flags()?.is_empty() {
        require_operator(context, OperatorArgs::default(), "serve with --set", None)?;
    }
    // The environment of an agent belongs to the repository that it works in.
    let of_person = if is_called_by_agent(context) { context.without_env_settings() } else { context.clone() };
    let context = &of_person;
    let mut flags = Vec::new();
    if let Some(listen) = &args.listen {
        flags.push(("--listen".to_owned(), "serve.listen".to_owned(), listen.clone()));
    }
    flags.extend(tls_flags(args)?);
    if args.no_http {
        flags.push(("--no-http".to_owned(), "serve.http".to_owned(), "false".to_owned()));
    }
    if let Some(idle) = &args.idle_exit {
        flags.push(("--idle-exit".to_owned(), "serve.idle_exit".to_owned(), idle.clone()));
    }
    let config = context.config(Strictness::Lenient, &flags)?.config;
    let configured = config.serve.listen.socket_addr();
    if (args.tls_self_signed || args.tls_cert.is_some()) && configured.ip().is_loopback() {
        let message = format!("{configured} is a loopback address, which is served without TLS");
        return Err(CommandError::usage(message).hint("add `--listen 0.0.0.0:8787` to serve other machines"));
    }
    start_log(&context.paths, &config);
    let address = args.listen.as_ref().map(|_| configured);
    let tls = address.map(|_| config.serve.tls.clone());
    let listen = ListenRequest { address, tls, keep_running: args.idle_exit.is_none() };
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

/// The TLS options as configuration keys. The resident process may have another working directory.
fn tls_flags(args: &ServeArgs) -> Result<Vec<(String, String, String)>, CommandError> {
    let flag = |name: &str, key: &str, value: String| (name.to_owned(), format!("serve.tls.{key}"), value);
    let mut flags = Vec::new();
    for (name, key, path) in [("--tls-cert", "cert", &args.tls_cert), ("--tls-key", "key", &args.tls_key)] {
        if let Some(path) = path {
            flags.push(flag(name, key, std::path::absolute(path)?.display().to_string()));
        } else if args.tls_self_signed {
            flags.push(flag("--tls-self-signed", key, String::new()));
        }
    }
    if args.tls_self_signed {
        flags.push(flag("--tls-self-signed", "self_signed", "true".to_owned()));
    }
    Ok(flags)
}

/// What `belay serve` prints about HTTP.
#[derive(Debug)]
struct HttpReport {
    url: String,
    /// Logs one browser in. An agent does not get it.
    login: Option<String>,
    fingerprint: Option<String>,
}

impl HttpReport {
    fn without_login(url: String) -> Self {
        Self { url, login: None, fingerprint: None }
    }

    fn print(&self, context: &Context) -> std::io::Result<()> {
        let Self { url, login, fingerprint } = self;
        let line = |label: &str, text: &str| context.out.line(format!("  {label:<8}{text}"));
        line("page", login.as_ref().unwrap_or(url))?;
        if login.is_some() {
            line("", "The link works once, within 10 minutes; `belay open` makes a new one.")?;
        }
        let mut base = url.trim_end_matches('/').to_owned();
        if fingerprint.is_some() {
            base.push_str("/t/TOKEN");
        }
        line("proxy", &format!("ANTHROPIC_BASE_URL={base}"))?;
        line("", &format!("OPENAI_BASE_URL={base}/v1"))?;
        line("", &format!("GOOGLE_GEMINI_BASE_URL={base}"))?;
        if let Some(fingerprint) = fingerprint {
            line("", "`belay status --token` shows the proxy token to put there.")?;
            line("SHA-256", &format!("{fingerprint} (certificate)"))?;
        }
        Ok(())
    }
}

/// Whether an agent runs this command: it must not get a login.
fn is_called_by_agent(context: &Context) -> bool {
    CallerTree::read(&context.env).agent().is_some()
}

/// Prints the addresses once the process is ready.
fn report_ready(context: &Context, resident: &Daemon) -> Result<(), CommandError> {
    let health = resident.health();
    if let Some(problem) = &health.problem {
        let text = format!("{problem}. Decisions continue in memory; nothing is saved until this is fixed");
        context.out.warn(&text, health.hint.as_deref());
    }
    for notice in resident.notices() {
        tracing::warn!("{notice}");
        context.out.warn(notice.trim_end_matches('.'), None);
    }
    tracing::info!(version = belay_server::VERSION, pid = std::process::id(), "serving");
    let socket = resident.socket().display().to_string();
    let login = if is_called_by_agent(context) { None } else { resident.login_link()? };
    if context.out.json {
        let state = context.paths.state().display().to_string();
        context.out.json(&json!({
            "serving": true, "pid": std::process::id(), "version": belay_server::VERSION,
            "url": resident.url(), "login": login, "fingerprint": resident.fingerprint(), "socket": socket,
            "state": state, "kept": health.ok,
        }))?;
        return Ok(());
    }
    context.out.line(format!("Belay {} is running.", belay_server::VERSION))?;
    if let Some(url) = resident.url() {
        HttpReport { url: url.to_owned(), login, fingerprint: resident.fingerprint() }.print(context)?;
    }
    context.out.line(format!("  socket  {socket}"))?;
    context.out.line(format!("  state   {}", context.paths.state().display()))?;
    context.out.line("Supervise the next agent with `belay run claude`, or all of them with `belay init`.")?;
    context.out.line("Stop Belay with Ctrl-C or `belay stop`.")?;
    Ok(())
}

/// Another instance already serves this state directory: asks it for what this command would have served.
fn use_running(context: &Context, holder: Option<InstanceInfo>, listen: Option<ListenRequest>) -> CommandResult {
    let running = connect_to_running(context).and_then(|mut client| {
        let opened = listen.map(|listen| client.listen(listen)).transpose()?;
        let login = (opened.is_some() && !is_called_by_agent(context)).then(|| client.login_link()).transpose()?;
        Ok((client.status(false)?, opened, login))
    });
    let (pid, http, opened) = match running {
        Ok((status, Some(ListenResponse { url, opened, fingerprint, .. }), login)) => {
            (Some(status.pid), Some(HttpReport { url, login, fingerprint }), opened)
        }
        Ok((status, None, _)) => (Some(status.pid), status.url.map(HttpReport::without_login), false),
        Err(ClientError::Refused(refusal)) => return Err(refusal.into()),
        Err(_) => {
            let url = holder.as_ref().and_then(|holder| holder.url.clone());
            (holder.map(|holder| holder.pid), url.map(HttpReport::without_login), false)
        }
    };
    if context.out.json {
        let url = http.as_ref().map(|http| &http.url);
        let login = http.as_ref().and_then(|http| http.login.as_ref());
        let already = json!({ "pid": pid, "url": url, "login": login, "opened": opened });
        context.out.json(&json!({ "serving": false, "already": already }))?;
        return Ok(ExitStatus::Done);
    }
    let who = pid.map_or_else(String::new, |pid| format!(" (pid {pid})"));
    context.out.line(format!("Belay is already running for this state directory{who}."))?;
    if opened {
        context.out.line("It now serves HTTP, and runs until `belay stop`.")?;
    }
    if let Some(http) = http {
        http.print(context)?;
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
