//! The channels, and the registry that builds them from the configuration.

pub mod desktop;
pub mod webhook;

use belay_config::{Config, EnvSnapshot};

use crate::channel::Channel;

/// Builds a channel; `None` if it is not configured.
type Build = fn(&Config, &EnvSnapshot) -> Option<Box<dyn Channel>>;

/// Every channel, in the order in which `belay notify` and `belay doctor` list them.
const REGISTRY: &[Build] = &[desktop::from_config, webhook::from_config];

/// The configured channels, including those that cannot deliver.
pub fn from_config(config: &Config, env: &EnvSnapshot) -> Vec<Box<dyn Channel>> {
    REGISTRY.iter().filter_map(|build| build(config, env)).collect()
}

#[cfg(test)]
mod tests;
