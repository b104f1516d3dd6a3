//! Short texts of a snapshot.

/// Maximum size of `what` and `summary` in a snapshot.
const MAX_SNAPSHOT_TEXT_BYTES: usize = 72;

/// The head of a text on one line, bounded also after JSON escaping.
pub(crate) fn shorten(text: &str) -> Box<str> {
    const ELLIPSIS: char = '…';
    let mut line = [0; MAX_SNAPSHOT_TEXT_BYTES];
    let (mut len, mut available, mut blank) = (0, MAX_SNAPSHOT_TEXT_BYTES, false);
    for c in text.trim().chars() {
        if !c.is_ascii_graphic() && (c.is_whitespace() || c.is_control()) {
            blank = len > 0;
            continue;
        }
        let cost = c.len_utf8() + usize::from(matches!(c, '"' | '\\')) + usize::from(blank);
        if cost + ELLIPSIS.len_utf8() > available {
            len += ELLIPSIS.encode_utf8(&mut line[len..]).len();
            break;
        }
        if std::mem::take(&mut blank) {
            line[len] = b' ';
            len += 1;
        }
        if c.is_ascii() {
            line[len] = c as u8;
            len += 1;
        } else {
            len += c.encode_utf8(&mut line[len..]).len();
        }
        available -= cost;
    }
    Box::from(str::from_utf8(&line[..len]).unwrap_or_default())
}
