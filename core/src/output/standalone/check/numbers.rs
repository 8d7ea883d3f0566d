//! Checks of what is counted and measured.

use super::read::{is_close, numbers, parts};
use super::structure::{detail, first_table, pairs, short};
use super::{Verdict, Written};
use crate::base::format;
use crate::base::interval::sum;
use crate::findings::{Estimate, Outcome, RankedFinding, Row, Tier};
use crate::output::document::{Block, plain};
use crate::output::standalone::bottlenecks;
use crate::output::standalone::detail::MAX_ROWS;
use crate::profile::kernels::GpuEvents;

/// Categories may sum up to this much more or less than what is computed, in percent: an operation
/// belongs to one category also where it copies beside computing.
const SUM_TOLERANCE_PERCENT: f64 = 10.0;

/// Shares may be off by this many points.
const SHARE_TOLERANCE: f64 = 1.0;

/// The durations of all GPU work that counts, and the time of all that computes. Work that overlaps
/// on several streams counts each time, as it does in categories and findings, but for that of one
/// call: these sums, and not the time in which anything computes, are what they can be held against.
fn durations(written: &Written) -> (i64, i64) {
    let profile = written.source.profile;
    let events = profile.gpu_events(written.source.report.options.gpu_events);
    let work = profile.gpu.iter().map(|(_, work)| work);
    let counted = work.filter(|work| events == GpuEvents::All || work.launched_by.is_some());
    let computing = bottlenecks::longest(profile, events).into_iter();
    (
        sum(counted.map(|work| work.span.length())),
        sum(computing.map(|one| one.ns)),
    )
}

fn computing<'a>(written: &'a Written) -> impl Iterator<Item = &'a Outcome> {
    let outcomes = written.source.report.analyses.outcomes.iter();
    outcomes.filter(|outcome| outcome.kind.tier == Tier::Compute)
}

/// V7.
pub(super) fn sums(written: &Written) -> Verdict {
    let (all_ns, computing_ns) = durations(written);
    let report = written.source.report;
    if all_ns == 0 {
        return Verdict::NotApplicable("no GPU work was recorded".to_owned());
    }
    let mut defects = Vec::new();
    let categories_ns = sum(computing(written).map(|outcome| outcome.time_ns));
    let off = (categories_ns as f64 - computing_ns as f64).abs();
    if off > computing_ns as f64 * SUM_TOLERANCE_PERCENT / 100.0 {
        defects.push(format!(
            "categories take {}, all that computes {}",
            format::time_ns(categories_ns),
            format::time_ns(computing_ns)
        ));
    }
    let total_ns = report.overview.total_ns.unwrap_or(0);
    for one in &report.analyses.findings.ranked {
        // What waits or copies is no computation, but part of the run.
        let most_ns = match one.analysis.tier {
            Tier::Compute => computing_ns.max(all_ns.min(categories_ns)),
            Tier::Fusion => all_ns,
            Tier::System => all_ns.max(total_ns),
        };
        if one.finding.time_ns > most_ns {
            defects.push(format!(
                "P{} is about {} of {}",
                one.number,
                format::time_ns(one.finding.time_ns),
                format::time_ns(most_ns)
            ));
        }
    }
    Verdict::of(defects)
}

