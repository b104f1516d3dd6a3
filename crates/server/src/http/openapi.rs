//! The OpenAPI document of `/api/v1`, generated from the types that handlers read and write.

mod logins;

use std::sync::LazyLock;

use axum::Json;
use axum::response::{IntoResponse, Response};
use belay_core::{Event, EventOutcome};
use belay_ipc::views::{
    FindingView, IncidentView, LandedView, NoteView, OverviewView, PendingApproval, QuotaView, ReviewSummaryView,
    ReviewView, ReviewsView, SessionPageView, SessionView, TombstoneView,
};
use belay_ipc::{AnswerResponse, ErrorBody, FileReviewRequest, HealthView, PauseReviewsRequest, ReviewDecision};
use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

use super::api::approvals::AnswerBody;
use super::api::config::{ConfigView, SetValueBody};
use super::api::decisions::{BulkBody, BulkResponse, Decided, DecisionBody};
use super::api::history::{AuditBody, ClearBody, TryBody};
use super::api::records::{LimitQuery, PageQuery, SpendQuery, TombstonesQuery};
use super::api::reviews::{ArtifactsView, JournalQuery, JournalView, LandBody, ReviewsQuery};
use super::api::{EventsQuery, IncidentsQuery, SessionsQuery};
use crate::audits::{AuditProgressView, AuditView, AuditsView};
use crate::dashboard::SpendReport;
use crate::history::ClearedHistory;

pub(super) async fn document() -> Response {
    static DOCUMENT: LazyLock<Value> = LazyLock::new(build);
    Json(&*DOCUMENT).into_response()
}

/// An operation of the API.
struct Operation {
    method: &'static str,
    path: &'static str,
    summary: &'static str,
    query: Option<Schema>,
    body: Option<Schema>,
    response: Schema,
    /// It needs the token, or a login and its form token.
    decides: bool,
}

impl Operation {
    fn get(path: &'static str, summary: &'static str, response: Schema) -> Self {
        Self { method: "get", path, summary, query: None, body: None, response, decides: false }
    }

    fn query(mut self, query: Schema) -> Self {
        self.query = Some(query);
        self
    }

    fn decision(
        method: &'static str,
        path: &'static str,
        summary: &'static str,
        body: Schema,
        response: Schema,
    ) -> Self {
        Self { method, path, summary, query: None, body: Some(body), response, decides: true }
    }
}

/// An object with one list.
fn list_of<T: JsonSchema>(types: &mut SchemaGenerator, name: &str) -> Schema {
    object([(name, Vec::<T>::json_schema(types))])
}

fn object<const N: usize>(fields: [(&str, Schema); N]) -> Schema {
    let required: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    let properties: Map<String, Value> =
        fields.iter().map(|(name, schema)| ((*name).to_owned(), schema.as_value().clone())).collect();
    schema(json!({ "type": "object", "properties": properties, "required": required }))
}

fn schema(value: Value) -> Schema {
    Schema::try_from(value).unwrap_or_default()
}

