//! Stories of small traces, each number checkable by hand.

use super::*;
use crate::report::ReportOptions;
use crate::testing::{Timetable, options_on};
use crate::trace::Category;

const MM: &str = r#""Input Dims": [[1024, 1024], [1024, 1024]], "Input type": ["c10::BFloat16", "c10::BFloat16"], "Input Strides": [[1024, 1], [1, 1024]], "Concrete Inputs": ["", ""]"#;

/// Products of 60, 10 and 20 µs, and a fill of 30 µs: 120 µs of GPU time. The first two
/// are called in a module, the third by the program itself.
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
fn told(profile: &Profile, options: &ReportOptions, subject: Subject, check: impl Fn(Story)) {
    let report = Report::new(profile, options);
    match Story::new(profile, &report, subject) {
        Some(story) => check(story),
        None => panic!("no story of {subject:?}"),
    }
}

#[test]
fn an_operation_with_its_times_and_kernels() {
    let profile = products().profile();
    let options = ReportOptions::default();
    told(&profile, &options, Subject::Operation(0), |story| {
        assert_eq!(
            (story.name.as_str(), story.family),
            ("aten::mm", Family::Gemm)
        );
        // 60 + 10 + 20 of 120 µs.
        assert_eq!((story.gpu_ns, story.n_instances), (90_000, 3));
        assert_eq!(story.percent, Some(75.0));
        let spread = story.spread.unwrap();
        let times = [
            spread.min_ns,
            spread.median_ns,
            spread.p95_ns,
            spread.max_ns,
        ];
        assert_eq!(times, [10_000, 20_000, 60_000, 60_000]);
        // Too few calls for a deviation; the slowest takes three times the median.
        assert_eq!((spread.variation, spread.ratio), (None, Some(3.0)));
        assert!(spread.is_wide && spread.slowest_is_first);
        let kernels: Vec<_> = story
            .kernels
            .iter()
            .map(|kernel| {
                let name = profile.trace.strings.get(kernel.name);
                (name, kernel.count, kernel.gpu_ns, kernel.mean_ns())
            })
            .collect();
        assert_eq!(
            kernels,
            [
                ("gemm", 3, 82_000, 27_333),
                ("splitk_reduce", 1, 8_000, 8_000)
            ]
        );
        let [gemm, splitk] = &story.kernels[..] else {
            panic!("two kernels")
        };
        assert_eq!(
            (&gemm.streams[..], &splitk.streams[..]),
            (&[7][..], &[9][..])
        );
        let size = |grid, block, count| LaunchSize { grid, block, count };
        assert_eq!(
            gemm.sizes,
            [
                size([8, 4, 1], [256, 1, 1], 2),
                size([4, 4, 1], [128, 1, 1], 1)
            ]
        );
        assert_eq!(splitk.sizes, []);
        assert_eq!(story.operations, []);
    });
}

