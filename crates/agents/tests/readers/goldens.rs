//! Recorded (and, for old versions, written) session files, and the events they are read as. Every file under
//! `fixtures` has a snapshot; a file that no format recognises fails.

use std::path::Path;

#[test]
fn session_files_read_as_recorded() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let files = super::common::files(&root);
    assert!(!files.is_empty());
    for path in files {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let (events, stats) = super::common::read(&super::common::materialise(&path, dir.path()));
        let name = path.strip_prefix(&root).expect("below the root").to_string_lossy().replace(['/', '\\'], "__");
        insta::assert_snapshot!(name, super::common::render(&events, &stats).replace(&*root.to_string_lossy(), ""));
    }
}
