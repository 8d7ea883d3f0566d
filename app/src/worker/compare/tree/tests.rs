//! Comparisons of small traces, as the rows that the page shows.

use std::fmt::Write;

use dormer_core::compare::{Side, Which};
use dormer_core::testing::Timetable;
use dormer_core::{Report, ReportOptions};

use super::*;
use crate::protocol::{Direction, FindInTree};

struct Trees {
    tree: DiffTree,
    profiles: Pair<Profile>,
}

impl Trees {
    fn of(reference: &Timetable, target: &Timetable) -> Trees {
        let profiles = Pair {
            reference: reference.profile(),
            target: target.profile(),
        };
        let reports = Pair::of(|which| Report::new(profiles.get(which), &ReportOptions::default()));
        let side = |which| Side::new(Which::label(which), profiles.get(which), reports.get(which));
        let diff = TreeDiff::new(side(Which::Reference), side(Which::Target));
        Trees {
            tree: DiffTree::new(diff.into()),
            profiles,
        }
    }

    fn step(&mut self, step: TreeStep) -> TreeChange {
        self.tree.step(self.profiles.as_ref(), &step)
    }

    fn window(&mut self, offset: usize, count: usize) -> TreePage<DiffRow> {
        let query = DiffRowsQuery { offset, count };
        self.tree.rows(self.profiles.as_ref(), &query)
    }

    fn rows(&mut self) -> Vec<DiffRow> {
        self.window(0, usize::MAX).rows
    }

    /// The rows as text: name, mark, times of both traces and their difference.
    fn text(&mut self) -> String {
        let mut text = String::new();
        for row in self.rows() {
            let indent = "  ".repeat(row.branch.depth as usize);
            let fold = match row.branch.open {
                Some(true) => "- ",
                Some(false) => "+ ",
                None => "",
            };
            let mark = match row.mark.as_str() {
                "" => String::new(),
                mark => format!(" [{mark}]"),
            };
            let [reference, target] = &row.times;
            writeln!(
                text,
                "{indent}{fold}{}{mark} {reference} | {target} | {}",
                row.name, row.difference
            )
            .unwrap();
        }
        text
    }

    fn show(&mut self, only_differences: bool) -> TreeChange {
        self.step(TreeStep::OnlyDifferences(only_differences))
    }

    /// The row that a step leads to.
    fn led_to(&mut self, change: &TreeChange) -> DiffRow {
        let target = change.target.unwrap();
        let row = self.rows().swap_remove(target.row);
        assert_eq!(row.node, target.node);
        row
    }
}

/// `norm`, some operators in `sdpa`, and `mm`; each inner one launches a kernel of 10 µs.
fn layer(inside: &[&str]) -> Timetable {
    let mut row = 0;
    let mut launch = |table: Timetable, name: &str, start: u32| {
        row += 1;
        let at = 1000 + 10 * row;
        table
            .op(name, start..start + 4)
            .launch(row, start + 1..start + 2)
            .kernel(row, &format!("{name}_kernel"), at..at + 10)
    };
    let mut table = launch(Timetable::new(), "norm", 0);
    let end = 12 + 5 * inside.len() as u32;
    table = table.op("sdpa", 10..end);
    for (start, name) in (11..).step_by(5).zip(inside) {
        table = launch(table, name, start);
    }
    launch(table, "mm", end + 5)
}

#[test]
fn a_fused_kernel_stands_beside_the_four_it_replaces() {
    let mut trees = Trees::of(
        &layer(&["bmm", "mul", "softmax", "bmm"]),
        &layer(&["flash"]),
    );
    let change = trees.show(false);
    assert_eq!(change.summary, "1 difference");
    // It is open down to the difference.
    assert_eq!(
        trees.text(),
        "\
- All threads 60.0 µs | 30.0 µs | −30.0 µs
  - Thread 60.0 µs | 30.0 µs | −30.0 µs
    norm 10.0 µs | 10.0 µs | 0 µs
    - sdpa 40.0 µs | 10.0 µs | −30.0 µs
      bmm [only in the reference] 10.0 µs |  | −10.0 µs
      mul [only in the reference] 10.0 µs |  | −10.0 µs
      softmax [only in the reference] 10.0 µs |  | −10.0 µs
      bmm [only in the reference] 10.0 µs |  | −10.0 µs
      flash [only in the target]  | 10.0 µs | +10.0 µs
    mm 10.0 µs | 10.0 µs | 0 µs
"
    );
    let rows = trees.rows();
    // The bar is a third of the largest difference, to the left and to the right.
    let percents = rows.iter().map(|row| format!("{:.0}", row.percent));
    let percents: Vec<String> = percents.collect();
    let bars = "-100 -100 0 -100 -33 -33 -33 -33 33 0";
    assert_eq!(percents.join(" "), bars);
    let flash = rows.iter().find(|row| row.name == "flash").unwrap();
    assert_eq!(flash.kernels, ["", "flash_kernel"]);
    assert_eq!((flash.branch.position, flash.branch.siblings), (5, 5));
    assert_eq!(flash.only, "target");

    trees.show(true);
    let names: Vec<String> = trees.rows().into_iter().map(|row| row.name).collect();
    let differing = "All threads, Thread, sdpa, bmm, mul, softmax, bmm, flash";
    assert_eq!(names.join(", "), differing);
}

