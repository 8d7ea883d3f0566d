//! GPU activity whose launching call is unknown: how much there is, and why.
//!
//! It counts in all GPU metrics but belongs to no operator, so it is a separate part wherever time is split by
//! operation. A trace without any launches has no unattributed activity: there, each kernel is its own operation.

use std::sync::Arc;

use crate::base::format;
use crate::base::interval::busy;
use crate::base::labels::labeled;
use crate::base::map::{Map, Set};
use crate::base::sort::Arranged;
use crate::base::tally::Tally;
use crate::profile::Profile;
use crate::profile::gpu::kernels::GpuWork;
use crate::profile::launch::GpuId;
use crate::trace::{Category, EventId, LinkId, StringId, Trace, extra_args};

labeled! {
    /// Why the launching call is unknown.
    pub enum Reason {
        /// Its correlation id precedes those of all recorded calls.
        BeforeRecording => "Launched before the recording" as "before_recording",
        /// It is a node of a graph.
        Graph => "GPU graph whose launch was not recorded" as "graph",
        /// Several calls carry its correlation id.
        Ambiguous => "Several calls could have launched it" as "ambiguous",
        /// Its correlation id belongs to another piece of activity that has a launching call.
        SharedId => "Another piece carries its correlation id" as "shared_id",
        /// No call carries its correlation id.
        NotRecorded => "Launching call not recorded" as "not_recorded",
    }
}

/// The unattributed GPU activity of a profile.
#[derive(Debug, Default)]
pub struct Unattributed {
    /// Each piece with its reason, in file order.
    pub(crate) work: Vec<(GpuId, Reason)>,
    /// Count and total duration.
    pub all: Tally,
    /// The same for all GPU activity.
    pub of: Tally,
    /// Time in which nothing else runs on any GPU.
    pub alone_ns: i64,
}

/// Unattributed executions of one kernel, copy or fill.
#[derive(Debug, Clone, Copy)]
pub struct UnattributedName {
    /// Its name.
    pub name: StringId,
    /// Why their launching calls are unknown.
    pub reason: Reason,
    /// Count and total duration.
    pub all: Tally,
    /// The first of them.
    pub first: EventId,
}

impl Unattributed {
    /// The unattributed activity of a profile, computed once.
    pub fn of(profile: &Profile) -> Arc<Unattributed> {
        profile.once(|| Unattributed::find(profile))
    }

    fn find(profile: &Profile) -> Unattributed {
        let mut found = Unattributed::default();
        for work in profile.gpu.all() {
            found.of.add(work.span.length());
        }
        if !profile.has_launches() || profile.launches.n_unlinked() == 0 {
            return found;
        }
        let reasons = Reasons::new(profile);
        let is_unattributed = |(_, work): &(GpuId, &GpuWork)| work.is_unattributed(profile);
        for (id, work) in profile.gpu.iter().filter(is_unattributed) {
            found.all.add(work.span.length());
            found.work.push((id, reasons.of(&profile.trace, id, work)));
        }
        let spans = |is_counted: fn(bool) -> bool| {
            let all = profile.running();
            let counted = all.filter(move |work| is_counted(work.is_linked));
            busy(counted.map(|work| work.span))
        };
        found.alone_ns = spans(|_| true).saturating_sub(spans(|is_linked| is_linked));
        found
    }

    /// Its share of the duration of all GPU activity, in percent; `None` without any.
    pub fn percent(&self) -> Option<f64> {
        crate::base::interval::percent_of(self.all.ns, self.of.ns)
    }

    /// Count and time by reason, longest first; only reasons that occur.
    pub(crate) fn by_reason(&self, profile: &Profile) -> Vec<(Reason, Tally)> {
        let mut tallies = Reason::ALL.map(|reason| (reason, Tally::default()));
        for (id, reason) in &self.work {
            let ns = profile.gpu.get(*id).map_or(0, |work| work.span.length());
            tallies[*reason as usize].1.add(ns);
        }
        tallies
            .into_iter()
            .filter(|(_, tally)| tally.count > 0)
            .arranged_by_largest(|(_, tally)| tally.ns)
    }

    /// The reasons with their times, for display: "GPU graph whose launch was not recorded (13.7 ms)" in lower case.
    pub fn reasons(&self, profile: &Profile) -> String {
        let reasons = self.by_reason(profile).into_iter().map(|(reason, tally)| {
            let label = format::in_sentence(reason.label());
            format!("{label} ({})", format::time_ns(tally.ns))
        });
        format::listed(&reasons.collect::<Vec<String>>())
    }

