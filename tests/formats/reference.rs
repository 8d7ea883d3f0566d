//! Real traces in other formats compared with the reference's sheets.

use std::collections::BTreeSet;

use dormer_core::output::export::{self, Source};
use dormer_core::profile::window::find_gpu;
use dormer_core::report::sheet::Cell;
use dormer_core::report::{Report, ReportOptions};
use dormer_core::trace::Category;
use serde_json::Value;

use crate::golden;
use crate::support::container::gunzip;
use crate::support::opened::Opened;
use crate::support::shared;

/// The H100 trace in PyTorch's encoding gives the same results as its JSON.
#[test]
fn the_sheets_of_a_real_trace_agree_with_the_reference() {
    let Some(shared) = golden::shared_with_python() else {
        return;
    };
    let Some(bytes) = shared::format("h100_qwen.pftrace") else {
        return;
    };
    let gpu = dormer_core::hardware::find("H100");
    let opened = Opened::on("h100_qwen", &bytes, gpu);
    let trace = &opened.profile.trace;
    assert_eq!(n_packets(&gunzip(&bytes)), 22_455);
    let sums = |category: Category| {
        let of = trace
            .events
            .ids()
            .filter(|id| trace.events.category(*id) == category);
        let durations = of.filter_map(|id| trace.events.dur_ns(id));
        durations.fold((0, 0), |(count, sum), ns| (count + 1, sum + ns))
    };
    for (category, expected) in [
        (Category::CpuOp, (4_186, 45_647_935)),
        (Category::PythonFunction, (4_262, 1_205_401_306)),
        (Category::Runtime, (1_921, 21_612_394)),
        (Category::Driver, (1, 6_980)),
        (Category::UserAnnotation, (1, 47_151_395)),
        (Category::Kernel, (1_465, 45_432_698)),
        (Category::GpuMemcpy, (1, 2_368)),
        (Category::GpuMemset, (241, 212_234)),
    ] {
        assert_eq!(sums(category), expected, "{category:?}");
    }
    let of = |category: Category| {
        let events = trace.events.ids();
        events.filter(move |id| trace.events.category(*id) == category)
    };
    let kernels: BTreeSet<&str> = of(Category::Kernel).map(|id| trace.name(id)).collect();
    assert_eq!(kernels.len(), 26);
    let moved = of(Category::GpuMemcpy).chain(of(Category::GpuMemset));
    let bytes_of = |id| {
        let args = trace.strings.get(trace.events.extra_args(id)?);
        let args: Value = serde_json::from_str(&format!("{{{args}}}")).ok()?;
        args["bytes"].as_u64()
    };
    assert_eq!(moved.filter_map(bytes_of).sum::<u64>(), 965);
    // After the offset that PyTorch subtracts from its times.
    let spans = || trace.events.ids().map(|id| trace.events.span(id));
    let (first, last) = (
        spans().map(|span| span.start_ns).min(),
        spans().map(|span| span.end_ns).max(),
    );
    let ends = [1_752_839_461_731_516_983, 1_752_839_461_781_296_515];
    let [start_ns, end_ns] = ends.map(|ns: i64| ns - 1_751_410_836_000_000_000);
    assert_eq!((first, last), (Some(start_ns), Some(end_ns)));
    let files = export::Input::new(&opened.profile, &opened.report).artifacts();
    let expected = shared.join("golden/h100_qwen");
    let difference = golden::difference(&shared, &expected, &files, "perf_report_csvs", "");
    assert_eq!(difference, None);
}

/// The number of records in a file, all of which are packets.
fn n_packets(mut bytes: &[u8]) -> usize {
    let mut n_packets = 0;
    while let [0x0a, rest @ ..] = bytes {
        let n_length = rest.iter().take_while(|byte| **byte >= 0x80).count() + 1;
        let digits = rest[..n_length].iter().rev();
        let length = digits.fold(0, |all, byte| all << 7 | usize::from(byte & 0x7f));
        bytes = &rest[n_length + length..];
        n_packets += 1;
    }
    assert!(bytes.is_empty());
    n_packets
}

