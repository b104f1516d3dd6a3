//! Tests: compressed streams that Belay ended, decoded by other implementations.

use std::io::{Read, Write};

use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use flate2::{Compression, GzBuilder};

use super::ContentDecoder;

/// The start of a stream, one piece per event, flushed after each. Brotli's and Zstandard's (with and without a
/// checksum) were encoded by the reference programs.
const BROTLI: [&str; 3] = [
    "0b1a0000046a729e503ba0f881026f11fd1e36e0c021b17c1a6ca3dbfbce14214bd4c6bca233601f32bb37c53abd3d249f2a03",
    "a001004022a61a3026ae870c",
    "a001004042a61a302280c700",
];
const CHECKED: [&str; 3] = [
    "28b52ffd0458a80100646174613a207b2263686f69636573223a5b7b2264656c7461223a7b22636f6e74656e74223a2248656c6c6f2030227d7d5d7d0a0a",
    "7c00004031227d7d5d7d0a0a010062530101",
    "7c0000486432227d7d5d7d0a0a0100994008",
];
const UNCHECKED: [&str; 3] = [
    "28b52ffd0058a80100646174613a207b2263686f69636573223a5b7b2264656c7461223a7b22636f6e74656e74223a2248656c6c6f2030227d7d5d7d0a0a",
    "7c00004031227d7d5d7d0a0a010062530101",
    "7c0000486432227d7d5d7d0a0a0100994008",
];

fn event(number: usize) -> String {
    format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"Hello {number}\"}}}}]}}\n\n")
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

/// What a writer passes on, piece by piece.
fn flushed<W: Write>(mut writer: W, inner: fn(&mut W) -> &mut Vec<u8>) -> Vec<Vec<u8>> {
    let piece = |number| {
        writer.write_all(event(number).as_bytes()).unwrap();
        writer.flush().unwrap();
        std::mem::take(inner(&mut writer))
    };
    (0..3).map(piece).collect()
}

fn streams() -> Vec<(&'static str, Vec<Vec<u8>>)> {
    let recorded = |pieces: [&str; 3]| pieces.map(bytes).to_vec();
    let usual = Compression::default();
    vec![
        ("gzip", flushed(GzEncoder::new(Vec::new(), usual), GzEncoder::get_mut)),
        ("deflate", flushed(ZlibEncoder::new(Vec::new(), usual), ZlibEncoder::get_mut)),
        ("deflate", flushed(DeflateEncoder::new(Vec::new(), usual), DeflateEncoder::get_mut)),
        ("br", recorded(BROTLI)),
        ("zstd", recorded(CHECKED)),
        ("zstd", recorded(UNCHECKED)),
    ]
}

/// Decodes a complete stream as a client does; `None` if it is not well-formed to its last byte.
fn unpack(encoding: &str, packed: &[u8]) -> Option<Vec<u8>> {
    let (mut rest, mut out) = (packed, Vec::new());
    match encoding {
        "gzip" => flate2::bufread::GzDecoder::new(&mut rest).read_to_end(&mut out),
        "deflate" if packed.first().is_some_and(|first| first & 0x0f != 8) => {
            flate2::bufread::DeflateDecoder::new(&mut rest).read_to_end(&mut out)
        }
        "deflate" => flate2::bufread::ZlibDecoder::new(&mut rest).read_to_end(&mut out),
        "br" => {
            // Reads in large pieces and does not report unread bytes; an extra byte would be an error.
            let read = brotli_decompressor::Decompressor::new(rest, 4096).read_to_end(&mut out);
            rest = &[];
            read
        }
        _ => ruzstd::decoding::StreamingDecoder::new(&mut rest).ok()?.read_to_end(&mut out),
    }
    .ok()?;
    rest.is_empty().then_some(out)
}

/// A reader that has read these bytes.
fn shown(encoding: &str, raw: &[u8]) -> ContentDecoder {
    let mut decoded = ContentDecoder::new(Some(encoding)).unwrap();
    assert!(decoded.feed(raw, &mut |_| {}), "{encoding}");
    decoded
}

#[test]
fn a_stream_gets_another_end_after_each_event() {
    for (encoding, pieces) in streams() {
        let (mut raw, mut text) = (Vec::new(), String::new());
        for (number, piece) in pieces.iter().enumerate() {
            raw.extend_from_slice(piece);
            text.push_str(&event(number));
            for at_least in [0, 100, 5_000, 70_000] {
                let end = shown(encoding, &raw).append_final_block("data: the end\n\n", at_least).expect(encoding);
                assert!(end.len() >= at_least, "{encoding}");
                let all = unpack(encoding, &[raw.as_slice(), &end].concat()).expect(encoding);
                let all = String::from_utf8(all).unwrap();
                let last = all.strip_prefix(&text).unwrap_or_else(|| panic!("{encoding}: {all}"));
                assert_eq!(last.trim_end_matches('\n'), "data: the end", "{encoding}");
            }
        }
    }
}

#[test]
fn where_no_block_can_begin_nothing_is_added() {
    for (encoding, pieces) in streams() {
        let raw = pieces.concat();
        let mut ends = Vec::new();
        let mut fits = 0;
        for piece in &pieces {
            ends.push(ends.last().unwrap_or(&0) + piece.len());
        }
        for cut in 1..raw.len() {
            match shown(encoding, &raw[..cut]).append_final_block("data: the end\n\n", 0) {
                Some(end) => {
                    fits += 1;
                    let all = unpack(encoding, &[&raw[..cut], &end].concat());
                    assert!(all.is_some_and(|all| all.ends_with(b"data: the end\n\n")), "{encoding} at {cut}");
                }
                None => assert!(!ends.contains(&cut), "{encoding} at {cut}"),
            }
        }
        assert!(fits < raw.len() / 4, "{encoding}: {fits} of {}", raw.len());
    }
}

