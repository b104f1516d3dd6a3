use proptest::prelude::*;
use serde_json::json;

use super::*;

proptest! {
    #[test]
    fn a_string_is_what_serde_json_says_it_is(text in prop_oneof![any::<String>(), r#"[a"\\/\n\t\r\u{8}\u{c}\u{1}é]{0,30}"#]) {
        for raw in [json!(text).to_string(), json!(text).to_string().replace('/', "\\/").replace('a', "\\u0061")] {
            let expected: Option<String> = serde_json::from_str(&raw).ok();
            prop_assert_eq!(parse_str(raw.as_bytes()).map(Cow::into_owned), expected, "{}", raw);
        }
    }

    #[test]
    fn the_next_quote_is_found_wherever_it_stands(before in 0..70_usize, rest in r#"["\\\u{a2}\u{dc}!#\[\]a]{0,12}"#) {
        let text = format!("{}{rest}", "x".repeat(before));
        prop_assert_eq!(quote(text.as_bytes()), text.find('"'));
    }

    #[test]
    fn a_string_ends_where_serde_json_says_it_ends(text in r#"[a"\\é\n]{0,40}"#, after in r#"["\\,}a]{0,12}"#) {
        let raw = json!(text).to_string();
        let whole = format!("{raw}{after}");
        prop_assert_eq!(JsonCursor::new(whole.as_bytes(), 0).skip_value(), Some(0..raw.len()), "{}", whole);
        for half in 1..raw.len() {
            prop_assert_eq!(JsonCursor::new(&raw.as_bytes()[..half], 0).skip_value(), None, "{} of {}", half, raw);
        }
    }

    #[test]
    fn whatever_comes_is_read_or_refused(bytes in prop::collection::vec(prop::sample::select(br#"{}[]":,\ a7"#.to_vec()), 0..40)) {
        let _ = (parse_str(&bytes), pick(&bytes, ["a", ""]), array_fields(&bytes, ["a"]).count(), field(&bytes, "a"));
    }
}

#[test]
fn a_string_without_escapes_is_not_copied() {
    assert!(matches!(parse_str(br#""as it is""#), Some(Cow::Borrowed("as it is"))));
    for none in [&b"7"[..], b"null", b"\"", b"", b"\"\xff\"", br#""half\u12""#, br#""\x""#] {
        assert_eq!(parse_str(none), None, "{}", String::from_utf8_lossy(none));
    }
}

#[test]
fn fields_are_picked_in_whatever_order_they_come() {
    let object = br#" { "b" : [1, {"a": "no"}], "c": null, "a": "x", "d": {} } "#;
    assert_eq!(pick(object, ["a", "b", "c", "e"]), Some([&b"\"x\""[..], br#"[1, {"a": "no"}]"#, b"", b""]));
    assert_eq!(pick(b"[1]", ["a"]), None);
    assert_eq!(pick(br#"{"a":"#, ["a"]), None);
}

#[test]
fn objects_of_a_list_are_picked_one_by_one() {
    let list = |text: &'static str| array_fields(text.as_bytes(), ["a", "b"]).collect::<Vec<_>>();
    let text = r#" [1, {"a": "}]"}, "{", {"c": {"a": 2}}, [{"a": 3}], null , {"b" :[4],"a":null}] "#;
    assert_eq!(list(text), [[&b"\"}]\""[..], b""], [b"", b""], [b"", b"[4]"]]);
    for nothing in ["[]", "{}", "", "[", r#"{"a": 1}"#, r#"[{"a": 1"#, r#"[{"a" 1}]"#] {
        assert!(list(nothing).is_empty(), "{nothing}");
    }
    assert_eq!(list(r#"[{"a": 1}, {"a": "half"#), [[&b"1"[..], b""]]);
}