/// One step of a convolution in JAX on one GPU, with copies on another. The reference's `op_conv` counts a sixteenth of
/// the FLOPs: it ignores the input channels.
#[test]
fn a_real_trace_of_jax_gives_the_figures_of_the_reference() {
    let Some(bytes) = shared::format("jax_conv.xplane.pb") else {
        return;
    };
    let opened = Opened::new("jax_conv", &bytes);
    let Opened {
        profile, report, ..
    } = &opened;
    let trace = &profile.trace;
    let vendors: Vec<&str> = trace.devices.iter().map(|gpu| gpu.vendor).collect();
    assert_eq!(vendors, ["AMD"; 2]);
    let kernels = profile.gpu.all().map(|work| {
        let track = trace.tracks.get(trace.events.track(work.event)).unwrap();
        let name = trace.strings.get(work.name);
        (trace.strings.get(track.pid), name, work.span)
    });
    let kernels: Vec<_> = kernels.collect();
    let sums = |gpu: &str, name: &str| {
        let of = kernels
            .iter()
            .filter(|(of, named, _)| *of == gpu && named.starts_with(name));
        of.fold((0, 0), |(count, ns), (.., span)| {
            (count + 1, ns + span.length())
        })
    };
    assert_eq!(sums("7", ""), (25, 3_586_493));
    assert_eq!(sums("7", "Cijk"), (5, 1_458_753));
    assert_eq!(sums("7", "Im3d2Col"), (5, 81_079));
    assert_eq!(
        sums("7", "input_transpose_fusion"),
        (10, 1_950_960 + 69_261)
    );
    assert_eq!(sums("7", "loop_transpose_fusion"), (5, 26_440));
    assert_eq!(sums("0", ""), (53, 889_028));
    for (gpu, span_ns) in [("7", 15_761_301), ("0", 27_867_728)] {
        let spans = kernels
            .iter()
            .filter(|(of, ..)| *of == gpu)
            .map(|(.., span)| *span);
        let (first, last) = spans.fold((i64::MAX, 0), |(first, last), span| {
            (first.min(span.start_ns), last.max(span.end_ns))
        });
        assert_eq!(last - first, span_ns, "GPU {gpu}");
    }
    let gpus = report.timelines.gpus.iter();
    let busy: Vec<_> = gpus
        .map(|(gpu, of)| (trace.strings.get(*gpu), of.computation_ns, of.busy_ns))
        .collect();
    assert_eq!(busy, [("0", 0, 889_028), ("7", 3_586_493, 3_586_493)]);
    let linked = profile.gpu.all().filter(|work| work.launched_by.is_some());
    assert_eq!(linked.count(), 78);
    let convolutions = profile.operations().iter().zip(&report.evaluations);
    let mut convolutions =
        convolutions.filter(|(one, _)| one.short_name(profile) == "xla::convolution");
    let (operation, evaluation) = convolutions.next().unwrap();
    assert_eq!(
        (operation.calls.len(), operation.kernel_ns),
        (5, 1_458_753 + 81_079)
    );
    let flops = 2.0 * (5120.0 * 34.0 * 31.0 * 53.0) * (16.0 * 2.0 * 2.0);
    assert!((evaluation.work.unwrap().flops / flops - 1.0).abs() < 1e-9);
    let findings = report.analyses.findings.ranked.iter();
    let about_pytorch = findings.filter(|one| one.finding.is_about_pytorch());
    assert_eq!(about_pytorch.count(), 0);
}

/// The reference's report of one rank, for each GPU of that trace: the sheets of each GPU, and the sheet with all of
/// them.
#[test]
fn each_gpu_of_a_real_trace_of_jax_has_the_figures_of_the_reference() {
    let Some(bytes) = shared::format("jax_conv.xplane.pb") else {
        return;
    };
    let whole = Opened::new("jax_conv", &bytes);
    let sheet = whole.report.sheet(&whole.profile, "gpu_timeline_by_gpu");
    let all = &sheet.unwrap().rows;
    let total = |rows: &[Vec<Cell>], part: &str| {
        let row = rows
            .iter()
            .find(|row| row[0] == Cell::Text(part.to_owned()));
        match row.map(|row| &row[1]) {
            Some(Cell::Float(ms)) => Some((ms * 1e6).round() as i64),
            _ => None,
        }
    };
    let mut n_rows = 0;
    for (gpu, computation_ns, copies_ns, total_ns) in [
        ("0", 0, 889_028, 27_867_728),
        ("7", 3_586_493, 0, 15_761_301),
    ] {
        let window = find_gpu(&whole.profile, gpu).unwrap();
        let alone = whole.profile.window(&window);
        assert!(alone.window.is_some());
        let report = Report::new(&alone, &ReportOptions::default());
        let rows = &report.sheet(&alone, "gpu_timeline").unwrap().rows;
        let times = ["computation_time", "exposed_memcpy_time", "total_time"];
        assert_eq!(
            times.map(|part| total(rows, part)),
            [computation_ns, copies_ns, total_ns].map(Some),
            "GPU {gpu}"
        );
        let of_all = all
            .iter()
            .filter(|row| row[0] == Cell::Text(gpu.to_owned()));
        let of_all: Vec<_> = of_all.map(|row| row[1..].to_vec()).collect();
        assert_eq!(&of_all, rows, "GPU {gpu}");
        n_rows += rows.len();
    }
    assert_eq!(all.len(), n_rows);
    assert_eq!(
        find_gpu(&whole.profile, "3").unwrap_err().to_string(),
        "no activity on GPU “3”; GPU numbers with activity: 0, 7"
    );
}
