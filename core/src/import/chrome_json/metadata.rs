//! The values next to `traceEvents`: kept if small, otherwise skipped chunk by chunk.

/// Largest value that is kept.
pub(super) const MAX_METADATA_BYTES: usize = 1 << 20;

/// A top-level value that is being read.
#[derive(Debug)]
pub(super) struct Metadata {
    pub(super) key: String,
    /// Its offset in the text.
    pub(super) offset: u64,
    /// Its text; `None` if it is too large to keep.
    pub(super) text: Option<Vec<u8>>,
    depth: u32,
    in_string: bool,
    escaped: bool,
    /// How much of `"traceEvents": [` the last bytes match.
    events: EventsKey,
}

/// How a value continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// Beyond these bytes.
    GoesOn,
    /// It ends within them.
    Ended,
    /// They end with `"traceEvents": [`.
    Events,
}

impl Metadata {
    /// A value that starts at an offset.
    pub(super) fn new(key: String, offset: u64) -> Metadata {
        Metadata {
            key,
            offset,
            text: Some(Vec::new()),
            depth: 0,
            in_string: false,
            escaped: false,
            events: EventsKey::default(),
        }
    }

    /// Number of open arrays and objects.
    pub(super) fn depth(&self) -> u32 {
        self.depth
    }

    /// Whether it breaks off inside a string.
    pub(super) fn is_in_string(&self) -> bool {
        self.in_string
    }

    /// Keeps the next bytes of the text, up to the size limit.
    pub(super) fn keep(&mut self, bytes: &[u8]) {
        if let Some(text) = &mut self.text {
            text.extend_from_slice(bytes);
            if text.len() > MAX_METADATA_BYTES {
                self.text = None;
            }
        }
    }

    /// Reads on; returns how many bytes belong to the value and how it continues.
    pub(super) fn advance(&mut self, bytes: &[u8]) -> (usize, Part) {
        for (at, &byte) in bytes.iter().enumerate() {
            // With unescaped quotes, the key can be inside what looks like a string.
            if self.events.push(byte) {
                return (at + 1, Part::Events);
            }
            if self.in_string {
                match byte {
                    _ if self.escaped => self.escaped = false,
                    b'\\' => self.escaped = true,
                    b'"' => {
                        self.in_string = false;
                        if self.depth == 0 {
                            return (at + 1, Part::Ended);
                        }
                    }
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth = self.depth.saturating_add(1),
                b'}' | b']' if self.depth <= 1 => {
                    // A scalar ends before the bracket that closes its container.
                    return (at + self.depth as usize, Part::Ended);
                }
                b'}' | b']' => self.depth -= 1,
                b',' if self.depth == 0 => return (at, Part::Ended),
                _ => {}
            }
        }
        (bytes.len(), Part::GoesOn)
    }
}

/// Finds `"traceEvents": [`, byte by byte.
#[derive(Debug, Default)]
struct EventsKey {
    /// Bytes of the key matched so far, plus one for the colon.
    n_matched: usize,
}

impl EventsKey {
    const KEY: &[u8] = b"\"traceEvents\":";

    /// Whether the key is complete with this byte.
    fn push(&mut self, byte: u8) -> bool {
        let wanted = Self::KEY.get(self.n_matched).copied().unwrap_or(b'[');
        let is_past_quotes = self.n_matched + 1 >= Self::KEY.len();
        self.n_matched = match byte {
            _ if byte == wanted && wanted == b'[' => {
                self.n_matched = 0;
                return true;
            }
            _ if byte == wanted => self.n_matched + 1,
            b' ' | b'\n' | b'\r' | b'\t' if is_past_quotes => self.n_matched,
            b'"' => 1,
            _ => 0,
        };
        false
    }
}

#[cfg(test)]
mod tests {
    use super::EventsKey;

    #[test]
    fn the_events_are_found_with_any_white_space() {
        for (text, expected) in [
            (r#"", "traceEvents": ["#, true),
            ("\"traceEvents\" :\n[", true),
            (r#"""traceEvents":["#, true),
            (r#"\"traceEvents\": ["#, false),
            (r#""traceEvents": {"#, false),
            (r#""trace Events": ["#, false),
        ] {
            let mut key = EventsKey::default();
            let found = text.bytes().any(|byte| key.push(byte));
            assert_eq!(found, expected, "{text}");
        }
    }
}
