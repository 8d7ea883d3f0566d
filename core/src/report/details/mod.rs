//! The whole story of one operation: what ran, how long each time, how far that is from what the
//! hardware can do, and who called it.
//!
//! ```text
//! Subject ─instances→ (call, its GPU activity, its time) … ─┬→ Spread      how the times differ
//!                                                       ├→ KernelUse   what ran on the GPU
//!                                                       ├→ Caller      who called it
//!                                                       └→ Place       where to go and look
//!          operation + Report ──────────────────────────┬→ Position    under the roofline
//!                                                       └→ Projection  what that is worth
//! ```
//!
//! A [`Subject`] is what someone points at: a row of a sheet, a mark in a chart, an event. Whatever
//! it is, it comes down to instances, so that every part below reads the same population.

mod arguments;
mod callers;
mod instances;
mod kernels;
mod position;
mod spread;
mod subject;
#[cfg(test)]
mod tests;

pub use arguments::{Argument, arguments};
pub use callers::{Caller, StackFrame};
pub use instances::Instance;
pub use kernels::{KernelUse, LaunchSize};
pub use position::{NoRoof, Position};
pub use spread::{Bin, Spread};
pub use subject::{KernelKey, Subject};

use std::collections::BTreeMap;

use hashbrown::HashSet;
use rustc_hash::FxBuildHasher;

use crate::base::interval::{percent_of, sum};
use crate::base::sort::Arrange;
use crate::findings::RankedFinding;
use crate::findings::finding::{Projection, projections};
use crate::names::{Family, family_of_kernel, family_of_op, op_category};
use crate::profile::Profile;
use crate::profile::launch::GpuId;
use crate::profile::operations::Owner;
use crate::profile::tree::CallTree;
use crate::report::Report;
use crate::trace::{EventId, OpArgs};

/// Everything there is to say about one operation, kernel or call.
#[derive(Debug, Clone)]
pub struct Story<'a> {
    /// What it is about.
    pub subject: Subject,
    /// Its name, whole.
    pub name: String,
    /// The kind of work.
    pub family: Family,
    /// GPU time of all instances.
    pub gpu_ns: i64,
    /// What that is of the time in which anything runs on the GPU, in percent. Over 100 where it runs
    /// on several streams at once.
    pub percent: Option<f64>,
    /// How often it ran.
    pub n_instances: u64,
    /// How the times of the instances differ; `None` where no time is known.
    pub spread: Option<Spread>,
    /// Where it stands under the roofline.
    pub position: Position,
    /// What other efficiencies would be worth; empty where the efficiency is not known.
    pub projection: Vec<Projection>,
    /// What its calls were given; `None` where that was not recorded or differs.
    pub args: Option<&'a OpArgs>,
    /// What ran on the GPU, the longest first.
    pub kernels: Vec<KernelUse>,
    /// Who called it, by GPU time.
    pub callers: Vec<Caller>,
    /// What is around the slowest instance, the outermost first.
    pub stack: Vec<StackFrame>,
    /// The slowest instance.
    pub slowest: Option<Place>,
    /// One whose time is the median, or next below it.
    pub median: Option<Place>,
    /// The operations that its GPU time belongs to, with their calls and that time, the longest
    /// first: positions in [`Profile::operations`]. Empty for an operation itself.
    pub operations: Vec<Part>,
    /// Findings that it is evidence of.
    pub findings: Vec<&'a RankedFinding>,
}

/// An instance to go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The call; of a kernel without a known call, the kernel.
    pub call: EventId,
    /// The longest piece of its GPU activity.
    pub work: Option<EventId>,
    /// Its GPU time.
    pub gpu_ns: i64,
}

/// What an operation has of some GPU time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Its position in [`Profile::operations`].
    pub operation: usize,
    /// Calls with some of the work.
    pub n_calls: u64,
    /// Their GPU time that is of it.
    pub gpu_ns: i64,
}

