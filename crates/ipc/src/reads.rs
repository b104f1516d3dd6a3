//! The read operations: what the CLI shows. Each request names the type of its result.

use belay_core::{SessionKey, Timestamp};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::operations::Operation;
use crate::views::{
    FindingView, IncidentView, NoteView, OverviewView, SessionPageView, SessionView, TombstoneView, TotalsView,
};

/// A request that changes nothing.
pub trait ReadRequest: Clone + Into<Operation> {
    type Response: Serialize + DeserializeOwned;
}

macro_rules! read_requests {
    ($($operation:ident: $request:ident => $response:ty),* $(,)?) => {$(
        impl ReadRequest for $request {
            type Response = $response;
        }

        impl From<$request> for Operation {
            fn from(request: $request) -> Self {
                Self::$operation(request)
            }
        }
    )*};
}

read_requests! {
    Resolve: ResolveRequest => SessionKey,
    Sessions: SessionsRequest => SessionsResponse,
    Session: SessionRequest => Option<SessionView>,
    Incidents: IncidentsRequest => Vec<IncidentView>,
    Findings: FindingsRequest => Vec<FindingView>,
    Finding: FindingRequest => Option<FindingView>,
    Notes: NotesRequest => Vec<NoteView>,
    Tombstones: TombstonesRequest => Vec<TombstoneView>,
    ShortNames: ShortNamesRequest => Vec<String>,
    Totals: TotalsRequest => Option<TotalsView>,
    Overview: OverviewRequest => OverviewView,
    SessionPage: SessionPageRequest => Option<Box<SessionPageView>>,
}

/// Parameters of [`Operation::Resolve`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResolveRequest {
    /// Any unique prefix of `agent:id` or of the agent's own id.
    pub name: String,
}

/// Parameters of [`Operation::Sessions`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SessionsRequest {
    /// Only these states; empty for all.
    pub states: Vec<String>,
    /// Only this agent, by its id.
    pub agent: Option<String>,
    pub project: Option<String>,
    /// Include archived sessions.
    pub archived: bool,
    /// Only sessions with an event at or after this time.
    pub since: Option<Timestamp>,
    /// Maximum number of sessions; 0 for 50.
    pub limit: usize,
}

/// Result of [`Operation::Sessions`], newest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionsResponse {
    pub sessions: Vec<SessionView>,
    /// There are more than `limit`.
    pub more: bool,
}

/// Parameters of [`Operation::Session`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRequest {
    pub session: SessionKey,
}

/// Parameters of [`Operation::Incidents`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct IncidentsRequest {
    /// Only this incident.
    pub id: Option<String>,
    /// Only this session.
    pub session: Option<SessionKey>,
    /// Include closed incidents.
    pub closed: bool,
    /// Maximum number of incidents; 0 for 100.
    pub limit: usize,
}

/// Parameters of [`Operation::Findings`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingsRequest {
    pub session: SessionKey,
    pub limit: usize,
}

/// Parameters of [`Operation::Finding`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingRequest {
    pub id: String,
}

/// Parameters of [`Operation::Notes`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotesRequest {
    pub session: SessionKey,
    pub limit: usize,
}

/// Parameters of [`Operation::Tombstones`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TombstonesRequest {
    /// Only this project.
    #[serde(default)]
    pub project: Option<String>,
    /// Only tombstones that have not expired at this time.
    pub now: Timestamp,
}

/// Parameters of [`Operation::ShortNames`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShortNamesRequest {
    pub sessions: Vec<SessionKey>,
}

/// Parameters of [`Operation::Totals`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TotalsRequest {}

/// Parameters of [`Operation::Overview`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OverviewRequest {}

/// Parameters of [`Operation::SessionPage`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionPageRequest {
    pub session: SessionKey,
    /// Only calls before this number; the newest ones of them are returned.
    #[serde(default)]
    pub before: Option<u64>,
    /// Number of calls; 0 for the default.
    #[serde(default)]
    pub calls: usize,
    /// Only events before this sequence number.
    #[serde(default)]
    pub events_before: Option<u64>,
}