fn operations(types: &mut SchemaGenerator) -> Vec<Operation> {
    let t = types;
    let page_of_sessions =
        object([("sessions", Vec::<SessionView>::json_schema(t)), ("next", Option::<String>::json_schema(t))]);
    let event_line =
        object([("ord", i64::json_schema(t)), ("seq", u64::json_schema(t)), ("event", t.subschema_for::<Event>())]);
    let next = "Only with `q`: the position to continue from; null if everything was searched";
    let events = schema(json!({
        "type": "object",
        "properties": {
            "events": { "type": "array", "items": event_line },
            "next": { "type": ["integer", "null"], "description": next },
        },
        "required": ["events"],
    }));
    let outcomes = list_of::<EventOutcome>(t, "answers");
    vec![
        Operation::get(
            "/overview",
            "Sessions that need a person, what the others do, and what today cost",
            t.subschema_for::<OverviewView>(),
        ),
        Operation::get("/sessions", "Sessions: filter, search, sort and page", page_of_sessions)
            .query(t.root_schema_for::<SessionsQuery>()),
        Operation::get("/sessions/{id}", "One session", t.subschema_for::<SessionView>()),
        Operation::get(
            "/sessions/{id}/page",
            "A session with a window of its calls",
            t.subschema_for::<SessionPageView>(),
        )
        .query(t.root_schema_for::<PageQuery>()),
        Operation::get("/sessions/{id}/events", "Events of a session, oldest first", events.clone())
            .query(t.root_schema_for::<EventsQuery>()),
        Operation::get(
            "/sessions/{id}/findings",
            "Findings of a session, newest first",
            list_of::<FindingView>(t, "findings"),
        )
        .query(t.root_schema_for::<LimitQuery>()),
        Operation::get(
            "/sessions/{id}/notes",
            "Decisions and notes of people, newest first",
            list_of::<NoteView>(t, "notes"),
        )
        .query(t.root_schema_for::<LimitQuery>()),
        Operation::decision(
            "post",
            "/sessions/{id}/decisions",
            "Decide about a session",
            t.subschema_for::<DecisionBody>(),
            t.subschema_for::<Decided>(),
        ),
        Operation::decision(
            "post",
            "/decisions",
            "Decide about several sessions",
            t.subschema_for::<BulkBody>(),
            t.subschema_for::<BulkResponse>(),
        ),
        Operation::get("/events", "Events of all sessions, oldest first", events)
            .query(t.root_schema_for::<EventsQuery>()),
        Operation {
            decides: false,
            ..Operation::decision(
                "post",
                "/events",
                "Record one event or a list of events",
                t.subschema_for::<Event>(),
                outcomes,
            )
        },
        Operation::get("/findings/{id}", "One finding with its evidence", t.subschema_for::<FindingView>()),
        Operation::get("/incidents", "Incidents, newest first", list_of::<IncidentView>(t, "incidents"))
            .query(t.root_schema_for::<IncidentsQuery>()),
        Operation::get("/incidents/{id}", "One incident", t.subschema_for::<IncidentView>()),
        Operation::get(
            "/approvals",
            "Permission prompts that wait for an answer, the oldest first",
            list_of::<PendingApproval>(t, "approvals"),
        ),
        Operation::decision(
            "post",
            "/approvals/{id}",
            "Answer a permission prompt; the first answer wins",
            t.subschema_for::<AnswerBody>(),
            t.subschema_for::<AnswerResponse>(),
        ),
        Operation::get(
            "/tombstones",
            "Notes to the next session of a project",
            list_of::<TombstoneView>(t, "tombstones"),
        )
        .query(t.root_schema_for::<TombstonesQuery>()),
        Operation::get("/spend", "Spend by day, project, model and agent", t.subschema_for::<SpendReport>())
            .query(t.root_schema_for::<SpendQuery>()),
        Operation::get(
            "/quotas",
            "Quotas of accounts, as their providers last reported them",
            list_of::<QuotaView>(t, "quotas"),
        ),
        Operation::get("/reviews", "Review tasks, newest first, and the queue", t.subschema_for::<ReviewsView>())
            .query(t.root_schema_for::<ReviewsQuery>()),
        Operation::decision(
            "post",
            "/reviews",
            "File a review task in a project that Belay has seen",
            t.subschema_for::<FileReviewRequest>(),
            t.subschema_for::<ReviewSummaryView>(),
        ),
        Operation::decision(
            "post",
            "/reviews/queue",
            "Pause or resume the queue of review tasks",
            t.subschema_for::<PauseReviewsRequest>(),
            t.subschema_for::<ReviewsView>(),
        ),
        Operation::get("/reviews/{id}", "One review task", t.subschema_for::<ReviewView>()),
        Operation::get("/reviews/{id}/journal", "What happened to a review task", t.subschema_for::<JournalView>())
            .query(t.root_schema_for::<JournalQuery>()),
        Operation::decision(
            "post",
            "/reviews/{id}/decisions",
            "Decide about a review task",
            t.subschema_for::<ReviewDecision>(),
            t.subschema_for::<ReviewSummaryView>(),
        ),
        Operation::decision(
            "post",
            "/reviews/{id}/land",
            "Merge or apply the result of a review task",
            t.subschema_for::<LandBody>(),
            t.subschema_for::<LandedView>(),
        ),
        Operation::get("/reviews/{id}/artifacts", "Files of a review task", t.subschema_for::<ArtifactsView>()),
        Operation::get("/reviews/{id}/artifacts/{name}", "One file of a review task as text", String::json_schema(t)),
        Operation::get("/audits", "Audits of past sessions", t.subschema_for::<AuditsView>()),
        Operation::decision(
            "post",
            "/audits",
            "Start an audit of past sessions; one runs at a time",
            t.subschema_for::<AuditBody>(),
            t.subschema_for::<AuditProgressView>(),
        ),
        Operation::decision(
            "post",
            "/audits/try",
            "Replay past sessions with another value of a setting",
            t.subschema_for::<TryBody>(),
            t.subschema_for::<AuditProgressView>(),
        ),
        Operation::get("/audits/{id}", "One finished audit", t.subschema_for::<AuditView>()),
        Operation {
            body: None,
            ..Operation::decision(
                "post",
                "/audits/{id}/cancel",
                "Stop an audit that runs",
                Schema::default(),
                object([("cancelled", bool::json_schema(t))]),
            )
        },
        Operation::decision(
            "post",
            "/history/clear",
            "Archive or delete the sessions that are not active",
            t.subschema_for::<ClearBody>(),
            t.subschema_for::<ClearedHistory>(),
        ),
        Operation::get(
            "/config",
            "The configuration and where each value comes from; secrets are masked",
            t.subschema_for::<ConfigView>(),
        ),
        Operation::decision(
            "put",
            "/config/{key}",
            "Set or remove a value in the user's file",
            t.subschema_for::<SetValueBody>(),
            t.subschema_for::<ConfigView>(),
        ),
        Operation::get("/status", "The resident process", object([("health", t.subschema_for::<HealthView>())])),
    ]
}

