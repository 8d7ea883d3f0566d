//! A training process recorded by rocprofv3, to the nanosecond.

use std::collections::BTreeMap;

use dormer_core::hardware;
use dormer_core::report::sheet::Cell;
use dormer_core::trace::{Category, EventId, Trace};

use crate::support::opened::Opened;
use crate::support::{csv, shared};

/// The acceptance figures of a training process on one of eight MI350X GPUs.
#[test]
fn a_real_file_to_the_nanosecond() {
    let Some(folder) = shared::folder() else {
        return;
    };
    let bytes = std::fs::read(folder.join("formats/rocprofv3_train.json.gz")).unwrap();
    let opened = Opened::new("rocprofv3_train", &bytes);
    let trace = &opened.profile.trace;
    let kernels = trace.events.ids();
    let is_kernel = |event| trace.events.category(event) == Category::Kernel;
    assert_eq!(kernels.filter(|event| is_kernel(*event)).count(), 43_915);
    assert_eq!(trace.events.len(), 43_915);
    has_its_streams_and_queues(trace);
    has_its_durations(trace);
    // Dispatches that start before the previous one on their stream ends.
    assert_eq!(n_overlaps(trace), 1_275);
    let gpu = hardware::detect(&trace.devices).unwrap();
    assert_eq!(gpu.name, "AMD Instinct MI350X");
    has_its_timeline(&opened);
    let rows = cells(&opened, "kernel_summary", ["Kernel name"]);
    assert_eq!(rows.len(), 653);
    let life = ("Process lifetime".to_owned(), "19.2 s".to_owned());
    assert!(opened.report.overview.facts.contains(&life));
}