/// V8.
pub(super) fn shares(written: &Written) -> Verdict {
    let Some(whole) = &written.source.report.timelines.whole else {
        return Verdict::NotApplicable("no GPU work was recorded".to_owned());
    };
    let mut defects = Vec::new();
    let total_ns = whole.total_ns();
    let mut check = |label: &str, shown: &str, ns: i64| {
        let Some(number) = numbers(shown).into_iter().next() else {
            defects.push(format!("{label}: “{shown}” is no number"));
            return;
        };
        let is_right = match (number.ms(), number.percent()) {
            (Some(ms), _) => is_close(ms, ns as f64 / 1e6),
            (_, Some(percent)) => {
                let exact = ns as f64 / total_ns.max(1) as f64 * 100.0;
                (percent - exact).abs() <= SHARE_TOLERANCE
            }
            _ => false,
        };
        if !is_right {
            defects.push(format!("{label} is not “{shown}”"));
        }
    };
    for (label, shown) in first_table(&written.fair, "Executive Summary") {
        let ns = match label.as_str() {
            "Total Compute Time" | "GPU Utilization" => whole.computation_ns,
            "Exposed Communication" => whole.exposed_comm_ns,
            "Exposed Memory Copies" => whole.exposed_memcpy_ns,
            "Idle Time" => whole.idle_ns,
            "Total Time" => total_ns,
            _ => continue,
        };
        check(&label, &shown, ns);
    }
    let details = written
        .fair
        .section("Detailed Analysis")
        .unwrap_or_default();
    let time = parts(details, 3).into_iter().next();
    let table = time.and_then(|part| {
        part.blocks.iter().find_map(|block| match block {
            Block::Table(table) => Some(table),
            _ => None,
        })
    });
    for row in table.map_or(&[][..], |table| &table.rows) {
        let cells: Vec<String> = row.iter().map(|cell| plain(cell)).collect();
        let Some((label, shown)) = cells.split_first() else {
            continue;
        };
        let ns = match label.as_str() {
            "Computation" => whole.computation_ns,
            "Exposed communication" => whole.exposed_comm_ns,
            "Exposed copies" => whole.exposed_memcpy_ns,
            "Idle" => whole.idle_ns,
            "Total" => total_ns,
            _ => continue,
        };
        for shown in shown {
            check(label, shown, ns);
        }
    }
    Verdict::of(defects)
}

/// V9.
pub(super) fn order(written: &Written) -> Verdict {
    let mut defects = Vec::new();
    let profile = written.source.profile;
    let operations = profile.operations();
    let ranked = &written.source.report.analyses.findings.ranked;
    for (at, one) in ranked.iter().enumerate() {
        if one.number != at + 1 {
            defects.push(format!("P{} stands at {}", one.number, at + 1));
        }
        if one
            .overlaps
            .iter()
            .any(|other| *other == 0 || *other >= one.number)
        {
            defects.push(format!("P{} overlaps with what follows it", one.number));
        }
    }
    for pair in ranked.windows(2) {
        if let [first, second] = pair {
            let mid = |one: &RankedFinding| one.finding.impact.map_or(-1, |impact| impact.mid_ns);
            if mid(first) < mid(second) {
                defects.push(format!(
                    "P{} saves more than P{}",
                    second.number, first.number
                ));
            }
        }
    }
    for outcome in computing(written) {
        let key = outcome.kind.key;
        // What an analysis shows of others' counts there.
        let own: Vec<&Row> = outcome
            .rows
            .iter()
            .filter(|row| {
                let operation = operations.get(row.operation);
                operation.is_some_and(|operation| (outcome.kind.covers)(profile, operation))
            })
            .collect();
        if sum(own.iter().map(|row| row.time_ns)) != outcome.time_ns {
            defects.push(format!("the rows of {key} do not sum up to its time"));
        }
        if !own.is_sorted_by_key(|row| std::cmp::Reverse(row.time_ns)) {
            defects.push(format!("the rows of {key} are not sorted"));
        }
    }
    Verdict::of(defects)
}

