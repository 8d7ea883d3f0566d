//! The collectives of a rank: communication kernels with what the profiler recorded about them.

use super::own_time::{Activity, Gap, Ran, before};
use super::steps::Steps;
use super::{Collective, Found, GroupText, OwnTime, Texts};
use crate::base::interval::Interval;
use crate::base::map::Map;
use crate::base::sort::Arrange;
use crate::profile::Profile;
use crate::profile::collectives::{ops_above, said_by};
use crate::profile::cpu_activity::CpuActivities;
use crate::profile::kernels::GpuWork;
use crate::profile::launch::GpuId;
use crate::profile::timeline::GpuClass;
use crate::trace::event_args::{arg, number};
use crate::trace::{Category, EventId, TrackId};

/// The cause of a launch is not looked up if it is late by less than this.
const LEAST_LATE_NS: i64 = 50_000;

pub(super) fn find(profile: &Profile, steps: &Steps, texts: &mut Texts) -> Found {
    let is_collective = |work: &GpuWork| work.class == GpuClass::Communication;
    let mut all: Vec<(GpuId, &GpuWork)> = (profile.gpu.iter())
        .filter(|(_, work)| is_collective(work) && work.category == Category::Kernel)
        .collect();
    all.arrange_by_key(|(id, work)| (work.span, *id));
    let spans: Vec<Interval> = all.iter().map(|(_, work)| work.span).collect();
    let before = before(&spans);
    let activity = activity(profile, steps.begin_ns());
    let late = Late::new(profile);
    let mut groups = Groups::default();
    let rows = all.iter().zip(&before).map(|((id, work), before)| {
        let step = steps.of(*id);
        let since_ns = match before.and_then(|at| spans.get(at as usize)) {
            Some(span) => Some(span.end_ns),
            None => step.and_then(|step| steps.start_ns(step)),
        };
        let own = since_ns.filter(|ns| *ns <= work.span.start_ns);
        let own = own.map(|ns| activity.split(Interval::new(ns, work.span.start_ns)));
        let gap = own.and_then(|(_, gap)| gap);
        let exposed_ns = work.span.length() - activity.work_within(work.span);
        let cause = gap.map_or_else(String::new, |gap| late.cause(profile, gap));
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
            },
        )
    });
    let rows = rows.collect();
    Found {
        groups: groups.all,
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
}

fn row(
    profile: &Profile,
    work: &GpuWork,
    groups: &mut Groups,
    texts: &mut Texts,
    place: Place,
) -> Collective {
    let trace = &profile.trace;
    // Only the operator has the ranks of a point-to-point transfer and the strides of a group.
    let op = ops_above(profile, work).find(|op| is_record(profile, *op));
    let said = said_by(profile, work).or(op);
    let of = |key: &str| {
        let known = |event: Option<EventId>| arg(trace, event?, key).filter(|text| has_value(text));
        known(said).or_else(|| known(op))
    };
    let whole = |key: &str| of(key).and_then(|text| text.parse::<u64>().ok());
    let small = |key: &str| whole(key).and_then(|number| u32::try_from(number).ok());
    let mut text = |key: &str| texts.id(of(key).unwrap_or_default());
    let group = of("Process Group Name").is_some().then(|| GroupText {
        name: text("Process Group Name"),
        description: text("Process Group Description"),
        ranks: text("Process Group Ranks"),
        size: small("Group size"),
        start_stride: small("Global rank start").zip(small("Global rank stride")),
    });
    let name = text("Collective name");
    let dtype = text("dtype");
    let splits = ["In split size", "Out split size"].map(text);
    let elements = |key| {
        said.and_then(|event| number(trace, event, key))
            .map(|n| n as u64)
    };
    Collective {
        group: group.map(|group| groups.id(group)),
        name,
        kernel: texts.id(trace.strings.get(work.name)),
        dtype,
        given: elements("In msg nelems"),
        got: elements("Out msg nelems"),
        splits,
        peer: small("Dst Rank").or_else(|| small("Src Rank")),
        position: small("Rank"),
        seq: whole("Seq"),
        stream: work.stream,
        step: place.step,
        span: work.span,
        is_in_sheets: work.is_collective,
        before: place.before,
        own: place.own,
        late_by: texts.id(&place.cause),
        exposed_ns: place.exposed_ns,
    }
}

