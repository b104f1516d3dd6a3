//! The transcript readers on complete files.

mod common;
mod damage;
mod goldens;
