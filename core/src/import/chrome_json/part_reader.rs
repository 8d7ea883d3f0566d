//! Reads a piece of text between two events, independently of the text before it.
//!
//! The meaning of an event does not depend on its position in the text, except for three things that only the main
//! [`Reader`] knows: whether events occur here at all, the number of events so far, and which half events are open. So
//! a [`PartReader`] assumes that its piece holds events and returns them, or reports that it cannot. The main reader
//! accepts the result only if it has reached the first byte of the piece and expects an event there. Otherwise it reads
//! the piece itself.

use super::reader::Reader;
use super::resync::starts_event;
use crate::import::format::FormatReader;
use crate::import::part::Part;
use crate::trace::Rows;

/// Reads pieces of a trace's text, in text order; other readers may read the pieces in between.
#[derive(Debug)]
pub struct PartReader {
    number: (u32, u32),
    reader: Reader,
    previous: Rows,
    n_previous_keys: u8,
}

impl PartReader {
    /// A new reader; each reader of one trace has a different number.
    pub fn new(number: u32) -> PartReader {
        PartReader::anew((number, 0))
    }

    /// A reader whose parts do not refer to earlier ones.
    fn anew(number: (u32, u32)) -> PartReader {
        let reader = Reader::default();
        PartReader {
            number,
            n_previous_keys: reader.events.keys.len(),
            reader,
            previous: Rows::default(),
        }
    }

    /// Reads text that spans whole events and starts at an offset of the whole text; `None` if the main reader has to
    /// read it.
    pub fn read(&mut self, text: &[u8], offset: u64) -> Option<Part> {
        self.reader.begin_at_event(offset);
        let is_read = self.reader.push(text).is_ok()
            && self.reader.is_at_event(offset + text.len() as u64)
            && self.reader.events.stands_alone();
        if !is_read {
            let (number, n_begun) = self.number;
            *self = PartReader::anew((number, n_begun.wrapping_add(1)));
            return None;
        }
        let events = &mut self.reader.events;
        let part = Part {
            reader: self.number,
            offset,
            n_bytes: text.len() as u64,
            n_elements: self.reader.n_elements,
            last_byte: self.reader.text.last_byte(),
            saw_phase: std::mem::take(&mut events.saw_phase),
            warnings: std::mem::take(&mut events.warnings),
            unknown: events.take_unknown(),
            keys: events.keys.learned_from(self.n_previous_keys),
            trace: events.builder.take_part(&mut self.previous),
        };
        self.n_previous_keys = events.keys.len();
        Some(part)
    }
}

/// The last place where a text can be cut: an event starts there, after another one. False matches within an event or a
/// string are detected when parts are joined.
pub(in crate::import) fn last_event_start(text: &[u8]) -> Option<usize> {
    let mut end = text.len();
    while let Some(at) = text.get(..end)?.iter().rposition(|byte| *byte == b'{') {
        let before = text.get(..at)?.trim_ascii_end();
        let is_behind_event = before
            .strip_suffix(b",")
            .is_some_and(|before| before.trim_ascii_end().ends_with(b"}"));
        if is_behind_event && starts_event(text.get(at..)?) == Some(true) {
            return Some(at);
        }
        end = at;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_before_its_last_event() {
        let text = br#"[{"ph": "X", "args": {"a": 1}}, {"name": "b", "args": {"ph": 2}}, {"ts"#;
        let at = last_event_start(text).unwrap();
        assert!(text[at..].starts_with(br#"{"name": "b""#));
        for text in [
            "",
            "[",
            r#"[{"ph": "X"}"#,
            r#"{"traceEvents": [{"ph": "X"}, {"a": 1}]"#,
        ] {
            assert_eq!(last_event_start(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn what_needs_the_text_before_it_is_no_part() {
        let event = r#"{"ph": "X", "name": "a", "ts": 1, "dur": 2}, "#;
        let half = r#"{"ph": "E", "name": "a", "ts": 1}, "#;
        let mut reader = PartReader::new(0);
        let mut n_events = |text: String| {
            let part = reader.read(text.as_bytes(), 70);
            part.map(|part| part.trace.n_events())
        };
        assert_eq!(n_events(event.to_owned()), Some(1));
        // Halves of events, the end of the list, the middle of an event.
        assert_eq!(n_events(format!("{event}{half}")), None);
        assert_eq!(n_events(format!("{event}], ")), None);
        assert_eq!(n_events(format!("{event}{{\"ph\": ")), None);
        assert_eq!(n_events(event.trim_end_matches(", ").to_owned()), None);
        assert_eq!(n_events(event.repeat(2)), Some(2));
    }
}
