//! The guided trial.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use belay_core::format;

use super::super::blocking;
use super::super::error::ApiError;
use super::forms::{self, Fields, FormBody};
use crate::state::DaemonState;
use crate::trial;

pub(super) async fn start(
    State(shared): State<Arc<DaemonState>>,
    headers: HeaderMap,
    form: FormBody,
) -> Result<Response, ApiError> {
    forms::author(&shared, &headers, &Fields::read(form)?)?;
    let state = Arc::clone(&shared);
    blocking(&shared, move |_| Ok(trial::start(&state)?)).await?;
    Ok(forms::done(&headers, "The guided trial has begun: watch the overview.", "/"))
}

pub(super) async fn remove(
    State(shared): State<Arc<DaemonState>>,
    headers: HeaderMap,
    form: FormBody,
) -> Result<Response, ApiError> {
    forms::author(&shared, &headers, &Fields::read(form)?)?;
    let removed = blocking(&shared, |shared| Ok(trial::remove(shared)?)).await?;
    let message = match removed {
        0 => "There are no sessions of the guided trial.".to_owned(),
        removed => format!("Removed {} of the guided trial.", format::pluralize(removed, "session")),
    };
    Ok(forms::done(&headers, &message, "/"))
}
