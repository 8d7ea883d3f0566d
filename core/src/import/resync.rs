//! Finding the next event after damage.

use super::scan::{Cursor, Quotes, Stop};

/// How far an event's first key is looked for after its bracket.
const EVENT_START_BYTES: usize = 96;

/// Whether an event begins at this bracket; `None` when the window is too short to tell.
pub(super) fn starts_event(bytes: &[u8]) -> Option<bool> {
    let bounded = bytes.get(..EVENT_START_BYTES);
    let mut cursor = Cursor::new(bounded.unwrap_or(bytes), 1, Quotes::Strict);
    let mut first_key = || {
        cursor.skip_space()?;
        let span = cursor.string()?;
        let colon = cursor.skip_space()?;
        Ok(colon == b':' && is_event_key(cursor.bytes(span.start, span.end)))
    };
    match first_key() {
        Ok(is_event) => Some(is_event),
        Err(Stop::More) if bounded.is_none() => None,
        Err(_) => Some(false),
    }
}

fn is_event_key(key: &[u8]) -> bool {
    matches!(
        key,
        b"ph"
            | b"cat"
            | b"name"
            | b"pid"
            | b"tid"
            | b"ts"
            | b"dur"
            | b"id"
            | b"args"
            | b"s"
            | b"bp"
    )
}

/// Whether the events end at this bracket; `None` when the window is too short to tell.
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

/// Whether a name holds the beginning of another event.
pub(super) fn holds_event_start(name: &[u8]) -> bool {
    (0..name.len())
        .filter(|&at| name.get(at) == Some(&b'{'))
        .any(|at| name.get(at..).and_then(starts_event) == Some(true))
}