impl<'a> Story<'a> {
    /// Tells the story of a subject; `None` where the trace has nothing of it.
    pub fn new(profile: &'a Profile, report: &'a Report, subject: Subject) -> Option<Story<'a>> {
        let found = instances::of(profile, subject)?;
        let instances = &found.instances;
        let gpu_ns = sum(instances.iter().map(|instance| instance.gpu_ns));
        let order = instances::by_time(profile, instances);
        let operations = parts(profile, subject, instances);
        let position = Position::of(profile, report, subject, instances, &operations);
        let projection = position.efficiency_percent().zip(report.overview.total_ns);
        let run_ns = match subject {
            Subject::Operation(at) => report.judged.get(at).map_or(gpu_ns, |one| one.run_ns),
            _ => gpu_ns,
        };
        let slowest = order.last().and_then(|at| instances.get(*at));
        let median = order.get(order.len().saturating_sub(1) / 2);
        let median = median.and_then(|at| instances.get(*at));
        let place = |instance: &Instance| Place::of(profile, instance);
        Some(Story {
            subject,
            family: family(profile, subject, &found.name, instances),
            name: found.name,
            gpu_ns,
            percent: report
                .overview
                .busy_ns
                .and_then(|busy| percent_of(gpu_ns, busy)),
            n_instances: instances.len() as u64,
            spread: Spread::of(profile, instances, &order, &report.options.thresholds),
            projection: projection.map_or_else(Vec::new, |(percent, total_ns)| {
                projections(gpu_ns, run_ns, percent, total_ns)
            }),
            position,
            args: found.args.and_then(|args| profile.trace.args.get(args)),
            kernels: kernels::of(profile, instances),
            callers: callers::callers(profile, report, instances),
            stack: slowest.map_or_else(Vec::new, |slowest| callers::stack(profile, slowest)),
            slowest: slowest.map(place),
            median: median.map(place),
            findings: findings(profile, report, subject, instances, &operations),
            operations,
        })
    }
}

impl Place {
    fn of(profile: &Profile, instance: &Instance) -> Place {
        let work = instance.work.iter().filter_map(|id| profile.gpu.get(*id));
        // The first of equals.
        let longest = work.min_by_key(|work| (std::cmp::Reverse(work.span.length()), work.event));
        Place {
            call: instance.event,
            work: longest.map(|work| work.event),
            gpu_ns: instance.gpu_ns,
        }
    }
}

/// The calls around instances: with Python frames, where the trace has some.
fn tree(profile: &Profile) -> &CallTree {
    match profile.has_python_frames() {
        true => profile.full_tree(),
        false => &profile.tree,
    }
}

/// The kind of work: that of the operation, else what names say.
fn family(profile: &Profile, subject: Subject, name: &str, instances: &[Instance]) -> Family {
    if let Subject::Operation(at) = subject {
        let operation = profile.operations().get(at);
        return operation.map_or(Family::Other, |operation| operation.family);
    }
    let first = instances.first().and_then(|instance| instance.work.first());
    let work = first.and_then(|id| profile.gpu.get(*id));
    let kernel = work.map(|work| profile.trace.strings.get(work.name));
    match (subject, work.and_then(|work| work.parent_op)) {
        (Subject::Kernel(_), None) => family_of_kernel(name),
        (Subject::Kernel(_), Some(op)) => {
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
fn parts(profile: &Profile, subject: Subject, instances: &[Instance]) -> Vec<Part> {
    if matches!(subject, Subject::Operation(_)) {
        return Vec::new();
    }
    // A call inside another one of its name is part of both.
    let mut work: Vec<GpuId> = instances.iter().flat_map(|one| one.work.clone()).collect();
    work.arrange();
    work.dedup();
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
    // Stable: of equal times the first operation.
    parts.arrange_by_key(|part| std::cmp::Reverse(part.gpu_ns));
    parts
}

/// The findings whose evidence is one of these operations, or one of these runs.
fn findings<'a>(
    profile: &Profile,
    report: &'a Report,
    subject: Subject,
    instances: &[Instance],
    parts: &[Part],
) -> Vec<&'a RankedFinding> {
    let operations: Vec<usize> = match subject {
        Subject::Operation(at) => vec![at],
        _ => parts.iter().map(|part| part.operation).collect(),
    };
    let work = instances.iter().flat_map(|instance| &instance.work);
    let work = work.filter_map(|id| profile.gpu.get(*id));
    let calls = instances.iter().map(|instance| instance.event);
    let events: HashSet<EventId, FxBuildHasher> =
        work.map(|work| work.event).chain(calls).collect();
    let ranked = report.analyses.findings.ranked.iter();
    ranked
        .filter(|ranked| {
            let finding = &ranked.finding;
            finding.operations.iter().any(|at| operations.contains(at))
                || finding.events.iter().any(|event| events.contains(event))
        })
        .collect()
}
