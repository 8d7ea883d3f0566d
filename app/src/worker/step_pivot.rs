//! A table's rows grouped by step, with the share of their calls in each step.
//!
//! A row spans many steps, so its calls are summed, not the row: each counts in the step that launched its GPU
//! activity, or outside of all steps. Together they add up to the table's totals.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use dormer_core::profile::Profile;
use dormer_core::profile::launch::GpuId;
use dormer_core::profile::window::WorkSteps;
use dormer_core::report::details::{DetailsSubject, KernelKey};
use dormer_core::report::sheet::{Cell, Unit};
use dormer_core::report::sheets::ops_summary::OperatorRows;
use dormer_core::trace::Category;

use super::cells::text;
use super::rows::order;
use super::table::Table;
use super::window::Steps;
use crate::protocol::{GroupsQuery, RowGroup, SHARE, TIME, Total};

/// The name of the group of calls outside of every step.
const OUTSIDE: &str = "Outside of steps";

/// A call of a row, or a run of a kernel.
struct Piece {
    /// Its first GPU activity.
    work: GpuId,
    gpu_ns: i64,
}

/// The part of some rows in a step.
#[derive(Default)]
struct InStep {
    rows: BTreeSet<usize>,
    n: u64,
    gpu_ns: i64,
}

/// Steps by position; unlisted steps form one group, and what is outside of all steps comes last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Step(usize),
    Later,
    Outside,
}

/// The steps in which the matching rows have calls, in chronological order.
pub(super) fn groups_by_step(table: &Table, steps: &Steps, query: &GroupsQuery) -> Vec<RowGroup> {
    let Some(profile) = table.profile() else {
        return Vec::new();
    };
    let of_work = WorkSteps::new(profile, steps.all());
    let n_listed = steps.windows().len();
    let place = |work: GpuId| match of_work.of(work) {
        Some(at) if at < n_listed => Place::Step(at),
        Some(_) => Place::Later,
        None => Place::Outside,
    };
    let mut runs = None;
    let mut found: BTreeMap<Place, InStep> = BTreeMap::new();
    for row in order(table, &query.find, &query.only, None) {
        for piece in pieces(table, profile, row, &mut runs) {
            let of_step = found.entry(place(piece.work)).or_default();
            of_step.rows.insert(row);
            of_step.n += 1;
            of_step.gpu_ns = of_step.gpu_ns.saturating_add(piece.gpu_ns);
        }
    }
    let names = names(steps);
    let group = |(place, of_step): (Place, InStep)| {
        let (name, window) = match place {
            Place::Step(at) => {
                let step = steps.windows().get(at);
                let window = step.map(|step| steps.edges(step.window.span));
                (names.get(at).cloned().unwrap_or_default(), window)
            }
            Place::Later => (format!("{} later steps", steps.n_more()), None),
            Place::Outside => (OUTSIDE.to_owned(), None),
        };
        let totals = query.columns.iter();
        RowGroup {
            name,
            token: String::new(),
            find: String::new(),
            window,
            n_rows: of_step.rows.len(),
            totals: totals
                .filter_map(|label| total(table, label, &of_step))
                .collect(),
        }
    };
    found.into_iter().map(group).collect()
}

/// The names of the listed steps; steps with the same name are numbered.
fn names(steps: &Steps) -> Vec<String> {
    let names: Vec<String> = steps.lines().into_iter().map(|line| line.name).collect();
    let mut all: HashMap<&str, usize> = HashMap::new();
    for name in &names {
        *all.entry(name).or_default() += 1;
    }
    let mut before: HashMap<&str, usize> = HashMap::new();
    let mut numbered = Vec::with_capacity(names.len());
    for name in &names {
        let nth = before.entry(name).or_default();
        *nth += 1;
        numbered.push(match all.get(name.as_str()) {
            Some(n) if *n > 1 => format!("{name} ({nth} of {n})"),
            _ => name.clone(),
        });
    }
    numbered
}

/// Runs of kernels, by the row of their sheet.
type Runs = HashMap<KernelKey, Vec<(GpuId, i64)>>;

/// The calls of a row, or the runs of its kernel.
fn pieces(table: &Table, profile: &Profile, row: usize, runs: &mut Option<Runs>) -> Vec<Piece> {
    let piece = |work: Option<&GpuId>, gpu_ns| {
        work.map(|work| Piece {
            work: *work,
            gpu_ns,
        })
    };
    match table.subject(row) {
        Some(DetailsSubject::Operation(_)) => {
            let calls = table.operations(row).into_iter();
            let calls = calls.flat_map(|operation| &operation.calls);
            calls
                .filter_map(|call| piece(call.work.first(), call.kernel_ns))
                .collect()
        }
        Some(DetailsSubject::Operator(at)) => {
            let rows = OperatorRows::of(profile);
            let calls = rows.0.get(at).into_iter().flat_map(|row| &row.calls);
            let calls = calls.filter_map(|call| profile.ops.get(*call));
            calls
                .filter_map(|op| piece(profile.ops.kernels(op).first(), op.direct_ns))
                .collect()
        }
        Some(DetailsSubject::Kernel(key)) => {
            let all = runs.get_or_insert_with(|| kernel_runs(profile));
            let of_row = all.get(&key).into_iter().flatten();
            of_row
                .map(|(work, gpu_ns)| Piece {
                    work: *work,
                    gpu_ns: *gpu_ns,
                })
                .collect()
        }
        _ => Vec::new(),
    }
}

