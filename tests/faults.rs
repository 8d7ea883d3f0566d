//! Faults inserted into real traces: each is detected with its size, and changes no number silently. The original
//! traces have none.

use std::io::Read;

use dormer_core::Profile;
use dormer_core::import::warning::WarningKind::{self, *};
use dormer_core::report::overview::{Overview, RepairedKind};
use flate2::read::GzDecoder;
use serde_json::{Value, json};

use crate::support::opened::{profile, report};
use crate::support::shared;

/// Traces without inconsistencies.
const CLEAN: [&str; 3] = ["h100_bert", "h100_timesformer", "mi300_vit"];

type Events = Vec<Value>;

fn is_work(event: &Value) -> bool {
    matches!(
        event["cat"].as_str(),
        Some("kernel" | "gpu_memcpy" | "gpu_memset")
    )
}

fn is_launch(event: &Value) -> bool {
    let is_call = matches!(event["cat"].as_str(), Some("cuda_runtime" | "cuda_driver"));
    is_call
        && event["name"]
            .as_str()
            .is_some_and(|name| name.contains("Launch"))
}

/// Changes some events of a kind, evenly spread.
fn each(events: &mut Events, n: usize, of: fn(&Value) -> bool, mut change: impl FnMut(&mut Value)) {
    let n_all = events.iter().filter(|event| of(event)).count();
    let mut chosen = events.iter_mut().filter(|event| of(event));
    for _ in 0..n {
        if let Some(event) = chosen.nth(n_all / (n + 1)) {
            change(event);
        }
    }
}

fn add(event: &mut Value, key: &str, us: f64) {
    event[key] = json!(event[key].as_f64().unwrap() + us);
}

/// Shifts the GPU's clock.
fn shift(events: &mut Events, us: f64) {
    let of_gpu = |event: &&mut Value| {
        is_work(event) || event["cat"] == "gpu_user_annotation" || event["ph"] == "f"
    };
    for event in events.iter_mut().filter(of_gpu) {
        add(event, "ts", us);
    }
}

/// Duplicates events of a kind.
fn twice(events: &mut Events, of: fn(&Value) -> bool) {
    let mut repeated = Vec::new();
    each(events, 4, of, |event| repeated.push(event.clone()));
    events.extend(repeated);
}

/// In pairs of such events, the second gets the id of the first.
fn share_ids(events: &mut Events, of: fn(&Value) -> bool) {
    let mut last = None;
    each(events, 6, of, |event| match last.take() {
        None => last = Some(event["args"]["correlation"].clone()),
        Some(id) => event["args"]["correlation"] = id,
    });
}

/// Removes calls and their arrows.
fn drop_launches(events: &mut Events) {
    let mut lost = Vec::new();
    each(events, 6, is_work, |event| {
        lost.push(event["args"]["correlation"].clone())
    });
    events.retain(|event| {
        let is_call = !is_work(event) && lost.contains(&event["args"]["correlation"]);
        let is_arrow = event["ph"] == "s" && lost.contains(&event["id"]);
        !is_call && !is_arrow
    });
}

