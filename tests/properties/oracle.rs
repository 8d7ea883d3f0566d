//! Random events, written and read by `serde_json`, compared with the import.

use dormer_core::import::warning::WarningKind;
use dormer_core::import::{Imported, import};
use dormer_core::trace::{Dims, EventId, LinkId, Trace};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::cases;

/// A category that the profiler does not write.
const UNKNOWN: &str = "x";

/// One random complete event and the expected result.
#[derive(Debug, Clone)]
struct Event {
    name: String,
    category: &'static str,
    ts_ns: i64,
    dur_ns: i64,
    pid: u32,
    tid: String,
    args: Map<String, Value>,
}

/// The arguments that have columns.
const KNOWN: [&str; 4] = ["External id", "Input Dims", "Input type", "correlation"];

impl Event {
    /// The event as JSON, with times in three decimals like the profiler's.
    fn json(&self) -> Value {
        json!({
            "ph": "X",
            "cat": self.category,
            "name": self.name,
            "pid": self.pid,
            "tid": self.tid,
            "ts": microseconds(self.ts_ns),
            "dur": microseconds(self.dur_ns),
            "args": self.args,
        })
    }
}

/// Exact decimal digits. (A `serde_json` number is an f64, which loses nanoseconds of an epoch.)
fn microseconds(ns: i64) -> String {
    format!("@{}.{:03}@", ns / 1000, ns % 1000)
}

/// The trace as text, with the times as numbers.
fn write(events: &[Event], pretty: bool) -> String {
    let events: Vec<Value> = events.iter().map(Event::json).collect();
    let trace = json!({"schemaVersion": 1, "traceEvents": events});
    let text = if pretty {
        serde_json::to_string_pretty(&trace).unwrap()
    } else {
        trace.to_string()
    };
    text.replace("\"@", "").replace("@\"", "")
}

/// Any text without `@`, which marks times above.
fn any_text() -> impl Strategy<Value = String> {
    any::<String>().prop_map(|text| text.replace('@', "a"))
}

