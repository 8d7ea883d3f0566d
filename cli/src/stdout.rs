//! Standard output and error: for people if it is a terminal, otherwise for programs.

use std::borrow::Cow;
use std::io::{self, Write};

use dormer_core::base::format;

use crate::text;

/// Standard output. If it is not a terminal, numbers have no thousands separators and every space is an ASCII space, so
/// that `awk`, `cut` and `sort -n` can read them.
pub(crate) struct Out<'a> {
    to: &'a mut dyn Write,
    is_terminal: bool,
    /// The columns of the terminal.
    width: Option<usize>,
}

impl<'a> Out<'a> {
    pub(crate) fn new(to: &'a mut dyn Write, is_terminal: bool) -> Out<'a> {
        Out {
            to,
            is_terminal,
            width: None,
        }
    }

    /// The same on a terminal with so many columns, if known.
    pub(crate) fn with_width(self, width: Option<usize>) -> Out<'a> {
        Out { width, ..self }
    }

    pub(crate) fn width(&self) -> Option<usize> {
        self.width
    }

    pub(crate) fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Text as printed.
    pub(crate) fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.is_terminal || text.is_ascii() {
            true => Cow::Borrowed(text),
            false => Cow::Owned(for_programs(text)),
        }
    }

    /// The content of a file, unchanged.
    pub(crate) fn file(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.to.write_all(bytes)
    }
}

impl Write for Out<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match std::str::from_utf8(bytes) {
            Ok(text) => self.to.write_all(self.text(text).as_bytes())?,
            Err(_) => self.to.write_all(bytes)?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// The prefix of list lines below a sentence.
pub(crate) const NEXT: &str = "\n  ";

/// Prints a sentence to standard error.
pub(crate) fn complain(sentence: &str) {
    let lines: Vec<String> = sentence.split(NEXT).map(text::printable).collect();
    let sentence = for_programs(&lines.join(NEXT));
    // If writing to standard error fails, there is nothing left to do.
    let _ = writeln!(io::stderr(), "dormer: {sentence}");
}

/// Digits without separators, and ASCII spaces.
fn for_programs(text: &str) -> String {
    format::ungrouped(text).replace(['\u{A0}', '\u{2009}', '\u{202F}'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_read_numbers_as_they_are() {
        let mut bytes = Vec::new();
        let mut out = Out::new(&mut bytes, false);
        write!(out, "1\u{202F}049 launches, 1.5\u{202F}µs").expect("a Vec takes any bytes");
        assert_eq!(String::from_utf8_lossy(&bytes), "1049 launches, 1.5 µs");
        let mut bytes = Vec::new();
        let mut out = Out::new(&mut bytes, true);
        write!(out, "1\u{202F}049").expect("a Vec takes any bytes");
        assert_eq!(String::from_utf8_lossy(&bytes), "1\u{202F}049");
    }
}