#[test]
fn a_wrapper_of_one_side_is_called_so_and_is_no_difference_in_work() {
    let plain = layer(&["flash"]);
    let wrapped = Timetable::new()
        .op("compiled", 0..100)
        .op("norm", 1..5)
        .launched("norm_kernel", 2..3, 1010..1020)
        .op("sdpa", 10..20)
        .op("flash", 11..15)
        .launched("flash_kernel", 12..13, 1020..1030)
        .op("mm", 30..34)
        .launched("mm_kernel", 31..32, 1030..1040);
    let mut trees = Trees::of(&plain, &wrapped);
    let change = trees.show(true);
    assert!(
        change
            .summary
            .starts_with("The traces differ only in wrapper calls"),
        "{}",
        change.summary
    );
    trees.step(TreeStep::Toggle(1));
    let rows = trees.rows();
    let wrapper = rows.last().unwrap();
    assert_eq!(wrapper.mark, "wrapper only in the target");
    // The GPU activity inside it is that of both traces.
    assert_eq!(wrapper.times, ["30.0 µs", "30.0 µs"]);
    assert_eq!(wrapper.branch.open, None, "what is in it does not differ");
}

#[test]
fn a_trace_against_itself_has_no_difference() {
    let trace = layer(&["flash"]);
    let mut trees = Trees::of(&trace, &trace);
    let change = trees.show(false);
    assert!(change.summary.starts_with("No difference: "));
    assert_eq!(change.of, 0);
    assert!(trees.rows().iter().all(|row| row.mark.is_empty()
        && row.difference == "0 µs"
        && row.percent.abs() < f64::EPSILON));
    assert_eq!(trees.step(TreeStep::Difference(1)).target, None);
    assert_eq!(trees.show(true).total, 0);
}

#[test]
fn differences_are_gone_through_from_the_largest_and_around() {
    let trace = |copies: i32, kernel: &str| {
        let table = (1..=copies).fold(Timetable::new(), |table, id| {
            let start = 10 * id;
            let table = table.launch(id as u32, start..start + 5);
            table.kernel(id as u32, "copy", 1000 + start..1004 + start)
        });
        let table = table.op("mm", 900..910).launch(50, 901..902);
        let table = table.kernel(50, kernel, 2000..2002);
        // Its launch was not recorded.
        table.kernel(99, "stray", 3000..3000 + 20 * copies)
    };
    let mut trees = Trees::of(&trace(2, "nvjet"), &trace(3, "Cijk"));
    let outside = "1 Launched outside of operators [different kernels] copy × 2 | copy × 3";
    let gemm = "2 mm [different kernels] nvjet | Cijk";
    // The stray kernel is the same one in both traces, with different durations.
    for (number, expected) in (1..).zip([outside, gemm, outside, gemm]) {
        let change = trees.step(TreeStep::Difference(number));
        assert_eq!(change.of, 2);
        assert_eq!(change.summary, "2 differences, the largest first");
        let row = trees.led_to(&change);
        let (at, kernels) = (change.position, row.kernels.join(" | "));
        let line = format!("{at} {} [{}] {kernels}", row.name, row.mark);
        assert_eq!(line, expected);
    }
    trees.step(TreeStep::CloseAll);
    assert_eq!(
        trees.text(),
        "\
- All threads 50.0 µs | 74.0 µs | +24.0 µs
  + Thread 10.0 µs | 14.0 µs | +4.00 µs
  GPU activity without a known call 40.0 µs | 60.0 µs | +20.0 µs
"
    );
}

#[test]
fn a_search_opens_the_way_and_windows_are_parts_of_the_list() {
    let mut trees = Trees::of(&layer(&["bmm", "mul"]), &layer(&["flash"]));
    trees.step(TreeStep::CloseAll);
    let find = |from, direction| {
        TreeStep::Find(FindInTree {
            text: "M".to_owned(),
            from,
            direction,
        })
    };
    // norm, bmm, mul and mm.
    let change = trees.step(find(None, Direction::Next));
    assert_eq!((change.position, change.of), (1, 4));
    assert_eq!(trees.led_to(&change).name, "norm");
    let from = change.target.map(|target| target.node);
    let change = trees.step(find(from, Direction::Next));
    let bmm = trees.led_to(&change);
    assert_eq!(bmm.name, "bmm");
    let parent = trees.step(TreeStep::Parent(bmm.node));
    assert_eq!(trees.led_to(&parent).name, "sdpa");

    let all = trees.rows();
    let page = trees.window(2, 3);
    assert_eq!((page.total, page.offset), (all.len(), 2));
    assert_eq!(page.rows, all[2..5]);
    // The node numbers of other traces are rejected.
    for unknown in [4_711, u32::MAX] {
        assert_eq!(trees.step(TreeStep::Reveal(unknown)).target, None);
        assert_eq!(trees.step(TreeStep::Toggle(unknown)).target, None);
    }
}

#[test]
fn equal_calls_of_other_times_are_open_down_to_the_largest_change() {
    let trace = |us: u32| {
        Timetable::new()
            .work("fast", "fast_kernel", 100..105)
            .op("block", 20..40)
            .op("slow", 21..30)
            .launched("slow_kernel", 22..23, 200..200 + us)
    };
    let mut trees = Trees::of(&trace(30), &trace(50));
    let text = trees.text();
    assert!(
        text.ends_with("      slow 30.0 µs | 50.0 µs | +20.0 µs\n"),
        "{text}"
    );
    let summary = trees.show(false).summary;
    assert!(summary.starts_with("The same calls"), "{summary}");
}
