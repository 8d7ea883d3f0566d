//! Messages in the wire format of protocol buffers, written as text: random bytes seldom have correct
//! lengths, and nothing after a wrong one is reached.
//!
//! ```text
//! 1{8=5 10=1 11{9=1 23"aten::mm" 47#7}}    field 1 is a message, 8 a varint, 23 a text, 47 of eight bytes
//! 1{10=1 50z{1{8=6}}}                      field 50 is a message that is compressed
//! ```
//!
//! Any other character is skipped.

use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;

/// Deeper messages end those around them.
const MOST_DEPTH: usize = 64;

/// A message that has not ended.
#[derive(Default)]
struct Open {
    field: u64,
    is_compressed: bool,
    bytes: Vec<u8>,
}

/// The bytes of a message.
pub fn message(mut text: &[u8]) -> Vec<u8> {
    let mut open = vec![Open::default()];
    let mut field = 1;
    while let Some((first, rest)) = text.split_first() {
        text = rest;
        let bytes = &mut open.last_mut().expect("the outermost one").bytes;
        match first {
            b'0'..=b'9' => field = number(first, &mut text),
            b'=' | b'#' => {
                let is_negative = text.starts_with(b"-");
                text = text.strip_prefix(b"-").unwrap_or(text);
                let written = number(&b'0', &mut text);
                let value = if is_negative {
                    written.wrapping_neg()
                } else {
                    written
                };
                if *first == b'=' {
                    push(field << 3, bytes);
                    push(value, bytes);
                } else {
                    push(field << 3 | 1, bytes);
                    bytes.extend_from_slice(&value.to_le_bytes());
                }
            }
            b'"' => {
                let end = text.iter().position(|byte| *byte == b'"');
                let (value, rest) = text.split_at(end.unwrap_or(text.len()));
                text = rest.get(1..).unwrap_or_default();
                push_bytes(field, value, bytes);
            }
            b'{' if open.len() < MOST_DEPTH => open.push(Open {
                field,
                ..Open::default()
            }),
            b'z' if text.starts_with(b"{") && open.len() < MOST_DEPTH => {
                text = &text[1..];
                open.push(Open {
                    field,
                    is_compressed: true,
                    ..Open::default()
                });
            }
            b'}' => close(&mut open),
            _ => {}
        }
    }
    while open.len() > 1 {
        close(&mut open);
    }
    open.pop().expect("the outermost one").bytes
}

/// Puts the last message into the one around it.
fn close(open: &mut Vec<Open>) {
    if open.len() == 1 {
        return;
    }
    let Some(mut inner) = open.pop() else { return };
    if inner.is_compressed {
        let mut packed = ZlibEncoder::new(Vec::new(), Compression::fast());
        packed
            .write_all(&inner.bytes)
            .expect("a Vec takes any bytes");
        inner.bytes = packed.finish().expect("a Vec takes any bytes");
    }
    let outer = &mut open.last_mut().expect("the outermost one").bytes;
    push_bytes(inner.field, &inner.bytes, outer);
}

/// Reads the digits that follow one; what goes beyond 64 bits is dropped.
fn number(first: &u8, text: &mut &[u8]) -> u64 {
    let mut number = u64::from(first - b'0');
    while let Some((digit @ b'0'..=b'9', rest)) = text.split_first() {
        number = number
            .wrapping_mul(10)
            .wrapping_add(u64::from(digit - b'0'));
        *text = rest;
    }
    number
}

fn push_bytes(field: u64, value: &[u8], bytes: &mut Vec<u8>) {
    push(field << 3 | 2, bytes);
    push(value.len() as u64, bytes);
    bytes.extend_from_slice(value);
}

fn push(mut number: u64, bytes: &mut Vec<u8>) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}
