//! Reading JSON from a window of bytes that may end anywhere.
//!
//! Every function either succeeds within the window, or returns [`Stop::More`] (the window ends first; retry with a
//! longer one) or [`Stop::Bad`] (no longer window can help). Nothing here has side effects, so retrying is always safe
//! and a split at any byte changes nothing.

/// Whether a field of an event has this key.
pub(in crate::import) fn is_event_key(key: &[u8]) -> bool {
    const KEYS: [&str; 11] = [
        "ph", "cat", "name", "pid", "tid", "ts", "dur", "id", "args", "s", "bp",
    ];
    KEYS.iter().any(|known| known.as_bytes() == key)
}

/// Why a read ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::import) enum Stop {
    /// The window ends inside the value.
    More,
    /// The text is not as expected.
    Bad,
    /// Objects or arrays are nested deeper than any trace.
    TooDeep,
}

/// Deepest supported nesting of arrays and objects.
pub(in crate::import) const MAX_DEPTH: u32 = 64;

/// How far past a quote lenient reading looks.
pub(in crate::import) const LOOK_AHEAD: usize = 160;

/// How the end of a string is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::import) enum Quotes {
    /// As in JSON: at the first quote without a backslash.
    Strict,
    /// At the first quote after which the text continues like JSON. Reads names with unescaped quotes.
    Lenient,
}

/// What a string is used as; tells lenient reading what can follow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// A key, or a value anywhere.
    Any,
    /// The value of an event field: no colon follows it, and after a comma comes another field of the event.
    Field,
}

/// A string in the window, without its quotes.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::import) struct Span {
    pub(in crate::import) start: usize,
    pub(in crate::import) end: usize,
    /// Contains backslashes, control characters or bytes outside ASCII, so it must be decoded.
    pub(in crate::import) rough: bool,
    /// Contains unescaped quotes.
    pub(in crate::import) unescaped_quotes: bool,
}

/// A position in the window.
#[derive(Debug, Clone, Copy)]
pub(in crate::import) struct Cursor<'a> {
    pub(in crate::import) buf: &'a [u8],
    pub(in crate::import) pos: usize,
    pub(in crate::import) quotes: Quotes,
    /// The number of `NaN`s and similar values in the arrays and objects skipped so far.
    pub(in crate::import) nans: u32,
}

impl<'a> Cursor<'a> {
    /// A cursor at a position in a window.
    #[inline(always)]
    pub(in crate::import) fn new(buf: &'a [u8], pos: usize, quotes: Quotes) -> Cursor<'a> {
        Cursor {
            buf,
            pos,
            quotes,
            nans: 0,
        }
    }

    /// The current byte.
    #[inline(always)]
    pub(in crate::import) fn peek(&self) -> Result<u8, Stop> {
        self.buf.get(self.pos).copied().ok_or(Stop::More)
    }

    /// Skips white space and returns the byte after it.
    #[inline(always)]
    pub(in crate::import) fn skip_space(&mut self) -> Result<u8, Stop> {
        loop {
            match self.peek()? {
                b' ' | b'\n' | b'\r' | b'\t' => self.pos += 1,
                byte => return Ok(byte),
            }
        }
    }

    /// The bytes of a span.
    #[inline(always)]
    pub(in crate::import) fn bytes(&self, start: usize, end: usize) -> &'a [u8] {
        self.buf.get(start..end).unwrap_or(&[])
    }

    /// Reads a string; the cursor starts at its opening quote and ends after the closing one.
    #[inline]
    pub(in crate::import) fn string(&mut self) -> Result<Span, Stop> {
        self.string_as(Role::Any)
    }

    /// Reads the string value of an event field. A name may contain what looks like JSON, for example the `repr` of a
    /// dictionary.
    #[inline]
    pub(in crate::import) fn field_string(&mut self) -> Result<Span, Stop> {
        self.string_as(Role::Field)
    }

    #[inline]
    fn string_as(&mut self, role: Role) -> Result<Span, Stop> {
        if self.peek()? != b'"' {
            return Err(Stop::Bad);
        }
        self.pos += 1;
        let mut span = Span {
            start: self.pos,
            ..Span::default()
        };
        loop {
            match self.find_special()? {
                b'"' => {
                    if self.quotes == Quotes::Lenient && !self.closes_here(role)? {
                        span.unescaped_quotes = true;
                        self.pos += 1;
                        continue;
                    }
                    span.end = self.pos;
                    self.pos += 1;
                    return Ok(span);
                }
                b'\\' => {
                    span.rough = true;
                    if self.pos + 1 >= self.buf.len() {
                        return Err(Stop::More);
                    }
                    self.pos += 2;
                }
                _ => {
                    span.rough = true;
                    self.pos += 1;
                }
            }
        }
    }

