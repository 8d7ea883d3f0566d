pub(crate) mod columns_doc;

use super::*;
use crate::compare::testing;
use crate::profile::Profile;
use crate::profile::window::Window;
use crate::report::sheet::{Cell, Column, Unit};
use crate::report::{Report, ReportOptions};
use crate::testing::Timetable;

/// The sheets of two small traces, named "old" and "new".
fn compared(reference: &Timetable, target: &Timetable) -> Vec<ComparisonSheet> {
    testing::sides(reference, target, None, |sides| {
        let named = |name, side| Side { name, ..side };
        of_sides(named("old", sides.reference), named("new", sides.target))
    })
}

fn of_sides(reference: Side, target: Side) -> Vec<ComparisonSheet> {
    sheets(reference, target, &TreeDiff::new(reference, target))
}

fn find<'a>(sheets: &'a [ComparisonSheet], name: &str) -> &'a ComparisonSheet {
    let names: Vec<&str> = sheets.iter().map(|sheet| &*sheet.name).collect();
    let sheet = sheets.iter().find(|sheet| sheet.name == name);
    sheet.unwrap_or_else(|| panic!("{name} is none of {names:?}"))
}

#[test]
fn a_part_of_a_trace_is_named_next_to_the_whole_of_the_other() {
    let whole = mm(Timetable::new(), 0, 50).profile();
    let part = whole.window(&Window {
        step: Some("ProfilerStep#3".to_owned()),
        ..Window::range(crate::base::interval::Interval::new(10_000, 60_000))
    });
    let labels = ["side", "trace", "analyzed", "start ms", "length ms"];
    let named = |target: &Profile| {
        testing::profiles(&whole, target, None, |sides| {
            let sheets = of_sides(sides.reference, sides.target);
            (sheets[0].name == "windows").then(|| sheets[0].texts(&labels))
        })
    };
    assert_eq!(named(&whole), None);
    assert_eq!(
        named(&part).unwrap(),
        [
            ["reference", "before", "the whole trace", "0", "0.07"],
            ["target", "after", "ProfilerStep#3", "0.01", "0.05"],
        ]
    );
    assert_eq!(
        title("windows"),
        "The parts of the traces that are compared"
    );
}

const MM: &str = r#""Input Dims": [[4, 8], [8, 2]], "Input type": ["float", "float"], "Input Strides": [[8, 1], [2, 1]], "Concrete Inputs": ["", ""]"#;
const RELU: &str = r#""Input Dims": [[64]], "Input type": ["float"], "Input Strides": [[1]], "Concrete Inputs": [""]"#;

/// `aten::mm` of 4 × 8 by 8 × 2, which runs on the GPU after `at` for this many microseconds.
fn mm(table: Timetable, at: i32, us: i32) -> Timetable {
    table.call("aten::mm", MM, "gemm", at + 20..at + 20 + us)
}

fn relu(table: Timetable, at: i32, us: i32) -> Timetable {
    table.call("aten::relu", RELU, "relu_kernel", at + 20..at + 20 + us)
}

#[test]
fn differences_are_target_minus_reference() {
    // Reference: 500 + 500 µs of mm, 10 of relu. Target: 750 of mm, 5 of gelu.
    let reference = relu(mm(mm(Timetable::new(), 0, 500), 600, 500), 1200, 10);
    let target = mm(Timetable::new(), 0, 750).work("aten::gelu", "gelu_kernel", 820..825);
    let sheets = compared(&reference, &target);
    let ops = find(&sheets, "ops_summary");
    #[rustfmt::skip]
    assert_eq!(
        ops.texts(&[
            "name", "total_direct_kernel_time_ms__new_diff", "total_direct_kernel_time_ms__new_pct",
            "Count__new_diff", "Count__new_pct", "old::Count", "new::Count",
        ]),
        [
            ["aten::mm", "-0.25", "-25", "-1", "-50", "2", "1"],
            ["aten::relu", "–", "–", "–", "–", "1", "–"],
            ["aten::gelu", "–", "–", "–", "–", "–", "1"],
        ]
    );
    let labels: Vec<&str> = ops.columns.iter().map(|column| &*column.label).collect();
    assert_eq!(
        labels[..3],
        [
            "name",
            "total_direct_kernel_time_ms__new_diff",
            "total_direct_kernel_time_ms__new_pct"
        ]
    );
    assert!(labels.contains(&"old::Cumulative Percentage (%)"));
    assert!(!labels.contains(&"new::Cumulative Percentage (%)"));
    assert!(!labels.contains(&"old::total_direct_kernel_time_sum"));
}

