//! A trace as the profiler's own JSON, gzipped: the form in which a redacted trace is shared.
//!
//! Importing it gives the same tables. Data that Dormer does not keep from a recording (ids of Python frames, markers,
//! flow arrows between operators) is not in it.

use std::fmt::Write as _;
use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::base::format;
use crate::trace::{
    DeviceProperties, Dims, EventId, LinkId, OpArgs, ShapeId, StringId, Trace, TrackId,
};

/// Writes a trace as a `.json.gz`; `None` if it cannot be written.
pub fn gzipped(trace: &Trace) -> Option<Vec<u8>> {
    let mut out = GzEncoder::new(Vec::new(), Compression::default());
    write(trace, &mut out).ok()?;
    out.finish().ok()
}

/// Each event keeps its position in the recording, as links and notes refer to it by position. The gaps are filled with
/// the other recorded elements, and with an empty object for each one that is not kept.
fn write(trace: &Trace, out: &mut impl Write) -> io::Result<()> {
    out.write_all(b"{\n")?;
    for (key, value) in metadata(trace) {
        writeln!(out, "{}:{value},", quoted(key))?;
    }
    out.write_all(b"\"traceEvents\":[")?;
    let mut elements = Elements { out, n: 0 };
    let mut others = others(trace);
    let mut numbers = trace.sequence_numbers.iter().peekable();
    let recorded = |event: &EventId| !trace.captured.has(*event);
    for event in trace.events.ids().filter(recorded) {
        let uid = u64::from(trace.events.uid(event));
        while elements.n < uid.min(trace.n_events_read) {
            elements.next(others.next().as_deref().unwrap_or(NOTHING))?;
        }
        while numbers.next_if(|(of, _)| *of < event).is_some() {}
        let number = numbers.next_if(|(of, _)| *of == event);
        elements.next(&call(trace, event, number.map(|(_, number)| *number)))?;
    }
    for other in others {
        elements.next(&other)?;
    }
    while elements.n < trace.n_events_read {
        elements.next(NOTHING)?;
    }
    elements.out.write_all(b"\n]}\n")
}

/// An element that readers ignore.
const NOTHING: &str = "{}";

/// The list of events being written.
struct Elements<'a, W> {
    out: &'a mut W,
    /// Number of elements so far.
    n: u64,
}

impl<W: Write> Elements<'_, W> {
    fn next(&mut self, element: &str) -> io::Result<()> {
        let between = if self.n == 0 { "\n" } else { ",\n" };
        self.n += 1;
        self.out.write_all(between.as_bytes())?;
        self.out.write_all(element.as_bytes())
    }
}

/// An object being written, in the order of its keys.
struct Object(String);

impl Object {
    /// An event on a thread or stream.
    fn event(phase: &str, trace: &Trace, track: TrackId) -> Object {
        let mut event = Object("{".to_owned());
        event.text("ph", phase);
        if let Some(track) = trace.tracks.get(track) {
            event.add("pid", &spelled(trace.strings.get(track.pid)));
            event.add("tid", &spelled(trace.strings.get(track.tid)));
        }
        event
    }

    /// Adds a JSON value.
    fn add(&mut self, key: &str, value: &str) {
        let between = if self.0.ends_with('{') { "" } else { "," };
        let _ = write!(self.0, "{between}\"{key}\":{value}");
    }

    fn text(&mut self, key: &str, value: &str) {
        self.add(key, &quoted(value));
    }

