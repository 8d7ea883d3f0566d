//! Large traces out of a real one: the same events again and again, each time later and with other ids.
//!
//! It works on the text, so that the result is laid out as the profiler wrote it, and a tile costs no more memory than the
//! original.

use std::io::{self, Write};

/// What is added to a number in the k-th tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shift {
    /// k spans of the whole trace.
    Time,
    /// k times as many ids as the trace has.
    Id,
}

/// Numbers that tie events together. `id` is that of a flow.
const IDS: &[&str] = &[
    "id",
    "correlation",
    "External id",
    "Python id",
    "Python parent id",
    "Record function id",
    "Sequence number",
    "Ev Idx",
];

/// Time between two tiles.
const GAP_US: i64 = 1_000;

/// A number in the text of the trace that differs from tile to tile.
struct Number {
    start: usize,
    end: usize,
    value: i64,
    shift: Shift,
}

/// The text of an event, and which of the numbers are its own.
struct Event {
    start: usize,
    end: usize,
    numbers: std::ops::Range<usize>,
    /// Names of processes and threads are said once.
    is_metadata: bool,
}

/// Writes a trace that holds the events of `text` `n` times; `None` when `text` has no `traceEvents`.
pub(crate) fn tile(text: &str, n: i64, out: &mut impl Write) -> Option<io::Result<()>> {
    let array = text.find("\"traceEvents\"")?;
    let open = array + text[array..].find('[')?;
    let (events, numbers, close) = events(text, open + 1);
    let last = |shift| {
        let values = numbers.iter().filter(move |number| number.shift == shift);
        values.map(|number| number.value)
    };
    let step = Step {
        span_us: last(Shift::Time).max()? - last(Shift::Time).min()? + longest_us(text) + GAP_US,
        n_ids: last(Shift::Id).max().unwrap_or(0) + 1,
    };
    let gap = match events.as_slice() {
        [first, second, ..] => &text[first.end..second.start],
        _ => ",",
    };
    Some((|| {
        let before = events.first().map_or(open + 1, |event| event.start);
        out.write_all(&text.as_bytes()[..before])?;
        let mut is_first = true;
        for k in 0..n {
            for event in events.iter().filter(|event| k == 0 || !event.is_metadata) {
                if !is_first {
                    out.write_all(gap.as_bytes())?;
                }
                is_first = false;
                write_event(text, event, &numbers[event.numbers.clone()], k, step, out)?;
            }
        }
        let after = events.last().map_or(close, |event| event.end);
        out.write_all(&text.as_bytes()[after..])
    })())
}

/// How far one tile lies from the one before.
#[derive(Clone, Copy)]
struct Step {
    span_us: i64,
    n_ids: i64,
}

fn write_event(
    text: &str,
    event: &Event,
    numbers: &[Number],
    k: i64,
    step: Step,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut from = event.start;
    for number in numbers {
        out.write_all(&text.as_bytes()[from..number.start])?;
        let shift = match number.shift {
            Shift::Time => k * step.span_us,
            Shift::Id => k * step.n_ids,
        };
        write!(out, "{}", number.value + shift)?;
        from = number.end;
    }
    out.write_all(&text.as_bytes()[from..event.end])
}

/// Finds the events between `start` and the end of their array, and where that is.
fn events(text: &str, start: usize) -> (Vec<Event>, Vec<Number>, usize) {
    let bytes = text.as_bytes();
    let (mut events, mut numbers) = (Vec::new(), Vec::new());
    let (mut depth, mut at) = (0, start);
    let (mut event_start, mut first_number, mut is_metadata) = (start, 0, false);
    while at < bytes.len() {
        match bytes[at] {
            b'{' | b'[' => {
                if depth == 0 {
                    (event_start, first_number, is_metadata) = (at, numbers.len(), false);
                }
                depth += 1;
            }
            b']' if depth == 0 => break,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    events.push(Event {
                        start: event_start,
                        end: at + 1,
                        numbers: first_number..numbers.len(),
                        is_metadata,
                    });
                }
            }
            b'"' => {
                let end = string_end(bytes, at);
                if let Some(value) = value_after(bytes, end) {
                    let key = &text[at + 1..end - 1];
                    is_metadata |=
                        depth == 1 && key == "ph" && bytes[value..].starts_with(b"\"M\"");
                    numbers.extend(number(text, key, depth, value));
                    at = value;
                    continue;
                }
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    (events, numbers, at)
}

/// Behind the closing quote of the string that opens at `at`.
fn string_end(bytes: &[u8], at: usize) -> usize {
    let mut end = at + 1;
    while end < bytes.len() && bytes[end] != b'"' {
        end += if bytes[end] == b'\\' { 2 } else { 1 };
    }
    (end + 1).min(bytes.len())
}

/// Where the value begins, if the string that ends at `end` is a key.
fn value_after(bytes: &[u8], end: usize) -> Option<usize> {
    let is_space = |at: &usize| bytes.get(*at).is_some_and(u8::is_ascii_whitespace);
    let colon = (end..).find(|at| !is_space(at))?;
    (bytes.get(colon) == Some(&b':')).then(|| (colon + 1..).find(|at| !is_space(at)))?
}

/// The number to shift that a key has as its value. Of a time only the whole microseconds; a zero means no id.
fn number(text: &str, key: &str, depth: usize, start: usize) -> Option<Number> {
    let shift = match key {
        "ts" if depth == 1 => Shift::Time,
        "id" if depth != 1 => return None,
        _ if IDS.contains(&key) => Shift::Id,
        _ => return None,
    };
    let n_digits = text.as_bytes()[start..]
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let end = start + n_digits;
    let value = text[start..end].parse().ok()?;
    (value > 0).then_some(Number {
        start,
        end,
        value,
        shift,
    })
}

/// The longest duration in the text, rounded up.
fn longest_us(text: &str) -> i64 {
    text.split("\"dur\":")
        .skip(1)
        .filter_map(|rest| {
            let rest = rest.trim_start();
            let end = rest.find(|c: char| !c.is_ascii_digit())?;
            rest[..end].parse::<i64>().ok()
        })
        .max()
        .unwrap_or(0)
        + 1
}
