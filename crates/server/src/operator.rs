//! What only a person may ask for over the socket. The kernel tells the process at the other end; where it does not, and
//! for a process that hides its ancestors, every owner of the socket counts as a person.

use belay_core::EventOutcome;
use belay_core::event::OperatorDecision;
use belay_hooks::process_chain::ProcessChain;
use belay_ipc::{DecideRequest, ErrorBody, ErrorCode, LoginLinkResponse};
use belay_proxy::HoldState;

use crate::intake;
use crate::state::DaemonState;

/// Records a decision. Commands of Belay have checked their caller and say who it is; for other programs, this does both.
pub(crate) fn decide(
    daemon: &DaemonState,
    peer: Option<u32>,
    mut request: DecideRequest,
) -> Result<EventOutcome, ErrorBody> {
    if let Some(peer) = peer.filter(|_| request.caller.is_none()) {
        let chain = ProcessChain::of_process(peer, &daemon.config.env);
        if requires_person(daemon, &request) {
            refuse_agent(&chain)?;
        }
        request.caller = Some(Box::new(chain.to_caller()));
    }
    intake::decide(&daemon.decisions.committer, &request)
}

/// Whether an agent may not make this decision: it lifts or weakens supervision, or takes a held session out of sight.
fn requires_person(daemon: &DaemonState, request: &DecideRequest) -> bool {
    match request.decision {
        OperatorDecision::Pause | OperatorDecision::Note => false,
        OperatorDecision::Acknowledge | OperatorDecision::Archive | OperatorDecision::MarkSeen => {
            daemon.decisions.holds.get(&request.session) >= HoldState::Held
        }
        _ => true,
    }
}

/// A link that logs one browser in. Whoever asked for it is recorded with the login.
pub(crate) fn login_link(daemon: &DaemonState, peer: Option<u32>) -> Result<LoginLinkResponse, ErrorBody> {
    let chain = peer.map(|peer| ProcessChain::of_process(peer, &daemon.config.env));
    if let Some(chain) = &chain {
        refuse_agent(chain)?;
    }
    let asked_by = chain.map_or_else(|| "an unknown process".to_owned(), |chain| chain.describe().to_string());
    let link = daemon.login_link(asked_by).map_err(|error| ErrorBody::new(ErrorCode::Internal, error.to_string()))?;
    let url = link.ok_or_else(|| {
        ErrorBody::new(ErrorCode::Refused, "the resident process does not serve HTTP").hint("run `belay open`")
    })?;
    Ok(LoginLinkResponse { url })
}

/// Refuses a process below an agent, unless it has a terminal of its own: there, a person may use `--as-operator`.
fn refuse_agent(chain: &ProcessChain) -> Result<(), ErrorBody> {
    let Some(agent) = chain.suspect().filter(|_| !chain.has_own_terminal()) else { return Ok(()) };
    tracing::warn!(agent, processes = %chain.describe(), "refused a decision that an agent requested");
    let message = format!("only a person may decide this, and an agent requested it ({agent})");
    Err(ErrorBody::new(ErrorCode::Forbidden, message).hint("run the command in your own terminal"))
}
