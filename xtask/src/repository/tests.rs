use super::{files, read};

/// Long enough for a table or a test file; a longer file has more than one subject.
const MAX_LINES: usize = 500;

#[test]
fn no_file_has_conflict_markers() {
    let is_marker = |line: &str| {
        let side = ["<<<<<<< ", ">>>>>>> "].iter().find_map(|marker| line.strip_prefix(marker));
        // Aider's edit blocks use the same signs.
        side.is_some_and(|name| !["SEARCH", "REPLACE"].contains(&name))
    };
    let files = files().unwrap();
    let conflicts: Vec<_> = files.iter().filter(|file| read(file).unwrap().lines().any(is_marker)).collect();
    assert!(conflicts.is_empty(), "files with conflict markers: {conflicts:?}");
}

#[test]
fn source_files_are_short() {
    let files = files().unwrap();
    let sources = files.iter().filter(|file| file.ends_with(".rs"));
    let lengths = sources.map(|file| (file, read(file).unwrap().lines().count()));
    let long: Vec<_> = lengths.filter(|(_, lines)| *lines > MAX_LINES).collect();
    assert!(long.is_empty(), "files with more than {MAX_LINES} lines: {long:?}");
}
