//! The keys of events, recognized at the speed of a comparison.
//!
//! A profiler writes its events with the same keys in the same order and with the same white space between them. So for
//! each key we remember the two texts that last led from its value to the next value (`,\n    "ts": `), and compare
//! those first. A miss costs an ordinary parse and is learned; a trace has a few hundred misses.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::import::json::{Cursor, Quotes, Stop};

/// A key of an event or of its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key(pub(super) u8);

impl Key {
    /// Before the first key of an event.
    pub(super) const EVENT_START: Key = Key(0);
    /// Before the first key of its arguments.
    pub(super) const ARGS_START: Key = Key(1);
    /// The closing bracket.
    pub(super) const END: Key = Key(2);

    pub(super) const PH: Key = Key(3);
    pub(super) const CAT: Key = Key(4);
    pub(super) const NAME: Key = Key(5);
    pub(super) const PID: Key = Key(6);
    pub(super) const TID: Key = Key(7);
    pub(super) const TS: Key = Key(8);
    pub(super) const DUR: Key = Key(9);
    pub(super) const ID: Key = Key(10);
    pub(super) const ARGS: Key = Key(11);

    pub(super) const EXTERNAL_ID: Key = Key(12);
    pub(super) const CORRELATION: Key = Key(13);
    pub(super) const SEQUENCE_NUMBER: Key = Key(14);
    pub(super) const INPUT_DIMS: Key = Key(15);
    pub(super) const INPUT_TYPE: Key = Key(16);
    pub(super) const INPUT_STRIDES: Key = Key(17);
    pub(super) const CONCRETE_INPUTS: Key = Key(18);
    pub(super) const LABELS: Key = Key(19);

    /// Arguments from this key to the last known one differ in every event, and nothing uses them.
    const FIRST_DROPPED: Key = Key(20);
    /// One of the dropped arguments: 0, unless an execution trace of the same run numbers operators, too.
    pub(super) const RECORD_FUNCTION_ID: Key = Key(21);
}

/// The known keys as the trace spells them, from [`Key::PH`] on.
const KNOWN: [&[u8]; 22] = [
    b"ph",
    b"cat",
    b"name",
    b"pid",
    b"tid",
    b"ts",
    b"dur",
    b"id",
    b"args",
    b"External id",
    b"correlation",
    b"Sequence number",
    b"Input Dims",
    b"Input type",
    b"Input Strides",
    b"Concrete Inputs",
    b"labels",
    b"Ev Idx",
    b"Record function id",
    b"Python id",
    b"Python parent id",
    b"Python module id",
];

/// The spellings used by PyTorch 1.8.
const FORMER: [(&[u8], Key); 2] = [
    (b"Input dims", Key::INPUT_DIMS),
    (b"external id", Key::EXTERNAL_ID),
];

impl Key {
    /// A key that is neither known nor learned.
    pub(super) const UNKNOWN: Key = Key(u8::MAX);

    /// Known keys plus the three positions without a key.
    const fn n_known() -> u8 {
        Key::PH.0 + KNOWN.len() as u8
    }

    /// Arguments that are not kept.
    #[inline]
    pub(super) fn is_dropped(self) -> bool {
        (Key::FIRST_DROPPED.0..Self::n_known()).contains(&self.0)
    }
}

/// The text between two values, and the key in it.
#[derive(Debug, Clone, Copy)]
struct Link {
    words: [u64; Link::WORDS],
    len: u8,
    key: Key,
}

impl Link {
    const WORDS: usize = 5;
    const MAX_LEN: usize = Self::WORDS * 8;
    const NONE: Link = Link {
        words: [0; Self::WORDS],
        len: 0,
        key: Key::UNKNOWN,
    };

    fn new(text: &[u8], key: Key) -> Option<Link> {
        let mut bytes = [0; Self::MAX_LEN];
        bytes.get_mut(..text.len())?.copy_from_slice(text);
        let mut words = [0; Self::WORDS];
        for (word, chunk) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*chunk);
        }
        Some(Link {
            words,
            len: text.len() as u8,
            key,
        })
    }

    /// Whether the window continues with this text.
    #[inline(always)]
    fn matches(&self, window: &[u8; Link::MAX_LEN]) -> bool {
        let (chunks, _) = window.as_chunks::<8>();
        let mut left = usize::from(self.len);
        if left == 0 {
            return false;
        }
        for (word, chunk) in self.words.iter().zip(chunks) {
            let found = u64::from_le_bytes(*chunk);
            if left <= 8 {
                return (found ^ word) << (64 - 8 * left as u32) == 0;
            }
            if found != *word {
                return false;
            }
            left -= 8;
        }
        false
    }
}

/// What was learned about the keys of this trace.
#[derive(Debug)]
pub(super) struct Keys {
    /// For each key, the texts that last followed its value.
    links: Vec<[Link; 2]>,
    /// Keys beyond the known ones, so that they can be distinguished and predicted.
    learned: HashMap<Box<[u8]>, Key, FxBuildHasher>,
    n_keys: u8,
}

impl Default for Keys {
    fn default() -> Self {
        Keys {
            links: vec![[Link::NONE; 2]; 256],
            learned: HashMap::default(),
            n_keys: Key::n_known(),
        }
    }
}

/// The key that was read.
#[derive(Debug, Clone, Copy)]
pub(super) struct NextKey {
    pub(super) key: Key,
    /// Surplus commas before it.
    pub(super) stray_commas: u32,
}

impl Keys {
    /// Number of keys so far, the known ones included.
    pub(super) fn len(&self) -> u8 {
        self.n_keys
    }

