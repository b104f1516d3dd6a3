//! The tools that a request offers, for every API.

use serde_json::{Map, Value};

use crate::classify::Api;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OfferedTool {
    pub(crate) name: String,
    pub(crate) namespace: Option<String>,
    pub(crate) input: InputForm,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum InputForm {
    Freeform,
    /// A JSON object with these properties.
    Object {
        properties: Map<String, Value>,
        required: Vec<String>,
    },
}

pub(crate) fn offered(api: Api, body: &Value) -> Vec<OfferedTool> {
    let tools = list(&body["tools"]);
    match api {
        Api::Messages => tools.iter().filter_map(|tool| function(tool, "input_schema")).collect(),
        Api::Chat => tools.iter().filter_map(|tool| function(&tool["function"], "parameters")).collect(),
        Api::Responses => tools.iter().flat_map(|tool| responses_tool(tool, None)).collect(),
        Api::Gemini => tools.iter().flat_map(gemini_tools).collect(),
    }
}

/// Codex nests tools in namespaces.
fn responses_tool(tool: &Value, namespace: Option<&str>) -> Vec<OfferedTool> {
    let name = tool["name"].as_str().or(tool["type"].as_str());
    match (tool["type"].as_str(), name) {
        (Some("namespace"), name) => {
            list(&tool["tools"]).iter().flat_map(|inner| responses_tool(inner, name)).collect()
        }
        (Some("custom"), Some(name)) => {
            vec![OfferedTool { name: name.into(), namespace: namespace.map(Into::into), input: InputForm::Freeform }]
        }
        (_, Some(name)) => vec![OfferedTool {
            name: name.into(),
            namespace: namespace.map(Into::into),
            input: accepts(&tool["parameters"]),
        }],
        (_, None) => vec![],
    }
}

fn gemini_tools(tool: &Value) -> Vec<OfferedTool> {
    let declarations = list(&tool["functionDeclarations"]).iter().chain(list(&tool["function_declarations"]));
    declarations
        .filter_map(|one| {
            let schema = if one["parametersJsonSchema"].is_null() { "parameters" } else { "parametersJsonSchema" };
            function(one, schema)
        })
        .collect()
}

fn function(tool: &Value, schema: &str) -> Option<OfferedTool> {
    Some(OfferedTool { name: tool["name"].as_str()?.into(), namespace: None, input: accepts(&tool[schema]) })
}

fn accepts(schema: &Value) -> InputForm {
    let required = list(&schema["required"]).iter().filter_map(|name| Some(name.as_str()?.to_owned()));
    InputForm::Object {
        properties: schema["properties"].as_object().cloned().unwrap_or_default(),
        required: required.collect(),
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
