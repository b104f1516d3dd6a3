use proptest::prelude::*;
use serde_json::{Value, json};

use super::JsoncDocument;

fn ours(value: &Value) -> bool {
    value.pointer("/hooks/0/command").is_some_and(|command| command == "belay")
}

fn entry() -> Value {
    json!({ "matcher": "", "hooks": [{ "type": "command", "command": "belay" }] })
}

fn added(text: &str) -> String {
    let mut document = JsoncDocument::new(text).expect("JSON");
    document.append(&["hooks", "PreToolUse"], &entry()).expect("an edit");
    document.append(&["hooks", "Stop"], &entry()).expect("an edit");
    document.text().to_owned()
}

fn removed(text: &str) -> String {
    let mut document = JsoncDocument::new(text).expect("JSON");
    assert_eq!(document.remove(&["hooks"], ours), Ok(2));
    document.text().to_owned()
}

#[test]
fn what_others_wrote_stays_as_it_is() {
    let text = r#"{
    // my model
    "model": "opus",   /* for now */
    "hooks": {
        "Stop": [
            { "hooks": [{ "type": "command", "command": "say done" }] },
        ],
    },
    "zebra": [1, 2]
}
"#;
    let edited = added(text);
    insta::assert_snapshot!(edited, @r#"
    {
        // my model
        "model": "opus",   /* for now */
        "hooks": {
            "Stop": [
                { "hooks": [{ "type": "command", "command": "say done" }] },
                { "hooks": [{ "command": "belay", "type": "command" }], "matcher": "" },
            ],
            "PreToolUse": [{ "hooks": [{ "command": "belay", "type": "command" }], "matcher": "" }],
        },
        "zebra": [1, 2]
    }
    "#);
    let back = removed(&edited);
    assert!(back.contains("say done") && !back.contains("belay"), "{back}");
}

#[test]
fn adding_and_removing_leaves_no_trace() {
    for text in [
        "{}\n",
        "{ }",
        "{\n}\n",
        "{\"a\":1}",
        "{ \"a\": 1 }\n",
        "{\n  \"a\": 1\n}\n",
        "{\n\t\"a\": {\n\t\t\"b\": []\n\t}\n}",
        "{\r\n  \"a\": 1\r\n}\r\n",
    ] {
        let back = removed(&added(text));
        let same: Value = serde_json::from_str(&back).expect("JSON");
        assert_eq!(same, serde_json::from_str::<Value>(text).expect("JSON"), "{text:?} became {back:?}");
        if !text.trim_end().ends_with("{ }") && !text.starts_with("{\n}") {
            assert_eq!(back, text);
        }
    }
}

#[test]
fn an_empty_file_is_an_empty_object() {
    assert_eq!(JsoncDocument::new("").expect("JSON").text(), "{}\n");
    assert_eq!(JsoncDocument::new(" \n").expect("JSON").get(&["hooks"]), None);
}

