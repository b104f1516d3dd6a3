//! How a browser logs in and out. These paths answer with redirections and pages, except for the login's state.

use schemars::Schema;
use serde_json::{Value, json};

use super::json_content;

pub(super) fn paths(error: &Schema) -> [(String, Value); 3] {
    let redirection = |what: &str| {
        json!({ "description": what, "headers": {
        "Location": { "schema": { "type": "string" } },
        "Set-Cookie": { "schema": { "type": "string" } },
    } })
    };
    let problem = json_content("What is wrong, and what to do", error);
    let log_in = json!({ "get": {
        "summary": "Log a browser in with the one-time code of `belay open`",
        "parameters": [{ "name": "code", "in": "query", "required": true, "schema": { "type": "string" } }],
        "responses": {
            "303": redirection("Logged in: the cookie is set, and the overview follows"),
            "403": { "description": "The code was used before, has expired, or was not opened in a tab", "content": { "text/html": { "schema": { "type": "string" } } } },
            "default": problem,
        },
    } });
    let log_out = json!({ "post": {
        "summary": "End the login of this browser",
        "requestBody": { "required": true, "content": { "application/x-www-form-urlencoded": { "schema": {
            "type": "object",
            "properties": { "form_token": { "type": "string" } },
            "required": ["form_token"],
        } } } },
        "responses": { "303": redirection("Logged out: the cookie is removed"), "default": problem },
    } });
    let state = Schema::try_from(json!({
        "type": "object",
        "properties": {
            "logged_in": { "type": "boolean" },
            "form_token": { "type": ["string", "null"], "description": "For the header x-belay-form-token of decisions" },
        },
        "required": ["logged_in", "form_token"],
    }))
    .unwrap_or_default();
    let show = json!({ "get": {
        "summary": "Whether this browser is logged in, and its form token",
        "parameters": [],
        "responses": { "200": json_content("The state of the login", &state), "default": problem },
    } });
    [("/login".to_owned(), log_in), ("/logout".to_owned(), log_out), ("/api/v1/login".to_owned(), show)]
}
