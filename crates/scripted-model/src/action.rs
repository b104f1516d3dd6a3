//! What the model wants to do, independent of any agent, and its translation into a call of a tool that the agent
//! offers.
//!
//! Tools are found by name in one table; arguments take their names from the tool's schema. An agent that renames an
//! argument needs no change here; one that renames a tool needs a new table entry. If an agent has no tool for the
//! purpose, the next best is used: a patch or the shell writes files, `cat` reads them.

#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};

use crate::answer::Input;
use crate::offered_tools::{InputForm, OfferedTool};
use crate::schema;

#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    Shell {
        command: String,
    },
    Read {
        path: String,
    },
    Write {
        path: String,
        content: String,
    },
    Edit {
        path: String,
        old: String,
        new: String,
    },
    /// A patch in the `*** Begin Patch` format.
    Patch {
        patch: String,
    },
    /// A tool by its exact name, with exactly these arguments.
    Call {
        name: String,
        args: Value,
        namespace: Option<String>,
    },
}

/// A call before it has an id.
#[derive(Debug, PartialEq)]
pub(crate) struct PlannedCall {
    pub(crate) name: String,
    pub(crate) namespace: Option<String>,
    pub(crate) input: Input,
}

/// The request offers no tool for an action. This is a fault of the script and is reported to agent and test.
#[derive(Debug, PartialEq, thiserror::Error)]
#[error("scripted model: cannot {wish} with the tools offered ({})", offered.join(", "))]
pub(crate) struct ToolNotOffered {
    wish: &'static str,
    offered: Vec<String>,
}

impl Action {
    pub fn shell(command: impl Into<String>) -> Self {
        Self::Shell { command: command.into() }
    }

    pub fn read(path: impl Into<String>) -> Self {
        Self::Read { path: path.into() }
    }

    pub fn write(path: impl Into<String>, content: impl Into<String>) -> Self {
        Self::Write { path: path.into(), content: content.into() }
    }

    pub fn edit(path: impl Into<String>, old: impl Into<String>, new: impl Into<String>) -> Self {
        Self::Edit { path: path.into(), old: old.into(), new: new.into() }
    }

    pub fn call(name: impl Into<String>, args: Value) -> Self {
        Self::Call { name: name.into(), args, namespace: None }
    }

    pub(crate) fn plan(&self, tools: &[OfferedTool]) -> Result<PlannedCall, ToolNotOffered> {
        let no_tool = |wish| ToolNotOffered { wish, offered: tools.iter().map(|tool| tool.name.clone()).collect() };
        match self {
            Self::Shell { command } => {
                let tool = SHELL.find(tools).ok_or_else(|| no_tool("run a command"))?;
                Ok(tool.called_with(&[(COMMAND, command)]))
            }
            Self::Read { path } => match READ.find(tools) {
                Some(tool) => Ok(tool.called_with(&[(PATH, path)])),
                None => Self::shell(format!("cat {}", quoted(path))).plan(tools).map_err(|_| no_tool("read a file")),
            },
            Self::Write { path, content } => match WRITE.find(tools) {
                Some(tool) => Ok(tool.called_with(&[(PATH, path), (CONTENT, content)])),
                None => Self::Patch { patch: added(path, content) }
                    .plan(tools)
                    .or_else(|_| Self::shell(written(path, content)).plan(tools))
                    .map_err(|_| no_tool("write a file")),
            },
            Self::Edit { path, old, new } => match EDIT.find(tools) {
                Some(tool) => Ok(tool.called_with(&[(PATH, path), (OLD, old), (NEW, new)])),
                None => Self::Patch { patch: updated(path, old, new) }.plan(tools).map_err(|_| no_tool("edit a file")),
            },
            Self::Patch { patch } => {
                let tool = PATCH.find(tools).ok_or_else(|| no_tool("apply a patch"))?;
                Ok(tool.called_with(&[(PATCH_TEXT, patch)]))
            }
            Self::Call { name, args, namespace } => {
                let offer = tools.iter().find(|tool| tool.name == *name);
                let namespace = namespace.clone().or_else(|| offer?.namespace.clone());
                let input = match args {
                    Value::String(text) => Input::Freeform(text.clone()),
                    Value::Null => Input::Json(json!({})),
                    args => Input::Json(args.clone()),
                };
                Ok(PlannedCall { name: name.clone(), namespace, input })
            }
        }
    }
}

/// Tool names of different agents for one purpose, the most specific first.
struct ToolPurpose(&'static [&'static str]);

const SHELL: ToolPurpose =
    ToolPurpose(&["Bash", "bash", "exec_command", "shell_command", "shell", "local_shell", "run_shell_command"]);
const READ: ToolPurpose = ToolPurpose(&["Read", "read", "read_file", "view"]);
const WRITE: ToolPurpose = ToolPurpose(&["Write", "write", "write_file", "create"]);
const EDIT: ToolPurpose = ToolPurpose(&["Edit", "edit", "replace", "str_replace"]);
const PATCH: ToolPurpose = ToolPurpose(&["apply_patch"]);

/// Names for one argument.
type Argument = &'static [&'static str];

const COMMAND: Argument = &["command", "cmd"];
const PATH: Argument = &["file_path", "filePath", "absolute_path", "path"];
const CONTENT: Argument = &["content", "file_text"];
const OLD: Argument = &["old_string", "oldString", "old_str"];
const NEW: Argument = &["new_string", "newString", "new_str"];
const PATCH_TEXT: Argument = &["input", "patch", "patchText"];

impl ToolPurpose {
    fn find<'a>(&self, tools: &'a [OfferedTool]) -> Option<&'a OfferedTool> {
        self.0.iter().find_map(|name| tools.iter().find(|tool| tool.name == *name))
    }
}

impl OfferedTool {
    fn called_with(&self, arguments: &[(Argument, &String)]) -> PlannedCall {
        let input = match &self.input {
            InputForm::Freeform => Input::Freeform(arguments.iter().map(|(_, value)| value.as_str()).collect()),
            InputForm::Object { properties, required } => {
                let mut args = Map::new();
                for (names, value) in arguments {
                    let name = names.iter().find(|name| properties.contains_key(**name)).unwrap_or(&names[0]);
                    let array = properties.get(*name).is_some_and(|schema| schema["type"] == "array");
                    let value = if array { json!(["bash", "-lc", value]) } else { json!(value) };
                    args.insert((*name).to_owned(), value);
                }
                for name in required {
                    let filler = || schema::instance(properties.get(name).unwrap_or(&Value::Null), "Scripted step");
                    args.entry(name.clone()).or_insert_with(filler);
                }
                Input::Json(Value::Object(args))
            }
        };
        PlannedCall { name: self.name.clone(), namespace: self.namespace.clone(), input }
    }
}

fn added(path: &str, content: &str) -> String {
    format!("*** Begin Patch\n*** Add File: {path}\n{}*** End Patch", prefixed('+', content))
}

fn updated(path: &str, old: &str, new: &str) -> String {
    format!("*** Begin Patch\n*** Update File: {path}\n@@\n{}{}*** End Patch", prefixed('-', old), prefixed('+', new))
}

fn prefixed(sign: char, text: &str) -> String {
    text.lines().map(|line| format!("{sign}{line}\n")).collect()
}

fn written(path: &str, content: &str) -> String {
    format!("printf %s {} > {}", quoted(content), quoted(path))
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}
