//! Settings files of users.

use belay_agents::install::jsonc_edit::JsoncDocument;
use serde_json::{Value, json};

use crate::text::valid_prefix;

/// Any text is a settings file or is refused; entries that are appended and removed leave it as it was.
pub(crate) fn settings_file(data: &[u8]) {
    let text = valid_prefix(data);
    let Ok(mut document) = JsoncDocument::new(text) else { return };
    let entry = json!({ "hooks": [{ "type": "command", "command": "belay" }] });
    let is_ours = |value: &Value| *value == entry;
    let original = document.text().to_owned();
    if text.contains("belay") || document.remove(&["hooks"], is_ours) != Ok(0) {
        return;
    }
    assert_eq!(document.text(), original, "nothing to remove, nothing changed");
    let root = document.get(&[]);
    let had_hooks = document.get(&["hooks"]).is_some();
    let paths: [&[&str]; 2] = [&["hooks", "Stop"], &["hooks", "PreToolUse"]];
    if paths.iter().any(|path| document.append(path, &entry).is_err()) {
        return;
    }
    for path in paths {
        let list = document.get(path);
        assert_eq!(list.as_ref().and_then(|list| list.as_array()?.last()), Some(&entry));
    }
    assert_eq!(document.remove(&["hooks"], is_ours), Ok(2));
    if had_hooks {
        // A list that was empty before is removed with the entry.
        let strip_hooks = |root: Option<Value>| {
            let mut root = root.unwrap_or_default();
            root.as_object_mut().map(|members| members.remove("hooks"));
            root
        };
        assert_eq!(strip_hooks(document.get(&[])), strip_hooks(root));
        return;
    }
    assert_eq!(document.get(&[]), root);
    // White space inside an empty object is not restored.
    let ink = |text: &str| text.split_ascii_whitespace().collect::<String>();
    assert_eq!(ink(document.text()), ink(&original));
    if root.as_ref().and_then(Value::as_object).is_some_and(|members| !members.is_empty()) {
        assert_eq!(document.text(), original);
    }
}
