//! Finding the next event after damage.

use crate::import::json::{Cursor, Quotes, Stop, is_event_key};

/// How far after its bracket an event's first key may be.
const EVENT_START_BYTES: usize = 96;

/// Whether an event starts at this bracket; `None` if the window is too short to decide.
pub(super) fn starts_event(bytes: &[u8]) -> Option<bool> {
    let bounded = bytes.get(..EVENT_START_BYTES);
    let mut cursor = Cursor::new(bounded.unwrap_or(bytes), 1, Quotes::Strict);
    let mut first_key = || {
        cursor.skip_space()?;
        let span = cursor.string()?;
        Ok(cursor.skip_space()? == b':' && is_event_key(cursor.bytes(span.start, span.end)))
    };
    match first_key() {
        Ok(is_event) => Some(is_event),
        Err(Stop::More) if bounded.is_none() => None,
        Err(_) => Some(false),
    }
}

/// Where the events start in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// The list's first element follows at this position.
    At(usize),
    /// Not before this position; the rest is too short to decide.
    NotBefore(usize),
}

/// Looks for `traceEvents": [`: after damage, its opening quote may have closed something else.
pub(super) fn find_events(bytes: &[u8]) -> Found {
    const KEY: &[u8] = b"traceEvents\"";
    let mut from = 0;
    while let Some(rest) = bytes.get(from..).filter(|rest| rest.len() >= KEY.len()) {
        let Some(at) = rest.windows(KEY.len()).position(|found| found == KEY) else {
            from = bytes.len() + 1 - KEY.len();
            break;
        };
        let mut cursor = Cursor::new(bytes, from + at + KEY.len(), Quotes::Strict);
        let mut list = || {
            let colon = cursor.skip_space()?;
            cursor.pos += 1;
            let bracket = cursor.skip_space()?;
            Ok((colon, bracket))
        };
        match list() {
            Ok((b':', b'[')) => return Found::At(cursor.pos + 1),
            Err(Stop::More) => return Found::NotBefore(from + at),
            _ => from += at + 1,
        }
    }
    Found::NotBefore(from)
}

/// Whether the events end at this bracket; `None` if the window is too short to decide.
pub(super) fn ends_array(bytes: &[u8], is_end: bool) -> Option<bool> {
    let mut after = bytes
        .iter()
        .skip(1)
        .filter(|byte| !byte.is_ascii_whitespace());
    match after.next() {
        Some(b'}') => Some(true),
        Some(b',') => after
            .next()
            .map(|byte| *byte == b'"')
            .or(is_end.then_some(true)),
        Some(_) => Some(false),
        None => is_end.then_some(true),
    }
}

/// Whether a name contains the start of another event.
pub(super) fn holds_event_start(name: &[u8]) -> bool {
    (0..name.len())
        .filter(|&at| name.get(at) == Some(&b'{'))
        .any(|at| name.get(at..).and_then(starts_event) == Some(true))
}
