//! All-reduces in the steps of a serving engine with tensor parallelism.

use crate::base::format;
use crate::base::sort::Arranged;
use crate::base::stats::median_ns;
use crate::names::batch::Phase;
use crate::names::collective::CollectiveKind;
use crate::profile::Profile;
use crate::profile::gpu::timeline::GpuClass;

/// The all-reduces of a step: medians over the steps that have any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OfSteps {
    pub(crate) n: usize,
    /// Number of layers in a step, if known from its attention kernels or its repeating pattern.
    pub(crate) layers: Option<usize>,
    /// Duration of the first one of a step, in nanoseconds.
    pub(crate) first_ns: i64,
    /// Duration of the others.
    pub(crate) other_ns: i64,
}

impl OfSteps {
    /// One after the attention and one after the MLP of each layer, and one after the embedding.
    fn expected(&self) -> Option<usize> {
        Some(2 * self.layers? + 1)
    }

    /// A sentence saying that a step has a different number of them than expected.
    pub(crate) fn unexpected(&self) -> Option<String> {
        let expected = self.expected().filter(|expected| *expected != self.n)?;
        Some(format!(
            "A step has {}; tensor parallelism takes {expected}: one after attention and one after the MLP in each of {} layers, and one after the embedding.",
            format::counted(self.n as u64, "all-reduce"),
            self.layers?
        ))
    }
}

/// Computed once per profile; `None` without steps or without all-reduces in them.
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
    let launched = launched.arranged();
    let (mut counts, mut first, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for step in serving
        .steps
        .iter()
        .filter(|step| step.phase() != Some(Phase::Diffusion))
    {
        let until =
            |ns| launched.partition_point(|(track, at, ..)| (*track, *at) < (step.track, ns));
        let own = launched.get(until(step.on_host.start_ns)..until(step.on_host.end_ns));
        let own = own
            .unwrap_or_default()
            .iter()
            .map(|one| (one.2, one.3))
            .arranged();
        let Some(((_, of_first), rest)) = own.split_first() else {
            continue;
        };
        counts.push(own.len() as i64);
        first.push(*of_first);
        others.extend(rest.iter().map(|(_, ns)| *ns));
    }
    let blocks = serving.blocks.as_ref();
    // `None` if the two ways to count layers disagree.
    let layers = blocks.and_then(|blocks| blocks.layers);
    Some(OfSteps {
        n: usize::try_from(median_ns(counts)?).ok()?,
        layers: layers.filter(|n| *n > 0),
        first_ns: median_ns(first)?,
        other_ns: median_ns(others).unwrap_or(0),
    })
}
