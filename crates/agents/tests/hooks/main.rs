//! Every hook dialect on recorded payloads: what is heard, and what is answered.

mod goldens;
mod mutations;
mod plugin;
mod support;
mod validity;
