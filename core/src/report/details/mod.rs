//! The details of one operation, operator, kernel or call: what ran, how long each time, how far that is from what the
//! hardware can do, and who called it.
//!
//! ```text
//! DetailsSubject ─instances→ (call, its GPU activity, its time) … ─┬→ SpreadFacts  how the times differ
//!                                                       ├→ tables       arguments, kernels, callers
//!                                                       └→ PlaceLink    where to go and look
//!          operation + Report ────────────────────────────→ Position     under the roofline
//! ```
//!
//! A [`DetailsSubject`] is what the user selects: a row of a sheet, a mark in a chart, an event. Each kind resolves to
//! instances, so that every part below describes the same set of runs.

mod arguments;
mod callers;
mod instances;
mod kernels;
mod position;
mod spread;
mod subject;
#[cfg(test)]
mod tests;

pub use callers::StackLine;
pub use spread::{SpreadBar, SpreadFacts};
pub use subject::{DetailsSubject, KernelKey};

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::cards::{Light, detail_heading};
use super::fact_table::{FactColumn, FactRow, FactTable};
use super::gap_chart::GapChart;
use super::shapes::shapes;
use super::sheet::Field;
use crate::base::format;
use crate::base::interval::{percent_of, sum};
use crate::base::map::Set;
use crate::base::sort::{Arrange, Arranged};
use crate::findings::engine::finding::projections;
use crate::names::{Family, family_of_kernel, family_of_op, op_category};
use crate::profile::Profile;
use crate::profile::cpu::tree::CallTree;
use crate::profile::launch::GpuId;
use crate::profile::operations::{Operation, Owner};
use crate::report::Report;
use crate::trace::EventId;
use instances::Instance;
use position::Position;

/// Maximum rows of a table; the longest are kept.
const MAX_ROWS: usize = 12;
/// The percentage of roofline that good kernels reach: the saving at this level is shown.
const GOOD_PERCENT: f64 = 75.0;

/// The details of one operation, operator, kernel or call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OpDetails {
    /// The kind of subject: "Operation".
    pub kind: String,
    /// Its full name.
    pub name: String,
    /// The kind of work.
    pub family: Family,
    /// Its time, its number of calls, and its share of the time in which anything runs on the GPU: over 100 % if it
    /// runs on several streams at once.
    pub figures: Vec<(String, String)>,
    /// The sheet and the row for it; `None` if there is none.
    pub row: Option<(String, u32)>,
    /// Whether it has a mark in the roofline chart.
    pub on_roofline: bool,
    /// All figures of that row, for readers who want to add them up.
    pub fields: Vec<Field>,
    /// The findings it is evidence for, largest saving first.
    pub findings: Vec<FindingLink>,
    /// Its position relative to the roofline, or why that is unknown, in a sentence.
    pub verdict: String,
    /// What a better efficiency would save, in a sentence; empty if unknown.
    pub savings: String,
    /// Why it takes longer than its roofline time; `None` if it is not an operation with a roofline.
    pub gap: Option<GapChart>,
    /// How the times of its runs differ; `None` without GPU activity.
    pub spread: Option<SpreadFacts>,
    /// Runs to inspect: the slowest, and one whose time is the median or the next below it.
    pub places: Vec<PlaceLink>,
    /// Its arguments, its GPU activity and its callers; empty tables are left out.
    pub tables: Vec<FactTable>,
    /// The operations that its GPU time belongs to, longest first; empty for an operation itself.
    pub operations: Vec<OperationLink>,
    /// The calls around the slowest run, outermost first.
    pub stack: Vec<StackLine>,
}

/// A link to a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingLink {
    /// Its number, from 1.
    pub number: usize,
    /// A few words; names from the trace are in backticks.
    pub title: String,
    /// The heading in the report with the details of the finding.
    pub heading: String,
    /// The name of its color in style sheets.
    pub light: String,
}

/// A link to a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaceLink {
    /// Which run it is: "Slowest".
    pub label: String,
    /// Its GPU time.
    pub time: String,
    /// The event to select in the tree; `None` if it is not there.
    pub in_tree: Option<u32>,
    /// The event to select on the timeline: the longest piece of its GPU activity.
    pub in_timeline: u32,
}

