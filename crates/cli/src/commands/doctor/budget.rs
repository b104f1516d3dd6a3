//! Budgets in US dollars that meet models without a price.

use std::collections::BTreeSet;

use belay_core::prices::{ASSUMED_PRICE_PHRASE, ModelPrice};
use belay_core::rules::UnknownModel;
use belay_core::session::Budget;
use belay_store::{Access, SessionQuery, Store};

use super::CheckResult;
use crate::commands::budget::rules_here;
use crate::context::Context;

/// Maximum number of recent sessions that are checked.
const MAX_SESSIONS: usize = 200;

pub(super) fn unpriced_models(context: &Context) -> Vec<CheckResult> {
    const CHECK: &str = "budget";
    let Ok(rules) = rules_here(context) else { return Vec::new() };
    let Ok(store) = belay_store::open(&context.store_url(), Access::Read) else { return Vec::new() };
    let limited = rules.budget.has_money_limit();
    let models = recent_models(&*store, limited);
    let unpriced: Vec<String> =
        models.into_iter().filter(|model| ModelPrice::for_model(model, &rules.prices).is_none()).collect();
    if unpriced.is_empty() {
        return Vec::new();
    }
    let effect = match rules.budget.unknown_model {
        UnknownModel::Estimate => {
            format!("budgets in US dollars assume a price: {ASSUMED_PRICE_PHRASE}, and more for a `pro` model")
        }
        UnknownModel::Refuse => "sessions with a budget in US dollars are paused before they use it".to_owned(),
        UnknownModel::Ignore => "budgets in US dollars do not limit it".to_owned(),
    };
    let row = CheckResult::warning(CHECK, format!("no price for {}; {effect}", unpriced.join(", ")));
    vec![row.fix("add a price: [[detect.prices]] in the configuration; see docs/guides/run.md")]
}

/// Models of recent sessions with a limit in US dollars.
fn recent_models(store: &dyn Store, all: bool) -> BTreeSet<String> {
    let query = SessionQuery { limit: MAX_SESSIONS, ..SessionQuery::default() };
    let Ok(page) = store.sessions(&query) else { return BTreeSet::new() };
    let limited =
        page.rows.into_iter().filter(|row| all || matches!(row.details.budget, Budget { cost_micros: Some(_), .. }));
    limited.filter_map(|row| row.details.facts.unpriced_model).collect()
}
