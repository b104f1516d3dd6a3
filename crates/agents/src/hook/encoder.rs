//! Encoding a reply later than its hook call was parsed, for hooks that wait for one.

use super::{HookPoint, HookProtocol, HookReply, ParsedHook, PermissionReply};

/// What it takes to answer one hook call.
#[derive(Clone, Copy, Debug)]
pub struct HookEncoder {
    protocol: &'static dyn HookProtocol,
    event: &'static str,
    point: HookPoint,
}

impl HookEncoder {
    /// For a call that `protocol` has parsed.
    pub fn new(protocol: &'static dyn HookProtocol, parsed: &ParsedHook) -> Self {
        Self { protocol, event: parsed.event, point: parsed.point }
    }

    /// A reply as the hook's standard output; empty if the agent takes none here.
    pub fn reply(&self, reply: &HookReply<'_>) -> String {
        let parsed = ParsedHook { point: self.point, event: self.event, ..ParsedHook::default() };
        self.protocol.encode(&parsed, reply).map(|reply| reply.to_string()).unwrap_or_default()
    }

    /// A person's answer to a permission prompt; `None` if the agent takes none.
    pub fn permission(&self, reply: PermissionReply<'_>) -> Option<String> {
        self.protocol.encode_permission(self.event, reply).map(|reply| reply.to_string())
    }
}
