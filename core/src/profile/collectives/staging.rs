//! Staging copies of a collective: device-to-device copies directly before and after it on its stream, with the same
//! number of bytes.
//!
//! ```text
//! [copy in, 4 MB][multimem_all_reduce][copy out, 4 MB]
//! ```

use std::sync::Arc;

use crate::base::map::Map;
use crate::base::sort::Arranged;
use crate::names::collective::CollectiveKind;
use crate::names::words::holds;
use crate::profile::Profile;
use crate::profile::gpu::copies::{Direction, direction};
use crate::profile::gpu::exposed::{Exposed, OnGpu};
use crate::profile::gpu::kernels::GpuWork;
use crate::profile::gpu::timeline::GpuClass;
use crate::profile::launch::{GpuId, process};
use crate::trace::{EventId, StringId, event_args};

/// The copies of one collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Staged {
    /// Bytes of each copy.
    pub(crate) bytes: u64,
    pub(crate) before: Option<GpuId>,
    pub(crate) after: Option<GpuId>,
}

impl Staged {
    pub(crate) fn copies(&self) -> impl Iterator<Item = GpuId> {
        [self.before, self.after].into_iter().flatten()
    }
}

/// Time of such copies.
#[derive(Debug, Clone, Default)]
pub(crate) struct StagedTime {
    pub(crate) n_collectives: u64,
    pub(crate) n_copies: u64,
    /// Sum of the durations.
    pub(crate) copies_ns: i64,
    /// Time of the collectives without their copies.
    pub(crate) collectives_ns: i64,
    /// Time in which these copies run and nothing else does, on the GPU with the most of it.
    pub(crate) exposed_ns: i64,
    /// Bytes of each copy, if all have the same size.
    pub(crate) bytes: Option<u64>,
    pub(crate) copies: Vec<EventId>,
}

/// The collectives of a trace that have such copies.
#[derive(Debug, Default)]
pub(crate) struct Staging {
    of: Map<GpuId, Staged>,
}

impl Staging {
    /// Computed once per profile.
    pub(crate) fn of(profile: &Profile) -> Arc<Staging> {
        profile.once(|| Staging::find(profile))
    }

    pub(crate) fn get(&self, collective: GpuId) -> Option<Staged> {
        self.of.get(&collective).copied()
    }

    /// The time of these copies and of their collectives; `None` if there are none. `exposed` is the time in which
    /// copies run and nothing else does.
    pub(crate) fn time(&self, profile: &Profile, exposed: &Exposed) -> Option<StagedTime> {
        let all = self.of.iter().map(|(id, staged)| (*id, *staged));
        let all = all.arranged_by_key(|(id, _)| *id);
        let counted = |id: GpuId| profile.gpu.get(id);
        let mut time = StagedTime::default();
        let mut spans: Vec<OnGpu> = Vec::new();
        for (id, staged) in all {
            let Some(collective) = counted(id) else {
                continue;
            };
            time.bytes = match time.n_collectives {
                0 => Some(staged.bytes),
                _ => time.bytes.filter(|bytes| *bytes == staged.bytes),
            };
            time.n_collectives += 1;
            time.collectives_ns += collective.span.length();
            for copy in staged.copies().filter_map(counted) {
                time.n_copies += 1;
                time.copies_ns += copy.span.length();
                time.copies.push(copy.event);
                spans.push((process(&profile.trace, copy.event), copy.span));
            }
        }
        time.exposed_ns = exposed.within_most(&spans);
        (time.n_copies > 0).then_some(time)
    }

    fn find(profile: &Profile) -> Staging {
        let communicates = |work: &GpuWork| work.class == GpuClass::Communication;
        if !profile.gpu.iter().any(|(_, work)| communicates(work)) {
            return Staging::default();
        }
        let track = |work: &GpuWork| profile.trace.events.track(work.event);
        let all = profile.gpu.iter();
        let all = all
            .map(|(id, work)| (track(work), work.span.start_ns, id))
            .arranged();
        let bytes = |(.., id): &(_, _, GpuId)| bytes_of_copy(profile, *id);
        let mut found: Vec<(StringId, GpuId, Option<Staged>)> = Vec::new();
        for stream in all.chunk_by(|one, next| one.0 == next.0) {
            for (at, (.., id)) in stream.iter().enumerate() {
                let Some(work) = profile.gpu.get(*id).filter(|work| is_staged(profile, work))
                else {
                    continue;
                };
                let before = at.checked_sub(1).and_then(|at| stream.get(at));
                let after = stream.get(at + 1);
                let (given, got) = (before.and_then(bytes), after.and_then(bytes));
                let size = given.or(got);
                let is_of_it = |bytes: Option<u64>| bytes.is_some() && bytes == size;
                let staged = size.map(|bytes| Staged {
                    bytes,
                    before: before.filter(|_| is_of_it(given)).map(|(.., id)| *id),
                    after: after.filter(|_| is_of_it(got)).map(|(.., id)| *id),
                });
                found.push((work.name, *id, staged));
            }
        }
        Staging { of: usual(found) }
    }
}

