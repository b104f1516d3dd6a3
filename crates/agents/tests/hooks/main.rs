//! Every hook protocol on recorded payloads: parsed events and encoded replies.

mod goldens;
mod mutations;
mod plugin;
mod support;
mod unreported;
mod validity;
