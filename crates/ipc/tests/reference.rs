//! `docs/reference/socket.md` documents every operation and every error code.

#![expect(clippy::unwrap_used, reason = "a page without its table should fail the test")]

use belay_ipc::{ErrorCode, Operation};
use serde::de::DeserializeOwned;

/// The names of an enum's variants, as serde lists them in its error.
fn variants<T: DeserializeOwned>(unknown: &str) -> Vec<String> {
    let error = serde_json::from_str::<T>(unknown).err().map(|error| error.to_string()).unwrap_or_default();
    let (_, names) = error.split_once("expected one of ").unwrap();
    names.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The first column of a table, by its heading.
fn documented(heading: &str) -> Vec<String> {
    let page = include_str!("../../../docs/reference/socket.md");
    let rows = page.lines().skip_while(|line| !line.starts_with(&format!("| {heading} |"))).skip(2);
    rows.take_while(|line| line.starts_with('|')).map(|row| row.split('`').nth(1).unwrap().to_owned()).collect()
}

#[test]
fn every_operation_is_documented_in_order() {
    assert_eq!(documented("op"), variants::<Operation>(r#"{"op":"?","params":{}}"#));
}

#[test]
fn every_error_code_is_documented_in_order() {
    assert_eq!(documented("error code"), variants::<ErrorCode>("\"?\""));
}