    /// Whether this many more keys fit.
    pub(super) fn has_room_for(&self, n_more: usize) -> bool {
        usize::from(self.n_keys) + n_more < usize::from(Key::UNKNOWN.0)
    }

    /// The keys that were learned after the first `n_keys`.
    pub(super) fn learned_from(&self, n_keys: u8) -> Vec<Box<[u8]>> {
        let learned = self.learned.iter().filter(|(_, key)| key.0 >= n_keys);
        learned.map(|(text, _)| text.clone()).collect()
    }

    /// Adds keys that another reader learned.
    pub(super) fn add(&mut self, keys: &[Box<[u8]>]) {
        for text in keys {
            self.key(text);
        }
    }

    /// Moves from the end of `previous`'s value to the next value, or past the closing bracket,
    /// which is [`Key::END`].
    #[inline]
    pub(super) fn next(&mut self, cursor: &mut Cursor, previous: Key) -> Result<NextKey, Stop> {
        if let Some(window) = cursor.buf.get(cursor.pos..).and_then(<[u8]>::first_chunk)
            && let Some(links) = self.links.get(usize::from(previous.0))
        {
            for link in links {
                if link.matches(window) {
                    cursor.pos += usize::from(link.len);
                    if link.key != Key::END {
                        // There may be more white space than last time.
                        cursor.skip_space()?;
                    }
                    return Ok(NextKey {
                        key: link.key,
                        stray_commas: 0,
                    });
                }
            }
        }
        self.read(cursor, previous)
    }

    #[cold]
    fn read(&mut self, cursor: &mut Cursor, previous: Key) -> Result<NextKey, Stop> {
        let start = cursor.pos;
        let first = previous == Key::EVENT_START || previous == Key::ARGS_START;
        let mut n_commas = 0;
        while cursor.skip_space()? == b',' {
            n_commas += 1;
            cursor.pos += 1;
        }
        let wanted = u32::from(!first);
        if cursor.peek()? == b'}' {
            cursor.pos += 1;
            if n_commas == 0 {
                self.learn(cursor, start, previous, Key::END);
            }
            return Ok(NextKey {
                key: Key::END,
                stray_commas: n_commas,
            });
        }
        if n_commas < wanted {
            return Err(Stop::Bad);
        }
        let span = cursor.string()?;
        if cursor.skip_space()? != b':' {
            return Err(Stop::Bad);
        }
        cursor.pos += 1;
        cursor.skip_space()?;
        let key = self.key(cursor.bytes(span.start, span.end));
        if n_commas == wanted && key != Key::UNKNOWN {
            self.learn(cursor, start, previous, key);
        }
        Ok(NextKey {
            key,
            stray_commas: n_commas - wanted,
        })
    }

    fn key(&mut self, text: &[u8]) -> Key {
        if let Some(number) = KNOWN.iter().position(|known| *known == text) {
            return Key(Key::PH.0 + number as u8);
        }
        if let Some((_, key)) = FORMER.iter().find(|(former, _)| *former == text) {
            return *key;
        }
        if let Some(key) = self.learned.get(text) {
            return *key;
        }
        if self.n_keys == Key::UNKNOWN.0 {
            return Key::UNKNOWN;
        }
        let key = Key(self.n_keys);
        self.n_keys += 1;
        self.learned.insert(text.into(), key);
        key
    }

    fn learn(&mut self, cursor: &Cursor, start: usize, previous: Key, key: Key) {
        // A key found by lenient reading may not be one for strict reading later.
        if cursor.quotes == Quotes::Lenient {
            return;
        }
        if let Some(link) = Link::new(cursor.bytes(start, cursor.pos), key)
            && let Some(links) = self.links.get_mut(usize::from(previous.0))
        {
            links.swap(0, 1);
            if let Some(slot) = links.first_mut() {
                *slot = link;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_event_is_read_by_comparison() {
        let text = br#"{"ph": "X",   "ts": 1}                                                "#;
        let mut keys = Keys::default();
        for _ in 0..2 {
            let mut cursor = Cursor::new(text, 1, Quotes::Strict);
            let mut previous = Key::EVENT_START;
            let mut seen = Vec::new();
            loop {
                previous = keys.next(&mut cursor, previous).unwrap().key;
                if previous == Key::END {
                    break;
                }
                cursor.skip_value().unwrap();
                seen.push(previous);
            }
            assert_eq!(seen, [Key::PH, Key::TS]);
        }
    }

    #[test]
    fn known_keys_have_their_numbers() {
        let mut keys = Keys::default();
        for (text, key) in [
            ("ph", Key::PH),
            ("args", Key::ARGS),
            ("correlation", Key::CORRELATION),
            ("Concrete Inputs", Key::CONCRETE_INPUTS),
            ("labels", Key::LABELS),
            ("Input dims", Key::INPUT_DIMS),
            ("external id", Key::EXTERNAL_ID),
        ] {
            assert_eq!(keys.key(text.as_bytes()), key, "{text}");
        }
        assert!(keys.key(b"Ev Idx").is_dropped());
        assert_eq!(keys.key(b"Record function id"), Key::RECORD_FUNCTION_ID);
        assert!(keys.key(b"Python module id").is_dropped());
        assert!(!keys.key(b"grid").is_dropped());
    }

    #[test]
    fn commas_too_many_are_counted() {
        let mut keys = Keys::default();
        let mut cursor = Cursor::new(b",, }", 0, Quotes::Strict);
        let next = keys.next(&mut cursor, Key::TS).unwrap();
        assert_eq!((next.key, next.stray_commas), (Key::END, 2));
    }
}
