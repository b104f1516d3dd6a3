//! What the next session should know about those before it.

use belay_agents::hook::Heard;
use belay_core::Time;

use crate::ground;
use crate::watch::Watch;

/// More of them would be noise.
const SHOWN: usize = 3;

/// What to tell a session that begins; `None` when nothing happened before it.
pub(crate) fn remind(watch: &mut dyn Watch, heard: &Heard, now: Time) -> Option<String> {
    let project = ground::project_of(heard.cwd.as_deref()?)?;
    let mut stones = watch.tombstones(&project, now);
    stones.retain(|stone| Some(&stone.session) != heard.session.as_ref());
    stones.truncate(SHOWN);
    if stones.is_empty() {
        return None;
    }
    let mut text = String::from(
        "Note from Belay: an earlier session in this project was stopped because it went in circles. \
         Do not repeat what it did; look for the cause first.",
    );
    for stone in stones {
        text.push_str("\n- ");
        text.push_str(&stone.message);
    }
    Some(text)
}
