//! The `Channel` trait.

use std::fmt;
use std::time::Duration;

use belay_core::Timestamp;

use crate::alert::Alert;

/// A way to reach a person or a program.
pub trait Channel: fmt::Debug + Send + Sync {
    /// Stable and unique: deliveries are stored under this name.
    fn name(&self) -> &str;

    /// Where alerts go, without secrets.
    fn describe(&self) -> String;

    /// Why the channel cannot deliver, as far as this is known without an attempt.
    fn problem(&self) -> Option<ChannelProblem> {
        None
    }

    /// Whether to deliver this alert now. If not, it is skipped permanently.
    fn accepts(&self, _alert: &Alert, _now: Timestamp) -> bool {
        true
    }

    /// Delivers the alert. Blocks, so an implementation needs a timeout well below the lease of a claim.
    /// `Ok` means that the receiver accepted the alert.
    fn deliver(&self, alert: &Alert, now: Timestamp) -> Result<(), DeliveryError>;

    /// Delay before each retry. Empty: a failure is final.
    fn retry_delays(&self) -> &[Duration] {
        &[]
    }
}

/// Why an attempt failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DeliveryError(pub String);

/// Why a channel cannot deliver, and how to fix it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelProblem {
    /// The configuration is invalid, rather than something missing on this machine.
    pub misconfigured: bool,
    pub reason: String,
    pub fix: String,
}

/// A channel whose configuration is invalid. Each delivery fails with the reason, so that log, store and `belay doctor`
/// show which alerts were lost.
#[derive(Debug)]
pub(crate) struct InvalidChannel {
    pub(crate) name: &'static str,
    pub(crate) problem: ChannelProblem,
}

impl Channel for InvalidChannel {
    fn name(&self) -> &str {
        self.name
    }

    fn describe(&self) -> String {
        "not usable".to_owned()
    }

    fn problem(&self) -> Option<ChannelProblem> {
        Some(self.problem.clone())
    }

    fn deliver(&self, _alert: &Alert, _now: Timestamp) -> Result<(), DeliveryError> {
        Err(DeliveryError(self.problem.reason.clone()))
    }
}
