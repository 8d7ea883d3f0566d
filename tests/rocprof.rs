//! rocprofv3's format: small files, damaged ones, and a real one to the nanosecond.

use std::collections::BTreeMap;

use dormer_core::import::warning::WarningKind::{self, CutJson, MissingTime, UnreadableEvent};
use dormer_core::import::{ImportErrorKind, Imported, import};
use dormer_core::profile::lanes::{LaneKind, Lanes};
use dormer_core::report::sheet::Cell;
use dormer_core::trace::{Category, EventId, Trace};
use dormer_core::{hardware, output};

use crate::support::container::{gunzip, gzip, tar, zip};
use crate::support::csv;
use crate::support::opened::{Opened, profile};
use crate::support::rocprof::{dispatch, file, process, record, whole};
use crate::support::shared;

/// Category, name, process and thread or GPU and stream, start, duration of each event.
fn events(trace: &Trace) -> Vec<String> {
    let text = |id| trace.strings.get(id);
    let event = |id: EventId| {
        let track = trace.tracks.get(trace.events.track(id)).unwrap();
        format!(
            "{} {:?} {}/{} {} {:?}",
            trace.events.category(id).label(),
            trace.name(id),
            text(track.pid),
            text(track.tid),
            trace.events.ts_ns(id),
            trace.events.dur_ns(id)
        )
    };
    trace.events.ids().map(event).collect()
}

