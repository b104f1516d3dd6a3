//! The overview is shown by every page and refreshed by every tab, so it is computed once per change.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use belay_core::Timestamp;
use belay_drive::limits::Limits;
use belay_ipc::views::{OverviewView, ReviewSummaryView};
use belay_store::{ChangeToken, Result, Store};
use jiff::tz::TimeZone;

use super::overview;
use crate::sync::lock;

/// Statuses also change with time.
const MAX_AGE: Duration = Duration::from_secs(1);

/// The latest overview.
#[derive(Debug, Default)]
pub(crate) struct OverviewCache(Mutex<Option<(ChangeToken, Arc<OverviewView>)>>);

impl OverviewCache {
    /// `reviews` are the tasks that it lists; they are not in the store.
    pub(crate) fn get(
        &self,
        store: &dyn Store,
        limits: &Limits,
        reviews: Vec<ReviewSummaryView>,
        now: Timestamp,
    ) -> Result<Arc<OverviewView>> {
        // Other readers wait for the one that computes it.
        let mut cached = lock(&self.0);
        let token = store.change_token()?;
        if let Some((known, view)) = &mut *cached
            && *known == token
            && now.saturating_since(view.now) < MAX_AGE
            && now >= view.now
        {
            if view.reviews != reviews {
                Arc::make_mut(view).reviews = reviews;
            }
            return Ok(Arc::clone(view));
        }
        let mut view = overview(store, now, &TimeZone::system())?;
        view.today.quotas = limits.view(now);
        view.reviews = reviews;
        let view = Arc::new(view);
        *cached = Some((token, Arc::clone(&view)));
        Ok(view)
    }
}