#[test]
fn what_is_not_as_expected_is_not_touched() {
    let fails = |text: &str| {
        let edited = JsoncDocument::new(text).and_then(|mut d| d.append(&["hooks", "Stop"], &entry()));
        edited.expect_err("no edit").to_string()
    };
    insta::assert_snapshot!(fails(r#"{"hooks": []}"#), @"`hooks` is not an object");
    insta::assert_snapshot!(fails(r#"{"hooks": {"Stop": "x"}}"#), @"`hooks.Stop` is not a list");
    insta::assert_snapshot!(fails("[]"), @"the root is not an object");
    let syntax = |text: &str| JsoncDocument::new(text).expect_err("no JSON").to_string();
    insta::assert_snapshot!(syntax("{\n  \"a\": 1\n  \"b\": 2\n}"), @"line 3: a comma is missing");
    insta::assert_snapshot!(syntax("{\"a\": tru}"), @"line 1: invalid value");
    insta::assert_snapshot!(syntax("{\"a\": \"x"), @"line 1: a string has no end");
    insta::assert_snapshot!(syntax("{} {}"), @"line 1: text follows the root value");
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[ -~äé日\\n]{0,12}".prop_map(Value::from),
    ];
    let tree = leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z]{1,6}", inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    });
    prop::collection::btree_map("[a-z]{1,6}", tree, 0..5).prop_map(|m| Value::Object(m.into_iter().collect()))
}

proptest! {
    #[test]
    fn any_settings_file_survives_init_and_uninit(mut settings in any_json(), pretty in any::<bool>()) {
        settings.as_object_mut().expect("an object").remove("hooks");
        let text = if pretty { serde_json::to_string_pretty(&settings) } else { serde_json::to_string(&settings) };
        let text = text.expect("JSON");
        let edited = added(&text);
        let now: Value = serde_json::from_str(&edited).expect("still JSON");
        for (key, value) in settings.as_object().expect("an object") {
            prop_assert_eq!(&now[key], value);
        }
        prop_assert_eq!(&now["hooks"]["PreToolUse"][0], &entry());
        prop_assert_eq!(removed(&edited), text);
    }

    #[test]
    fn any_comments_survive_init_and_uninit(mut settings in any_json(), marks in any::<u64>(), last in any::<bool>()) {
        settings.as_object_mut().expect("an object").remove("hooks");
        let text = serde_json::to_string_pretty(&settings).expect("JSON");
        let comments = [" // why", " /* why */", "\n    // why", ""];
        let mut commented = String::new();
        for (at, line) in text.lines().enumerate() {
            let comma = last && text.lines().nth(at + 1).is_some_and(|next| next.trim().starts_with(['}', ']']));
            commented.push_str(line);
            commented.push_str(if comma && !line.ends_with(['{', '[']) { "," } else { "" });
            commented.push_str(comments[(marks >> (2 * (at % 32)) & 3) as usize]);
            commented.push('\n');
        }
        let edited = added(&commented);
        prop_assert_eq!(edited.matches("why").count(), commented.matches("why").count());
        prop_assert_eq!(removed(&edited), commented);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[\\[\\]{}\",:/* a1\\\\\\n]{0,40}") {
        let _ = JsoncDocument::new(&text);
    }
}

#[test]
fn comments_stay_where_they_are() {
    let texts = [
        "{\n  \"model\": \"opus\" // the best\n}\n",
        "{\n  \"model\": \"opus\", /* the best */\n}\n",
        "{\n  // nothing yet\n}\n",
        "{\n  \"hooks\": {\n    // none of mine\n  }\n}",
        "{\n  \"model\": \"opus\" /*/ the\n  best */\n}\n",
        "{\n  \"model\": \"opus\" /*/\n  \"best\": 1 */\n}\n",
        "\u{feff}{\r\n\t\"model\": \"opus\",\r\n\r\n}\r\n",
        "{\"a\": 1, \"a\": [[1,], [2]]}",
        "{ \"a\": \"\\ud800\", \"b\": [ ] }",
    ];
    for text in texts {
        let with = added(text);
        assert_eq!(removed(&with).trim_end(), text.trim_end(), "{with}");
    }
    insta::assert_snapshot!(added(texts[0]), @r#"
    {
      "model": "opus", // the best
      "hooks": {
        "PreToolUse": [{ "hooks": [{ "command": "belay", "type": "command" }], "matcher": "" }],
        "Stop": [{ "hooks": [{ "command": "belay", "type": "command" }], "matcher": "" }]
      }
    }
    "#);
}

#[test]
fn comments_others_put_beside_ours_stay() {
    let with = added("{\n  \"model\": \"opus\"\n}\n");
    let with = with.replacen("  \"hooks\"", "  // what watches me\n  \"hooks\"", 1);
    assert_eq!(removed(&with), "{\n  \"model\": \"opus\"\n  // what watches me\n}\n");
    let tight = with.replacen("\n}\n", "}\n", 1);
    assert_eq!(removed(&tight), "{\n  \"model\": \"opus\"\n  // what watches me\n}\n");
}

#[test]
fn lines_end_as_in_the_rest_of_the_file() {
    let text = "{\r\n\t\"model\": \"opus\"\r\n}\r\n";
    let with = added(text);
    assert_eq!(with.matches('\n').count(), with.matches("\r\n").count(), "{with:?}");
    assert_eq!(removed(&with), text);
}

#[test]
fn members_of_the_file_come_and_go() {
    let text = "{\n  \"a\": 1, // one\n  \"b\": 2\n}\n";
    let mut document = JsoncDocument::new(text).expect("JSON");
    document.set_if_absent("line", &json!({ "x": true })).expect("an edit");
    document.set_if_absent("line", &json!(3)).expect("it is there");
    assert_eq!(document.get(&["line", "x"]), Some(true.into()));
    document.remove_member("line").expect("an edit");
    document.remove_member("nothing").expect("no edit");
    assert_eq!(document.text(), text);
}