fn any_extra_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e9..1e9f64).prop_map(Value::from),
        any_text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map(any_text(), inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn any_event() -> impl Strategy<Value = Event> {
    let category = prop::sample::select(vec![
        "cpu_op",
        "kernel",
        "cuda_runtime",
        "gpu_memcpy",
        UNKNOWN,
    ]);
    let times = (0..2_000_000_000_000_000_000i64, 0..86_400_000_000_000i64);
    let track = (
        any::<u32>(),
        prop_oneof![any_text(), any::<u16>().prop_map(|tid| tid.to_string())],
    );
    let id = || prop::option::of(prop_oneof![0..100u64, any::<u64>()].prop_map(Value::from));
    let shape = prop::collection::vec(any::<i64>(), 0..4);
    let dims = prop::collection::vec(shape, 0..4).prop_map(|dims| json!(dims));
    let types = prop::collection::vec(any_text(), 0..4).prop_map(|types| json!(types));
    let known = (id(), prop::option::of(dims), prop::option::of(types), id());
    let extra = prop::collection::hash_map("[a-z]{1,3}( [a-z]{1,9})?", any_extra_value(), 0..4);
    (any_text(), category, times, track, known, extra).prop_map(
        |(name, category, (ts_ns, dur_ns), (pid, tid), known, extra)| {
            let known = KNOWN.into_iter().zip(<[Option<Value>; 4]>::from(known));
            let known = known.filter_map(|(key, value)| Some((key.to_owned(), value?)));
            let extra = extra.into_iter();
            let extra = extra.filter(|(key, _)| key != "name" && key != "labels");
            Event {
                name,
                category,
                ts_ns,
                dur_ns,
                pid,
                tid,
                args: known.chain(extra).collect(),
            }
        },
    )
}

fn dims(trace: &Trace, id: EventId) -> Option<Value> {
    let args = trace.args.get(trace.events.op_args(id)?)?;
    let dims = args.dims.as_ref()?.iter().map(|dims| match dims {
        Dims::One(shape) => json!(trace.args.shape(*shape)),
        Dims::Many(_) => panic!("no lists of tensors were written"),
    });
    Some(dims.collect())
}

fn types(trace: &Trace, id: EventId) -> Option<Value> {
    let args = trace.args.get(trace.events.op_args(id)?)?;
    let types = args.types.as_ref()?.iter();
    Some(types.map(|&text| trace.strings.get(text)).collect())
}

fn extra(trace: &Trace, id: EventId) -> Map<String, Value> {
    let Some(text) = trace.events.extra_args(id) else {
        return Map::new();
    };
    serde_json::from_str(&format!("{{{}}}", trace.strings.get(text))).unwrap()
}

/// The other arguments as `serde_json` reads them back; it may round the last digit of a number.
fn written_extra(event: &Event) -> Map<String, Value> {
    let mut written = event.args.clone();
    written.retain(|key, _| !KNOWN.contains(&key.as_str()));
    serde_json::from_str(&Value::Object(written).to_string()).unwrap()
}

fn check(imported: &Imported, events: &[Event]) -> Result<(), TestCaseError> {
    let trace = &imported.trace;
    // Valid events cause no warnings, except that unknown categories are reported if at least one in twenty events has
    // one, or if there is no GPU activity.
    let n_unknown = events
        .iter()
        .filter(|event| event.category == UNKNOWN)
        .count();
    let is_gpu = |event: &Event| matches!(event.category, "kernel" | "gpu_memcpy");
    let is_much = n_unknown * 20 >= events.len() || !events.iter().any(is_gpu);
    let expected =
        (n_unknown > 0 && is_much).then_some((WarningKind::UnknownCategory, n_unknown as u64));
    let warnings = imported.warnings.iter();
    let warned: Vec<_> = warnings
        .map(|warning| (warning.kind, warning.count))
        .collect();
    prop_assert_eq!(warned, Vec::from_iter(expected), "{:?}", imported.warnings);
    prop_assert_eq!(trace.events.len(), events.len());
    for (id, event) in trace.events.ids().zip(events) {
        let track = trace.tracks.get(trace.events.track(id)).unwrap();
        prop_assert_eq!(trace.strings.get(trace.events.name(id)), &event.name);
        prop_assert_eq!(trace.events.ts_ns(id), event.ts_ns);
        prop_assert_eq!(trace.events.dur_ns(id), Some(event.dur_ns));
        prop_assert_eq!(trace.strings.get(track.pid), event.pid.to_string());
        prop_assert_eq!(trace.strings.get(track.tid), &event.tid);
        prop_assert_eq!(dims(trace, id), event.args.get("Input Dims").cloned());
        prop_assert_eq!(types(trace, id), event.args.get("Input type").cloned());
        prop_assert_eq!(extra(trace, id), written_extra(event));
    }
    // Ids need not keep their spelling, but equal ones must stay equal and different ones different.
    for (a, one) in trace.events.ids().zip(events) {
        for (b, other) in trace.events.ids().zip(events) {
            let same =
                |x: &str, y: &str| one.args.contains_key(x) && one.args.get(x) == other.args.get(y);
            let linked = |x: Option<LinkId>, y| x.is_some() && x == y;
            prop_assert_eq!(
                linked(trace.events.correlation(a), trace.events.correlation(b)),
                same("correlation", "correlation")
            );
            prop_assert_eq!(
                linked(trace.events.external_id(a), trace.events.correlation(b)),
                same("External id", "correlation")
            );
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn good_events_are_read_as_written(
        events in prop::collection::vec(any_event(), 0..12),
        pretty in any::<bool>(),
    ) {
        let text = write(&events, pretty);
        let imported = import(text.as_bytes()).map_err(|error| TestCaseError::fail(error.to_string()))?;
        check(&imported, &events)?;
    }
}
