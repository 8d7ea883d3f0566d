//! JSON in windows of bytes that may end anywhere, for the JSON-based formats.

mod carry;
mod scan;

pub(super) use carry::{Carry, Step};
pub(super) use scan::{Cursor, LOOK_AHEAD, Quotes, Scalar, Span, Stop, classify, is_event_key};
