//! The SQLite backend, and a check that no other crate names it.

mod backend_names;
mod sqlite_conformance;
mod sqlite_file;
