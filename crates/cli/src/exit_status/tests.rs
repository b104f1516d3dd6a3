use super::*;

#[test]
fn the_reference_page_is_current() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/exit-codes.md");
    if std::env::var_os("BELAY_BLESS").is_some() {
        std::fs::write(&path, reference_page()).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap_or_default(), reference_page(), "run with BELAY_BLESS=1");
}

#[test]
fn usage_errors_are_what_clap_says_they_are() {
    assert_eq!(ExitStatus::Usage.code(), 2);
}
