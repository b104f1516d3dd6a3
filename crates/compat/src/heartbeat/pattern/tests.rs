use super::*;

#[test]
fn a_pattern_file_becomes_a_custom_pattern() {
    let file = r#"{"name": "grep-spiral", "display_name": "Grep Spiral", "description": "x", "tools": ["Grep", "Search"],
        "nudge": "You searched for {target} {threshold}+ times.", "severity": "warning"}"#;
    let pattern = parse_pattern(file).unwrap();
    assert_eq!(pattern.name, "grep_spiral");
    assert_eq!(pattern.tools, ["Grep", "Search"]);
    assert_eq!(pattern.message, "Grep Spiral: You searched for {target} {threshold}+ times.");
    assert_eq!((pattern.threshold, pattern.window, pattern.same), (3, 20, GroupBy::Outcome));
    insta::assert_snapshot!(parse_pattern("{}").unwrap_err(), @"name: is missing");
    insta::assert_snapshot!(parse_pattern(r#"{"name": "x"}"#).unwrap_err(), @"nudge: is missing; it is the message to the agent");
    insta::assert_snapshot!(parse_pattern("nonsense").unwrap_err(), @"pattern file: is not a heartbeat pattern: expected ident at line 1 column 2");
}