#[test]
fn the_arguments_of_an_operation() {
    let profile = products().profile();
    told(
        &profile,
        &ReportOptions::default(),
        Subject::Operation(0),
        |story| {
            let arguments = arguments(&profile.trace, story.args.unwrap());
            let tensor = |strides: &str| Argument {
                kind: "bf16".to_owned(),
                shape: "1024 × 1024".to_owned(),
                strides: strides.to_owned(),
                value: String::new(),
            };
            assert_eq!(arguments, [tensor("1024, 1"), tensor("1, 1024")]);
        },
    );
    let list = Timetable::new()
        .op("aten::cat", 0..10)
        .args(r#""Input Dims": [[[2, 3], [4, 3]], []], "Input type": ["TensorList", "Scalar"], "Concrete Inputs": ["", "1"]"#)
        .launch(1, 1..2)
        .kernel(1, "cat", 20..30)
        .profile();
    told(
        &list,
        &ReportOptions::default(),
        Subject::Operation(0),
        |story| {
            let arguments = arguments(&list.trace, story.args.unwrap());
            let [tensors, dim] = &arguments[..] else {
                panic!("two arguments")
            };
            assert_eq!(tensors.shape, "2 × 3; 4 × 3");
            assert_eq!((dim.kind.as_str(), dim.value.as_str()), ("Scalar", "1"));
            assert_eq!((dim.shape.as_str(), dim.strides.as_str()), ("", ""));
        },
    );
}

#[test]
fn callers_by_time_and_the_stack_of_the_slowest_call() {
    let profile = products().profile();
    told(
        &profile,
        &ReportOptions::default(),
        Subject::Operation(0),
        |story| {
            let callers: Vec<_> = story
                .callers
                .iter()
                .map(|caller| {
                    let ops: Vec<&str> = caller.ops.iter().map(String::as_str).collect();
                    (caller.modules.as_deref(), ops, caller.count, caller.gpu_ns)
                })
                .collect();
            assert_eq!(
                callers,
                [
                    (Some("Mlp"), vec!["aten::linear"], 2, 70_000),
                    (None, vec![], 1, 20_000)
                ]
            );
            let frames: Vec<_> = story
                .callers
                .iter()
                .map(|one| one.frame.as_deref())
                .collect();
            assert_eq!(frames, [Some("train.py(9): step"); 2]);
            let stack: Vec<_> = story
                .stack
                .iter()
                .map(|frame| (frame.name.as_str(), frame.is_framework))
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
            let events = &profile.trace.events;
            let (slowest, median) = (story.slowest.unwrap(), story.median.unwrap());
            assert_eq!((slowest.gpu_ns, median.gpu_ns), (60_000, 20_000));
            assert_eq!(slowest.call, story.callers[0].slowest.call);
            // Of two kernels the longer one.
            let longest = median.work.map(|work| events.dur_ns(work));
            assert_eq!(longest, Some(Some(12_000)));
        },
    );
}

/// The bandwidth of the GPU's memory is no roofline of a copy from the CPU.
#[test]
fn a_copy_over_a_link_has_no_roof() {
    let profile = Timetable::new()
        .op("aten::copy_", 0..10)
        .args(r#""Input Dims": [[64, 64], [64, 64]], "Input type": ["float", "float"]"#)
        .launch(1, 1..2)
        .copy(1, "Memcpy HtoD (Pageable -> Device)", 100..130)
        .profile();
    let of = Subject::Operation(0);
    told(&profile, &options_on("MI300X"), of, |story| {
        let position = story.position;
        let is_link = matches!(position, Position::Unknown(NoRoof::Link, Some(_)));
        assert!(is_link, "{position:?}");
        assert!(story.projection.is_empty());
    });
}

/// 2 · 1024³ operations at 708 TFLOPS take 3.033 µs: 10.11 % of 30 µs.
#[test]
fn the_roof_and_what_reaching_it_is_worth() {
    let product = |shape: &str| {
        Timetable::new()
            .op("aten::mm", 0..10)
            .args(shape)
            .launch(1, 1..2)
            .op("aten::mm", 20..30)
            .args(shape)
            .launch(2, 21..22)
            .kernel(1, "gemm", 100..130)
            .kernel(2, "gemm", 170..200)
            .profile()
    };
    let profile = product(MM);
    told(
        &profile,
        &options_on("MI300X"),
        Subject::Operation(0),
        |story| {
            let percent = story.position.efficiency_percent().unwrap();
            assert!((percent - 10.11).abs() < 0.005, "{percent}");
            assert_eq!(
                story.position.verdict(),
                "10.1 % of its roofline, bound by arithmetic: needs investigation."
            );
            // At 75 % both calls together take 60 · 10.11 / 75 = 8.088 µs of a run of 100 µs.
            let at_75 = story
                .projection
                .iter()
                .find(|one| one.target_percent > 74.0);
            let (left_ns, gain) = at_75.unwrap().outcome.unwrap();
            assert!((left_ns - 8_088).abs() <= 1, "{left_ns}");
            assert!((gain - 51.9).abs() < 0.05, "{gain}");
        },
    );
    told(
        &profile,
        &ReportOptions::default(),
        Subject::Operation(0),
        |story| {
            let Position::Unknown(why, Some(work)) = story.position else {
                panic!("{:?}", story.position)
            };
            assert_eq!(why, NoRoof::Gpu);
            assert!((work.flops - 2.0 * 1024_f64.powi(3)).abs() < 1.0);
            assert!(story.projection.is_empty());
        },
    );
    // 8 192³ cannot run in 30 µs.
    let profile = product(&MM.replace("1024", "8192"));
    told(
        &profile,
        &options_on("MI300X"),
        Subject::Operation(0),
        |story| {
            assert_eq!(story.position.efficiency_percent(), None);
            let verdict = story.position.verdict();
            assert!(verdict.contains("faster than the GPU can be"), "{verdict}");
            assert!(story.projection.is_empty());
        },
    );
}

#[test]
fn what_is_no_operation_says_why_it_has_no_roof() {
    let profile = Timetable::new()
        .op("my::op", 0..10)
        .launch(1, 1..2)
        .op("my::shaped", 20..30)
        .args(r#""Input Dims": [[4]], "Input type": ["float"]"#)
        .launch(2, 21..22)
        .op("c10d::allreduce_", 40..50)
        .launch(3, 41..42)
        .op("aten::view", 60..61)
        .kernel(1, "my_kernel", 100..140)
        .kernel(2, "my_kernel", 150..170)
        .kernel(3, "ncclDevKernel_AllReduce", 180..200)
        .kernel(9, "stray_kernel", 210..215)
        .profile();
    let why = |subject| {
        let report = Report::new(&profile, &options_on("MI300X"));
        match Story::new(&profile, &report, subject).unwrap().position {
            Position::Unknown(why, _) => why,
            known => panic!("{known:?}"),
        }
    };
    let event = |name: &str| {
        let trace = &profile.trace;
        let mut ids = trace.events.ids();
        ids.find(|id| trace.strings.get(trace.events.name(*id)) == name)
            .unwrap()
    };
    let of = |name| Subject::of_event(&profile, event(name));
    assert_eq!(why(of("my::op")), NoRoof::Arguments);
    assert_eq!(why(of("my::shaped")), NoRoof::Model);
    assert_eq!(why(of("ncclDevKernel_AllReduce")), NoRoof::Communication);
    assert_eq!(why(of("stray_kernel")), NoRoof::Caller);
    assert_eq!(why(of("aten::view")), NoRoof::NoWork);
    assert_eq!(why(Subject::Operator(0)), NoRoof::SeveralShapes);
}

#[test]
fn an_event_leads_to_its_operation() {
    let profile = products().profile();
    let trace = &profile.trace;
    let of = |name: &str| {
        let mut ids = trace.events.ids();
        let named = ids.find(|id| trace.strings.get(trace.events.name(*id)) == name);
        Subject::of_event(&profile, named.unwrap())
    };
    // The call, what it launches with, and what runs.
    for name in ["aten::mm", "cudaLaunchKernel", "gemm", "splitk_reduce"] {
        assert_eq!(of(name), Subject::Operation(0), "{name}");
    }
    assert_eq!(of("fill_kernel"), Subject::Operation(1));
    let Subject::Call(linear) = of("aten::linear") else {
        panic!("around the product")
    };
    told(
        &profile,
        &ReportOptions::default(),
        Subject::Call(linear),
        |story| {
            assert_eq!((story.gpu_ns, story.n_instances), (70_000, 2));
            let part = Part {
                operation: 0,
                n_calls: 2,
                gpu_ns: 70_000,
            };
            assert_eq!(story.operations, [part]);
            assert_eq!(trace.events.category(linear), Category::CpuOp);
        },
    );
}

#[test]
fn rows_of_sheets_are_subjects_with_the_figures_of_the_row() {
    let profile = products().profile();
    let report = Report::new(&profile, &ReportOptions::default());
    let figures = |sheet: &str, row: usize| {
        let subject = Subject::of_row(&profile, &report, sheet, row)?;
        let story = Story::new(&profile, &report, subject)?;
        Some((story.name, story.gpu_ns, story.n_instances, story.percent))
    };
    let expected = |name: &str, us: i64, n: u64, percent: f64| {
        Some((name.to_owned(), us * 1_000, n, Some(percent)))
    };
    assert_eq!(
        figures("unified_perf_summary", 1),
        expected("aten::fill_", 30, 1, 25.0)
    );
    assert_eq!(figures("ops_summary", 0), expected("aten::mm", 90, 3, 75.0));
    assert_eq!(
        figures("kernel_summary", 2),
        expected("splitk_reduce", 8, 1, 100.0 * 8.0 / 120.0)
    );
    // And back: a subject knows its row.
    for (sheet, n_rows) in [
        ("unified_perf_summary", 2),
        ("ops_summary", 2),
        ("kernel_summary", 3),
    ] {
        for row in 0..n_rows {
            let subject = Subject::of_row(&profile, &report, sheet, row).unwrap();
            assert_eq!(subject.row(&profile, &report), Some((sheet, row)));
        }
    }
    assert_eq!(figures("gpu_timeline", 0), None);
    assert_eq!(figures("ops_summary", 9), None);
}

#[test]
fn a_finding_is_found_from_its_evidence() {
    // 90 ms where 0.003 would do: a finding.
    let profile = Timetable::new()
        .op("aten::mm", 0..10)
        .args(MM)
        .launch(1, 1..2)
        .kernel(1, "gemm", 100..90_100)
        .profile();
    // From the operation, and from the operator and the kernel that it is of.
    let report = Report::new(&profile, &options_on("MI300X"));
    let rows = ["unified_perf_summary", "ops_summary", "kernel_summary"];
    let of_row = |sheet| Subject::of_row(&profile, &report, sheet, 0).unwrap();
    for subject in rows.map(of_row) {
        told(&profile, &options_on("MI300X"), subject, |story| {
            let numbers: Vec<usize> = story.findings.iter().map(|one| one.number).collect();
            assert_eq!(numbers, [1], "{subject:?}");
        });
    }
}
