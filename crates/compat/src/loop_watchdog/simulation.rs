//! The guided trial: a simulated session that repeats the same failing call.

use belay_core::event::{OperatorDecision, ToolCalled, ToolReturned};
use belay_core::{Body, CallStatus, SessionKey};
use serde_json::json;
use uuid::Uuid;

use super::backend::Backend;
use super::endpoints::new_event;

/// Enough for a pause under the default rules.
const ROUNDS: usize = 8;

/// Records the session, pauses it and returns its key.
pub(super) fn simulate<B: Backend>(backend: &B) -> Result<SessionKey, B::Error> {
    let key = SessionKey::trial(Uuid::now_v7().to_string());
    for _ in 0..ROUNDS {
        let called = ToolCalled::new(None, None, "bash", &json!({ "command": "npm test -- payments" }));
        let failed = "FAIL payments/refund.test.js\n  Expected 200, received 500\n1 failing";
        let returned = ToolReturned::new(None, Some(CallStatus::Error), Some(1), failed);
        let round = [Body::ToolCalled(called), Body::ToolReturned(returned)];
        backend.observe(round.map(|body| new_event(&key, backend.now(), body)).to_vec())?;
    }
    // The user's rules may not pause it.
    backend.decide(&key, OperatorDecision::Pause, "the guided trial")?;
    Ok(key)
}
