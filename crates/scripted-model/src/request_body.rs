//! Decodes request bodies.

use std::borrow::Cow;

/// The decoded bytes, or the reason why they cannot be decoded.
pub(crate) fn plain<'a>(encoding: Option<&str>, wire: &'a [u8]) -> Result<Cow<'a, [u8]>, String> {
    match encoding.map(str::trim) {
        None | Some("" | "identity") => Ok(Cow::Borrowed(wire)),
        Some(encoding) => decompress(encoding, wire).map(Cow::Owned),
    }
}

#[cfg(feature = "compressed")]
fn decompress(encoding: &str, wire: &[u8]) -> Result<Vec<u8>, String> {
    use std::io::Read as _;

    let mut plain = Vec::new();
    let read = match encoding {
        "gzip" => flate2::read::MultiGzDecoder::new(wire).read_to_end(&mut plain),
        "zstd" => ruzstd::decoding::StreamingDecoder::new(wire)
            .map_err(std::io::Error::other)
            .and_then(|mut decoder| decoder.read_to_end(&mut plain)),
        other => return Err(format!("request body: content-encoding {other:?} is not known here")),
    };
    read.map_err(|error| format!("request body is no valid {encoding}: {error}"))?;
    Ok(plain)
}

#[cfg(not(feature = "compressed"))]
fn decompress(encoding: &str, _wire: &[u8]) -> Result<Vec<u8>, String> {
    Err(format!("request body: content-encoding {encoding:?} needs the feature `compressed` of the scripted model"))
}