    /// Moves to the next quote, backslash, control character or byte outside ASCII.
    #[inline(always)]
    fn find_special(&mut self) -> Result<u8, Stop> {
        const ONES: u64 = 0x0101_0101_0101_0101;
        const HIGHS: u64 = 0x8080_8080_8080_8080;
        let zero_bytes = |word: u64| word.wrapping_sub(ONES) & !word & HIGHS;
        while let Some(bytes) = self.buf.get(self.pos..self.pos + 8) {
            let mut word = [0; 8];
            word.copy_from_slice(bytes);
            let word = u64::from_le_bytes(word);
            let control = word.wrapping_sub(ONES * 0x20) & !word & HIGHS;
            // Each mask may have false hits above its lowest one, never below, so only the lowest counts.
            let special = zero_bytes(word ^ (ONES * u64::from(b'"')))
                | zero_bytes(word ^ (ONES * u64::from(b'\\')))
                | control
                | (word & HIGHS);
            if special != 0 {
                self.pos += (special.trailing_zeros() / 8) as usize;
                return self.peek();
            }
            self.pos += 8;
        }
        loop {
            match self.peek()? {
                byte @ (b'"' | b'\\' | 0..0x20 | 0x80..) => return Ok(byte),
                _ => self.pos += 1,
            }
        }
    }

    /// Whether the quote here can close a string: a colon follows, or a closing bracket, or a comma and then the next
    /// key or element.
    fn closes_here(&self, role: Role) -> Result<bool, Stop> {
        // The look-ahead is bounded, so that a longer window cannot change the answer.
        let end = self.pos + LOOK_AHEAD;
        let bounded = self.buf.get(..end);
        let ahead = Cursor::new(bounded.unwrap_or(self.buf), self.pos + 1, Quotes::Strict);
        match ahead.goes_on_as_json(role) {
            Err(Stop::More) if bounded.is_some() => Ok(false),
            answer => answer,
        }
    }

    fn goes_on_as_json(mut self, role: Role) -> Result<bool, Stop> {
        Ok(match self.skip_space()? {
            b':' => role == Role::Any,
            b'}' | b']' => {
                self.pos += 1;
                matches!(self.skip_space()?, b',' | b'}' | b']')
            }
            b',' => {
                self.pos += 1;
                match self.skip_space()? {
                    b'"' if role == Role::Field => {
                        let key = self.string()?;
                        let is_key = is_event_key(self.bytes(key.start, key.end));
                        is_key && self.skip_space()? == b':'
                    }
                    _ if role == Role::Field => false,
                    // The next key, or the next element of a list of strings.
                    b'"' => {
                        self.string()?;
                        matches!(self.skip_space()?, b':' | b',' | b']')
                    }
                    b'[' | b'{' | b'-' | b'0'..=b'9' => true,
                    _ => false,
                }
            }
            _ => false,
        })
    }

    /// Skips a value of any kind and returns where it starts; the cursor is at its first byte.
    #[inline]
    pub(in crate::import) fn skip_value(&mut self) -> Result<usize, Stop> {
        let start = self.pos;
        match self.peek()? {
            b'"' => {
                self.string()?;
            }
            b'[' | b'{' => self.skip_nested()?,
            _ => {
                self.scalar()?;
            }
        }
        Ok(start)
    }

    /// Skips an array or object.
    fn skip_nested(&mut self) -> Result<(), Stop> {
        let mut depth = 0u32;
        // One bit per level, the innermost last: set for an object. Deep enough for MAX_DEPTH.
        let mut objects = 0u64;
        loop {
            let byte = self.peek()?;
            match byte {
                b'"' => {
                    self.string()?;
                    continue;
                }
                b'[' | b'{' => {
                    depth += 1;
                    if depth > MAX_DEPTH {
                        return Err(Stop::TooDeep);
                    }
                    objects = objects << 1 | u64::from(byte == b'{');
                }
                b']' | b'}' => {
                    if (objects & 1 == 1) != (byte == b'}') {
                        return Err(Stop::Bad);
                    }
                    objects >>= 1;
                    depth -= 1;
                    if depth == 0 {
                        self.pos += 1;
                        return Ok(());
                    }
                }
                b'N' | b'I' | b'n' | b'i' | b'-' => {
                    if classify(self.scalar()?) == Scalar::NotANumber {
                        self.nans += 1;
                    }
                    continue;
                }
                _ => {}
            }
            self.pos += 1;
        }
    }

