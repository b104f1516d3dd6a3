//! A hook call of an agent, and what the hook process does in response.

use belay_core::{SessionKey, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// One hook call.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct HookRequest {
    /// Made by the hook process. If the resident process does not answer in time, the hook process decides under the
    /// same id, so the call counts once.
    pub id: String,
    /// The agent, as the hook was installed: an id, an alias, or `plugin`.
    pub agent: String,
    /// The event's name, if the hook was installed with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// The agent's JSON.
    pub payload: Box<RawValue>,
    /// When the hook process started.
    pub at: Timestamp,
    /// The hook's parent process: the agent, or a shell that the agent started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The hook runs in continuous integration, so there is no person to notify.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ci: bool,
    /// The working directory of the hook process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The key of the `belay run` that started the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
}

/// What the hook process does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HookResponse {
    /// For standard output; empty for no output.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub stdout: String,
    /// A process to interrupt afterwards, because its hooks cannot stop it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interrupt: Option<u32>,
    /// A process that does not print the reason, so that the hook writes it to its standard error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stderr_of: Option<u32>,
    /// Why the session is held, for `stderr_of`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// A held session whose release the hook awaits before it responds, because no response ends the agent's turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_for: Option<SessionKey>,
    /// The hook awaits an answer before it responds, such as a person's to a permission prompt. On the wire it has the
    /// name that hooks of earlier versions read.
    #[serde(rename = "approval", alias = "ticket", skip_serializing_if = "Option::is_none")]
    pub ticket: Option<HookTicket>,
}

/// Where the hook process awaits an answer: a second connection that the resident process keeps until it has one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HookTicket {
    /// For [`Operation::AwaitAnswer`](crate::Operation::AwaitAnswer).
    pub id: String,
    /// How long to wait, in milliseconds.
    pub wait_ms: u64,
    /// If the resident process ends meanwhile, the hook starts the next one and sends the same call again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub repeat: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_is_understood_by_earlier_and_later_versions() {
        let ticket = Some(HookTicket { id: "apr-1".to_owned(), wait_ms: 7, repeat: true });
        let response = HookResponse { ticket, ..HookResponse::default() };
        let sent = serde_json::to_string(&response).unwrap();
        assert_eq!(sent, r#"{"approval":{"id":"apr-1","wait_ms":7,"repeat":true}}"#);
        for name in ["approval", "ticket"] {
            let received = sent.replace("approval", name);
            assert_eq!(serde_json::from_str::<HookResponse>(&received).unwrap(), response);
        }
        let earlier: HookResponse = serde_json::from_str(r#"{"approval":{"id":"apr-1","wait_ms":7}}"#).unwrap();
        assert!(!earlier.ticket.unwrap().repeat, "an earlier resident process does not expect the call again");
    }
}