/// An operation that some GPU time belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationLink {
    /// Its row in the sheet of operations: its position in [`Profile::operations`].
    pub row: u32,
    /// Its name.
    pub name: String,
    /// Its shapes and types.
    pub shapes: String,
    /// Its part of the time, and in how many calls.
    pub time: String,
}

/// An operation's part of some GPU time.
struct Part {
    /// Its position in [`Profile::operations`].
    operation: usize,
    /// Number of calls with some of the GPU activity.
    n_calls: u64,
    /// The part of their GPU time that counts here.
    gpu_ns: i64,
}

impl OpDetails {
    /// The details of a subject; `None` if the trace does not contain it.
    pub fn new(profile: &Profile, report: &Report, subject: DetailsSubject) -> Option<OpDetails> {
        let found = instances::of(profile, subject)?;
        let instances = &found.instances;
        let noun = match subject {
            DetailsSubject::Kernel(_) => "run",
            _ => "call",
        };
        let gpu_ns = sum(instances.iter().map(|instance| instance.gpu_ns));
        let order = instances::by_time(profile, instances);
        let slowest = order.last().and_then(|at| instances.get(*at));
        let median = order.get(order.len().saturating_sub(1) / 2);
        let median = median.and_then(|at| instances.get(*at));
        let places = [
            ("Slowest", slowest),
            ("Median", median.filter(|_| instances.len() > 2)),
        ];
        let places = places.into_iter();
        let places = places.filter_map(|(label, run)| Some(PlaceLink::new(profile, label, run?)));
        let parts = parts(profile, subject, instances);
        let position = Position::of(profile, report, subject, instances, &parts);
        let family = family(profile, subject, &found.name, instances);
        let run_ns = match subject {
            DetailsSubject::Operation(at) => {
                report.evaluations.get(at).map_or(gpu_ns, |one| one.run_ns)
            }
            _ => gpu_ns,
        };
        let tables = [
            found
                .args
                .and_then(|args| arguments::table(&profile.trace, profile.trace.args.get(args)?)),
            kernels::table(profile, instances),
            callers::table(profile, report, instances),
        ];
        let row = subject.row(profile, report);
        let operations = parts.iter().take(MAX_ROWS);
        let operations = operations.filter_map(|part| part.link(profile));
        Some(OpDetails {
            kind: kind(profile, subject).to_owned(),
            family,
            figures: figures(profile, report, subject, gpu_ns, instances.len()),
            row: row.map(|(sheet, row)| (sheet.to_owned(), row as u32)),
            on_roofline: position.is_known,
            fields: Vec::new(),
            findings: findings(profile, report, subject, instances, &parts),
            savings: savings(report, family, position.efficiency_percent, gpu_ns, run_ns)
                .unwrap_or_default(),
            verdict: position.verdict,
            gap: match subject {
                DetailsSubject::Operation(at) => GapChart::of(profile, report, at),
                _ => None,
            },
            spread: SpreadFacts::of(profile, instances, &order, &report.options.thresholds, noun),
            places: places.collect(),
            tables: tables.into_iter().flatten().collect(),
            operations: operations.collect(),
            stack: slowest.map_or_else(Vec::new, |slowest| callers::stack(profile, slowest)),
            name: found.name,
        })
    }
}

/// The role and sizes of an operation where they are inferred, and its GPU time, share and calls.
fn figures(
    profile: &Profile,
    report: &Report,
    subject: DetailsSubject,
    gpu_ns: i64,
    n_calls: usize,
) -> Vec<(String, String)> {
    let operation = match subject {
        DetailsSubject::Operation(at) => profile.operations().get(at),
        _ => None,
    };
    let estimate = operation.and_then(|one| one.estimate.as_ref());
    let calls = match subject {
        DetailsSubject::Kernel(_) => "Runs",
        _ => "Calls",
    };
    let busy_ns = report.overview.busy_ns;
    let share = busy_ns.and_then(|busy_ns| percent_of(gpu_ns, busy_ns));
    let figures = [
        ("Role", estimate.map(|known| known.role.label().to_owned())),
        ("Sizes", estimate.map(|known| known.sizes())),
        ("GPU time", Some(format::time_ns(gpu_ns))),
        ("% of GPU time", share.map(format::percent)),
        (calls, Some(format::count(n_calls as u64))),
    ];
    let known = figures.into_iter();
    let known = known.filter_map(|(label, value)| Some((label.to_owned(), value?)));
    known.collect()
}