    /// Reads a number, `true`, `false`, `null`, or whatever is there instead, up to the next comma, bracket or white
    /// space.
    #[inline(always)]
    pub(in crate::import) fn scalar(&mut self) -> Result<&'a [u8], Stop> {
        let start = self.pos;
        loop {
            match self.peek()? {
                b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t' => break,
                b'"' | b'{' | b'[' | b':' => return Err(Stop::Bad),
                _ => self.pos += 1,
            }
        }
        if self.pos == start {
            return Err(Stop::Bad);
        }
        Ok(self.bytes(start, self.pos))
    }
}

/// The kind of a scalar's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::import) enum Scalar {
    /// A number, `true`, `false` or `null`.
    Json,
    /// An integer beyond 64 bits.
    Huge,
    /// `NaN`, `Infinity` and similar.
    NotANumber,
    /// Not a value.
    Nonsense,
}

/// Classifies a scalar's text.
#[inline]
pub(in crate::import) fn classify(text: &[u8]) -> Scalar {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    match digits.first() {
        Some(b'0'..=b'9') => {
            if digits.len() < 19 || !digits.iter().all(u8::is_ascii_digit) {
                return Scalar::Json;
            }
            match std::str::from_utf8(digits)
                .ok()
                .and_then(|digits| digits.parse::<u64>().ok())
            {
                Some(_) => Scalar::Json,
                None => Scalar::Huge,
            }
        }
        _ if matches!(text, b"true" | b"false" | b"null") => Scalar::Json,
        _ => {
            let digits = digits.strip_prefix(b"+").unwrap_or(digits);
            let is = |word: &[u8]| digits.eq_ignore_ascii_case(word);
            if is(b"nan") || is(b"inf") || is(b"infinity") {
                Scalar::NotANumber
            } else {
                Scalar::Nonsense
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cursor(text: &str, quotes: Quotes) -> Cursor<'_> {
        Cursor::new(text.as_bytes(), 0, quotes)
    }

    #[test]
    fn a_string_ends_at_its_quote() {
        let text = r#""aten::mm and more", 1"#;
        let mut cursor = cursor(text, Quotes::Strict);
        let span = cursor.string().unwrap();
        assert_eq!(cursor.bytes(span.start, span.end), b"aten::mm and more");
        assert!(!span.rough);
        assert_eq!(cursor.peek(), Ok(b','));
    }

    #[test]
    fn a_window_that_ends_asks_for_more() {
        for text in [r#""abc"#, r#""abc\"#, "[1, 2", "12", r#"{"a": "}""#] {
            assert_eq!(
                cursor(text, Quotes::Strict).skip_value(),
                Err(Stop::More),
                "{text}"
            );
        }
    }

    #[test]
    fn unescaped_quotes_are_part_of_the_name() {
        let text = r#""say "hi", then go", "pid": 1"#;
        let mut cursor = cursor(text, Quotes::Lenient);
        let span = cursor.string().unwrap();
        assert_eq!(cursor.bytes(span.start, span.end), br#"say "hi", then go"#);
        assert!(span.unescaped_quotes);
    }

    /// The name of a Python frame whose file name looks like a dictionary.
    #[test]
    fn what_looks_like_fields_is_part_of_the_name() {
        let name = r#"{"device": "cpu", "dtype": "float32"}(12): run"#;
        let text = format!(r#""{name}", "pid": 1"#);
        let mut cursor = cursor(&text, Quotes::Lenient);
        let span = cursor.field_string().unwrap();
        assert_eq!(cursor.bytes(span.start, span.end), name.as_bytes());
    }

    #[test]
    fn nesting_has_a_limit() {
        let deep = "[".repeat(600);
        assert_eq!(
            cursor(&deep, Quotes::Strict).skip_value(),
            Err(Stop::TooDeep)
        );
    }

    #[test]
    fn scalars_say_what_they_are() {
        for (text, expected) in [
            ("1.5e3", Scalar::Json),
            ("null", Scalar::Json),
            ("18446744073709551615", Scalar::Json),
            ("18446744073709551616", Scalar::Huge),
            ("-nan", Scalar::NotANumber),
            ("Infinity", Scalar::NotANumber),
            ("Nonsense", Scalar::Nonsense),
        ] {
            assert_eq!(classify(text.as_bytes()), expected, "{text}");
        }
    }
}