/// V10.
pub(super) fn savings(written: &Written) -> Verdict {
    let mut defects = Vec::new();
    let report = written.source.report;
    let total_ns = report.overview.total_ns.unwrap_or(0);
    for one in &report.analyses.findings.ranked {
        let (number, finding) = (one.number, &one.finding);
        if let Some(impact) = &finding.impact {
            let range = [0, impact.low_ns, impact.mid_ns, impact.high_ns];
            if !range.is_sorted() {
                defects.push(format!("the range of P{number} is out of order"));
            }
            if impact.high_ns > finding.time_ns {
                defects.push(format!(
                    "P{number} saves {} of {}",
                    format::time_ns(impact.high_ns),
                    format::time_ns(finding.time_ns)
                ));
            }
            if impact.high_ns > total_ns {
                defects.push(format!("P{number} saves more than the run"));
            }
        }
        for &(operation, saved_ns) in &finding.savings {
            let judged = report.judged.get(operation);
            let time_ns = judged.map(|judged| judged.run_ns);
            if saved_ns < 0 || time_ns.is_none_or(|time_ns| saved_ns > time_ns) {
                defects.push(format!(
                    "P{number} saves {} of an operation of {}",
                    format::time_ns(saved_ns),
                    format::time_ns(time_ns.unwrap_or(0))
                ));
            }
        }
    }
    if let Some(together) = &report.analyses.findings.together {
        let range = [
            0,
            together.low_ns,
            together.mid_ns,
            together.high_ns,
            total_ns,
        ];
        if !range.is_sorted() {
            defects.push("all together is out of order, or more than the run".to_owned());
        }
    }
    Verdict::of(defects)
}

/// V11.
pub(super) fn anomalies(written: &Written) -> Verdict {
    let mut defects = Vec::new();
    let most = written.source.report.options.thresholds.anomaly_percent;
    let (mut anomalous, mut n_shown) = (Vec::new(), 0_usize);
    for outcome in computing(written) {
        for (at, row) in outcome.rows.iter().enumerate() {
            let is_above = row.efficiency_percent.is_some_and(|percent| percent > most);
            if is_above && !row.is_anomaly {
                defects.push(format!(
                    "row {} of {} is not marked",
                    at + 1,
                    outcome.kind.key
                ));
            }
            if is_above {
                anomalous.push(row.operation);
                n_shown += usize::from(at < MAX_ROWS);
            }
        }
    }
    for one in &written.source.report.analyses.findings.ranked {
        let finding = &one.finding;
        let is_ranked = |operation: &usize| anomalous.contains(operation);
        let is_above = finding
            .efficiency_percent
            .is_some_and(|percent| percent > most);
        // What is saved of a row by other means than a kernel nearer its roof needs no roof.
        let estimate = finding.impact.map(|impact| impact.estimate);
        let has_anomaly =
            estimate == Some(Estimate::Roofline) && finding.operations.iter().any(is_ranked);
        if one.analysis.tier == Tier::Compute && (is_above || has_anomaly) {
            defects.push(format!("P{} is faster than its roof", one.number));
        }
    }
    let details = written
        .fair
        .section("Detailed Analysis")
        .unwrap_or_default();
    let n_marked = details
        .iter()
        .filter_map(|block| match block {
            Block::Table(table) => Some(&table.rows),
            _ => None,
        })
        .flatten()
        .flatten()
        .filter(|cell| plain(cell).ends_with("[ANOMALY]"))
        .count();
    if n_marked != n_shown {
        defects.push(format!("{n_marked} rows are marked, not {n_shown}"));
    }
    Verdict::of(defects)
}

/// V13.
pub(super) fn derived(written: &Written) -> Verdict {
    let mut defects = Vec::new();
    for (card, one) in pairs(written) {
        let detail = detail(&written.fair, one)
            .map(|detail| detail.text())
            .unwrap_or_default();
        let known: Vec<String> = numbers(&detail)
            .into_iter()
            .map(|number| number.digits)
            .collect();
        for name in ["Issue", "Action", "Impact"] {
            let text = card.field(name).unwrap_or_default();
            let strange = numbers(&text)
                .into_iter()
                .find(|number| !known.contains(&number.digits));
            if let Some(number) = strange {
                defects.push(format!(
                    "{} of P{} (“{}”) is not in its details",
                    number.digits,
                    one.number,
                    short(&text)
                ));
            }
        }
    }
    Verdict::of(defects)
}