/// In 2005, the microseconds since the epoch passed 2⁵⁰, above which floating-point numbers are a quarter apart.
const QUARTERS: f64 = 1_125_899_906_842_624.0;

/// `aten::mm` of 4 × 8 by 8 × 2 for `us` on the GPU, where TraceLens rounds to quarters.
fn rounded_mm(us: &str) -> Timetable {
    Timetable::new()
        .without_flows()
        .op("aten::mm", QUARTERS..QUARTERS + 10.0)
        .args(MM)
        .launch(1, QUARTERS + 1.0..QUARTERS + 2.0)
        .raw(&format!(
            r#"{{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": {QUARTERS}, "dur": {us}}}"#
        ))
        .args(r#""stream": 7, "correlation": 1"#)
}

#[test]
fn differences_are_of_times_as_the_reference_rounds_them() {
    // TraceLens rounds 1.1 µs to 1, and 1.4 µs to 1.5; each side's own times stay exact.
    let sheets = compared(&rounded_mm("1.1"), &rounded_mm("1.4"));
    #[rustfmt::skip]
    let seen = [
        ("ops_unique_args_intersect_new", "total_direct_kernel_time_sum"),
        ("ops_unique_args_intersect_new", "total_direct_kernel_time_mean"),
        ("unified_perf_summary_intersect_new", "Kernel Time (µs)_sum"),
        ("unified_perf_summary_intersect_new", "Kernel Time (µs)_mean"),
        ("GEMM_intersect_new", "Kernel Time (µs)_sum"),
        ("GEMM_intersect_new", "Kernel Time (µs)_mean"),
    ]
    .map(|(sheet, time)| {
        let labels = [
            format!("{time}__new_diff"),
            format!("{time}__new_pct"),
            format!("old::{time}"),
            format!("new::{time}"),
        ];
        find(&sheets, sheet).texts(&labels.each_ref().map(String::as_str)).concat()
    });
    assert_eq!(seen, [["0.5", "50", "1.1", "1.4"]; 6]);
    let ops = find(&sheets, "ops_summary").texts(&[
        "total_direct_kernel_time_ms__new_diff",
        "total_direct_kernel_time_ms__new_pct",
        "old::total_direct_kernel_time_ms",
        "new::total_direct_kernel_time_ms",
    ]);
    assert_eq!(ops, [["0.0005", "50", "0.0011", "0.0014"]]);
}

/// If rounding changes nothing, the rounded times of a row are the ones shown.
#[test]
fn every_row_has_its_own_rounded_time() {
    let two = |scalar: &str| {
        format!(
            r#""Input Dims": [[64], [64], []], "Input type": ["float", "float", "Scalar"], "Input Strides": [[1], [1], []], "Concrete Inputs": ["", "", "{scalar}"]"#
        )
    };
    let trace = mm(mm(Timetable::new(), 0, 40), 100, 50)
        .call("aten::copy_", &two("False"), "copy_kernel", 220..230)
        .call("aten::add", &two("1"), "add_kernel", 320..325);
    let profile = trace.profile();
    let report = Report::new(&profile, &ReportOptions::default());
    let times = RoundedTimes::new(&profile);
    let rounded = |name: &str| -> Vec<[f64; 2]> {
        let times = times.of_sheet(name);
        times
            .iter()
            .map(|time| [time.sum_us, time.mean_us()])
            .collect()
    };
    let all = vec![[90.0, 45.0], [10.0, 10.0], [5.0, 5.0]];
    for (name, expected) in [
        ("ops_summary", all.clone()),
        ("ops_unique_args", all.clone()),
        ("unified_perf_summary", all),
        ("GEMM", vec![[90.0, 45.0]]),
        ("UnaryElementwise", vec![[10.0, 10.0]]),
        ("BinaryElementwise", vec![[5.0, 5.0]]),
        ("CONV_fwd", Vec::new()),
        ("kernel_summary", Vec::new()),
    ] {
        assert_eq!(rounded(name), expected, "{name}");
    }
    for kind in KINDS {
        let n_rows = report
            .sheet(&profile, kind.sheet)
            .map_or(0, |sheet| sheet.rows.len());
        let n_times = rounded(kind.sheet).len();
        let is_complete = n_times == n_rows;
        let has_others = ["gpu_timeline", "kernel_summary"].contains(&kind.sheet);
        assert!(is_complete || has_others, "{}", kind.sheet);
    }
}

#[test]
fn operators_with_arguments_come_as_three_sheets() {
    let reference = relu(mm(Timetable::new(), 0, 40), 100, 10);
    let target = mm(Timetable::new(), 0, 60).work("aten::gelu", "gelu_kernel", 120..125);
    let sheets = compared(&reference, &target);
    let names = |part: &str| {
        let sheet = find(&sheets, &format!("ops_unique_args_{part}_new"));
        sheet.texts(&["name"]).concat()
    };
    assert_eq!(names("intersect"), ["aten::mm"]);
    assert_eq!(names("only_baseline"), ["aten::relu"]);
    assert_eq!(names("only_variant"), ["aten::gelu"]);
    // Each leaves out columns that are empty in all its rows: the other side's, and every difference.
    let alone = find(&sheets, "ops_unique_args_only_variant_new");
    let mut labels = alone.columns.iter().map(|column| &*column.label);
    assert!(labels.all(|label| !label.contains("old::") && !label.contains("__")));
}

#[test]
fn families_are_joined_on_what_their_models_read() {
    let sheets = compared(&mm(Timetable::new(), 0, 40), &mm(Timetable::new(), 0, 60));
    let gemm = find(&sheets, "GEMM_intersect_new");
    #[rustfmt::skip]
    assert_eq!(
        gemm.texts(&["name", "param: K", "param: M", "param: N", "Kernel Time (µs)_sum__new_diff", "Kernel Time (µs)_sum__new_pct"]),
        [["aten::mm", "8", "4", "2", "20", "50"]]
    );
    // The work of one call is shown once.
    assert!(gemm.column("old::GFLOPS_first").is_some());
    assert!(gemm.column("new::GFLOPS_first").is_none());
    let alone = compared(&relu(Timetable::new(), 0, 40), &mm(Timetable::new(), 0, 60));
    let alone = find(&alone, "GEMM_only_variant_new");
    assert!(alone.column("new::GFLOPS_first").is_some());
}

/// Joined by name alone, one kernel of two operators on each side would give four rows.
#[test]
fn kernels_are_joined_below_their_operators() {
    let kernels = |stream: u32, us: i32| {
        let table = Timetable::new().stream(stream);
        table.work("aten::add", "elementwise", 40..40 + us).work(
            "aten::mul",
            "elementwise",
            80..80 + 2 * us,
        )
    };
    let sheets = compared(&kernels(7, 10), &kernels(0, 15));
    let sheet = find(&sheets, "kernel_summary");
    #[rustfmt::skip]
    assert_eq!(
        sheet.texts(&[
            "Kernel name", "Parent cpu_op", "Kernel duration (µs)_sum__new_diff", "old::Kernel stream", "new::Kernel stream",
        ]),
        [
            ["elementwise", "aten::mul", "10", "7", "0"],
            ["elementwise", "aten::add", "5", "7", "0"],
        ]
    );
}

#[test]
fn rows_with_the_same_keys_are_paired_once() {
    let on_threads = |threads: &[u32]| {
        threads.iter().enumerate().fold(Timetable::new(), |table, (row, &thread)| {
            let name = format!(
                r#"{{"ph": "M", "name": "thread_name", "pid": 100, "tid": {thread}, "args": {{"name": "thread {thread}"}}}}"#
            );
            mm(table.raw(&name).thread(thread), 200 * row as i32, 40 - 10 * row as i32)
        })
    };
    let sheets = compared(&on_threads(&[1, 2]), &on_threads(&[3, 2, 4]));
    let labels = [
        "old::thread_name",
        "new::thread_name",
        "total_direct_kernel_time_sum__new_diff",
    ];
    let both = find(&sheets, "ops_unique_args_intersect_new");
    #[rustfmt::skip]
    assert_eq!(both.texts(&labels), [
        // Rows with the same thread are joined first, then in order.
        ["thread 1", "thread 3", "0"],
        ["thread 2", "thread 2", "0"],
    ]);
    let alone = find(&sheets, "ops_unique_args_only_variant_new");
    assert_eq!(alone.texts(&["new::thread_name"]), [["thread 4"]]);
}

/// A report has the column if anything is recomputed; all other calls are ordinary ones.
#[test]
fn recomputed_calls_are_joined_with_their_like() {
    let column = |label: &&'static str| Column {
        label: *label,
        unit: Unit::Text,
        doc: "",
    };
    let sheet = |labels: &[&'static str], rows: Vec<Vec<Cell>>| Sheet {
        name: "ops_summary",
        columns: labels.iter().map(column).collect(),
        rows,
    };
    let relu = || Cell::Text("aten::relu".to_owned());
    let reference = sheet(
        &["name", "is_recompute", "Count"],
        vec![
            vec![relu(), Cell::Flag(true), Cell::Int(1)],
            vec![relu(), Cell::Flag(false), Cell::Int(2)],
        ],
    );
    let target = sheet(&["name", "Count"], vec![vec![relu(), Cell::Int(5)]]);
    let mut kinds = KINDS.iter();
    let kind = kinds.find(|kind| kind.sheet == "ops_summary").unwrap();
    let halves = testing::pair(&reference, &target).map(|sheet| {
        Some(Half {
            sheet,
            times: Vec::new(),
        })
    });
    let joined = Joined::new(kind, halves).unwrap();
    let names = testing::pair("old", "new");
    let sheet = layout::sheet("ops_summary".to_owned(), &joined, None, names);
    #[rustfmt::skip]
    assert_eq!(
        sheet.texts(&["name", "is_recompute", "Count__new_diff", "old::Count", "new::Count"]),
        [
            ["aten::relu", "true", "–", "1", "–"],
            ["aten::relu", "false", "3", "2", "5"],
        ]
    );
}

