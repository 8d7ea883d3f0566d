//! What is read from small files in rocprofv3's format.

use std::collections::BTreeMap;

use dormer_core::import::import;
use dormer_core::profile::lanes::{LaneKind, Lanes};
use dormer_core::{hardware, output};

use super::events;
use crate::support::container::{gzip, tar, zip};
use crate::support::opened::{Opened, profile};
use crate::support::rocprof::{dispatch, file, process, record, whole};

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
