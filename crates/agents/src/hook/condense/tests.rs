use belay_core::Digest;
use belay_core::event::ToolReturned;
use serde_json::{Value, json};

use super::{EndScanner, MAX_FIELD_NODES, MAX_PAYLOAD_BYTES, condense, digest_of, unit_start};

fn condensed(payload: &Value) -> Value {
    let text = condense(payload.to_string().as_bytes()).expect("an object");
    serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&text)))
}

fn nodes(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(nodes).sum(),
        Value::Object(object) => object.values().map(nodes).sum(),
        _ => 0,
    }
}

#[test]
fn ordinary_payloads_do_not_change() {
    let payload = json!({
        "session_id": "s", "n": -1.5e3, "t": true, "z": null, "empty": {}, "list": [], "é\"\\": "\u{1F600}\n\"",
        "tool_response": { "content": [{ "type": "text", "text": "x".repeat(100_000) }], "n": [[[1]]] },
    });
    assert_eq!(condensed(&payload), payload);
    let spaced = serde_json::to_vec_pretty(&payload).expect("JSON");
    assert_eq!(condense(&spaced), Some(payload.to_string().into_bytes()));
}

#[test]
fn many_small_objects_are_bounded_and_the_other_fields_stay() {
    let objects = |last: usize| -> Vec<Value> {
        (0..65_000).map(|n| json!({ "id": n, "ok": true, "tags": ["a", "b"] })).chain([json!(last)]).collect()
    };
    let payload = |last| json!({ "tool_response": { "structuredContent": objects(last) }, "session_id": "s" });
    let first = condensed(&payload(1));
    assert_eq!(first["session_id"], "s");
    assert!(nodes(&first) < MAX_FIELD_NODES + 16, "{} nodes", nodes(&first));
    assert_eq!(first["tool_response"]["structuredContent"][0]["id"], 0);
    assert_eq!(first, condensed(&payload(1)), "equal payloads stay equal");
    assert_ne!(first, condensed(&payload(2)), "different payloads stay different");
}

