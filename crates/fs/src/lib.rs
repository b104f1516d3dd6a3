//! Files that a repository or another process may have prepared.
//!
//! Belay runs inside projects it does not trust. A name it expects to be a file may be a symbolic link to the user's
//! keys, a FIFO whose open blocks, a device, or a file of several gigabytes. Everything that Belay reads or writes
//! below a project goes through this crate:
//!
//! - [`open_regular`] and [`read_regular`] never block and accept regular files only. [`Links::Refuse`] also refuses a
//!   symbolic link as the last component of the path; use it for everything inside a project. [`Links::Follow`] is for
//!   files in the user's own directories, such as transcripts.
//! - [`Dir::open_below`] opens a directory inside a project and refuses a link anywhere between the two.
//!   Its methods read and replace files by name, relative to the open directory.
//! - [`replace_file`] writes a new file and renames it over the old name. It replaces a link instead of following it.
//! - [`repository::Repository`] finds the repository of a directory.
//! - [`atomic_write`] does the same for the user's own configuration, where a link is followed: people keep such files
//!   in another directory and link to them.

mod dir;
mod open;
pub mod repository;
mod write;

pub use dir::Dir;
pub use open::{Links, open_regular, read_regular, read_regular_text};
pub use write::{FileMode, atomic_write, replace_file, resolve_link};

#[cfg(test)]
mod tests;
