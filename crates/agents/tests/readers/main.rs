//! The transcript readers on whole files.

mod common;
mod damage;
mod goldens;
