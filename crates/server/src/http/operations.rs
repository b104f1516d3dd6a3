//! The operations of `/api/v1`: one row each, from which the router and the OpenAPI document are made.

use std::sync::Arc;

use axum::Router;
use axum::handler::Handler;
use axum::routing::{self, MethodRouter};
use belay_core::{Event, EventOutcome};
use belay_ipc::views::{
    FindingView, IncidentView, LandedView, NoteView, OverviewView, PendingApproval, QuotaView, ReviewSummaryView,
    ReviewView, ReviewsView, SessionPageView, SessionView, TombstoneView,
};
use belay_ipc::{AnswerResponse, FileReviewRequest, HealthView, PauseReviewsRequest, ReviewDecision};
use schemars::generate::SchemaGenerator;
use schemars::{JsonSchema, Schema};
use serde_json::json;

use super::api;
use super::openapi::{object, schema};
use crate::state::DaemonState;

/// Makes the schema of a type. Called only for the document: the router does not need it.
type SchemaFn = fn(&mut SchemaGenerator) -> Schema;

/// An operation of the API.
pub(super) struct Operation {
    pub(super) method: &'static str,
    /// Below `/api/v1`.
    pub(super) path: &'static str,
    pub(super) summary: &'static str,
    pub(super) query: Option<SchemaFn>,
    pub(super) body: Option<SchemaFn>,
    pub(super) response: ResponseSchema,
    /// It needs the token, or a login and its form token.
    pub(super) decides: bool,
    handler: MethodRouter<Arc<DaemonState>>,
}

/// What an operation responds with.
pub(super) enum ResponseSchema {
    Of(SchemaFn),
    /// An object with one list.
    List(&'static str, SchemaFn),
}

impl Operation {
    fn get<H, T>(path: &'static str, handler: H, summary: &'static str) -> Self
    where
        H: Handler<T, Arc<DaemonState>>,
        T: 'static,
    {
        Self::new("get", path, routing::get(handler), summary)
    }

    fn post<H, T>(path: &'static str, handler: H, summary: &'static str) -> Self
    where
        H: Handler<T, Arc<DaemonState>>,
        T: 'static,
    {
        Self::new("post", path, routing::post(handler), summary)
    }

    fn put<H, T>(path: &'static str, handler: H, summary: &'static str) -> Self
    where
        H: Handler<T, Arc<DaemonState>>,
        T: 'static,
    {
        Self::new("put", path, routing::put(handler), summary)
    }

    fn new(
        method: &'static str,
        path: &'static str,
        handler: MethodRouter<Arc<DaemonState>>,
        summary: &'static str,
    ) -> Self {
        // Whatever changes something is a decision, unless its row says otherwise.
        let decides = method != "get";
        let response = ResponseSchema::Of(|_| Schema::default());
        Self { method, path, summary, query: None, body: None, response, decides, handler }
    }

    fn query<T: JsonSchema>(mut self) -> Self {
        self.query = Some(|types| types.root_schema_for::<T>());
        self
    }

    fn body<T: JsonSchema>(mut self) -> Self {
        self.body = Some(|types| types.subschema_for::<T>());
        self
    }

    fn returns<T: JsonSchema>(mut self) -> Self {
        self.response = ResponseSchema::Of(|types| types.subschema_for::<T>());
        self
    }

    /// An object with one list.
    fn returns_list<T: JsonSchema>(mut self, name: &'static str) -> Self {
        self.response = ResponseSchema::List(name, Vec::<T>::json_schema);
        self
    }

    fn returns_schema(mut self, schema: SchemaFn) -> Self {
        self.response = ResponseSchema::Of(schema);
        self
    }

