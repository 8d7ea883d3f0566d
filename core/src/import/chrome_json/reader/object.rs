//! The object around the events: its keys, their values, and the search for the events after damage.

use super::super::event::EventReader;
use super::super::metadata::{MAX_METADATA_BYTES, Metadata, Part};
use super::super::resync::{Found, find_events};
use super::{Reader, State};
use crate::import::error::{ImportError, ImportErrorKind};
use crate::import::json::{Cursor, Quotes, Step, Stop};
use crate::import::warning::WarningKind;

impl Reader {
    pub(super) fn key(&mut self, window: &[u8], mut pos: usize) -> Result<Step, ImportError> {
        let Some(byte) = self.separator(window, &mut pos) else {
            return Ok(Step::Wait(pos));
        };
        match byte {
            b'}' => {
                self.close(pos);
                self.n_objects = self.n_objects.saturating_sub(1);
                if self.n_objects == 0 {
                    self.n_objects = 1; // The object has ended.
                    self.state = State::Done;
                }
                Ok(Step::To(pos + 1))
            }
            b'"' => self.named_value(window, pos),
            b'\'' if self.first_keys.is_empty() && !self.saw_events => {
                self.error(ImportErrorKind::PythonText, pos)
            }
            _ if !self.saw_events => self.lose_way(pos),
            _ => {
                self.warn(WarningKind::UnreadableMetadata, pos);
                Ok(Step::To(pos + 1))
            }
        }
    }

    fn named_value(&mut self, window: &[u8], pos: usize) -> Result<Step, ImportError> {
        let mut cursor = Cursor::new(window, pos, Quotes::Strict);
        let mut head = || {
            let span = cursor.string()?;
            if cursor.skip_space()? != b':' {
                return Err(Stop::Bad);
            }
            cursor.pos += 1;
            let first = cursor.skip_space()?;
            Ok((cursor.bytes(span.start, span.end), first))
        };
        let (key, first) = match head() {
            Ok(head) => head,
            Err(Stop::More) if window.len() - pos <= MAX_METADATA_BYTES => {
                return Ok(Step::Wait(pos));
            }
            Err(_) if self.saw_events => {
                self.warn(WarningKind::UnreadableMetadata, pos);
                return Ok(Step::To(pos + 1));
            }
            Err(_) => return self.lose_way(pos),
        };
        let key = String::from_utf8_lossy(key).into_owned();
        self.separated();
        match (key.as_str(), first) {
            ("traceEvents", b'[') => {
                if self.saw_events {
                    self.warn(WarningKind::DuplicateKey, pos);
                }
                self.enter_events();
                return Ok(Step::To(cursor.pos + 1));
            }
            // Observed in practice: an object with `traceEvents` inside `traceEvents`.
            ("traceEvents", b'{') => {
                self.n_objects += 1;
                self.first = true;
                return Ok(Step::To(cursor.pos + 1));
            }
            _ => {}
        }
        if self.first_keys.len() < 5 {
            self.first_keys.push(key.clone());
        }
        self.state = State::Value(Metadata::new(key, self.offset + cursor.pos as u64));
        Ok(Step::To(cursor.pos))
    }

    /// Damage before the events. If the text started like a trace, reading continues: it may be a value with unescaped
    /// quotes.
    fn lose_way(&mut self, pos: usize) -> Result<Step, ImportError> {
        if self.first_keys.is_empty() {
            return self.error(ImportErrorKind::NotJson, pos);
        }
        let from = self.offset + pos as u64;
        self.state = State::Seek { from };
        Ok(Step::To(pos))
    }

    pub(super) fn seek(&mut self, window: &[u8], pos: usize) -> Step {
        let State::Seek { from } = self.state else {
            return Step::To(pos);
        };
        match find_events(window.get(pos..).unwrap_or(&[])) {
            Found::At(after) => {
                let warnings = &mut self.events.warnings;
                warnings.add(WarningKind::UnreadableMetadata, Some(from));
                self.enter_events();
                Step::To(pos + after)
            }
            Found::NotBefore(at) => Step::Wait(pos + at),
        }
    }

    pub(super) fn value(&mut self, window: &[u8], pos: usize) -> Step {
        let State::Value(value) = &mut self.state else {
            return Step::To(pos);
        };
        let rest = window.get(pos..).unwrap_or(&[]);
        let (n_bytes, part) = value.advance(rest);
        value.keep(rest.get(..n_bytes).unwrap_or(&[]));
        let end = pos + n_bytes;
        match part {
            Part::GoesOn => return Step::Wait(end),
            // What looked like the rest of a value is the trace.
            Part::Events if !self.saw_events => {
                let (offset, depth) = (value.offset, value.depth());
                self.n_objects += depth;
                let warnings = &mut self.events.warnings;
                warnings.add(WarningKind::UnreadableMetadata, Some(offset));
                self.enter_events();
                return Step::To(end);
            }
            Part::Events => return Step::To(end),
            Part::Ended => {}
        }
        if let State::Value(value) = std::mem::replace(&mut self.state, State::Key) {
            let EventReader {
                builder, warnings, ..
            } = &mut self.events;
            let at = Some(value.offset);
            match value.text {
                Some(text) => {
                    let text = String::from_utf8_lossy(&text);
                    if !builder.metadata(&value.key, text.trim()) {
                        warnings.add(WarningKind::UnreadableMetadata, at);
                    }
                }
                None => warnings.add(WarningKind::LargeMetadata, at),
            }
        }
        Step::To(end)
    }
}
