//! Any text as the output of a tool, any text as its input.
#![no_main]

use belay_core::event::{ToolCalled, ToolReturned};
use serde_json::Value;

libfuzzer_sys::fuzz_target!(|texts: (&str, &str, &str)| {
    let (name, input, output) = texts;
    let value = serde_json::from_str(input).unwrap_or_else(|_| Value::from(input));
    let called = ToolCalled::new(None, None, name, &value);
    assert_eq!(called, ToolCalled::new(None, None, name, &value));
    let returned = ToolReturned::new(None, None, None, output);
    assert_eq!(returned.outcome, ToolReturned::new(None, None, None, output).outcome);
});
