//! What the overview lists, and what is selected in it.

use belay_ipc::views::{NeedRow, NeedView, ReviewSummaryView, SessionView};

use super::{App, Filter, Screen};
use crate::words;

impl App {
    /// The rows of the overview that match the filter: who needs a person, then the sessions at work.
    pub(crate) fn listed(&self) -> (Vec<NeedRow<'_>>, Vec<&SessionView>) {
        let Some(view) = &self.overview else { return (Vec::new(), Vec::new()) };
        let mut needs = view.need_rows();
        needs.retain(|row| match row {
            NeedRow::Session(need) => self.filter.has_session(&need.session, words::need_state(need.kind).word),
            NeedRow::Review(task) => self.filter.has_review(task),
        });
        let is_listed = |session: &&SessionView| self.filter.has_session(session, words::session_state(session).word);
        (needs, view.active.iter().filter(is_listed).collect())
    }

    /// Names of the listed rows, in their order.
    pub(super) fn names(&self) -> Vec<String> {
        let (needs, active) = self.listed();
        needs.iter().map(NeedRow::key).chain(active.iter().map(|session| session.session.clone())).collect()
    }

    /// The session that actions apply to.
    pub(crate) fn current(&self) -> Option<&SessionView> {
        match &self.screen {
            Screen::Session(screen) => screen.page.as_ref().map(|page| &page.session),
            Screen::Overview => {
                let (name, _) = self.selected.as_ref()?;
                let (needs, active) = self.listed();
                let sessions = needs.into_iter().filter_map(|row| match row {
                    NeedRow::Session(need) => Some(&need.session),
                    NeedRow::Review(_) => None,
                });
                sessions.chain(active).find(|session| session.session == *name)
            }
        }
    }

    /// The selected review task.
    pub(crate) fn current_review(&self) -> Option<&ReviewSummaryView> {
        let (name, _) = self.selected.as_ref().filter(|_| matches!(self.screen, Screen::Overview))?;
        self.listed().0.into_iter().find_map(|row| match row {
            NeedRow::Review(task) if row.key() == *name => Some(task),
            _ => None,
        })
    }

    /// Why the current session needs a person, if it does.
    pub(crate) fn current_need(&self) -> Option<&NeedView> {
        let name = &self.current()?.session;
        self.overview.as_ref()?.needs.iter().find(|need| need.session.session == *name)
    }
}

impl Filter {
    fn has_session(&self, session: &SessionView, word: &str) -> bool {
        let texts = [session.title(), &session.session, words::display_name(&session.agent), word];
        let more = [session.project.as_deref(), session.branch.as_deref(), session.cwd.as_deref()];
        self.has(texts.into_iter().chain(more.into_iter().flatten()))
    }

    fn has_review(&self, task: &ReviewSummaryView) -> bool {
        let texts = [&*task.title, &task.id, &task.project_dir, "review", words::review_state(task).word];
        let agents = std::iter::once(&task.builder).chain(&task.reviewers).map(|agent| words::display_name(agent));
        self.has(texts.into_iter().chain(agents))
    }

    fn has<'t>(&self, mut texts: impl Iterator<Item = &'t str>) -> bool {
        let wanted = self.text.trim().to_lowercase();
        wanted.is_empty() || texts.any(|text| text.to_lowercase().contains(&wanted))
    }
}
