//! The values that checks compare the documents about one trace with.

use super::details::MAX_ROWS;
use super::summary::rows;
use super::{Input, share};
use crate::base::format;
use crate::base::interval::sum;
use crate::base::map::Set;
use crate::findings::engine::compute::varies;
use crate::findings::{Estimate, Outcome, RankedFinding, Row, Tier};
use crate::output::documents::parts::TIMELINE;
use crate::output::documents::{Names, Shown};
use crate::output::markup::{Block, Document, plain};
use crate::profile::Profile;
use crate::report::overview::{Level, Measure};
use crate::report::top::{longest, top_operations};
use crate::trace::StringId;

/// The sum of categories may differ from the computation time by this percentage: an operation belongs to one category
/// even if it also copies.
const SUM_TOLERANCE_PERCENT: f64 = 10.0;

fn computing<'a>(source: &'a Input) -> impl Iterator<Item = &'a Outcome> {
    let outcomes = source.report.analyses.outcomes.iter();
    outcomes.filter(|outcome| outcome.kind.tier == Tier::Compute)
}

fn ranked<'a>(source: &'a Input) -> &'a [RankedFinding] {
    &source.report.analyses.findings.ranked
}

/// Names of operators and kernels as the trace and the tables write them.
pub(super) fn quotable(profile: &Profile) -> Names {
    let operations = profile.operations().iter();
    let mut ids: Set<StringId> = Set::default();
    ids.extend(operations.map(|operation| operation.key.name));
    ids.extend(profile.ops.groups().iter().map(|group| group.name));
    ids.extend(profile.cpu_ops.iter().map(|op| op.name));
    ids.extend(profile.gpu.iter().map(|(_, work)| work.name));
    let mut known = Names::default();
    for id in ids {
        let name = profile.trace.strings.get(id);
        known.insert(format::kernel_name(name));
        known.insert(name.to_owned());
    }
    known
}

/// Whether data was repaired or lost, an operation is faster than its roofline, the GPU is not the recorded one, or the
/// durations of a long operation vary a lot.
pub(super) fn needs_warnings(source: &Input) -> bool {
    let report = source.report;
    let thresholds = &report.options.thresholds;
    let least = thresholds.medium_percent_of_compute;
    let mut lines = report.overview.quality.lines.iter();
    let mut rows = computing(source).flat_map(|outcome| &outcome.rows);
    lines.any(|line| line.level >= Level::Warn)
        || rows.any(|row| varies(source.profile, row, thresholds, least).is_some())
}

pub(super) fn bottlenecks(source: &Input) -> Option<Vec<(String, i64)>> {
    let top = top_operations(source.profile, source.report).into_iter();
    (source.report.overview.measure == Measure::Gpu)
        .then(|| top.map(|one| (one.name, one.ns)).collect())
}

/// The table of the summary, and that of the timeline among the details.
pub(super) fn shown(source: &Input) -> Vec<Shown> {
    let Some(whole) = &source.report.timelines.whole else {
        return Vec::new();
    };
    let total_ns = whole.total_ns();
    let shown = |section: &str, label, ns, n_cells| Shown {
        section: section.to_owned(),
        label,
        cells: vec![(ns, total_ns); n_cells],
    };
    let summary = rows(source).iter().map(|label| {
        let ns = match *label {
            "Exposed Communication" => whole.exposed_comm_ns,
            "Exposed Memory Copies" => whole.exposed_memcpy_ns,
            "Idle Time" => whole.idle_ns,
            "Total Time" => total_ns,
            _ => whole.computation_ns,
        };
        shown("Executive Summary", label, ns, 1)
    });
    let details = TIMELINE.iter();
    let details = details.map(|(label, read)| shown("1. GPU time", label, read(whole), 2));
    summary.chain(details).collect()
}

/// The durations of all GPU activity, and the time of all computation. Activity that overlaps on several streams counts
/// several times, as in categories and findings, except within one call. So totals are checked against these sums, not
/// against the time in which anything computes.
fn durations(source: &Input) -> (i64, i64) {
    let profile = source.profile;
    let work = profile.gpu.all();
    let computing = longest(profile).into_iter();
    (
        sum(work.map(|work| work.span.length())),
        sum(computing.map(|one| one.ns)),
    )
}

/// Compares categories with the computation time, and findings with the time they are about.
pub(super) fn wrong_sums(source: &Input) -> Option<Vec<String>> {
    let (all_ns, computing_ns) = durations(source);
    if all_ns == 0 {
        return None;
    }
    let mut defects = Vec::new();
    let categories_ns = sum(computing(source).map(|outcome| outcome.time_ns));
    let off = (categories_ns as f64 - computing_ns as f64).abs();
    if off > computing_ns as f64 * SUM_TOLERANCE_PERCENT / 100.0 {
        let [sum, all] = [categories_ns, computing_ns].map(format::time_ns);
        defects.push(format!("categories take {sum}, all that computes {all}"));
    }
    let total_ns = source.report.run_ns().unwrap_or(0);
    for one in ranked(source) {
        // Waiting and copying are not computation, but part of the run.
        let most_ns = match one.analysis.tier {
            Tier::Compute => computing_ns.max(all_ns.min(categories_ns)),
            Tier::Fusion => all_ns,
            Tier::System => all_ns.max(total_ns),
        };
        if one.finding.time_ns > most_ns {
            let [time, most] = [one.finding.time_ns, most_ns].map(format::time_ns);
            defects.push(format!("P{} is about {time} of {most}", one.number));
        }
    }
    Some(defects)
}

