//! Reads the events one by one, and finds the next one after damage.

use super::super::resync::{ends_array, starts_event};
use super::{Reader, State};
use crate::import::error::{ImportError, ImportErrorKind};
use crate::import::json::{Cursor, Quotes, Step, Stop};
use crate::import::warning::WarningKind;

impl Reader {
    pub(super) fn elements(&mut self, window: &[u8], mut pos: usize) -> Result<Step, ImportError> {
        loop {
            let Some(byte) = self.separator(window, &mut pos) else {
                return Ok(Step::Wait(pos));
            };
            let read = match byte {
                b'{' => {
                    let (uid, limits) = (self.n_elements, self.limits);
                    self.events.read(window, pos, self.offset, uid, &limits)
                }
                b']' => {
                    self.close(pos);
                    self.forgive_brace();
                    self.state = if self.n_objects > 0 {
                        State::Key
                    } else {
                        State::Done
                    };
                    return Ok(Step::To(pos + 1));
                }
                _ if self.n_objects == 0 && self.n_elements == 0 => {
                    return self.error(ImportErrorKind::NotEvents, pos);
                }
                b'}' => {
                    self.stray_brace.get_or_insert(self.offset + pos as u64);
                    pos += 1;
                    continue;
                }
                _ => {
                    let mut cursor = Cursor::new(window, pos, Quotes::Strict);
                    let skipped = cursor.skip_value().map(|_| cursor.pos);
                    let is_null = cursor.bytes(pos, cursor.pos) == b"null";
                    if skipped.is_ok() && !is_null {
                        self.warn(WarningKind::UnreadableEvent, pos);
                    }
                    match skipped {
                        Err(Stop::More) if window.len() - pos > self.limits.strict_bytes => {
                            Err(Stop::Bad)
                        }
                        skipped => skipped,
                    }
                }
            };
            match read {
                Ok(end) => {
                    self.forgive_brace();
                    self.n_elements = self.n_elements.saturating_add(1);
                    self.separated();
                    pos = end;
                }
                Err(Stop::More) => return Ok(Step::Wait(pos)),
                Err(Stop::Bad | Stop::TooDeep) => {
                    let after = window.get(pos + 1..).unwrap_or(&[]).trim_ascii_start();
                    if self.n_elements == 0 && after.starts_with(b"'") {
                        return self.error(ImportErrorKind::PythonText, pos);
                    }
                    self.warn(WarningKind::UnreadableEvent, pos);
                    self.n_elements = self.n_elements.saturating_add(1);
                    self.separated();
                    self.state = State::Resync { last: byte };
                    return Ok(Step::To(pos + 1));
                }
            }
        }
    }

    /// More events followed a closing brace: it was damage, not the end.
    fn forgive_brace(&mut self) {
        if let Some(at) = self.stray_brace.take() {
            self.events
                .warnings
                .add(WarningKind::UnreadableEvent, Some(at));
        }
    }

    /// Looks for the next event, or the end of the array, after damage.
    pub(super) fn resync(&mut self, window: &[u8], mut pos: usize, is_end: bool) -> Step {
        let State::Resync { last } = &mut self.state else {
            return Step::To(pos);
        };
        while let Some(&byte) = window.get(pos) {
            let rest = window.get(pos..).unwrap_or(&[]);
            let found = match (byte, *last) {
                (b'{', b':' | b'[') => Some(false),
                (b'{', _) => starts_event(rest),
                (b']', b'}') => ends_array(rest, is_end),
                _ => Some(false),
            };
            match found {
                None if !is_end => return Step::Wait(pos),
                Some(true) => {
                    self.n_commas = 1;
                    if byte == b']' {
                        self.n_commas = 0;
                    }
                    self.state = State::Events;
                    return Step::To(pos);
                }
                _ => {}
            }
            if !byte.is_ascii_whitespace() {
                *last = byte;
            }
            pos += 1;
        }
        Step::Wait(pos)
    }
}
