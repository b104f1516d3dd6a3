//! The SQLite backend, and the rule that only this crate knows it.

mod backend_names;
mod sqlite_conformance;
mod sqlite_file;
