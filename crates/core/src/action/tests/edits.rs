//! Edits, their inverses and near-repeats.

use serde_json::json;

use super::action;

#[test]
fn an_edit_and_its_inverse() {
    let there = action("Edit", json!({"file_path": "a.rs", "old_string": "let x = 1;", "new_string": "let x = 2;"}));
    let back = action("Edit", json!({"file_path": "a.rs", "old_string": "let x = 2;", "new_string": "let x = 1;"}));
    assert!(there.hunk.unwrap().is_inverse_of(&back.hunk.unwrap()));
    assert!(!there.hunk.unwrap().is_inverse_of(&there.hunk.unwrap()));
    assert_eq!(there.target, back.target);
    assert!(there.mutates);
}

#[test]
fn an_empty_edit_is_not_an_inverse() {
    let void = action("Edit", json!({"file_path": "a.rs", "old_string": "x", "new_string": "x"}));
    assert!(void.hunk.unwrap().is_empty());
    assert!(!void.hunk.unwrap().is_inverse_of(&void.hunk.unwrap()));
}

#[test]
fn insertions_that_differ_in_line_and_indentation_only_share_a_skeleton() {
    let at = |line: u32, indent: &str| {
        let text = format!("{indent}return value");
        action(
            "str_replace_editor",
            json!({"command": "insert", "path": "/a.py", "insert_line": line, "new_str": text}),
        )
    };
    assert_ne!(at(464, "    ").key, at(466, "    ").key);
    assert_eq!(at(464, "    ").skeleton, at(466, "        ").skeleton);
    assert_eq!(at(464, "").shape, at(999, "").shape);
}

#[test]
fn patches_yield_file_and_both_sides() {
    let patch = "*** Begin Patch\n*** Update File: src/a.rs\n@@\n context\n-let x = 1;\n+let x = 2;\n*** End Patch";
    let custom = action("apply_patch", json!(patch));
    let wrapped = action("apply_patch", json!({"input": patch}));
    assert_eq!(custom.hunk, wrapped.hunk);
    assert_eq!(
        custom.target,
        action("Edit", json!({"file_path": "src/a.rs", "old_string": "a", "new_string": "b"})).target
    );
    let back = patch.replace("-let x = 1;\n+let x = 2;", "-let x = 2;\n+let x = 1;");
    assert!(action("apply_patch", json!(back)).hunk.unwrap().is_inverse_of(&custom.hunk.unwrap()));
}

#[test]
fn several_edits_in_one_call() {
    let edits = |new: &str| {
        action(
            "MultiEdit",
            json!({"file_path": "a", "edits": [{"old_string": "x", "new_string": new}, {"old_string": "p", "new_string": "q"}]}),
        )
    };
    assert_ne!(edits("y").hunk, edits("z").hunk);
    assert_eq!(edits("y").target, edits("z").target);
}

#[test]
fn a_write_has_no_previous_text() {
    let write = action("Write", json!({"file_path": "a", "content": "one"}));
    assert_eq!(write.hunk.unwrap().before, None);
    assert_ne!(write.hunk, action("Write", json!({"file_path": "a", "content": "two"})).hunk);
}

#[test]
fn a_reworded_edit_is_similar() {
    let edit = |old: &str| {
        action(
            "str_replace_editor",
            json!({"command": "str_replace", "path": "/a.py", "old_str": old, "new_str": "return self._cache.get(key, default)"}),
        )
    };
    let a = edit("def get(self, key, default=None):\n    value = self._load(key)\n    return value or default");
    let b = edit("  def get(self, key, default=None):\n      value = self._load(key)\n      return value or default\n");
    let c = edit("class Registry(object):\n    _instances = weakref.WeakValueDictionary()");
    assert!(a.similarity(&b) > 0.9, "{}", a.similarity(&b));
    assert!(a.similarity(&c) < a.similarity(&b));
}