fn build() -> Value {
    let settings = SchemaSettings::openapi3();
    let mut types = settings.into_generator();
    let operations = operations(&mut types);
    let error = object([("error", types.subschema_for::<ErrorBody>())]);
    let mut paths: Map<String, Value> = Map::new();
    for operation in &operations {
        let path = paths.entry(format!("/api/v1{}", operation.path)).or_insert_with(|| json!({}));
        path[operation.method] = describe(operation, &error);
    }
    paths.insert("/api/v1/live".to_owned(), live());
    paths.extend(logins::paths(&error));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Belay",
            "version": crate::VERSION,
            "description": "Local API of Belay. Reading needs no credential from a process of the same user on the same \
                            machine. Deciding needs the API token, or a login and its form token.",
        },
        "servers": [{ "url": "/" }],
        "paths": paths,
        "components": {
            "schemas": types.take_definitions(true),
            "securitySchemes": {
                "token": { "type": "http", "scheme": "bearer" },
                "login": { "type": "apiKey", "in": "header", "name": "x-belay-form-token" },
            },
        },
    })
}

fn describe(operation: &Operation, error: &Schema) -> Value {
    let mut parameters: Vec<Value> = operation
        .path
        .split('/')
        .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
        .map(|name| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } }))
        .collect();
    if let Some(query) = &operation.query {
        parameters.extend(query_parameters(query));
    }
    let mut described = json!({
        "summary": operation.summary,
        "parameters": parameters,
        "responses": {
            "200": json_content("The result", &operation.response),
            "default": json_content("What is wrong, and what to do", error),
        },
    });
    if let Some(body) = &operation.body {
        described["requestBody"] = json_content("The request", body);
        described["requestBody"]["required"] = json!(true);
    }
    if operation.decides {
        described["security"] = json!([{ "token": [] }, { "login": [] }]);
    }
    described
}

fn json_content(description: &str, schema: &Schema) -> Value {
    json!({ "description": description, "content": { "application/json": { "schema": schema } } })
}

/// The fields of a query as parameters.
fn query_parameters(query: &Schema) -> Vec<Value> {
    let properties = query.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    properties
        .into_iter()
        .map(|(name, mut schema)| {
            let description = schema.as_object_mut().and_then(|fields| fields.remove("description"));
            let mut parameter = json!({ "name": name, "in": "query", "schema": schema });
            if let Some(description) = description {
                parameter["description"] = description;
            }
            parameter
        })
        .collect()
}

/// The live stream, which is not JSON.
fn live() -> Value {
    let parameter = |name: &str, description: &str| json!({ "name": name, "in": "query", "description": description, "schema": { "type": "string" } });
    json!({ "get": {
        "summary": "What changes, as server-sent events: ready, change, reload, stopped",
        "parameters": [
            parameter("after", "Continue after this position of the log; `Last-Event-ID` takes precedence"),
            parameter("session", "Only this session"),
        ],
        "responses": { "200": {
            "description": "The stream",
            "content": { "text/event-stream": { "schema": { "type": "string" } } },
        } },
    } })
}

#[cfg(test)]
mod tests;