/// Calls of a kernel, and how many of them have a copy right before or after.
#[derive(Debug, Default)]
struct Counts {
    all: usize,
    before: usize,
    after: usize,
}

/// Copies on both sides belong to the collective. A single one may be unrelated: it counts if most calls of the kernel
/// have one on that side.
fn usual(found: Vec<(StringId, GpuId, Option<Staged>)>) -> Map<GpuId, Staged> {
    let mut counts: Map<StringId, Counts> = Map::default();
    for (name, _, staged) in &found {
        let counts = counts.entry(*name).or_default();
        counts.all += 1;
        counts.before += usize::from(staged.is_some_and(|staged| staged.before.is_some()));
        counts.after += usize::from(staged.is_some_and(|staged| staged.after.is_some()));
    }
    let is_usual = |name: &StringId, n_of: fn(&Counts) -> usize| {
        /// Fewer calls than this prove nothing.
        const LEAST: usize = 3;
        let counts = counts.get(name);
        counts.is_some_and(|counts| counts.all >= LEAST && n_of(counts) * 2 > counts.all)
    };
    let kept = found.into_iter().filter_map(|(name, id, staged)| {
        let staged = staged?;
        let is_kept = match (staged.before, staged.after) {
            (Some(_), Some(_)) => true,
            (Some(_), None) => is_usual(&name, |counts| counts.before),
            (None, _) => is_usual(&name, |counts| counts.after),
        };
        is_kept.then_some((id, staged))
    });
    kept.collect()
}

/// Whether a kernel may work on a buffer that all GPUs can access; NCCL and RCCL use the message in place.
fn is_staged(profile: &Profile, work: &GpuWork) -> bool {
    let name = profile.trace.strings.get(work.name);
    let kind = CollectiveKind::of_name(name);
    work.class == GpuClass::Communication
        && !matches!(kind, CollectiveKind::Barrier | CollectiveKind::SendReceive)
        && !holds(name, &["nccl", "rccl"])
}

fn bytes_of_copy(profile: &Profile, id: GpuId) -> Option<u64> {
    let work = profile.gpu.get(id)?;
    let is_within = work.class == GpuClass::Memcpy
        && matches!(direction(&profile.trace, work), Direction::DeviceToDevice);
    let bytes = event_args::number(&profile.trace, work.event, "bytes").filter(|_| is_within)?;
    (bytes > 0.0).then_some(bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Timetable;

    const REDUCE: &str = "multimem_all_reduce_kernel<c10::BFloat16, 16>";
    const COPY: &str = "Memcpy DtoD (Device -> Device)";

    /// For kernels on one stream, with bytes for copies: the bytes and number of the copies of each collective.
    fn staged(stream: &[(&str, u64)]) -> Vec<Option<(u64, usize)>> {
        let mut timetable = Timetable::new();
        for (at, (name, bytes)) in (0_u32..).zip(stream) {
            let (host, gpu) = (at * 10, at * 10 + 1000);
            timetable = timetable.launched(name, host..host + 5, gpu..gpu + 8);
            if *bytes > 0 {
                timetable = timetable.args(&format!("\"bytes\": {bytes}"));
            }
        }
        let profile = timetable.profile();
        let staging = Staging::of(&profile);
        let collectives = profile.gpu.iter();
        let collectives = collectives.filter(|(_, work)| work.class == GpuClass::Communication);
        let staged = collectives.map(|(id, _)| staging.get(id));
        staged
            .map(|one| one.map(|one| (one.bytes, one.copies().count())))
            .collect()
    }

    #[test]
    fn copies_of_equal_size_on_both_sides_are_of_the_collective() {
        let (reduce, copy, gemm) = ((REDUCE, 0), (COPY, 4096), ("gemm", 0));
        assert_eq!(staged(&[copy, reduce, copy]), [Some((4096, 2))]);
        // Copies of two different sizes, or ones that are not adjacent, may be unrelated.
        assert_eq!(staged(&[copy, reduce, (COPY, 64)]), [None]);
        assert_eq!(staged(&[copy, gemm, reduce, gemm, copy]), [None]);
        // As with a registered input buffer: one copy before every call.
        let into = [copy, reduce, gemm];
        assert_eq!(staged(&into.repeat(3)), [Some((4096, 1)); 3]);
        assert_eq!(staged(&into.repeat(2)), [None; 2]);
        // These use the message in place.
        let nccl = [
            (COPY, 64),
            ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 0),
            (COPY, 64),
        ];
        assert_eq!(staged(&nccl), [None]);
    }
}
