//! Details of small traces, each number checkable by hand.

use super::*;
use crate::report::ReportOptions;
use crate::testing::{Timetable, options_on};

const MM: &str = r#""Input Dims": [[1024, 1024], [1024, 1024]], "Input type": ["c10::BFloat16", "c10::BFloat16"], "Input Strides": [[1024, 1], [1, 1024]], "Concrete Inputs": ["", ""]"#;

/// GEMMs of 60, 10 and 20 µs, and a fill of 30 µs: 120 µs of GPU time. The first two are called in a module, the third
/// by the program itself.
fn products() -> Timetable {
    Timetable::new()
        .frame("/home/me/train.py(9): step", 0..100)
        .frame("nn.Module: Mlp_0", 1..40)
        .frame("torch/nn/modules/linear.py(125): forward", 2..39)
        .op("aten::linear", 3..20)
        .op("aten::mm", 4..19)
        .args(MM)
        .launch(1, 5..6)
        .op("aten::linear", 21..38)
        .op("aten::mm", 22..37)
        .args(MM)
        .launch(2, 23..24)
        .op("aten::mm", 50..60)
        .args(MM)
        .launch(3, 51..52)
        .launch(4, 53..54)
        .op("aten::fill_", 70..80)
        .launch(5, 71..72)
        .kernel(1, "gemm", 100..160)
        .args(r#""grid": [8, 4, 1], "block": [256, 1, 1]"#)
        .kernel(2, "gemm", 200..210)
        .args(r#""grid": [8, 4, 1], "block": [256, 1, 1]"#)
        .kernel(3, "gemm", 300..312)
        .args(r#""grid": [4, 4, 1], "block": [128, 1, 1]"#)
        .stream(9)
        .kernel(4, "splitk_reduce", 312..320)
        .stream(7)
        .kernel(5, "fill_kernel", 400..430)
}

#[track_caller]
fn details_of(profile: &Profile, options: &ReportOptions, subject: DetailsSubject) -> OpDetails {
    let report = Report::new(profile, options);
    match OpDetails::new(profile, &report, subject) {
        Some(details) => details,
        None => panic!("no details of {subject:?}"),
    }
}

/// The first operation, with no GPU chosen.
fn first(profile: &Profile) -> OpDetails {
    details_of(
        profile,
        &ReportOptions::default(),
        DetailsSubject::Operation(0),
    )
}

fn event(profile: &Profile, name: &str) -> EventId {
    let trace = &profile.trace;
    let mut ids = trace.events.ids();
    let named = ids.find(|id| trace.strings.get(trace.events.name(*id)) == name);
    named.unwrap_or_else(|| panic!("no event is called {name}"))
}

/// With non-breaking spaces replaced by plain ones.
fn plain(text: &str) -> String {
    text.replace(['\u{202F}', '\u{A0}'], " ")
}

fn values(pairs: &[(String, String)]) -> Vec<String> {
    pairs.iter().map(|(_, value)| plain(value)).collect()
}

/// The rows of a table, cells and the text below them: `a | b | below`.
fn rows(details: &OpDetails, title: &str) -> Vec<String> {
    let table = details.tables.iter().find(|table| table.title == title);
    let rows = table.into_iter().flat_map(|table| &table.rows);
    rows.map(|row| {
        let below = Some(&row.below).filter(|below| !below.is_empty());
        let parts: Vec<String> = row.cells.iter().chain(below).cloned().collect();
        plain(&parts.join(" | "))
    })
    .collect()
}

#[test]
fn an_operation_with_its_times_and_kernels() {
    let details = first(&products().profile());
    assert_eq!(
        (&*details.kind, &*details.name, details.family),
        ("Operation", "aten::mm", Family::Gemm)
    );
    // 60 + 10 + 20 of 120 µs.
    assert_eq!(values(&details.figures), ["90.0 µs", "75.0 %", "3"]);
    let spread = details.spread.as_ref().unwrap();
    assert_eq!(
        values(&spread.figures),
        ["10.0 µs", "20.0 µs", "60.0 µs", "60.0 µs"]
    );
    // Too few calls for a deviation; the slowest takes three times the median.
    assert_eq!(
        plain(&spread.warning),
        "The times vary widely: the longest is 3.00 × the median. The slowest call is the first: it may be a warm-up."
    );
    assert_eq!(
        rows(&details, "Kernels"),
        [
            "gemm | 3 | 82.0 µs | 27.3 µs | 7 | 8×4×1 and 1 more | 256×1×1",
            "splitk_reduce | 1 | 8.00 µs | 8.00 µs | 9 |  | "
        ]
    );
    assert_eq!(details.operations, []);
}

#[test]
fn the_arguments_of_an_operation() {
    assert_eq!(
        rows(&first(&products().profile()), "Arguments"),
        [
            "1 | bf16 | 1024×1024 | 1024, 1",
            "2 | bf16 | 1024×1024 | 1, 1024"
        ]
    );
    let args = r#""Input Dims": [[[2, 3], [4, 3]], []], "Input type": ["TensorList", "Scalar"], "Concrete Inputs": ["", "1"]"#;
    let list = Timetable::new()
        .call("aten::cat", args, "cat", 20..30)
        .profile();
    assert_eq!(
        rows(&first(&list), "Arguments"),
        ["1 | TensorList | 2×3; 4×3 | ", "2 | Scalar |  | 1"]
    );
}

#[test]
fn callers_by_time_and_the_stack_of_the_slowest_call() {
    let profile = products().profile();
    let details = first(&profile);
    assert_eq!(
        rows(&details, "Called from"),
        [
            "Mlp | 2 | 70.0 µs | train.py(9): step · aten::linear",
            "train.py(9): step | 1 | 20.0 µs"
        ]
    );
    let stack = details.stack.iter();
    let stack: Vec<_> = stack
        .map(|line| (line.name.as_str(), line.is_framework))
        .collect();
    assert_eq!(
        stack,
        [
            ("/home/me/train.py(9): step", false),
            ("nn.Module: Mlp_0", false),
            ("torch/nn/modules/linear.py(125): forward", true),
            ("aten::linear", false)
        ]
    );
    let [slowest, median] = &details.places[..] else {
        panic!("{:?}", details.places)
    };
    assert_eq!(
        [slowest, median].map(|place| (&*place.label, plain(&place.time))),
        [
            ("Slowest", "60.0 µs".to_owned()),
            ("Median", "20.0 µs".to_owned())
        ]
    );
    // The caller with the most time links to its slowest call.
    let callers = details.tables.last().unwrap();
    assert_eq!(callers.rows[0].event, slowest.in_tree);
    // The longer one of two kernels.
    let events = &profile.trace.events;
    let longest = events.by_uid(median.in_timeline).unwrap();
    assert_eq!(events.dur_ns(longest), Some(12_000));
}

/// The GPU's memory bandwidth is not a roofline for a copy from the CPU.
#[test]
fn a_copy_over_a_link_has_no_roof() {
    let profile = Timetable::new()
        .op("aten::copy_", 0..10)
        .args(r#""Input Dims": [[64, 64], [64, 64]], "Input type": ["float", "float"]"#)
        .launch(1, 1..2)
        .copy(1, "Memcpy HtoD (Pageable -> Device)", 100..130)
        .profile();
    let details = details_of(
        &profile,
        &options_on("MI300X"),
        DetailsSubject::Operation(0),
    );
    let verdict = &details.verdict;
    assert!(
        verdict.starts_with("It copies between memories over a link"),
        "{verdict}"
    );
    assert_eq!((details.savings.as_str(), details.on_roofline), ("", false));
}

/// 2 · 1024³ operations at 708 TFLOPS take 3.033 µs: 10.11 % of 30 µs.
#[test]
fn the_roof_and_what_reaching_it_is_worth() {
    let product = |shape: &str| {
        Timetable::new()
            .call("aten::mm", shape, "gemm", 100..130)
            .call("aten::mm", shape, "gemm", 170..200)
            .profile()
    };
    let profile = product(MM);
    let details = details_of(
        &profile,
        &options_on("MI300X"),
        DetailsSubject::Operation(0),
    );
    assert!(details.on_roofline);
    assert_eq!(
        plain(&details.verdict),
        "10.1 % of its roofline, bound by compute: needs investigation."
    );
    // At 75 % both calls together take 60 · 10.11 / 75 = 8.088 µs of a run of 100 µs.
    assert_eq!(
        plain(&details.savings),
        "At 75.0 % of roofline it would take 8.09 µs instead of 60.0 µs: saves 51.9 % of the run."
    );
    let details = first(&profile);
    assert!(details.verdict.starts_with("No GPU is chosen"));
    assert_eq!((details.savings.as_str(), details.on_roofline), ("", false));
    // 8 192³ cannot run in 30 µs.
    let profile = product(&MM.replace("1024", "8192"));
    let details = details_of(
        &profile,
        &options_on("MI300X"),
        DetailsSubject::Operation(0),
    );
    assert!(details.verdict.contains("or the data stays in caches"));
    assert_eq!((details.savings.as_str(), details.on_roofline), ("", true));
}

#[test]
fn what_is_no_operation_says_why_it_has_no_roof() {
    let shapes = r#""Input Dims": [[4]], "Input type": ["float"]"#;
    let counted = r#""Input Dims": [[4]], "Input type": ["float"], "flops": 8000000"#;
    let profile = Timetable::new()
        .work("my::op", "my_kernel", 100..140)
        .call("my::shaped", shapes, "my_kernel", 150..170)
        .call("my::counted", counted, "my_kernel", 172..176)
        .work("c10d::allreduce_", "ncclDevKernel_AllReduce", 180..200)
        .op("aten::view", 60..61)
        .kernel(9, "stray_kernel", 210..215)
        .profile();
    let of = |name| DetailsSubject::of_event(&profile, event(&profile, name));
    for (subject, why) in [
        (of("my::op"), "Its shapes were not recorded"),
        (of("my::shaped"), "There is no FLOP/byte model"),
        (
            of("my::counted"),
            "There is no FLOP/byte model for such a call. The profiler itself counted 8.00 MFLOP a call, 2.00 TFLOPS; without",
        ),
        (
            of("ncclDevKernel_AllReduce"),
            "Communication has no roofline",
        ),
        (of("stray_kernel"), "No call is known that launched it"),
        (of("aten::view"), "Nothing that it calls runs on the GPU"),
        (
            DetailsSubject::Operator(0),
            "The % of roofline is computed for one set of shapes",
        ),
    ] {
        let verdict = details_of(&profile, &options_on("MI300X"), subject).verdict;
        assert!(verdict.starts_with(why), "{verdict}");
    }
}

#[test]
fn an_event_leads_to_its_operation() {
    let profile = products().profile();
    let of = |name: &str| DetailsSubject::of_event(&profile, event(&profile, name));
    // The call, its launch, and the kernels.
    for name in ["aten::mm", "cudaLaunchKernel", "gemm", "splitk_reduce"] {
        assert_eq!(of(name), DetailsSubject::Operation(0), "{name}");
    }
    assert_eq!(of("fill_kernel"), DetailsSubject::Operation(1));
    let linear = of("aten::linear");
    assert!(matches!(linear, DetailsSubject::Call(_)), "{linear:?}");
    let details = details_of(&profile, &ReportOptions::default(), linear);
    assert_eq!(values(&details.figures)[0], "70.0 µs");
    let [mm] = &details.operations[..] else {
        panic!("{:?}", details.operations)
    };
    assert_eq!(
        (mm.row, &*mm.name, plain(&mm.time)),
        (0, "aten::mm", "70.0 µs in 2 calls".to_owned())
    );
}

#[test]
fn rows_of_sheets_are_subjects_with_the_figures_of_the_row() {
    let profile = products().profile();
    let report = Report::new(&profile, &ReportOptions::default());
    for (sheet, row, name, figures) in [
        (
            "unified_perf_summary",
            1,
            "aten::fill_",
            ["30.0 µs", "25.0 %", "1"],
        ),
        ("ops_summary", 0, "aten::mm", ["90.0 µs", "75.0 %", "3"]),
        (
            "kernel_summary",
            2,
            "splitk_reduce",
            ["8.00 µs", "6.7 %", "1"],
        ),
    ] {
        let subject = DetailsSubject::of_row(&profile, &report, sheet, row).unwrap();
        let details = OpDetails::new(&profile, &report, subject).unwrap();
        assert_eq!(details.name, name);
        assert_eq!(values(&details.figures), figures);
        // And back: a subject finds its row.
        assert_eq!(details.row, Some((sheet.to_owned(), row as u32)));
    }
    assert_eq!(
        DetailsSubject::of_row(&profile, &report, "gpu_timeline", 0),
        None
    );
    assert_eq!(
        DetailsSubject::of_row(&profile, &report, "ops_summary", 9),
        None
    );
}

#[test]
fn a_finding_is_found_from_its_evidence() {
    // 90 ms instead of the 0.003 ms that are possible: a finding.
    let profile = Timetable::new()
        .call("aten::mm", MM, "gemm", 100..90_100)
        .profile();
    // From the operation, and from its operator and its kernel.
    let report = Report::new(&profile, &options_on("MI300X"));
    for sheet in ["unified_perf_summary", "ops_summary", "kernel_summary"] {
        let subject = DetailsSubject::of_row(&profile, &report, sheet, 0).unwrap();
        let details = OpDetails::new(&profile, &report, subject).unwrap();
        let numbers: Vec<usize> = details.findings.iter().map(|one| one.number).collect();
        assert_eq!(numbers, [1], "{sheet}");
    }
}