/// Findings by savings; rows by time, and adding up to their category.
pub(super) fn wrong_order(source: &Input) -> Vec<String> {
    let mut defects = Vec::new();
    let operations = source.profile.operations();
    for one in ranked(source) {
        let mut overlaps = one.overlaps.iter();
        if overlaps.any(|other| *other == 0 || *other >= one.number) {
            defects.push(format!("P{} overlaps with what follows it", one.number));
        }
    }
    let mid = |one: &RankedFinding| one.finding.impact.map_or(-1, |impact| impact.mid_ns);
    if !ranked(source).is_sorted_by_key(|one| std::cmp::Reverse(mid(one))) {
        defects.push("a finding saves more than one before it".to_owned());
    }
    for outcome in computing(source) {
        let key = outcome.kind.key;
        // An operation of another category that an analysis shows counts in that category.
        let is_own = |row: &&Row| {
            let operation = operations.get(row.operation);
            operation.is_some_and(|operation| (outcome.kind.covers)(source.profile, operation))
        };
        let own: Vec<&Row> = outcome.rows.iter().filter(is_own).collect();
        if sum(own.iter().map(|row| row.time_ns)) != outcome.time_ns {
            defects.push(format!("the rows of {key} do not sum up to its time"));
        }
        if !own.is_sorted_by_key(|row| std::cmp::Reverse(row.time_ns)) {
            defects.push(format!("the rows of {key} are not sorted"));
        }
    }
    defects
}

pub(super) fn wrong_savings(source: &Input) -> Vec<String> {
    let mut defects = Vec::new();
    let report = source.report;
    let total_ns = report.run_ns().unwrap_or(0);
    for one in ranked(source) {
        let (number, finding) = (one.number, &one.finding);
        if let Some(impact) = &finding.impact {
            let range = [0, impact.low_ns, impact.mid_ns, impact.high_ns];
            if !range.is_sorted() {
                defects.push(format!("the range of P{number} is out of order"));
            }
            if impact.high_ns > finding.time_ns.min(total_ns) {
                let high = format::time_ns(impact.high_ns);
                let share = share(finding.time_ns, Some(total_ns));
                defects.push(format!("P{number} saves {high} of {share}"));
            }
        }
        for &(operation, saved_ns) in &finding.savings {
            let evaluation = report.evaluations.get(operation);
            let time_ns = evaluation.map_or(-1, |evaluation| evaluation.run_ns);
            if !(0..=time_ns).contains(&saved_ns) {
                let [saved, time] = [saved_ns, time_ns].map(format::time_ns);
                defects.push(format!("P{number} saves {saved} of an operation of {time}"));
            }
        }
    }
    if let Some(all) = &report.analyses.findings.together
        && ![0, all.low_ns, all.mid_ns, all.high_ns, total_ns].is_sorted()
    {
        defects.push("all together is out of order, or more than the run".to_owned());
    }
    defects
}

/// Operations faster than their roofline are marked and not ranked.
pub(super) fn wrong_judgments(source: &Input, fair: &Document) -> Vec<String> {
    let mut defects = Vec::new();
    let most = source.report.options.thresholds.anomaly_percent;
    let is_above = |percent: Option<f64>| percent.is_some_and(|percent| percent > most);
    let (mut anomalous, mut n_shown) = (Vec::new(), 0_usize);
    for outcome in computing(source) {
        for (at, row) in outcome.rows.iter().enumerate() {
            if !is_above(row.efficiency_percent) {
                continue;
            }
            if !row.is_anomaly {
                let key = outcome.kind.key;
                defects.push(format!("row {} of {key} is not marked", at + 1));
            }
            anomalous.push(row.operation);
            n_shown += usize::from(at < MAX_ROWS);
        }
    }
    for one in ranked(source) {
        let finding = &one.finding;
        // A saving that does not come from a kernel getting closer to its roofline does not depend on the roofline.
        let is_roofline = finding.impact.map(|impact| impact.estimate) == Some(Estimate::Roofline);
        let mut operations = finding.operations.iter();
        let has_anomaly = is_roofline && operations.any(|operation| anomalous.contains(operation));
        if one.analysis.tier == Tier::Compute
            && (is_above(finding.efficiency_percent) || has_anomaly)
        {
            defects.push(format!("P{} is faster than its roofline", one.number));
        }
    }
    let details = fair.section("Detailed Analysis").unwrap_or_default();
    let tables = details.iter().filter_map(|block| match block {
        Block::Table(table) => Some(&table.rows),
        _ => None,
    });
    let cells = tables.flatten().flatten();
    let n_marked = cells
        .filter(|cell| plain(cell).ends_with("[ANOMALY]"))
        .count();
    if n_marked != n_shown {
        defects.push(format!("{n_marked} rows are marked, not {n_shown}"));
    }
    defects
}