/// A fault: the change, the expected warning and its count, and what shows its size.
type Fault = (&'static str, fn(&mut Events), WarningKind, u64, Size);

/// What shows the size of a fault.
#[derive(Clone, Copy)]
enum Size {
    /// A headline figure or a kernel, as recorded and as repaired.
    Figure(RepairedKind),
    /// The time that counts as unattributed.
    Unattributed,
    /// A time in the sentence about it.
    Sentence,
    /// No GPU figure depends on it, and the sentence says so.
    None,
}
use Size::{Figure, Sentence, Unattributed};

const FAULTS: [Fault; 14] = [
    (
        "a duration of two days",
        |events| {
            each(events, 3, is_work, |event| {
                event["dur"] = json!(2.0 * 86_400e6)
            })
        },
        ImpossibleDuration,
        3,
        Figure(RepairedKind::Busy),
    ),
    (
        "a duration of five seconds",
        |events| each(events, 1, is_work, |event| event["dur"] = json!(5e6)),
        OverlongDuration,
        1,
        Figure(RepairedKind::Busy),
    ),
    (
        "negative durations",
        |events| each(events, 3, is_work, |event| event["dur"] = json!(-1e3)),
        NegativeDuration,
        3,
        Figure(RepairedKind::Kernel),
    ),
    (
        "no durations",
        |events| each(events, 3, is_work, |event| event["dur"] = Value::Null),
        UntoldGpuTime,
        1,
        Sentence,
    ),
    (
        "starts at zero",
        |events| each(events, 3, is_work, |event| event["ts"] = json!(0)),
        ImpossibleStart,
        3,
        Figure(RepairedKind::Total),
    ),
    (
        "starts ten seconds before the call",
        |events| each(events, 3, is_work, |event| add(event, "ts", -10e6)),
        ImpossibleStart,
        3,
        Figure(RepairedKind::Idle),
    ),
    (
        "work that overlaps",
        |events| each(events, 4, is_work, |event| add(event, "dur", 300.0)),
        OverlappingWork,
        4,
        Sentence,
    ),
    (
        "work recorded twice",
        |events| twice(events, is_work),
        RecordedTwice,
        4,
        Sentence,
    ),
    (
        "calls recorded twice",
        |events| twice(events, is_launch),
        RecordedTwice,
        4,
        Size::None,
    ),
    (
        "calls with the id of another call",
        |events| share_ids(events, is_launch),
        RepeatedCall,
        3,
        Unattributed,
    ),
    (
        "work with the id of other work",
        |events| share_ids(events, is_work),
        UnlinkedGpuWork,
        3,
        Unattributed,
    ),
    (
        "launches that were dropped",
        drop_launches,
        UnlinkedGpuWork,
        6,
        Unattributed,
    ),
    (
        "a clock that is early",
        |events| shift(events, -3e3),
        ClocksShifted,
        1,
        Sentence,
    ),
    (
        "a clock that is late",
        |events| shift(events, 3e3),
        ClocksShifted,
        1,
        Sentence,
    ),
];

fn overview(trace: &Value) -> (Profile, Overview) {
    let profile = profile(trace.to_string());
    let overview = report(&profile).overview;
    (profile, overview)
}

fn read(name: &str) -> Option<Value> {
    let mut text = String::new();
    let bytes = shared::trace(&shared::folder()?, name);
    GzDecoder::new(&bytes[..])
        .read_to_string(&mut text)
        .unwrap();
    Some(serde_json::from_str(&text).unwrap())
}

#[test]
fn real_traces_have_no_faults() {
    for name in CLEAN {
        let Some(trace) = read(name) else { return };
        let (profile, overview) = overview(&trace);
        assert!(
            profile.warnings.is_empty(),
            "{name}: {:?}",
            profile.warnings
        );
        assert_eq!(overview.quality.repaired, [], "{name}");
    }
}

#[test]
fn every_fault_is_found_with_its_size() {
    for name in CLEAN {
        let Some(trace) = read(name) else { return };
        for (fault, damage, kind, count, size) in FAULTS {
            let mut damaged = trace.clone();
            let Some(events) = damaged["traceEvents"].as_array_mut() else {
                panic!("{name} has no events");
            };
            damage(events);
            let (profile, overview) = overview(&damaged);
            let of = format!("{name}, {fault}: {:?}", profile.warnings);
            assert_eq!(profile.warnings.count(kind), count, "{of}");
            match size {
                Figure(kind) => {
                    let mut figures = overview.quality.repaired.iter();
                    assert!(
                        figures.any(|one| one.kind == kind && one.is_changed()),
                        "{of}"
                    );
                    assert!(
                        overview
                            .limits
                            .iter()
                            .any(|limit| limit.kind.key() == "repaired")
                    );
                }
                Unattributed => {
                    let unattributed =
                        dormer_core::profile::gpu::unattributed::Unattributed::of(&profile);
                    assert_eq!(unattributed.all.count, count, "{of}");
                    assert!(unattributed.all.ns > 0, "{of}");
                }
                Sentence | Size::None => {
                    let label = kind.label();
                    let mut lines = overview.quality.lines.iter();
                    let line = lines.find(|line| line.sentence.starts_with(label));
                    let said = &line.unwrap_or_else(|| panic!("{of}")).sentence[label.len()..];
                    let is_said = match size {
                        Size::None => said.contains("no headline number"),
                        _ => said.contains("ms") || said.contains("µs"),
                    };
                    assert!(is_said, "{of}: {said}");
                }
            }
        }
    }
}
