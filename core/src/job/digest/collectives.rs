//! The collectives of a rank: communication kernels with what the profiler recorded about them.

use super::late::Late;
use super::own_time::{Activity, Ran, before};
use super::steps::Steps;
use super::unfinished::{self, RECORD};
use super::{Collective, Found, GroupText, OwnTime, TextId};
use crate::base::interval::Interval;
use crate::base::map::{Map, Set};
use crate::base::sort::Arranged;
use crate::profile::Profile;
use crate::profile::collectives::{described_by, ops_above, repeated};
use crate::profile::gpu::kernels::GpuWork;
use crate::profile::gpu::timeline::GpuClass;
use crate::trace::event_args::{arg, number};
use crate::trace::{Category, EventId, Trace};

pub(super) fn find(profile: &Profile, steps: &Steps, texts: &mut Set<String>) -> Found {
    let is_collective = |work: &GpuWork| work.class == GpuClass::Communication;
    let all = (profile.gpu.iter())
        .filter(|(_, work)| is_collective(work) && work.category == Category::Kernel)
        .arranged_by_key(|(id, work)| (work.span, *id));
    let spans: Vec<Interval> = all.iter().map(|(_, work)| work.span).collect();
    let before = before(&spans);
    let activity = activity(profile, steps.begin_ns());
    let late = Late::new(profile);
    let repeated = repeated(profile);
    let mut groups = Groups::default();
    let rows = all.iter().zip(&before).map(|((id, work), before)| {
        let step = steps.of(*id);
        let last = before.and_then(|at| spans.get(at as usize));
        let own = steps.time_before(work.span, last, step);
        let own = own.map(|own| activity.split(own));
        let cause = match &own {
            Some((own, gaps)) => late.cause_of_all(profile, gaps, own.late_ns),
            None => String::new(),
        };
        let exposed_ns = work.span.length() - activity.work_within(work.span);
        let own = own.map(|(own, _)| own);
        row(
            profile,
            work,
            &mut groups,
            texts,
            Place {
                step,
                before: *before,
                own,
                cause,
                exposed_ns,
                is_repeated: repeated.events.binary_search(&work.event).is_ok(),
            },
        )
    });
    let rows = rows.collect();
    let recorded = all
        .iter()
        .filter_map(|(_, work)| record_of(profile, work))
        .collect();
    let unfinished = unfinished::find(profile, steps, recorded);
    let unfinished = unfinished.into_iter().filter_map(|(call, span)| {
        let of = Named::new(profile, None, Some(call)).collective(&mut groups, texts);
        of.group.is_some().then_some(Collective {
            step: steps.at(span.start_ns),
            span,
            ..of
        })
    });
    Found {
        unfinished: unfinished.collect(),
        groups: groups.list(),
        rows,
        activity,
    }
}

/// A collective in relation to the other activity of its rank.
struct Place {
    step: Option<u32>,
    before: Option<u32>,
    own: Option<OwnTime>,
    cause: String,
    exposed_ns: i64,
    is_repeated: bool,
}

fn row(
    profile: &Profile,
    work: &GpuWork,
    groups: &mut Groups,
    texts: &mut Set<String>,
    place: Place,
) -> Collective {
    // Only the operator has the ranks of a point-to-point transfer and the strides of a group.
    let op = record_of(profile, work);
    let named = Named::new(profile, described_by(profile, work), op);
    Collective {
        kernel: texts.id(profile.trace.strings.get(work.name)),
        stream: work.stream,
        step: place.step,
        span: work.span,
        is_in_sheets: work.is_collective,
        before: place.before,
        own: place.own,
        late_by: texts.id(&place.cause),
        exposed_ns: place.exposed_ns,
        is_repeated: place.is_repeated,
        ..named.collective(groups, texts)
    }
}

/// What the profiler recorded about a collective: as arguments of its kernel, of its operator, or of both.
struct Named<'a> {
    trace: &'a Trace,
    described: Option<EventId>,
    op: Option<EventId>,
}

