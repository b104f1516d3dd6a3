//! The guided trial: a session that goes in circles, played at once.

use belay_core::event::{OperatorDecision, ToolCalled, ToolReturned};
use belay_core::{Body, CallStatus, SessionKey};
use belay_ipc::DecideRequest;
use serde_json::json;

use super::{AGENT_ID, told};
use crate::http::error::ApiError;
use crate::intake;
use crate::state::DaemonState;

/// More than enough for any setting.
const MAX_ROUNDS: usize = 8;

/// Plays it and tells its name.
pub(super) fn simulate(shared: &DaemonState) -> Result<SessionKey, ApiError> {
    let key = SessionKey::new(AGENT_ID, format!("trial:{}", uuid::Uuid::now_v7()));
    for _ in 0..MAX_ROUNDS {
        let called = ToolCalled::new(None, None, "bash", &json!({ "command": "npm test -- payments" }));
        let failed = "FAIL payments/refund.test.js\n  Expected 200, received 500\n1 failing";
        let returned = ToolReturned::new(None, Some(CallStatus::Error), Some(1), failed);
        let round = [Body::ToolCalled(called), Body::ToolReturned(returned)].map(|body| told(&key, body));
        for answer in shared.decisions.committer.observe(round.to_vec()) {
            answer.map_err(intake::to_ipc_error)?;
        }
    }
    // Whatever a user has set, this one is to be decided about.
    let decide = DecideRequest {
        session: key.clone(),
        decision: OperatorDecision::Pause,
        note: "the guided trial".to_owned(),
        by: None,
    };
    intake::decide(&shared.decisions.committer, &decide)?;
    Ok(key)
}
