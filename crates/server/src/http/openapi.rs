//! The OpenAPI document of `/api/v1`, generated from the table of its operations.

mod logins;

use std::sync::LazyLock;

use axum::Json;
use axum::response::{IntoResponse, Response};
use belay_ipc::ErrorBody;
use schemars::Schema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value, json};

use super::operations::{self, Operation, ResponseSchema};

pub(super) async fn document() -> Response {
    static DOCUMENT: LazyLock<Value> = LazyLock::new(build);
    Json(&*DOCUMENT).into_response()
}

pub(super) fn object<const N: usize>(fields: [(&str, Schema); N]) -> Schema {
    let required: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    let properties: Map<String, Value> =
        fields.iter().map(|(name, schema)| ((*name).to_owned(), schema.as_value().clone())).collect();
    schema(json!({ "type": "object", "properties": properties, "required": required }))
}

pub(super) fn schema(value: Value) -> Schema {
    Schema::try_from(value).unwrap_or_default()
}

fn build() -> Value {
    let settings = SchemaSettings::openapi3();
    let mut types = settings.into_generator();
    let error = object([("error", types.subschema_for::<ErrorBody>())]);
    let mut paths: Map<String, Value> = Map::new();
    for operation in operations::all() {
        let path = paths.entry(format!("/api/v1{}", operation.path)).or_insert_with(|| json!({}));
        path[operation.method] = describe(&operation, &mut types, &error);
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

fn describe(operation: &Operation, types: &mut SchemaGenerator, error: &Schema) -> Value {
    let mut parameters: Vec<Value> = operation
        .path
        .split('/')
        .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
        .map(|name| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } }))
        .collect();
    if let Some(query) = operation.query {
        parameters.extend(query_parameters(&query(types)));
    }
    let response = match operation.response {
        ResponseSchema::Of(schema) => schema(types),
        ResponseSchema::List(name, items) => object([(name, items(types))]),
    };
    let mut described = json!({
        "summary": operation.summary,
        "parameters": parameters,
        "responses": {
            "200": json_content("The result", &response),
            "default": json_content("What is wrong, and what to do", error),
        },
    });
    if let Some(body) = operation.body {
        described["requestBody"] = json_content("The request", &body(types));
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