    /// By name and reason, longest first.
    pub fn by_name(&self, profile: &Profile) -> Vec<UnattributedName> {
        let mut names: Map<(StringId, Reason), UnattributedName> = Map::default();
        for (id, reason) in &self.work {
            let Some(work) = profile.gpu.get(*id) else {
                continue;
            };
            let of_name = names.entry((work.name, *reason));
            let of_name = of_name.or_insert_with(|| UnattributedName {
                name: work.name,
                reason: *reason,
                all: Tally::default(),
                first: work.event,
            });
            of_name.all.add(work.span.length());
        }
        names.into_values().arranged_by_largest(|one| one.all.ns)
    }
}

/// What the reasons are derived from.
struct Reasons {
    ambiguous: Vec<GpuId>,
    /// The smallest correlation id of any call.
    first: Option<LinkId>,
    /// Correlation ids that attributed and unattributed activity share.
    shared: Set<LinkId>,
}

impl Reasons {
    fn new(profile: &Profile) -> Reasons {
        let events = &profile.trace.events;
        let calls = events.of_category(Category::is_runtime);
        let numbers = calls.filter_map(|call| events.correlation(call));
        let id_of = |work: &GpuWork| events.correlation(work.event);
        let all = || profile.gpu.all();
        let unattributed = all().filter(|work| work.launched_by.is_none());
        let unattributed: Set<LinkId> = unattributed.filter_map(id_of).collect();
        let attributed = all().filter(|work| work.launched_by.is_some());
        let shared = attributed.filter_map(id_of);
        Reasons {
            shared: shared.filter(|id| unattributed.contains(id)).collect(),
            ambiguous: profile.launches.unknown(),
            first: numbers.filter(|id| id.number() > Some(0)).min(),
        }
    }

    fn of(&self, trace: &Trace, id: GpuId, work: &GpuWork) -> Reason {
        if self.ambiguous.binary_search(&id).is_ok() {
            return Reason::Ambiguous;
        }
        let correlation = trace.events.correlation(work.event);
        let number = |id: Option<LinkId>| id.and_then(LinkId::number);
        if number(correlation)
            .zip(number(self.first))
            .is_some_and(|(own, first)| own < first)
        {
            return Reason::BeforeRecording;
        }
        match is_of_graph(trace, work.event) {
            true => Reason::Graph,
            false if correlation.is_some_and(|id| self.shared.contains(&id)) => Reason::SharedId,
            false => Reason::NotRecorded,
        }
    }
}

fn is_of_graph(trace: &Trace, work: EventId) -> bool {
    let args = trace.events.extra_args(work);
    let args = args.map_or("", |args| trace.strings.get(args));
    ["graph node id", "graph id"]
        .iter()
        .any(|key| extra_args::value(args, key).is_some_and(|id| id != "0"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Timetable;

    /// ```text
    /// id           1          2        7              9
    /// call         –        call       –              –
    /// GPU        [early)  [gemm)   [replayed)      [lost)
    /// ```
    #[test]
    fn each_piece_has_its_reason() {
        let profile = Timetable::new()
            .without_flows()
            .op("aten::mm", 10..20)
            .launch(2, 11..12)
            .kernel(1, "early", 0..15)
            .kernel(2, "gemm", 20..40)
            .kernel(7, "replayed", 40..70)
            .args(r#""graph node id": 12"#)
            .kernel(9, "lost", 60..80)
            .profile();
        let found = Unattributed::of(&profile);
        let by_name = found.by_name(&profile).into_iter();
        let by_name: Vec<(&str, Reason, u64, i64)> = by_name
            .map(|one| {
                let name = profile.trace.strings.get(one.name);
                (name, one.reason, one.all.count, one.all.ns)
            })
            .collect();
        assert_eq!(
            by_name,
            [
                ("replayed", Reason::Graph, 1, 30_000),
                ("lost", Reason::NotRecorded, 1, 20_000),
                ("early", Reason::BeforeRecording, 1, 15_000),
            ]
        );
        assert_eq!((found.all.ns, found.of.ns), (65_000, 85_000));
        // Nothing else runs from 0 to 15 and from 40 to 80 µs.
        assert_eq!(found.alone_ns, 55_000);
    }

    #[test]
    fn a_trace_without_launches_has_none() {
        let profile = Timetable::new().kernel(1, "gemm", 0..15).profile();
        let found = Unattributed::of(&profile);
        assert_eq!((found.all.count, found.of.count), (0, 1));
    }
}
