//! Third-party gateways, installed into a cache directory on first use.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::process::Process;
use crate::targets::free_port;

/// Where they are kept between runs.
fn cache() -> Result<PathBuf, String> {
    let exe = std::env::current_exe().map_err(|error| error.to_string())?;
    let target = exe.ancestors().nth(3).ok_or("the target directory is not where it usually is")?;
    let cache = target.join("bench-tools");
    std::fs::create_dir_all(&cache).map_err(|error| error.to_string())?;
    Ok(cache)
}

fn install(what: &str, command: &mut Command) -> Result<(), String> {
    println!("installing {what} ...");
    match command.stdout(Stdio::null()).stderr(Stdio::null()).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{what} could not be installed ({status})")),
        Err(error) => Err(format!("{what} could not be installed: {error}")),
    }
}

/// LiteLLM's proxy, from PyPI.
pub(crate) fn litellm(upstream: SocketAddr, scratch: &Path) -> Result<(Process, SocketAddr), String> {
    let venv = cache()?.join("litellm");
    let program = venv.join("bin/litellm");
    if !program.exists() {
        install("a Python environment", Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
        install("litellm", Command::new(venv.join("bin/pip")).args(["install", "--quiet", "litellm[proxy]"]))?;
    }
    let config = scratch.join("litellm.yaml");
    let model = format!("{{ model: openai/m, api_base: \"http://{upstream}/v1\", api_key: sk-bench }}");
    let text = format!("model_list:\n  - model_name: m\n    litellm_params: {model}\n");
    std::fs::write(&config, text).map_err(|error| error.to_string())?;
    let address = free_port();
    let mut command = Command::new(program);
    command.arg("--config").arg(config).args(["--host", "127.0.0.1", "--port", &address.port().to_string()]);
    command
        .env("LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY", "true")
        .env("LITELLM_LOG", "ERROR")
        .env("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        .current_dir(scratch);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    Ok((Process::start(&mut command)?, address))
}

/// Portkey's gateway, from npm.
pub(crate) fn portkey() -> Result<(Process, SocketAddr), String> {
    let dir = cache()?.join("portkey");
    let server = dir.join("node_modules/@portkey-ai/gateway/build/start-server.js");
    if !server.exists() {
        let mut npm = Command::new("npm");
        install("@portkey-ai/gateway", npm.args(["install", "--prefix"]).arg(&dir).arg("@portkey-ai/gateway"))?;
    }
    let address = free_port();
    let mut command = Command::new("node");
    command.arg(server).args(["--headless", &format!("--port={}", address.port())]);
    command.env("TRUSTED_CUSTOM_HOSTS", "127.0.0.1,localhost").stdout(Stdio::null()).stderr(Stdio::null());
    Ok((Process::start(&mut command)?, address))
}
