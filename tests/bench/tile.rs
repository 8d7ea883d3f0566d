//! Generates large traces from a real one: the same events repeatedly, each copy later and with other ids.
//!
//! It works on the text, so that the result is formatted like the profiler's, and a tile costs no more memory than the
//! original.

use std::collections::HashMap;
use std::io::{self, Write};

use serde::Deserialize;
use serde_json::value::RawValue;

/// What is added to a number in the k-th tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shift {
    /// k times the span of the whole trace.
    Time,
    /// k times the number of ids in the trace.
    Id,
}

/// Arguments that connect events, such as the `id` of a flow.
const IDS: &[&str] = &[
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

#[derive(Deserialize)]
struct Trace<'a> {
    #[serde(borrow, rename = "traceEvents")]
    events: Vec<&'a RawValue>,
}

/// A number in the text of an event that differs from tile to tile.
struct Number {
    start: usize,
    end: usize,
    value: i64,
    shift: Shift,
}

struct Event<'a> {
    text: &'a str,
    numbers: Vec<Number>,
    dur_us: i64,
    /// Names of processes and threads are written only once.
    is_metadata: bool,
}

impl<'a> Event<'a> {
    fn new(event: &'a RawValue) -> Event<'a> {
        let text = event.get();
        let own = fields(event);
        let args = own.get("args").map(|args| fields(args));
        let args = args.unwrap_or_default();
        let time = own.get("ts").map(|ts| (ts, Shift::Time));
        let ids = IDS.iter().filter_map(|key| args.get(*key));
        let ids = ids.chain(own.get("id")).map(|id| (id, Shift::Id));
        let numbers = time.into_iter().chain(ids).filter_map(|(found, shift)| {
            let (n_digits, value) = whole(found)?;
            let start = offset(text, found.get());
            // A zero means no id.
            (value > 0).then_some(Number {
                start,
                end: start + n_digits,
                value,
                shift,
            })
        });
        let mut numbers: Vec<Number> = numbers.collect();
        numbers.sort_by_key(|number| number.start);
        let dur = own.get("dur").and_then(|dur| whole(dur));
        Event {
            text,
            numbers,
            dur_us: dur.map_or(0, |(_, us)| us),
            is_metadata: own.get("ph").is_some_and(|phase| phase.get() == "\"M\""),
        }
    }

    fn write(&self, k: i64, [span_us, n_ids]: [i64; 2], out: &mut impl Write) -> io::Result<()> {
        let mut from = 0;
        for number in &self.numbers {
            let step = match number.shift {
                Shift::Time => span_us,
                Shift::Id => n_ids,
            };
            let before = &self.text[from..number.start];
            write!(out, "{before}{}", number.value + k * step)?;
            from = number.end;
        }
        out.write_all(&self.text.as_bytes()[from..])
    }
}

/// The fields of an object; empty if it is not an object.
fn fields(object: &RawValue) -> HashMap<String, &RawValue> {
    serde_json::from_str(object.get()).unwrap_or_default()
}

/// The integer part of a number, preceded by its number of digits.
fn whole(value: &RawValue) -> Option<(usize, i64)> {
    let digits = value
        .get()
        .split(|one: char| !one.is_ascii_digit())
        .next()?;
    Some((digits.len(), digits.parse().ok()?))
}

/// The offset of a part within a text.
fn offset(text: &str, part: &str) -> usize {
    part.as_ptr().addr() - text.as_ptr().addr()
}

/// Writes a trace that contains the events of `text` `n` times.
pub(crate) fn tile(text: &str, n: i64, out: &mut impl Write) -> io::Result<()> {
    let trace: Trace = serde_json::from_str(text)?;
    let events: Vec<Event> = trace.events.into_iter().map(Event::new).collect();
    let [Some(first), Some(last)] = [events.first(), events.last()] else {
        return out.write_all(text.as_bytes());
    };
    let values = |shift| {
        let numbers = events.iter().flat_map(|event| &event.numbers);
        let numbers = numbers.filter(move |number| number.shift == shift);
        numbers.map(|number| number.value)
    };
    let starts = values(Shift::Time).max().zip(values(Shift::Time).min());
    let longest_us = events.iter().map(|event| event.dur_us + 1).max();
    let span_us = starts.map_or(0, |(last, first)| last - first) + longest_us.unwrap_or(0) + GAP_US;
    let n_ids = values(Shift::Id).max().unwrap_or(0) + 1;

    let end = |event: &Event| offset(text, event.text) + event.text.len();
    let gap = match events.as_slice() {
        [first, second, ..] => &text[end(first)..offset(text, second.text)],
        _ => ",",
    };
    let mut before = &text[..offset(text, first.text)];
    for k in 0..n {
        for event in events.iter().filter(|event| k == 0 || !event.is_metadata) {
            out.write_all(before.as_bytes())?;
            event.write(k, [span_us, n_ids], out)?;
            before = gap;
        }
    }
    out.write_all(&text.as_bytes()[end(last)..])
}