    /// It changes something, but decides nothing.
    fn decides_nothing(mut self) -> Self {
        self.decides = false;
        self
    }
}

/// The routes of all operations.
pub(super) fn routes() -> Router<Arc<DaemonState>> {
    all()
        .into_iter()
        .fold(Router::new(), |router, operation| router.route(&format!("/api/v1{}", operation.path), operation.handler))
}

pub(super) fn all() -> Vec<Operation> {
    [sessions(), records(), reviews(), history_and_settings()].into_iter().flatten().collect()
}

fn sessions() -> Vec<Operation> {
    use api::{approvals, decisions, records};
    vec![
        Operation::get(
            "/overview",
            records::overview,
            "Sessions that need a person, what the others do, and what today cost",
        )
        .returns::<OverviewView>(),
        Operation::get("/sessions", api::sessions, "Sessions: filter, search, sort and page")
            .query::<api::SessionsQuery>()
            .returns_schema(page_of_sessions),
        Operation::get("/sessions/{id}", api::session, "One session").returns::<SessionView>(),
        Operation::get("/sessions/{id}/page", records::session_page, "A session with a window of its calls")
            .query::<records::PageQuery>()
            .returns::<SessionPageView>(),
        Operation::get("/sessions/{id}/events", api::events_of, "Events of a session, oldest first")
            .query::<api::EventsQuery>()
            .returns_schema(page_of_events),
        Operation::get("/sessions/{id}/findings", records::findings, "Findings of a session, newest first")
            .query::<records::LimitQuery>()
            .returns_list::<FindingView>("findings"),
        Operation::get("/sessions/{id}/notes", records::notes, "Decisions and notes of people, newest first")
            .query::<records::LimitQuery>()
            .returns_list::<NoteView>("notes"),
        Operation::post("/sessions/{id}/decisions", decisions::decide, "Decide about a session")
            .body::<decisions::DecisionBody>()
            .returns::<decisions::Decided>(),
        Operation::post("/decisions", decisions::decide_bulk, "Decide about several sessions")
            .body::<decisions::BulkBody>()
            .returns::<decisions::BulkResponse>(),
        Operation::get("/approvals", approvals::list, "Permission prompts that wait for an answer, the oldest first")
            .returns_list::<PendingApproval>("approvals"),
        Operation::post("/approvals/{id}", approvals::answer, "Answer a permission prompt; the first answer wins")
            .body::<approvals::AnswerBody>()
            .returns::<AnswerResponse>(),
    ]
}

fn records() -> Vec<Operation> {
    use api::records;
    vec![
        Operation::get("/events", api::events, "Events of all sessions, oldest first")
            .query::<api::EventsQuery>()
            .returns_schema(page_of_events),
        Operation::post("/events", api::post_events, "Record one event or a list of events")
            .body::<Event>()
            .returns_list::<EventOutcome>("answers")
            .decides_nothing(),
        Operation::get("/findings/{id}", records::finding, "One finding with its evidence").returns::<FindingView>(),
        Operation::get("/incidents", api::incidents, "Incidents, newest first")
            .query::<api::IncidentsQuery>()
            .returns_list::<IncidentView>("incidents"),
        Operation::get("/incidents/{id}", api::incident, "One incident").returns::<IncidentView>(),
        Operation::get("/tombstones", records::tombstones, "Notes to the next session of a project")
            .query::<records::TombstonesQuery>()
            .returns_list::<TombstoneView>("tombstones"),
        Operation::get("/spend", records::spend, "Spend by day, project, model and agent")
            .query::<records::SpendQuery>()
            .returns::<crate::dashboard::SpendReport>(),
        Operation::get("/quotas", records::quotas, "Quotas of accounts, as their providers last reported them")
            .returns_list::<QuotaView>("quotas"),
    ]
}

fn reviews() -> Vec<Operation> {
    use api::reviews;
    vec![
        Operation::get("/reviews", reviews::list, "Review tasks, newest first, and the queue")
            .query::<reviews::ReviewsQuery>()
            .returns::<ReviewsView>(),
        Operation::post("/reviews", reviews::file, "File a review task in a project that Belay has seen")
            .body::<FileReviewRequest>()
            .returns::<ReviewSummaryView>(),
        Operation::post("/reviews/queue", reviews::pause, "Pause or resume the queue of review tasks")
            .body::<PauseReviewsRequest>()
            .returns::<ReviewsView>(),
        Operation::get("/reviews/{id}", reviews::task, "One review task").returns::<ReviewView>(),
        Operation::get("/reviews/{id}/journal", reviews::journal, "What happened to a review task")
            .query::<reviews::JournalQuery>()
            .returns::<reviews::JournalView>(),
        Operation::post("/reviews/{id}/decisions", reviews::decide, "Decide about a review task")
            .body::<ReviewDecision>()
            .returns::<ReviewSummaryView>(),
        Operation::post("/reviews/{id}/land", reviews::land, "Merge or apply the result of a review task")
            .body::<reviews::LandBody>()
            .returns::<LandedView>(),
        Operation::get("/reviews/{id}/artifacts", reviews::artifacts, "Files of a review task")
            .returns::<reviews::ArtifactsView>(),
        Operation::get("/reviews/{id}/artifacts/{name}", reviews::artifact, "One file of a review task as text")
            .returns::<String>(),
    ]
}

fn history_and_settings() -> Vec<Operation> {
    use crate::audits::{AuditProgressView, AuditView, AuditsView};
    use api::{config, history};
    vec![
        Operation::get("/audits", history::audits, "Audits of past sessions").returns::<AuditsView>(),
        Operation::post("/audits", history::start_audit, "Start an audit of past sessions; one runs at a time")
            .body::<history::AuditBody>()
            .returns::<AuditProgressView>(),
        Operation::post("/audits/try", history::try_setting, "Replay past sessions with another value of a setting")
            .body::<history::TryBody>()
            .returns::<AuditProgressView>(),
        Operation::get("/audits/{id}", history::audit, "One finished audit").returns::<AuditView>(),
        Operation::post("/audits/{id}/cancel", history::cancel_audit, "Stop an audit that runs")
            .returns_schema(|types| object([("cancelled", bool::json_schema(types))])),
        Operation::post("/history/clear", history::clear, "Archive or delete the sessions that are not active")
            .body::<history::ClearBody>()
            .returns::<crate::history::ClearedHistory>(),
        Operation::get(
            "/config",
            config::config,
            "The configuration and where each value comes from; secrets are masked",
        )
        .returns::<config::ConfigView>(),
        Operation::put("/config/{key}", config::set, "Set or remove a value in the user's file")
            .body::<config::SetValueBody>()
            .returns::<config::ConfigView>(),
        Operation::get("/status", api::status, "The resident process")
            .returns_schema(|types| object([("health", types.subschema_for::<HealthView>())])),
    ]
}

fn page_of_sessions(types: &mut SchemaGenerator) -> Schema {
    object([("sessions", Vec::<SessionView>::json_schema(types)), ("next", Option::<String>::json_schema(types))])
}

fn page_of_events(types: &mut SchemaGenerator) -> Schema {
    let line = object([
        ("ord", i64::json_schema(types)),
        ("seq", u64::json_schema(types)),
        ("event", types.subschema_for::<Event>()),
    ]);
    let next = "Only with `q`: the position to continue from; null if everything was searched";
    schema(json!({
        "type": "object",
        "properties": {
            "events": { "type": "array", "items": line },
            "next": { "type": ["integer", "null"], "description": next },
        },
        "required": ["events"],
    }))
}
