//! The fields of a message, without a schema: readers match the field numbers that they know and skip all others.

use std::borrow::Cow;

/// A value, as encoded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::import) enum Value<'a> {
    /// An integer, bool or enum.
    Varint(u64),
    /// Eight bytes: a fixed integer or a double.
    Fixed64(u64),
    /// Four bytes: a fixed integer or a float.
    Fixed32(u32),
    /// A text, a message, bytes or packed numbers.
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    /// A number of any width; 0 if it is not a number.
    pub(in crate::import) fn number(self) -> u64 {
        match self {
            Value::Varint(number) | Value::Fixed64(number) => number,
            Value::Fixed32(number) => u64::from(number),
            Value::Bytes(_) => 0,
        }
    }

    /// A signed number in varint encoding.
    pub(in crate::import) fn signed(self) -> i64 {
        self.number().cast_signed()
    }

    /// A text; bytes that are not UTF-8 become U+FFFD.
    pub(in crate::import) fn text(self) -> Cow<'a, str> {
        String::from_utf8_lossy(self.bytes())
    }

    /// Its bytes; empty for a number.
    pub(in crate::import) fn bytes(self) -> &'a [u8] {
        match self {
            Value::Bytes(bytes) => bytes,
            _ => &[],
        }
    }

    /// The fields of a message.
    pub(in crate::import) fn fields(self) -> Fields<'a> {
        Fields::of(self.bytes())
    }

    /// The numbers of a repeated field, packed or not.
    pub(in crate::import) fn numbers(self) -> impl Iterator<Item = u64> + use<'a> {
        let (alone, packed) = match self {
            Value::Bytes(packed) => (None, packed),
            number => (Some(number.number()), &[][..]),
        };
        let mut rest = packed;
        alone.into_iter().chain(std::iter::from_fn(move || {
            let number = varint(&mut rest).ok();
            rest = number.map_or(&[], |_| rest);
            number
        }))
    }
}

/// Why there is no next field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::import) enum Bad {
    /// The bytes end within it.
    Short,
    /// A varint that is too long, field 0, or a wire type that no message uses.
    Damaged,
}

/// The fields of a message, one after the other, up to a damaged one.
#[derive(Debug, Clone)]
pub(in crate::import) struct Fields<'a> {
    rest: &'a [u8],
    bad: Option<Bad>,
}

impl<'a> Fields<'a> {
    /// The fields of the message in these bytes.
    pub(in crate::import) fn of(message: &'a [u8]) -> Fields<'a> {
        Fields {
            rest: message,
            bad: None,
        }
    }

    /// The error that ended them; `None` if all bytes are read or fields are left.
    pub(in crate::import) fn bad(&self) -> Option<Bad> {
        self.bad
    }

    /// Whether any of the remaining fields is damaged.
    pub(in crate::import) fn are_damaged(&self) -> bool {
        let mut rest = self.clone();
        rest.by_ref().for_each(drop);
        rest.bad.is_some()
    }

    fn read(&mut self) -> Result<(u32, Value<'a>), Bad> {
        let rest = &mut self.rest;
        let tag = varint(rest)?;
        let number = u32::try_from(tag >> 3).map_err(|_| Bad::Damaged)?;
        let value = match (number, tag & 7) {
            (0, _) => return Err(Bad::Damaged),
            (_, 0) => Value::Varint(varint(rest)?),
            (_, 1) => Value::Fixed64(u64::from_le_bytes(*array(rest)?)),
            (_, 5) => Value::Fixed32(u32::from_le_bytes(*array(rest)?)),
            (_, 2) => {
                let len = usize::try_from(varint(rest)?).map_err(|_| Bad::Short)?;
                let (bytes, after) = rest.split_at_checked(len).ok_or(Bad::Short)?;
                *rest = after;
                Value::Bytes(bytes)
            }
            _ => return Err(Bad::Damaged),
        };
        Ok((number, value))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (u32, Value<'a>);

    fn next(&mut self) -> Option<(u32, Value<'a>)> {
        if self.rest.is_empty() {
            return None;
        }
        match self.read() {
            Ok(field) => Some(field),
            Err(bad) => {
                self.bad = Some(bad);
                self.rest = &[];
                None
            }
        }
    }
}

fn array<'a, const N: usize>(rest: &mut &'a [u8]) -> Result<&'a [u8; N], Bad> {
    let (array, after) = rest.split_first_chunk().ok_or(Bad::Short)?;
    *rest = after;
    Ok(array)
}

/// Reads a varint: seven bits per byte, the lowest first. More than 64 bits is damage.
#[inline]
pub(super) fn varint(rest: &mut &[u8]) -> Result<u64, Bad> {
    let mut number = 0;
    for (at, byte) in rest.iter().take(10).enumerate() {
        number |= u64::from(byte & 0x7f) << (7 * at);
        if *byte < 0x80 {
            *rest = rest.get(at + 1..).unwrap_or(&[]);
            return Ok(number);
        }
    }
    Err(if rest.len() < 10 {
        Bad::Short
    } else {
        Bad::Damaged
    })
}
