//! The tools a request offers, whatever API it speaks.

use serde_json::{Map, Value};

use crate::classify::Api;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Offered {
    pub(crate) name: String,
    pub(crate) namespace: Option<String>,
    pub(crate) input: Accepts,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Accepts {
    Freeform,
    /// A JSON object with these properties.
    Object {
        properties: Map<String, Value>,
        required: Vec<String>,
    },
}

pub(crate) fn offered(api: Api, body: &Value) -> Vec<Offered> {
    let tools = list(&body["tools"]);
    match api {
        Api::Messages => tools.iter().filter_map(|tool| function(tool, "input_schema")).collect(),
        Api::Chat => tools.iter().filter_map(|tool| function(&tool["function"], "parameters")).collect(),
        Api::Responses => tools.iter().flat_map(|tool| responses_tool(tool, None)).collect(),
        Api::Gemini => tools.iter().flat_map(gemini_tools).collect(),
    }
}

/// Codex groups tools into namespaces, which hold further tools.
fn responses_tool(tool: &Value, namespace: Option<&str>) -> Vec<Offered> {
    let name = tool["name"].as_str().or(tool["type"].as_str());
    match (tool["type"].as_str(), name) {
        (Some("namespace"), name) => {
            list(&tool["tools"]).iter().flat_map(|inner| responses_tool(inner, name)).collect()
        }
        (Some("custom"), Some(name)) => {
            vec![Offered { name: name.into(), namespace: namespace.map(Into::into), input: Accepts::Freeform }]
        }
        (_, Some(name)) => vec![Offered {
            name: name.into(),
            namespace: namespace.map(Into::into),
            input: accepts(&tool["parameters"]),
        }],
        (_, None) => vec![],
    }
}

fn gemini_tools(tool: &Value) -> Vec<Offered> {
    let declarations = list(&tool["functionDeclarations"]).iter().chain(list(&tool["function_declarations"]));
    declarations
        .filter_map(|one| {
            let schema = if one["parametersJsonSchema"].is_null() { "parameters" } else { "parametersJsonSchema" };
            function(one, schema)
        })
        .collect()
}

fn function(tool: &Value, schema: &str) -> Option<Offered> {
    Some(Offered { name: tool["name"].as_str()?.into(), namespace: None, input: accepts(&tool[schema]) })
}

fn accepts(schema: &Value) -> Accepts {
    let required = list(&schema["required"]).iter().filter_map(|name| Some(name.as_str()?.to_owned()));
    Accepts::Object {
        properties: schema["properties"].as_object().cloned().unwrap_or_default(),
        required: required.collect(),
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
