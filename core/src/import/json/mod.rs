//! JSON in windows of bytes that may end anywhere, for the JSON-based formats.

mod chunked_text;
mod scan;

pub(super) use chunked_text::{ChunkedText, Step};
pub(super) use scan::{Cursor, LOOK_AHEAD, Quotes, Scalar, Span, Stop, classify, is_event_key};