/// `null` and empty texts carry no information.
fn has_value(text: &str) -> bool {
    !text.is_empty() && text != "null"
}

fn is_record(profile: &Profile, op: EventId) -> bool {
    profile.trace.name(op) == "record_param_comms"
}

/// The groups that collectives name, each listed once.
#[derive(Default)]
struct Groups {
    all: Vec<GroupText>,
    ids: Map<GroupText, u32>,
}

impl Groups {
    fn id(&mut self, group: GroupText) -> u32 {
        // Not all collectives contain the strides of their group.
        let key = GroupText {
            start_stride: None,
            ..group.clone()
        };
        if let Some(id) = self.ids.get(&key) {
            if let Some(known) = self.all.get_mut(*id as usize) {
                known.start_stride = known.start_stride.or(group.start_stride);
            }
            return *id;
        }
        let id = self.all.len() as u32;
        self.all.push(group);
        self.ids.insert(key, id);
        id
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
        let launched_ns = work.launched_by.map(|call| events.ts_ns(call));
        (work.span, launched_ns)
    });
    let ran: Vec<Ran> = ran.collect();
    let (work, copies) = (of(GpuClass::Computation), of(GpuClass::Memcpy));
    Activity::new(work, copies, ran, begin_ns)
}

/// What the CPU did while a launch was late.
struct Late {
    activities: CpuActivities,
    /// Top-level spans of each thread, sorted by start: operators, ranges, runtime calls.
    spans: Map<TrackId, Vec<(Interval, EventId)>>,
    /// Time and thread of each launch.
    launches: Vec<(i64, TrackId)>,
}

impl Late {
    fn new(profile: &Profile) -> Late {
        let events = &profile.trace.events;
        let mut launches: Vec<(i64, TrackId)> = (profile.gpu.all())
            .filter_map(|work| work.launched_by)
            .map(|call| (events.ts_ns(call), events.track(call)))
            .collect();
        launches.arrange();
        let mut spans: Map<TrackId, Vec<(Interval, EventId)>> = Map::default();
        let is_call = |of: Category| of == Category::CpuOp || of.is_runtime();
        for event in events.of_category(is_call) {
            let span = events.span(event);
            if span.length() >= LEAST_LATE_NS / 2 {
                let of_track = spans.entry(events.track(event)).or_default();
                of_track.push((span, event));
            }
        }
        Late {
            activities: CpuActivities::new(profile),
            spans,
            launches,
        }
    }

    /// What the launching thread did for most of the late part of a gap; empty if no recorded event covers most of it.
    fn cause(&self, profile: &Profile, gap: Gap) -> String {
        let late = gap.late();
        let Some(launched_ns) = gap.launched_ns.filter(|_| late.length() >= LEAST_LATE_NS) else {
            return String::new();
        };
        let at = self.launches.partition_point(|(ns, _)| *ns < launched_ns);
        let Some((_, track)) = self.launches.get(at) else {
            return String::new();
        };
        let most = late.length() / 2;
        if let Some(activity) = self.activities.most_of(*track, late, most) {
            return activity.label().to_owned();
        }
        let spans = self.spans.get(track).map_or(&[][..], Vec::as_slice);
        let within = |span: &Interval| span.overlap(late).map_or(0, Interval::length);
        let longest = spans.iter().filter(|(span, _)| within(span) > most);
        // Of the events that cover most of it, the innermost is the most specific.
        let longest = longest.min_by_key(|(span, event)| (span.length(), *event));
        longest.map_or_else(String::new, |(_, event)| {
            profile.trace.name(*event).to_owned()
        })
    }
}
