//! The exclusive use of an ended task, while its result is landed or archived.

use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use belay_core::task::{Machine, Record};

use super::{Shared, SharedTask, Tasks, lock_task};
use crate::error::TaskError;
use crate::open_task::OpenTask;
use crate::performer::Performer;
use crate::task_dir::TaskDir;

/// How long the end of a step is awaited before its result is claimed.
const END_TIMEOUT: Duration = Duration::from_secs(30);

/// An ended task. Until this is dropped, nothing else changes it: a decision that would continue it is refused.
#[derive(Debug)]
pub struct Claim<'t, P: Performer> {
    shared: &'t Arc<Shared<P>>,
    id: String,
    task: SharedTask<P::Machine>,
}

impl<P: Performer> Tasks<P> {
    /// Takes an ended task.
    pub fn claim(&self, dir: &TaskDir) -> Result<Claim<'_, P>, TaskError> {
        let (shared, id) = (&self.shared, dir.id());
        loop {
            let task = shared.current(dir)?;
            let open = lock_task(&task);
            let mut state = shared.lock();
            let Some(slot) = state.tasks.get(id).filter(|slot| Arc::ptr_eq(&slot.task, &task)) else { continue };
            if !open.machine().has_ended() {
                return Err(TaskError::StillRunning);
            }
            if slot.in_flight.is_none() {
                state.tasks.remove(id);
                state.claimed.insert(id.to_owned());
                drop((state, open));
                return Ok(Claim { shared, id: id.to_owned(), task });
            }
            // A task ends with a record; the thread that wrote it, or a cancelled process, takes a moment longer.
            drop(open);
            let waited = shared.changed.wait_timeout(state, END_TIMEOUT).unwrap_or_else(PoisonError::into_inner);
            if waited.1.timed_out() {
                return Err(TaskError::StillRunning);
            }
        }
    }
}

impl<P: Performer> Claim<'_, P> {
    pub fn task(&self) -> MutexGuard<'_, OpenTask<P::Machine>> {
        lock_task(&self.task)
    }

    /// Records what became of the result.
    pub fn observe(&self, fact: <P::Machine as Machine>::Fact) -> Result<P::Summary, TaskError> {
        let mut open = self.task();
        self.shared.record(&mut open, Record::Observed { fact })?;
        let summary = P::summary(open.view());
        drop(open);
        self.shared.notify_host(&self.id);
        Ok(summary)
    }
}

impl<P: Performer> Drop for Claim<'_, P> {
    fn drop(&mut self) {
        self.shared.lock().claimed.remove(&self.id);
        self.shared.changed.notify_all();
    }
}