#[test]
fn a_stream_that_has_ended_has_no_other_end() {
    for (encoding, pieces) in streams() {
        let mut raw = pieces.concat();
        let end = shown(encoding, &raw).append_final_block("data: the end\n\n", 0).expect(encoding);
        raw.extend_from_slice(&end);
        assert_eq!(shown(encoding, &raw).append_final_block("data: again\n\n", 0), None, "{encoding}");
    }
}

#[test]
fn frames_that_refer_to_each_others_tables_get_an_end_too() {
    let raw: &[u8] = include_bytes!("recorded.zst");
    let text = unpack("zstd", &[raw, &[1, 0, 0, 0, 0, 0, 0]].concat()).expect("all of it");
    let mut decoded = ContentDecoder::new(Some("zstd")).unwrap();
    let (mut shown, mut ends) = (Vec::new(), 0);
    for (at, byte) in raw.iter().enumerate() {
        assert!(decoded.feed(&[*byte], &mut |bytes| shown.extend_from_slice(bytes)));
        let Some(end) = decoded.append_final_block("data: the end\n\n", 0) else { continue };
        ends += 1;
        let all = unpack("zstd", &[&raw[..=at], &end].concat()).expect("an end");
        assert_eq!(all.strip_suffix(b"data: the end\n\n"), Some(shown.as_slice()), "at {at}");
        let checksum = xxhash_rust::xxh64::xxh64(&all, 0) as u32;
        assert!(end.ends_with(&checksum.to_le_bytes()), "at {at}");
    }
    assert!(ends >= 14 && shown == text, "{ends}");
}

/// Text that hardly compresses.
fn noise(seed: u64) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut line = String::from("data: ");
    for _ in 0..1000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        line.push_str(&format!("{:08x}", state >> 32));
    }
    line + "\n\n"
}

#[test]
fn a_stream_can_be_ended_however_long_it_is_and_costs_no_more_than_its_window() {
    let usual = Compression::fast();
    let mut gzip = GzEncoder::new(Vec::new(), usual);
    let mut zlib = ZlibEncoder::new(Vec::new(), usual);
    let mut bare = DeflateEncoder::new(Vec::new(), usual);
    // Uncompressed blocks after a flush; the window is 4 MiB.
    let mut brotli = vec![0x6b, 0];
    // The same, with a checksum; the window is 2 MiB.
    let mut zstd = vec![0x28, 0xb5, 0x2f, 0xfd, 4, 0x58];
    let mut text = String::new();
    while text.len() < 6 * 1024 * 1024 {
        let event = noise(text.len() as u64);
        for writer in [&mut gzip as &mut dyn Write, &mut zlib, &mut bare] {
            writer.write_all(event.as_bytes()).unwrap();
            writer.flush().unwrap();
        }
        let header = ((event.len() as u32 - 1) << 3) | (1 << 19);
        brotli.extend_from_slice(&header.to_le_bytes()[..3]);
        brotli.extend_from_slice(event.as_bytes());
        zstd.extend_from_slice(&((event.len() as u32) << 3).to_le_bytes()[..3]);
        zstd.extend_from_slice(event.as_bytes());
        text.push_str(&event);
    }
    let streams = [
        ("gzip", gzip.get_ref(), 0),
        ("deflate", zlib.get_ref(), 0),
        ("deflate", bare.get_ref(), 0),
        ("br", &brotli, 4 * 1024 * 1024),
        // The capacity doubles.
        ("zstd", &zstd, 2 * 2 * 1024 * 1024),
    ];
    for (encoding, raw, window) in streams {
        assert!(raw.len() > 2 * 1024 * 1024, "{encoding}: {}", raw.len());
        let mut decoded = shown(encoding, raw);
        assert_eq!(decoded.buffered_bytes(), window, "{encoding}");
        let end = decoded.append_final_block("data: the end\n\n", 0).expect(encoding);
        let all = unpack(encoding, &[raw.as_slice(), &end].concat()).expect(encoding);
        assert!(all == format!("{text}data: the end\n\n").as_bytes(), "{encoding}");
    }
}

#[test]
fn a_header_of_gzip_may_say_more_than_it_has_to() {
    let builder = GzBuilder::new().filename("events").comment("all of them").extra(vec![7; 300]);
    let mut gzip = builder.write(Vec::new(), Compression::default());
    gzip.write_all(event(0).as_bytes()).unwrap();
    gzip.flush().unwrap();
    let raw = gzip.get_ref().clone();
    for size in [1, 7, raw.len()] {
        let mut decoded = ContentDecoder::new(Some("GZip")).unwrap();
        let mut text = Vec::new();
        for piece in raw.chunks(size) {
            assert!(decoded.feed(piece, &mut |bytes| text.extend_from_slice(bytes)));
        }
        assert_eq!(text, event(0).as_bytes());
        let end = decoded.append_final_block("data: the end\n\n", 0).expect("an end");
        assert!(unpack("gzip", &[raw.as_slice(), &end].concat()).is_some());
    }
}

#[test]
fn a_frame_that_says_how_long_it_is_cannot_become_longer() {
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0b0010_0000, 8];
    frame.extend_from_slice(&[4 << 3, 0, 0, b'd', b'a', b't', b'a']);
    assert_eq!(shown("zstd", &frame).append_final_block("the end", 0), None);
}

#[test]
fn a_window_that_nobody_would_read_is_not_read() {
    let mut decoded = ContentDecoder::new(Some("zstd")).unwrap();
    assert!(!decoded.feed(&[0x28, 0xb5, 0x2f, 0xfd, 4, 0xcc], &mut |_| {}));
}
