//! Compressed streams with a last block of ours, unpacked by others.

use std::io::Write;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

use super::*;

/// The beginning of a stream, one piece for each event, flushed after each. Brotli's and Zstandard's (with and without a
/// checksum) were packed by the reference programs.
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

#[test]
fn a_stream_gets_another_end_after_each_event() {
    for (encoding, pieces) in streams() {
        let (mut packed, mut text) = (Packed::new(encoding), String::new());
        for (number, piece) in pieces.iter().enumerate() {
            packed.feed(piece);
            text.push_str(&event(number));
            for at_least in [0, 100, 5_000, 70_000] {
                let end = packed.ending("data: the end\n\n", at_least).expect(encoding);
                assert!(end.len() >= at_least, "{encoding}");
                let all = unpack(encoding, &[&packed.raw, end.as_slice()].concat()).expect(encoding);
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
            let mut packed = Packed::new(encoding);
            packed.feed(&raw[..cut]);
            match packed.ending("data: the end\n\n", 0) {
                Some(end) => {
                    fits += 1;
                    assert!(unpack(encoding, &[&raw[..cut], &end].concat()).is_some(), "{encoding} at {cut}");
                }
                None => assert!(!ends.contains(&cut), "{encoding} at {cut}"),
            }
        }
        assert!(fits < raw.len() / 4, "{encoding}: {fits} of {}", raw.len());
    }
}

#[test]
fn a_frame_that_says_how_long_it_is_cannot_become_longer() {
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0b0010_0000, 8];
    frame.extend_from_slice(&[4 << 3, 0, 0, b'd', b'a', b't', b'a']);
    let mut packed = Packed::new("zstd");
    packed.feed(&frame);
    assert_eq!(packed.ending("the end", 0), None);
}

#[test]
fn a_stream_that_is_too_long_to_be_kept_is_let_go() {
    let mut packed = Packed::new("gzip");
    packed.feed(&vec![0; MOST]);
    assert_eq!(packed.kept(), MOST);
    packed.feed(&[0]);
    assert_eq!((packed.kept(), packed.ending("the end", 0)), (0, None));
}

#[test]
fn a_failed_try_is_not_repeated_at_every_byte() {
    let mut packed = Packed::new("br");
    packed.feed(&bytes(BROTLI[0])[..40]);
    assert_eq!(packed.ending("the end", 0), None);
    assert_eq!(packed.not_before, 50);
}