fn kind(profile: &Profile, subject: DetailsSubject) -> &'static str {
    // Some operations are identified only by a kernel's name.
    let is_kernel = |at| {
        let operation = profile.operations().get(at);
        operation.is_some_and(Operation::is_kernel)
    };
    match subject {
        DetailsSubject::Operation(at) if is_kernel(at) => "Kernel",
        DetailsSubject::Operation(_) => "Operation",
        DetailsSubject::Operator(_) => "Operator",
        DetailsSubject::Kernel(_) => "Kernel",
        DetailsSubject::Call(_) => "Call",
    }
}

impl PlaceLink {
    fn new(profile: &Profile, label: &str, run: &Instance) -> PlaceLink {
        let work = profile.gpu.each(&run.work);
        // The first among equals.
        let longest = work.min_by_key(|work| (std::cmp::Reverse(work.span.length()), work.event));
        let work = longest.map_or(run.event, |work| work.event);
        PlaceLink {
            label: label.to_owned(),
            time: format::time_ns(run.gpu_ns),
            in_tree: in_tree(profile, run.event),
            in_timeline: profile.trace.events.uid(work),
        }
    }
}

impl Part {
    fn link(&self, profile: &Profile) -> Option<OperationLink> {
        let operation = profile.operations().get(self.operation)?;
        Some(OperationLink {
            row: self.operation as u32,
            name: format::kernel_name(operation.short_name(profile)),
            shapes: shapes(profile, operation),
            time: format!(
                "{} in {}",
                format::time_ns(self.gpu_ns),
                format::counted(self.n_calls, "call")
            ),
        })
    }
}

/// The longest rows of a table; the title says so if rows are left out.
fn longest<T>(
    title: &str,
    mut items: Vec<T>,
    columns: &[FactColumn<T>],
    row: impl Fn(&T) -> FactRow,
) -> Option<FactTable> {
    let n = items.len();
    items.truncate(MAX_ROWS);
    let title = match n > items.len() {
        true => format!("{title}: the longest {} of {n}", items.len()),
        false => title.to_owned(),
    };
    FactTable::of(title, items, columns, row)
}

/// What it would save to reach the first efficiency level that good kernels reach and this one does not. Attention and
/// convolutions are excluded: what they can reach depends on their sizes, and their findings show it.
fn savings(
    report: &Report,
    family: Family,
    efficiency_percent: Option<f64>,
    gpu_ns: i64,
    run_ns: i64,
) -> Option<String> {
    if matches!(family, Family::Attention | Family::Convolution) {
        return None;
    }
    let total_ns = report.overview.total_ns?;
    let projections = projections(gpu_ns, run_ns, efficiency_percent?, total_ns);
    let (target, (left_ns, gain)) = projections.iter().find_map(|one| {
        let is_reachable = one.target_percent >= GOOD_PERCENT;
        let outcome = one.outcome.filter(|_| is_reachable)?;
        (outcome.0 > 0).then_some((one.target_percent, outcome))
    })?;
    Some(format!(
        "At {} of roofline it would take {} instead of {}: saves {} of the run.",
        format::percent(target),
        format::time_ns(left_ns),
        format::time_ns(gpu_ns),
        format::percent(gain)
    ))
}

/// Whether the tree has an event, or the call that launched it.
pub fn is_in_tree(profile: &Profile, event: EventId) -> bool {
    match profile.trace.events.category(event).is_gpu() {
        true => launching_call(profile, event).is_some(),
        false => profile.full_tree().node_of(event).is_some(),
    }
}

