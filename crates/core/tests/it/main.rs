//! The public interface of core: events in, decisions out.

mod budgets;
mod policy;
mod purity;
mod scenarios;
mod script;
mod sensors;
mod session;
mod wording;
