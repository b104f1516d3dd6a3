//! Readers survive any damage to a session file: no panic, no hang, and all readable records is read.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use proptest::prelude::*;

fn fixtures() -> Vec<PathBuf> {
    static READY: OnceLock<(tempfile::TempDir, Vec<PathBuf>)> = OnceLock::new();
    let (_, files) = READY.get_or_init(|| {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let fixtures = super::common::files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures"));
        let files = fixtures.iter().map(|path| super::common::materialise(path, dir.path())).collect();
        (dir, files)
    });
    files.clone()
}

/// Reads `bytes` under the path `original`, with any format that recognises it.
fn read_damaged(original: &Path, bytes: &[u8]) -> u64 {
    let format = belay_agents::detect_format(original).expect("readable").expect("known");
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join(original.file_name().expect("a name"));
    std::fs::write(&path, bytes).expect("written");
    let mut events = 0;
    // A file may be damaged so far that it cannot be opened (a database); that is an error, not a panic.
    let _ = format.read(&path, &mut |event: belay_core::Event| {
        events += 1;
        let size = serde_json::to_vec(&event).expect("an event serialises").len();
        assert!(size < 32 * 1024, "an event is small whatever the file holds, this one has {size} bytes");
    });
    // Detecting the format must not panic either.
    let _ = belay_agents::detect_format(&path);
    events
}

/// Well-formed but unexpected values.
fn values() -> Vec<String> {
    let odd = ["null", "[]", "{}", "-1", "1e99", "\"\"", "true", "[[{}]]", "\"\\ud800\""];
    odd.iter().map(|value| (*value).to_owned()).chain([format!("\"{}\"", "x".repeat(100_000))]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a_truncated_file_is_read_up_to_the_cut(which in any::<prop::sample::Index>(), cut in 0.0..1.0f64) {
        let files = fixtures();
        let path = which.get(&files);
        let bytes = std::fs::read(path).expect("readable");
        let cut = (bytes.len() as f64 * cut) as usize;
        read_damaged(path, &bytes[..cut]);
    }

    #[test]
    fn damaged_bytes_cost_lines_but_never_the_reader(
        which in any::<prop::sample::Index>(),
        wounds in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
    ) {
        let files = fixtures();
        let path = which.get(&files);
        let mut bytes = std::fs::read(path).expect("readable");
        for (at, byte) in &wounds {
            let at = at.index(bytes.len());
            bytes[at] = *byte;
        }
        read_damaged(path, &bytes);
    }

    #[test]
    fn swapped_pieces_of_json_are_survived(
        which in any::<prop::sample::Index>(),
        from in any::<prop::sample::Index>(),
        to in any::<prop::sample::Index>(),
        value in prop::sample::select(values()),
    ) {
        // Replaces one JSON value of the file by another: well formed, but not what is expected there.
        let files = fixtures();
        let path = which.get(&files);
        let Ok(text) = String::from_utf8(std::fs::read(path).expect("readable")) else { return Ok(()) };
        let starts: Vec<usize> = text.match_indices(':').map(|(at, _)| at + 1).collect();
        prop_assume!(!starts.is_empty());
        let mut text = text.clone();
        for start in [*from.get(&starts), *to.get(&starts)] {
            let Some(rest) = text.get(start..) else { continue };
            let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<serde::de::IgnoredAny>();
            if let Some(Ok(_)) = stream.next() {
                let end = start + stream.byte_offset();
                text.replace_range(start..end, &value);
            }
        }
        read_damaged(path, text.as_bytes());
    }
}

#[test]
fn half_of_a_session_is_still_a_session() {
    for path in fixtures().iter().filter(|path| path.extension().is_some_and(|ext| ext == "jsonl")) {
        let bytes = std::fs::read(path).expect("readable");
        let whole = read_damaged(path, &bytes);
        let mut torn = bytes.clone();
        torn.splice(0..0, b"\xff\xfe\x00garbage\n".iter().copied());
        assert_eq!(read_damaged(path, &torn), whole, "one bad line costs that line only: {}", path.display());
    }
}