    fn ended(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

/// The metadata next to the events; a redacted trace has only the GPUs.
fn metadata(trace: &Trace) -> Vec<(&str, String)> {
    const DEVICES: &str = "deviceProperties";
    let known = trace.metadata.iter().filter(|(key, text)| {
        key != DEVICES && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
    });
    let devices: Vec<Value> = trace.devices.iter().map(device).collect();
    let devices = (!devices.is_empty()).then(|| (DEVICES, Value::from(devices).to_string()));
    let known = known.map(|(key, text)| (key.as_str(), text.clone()));
    devices.into_iter().chain(known).collect()
}

/// A GPU in the profiler's form; unknown values are null, as if they were missing.
fn device(device: &DeviceProperties) -> Value {
    json!({
        "id": device.id,
        "name": device.name,
        "totalGlobalMem": device.total_memory,
        "numSms": device.n_sms,
        "computeMajor": device.compute_major,
        "computeMinor": device.compute_minor,
    })
}

/// Elements other than calls and GPU activity: names of processes and threads, arrows from launches to GPU activity,
/// and allocator reports.
fn others(trace: &Trace) -> impl Iterator<Item = String> {
    let (starts, ends) = (&trace.flows.starts, &trace.flows.ends);
    let arrows = (0..starts.len().max(ends.len())).flat_map(move |row| {
        let ends = [("s", starts.get(row)), ("f", ends.get(row))];
        ends.into_iter().filter_map(|(phase, point)| {
            let point = point?;
            let mut end = Object::event(phase, trace, point.track);
            end.text("cat", "ac2g");
            end.add("id", &link(trace, point.id));
            Some(end.ended())
        })
    });
    let changes = trace.memory.iter().map(|change| {
        let figures = [
            ("Addr", change.addr.to_string()),
            ("Bytes", change.bytes.to_string()),
            ("Total Allocated", change.allocated.to_string()),
            ("Total Reserved", change.reserved.to_string()),
        ];
        let at = (change.ts_ns, change.track, change.device);
        instant(trace, "[memory]", at, &figures)
    });
    let failed = trace.memory.failed().iter().map(|failed| {
        let at = (failed.ts_ns, failed.track, failed.device);
        instant(
            trace,
            "[OutOfMemory]",
            at,
            &[("Bytes", failed.bytes.to_string())],
        )
    });
    names(trace)
        .into_iter()
        .chain(arrows)
        .chain(changes)
        .chain(failed)
}

/// A name for each process and thread.
fn names(trace: &Trace) -> Vec<String> {
    let mut named = Vec::new();
    let mut processes = Vec::new();
    for (id, track) in trace.tracks.iter() {
        let is_new = !processes.contains(&track.pid);
        processes.extend(is_new.then_some(track.pid));
        for (kind, key, text) in [
            (
                "process_name",
                "name",
                track.process_name.filter(|_| is_new),
            ),
            (
                "process_labels",
                "labels",
                track.process_label.filter(|_| is_new),
            ),
            ("thread_name", "name", track.thread_name),
        ] {
            if let Some(text) = text {
                let mut name = Object::event("M", trace, id);
                name.text("name", kind);
                name.add(
                    "args",
                    &format!("{{\"{key}\":{}}}", quoted(trace.strings.get(text))),
                );
                named.push(name.ended());
            }
        }
    }
    named
}

/// An allocator report: when, on which thread and for which device.
fn instant(
    trace: &Trace,
    name: &str,
    (ts_ns, track, device): (i64, TrackId, u16),
    figures: &[(&str, String)],
) -> String {
    let mut args = Object("{".to_owned());
    if let Some(device) = trace.memory.devices().get(usize::from(device)) {
        args.add("Device Type", &device.kind.to_string());
        args.add("Device Id", &device.index.to_string());
    }
    for (key, figure) in figures {
        args.add(key, figure);
    }
    let mut event = Object::event("i", trace, track);
    event.text("cat", "cpu_instant_event");
    event.text("name", name);
    event.add("ts", &microseconds(ts_ns));
    event.add("args", &args.ended());
    event.ended()
}

/// A call or GPU activity.
fn call(trace: &Trace, event: EventId, sequence_number: Option<i64>) -> String {
    let events = &trace.events;
    let mut call = Object::event("X", trace, events.track(event));
    call.text("cat", events.category(event).cat());
    call.text("name", trace.name(event));
    call.add("ts", &microseconds(events.ts_ns(event)));
    if let Some(dur_ns) = events.dur_ns(event) {
        call.add("dur", &microseconds(dur_ns));
    }
    let mut args = Object("{".to_owned());
    for (key, id) in [
        ("External id", events.external_id(event)),
        ("correlation", events.correlation(event)),
    ] {
        if let Some(id) = id {
            args.add(key, &link(trace, id));
        }
    }
    if let Some(number) = sequence_number {
        args.add("Sequence number", &number.to_string());
    }
    if let Some(of_op) = events.op_args(event).and_then(|id| trace.args.get(id)) {
        add_op_args(&mut args, trace, of_op);
    }
    if let Some(extra) = events.extra_args(event) {
        // It is already JSON text with the profiler's own keys and values.
        let between = if args.0.ends_with('{') { "" } else { "," };
        args.0 = args.0 + between + trace.strings.get(extra);
    }
    if args.0 != "{" {
        call.add("args", &args.ended());
    }
    call.ended()
}

/// Shapes, types, strides and values; null if the recorded form was unreadable.
fn add_op_args(args: &mut Object, trace: &Trace, of_op: &OpArgs) {
    let shape = |id: &ShapeId| {
        let sizes = trace.args.shape(*id).iter().map(i64::to_string);
        format!("[{}]", format::joined(sizes, ","))
    };
    let shapes = |all: &[Dims]| {
        let all = all.iter().map(|dims| match dims {
            Dims::One(id) => shape(id),
            Dims::Many(ids) => format!("[{}]", format::joined(ids.iter().map(shape), ",")),
        });
        format!("[{}]", format::joined(all, ","))
    };
    let texts = |all: &[StringId]| {
        let all = all.iter().map(|id| quoted(trace.strings.get(*id)));
        format!("[{}]", format::joined(all, ","))
    };
    let is_read = *of_op != OpArgs::default();
    for (key, value) in [
        ("Input Dims", of_op.dims.as_deref().map(shapes)),
        ("Input type", of_op.types.as_deref().map(texts)),
        ("Input Strides", of_op.strides.as_deref().map(shapes)),
        ("Concrete Inputs", of_op.concrete.as_deref().map(texts)),
    ] {
        match value {
            Some(value) => args.add(key, &value),
            None if !is_read && key == "Input Dims" => args.add(key, "null"),
            None => {}
        }
    }
}

/// An id that joins events.
fn link(trace: &Trace, id: LinkId) -> String {
    let spelling = id
        .spelling()
        .and_then(|row| trace.link_ids.spellings().get(row));
    match spelling {
        Some(text) => spelled(trace.strings.get(*text)),
        None => id.0.to_string(),
    }
}

/// Keeps a number a number.
fn spelled(text: &str) -> String {
    match text.parse::<u64>() {
        Ok(number) if number.to_string() == text => text.to_owned(),
        _ => quoted(text),
    }
}

/// Nanoseconds as microseconds, all digits.
pub(crate) fn microseconds(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    let ns = ns.unsigned_abs();
    format!("{sign}{}.{:03}", ns / 1000, ns % 1000)
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::import;
    use crate::testing::Timetable;

    fn again(trace: &Trace) -> Trace {
        import(&gzipped(trace).unwrap()).unwrap().trace
    }

    #[test]
    fn an_event_keeps_what_it_says_and_its_position() {
        let first = r#"{"ph": "X", "cat": "cpu_op", "name": "a \"b\" \u00b5", "pid": 7, "tid": "main", "ts": -1.5, "dur": 2, "args": {"Sequence number": 3, "Input Dims": [[2, 3], [], [[4], []]], "Input type": ["float", ""], "Concrete Inputs": ["", "[1, 1]"], "acme": {"x": 1}}}"#;
        let second = r#"{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1428625731896.179, "dur": 0.001, "args": {"External id": 4294967296, "correlation": "0x1f", "stream": 7}}"#;
        let text = format!(
            r#"{{"traceEvents": [{{"ph": "i", "name": "mark", "ts": 1}}, {first}, {{"ph": "i", "name": "mark", "ts": 2}}, {second}]}}"#
        );
        let read = import(text.as_bytes()).unwrap().trace;
        let uids = |trace: &Trace| {
            trace
                .events
                .ids()
                .map(|event| trace.events.uid(event))
                .collect::<Vec<_>>()
        };
        assert_eq!(uids(&read), [1, 3]);
        let written = again(&read);
        assert_eq!(uids(&written), [1, 3]);
        assert_eq!(written.n_events_read, 4);
        for event in read.events.ids() {
            let number = Some(3).filter(|_| event.index() == 0);
            assert_eq!(call(&written, event, number), call(&read, event, number));
        }
        assert_eq!(
            call(&read, EventId(1), None),
            r#"{"ph":"X","pid":0,"tid":7,"cat":"kernel","name":"k","ts":1428625731896.179,"dur":0.001,"args":{"External id":4294967296,"correlation":"0x1f","stream": 7}}"#
        );
    }

    #[test]
    fn names_arrows_and_memory_are_there_again() {
        let profile = Timetable::new()
            .op("aten::mm", 10..90)
            .launched("gemm", 20..25, 40..80)
            .profile();
        let others_of = |trace: &Trace| others(trace).collect::<Vec<_>>();
        let written = again(&profile.trace);
        assert!(!others_of(&written).is_empty());
        assert_eq!(others_of(&written), others_of(&profile.trace));
    }

    #[test]
    fn times_keep_all_digits() {
        let cases = [
            (0, "0.000"),
            (1, "0.001"),
            (-2_500, "-2.500"),
            (i64::MAX, "9223372036854775.807"),
        ];
        for (ns, text) in cases {
            assert_eq!(microseconds(ns), text);
        }
    }
}