#[test]
fn records_are_events() {
    let imported = import(whole().as_bytes()).unwrap();
    let trace = &imported.trace;
    assert_eq!(
        events(trace),
        [
            r#"kernel "void gemm<float, 4>(float*)" 1/4 2000 Some(600)"#,
            r#"kernel "__amd_rocclr_copyBuffer" 1/4 2600 Some(100)"#,
            r#"kernel "kernel_77" 1/5 2650 Some(250)"#,
            r#"runtime call "hipMalloc" 907/12 1000 Some(400)"#,
            r#"runtime call "hipLaunchKernel" 907/12 1500 Some(100)"#,
            r#"annotation "step 1" 907/12 1000 Some(2000)"#,
            r#"GPU memory copy "MEMORY_COPY_HOST_TO_DEVICE" 1/4 1700 Some(200)"#,
        ]
    );
    let args = |at: usize| {
        let event = trace.events.ids().nth(at).unwrap();
        trace.strings.get(trace.events.extra_args(event).unwrap())
    };
    // 1000 work-items in groups of 256 are 4 blocks.
    assert_eq!(
        args(0),
        r#""device": 1, "stream": 4, "queue": 16, "grid": [4, 2, 3], "block": [256, 2, 1], "shared memory": 4096"#
    );
    assert_eq!(args(6), r#""device": 1, "stream": 4, "bytes": 4096"#);
    assert!(imported.warnings.is_empty(), "{:?}", imported.warnings);
    // A GPU without activity is not part of the trace.
    let devices: Vec<_> = trace
        .devices
        .iter()
        .map(|gpu| (gpu.id, gpu.n_sms))
        .collect();
    assert_eq!(devices, [(Some(1), Some(256))]);
    assert_eq!(
        hardware::detect(&trace.devices).unwrap().name,
        "AMD Instinct MI350X"
    );
    let memory: Vec<_> = trace
        .memory
        .iter()
        .map(|row| (row.ts_ns, row.bytes, row.allocated))
        .collect();
    assert_eq!(
        memory,
        [
            (1100, 2 << 20, 2 << 20),
            (1150, 1 << 20, 3 << 20),
            (1250, -2 << 20, 1 << 20)
        ]
    );
    assert_eq!(trace.memory.devices()[0].kind, 6);
}

/// The call that launched a kernel has the same correlation id.
#[test]
fn kernels_are_linked_to_their_calls() {
    let profile = profile(whole());
    let trace = &profile.trace;
    let name = |event| trace.name(event);
    let launched = profile.gpu.iter().filter_map(|(_, work)| {
        let call = work.launched_by?;
        Some((name(work.event), name(call)))
    });
    let launched: Vec<(&str, &str)> = launched.collect();
    assert_eq!(
        launched,
        [("void gemm<float, 4>(float*)", "hipLaunchKernel")]
    );
}

/// Ids, kernels and streams belong to their process; the GPUs belong to the machine.
#[test]
fn several_processes_in_a_file() {
    let one = |pid: u32, name: u32| {
        let call = record((1, 1), 5, 1500, 1600, "");
        process(
            pid,
            &format!(
                r#""kernel_dispatch": [{}], "hip_api": [{call}]"#,
                dispatch(name, 5, 4, 2000, 2600)
            ),
        )
    };
    let other = one(908, 1).replace("void gemm", "void softmax");
    let profile = profile(file(&[one(907, 1), other]));
    assert_eq!(
        events(&profile.trace),
        [
            r#"kernel "void gemm<float, 4>(float*)" 1/4 2000 Some(600)"#,
            r#"runtime call "hipLaunchKernel" 907/12 1500 Some(100)"#,
            r#"kernel "void softmax<float, 4>(float*)" 1/4 of process 908 2000 Some(600)"#,
            r#"runtime call "hipLaunchKernel" 908/12 1500 Some(100)"#,
        ]
    );
    let events = &profile.trace.events;
    let works = profile.gpu.iter();
    let pairs = works.map(|(_, work)| {
        (
            events.uid(work.event),
            work.launched_by.map(|call| events.uid(call)),
        )
    });
    let pairs: BTreeMap<u32, Option<u32>> = pairs.collect();
    assert_eq!(pairs, BTreeMap::from([(0, Some(1)), (2, Some(3))]));
    assert_eq!(profile.trace.devices.len(), 1);
}

/// The lifetime of the processes, from the first start to the last end, is shown as a separate fact.
#[test]
fn the_life_of_a_process_is_shown() {
    let of_processes = |processes: &[String]| {
        let overview = Opened::new("a", file(processes)).report.overview;
        let mut facts = overview.facts.into_iter();
        facts.find(|(label, _)| label.starts_with("Process lifetime"))
    };
    let one = process(
        907,
        &format!(r#""kernel_dispatch": [{}]"#, dispatch(1, 5, 4, 2000, 2600)),
    );
    let later = one.replace(
        r#""init_time": 900, "fini_time": 9000"#,
        r#""fini_time": 12000, "init_time": 5000"#,
    );
    let unknown = one.replace(r#""fini_time": 9000"#, r#""fini_time": null"#);
    for (processes, expected) in [
        (&[one.clone()][..], Some(("Process lifetime", "8.10 µs"))),
        (&[one, later], Some(("Process lifetimes", "11.1 µs"))),
        (&[unknown], None),
    ] {
        let fact = of_processes(processes);
        assert_eq!(fact.as_ref().map(|(of, time)| (&**of, &**time)), expected);
    }
}

/// No file contains the host name, the command or the paths of the run.
#[test]
fn what_is_the_users_own_is_never_written() {
    let profile = profile(whole());
    let opened = Opened::new("a", whole());
    let mut files = output::export::Source::artifacts(&output::export::Input::new(
        &opened.profile,
        &opened.report,
    ));
    files.retain(|file| String::from_utf8_lossy(&file.bytes).contains("secret"));
    assert!(files.is_empty());
    assert!(!format!("{:?}", profile.trace).contains("secret"));
}

#[test]
fn it_is_read_in_every_container_and_under_every_name() {
    let text = whole();
    let expected = events(&import(text.as_bytes()).unwrap().trace);
    for bytes in [
        gzip(&text),
        zip(&[("results.db", text.as_bytes())]),
        tar(&[("notes.txt", b"none"), ("run/4711", text.as_bytes())]),
        gzip(tar(&[("run/4711_results.json.gz", &gzip(&text))])),
    ] {
        let imported = import(&bytes).unwrap();
        assert_eq!(events(&imported.trace), expected);
        assert!(imported.warnings.is_empty(), "{:?}", imported.warnings);
    }
}

fn counts(imported: &Imported) -> Vec<(WarningKind, u64)> {
    let warnings = imported.warnings.iter();
    warnings
        .map(|warning| (warning.kind, warning.count))
        .collect()
}

#[test]
fn a_cut_file_is_read_as_far_as_it_goes() {
    let text = whole();
    let end = text.find(r#""memory_copy""#).unwrap();
    let imported = import(&text.as_bytes()[..end]).unwrap();
    assert_eq!(imported.trace.events.len(), 6);
    assert_eq!(counts(&imported), [(CutJson, 1)]);
    let before = text.find(r#""kernel_dispatch""#).unwrap();
    let error = import(&text.as_bytes()[..before]).unwrap_err();
    assert_eq!(error.kind, ImportErrorKind::CutBeforeEvents);
}

#[test]
fn a_real_file_is_read_up_to_its_cut() {
    let Some(bytes) = shared::format("rocprofv3_train.json.gz") else {
        return;
    };
    let text = gunzip(&bytes);
    let cut = import(&text[..text.len() * 7 / 10]).unwrap();
    assert_eq!(counts(&cut), [(CutJson, 1)]);
    assert_eq!(cut.trace.events.len(), 18_074);
}

#[test]
fn a_damaged_record_is_skipped() {
    let text = whole();
    for (from, to, kind) in [
        (
            r#""start_timestamp": 2600"#,
            r#""start_timestamp": ?"#,
            UnreadableEvent,
        ),
        (r#""start_timestamp": 2600, "#, "", MissingTime),
        // A bracket of an object in it, and the quote that ends a key.
        (
            r#""correlation_id": {"internal": 6"#,
            r#""correlation_id": ["internal": 6"#,
            UnreadableEvent,
        ),
        (
            r#"end_timestamp": 2700"#,
            r#"end_timestamp: 2700"#,
            UnreadableEvent,
        ),
    ] {
        assert!(text.contains(from));
        let imported = import(text.replacen(from, to, 1).as_bytes()).unwrap();
        assert_eq!(imported.trace.events.len(), 6, "{to}");
        assert_eq!(counts(&imported), [(kind, 1)], "{to}");
    }
}

/// Names are referred to by index: those after a damaged one keep theirs.
#[test]
fn a_damaged_list_of_names_moves_no_other() {
    let text = whole();
    let whole = import(text.as_bytes()).unwrap();
    let unnamed = |event: &String| event.replace("MEMORY_COPY_HOST_TO_DEVICE", "operation_2_1");
    let expected: Vec<String> = events(&whole.trace).iter().map(unnamed).collect();
    for (from, to) in [
        (r#""MEMORY_COPY_NONE""#, r#"MEMORY_COPY_NONE"#),
        // Its end cannot be found.
        (
            r#""MEMORY_COPY_HOST_TO_DEVICE"]}"#,
            r#""MEMORY_COPY_HOST_TO_DEVICE"}}"#,
        ),
    ] {
        let damaged = text.replacen(from, to, 1);
        assert_ne!(damaged, text);
        let imported = import(damaged.as_bytes()).unwrap();
        assert_eq!(counts(&imported), [(UnreadableEvent, 1)], "{to}");
        assert_eq!(events(&imported.trace), expected, "{to}");
        assert_eq!(imported.trace.memory.len(), whole.trace.memory.len());
    }
}

/// Wherever a byte is flipped, distant parts are still read.
#[test]
fn a_flipped_byte_costs_what_it_is_in() {
    let text = whole();
    let records = text.find(r#""kernel_dispatch""#).unwrap();
    for n in 0..200 {
        let mut bytes = text.clone().into_bytes();
        let at = records + n * (bytes.len() - records) / 200;
        bytes[at] ^= 0x10;
        if let Ok(imported) = import(&bytes) {
            // A list whose key is damaged has at most three entries.
            let n_events = imported.trace.events.len() + imported.trace.memory.len();
            assert!(n_events >= 10 - 3, "at {at}: {:?}", counts(&imported));
        }
    }
}

#[test]
fn nothing_grows_without_bounds() {
    let deep = whole().replacen(
        r#""operation": 2"#,
        &format!(r#""operation": {}"#, "[".repeat(10_000)),
        1,
    );
    let imported = import(deep.as_bytes()).unwrap();
    assert_eq!(counts(&imported), [(UnreadableEvent, 1)]);
    assert_eq!(imported.trace.events.len(), 6);
    let endless = format!(
        r#"{{"rocprofiler-sdk-tool": [{{"metadata": {{"command": "{}"#,
        "a".repeat(9 << 20)
    );
    assert_eq!(
        import(endless.as_bytes()).unwrap_err().kind,
        ImportErrorKind::CutBeforeEvents
    );
    let huge = whole().replacen(r#""x": 1000"#, r#""x": 18446744073709551615"#, 1);
    assert_eq!(import(huge.as_bytes()).unwrap().trace.events.len(), 7);
}

/// Streams with almost no kernels do not get lanes: the hardware queues do.
#[test]
fn many_small_streams_are_drawn_by_queue() {
    let lanes_of = |n_streams: u32| {
        let records = (0..n_streams)
            .map(|n| dispatch(1, n + 1, n, i64::from(n) * 1000, i64::from(n) * 1000 + 500));
        let records = records.collect::<Vec<_>>().join(", ");
        let profile = profile(file(&[process(
            1,
            &format!(r#""kernel_dispatch": [{records}]"#),
        )]));
        let lanes = Lanes::new(&profile).unwrap().lanes;
        let streams = lanes
            .iter()
            .filter(|lane| matches!(lane.kind, LaneKind::Stream | LaneKind::Device));
        streams.map(|lane| lane.title.clone()).collect::<Vec<_>>()
    };
    assert_eq!(lanes_of(2), ["GPU, stream 0", "GPU, stream 1"]);
    assert_eq!(lanes_of(17), ["GPU, queue 16", "GPU, queue 17"]);
}

/// The acceptance figures of a training process on one of eight MI350X GPUs.
#[test]
fn a_real_file_to_the_nanosecond() {
    let Some(folder) = shared::folder() else {
        return;
    };
    let bytes = std::fs::read(folder.join("formats/rocprofv3_train.json.gz")).unwrap();
    let opened = Opened::new("rocprofv3_train", &bytes);
    let profile = &opened.profile;
    let trace = &profile.trace;
    let events = &trace.events;
    assert_eq!(events.len(), 43_915);
    let mut streams: BTreeMap<&str, u32> = BTreeMap::new();
    let mut queues: BTreeMap<String, u32> = BTreeMap::new();
    for event in events.ids() {
        let track = trace.tracks.get(events.track(event)).unwrap();
        assert_eq!(trace.strings.get(track.pid), "0");
        *streams.entry(trace.strings.get(track.tid)).or_default() += 1;
        let args = trace.strings.get(events.extra_args(event).unwrap());
        let queue = args.split(r#""queue": "#).nth(1).unwrap();
        *queues.entry(queue[..2].to_owned()).or_default() += 1;
    }
    let queues: Vec<(&str, u32)> = queues
        .iter()
        .map(|(queue, n)| (queue.as_str(), *n))
        .collect();
    assert_eq!(
        queues,
        [
            ("16", 311),
            ("17", 500),
            ("18", 38_761),
            ("19", 3_034),
            ("20", 1_309)
        ]
    );
    assert_eq!(streams.len(), 567);
    let by_number = ["567", "5", "565", "566", "570", "568", "0"].map(|stream| streams[stream]);
    assert_eq!(by_number, [37_300, 2_016, 1_309, 1_018, 900, 500, 311]);
    assert_eq!(streams.values().filter(|n| **n == 1).count(), 559);

    let durations: Vec<i64> = events
        .ids()
        .map(|event| events.dur_ns(event).unwrap())
        .collect();
    assert_eq!(durations.iter().sum::<i64>(), 4_441_741_378);
    assert_eq!(
        (durations.iter().min(), durations.iter().max()),
        (Some(&560), Some(&733_003_332))
    );
    let short: Vec<i64> = durations.into_iter().filter(|ns| *ns < 10_000).collect();
    assert_eq!(
        (short.len(), short.iter().sum::<i64>()),
        (35_968, 175_328_340)
    );
    let spans = || events.ids().map(|event| events.span(event));
    let (start, end) = (
        spans().map(|span| span.start_ns).min(),
        spans().map(|span| span.end_ns).max(),
    );
    assert_eq!(end.unwrap() - start.unwrap(), 15_122_023_494);
    let collectives = events
        .ids()
        .filter(|event| trace.name(*event).starts_with("ncclDevKernel"));
    let collectives: Vec<i64> = collectives
        .map(|event| events.dur_ns(event).unwrap())
        .collect();
    assert_eq!(
        (collectives.len(), collectives.iter().sum::<i64>()),
        (1_310, 4_158_756_678)
    );
    let of_kind = |category| {
        events
            .ids()
            .filter(|event| events.category(*event) == category)
            .count()
    };
    assert_eq!(of_kind(Category::Kernel), 43_915);
    // Dispatches that start before the previous one on their stream ends.
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
    assert_eq!(overlaps.sum::<usize>(), 1_275);

    assert_eq!(
        hardware::detect(&trace.devices).unwrap().name,
        "AMD Instinct MI350X"
    );
    let timeline = cells(&opened, "gpu_timeline", ["type", "time ms"]);
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
    let rows = cells(&opened, "kernel_summary", ["Kernel name"]);
    assert_eq!(rows.len(), 653);
    let life = ("Process lifetime".to_owned(), "19.2 s".to_owned());
    assert!(opened.report.overview.facts.contains(&life));
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
