//! The transcript readers on complete files.

mod codex_usage;
mod common;
mod damage;
mod goldens;
