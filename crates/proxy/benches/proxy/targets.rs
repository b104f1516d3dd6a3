//! The targets.

use std::future::Future;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use belay_net::PeerUser;
use belay_proxy::{AllowAll, Config, LocalService, PrefixedIo, Relay, UpstreamConfig};

use crate::others;
use crate::process::{Process, announce, wait_for};

/// A proxy under test.
pub(crate) struct Target {
    pub(crate) name: &'static str,
    pub(crate) address: SocketAddr,
    pub(crate) process: Process,
    /// Headers that select the upstream.
    pub(crate) lines: String,
    /// Called in one of this many rounds: slow targets would delay the others.
    pub(crate) every: usize,
}

/// Starts a target by name, in front of `upstream`.
pub(crate) fn start(name: &'static str, upstream: SocketAddr, scratch: &Path) -> Result<Target, String> {
    let (mut lines, mut every) = (String::new(), 1);
    let (process, address) = match name {
        "belay" => belay(upstream, scratch)?,
        "litellm" => {
            every = 20;
            others::litellm(upstream, scratch)?
        }
        "portkey" => {
            every = 20;
            lines = format!("x-portkey-provider: openai\r\nx-portkey-custom-host: http://{upstream}/v1\r\n");
            others::portkey()?
        }
        "relay" => Process::start_self(&["serve", "relay", &upstream.to_string()]),
        "hyper" => Process::start_self(&["serve", "hyper", &upstream.to_string()]),
        "copy" => Process::start_self(&["serve", "copy", &upstream.to_string()]),
        "nginx" => nginx(upstream, scratch)?,
        other => return Err(format!("there is no target `{other}`")),
    };
    wait_for(address, Duration::from_secs(120))?;
    Ok(Target { name, address, process, lines, every })
}

/// The resident process as people run it, with its store.
fn belay(upstream: SocketAddr, scratch: &Path) -> Result<(Process, SocketAddr), String> {
    let address = free_port();
    let mut command = Command::new(binary()?);
    command.arg("--home").arg(home(scratch)).args(["--set", &format!("proxy.upstreams.openai.url=http://{upstream}")]);
    command.args(["serve", "--listen", &address.to_string()]).stdout(Stdio::null()).stderr(Stdio::null());
    Ok((Process::start(&mut command)?, address))
}

/// The state directory of the resident process.
pub(crate) fn home(scratch: &Path) -> PathBuf {
    scratch.join("home")
}

/// The `belay` binary next to this one.
pub(crate) fn binary() -> Result<PathBuf, String> {
    let exe = std::env::current_exe().map_err(|error| error.to_string())?;
    let path = exe.parent().and_then(Path::parent).map(|dir| dir.join("belay"));
    path.filter(|path| path.exists()).ok_or_else(|| "build it first: cargo build --release -p belayer".to_owned())
}

pub(crate) fn free_port() -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("an address")
}

fn nginx(upstream: SocketAddr, scratch: &Path) -> Result<(Process, SocketAddr), String> {
    let program = ["/usr/sbin/nginx", "/usr/bin/nginx"].iter().map(PathBuf::from).find(|path| path.exists());
    let program = program.ok_or("nginx is not installed (Debian: apt-get install nginx-light)")?;
    let address = free_port();
    let config = format!(
        "daemon off; worker_processes 1; error_log {0}/error.log; pid {0}/nginx.pid;\n\
         events {{ worker_connections 4096; }}\n\
         http {{ access_log off; client_max_body_size 0; client_body_temp_path {0}/body; proxy_temp_path {0}/proxy;\n\
         fastcgi_temp_path {0}/f; uwsgi_temp_path {0}/u; scgi_temp_path {0}/s;\n\
         upstream model {{ server {upstream}; keepalive 512; }}\n\
         server {{ listen {address} backlog=4096; keepalive_requests 1000000; tcp_nodelay on;\n\
         location / {{ proxy_pass http://model; proxy_http_version 1.1; proxy_set_header Connection \"\";\n\
         proxy_buffering off; proxy_request_buffering off; }} }} }}\n",
        scratch.display()
    );
    let path = scratch.join("nginx.conf");
    std::fs::write(&path, config).map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command.arg("-p").arg(scratch).arg("-c").arg(&path).stdout(Stdio::null()).stderr(Stdio::null());
    Ok((Process::start(&mut command)?, address))
}

/// The relay alone, without server and store around it.
pub(crate) fn serve_relay(upstream: &str) {
    struct Nobody;
    impl LocalService for Nobody {
        fn serve(&self, _: PrefixedIo, _: PeerUser) -> Pin<Box<dyn Future<Output = Option<PrefixedIo>> + Send>> {
            Box::pin(async { None })
        }
    }
    let config =
        Config { upstreams: vec![UpstreamConfig::new("openai", format!("http://{upstream}"))], ..Config::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async move {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        announce(listener.local_addr().expect("an address"));
        let relay = Relay::new(&config, Arc::new(Nobody), Arc::new(AllowAll)).expect("a relay");
        Arc::new(relay).accept_loop(listener).await;
    });
}