fn has_its_streams_and_queues(trace: &Trace) {
    let events = &trace.events;
    let mut streams: BTreeMap<&str, u32> = BTreeMap::new();
    let mut queues: BTreeMap<&str, u32> = BTreeMap::new();
    for event in events.ids() {
        let track = trace.tracks.get(events.track(event)).unwrap();
        assert_eq!(trace.strings.get(track.pid), "0");
        *streams.entry(trace.strings.get(track.tid)).or_default() += 1;
        let args = trace.strings.get(events.extra_args(event).unwrap());
        let queue = args.split(r#""queue": "#).nth(1).unwrap();
        *queues.entry(&queue[..2]).or_default() += 1;
    }
    let expected = [
        ("16", 311),
        ("17", 500),
        ("18", 38_761),
        ("19", 3_034),
        ("20", 1_309),
    ];
    assert_eq!(queues, BTreeMap::from(expected));
    assert_eq!(streams.len(), 567);
    let by_number = ["567", "5", "565", "566", "570", "568", "0"].map(|stream| streams[stream]);
    assert_eq!(by_number, [37_300, 2_016, 1_309, 1_018, 900, 500, 311]);
    assert_eq!(streams.values().filter(|n| **n == 1).count(), 559);
}

fn has_its_durations(trace: &Trace) {
    let events = &trace.events;
    let durations = |is_counted: &dyn Fn(EventId, i64) -> bool| -> (usize, i64) {
        let all = events
            .ids()
            .map(|event| (event, events.dur_ns(event).unwrap()));
        let counted = all.filter(|(event, ns)| is_counted(*event, *ns));
        counted.fold((0, 0), |(n, sum), (_, ns)| (n + 1, sum + ns))
    };
    assert_eq!(durations(&|_, _| true), (43_915, 4_441_741_378));
    assert_eq!(durations(&|_, ns| ns < 10_000), (35_968, 175_328_340));
    let is_collective = |event, _: i64| trace.name(event).starts_with("ncclDevKernel");
    assert_eq!(durations(&is_collective), (1_310, 4_158_756_678));
    let each = || events.ids().map(|event| events.dur_ns(event).unwrap());
    assert_eq!((each().min(), each().max()), (Some(560), Some(733_003_332)));
    let spans = || events.ids().map(|event| events.span(event));
    let start_ns = spans().map(|span| span.start_ns).min().unwrap();
    let end_ns = spans().map(|span| span.end_ns).max().unwrap();
    assert_eq!(end_ns - start_ns, 15_122_023_494);
}

fn n_overlaps(trace: &Trace) -> usize {
    let events = &trace.events;
    let mut spans_of: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for event in events.ids() {
        let spans = spans_of.entry(events.track(event)).or_default();
        spans.push((events.ts_ns(event), events.end_ns(event)));
    }
    let overlaps = spans_of.into_values().map(|mut spans| {
        spans.sort_unstable();
        let pairs = spans.windows(2);
        pairs.filter(|pair| pair[1].0 < pair[0].1).count()
    });
    overlaps.sum()
}

fn has_its_timeline(opened: &Opened) {
    let timeline = cells(opened, "gpu_timeline", ["type", "time ms"]);
    let ms = |part: &str| {
        let row = timeline.iter().find(|[of, _]| of == part);
        row.map(|[_, ms]| format!("{:.3}", ms.parse::<f64>().unwrap()))
    };
    for (part, expected) in [
        ("computation_time", "271.636"),
        ("exposed_comm_time", "3954.441"),
        ("exposed_memcpy_time", "7.035"),
        ("busy_time", "4233.112"),
        ("idle_time", "10888.911"),
        ("total_time", "15122.023"),
    ] {
        assert_eq!(ms(part).as_deref(), Some(expected), "{part}");
    }
}

/// Some columns of a sheet.
fn cells<const N: usize>(opened: &Opened, sheet: &str, columns: [&str; N]) -> Vec<[String; N]> {
    let sheet = opened.report.sheet(&opened.profile, sheet).unwrap();
    let places = columns.map(|label| sheet.column(label).unwrap());
    let text = |cell: &Cell| match cell {
        Cell::Text(text) => text.clone(),
        Cell::Int(number) => number.to_string(),
        Cell::Float(number) => number.to_string(),
        _ => String::new(),
    };
    let rows = sheet.rows.iter();
    rows.map(|row| places.map(|at| text(&row[at]))).collect()
}

/// The reference's kernel sheets have the same values, a thousand times too large, and merge kernels that differ in
/// their template arguments.
#[test]
fn sheets_of_kernels_are_in_their_units() {
    let Some(folder) = shared::folder() else {
        return;
    };
    let formats = folder.join("formats");
    let bytes = std::fs::read(formats.join("rocprofv3_train.json.gz")).unwrap();
    let opened = Opened::new("rocprofv3_train", &bytes);
    let columns = [
        "Kernel name",
        "Kernel duration (µs)_count",
        "Kernel duration (µs)_sum",
    ];
    let ours = cells(&opened, "kernel_summary", columns);
    let golden =
        std::fs::read_to_string(formats.join("golden/rocprofv3_train/kernel_summary.csv")).unwrap();
    let golden = csv::rows(&golden);
    let column = |label: &str| golden[0].iter().position(|of| of == label).unwrap();
    let [name, count, total] = ["name", "Count", "Total Kernel Time (ms)"].map(column);
    // Names that are not truncated.
    let mut n_compared = 0;
    for row in &golden[1..] {
        let whole = row[name].strip_suffix(".kd").unwrap_or(&row[name]);
        let same = ours.iter().filter(|[of, ..]| of == whole);
        let sums = same.map(|[_, n, us]| (n.parse::<u64>().unwrap(), us.parse::<f64>().unwrap()));
        let (n, us) = sums.fold((0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1));
        if n > 0 {
            n_compared += 1;
            assert_eq!(n.to_string(), row[count], "{whole}");
            let theirs: f64 = row[total].parse().unwrap();
            // What is labeled milliseconds there are microseconds.
            assert!((theirs - us).abs() < 1e-6 * us, "{whole}: {theirs}, {us}");
        }
    }
    assert_eq!(n_compared, 18);
    let short = cells(
        &opened,
        "short_kernels_summary",
        ["Short Kernel count", "Short Kernel duration (µs) sum"],
    );
    let sums = short
        .iter()
        .map(|row| row.each_ref().map(|cell| cell.parse::<f64>().unwrap()));
    let [n, us] = sums.fold([0.0, 0.0], |all, one| [all[0] + one[0], all[1] + one[1]]);
    assert_eq!((n as u64, (us * 1e3).round() as u64), (35_968, 175_328_340));
}
