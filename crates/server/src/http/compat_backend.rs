//! The engine and the store behind Loop Watchdog's endpoints.

use axum::http::HeaderMap;
use belay_compat::loop_watchdog::Backend;
use belay_core::event::OperatorDecision;
use belay_core::{Event, SessionKey, Timestamp};
use belay_ipc::{DecideRequest, ErrorBody, ErrorCode};
use belay_store::{Store, StoreError};

use super::error::ApiError;
use super::request_guard;
use crate::intake;
use crate::state::DaemonState;

impl Backend for DaemonState {
    type Error = ApiError;

    fn read<T>(&self, read: impl FnOnce(&dyn Store) -> Result<T, StoreError>) -> Result<T, ApiError> {
        Ok(read(&*self.readers.get()?)?)
    }

    fn observe(&self, events: Vec<Event>) -> Result<(), ApiError> {
        for result in self.decisions.committer.observe(events) {
            result.map_err(intake::to_ipc_error)?;
        }
        Ok(())
    }

    fn decide(&self, session: &SessionKey, decision: OperatorDecision, note: &str) -> Result<(), ApiError> {
        let request = DecideRequest::new(session.clone(), decision).note(note);
        let decided = intake::decide(&self.decisions.committer, &request);
        // Loop Watchdog answers with 409 for a held session; 422 is for fields that it cannot read.
        decided.map(drop).map_err(|error| match error.code {
            ErrorCode::Refused => ErrorBody { code: ErrorCode::Conflict, ..error }.into(),
            _ => error.into(),
        })
    }

    fn authorize(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        match self.loop_watchdog_without_token {
            true => Ok(()),
            false => request_guard::authorize_decision(self, headers, None).map(drop),
        }
    }

    fn now(&self) -> Timestamp {
        belay_clock::now()
    }
}