#[test]
fn the_size_of_any_payload_is_bounded() {
    let long = "x".repeat(200_000);
    let fields =
        |count: usize, value: Value| Value::Object((0..count).map(|n| (format!("f{n}"), value.clone())).collect());
    let hostile = [
        fields(100_000, json!("y".repeat(100))),
        fields(100, json!([long, long, long, long])),
        fields(2000, json!(vec![json!({}); 100])),
        json!({ "a": fields(100_000, json!(1)) }),
        json!({ ("k".repeat(5_000_000)): 1 }),
    ];
    for payload in hostile {
        let text = condense(payload.to_string().as_bytes()).expect("an object");
        assert!(text.len() < MAX_PAYLOAD_BYTES + 768 * 1024, "{} bytes", text.len());
        let value: Value = serde_json::from_slice(&text).expect("JSON");
        assert!(nodes(&value) < 20_000, "{} nodes", nodes(&value));
    }
    let number = format!("{{\"n\":{}}}", "1".repeat(1_000_000));
    assert!(condense(number.as_bytes()).expect("an object").len() < 200);
    let deep = format!("{{\"session_id\":\"s\",\"d\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let value: Value = serde_json::from_slice(&condense(deep.as_bytes()).expect("an object")).expect("JSON");
    assert_eq!(value["session_id"], "s");
}

#[test]
fn a_tool_input_is_condensed_equally_by_each_hook() {
    let input = json!({ "content": "line\n".repeat(60_000), "path": "/a" });
    let before = condensed(&json!({ "tool_input": input }));
    let after = condensed(&json!({ "tool_input": input, "tool_response": vec![json!({ "x": 1 }); 50_000] }));
    assert_eq!(before["tool_input"], after["tool_input"]);
}

fn ascii_json(text: &str) -> String {
    let unit = |unit: u16| match u8::try_from(unit) {
        Ok(byte) if byte.is_ascii() => char::from(byte).to_string(),
        _ => format!("\\u{unit:04x}"),
    };
    Value::String(text.to_owned()).to_string().encode_utf16().map(unit).collect()
}

#[test]
fn strings_are_cut_between_escapes_and_characters() {
    let text = "a\u{1F600}é\n\u{1}\\\"\\u1F600\u{1F600}\u{1F600}\\\\n";
    for json in [Value::String(text.to_owned()).to_string(), ascii_json(text)] {
        let raw = &json[1..json.len() - 1];
        for target in 0..=raw.len() {
            let cut = unit_start(raw.as_bytes(), target);
            assert!(cut >= target);
            for part in [raw.get(..cut), raw.get(cut..)] {
                let part = part.unwrap_or_else(|| panic!("inside a character: {target}"));
                assert!(serde_json::from_str::<String>(&format!("\"{part}\"")).is_ok(), "{target}: {part}");
            }
        }
    }
}

#[test]
fn a_long_string_keeps_its_ends_and_its_digest() {
    for unit in ["\u{1F600}", "é\n", "a\"\\"] {
        let text = format!("head{}tail", unit.repeat(200_000 / unit.len()));
        for json in [Value::String(text.clone()).to_string(), ascii_json(&text)] {
            let output = condense(format!("{{\"t\":{json}}}").as_bytes()).expect("an object");
            let value: Value = serde_json::from_slice(&output).expect("JSON");
            let short = value["t"].as_str().expect("a string");
            assert!(short.len() < 128 * 1024 && short.starts_with("head") && short.ends_with("tail"));
            assert_eq!(digest_of(short), Digest::from_bytes(&text));
        }
    }
}

#[test]
fn a_text_that_quotes_the_marker_has_its_own_digest() {
    let marker = "\n[belay: 200000 bytes, digest 0123456789abcdef]\n";
    let (head, tail) = ("h".repeat(1000), "t".repeat(1000));
    for text in
        [marker.to_owned(), format!("{head}{marker}{tail}"), format!("{head}{marker}"), format!("{marker}{tail}")]
    {
        assert_eq!(digest_of(&text), Digest::from_bytes(&text));
    }
    // A long text that quotes it keeps its own, too.
    let text = format!("{marker}{}", "line\n".repeat(60_000));
    let short = condensed(&json!({ "t": text }));
    assert_eq!(digest_of(short["t"].as_str().expect("a string")), Digest::from_bytes(&text));
}

#[test]
fn the_outcome_of_a_long_output_does_not_depend_on_its_omitted_middle() {
    let output = |noise: usize| {
        let line = "\u{1b}[32mok\u{1b}[0m some/test::name passed\n";
        format!("{}{noise}\n{}FAILED tests/a.rs::one\n", line.repeat(6000), line.repeat(6000))
    };
    let outcome = |noise| {
        let payload = condensed(&json!({ "output": output(noise) }));
        ToolReturned::new(None, None, Some(1), payload["output"].as_str().expect("text")).outcome
    };
    let complete = ToolReturned::new(None, None, Some(1), &output(1)).outcome;
    assert_eq!((outcome(1).digest, outcome(1).checks), (complete.digest, complete.checks));
    assert_eq!(outcome(1).digest, outcome(2).digest);
}

#[test]
fn what_is_not_an_object_is_refused() {
    for text in ["", "null", "[1]", "{", "{\"a\":1", "{\"a\" 1}", "{\"a\":1}}", "{a:1}", "{\"a\":[}", "{\"a\":\"\\"] {
        let invalid = condense(text.as_bytes()).is_none_or(|out| serde_json::from_slice::<Value>(&out).is_err());
        assert!(invalid, "{text}");
    }
}

#[test]
fn the_end_of_an_object_is_found_in_any_pieces() {
    let text = br#"{"a":"}\"]\\","b":[{"c":"\u007d"}]} rest"#;
    let end = text.len() - " rest".len();
    for size in 1..text.len() {
        let mut scanner = EndScanner::default();
        let mut read = 0;
        let found = text.chunks(size).find_map(|piece| {
            let found = scanner.feed(piece).map(|length| read + length);
            read += piece.len();
            found
        });
        assert_eq!(found, Some(end), "pieces of {size}");
    }
}
