//! The guided trial: a session that goes in circles, played at once.

use belay_core::event::{OperatorDecision, ToolCalled, ToolReturned};
use belay_core::{Body, SessionKey, Status};
use serde_json::json;

use super::{LEGACY, told};
use crate::http::border::ApiError;
use crate::ops;
use crate::protocol::Decide;
use crate::resident::Shared;

/// More than enough for any setting.
const ROUNDS: usize = 8;

/// Plays it and tells its name.
pub(super) fn play(shared: &Shared) -> Result<SessionKey, ApiError> {
    let key = SessionKey::new(LEGACY, format!("trial:{}", uuid::Uuid::now_v7()));
    for _ in 0..ROUNDS {
        let called = ToolCalled::new(None, None, "bash", &json!({ "command": "npm test -- payments" }));
        let failed = "FAIL payments/refund.test.js\n  Expected 200, received 500\n1 failing";
        let returned = ToolReturned::new(None, Some(Status::Error), Some(1), failed);
        let round = [Body::ToolCalled(called), Body::ToolReturned(returned)].map(|body| told(&key, body));
        for answer in shared.writer.observe(round.to_vec()) {
            answer.map_err(ops::refusal)?;
        }
    }
    // Whatever a user has set, this one is to be decided about.
    let decide = Decide {
        session: key.clone(),
        decision: OperatorDecision::Pause,
        note: "the guided trial".to_owned(),
        by: None,
    };
    ops::decide(shared, &decide)?;
    Ok(key)
}