fn kernel_runs(profile: &Profile) -> Runs {
    let mut runs = Runs::new();
    for (id, work) in profile.gpu.iter() {
        if work.category == Category::Kernel
            && let Some(key) = KernelKey::of(profile, id)
        {
            let ns = profile.trace.events.dur_ns(work.event);
            runs.entry(key).or_default().push((id, ns.unwrap_or(0)));
        }
    }
    runs
}

/// The total of a column in a step; `None` for a column that is not summed by call.
fn total(table: &Table, label: &str, of_step: &InStep) -> Option<Total> {
    let column = table.column(label)?;
    let ns = of_step.gpu_ns as f64;
    let cell = match label {
        TIME | "Kernel duration (µs)_sum" | "total_direct_kernel_time_ms" => match column.unit {
            Unit::Ms => Cell::Float(ns / 1e6),
            _ => Cell::Float(ns / 1e3),
        },
        "operation_count" | "Count" | "Kernel duration (µs)_count" => Cell::Int(of_step.n as i64),
        SHARE => Cell::Float(ns / table.busy_ns()? as f64 * 100.0),
        _ => return None,
    };
    Some(Total {
        column: label.to_owned(),
        text: text(&column, &cell),
    })
}

#[cfg(test)]
mod tests {
    use dormer_core::testing::Timetable;

    use super::*;
    use crate::protocol::{Choice, STEP};
    use crate::worker::{Analysis, Traces};

    /// Two steps with a GEMM and an addition each, the second twice as long, preceded by a copy.
    fn trace() -> Timetable {
        Timetable::new()
            .op("aten::copy_", 0..8)
            .launched("copy_kernel", 2..4, 5..15)
            .annotation("ProfilerStep#1", 1000..1100)
            .op("aten::mm", 1002..1012)
            .launched("gemm", 1004..1006, 1030..1070)
            .op("aten::add", 1022..1032)
            .launched("add", 1024..1026, 1070..1080)
            .annotation("ProfilerStep#2", 1100..1200)
            .op("aten::mm", 1102..1112)
            .launched("gemm", 1104..1106, 1130..1210)
            .op("aten::add", 1122..1132)
            .launched("add", 1124..1126, 1210..1230)
    }

    /// For each group its name, its rows, and its columns.
    fn grouped(trace: Timetable, sheet: &str, columns: &[&str], find: &str) -> Vec<String> {
        let mut traces = Traces::new(Analysis::new(trace.profile(), &Choice::default()));
        let groups = traces.groups(&GroupsQuery {
            sheet: sheet.to_owned(),
            by: STEP.to_owned(),
            find: find.to_owned(),
            only: Vec::new(),
            columns: columns.iter().map(|label| (*label).to_owned()).collect(),
        });
        let line = |group: RowGroup| {
            let totals = group.totals.into_iter().map(|total| total.text);
            let totals: Vec<String> = totals.collect();
            format!("{}: {}: {}", group.name, group.n_rows, totals.join(", "))
        };
        groups.into_iter().map(line).collect()
    }

    /// 160 µs in all tables, 10 µs of them outside of steps.
    #[test]
    fn what_tables_have_is_split_by_step() {
        for (sheet, time, count) in [
            ("unified_perf_summary", TIME, "operation_count"),
            ("ops_summary", "total_direct_kernel_time_ms", "Count"),
            (
                "kernel_summary",
                "Kernel duration (µs)_sum",
                "Kernel duration (µs)_count",
            ),
        ] {
            assert_eq!(
                grouped(trace(), sheet, &[time, count, SHARE], ""),
                [
                    "ProfilerStep#1: 2: 50.0 µs, 2, 31.2 %",
                    "ProfilerStep#2: 2: 100 µs, 2, 62.5 %",
                    "Outside of steps: 1: 10.0 µs, 1, 6.2 %",
                ],
                "{sheet}"
            );
            assert_eq!(
                grouped(trace(), sheet, &[time], "add"),
                ["ProfilerStep#1: 1: 10.0 µs", "ProfilerStep#2: 1: 20.0 µs"],
                "{sheet}"
            );
        }
    }

    #[test]
    fn without_steps_all_is_outside_of_them() {
        let trace = Timetable::new().work("aten::mm", "gemm", 100..130);
        assert_eq!(
            grouped(trace, "kernel_summary", &["Kernel duration (µs)_sum"], ""),
            ["Outside of steps: 1: 30.0 µs"]
        );
    }

    #[test]
    fn steps_of_one_name_are_numbered() {
        let trace = (0..2_u32).fold(Timetable::new(), |all, at| {
            let start = 1000 * at;
            all.annotation("forward", start..start + 100)
                .op("aten::mm", start + 2..start + 12)
                .launched("gemm", start + 4..start + 6, start + 20..start + 40)
        });
        assert_eq!(
            grouped(trace, "unified_perf_summary", &[TIME], ""),
            [
                "forward (1 of 2): 1: 20.0 µs",
                "forward (2 of 2): 1: 20.0 µs"
            ]
        );
    }
}
