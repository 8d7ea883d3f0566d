//! Event arguments as a trace stores them: JSON text, `"key": value, …`.

use std::fmt::Display;

/// Writes arguments one after the other.
#[derive(Debug, Default)]
pub(super) struct ArgsText(Vec<u8>);

impl ArgsText {
    /// Starts over.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Writes a key and returns the buffer for its value.
    pub(super) fn key(&mut self, key: &str) -> &mut Vec<u8> {
        if !self.0.is_empty() {
            self.0.extend_from_slice(b", ");
        }
        push_text(key, &mut self.0);
        self.0.extend_from_slice(b": ");
        &mut self.0
    }

    /// A text value.
    pub(super) fn text(&mut self, key: &str, value: &str) {
        push_text(value, self.key(key));
    }

    /// A value written verbatim: a number, or a list of numbers.
    pub(super) fn raw(&mut self, key: &str, value: impl Display) {
        let out = self.key(key);
        out.extend_from_slice(value.to_string().as_bytes());
    }

    /// A number if the text is one, otherwise a text.
    pub(super) fn number_or_text(&mut self, key: &str, written: &str) {
        match serde_json::from_str::<serde_json::Number>(written) {
            Ok(number) => self.raw(key, number),
            Err(_) => self.text(key, written),
        }
    }

    /// The text so far; `None` if nothing was written.
    pub(super) fn get(&self) -> Option<&str> {
        std::str::from_utf8(&self.0)
            .ok()
            .filter(|text| !text.is_empty())
    }
}

/// Writes a text with its quotes.
pub(super) fn push_text(text: &str, out: &mut Vec<u8>) {
    // Writing to memory cannot fail.
    let _ = serde_json::to_writer(out, text);
}
