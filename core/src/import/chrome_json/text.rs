//! Decodes the strings of a trace, whatever they contain.

use crate::import::warning::WarningKind;

/// Decodes the inside of a JSON string into `out`, and reports what was wrong with it.
///
/// Unknown escapes keep their backslash, control characters stay, and bytes that are not UTF-8 become U+FFFD: an
/// odd-looking name is better than a lost event.
pub(super) fn decode(bytes: &[u8], out: &mut String, mut report: impl FnMut(WarningKind)) {
    out.clear();
    let mut rest = bytes;
    while !rest.is_empty() {
        let plain = rest
            .iter()
            .position(|&byte| byte == b'\\')
            .unwrap_or(rest.len());
        let (text, after) = rest.split_at(plain);
        push_text(text, out, &mut report);
        rest = after;
        if !rest.is_empty() {
            let used = push_escape(rest, out, &mut report);
            rest = rest.get(used..).unwrap_or(&[]);
        }
    }
}

fn push_text(text: &[u8], out: &mut String, report: &mut impl FnMut(WarningKind)) {
    if text.iter().any(|&byte| byte < 0x20) {
        report(WarningKind::ControlCharacter);
    }
    let lossy = String::from_utf8_lossy(text);
    if matches!(lossy, std::borrow::Cow::Owned(_)) {
        report(WarningKind::InvalidUtf8);
    }
    out.push_str(&lossy);
}

/// Decodes the escape at the start of `rest`; returns its length.
fn push_escape(rest: &[u8], out: &mut String, report: &mut impl FnMut(WarningKind)) -> usize {
    let plain = match rest.get(1) {
        Some(b'"') => Some('"'),
        Some(b'\\') => Some('\\'),
        Some(b'/') => Some('/'),
        Some(b'b') => Some('\u{8}'),
        Some(b'f') => Some('\u{c}'),
        Some(b'n') => Some('\n'),
        Some(b'r') => Some('\r'),
        Some(b't') => Some('\t'),
        _ => None,
    };
    let escape = plain.map(|character| (character, 2));
    let Some((character, used)) = escape.or_else(|| unicode_escape(rest)) else {
        report(WarningKind::BadEscape);
        out.push('\\');
        return 1;
    };
    out.push(character);
    used
}

/// `\u00e9`, or a surrogate pair `\ud83d\ude00`; half a pair becomes U+FFFD.
fn unicode_escape(rest: &[u8]) -> Option<(char, usize)> {
    let unit = |at: usize| -> Option<u32> {
        let hex = rest.get(at..at + 6)?.strip_prefix(b"\\u")?;
        if !hex.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        u32::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok()
    };
    let high = unit(0)?;
    if (0xd800..0xdc00).contains(&high)
        && let Some(low @ 0xdc00..0xe000) = unit(6)
    {
        let code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
        return Some((char::from_u32(code)?, 12));
    }
    Some((
        char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER),
        6,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_survives() {
        use WarningKind::*;
        for (bytes, expected, wrong) in [
            (&b"plain"[..], "plain", &[][..]),
            (br#"a\"b\\c\/d\n"#, "a\"b\\c/d\n", &[]),
            (br"\u00e9\ud83d\ude00", "é😀", &[]),
            (br"half \ud83d pair", "half \u{fffd} pair", &[]),
            (br"C:\Users\path", r"C:\Users\path", &[BadEscape, BadEscape]),
            (b"line\nbreak", "line\nbreak", &[ControlCharacter]),
            (b"bad \xff byte", "bad \u{fffd} byte", &[InvalidUtf8]),
            ("grüße".as_bytes(), "grüße", &[]),
        ] {
            let mut out = String::new();
            let mut reported = Vec::new();
            decode(bytes, &mut out, |kind| reported.push(kind));
            assert_eq!((out.as_str(), reported.as_slice()), (expected, wrong));
        }
    }
}
