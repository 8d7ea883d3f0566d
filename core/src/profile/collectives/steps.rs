//! All-reduces in the steps of a serving engine whose layers are split over GPUs.

use crate::base::format;
use crate::base::sort::Arrange;
use crate::base::stats::median_ns;
use crate::names::batch::Phase;
use crate::names::collective::CollectiveKind;
use crate::profile::Profile;
use crate::profile::timeline::GpuClass;
use crate::trace::TrackId;

/// The all-reduces of a step: medians over the steps that have any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OfSteps {
    pub(crate) n: usize,
    /// Layers of a step, where its attention kernels or what repeats in it tell.
    pub(crate) layers: Option<usize>,
    /// The first one of a step, in nanoseconds.
    pub(crate) first_ns: i64,
    /// The others.
    pub(crate) other_ns: i64,
}

impl OfSteps {
    /// One behind the attention and one behind the MLP of each layer, and one behind the embedding.
    fn expected(&self) -> Option<usize> {
        Some(2 * self.layers? + 1)
    }

    /// That a step has another number of them, in a sentence.
    pub(crate) fn unexpected(&self) -> Option<String> {
        let expected = self.expected().filter(|expected| *expected != self.n)?;
        Some(format!(
            "A step has {}; tensor parallelism takes {expected}: one after attention and one after the MLP in each of {} layers, and one after the embedding.",
            format::counted(self.n as u64, "all-reduce"),
            self.layers?
        ))
    }
}

/// Found once; `None` without steps, and where these have no all-reduces.
pub(crate) fn of_steps(profile: &Profile) -> Option<OfSteps> {
    *profile.once(|| find(profile))
}

fn find(profile: &Profile) -> Option<OfSteps> {
    let serving = profile.serving()?;
    let (trace, events) = (&profile.trace, &profile.trace.events);
    let is_all_reduce = |name| CollectiveKind::of_name(trace.strings.get(name)).is_all_reduce();
    let all = profile
        .gpu
        .iter()
        .filter(|(_, work)| work.class == GpuClass::Communication && is_all_reduce(work.name));
    let launched = all.filter_map(|(_, work)| {
        let call = work.launched_by?;
        Some((
            events.track(call),
            events.ts_ns(call),
            work.span.start_ns,
            work.span.length(),
        ))
    });
    let mut launched: Vec<(TrackId, i64, i64, i64)> = launched.collect();
    launched.arrange();
    let (mut counts, mut first, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for step in serving
        .steps
        .iter()
        .filter(|step| step.phase() != Some(Phase::Diffusion))
    {
        let until =
            |ns| launched.partition_point(|(track, at, ..)| (*track, *at) < (step.track, ns));
        let own = launched.get(until(step.on_host.start_ns)..until(step.on_host.end_ns));
        let mut own: Vec<(i64, i64)> = own
            .unwrap_or_default()
            .iter()
            .map(|one| (one.2, one.3))
            .collect();
        own.arrange();
        let Some(((_, of_first), rest)) = own.split_first() else {
            continue;
        };
        counts.push(own.len() as i64);
        first.push(*of_first);
        others.extend(rest.iter().map(|(_, ns)| *ns));
    }
    let blocks = serving.blocks.as_ref();
    // Where both ways of counting disagree, attention kernels are no number of layers.
    let layers = blocks.and_then(|blocks| blocks.layers);
    Some(OfSteps {
        n: usize::try_from(median_ns(counts)?).ok()?,
        layers: layers.filter(|n| *n > 0),
        first_ns: median_ns(first)?,
        other_ns: median_ns(others).unwrap_or(0),
    })
}
