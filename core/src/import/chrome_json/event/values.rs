//! The values of an event's fields.

use super::super::number::{Time, parse_time};
use super::super::text::decode;
use super::super::tracks::Spelling;
use super::EventReader;
use crate::import::categories::UnknownId;
use crate::import::json::{Cursor, Scalar, Span, Stop, classify};
use crate::import::warning::WarningKind;
use crate::trace::{Category, LinkId, StringId};

/// The meaning of `cat`, flows included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cat {
    Event(Category),
    /// An unknown category.
    Unknown(UnknownId),
    /// A flow arrow from a launch to its GPU activity.
    HostToDevice,
}

impl Default for Cat {
    fn default() -> Self {
        Cat::Event(Category::Other)
    }
}

impl EventReader {
    /// Reads a category; `None` if it is not a string, for example `null`.
    pub(super) fn cat(&mut self, cursor: &mut Cursor) -> Result<Option<Cat>, Stop> {
        if cursor.peek()? != b'"' {
            self.skip(cursor)?;
            return Ok(None);
        }
        let span = cursor.field_string()?;
        let text = cursor.bytes(span.start, span.end);
        if self.last_cat.0 != text {
            let cat = match text {
                // The last one is current PyTorch's; 1.8 to 1.12 wrote the others.
                b"async" | b"async_gpu" | b"async_cpu_to_gpu" | b"ac2g" => Cat::HostToDevice,
                _ => match Category::parse(std::str::from_utf8(text).unwrap_or("")) {
                    Category::Other => match self.unknown.row(text) {
                        Some(row) => Cat::Unknown(row),
                        None => Cat::Event(Category::Other),
                    },
                    category => Cat::Event(category),
                },
            };
            self.last_cat.0.clear();
            self.last_cat.0.extend_from_slice(text);
            self.last_cat.1 = cat;
        }
        Ok(Some(self.last_cat.1))
    }

    /// Reads the name of an event.
    pub(super) fn name(&mut self, cursor: &mut Cursor) -> Result<StringId, Stop> {
        if cursor.peek()? != b'"' {
            return self.text(cursor);
        }
        let span = cursor.field_string()?;
        self.intern(cursor, span)
    }

    /// Reads a string and interns it; for any other value, interns its text.
    pub(super) fn text(&mut self, cursor: &mut Cursor) -> Result<StringId, Stop> {
        if cursor.peek()? != b'"' {
            let text = cursor.scalar()?;
            self.judge(text)?;
            return Ok(self.builder.string(&String::from_utf8_lossy(text)));
        }
        let span = cursor.string()?;
        self.intern(cursor, span)
    }

    pub(super) fn intern(&mut self, cursor: &Cursor, span: Span) -> Result<StringId, Stop> {
        let bytes = cursor.bytes(span.start, span.end);
        if span.unescaped_quotes {
            // An event without its end would take the next event as part of its name.
            if super::super::resync::holds_event_start(bytes) {
                return Err(Stop::Bad);
            }
            self.wrong.push(WarningKind::UnescapedQuote);
        }
        if !span.rough {
            // A known string needs no UTF-8 check.
            if let Some(known) = self.builder.trace.strings.find_bytes(bytes) {
                return Ok(known);
            }
            if let Ok(text) = std::str::from_utf8(bytes) {
                return Ok(self.builder.string(text));
            }
        }
        let mut text = std::mem::take(&mut self.scratch);
        decode(bytes, &mut text, |kind| self.wrong.push(kind));
        let id = self.builder.string(&text);
        self.scratch = text;
        Ok(id)
    }

    pub(super) fn spelling(&mut self, cursor: &mut Cursor) -> Result<Spelling, Stop> {
        Ok(match cursor.unsigned()? {
            Some(number) => Spelling::Number(number),
            None => Spelling::Text(self.text(cursor)?),
        })
    }

    pub(super) fn time(&mut self, cursor: &mut Cursor) -> Result<Time, Stop> {
        let time = if cursor.peek()? == b'"' {
            let span = cursor.string()?;
            self.wrong.push(WarningKind::TextNumber);
            parse_time(cursor.bytes(span.start, span.end).trim_ascii())
        } else {
            let start = cursor.pos;
            let time = cursor.time()?;
            if time == Time::Unreadable {
                self.judge(cursor.bytes(start, cursor.pos))?;
            }
            time
        };
        Ok(time)
    }

    /// Reads an id: a number or anything comparable.
    pub(super) fn link(&mut self, cursor: &mut Cursor) -> Result<Option<LinkId>, Stop> {
        if let Some(number) = cursor.unsigned()? {
            return Ok(Some(self.builder.link(number)));
        }
        match cursor.peek()? {
            b'"' => {
                let text = self.text(cursor)?;
                let text = self.builder.trace.strings.get(text).to_owned();
                // Both "0x1f" and "31" occur; only the latter is also written as a number.
                Ok(Some(match text.parse::<u64>() {
                    Ok(number) => self.builder.link(number),
                    Err(_) => self.builder.spelled_link(&text),
                }))
            }
            b'[' | b'{' => {
                cursor.skip_value()?;
                Ok(None)
            }
            _ => {
                let text = cursor.scalar()?;
                self.judge(text)?;
                match classify(text) {
                    _ if text == b"null" => Ok(None),
                    Scalar::NotANumber => Ok(None),
                    _ => Ok(Some(
                        self.builder.spelled_link(&String::from_utf8_lossy(text)),
                    )),
                }
            }
        }
    }

    /// Skips a value; if it is a number, records what is wrong with it.
    #[inline]
    pub(super) fn skip(&mut self, cursor: &mut Cursor) -> Result<(), Stop> {
        match cursor.peek()? {
            b'"' | b'[' | b'{' => {
                cursor.skip_value()?;
                Ok(())
            }
            _ => {
                let text = cursor.scalar()?;
                if text.len() < 19 && matches!(text.first(), Some(b'0'..=b'9')) {
                    return Ok(());
                }
                self.judge(text)
            }
        }
    }

    pub(super) fn judge(&mut self, text: &[u8]) -> Result<(), Stop> {
        match classify(text) {
            Scalar::Json => {}
            Scalar::Huge => self.wrong.push(WarningKind::HugeInteger),
            Scalar::NotANumber => self.wrong.push(WarningKind::NotANumber),
            Scalar::Nonsense => return Err(Stop::Bad),
        }
        Ok(())
    }
}
