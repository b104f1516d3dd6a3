use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn written(value: &impl Serialize) -> String {
    let mut out = "what was there before".to_owned();
    write(value, &mut out).unwrap();
    out
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
        any::<String>().prop_map(Value::from),
        r#"[ a"\\\n\t\u{1}\u{7f}é]{0,40}"#.prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        let key = r#"[ a"\\\né]{0,12}"#;
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(key, inner, 0..6).prop_map(|map| json!(map)),
        ]
    })
}

proptest! {
    #[test]
    fn it_writes_what_serde_json_writes(value in values()) {
        prop_assert_eq!(written(&value), serde_json::to_string(&value).unwrap());
    }

    #[test]
    fn every_byte_is_looked_at_wherever_it_stands(before in 0..20_usize, byte in 0..128_u8, after in 0..20_usize) {
        let text = format!("{}{}{}", "x".repeat(before), char::from(byte), "é".repeat(after));
        prop_assert_eq!(written(&text), serde_json::to_string(&text).unwrap());
    }
}

#[test]
fn the_shapes_of_events_are_not_left_to_another() {
    #[derive(Serialize)]
    #[serde(rename_all = "snake_case")]
    enum Word {
        FromHere,
    }
    #[derive(Serialize)]
    struct Shape<'a> {
        word: Word,
        none: Option<u8>,
        some: Option<i32>,
        is: bool,
        list: Vec<&'a str>,
        #[serde(flatten)]
        rest: BTreeMap<&'a str, u64>,
    }
    let shape = Shape {
        word: Word::FromHere,
        none: None,
        some: Some(-1),
        is: true,
        list: vec!["a\"b", ""],
        rest: BTreeMap::from([("x", u64::MAX)]),
    };
    assert!(is_quick(&shape));
    let json = r#"{"word":"from_here","none":null,"some":-1,"is":true,"list":["a\"b",""],"x":18446744073709551615}"#;
    assert_eq!(written(&shape), json);
}

#[test]
fn what_is_unusual_is_written_all_the_same() {
    let by_number = BTreeMap::from([(1, 2.5), (2, 0.5)]);
    assert!(!is_quick(&by_number) && !is_quick(&("a", 1)));
    assert_eq!(written(&by_number), r#"{"1":2.5,"2":0.5}"#);
    assert_eq!(written(&("a", 1)), r#"["a",1]"#);
    let refused = BTreeMap::from([(vec![1], 2)]);
    assert!(write(&refused, &mut String::new()).is_err());
}
