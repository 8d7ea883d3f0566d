//! Memory for text that is filled again and again.

/// Text, and room for more. Its bytes are initialized once: safe code cannot write to uninitialized memory, and
/// clearing it each time would take a quarter as long as inflating.
#[derive(Debug, Default)]
pub struct TextBuffer {
    bytes: Vec<u8>,
    len: usize,
}

impl TextBuffer {
    /// An empty buffer in the given memory, whose content is ignored.
    pub(crate) fn of(memory: Vec<u8>) -> TextBuffer {
        TextBuffer {
            bytes: memory,
            len: 0,
        }
    }

    /// The text.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    /// Removes the text.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Appends text.
    pub fn push(&mut self, text: &[u8]) {
        if let Some(room) = self.room(text.len()).get_mut(..text.len()) {
            room.copy_from_slice(text);
            self.filled(text.len());
        }
    }

    /// The text in its own memory.
    pub(crate) fn into_text(mut self) -> Vec<u8> {
        self.bytes.truncate(self.len);
        self.bytes
    }

    /// Room for at least that many bytes; [`TextBuffer::filled`] makes them text.
    pub(crate) fn room(&mut self, least: usize) -> &mut [u8] {
        if self.bytes.len() - self.len < least {
            self.bytes.resize((self.len + least).max(2 * self.len), 0);
        }
        self.bytes.get_mut(self.len..).unwrap_or_default()
    }

    /// The first `n` bytes of the room are text.
    pub(crate) fn filled(&mut self, n: usize) {
        self.len = (self.len + n).min(self.bytes.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_becomes_text() {
        let mut buffer = TextBuffer::of(b"old".to_vec());
        assert_eq!(buffer.bytes(), b"");
        buffer.push(b"ab");
        let room = buffer.room(3);
        assert!(room.len() >= 3);
        room[..2].copy_from_slice(b"cd");
        buffer.filled(2);
        buffer.push(b"e");
        assert_eq!(buffer.bytes(), b"abcde");
        assert_eq!(buffer.into_text(), b"abcde");
    }
}
