//! The tables of real traces compared with their sheets, and dependencies of the core and the page.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use dormer_core::report::sheet::{Cell, Sheet};
use dormer_core::tables::{
    Analyzed, COLLECTIVES, FINDINGS, KERNELS, OPS, RUNS, RecordingInfo, STEPS, Source, Tables,
};

use crate::support::opened::Opened;
use crate::support::{shared, source};

fn tables(opened: &Opened) -> Tables {
    let Opened {
        name,
        profile,
        report,
    } = opened;
    Tables::of_trace(
        &Source::default(),
        Analyzed {
            recorded: &RecordingInfo::new(&profile.trace, name, false),
            profile,
            report,
            findings: (profile, report),
        },
    )
}

/// The numbers of a column of a sheet, multiplied by a factor, as integers.
fn column(sheet: Option<&Sheet>, label: &str, times: f64) -> Vec<i64> {
    let Some(sheet) = sheet else {
        return Vec::new();
    };
    let at = sheet.column(label).unwrap();
    let numbers = sheet.rows.iter().map(|row| match row[at] {
        Cell::Float(number) => (number * times).round() as i64,
        Cell::Int(number) => (number as f64 * times).round() as i64,
        _ => 0,
    });
    numbers.collect()
}

fn total(values: &[Option<i64>]) -> i64 {
    values.iter().flatten().sum()
}

#[test]
fn tables_of_real_traces_equal_their_sheets() {
    for (name, trace) in shared::with_sample() {
        let opened = Opened::new(&name, &trace);
        let tables = tables(&opened);
        let (profile, report) = (&opened.profile, &opened.report);
        let table = |name: &str| tables.table(name).unwrap();
        let sheet = |name: &str| report.sheet(profile, name);
        let sum = |sheet, label, times| column(sheet, label, times).iter().sum::<i64>();

        let ops = table(OPS);
        let unified = sheet("unified_perf_summary");
        let expected = sum(unified, "Kernel Time (µs)_sum", 1e3);
        assert_eq!(total(ops.i64s("kernel_ns")), expected, "{name}");
        let expected = sum(unified, "operation_count", 1.0);
        assert_eq!(total(ops.i64s("calls")), expected, "{name}");
        let kernels = table(KERNELS);
        let summary = sheet("kernel_summary");
        let expected = sum(summary, "Kernel duration (µs)_sum", 1e3);
        assert_eq!(total(kernels.i64s("total_ns")), expected, "{name}");
        let expected = sum(summary, "Kernel duration (µs)_count", 1.0);
        assert_eq!(total(kernels.i64s("calls")), expected, "{name}");

        let runs = table(RUNS);
        assert_eq!(runs.len(), 1, "{name}");
        if let Some(timeline) = sheet("gpu_timeline").filter(|_| profile.recompute.is_none()) {
            let times = column(Some(timeline), "time ms", 1e6);
            let of = |part: &str| {
                let at = timeline.rows.iter();
                let mut at = at.map(|row| row[0] == Cell::Text(part.to_owned()));
                times[at.position(|is_it| is_it).unwrap()]
            };
            for (column, part) in [
                ("total_ns", "total_time"),
                ("busy_ns", "busy_time"),
                ("compute_ns", "computation_time"),
                ("exposed_comm_ns", "exposed_comm_time"),
                ("exposed_copy_ns", "exposed_memcpy_time"),
                ("idle_ns", "idle_time"),
            ] {
                assert_eq!(runs.i64s(column), [Some(of(part))], "{name}: {column}");
            }
        }
        let found = report.analyses.findings.ranked.len();
        assert_eq!(table(FINDINGS).len(), found, "{name}");

        let keys: BTreeSet<Option<u64>> = ops.u64s("op_key").iter().copied().collect();
        assert_eq!(keys.len(), ops.len(), "{name}");
        let named = table(FINDINGS).lists("op_keys").iter().flatten().flatten();
        for key in named {
            assert!(keys.contains(&Some(*key)), "{name}: {key}");
        }
        let keys: BTreeSet<Option<u64>> = kernels.u64s("kernel_key").iter().copied().collect();
        assert_eq!(keys.len(), kernels.len(), "{name}");
        let steps = table(STEPS);
        for at in 0..steps.len() {
            let parts = [
                "compute_ns",
                "exposed_comm_ns",
                "exposed_copy_ns",
                "idle_ns",
            ];
            let parts = parts.map(|part| steps.i64s(part)[at]);
            if parts.iter().all(Option::is_some) {
                let sum = total(&parts);
                assert_eq!(
                    steps.i64s("duration_ns")[at],
                    Some(sum),
                    "{name}: step {at}"
                );
            }
        }
        let collectives = table(COLLECTIVES);
        let exposed = collectives.i64s("exposed_ns").iter();
        for (exposed, all) in exposed.zip(collectives.i64s("total_ns")) {
            assert!(exposed <= all, "{name}");
        }
    }
}

/// The dependencies of each package in the lock file.
fn needs() -> BTreeMap<String, Vec<String>> {
    let lock = fs::read_to_string(source::path("Cargo.lock")).unwrap();
    let packages = lock.split("[[package]]").skip(1);
    let needs = packages.map(|package| {
        let quoted: Vec<&str> = package.split('"').skip(1).step_by(2).collect();
        let list = package.split_once("dependencies = [");
        let list = list.map_or("", |(_, rest)| rest);
        let list = list.split('"').skip(1).step_by(2);
        let names = list.filter_map(|entry| entry.split(' ').next());
        (quoted[0].to_owned(), names.map(str::to_owned).collect())
    });
    needs.collect()
}

#[test]
fn the_core_and_the_page_link_no_arrow() {
    let needs = needs();
    let reached = |start: &str| {
        let (mut seen, mut to_visit) = (BTreeSet::new(), vec![start.to_owned()]);
        while let Some(name) = to_visit.pop() {
            let next = needs.get(&name).into_iter().flatten();
            to_visit.extend(next.filter(|next| !seen.contains(*next)).cloned());
            seen.insert(name);
        }
        seen
    };
    let heavy = |name: &&String| name.starts_with("arrow") || *name == "parquet";
    assert!(reached("dormer").iter().any(|name| heavy(&name)));
    for package in ["dormer-core", "dormer-app"] {
        let reached = reached(package);
        let found: Vec<&String> = reached.iter().filter(heavy).collect();
        assert!(found.is_empty(), "{package} links {found:?}");
    }
}