impl<'a> Named<'a> {
    fn new(profile: &'a Profile, described: Option<EventId>, op: Option<EventId>) -> Named<'a> {
        Named {
            trace: &profile.trace,
            described: described.or(op),
            op,
        }
    }

    fn of(&self, key: &str) -> Option<&'a str> {
        let known = |event: Option<EventId>| {
            // `null` and empty texts carry no information.
            let has_value = |text: &&str| !text.is_empty() && *text != "null";
            arg(self.trace, event?, key).filter(has_value)
        };
        known(self.described).or_else(|| known(self.op))
    }

    fn text(&self, texts: &mut Set<String>, key: &str) -> TextId {
        texts.id(self.of(key).unwrap_or_default())
    }

    fn whole(&self, key: &str) -> Option<u64> {
        self.of(key)?.parse().ok()
    }

    fn small(&self, key: &str) -> Option<u32> {
        u32::try_from(self.whole(key)?).ok()
    }

    fn elements(&self, key: &str) -> Option<u64> {
        number(self.trace, self.described?, key).map(|n| n as u64)
    }

    /// The collective without what its kernel tells.
    fn collective(&self, groups: &mut Groups, texts: &mut Set<String>) -> Collective {
        Collective {
            group: self.group(texts).map(|group| groups.id(group)),
            name: self.text(texts, "Collective name"),
            dtype: self.text(texts, "dtype"),
            given: self.elements("In msg nelems"),
            got: self.elements("Out msg nelems"),
            splits: ["In split size", "Out split size"].map(|key| self.text(texts, key)),
            peer: self.small("Dst Rank").or_else(|| self.small("Src Rank")),
            position: self.small("Rank"),
            seq: self.whole("Seq"),
            ..Collective::default()
        }
    }

    fn group(&self, texts: &mut Set<String>) -> Option<GroupText> {
        self.of("Process Group Name")?;
        Some(GroupText {
            name: self.text(texts, "Process Group Name"),
            description: self.text(texts, "Process Group Description"),
            ranks: self.text(texts, "Process Group Ranks"),
            size: self.small("Group size"),
            start_stride: self
                .small("Global rank start")
                .zip(self.small("Global rank stride")),
        })
    }
}

/// The operator that recorded a collective.
fn record_of(profile: &Profile, work: &GpuWork) -> Option<EventId> {
    ops_above(profile, work).find(|op| profile.trace.name(*op) == RECORD)
}

/// The groups that collectives name, each listed once, with their strides: not all collectives contain these.
#[derive(Default)]
struct Groups(Map<GroupText, Option<(u32, u32)>>);

impl Groups {
    fn id(&mut self, mut group: GroupText) -> u32 {
        let start_stride = group.start_stride.take();
        let entry = self.0.entry(group);
        let id = entry.number() as u32;
        let known = entry.or_default();
        *known = known.or(start_stride);
        id
    }

    fn list(self) -> Vec<GroupText> {
        let all = self.0.into_iter();
        let all = all.map(|(group, start_stride)| GroupText {
            start_stride,
            ..group
        });
        all.collect()
    }
}

/// What runs on the GPU, and when it was launched.
fn activity(profile: &Profile, begin_ns: Option<i64>) -> Activity {
    let events = &profile.trace.events;
    let of = |class| {
        let work = profile.gpu.all().filter(move |work| work.class == class);
        work.map(|work| work.span).collect()
    };
    let ran = profile.gpu.all().map(|work| {
        // A launch takes effect when its call ends, or as soon as the activity runs: a call may wait for it.
        let launched_ns = work.launched_by.map(|call| events.end_ns(call));
        (work.span, launched_ns.map(|ns| ns.min(work.span.start_ns)))
    });
    let ran: Vec<Ran> = ran.collect();
    let (work, copies) = (of(GpuClass::Computation), of(GpuClass::Memcpy));
    Activity::new(work, copies, ran, begin_ns)
}
