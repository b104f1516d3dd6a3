//! The patterns: same action, same outcome, no progress in between.