/// The event's uid, if the tree has it or the call that launched it.
fn in_tree(profile: &Profile, event: EventId) -> Option<u32> {
    is_in_tree(profile, event).then(|| profile.trace.events.uid(event))
}

/// The call that launched a GPU event.
pub fn launching_call(profile: &Profile, work: EventId) -> Option<EventId> {
    let launches = &profile.launches;
    launches.launched_by(launches.id_of(work)?)
}

/// The call tree for instances: with Python frames if the trace has any.
fn tree(profile: &Profile) -> &CallTree {
    match profile.has_python_frames() {
        true => profile.full_tree(),
        false => &profile.tree,
    }
}

/// The kind of work: that of the operation, otherwise derived from names.
fn family(
    profile: &Profile,
    subject: DetailsSubject,
    name: &str,
    instances: &[Instance],
) -> Family {
    if let DetailsSubject::Operation(at) = subject {
        let operation = profile.operations().get(at);
        return operation.map_or(Family::Other, |operation| operation.family);
    }
    let first = instances.first().and_then(|instance| instance.work.first());
    let work = first.and_then(|id| profile.gpu.get(*id));
    let kernel = work.map(|work| profile.trace.strings.get(work.name));
    match (subject, work.and_then(|work| work.parent_op)) {
        (DetailsSubject::Kernel(_), None) => family_of_kernel(name),
        (DetailsSubject::Kernel(_), Some(op)) => {
            let event = profile.tree.event(op);
            let op = event.map_or("", |event| {
                profile.trace.strings.get(profile.trace.events.name(event))
            });
            family_of_op(op_category(op, kernel), op, kernel)
        }
        _ => family_of_op(op_category(name, kernel), name, kernel),
    }
}

/// The operations that the GPU activity of some instances belongs to.
fn parts(profile: &Profile, subject: DetailsSubject, instances: &[Instance]) -> Vec<Part> {
    if matches!(subject, DetailsSubject::Operation(_)) {
        return Vec::new();
    }
    // A call inside another one with its name is part of both.
    let work = instances.iter().flat_map(|one| one.work.clone()).distinct();
    let mut calls: BTreeMap<Owner, Vec<GpuId>> = BTreeMap::new();
    for id in work {
        if let Some(owner) = profile.owner_of(id) {
            calls.entry(owner).or_default().push(id);
        }
    }
    let mut parts: Vec<Part> = Vec::new();
    for (owner, work) in calls {
        let gpu_ns = profile.gpu.busy_ns(&work);
        match parts.last_mut() {
            Some(part) if part.operation == owner.operation => {
                part.n_calls += 1;
                part.gpu_ns = part.gpu_ns.saturating_add(gpu_ns);
            }
            _ => parts.push(Part {
                operation: owner.operation,
                n_calls: 1,
                gpu_ns,
            }),
        }
    }
    // Stable sort: ties keep the order of the operations.
    parts.arrange_by_largest(|part| part.gpu_ns);
    parts
}

/// The findings with one of these operations or runs as evidence.
fn findings(
    profile: &Profile,
    report: &Report,
    subject: DetailsSubject,
    instances: &[Instance],
    parts: &[Part],
) -> Vec<FindingLink> {
    let operations: Vec<usize> = match subject {
        DetailsSubject::Operation(at) => vec![at],
        _ => parts.iter().map(|part| part.operation).collect(),
    };
    let work = instances.iter().flat_map(|instance| &instance.work);
    let work = work.filter_map(|id| profile.gpu.get(*id));
    let calls = instances.iter().map(|instance| instance.event);
    let events: Set<EventId> = work.map(|work| work.event).chain(calls).collect();
    let ranked = report.analyses.findings.ranked.iter();
    ranked
        .filter(|ranked| {
            let finding = &ranked.finding;
            finding.operations.iter().any(|at| operations.contains(at))
                || finding.events.iter().any(|event| events.contains(event))
        })
        .map(|ranked| FindingLink {
            number: ranked.number,
            title: ranked.finding.title.clone(),
            heading: detail_heading(ranked),
            light: Light::of(ranked.finding.priority).key.to_owned(),
        })
        .collect()
}
