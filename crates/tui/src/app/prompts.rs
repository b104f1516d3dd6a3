//! Permission prompts that can be answered here.

use belay_core::SessionKey;
use belay_core::event::PermissionAnswer;
use belay_ipc::views::{NeedKind, PendingApproval};

use super::{App, Command, Notice};
use crate::action::Action;
use crate::dialog::Dialog;

impl App {
    /// The oldest prompt of a session that Belay can answer.
    pub(crate) fn prompt_of(&self, session: &str) -> Option<&PendingApproval> {
        self.approvals.iter().find(|prompt| prompt.session == session)
    }

    /// Asks whether to answer the prompt of the current session. Other questions are answered in the agent's terminal.
    pub(super) fn answer(&mut self, answer: PermissionAnswer) -> Vec<Command> {
        let current = self.current().and_then(|session| Some((session, self.prompt_of(&session.session)?)));
        if let Some((session, prompt)) = current
            && let Some(key) = SessionKey::parse(&session.session)
        {
            let (approval, hash) = (prompt.id.clone(), prompt.hash.clone());
            let action = Action::Answer { approval, hash, answer, why: String::new() };
            self.dialog = Some(Dialog::answer(key, session, prompt.clone(), action));
            return Vec::new();
        }
        let kind = self.current_need().map(|need| need.kind);
        let asked =
            matches!(kind, Some(NeedKind::Permission | NeedKind::Question | NeedKind::PlanApproval | NeedKind::Dialog));
        let text = if asked { "Answer this in the agent's own terminal." } else { "This session asks nothing." };
        self.notice = Some(Notice { text: text.to_owned(), is_error: !asked });
        Vec::new()
    }
}
