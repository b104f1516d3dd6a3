//! The guided trial.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use belay_core::format;

use super::super::blocking;
use super::super::error::ApiError;
use super::super::signed_request::SignedForm;
use crate::state::DaemonState;
use crate::trial;

pub(super) async fn start(State(daemon): State<Arc<DaemonState>>, form: SignedForm) -> Result<Response, ApiError> {
    let state = Arc::clone(&daemon);
    blocking(&daemon, move |_| Ok(trial::start(&state)?)).await?;
    Ok(form.done("The guided trial has started. Watch the overview.", "/"))
}

pub(super) async fn remove(State(daemon): State<Arc<DaemonState>>, form: SignedForm) -> Result<Response, ApiError> {
    let removed = blocking(&daemon, |daemon| Ok(trial::remove(daemon)?)).await?;
    let message = match removed {
        0 => "There are no sessions of the guided trial.".to_owned(),
        removed => format!("Removed {} of the guided trial.", format::pluralize(removed, "session")),
    };
    Ok(form.done(&message, "/"))
}
