//! Messages in the Protocol Buffers wire format, built field by field.

/// A message being built.
#[derive(Debug, Clone, Default)]
pub(crate) struct Message(pub(crate) Vec<u8>);

impl Message {
    pub(crate) fn new() -> Message {
        Message::default()
    }

    /// An integer, bool or enum; a negative one takes all 64 bits.
    pub(crate) fn number(mut self, field: u32, number: i64) -> Message {
        self.push(u64::from(field) << 3);
        self.push(number.cast_unsigned());
        self
    }

    /// A fixed integer.
    pub(crate) fn fixed64(mut self, field: u32, number: u64) -> Message {
        self.push(u64::from(field) << 3 | 1);
        self.0.extend_from_slice(&number.to_le_bytes());
        self
    }

    /// A string, bytes or packed numbers.
    pub(crate) fn bytes(mut self, field: u32, bytes: impl AsRef<[u8]>) -> Message {
        self.push(u64::from(field) << 3 | 2);
        self.push(bytes.as_ref().len() as u64);
        self.0.extend_from_slice(bytes.as_ref());
        self
    }

    /// A nested message.
    pub(crate) fn message(self, field: u32, message: &Message) -> Message {
        self.bytes(field, &message.0)
    }

    /// Several nested messages.
    pub(crate) fn messages<'a>(
        self,
        field: u32,
        messages: impl IntoIterator<Item = &'a Message>,
    ) -> Message {
        let messages = messages.into_iter();
        messages.fold(self, |all, message| all.message(field, message))
    }

    fn push(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }
}