#[test]
fn a_trace_against_itself_has_no_differences() {
    let trace = relu(mm(Timetable::new(), 0, 40), 100, 10);
    let sheets = compared(&trace, &trace);
    assert!(sheets.iter().all(|sheet| !sheet.name.contains("only")));
    for sheet in &sheets {
        for (at, column) in sheet.columns.iter().enumerate() {
            if !column.label.ends_with("__new_diff") {
                continue;
            }
            for row in &sheet.rows {
                let is_zero = match &row[at] {
                    Cell::Int(number) => *number == 0,
                    Cell::Float(number) => number.abs() < 1e-12,
                    cell => *cell == Cell::Empty,
                };
                assert!(is_zero, "{}: {} {:?}", sheet.name, column.label, row[at]);
            }
        }
    }
}

/// One kernel of the reference and two of the target, below a call that both make.
#[test]
fn kernels_where_the_call_trees_differ_are_listed() {
    let outer = || Timetable::new().op("sdpa", 0..50);
    let flash = outer()
        .op("flash", 1..10)
        .args(r#""Input Dims": [[4, 8]], "Input type": ["float"], "Input Strides": [[8, 1]], "Concrete Inputs": [""]"#)
        .launch(1, 2..3)
        .kernel(1, "flash_kernel", 100..130);
    let unfused = outer()
        .op("bmm", 1..10)
        .launch(1, 2..3)
        .op("bmm", 11..20)
        .launch(2, 12..13)
        .kernel(1, "bmm_kernel", 100..120)
        .kernel(2, "bmm_kernel", 110..150);
    let sheets = compared(&flash, &unfused);
    #[rustfmt::skip]
    assert_eq!(
        find(&sheets, "diff_stats").texts(&[
            "name", "cpu_op_name", "cpu_op_uid", "source", "Input Dims", "kernel_time", "busy_time",
            "lowest_common_ancestor_name", "gpu_op_uid",
        ]),
        [
            // The target's kernels overlap for 10 µs.
            ["flash_kernel", "flash", "1", "trace1", "((4, 8),)", "30", "30", "sdpa", "4"],
            ["bmm_kernel", "bmm", "1", "trace2", "–", "20", "50", "sdpa", "7"],
            ["bmm_kernel", "bmm", "4", "trace2", "–", "40", "50", "sdpa", "9"],
        ]
    );
    #[rustfmt::skip]
    assert_eq!(
        find(&sheets, "diff_stats_unique_args_summary").texts(&[
            "name", "source", "busy_time", "kernel_time_sum", "kernel_time_mean", "operation_count",
        ]),
        [
            ["bmm_kernel", "trace2", "50", "60", "30", "2"],
            ["flash_kernel", "trace1", "30", "30", "30", "1"],
        ]
    );
}

#[test]
fn names_of_sides_are_safe_in_names_of_files() {
    assert_eq!(tag("../my run:1/größe"), ".._my_run_1_größe");
    assert_eq!(tag(&"x".repeat(300)).len(), MAX_TAG);
}

#[test]
fn every_sheet_has_a_title_of_its_own() {
    let mut titles: Vec<&str> = KINDS
        .iter()
        .flat_map(|kind| {
            let names = Subset::ALL.map(|subset| format!("{}_{}_x", kind.name, subset.label()));
            match kind.is_split {
                true => names.map(|name| title(&name)).to_vec(),
                false => vec![title(kind.name)],
            }
        })
        .collect();
    titles.extend([title("diff_stats"), title("diff_stats_unique_args_summary")]);
    let n_sheets = titles.len();
    titles.sort_unstable();
    titles.dedup();
    assert_eq!(titles.len(), n_sheets);
    assert!(titles.iter().all(|title| !title.is_empty()));
}
