//! Tests of core's public interface: events in, decisions out.

mod budgets;
mod denied;
mod moments;
mod policy;
mod purity;
mod scenarios;
mod script;
mod sensors;
mod session;
mod wording;
