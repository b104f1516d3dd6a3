use std::io::Write;

use super::*;

const TEXT: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"Hello\"}}]}\n\ndata: [DONE]\n\n";

/// `TEXT`, compressed by the reference programs.
const BROTLI_TEXT: &[u8] = &[
    27, 64, 0, 96, 157, 5, 238, 190, 97, 56, 205, 195, 2, 62, 189, 166, 184, 191, 20, 217, 218, 43, 16, 178, 84, 232,
    234, 75, 29, 145, 62, 216, 128, 3, 246, 113, 192, 231, 104, 28, 60, 100, 165, 61, 19, 233, 70, 192, 234, 54, 90,
    154, 201, 180, 226, 239, 138, 255, 166, 215, 13, 27, 78, 0,
];
const ZSTD_TEXT: &[u8] = &[
    40, 181, 47, 253, 4, 88, 9, 2, 0, 100, 97, 116, 97, 58, 32, 123, 34, 99, 104, 111, 105, 99, 101, 115, 34, 58, 91,
    123, 34, 100, 101, 108, 116, 97, 34, 58, 123, 34, 99, 111, 110, 116, 101, 110, 116, 34, 58, 34, 72, 101, 108, 108,
    111, 34, 125, 125, 93, 125, 10, 10, 100, 97, 116, 97, 58, 32, 91, 68, 79, 78, 69, 93, 10, 10, 220, 214, 143, 253,
];

fn unpacked(encoding: &str, packed: &[u8], piece: usize) -> Option<String> {
    let mut decoded = ContentDecoder::new(Some(encoding))?;
    let mut out = Vec::new();
    for piece in packed.chunks(piece) {
        if !decoded.feed(piece, &mut |bytes| out.extend_from_slice(bytes)) {
            return None;
        }
    }
    String::from_utf8(out).ok()
}

fn gzip(text: &str) -> Vec<u8> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(text.as_bytes()).unwrap();
    gzip.finish().unwrap()
}

#[test]
fn every_encoding_that_agents_accept_is_read_however_it_is_cut() {
    let gzip = gzip(TEXT);
    for (encoding, packed) in [("gzip", gzip.as_slice()), ("br", BROTLI_TEXT), ("zstd", ZSTD_TEXT)] {
        for piece in 1..=packed.len() {
            assert_eq!(unpacked(encoding, packed, piece).as_deref(), Some(TEXT), "{encoding} in pieces of {piece}");
        }
    }
}

#[test]
fn a_long_answer_is_read_to_its_end() {
    let long = (0..40_000).map(|n| format!("data: {n}\n\n")).collect::<String>();
    let packed = ruzstd::encoding::compress_to_vec(long.as_bytes(), ruzstd::encoding::CompressionLevel::Fastest);
    assert_eq!(unpacked("zstd", &packed, 1000).as_deref(), Some(long.as_str()));
    assert_eq!(unpacked("gzip", &gzip(&long), 1000).as_deref(), Some(long.as_str()));
}

/// The content of `recorded.zst`. The reference library compressed it in batches of twelve events, flushed after each
/// and with a checksum, in the smallest window, which must be drained repeatedly. Most of its blocks refer to a table
/// of an earlier one.
fn recorded() -> Vec<String> {
    let words = "the a port test file error line is was not found in of and to run again read write open close same other \
                 result value";
    let words: Vec<&str> = words.split_whitespace().collect();
    let event = |n: u64| {
        let mut state = n.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
        let word = |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            words[(state >> 33) as usize % words.len()]
        };
        let text: Vec<&str> = (0..6 + n % 7).map(word).collect();
        format!("data: {{\"n\":{n},\"text\":\"{}\"}}\n\n", text.join(" "))
    };
    (0..160).map(event).collect()
}

const RECORDED: &[u8] = include_bytes!("recorded.zst");

#[test]
fn zstandard_is_read_while_it_comes() {
    let dozens: Vec<String> = recorded().chunks(12).map(<[String]>::concat).collect();
    for piece in [1, 7, 1000, RECORDED.len()] {
        assert_eq!(unpacked("zstd", RECORDED, piece), Some(dozens.concat()), "in pieces of {piece}");
    }
    let mut decoded = ContentDecoder::new(Some("zstd")).unwrap();
    let (mut shown, mut whole) = (Vec::new(), 0);
    for byte in RECORDED {
        assert!(decoded.feed(&[*byte], &mut |bytes| shown.extend_from_slice(bytes)));
        if decoded.append_final_block("the end", 0).is_some() {
            // At a block boundary, everything flushed has been decoded.
            whole += usize::from(
                dozens
                    .iter()
                    .scan(0, |end, dozen| {
                        *end += dozen.len();
                        Some(*end)
                    })
                    .any(|end| end == shown.len()),
            );
        }
        assert!(decoded.buffered_bytes() <= 16 * 1024, "{}", decoded.buffered_bytes());
    }
    assert_eq!(whole, dozens.len());
}

#[test]
fn frames_may_follow_one_another() {
    let twice = [ZSTD_TEXT, ZSTD_TEXT].concat();
    for piece in 1..=twice.len() {
        assert_eq!(unpacked("zstd", &twice, piece), Some([TEXT, TEXT].concat()), "in pieces of {piece}");
    }
}

#[test]
fn what_is_only_packed_to_keep_us_busy_is_not_read() {
    let mut decoded = ContentDecoder::new(Some("zstd")).unwrap();
    assert!(decoded.feed(&[0x28, 0xb5, 0x2f, 0xfd, 0, 0x58], &mut |_| {}));
    let runs = [&[2, 0, 16, 0][..]; 1000].concat();
    assert!(!decoded.feed(&runs, &mut |_| {}));
}

#[test]
fn what_is_not_what_it_claims_to_be_is_left_alone() {
    for encoding in ["gzip", "zstd", "br"] {
        let garbage = [0xff; 64];
        assert!(unpacked(encoding, &garbage, 64).is_none_or(|text| text.is_empty()), "{encoding}");
    }
    assert!(ContentDecoder::new(Some("aes128gcm")).is_none());
}

#[test]
fn a_request_that_unpacks_to_too_much_is_not_read() {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    let zeros = vec![0; 1024 * 1024];
    (0..=MAX_DECODED_BYTES / zeros.len()).for_each(|_| gzip.write_all(&zeros).unwrap());
    assert!(decode_all("gzip", &gzip.finish().unwrap()).is_none());
    // Runs of 128 KiB in a window of 32 GiB, which would be filled before a byte is returned.
    let mut runs = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 0xcc];
    runs.extend([&[2, 0, 16, 0][..]; 40].concat());
    runs.extend([1, 0, 0]);
    assert!(decode_all("zstd", &runs).is_none());
    runs[5] = 0x58;
    assert_eq!(decode_all("zstd", &runs).map(|text| text.len()), Some(40 * 128 * 1024));
    assert_eq!(decode_all("zstd", ZSTD_TEXT).as_deref(), Some(TEXT.as_bytes()));
}
