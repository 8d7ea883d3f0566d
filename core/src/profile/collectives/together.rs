//! Collectives whose ranks are all in the trace: which rank arrives last, and how long the others wait for it.
//!
//! ```text
//! GPU 0  [= gemm =)[= nccl ========)
//! GPU 1  [= gemm ==========)[= nccl )
//!                 ^^^^^^^^^^ GPU 0 waits for GPU 1
//! ```

use crate::base::interval::{Interval, sum};
use crate::base::sort::{Arrange, FirstMax};
use crate::profile::gpu::exposed::{Exposed, OnGpu};
use crate::trace::StringId;

/// One rank's part in a collective.
#[derive(Debug, Clone)]
pub(super) struct RankPart {
    /// A number shared by all that may be the same collective: kind, message, process group.
    pub(super) collective: usize,
    /// Number of ranks, if known.
    pub(super) n_ranks: Option<f64>,
    pub(super) on: OnGpu,
}

/// How long GPUs of a trace wait for each other in collectives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Waits {
    /// Number of collectives with all ranks in the trace.
    pub(crate) count: u64,
    /// How long a GPU waits without computing anything, averaged over the participating GPUs. If all arrived at the
    /// mean of their times, the run would be shorter by this much.
    pub(crate) mean_ns: i64,
    /// The GPU that most often arrives last, and how often.
    pub(crate) last: (Option<StringId>, u64),
}

/// Finds the collectives that several GPUs take part in, and how long these wait for each other; `None` if there are
/// none. `exposed` is the time in which collectives run and nothing computes.
pub(super) fn waits(mut parts: Vec<RankPart>, exposed: &Exposed) -> Option<Waits> {
    parts.arrange_by_key(|part| {
        let (gpu, span) = part.on;
        (part.collective, gpu, span)
    });
    let mut gpus: Vec<(Option<StringId>, u64)> = Vec::new();
    let (mut count, mut waited_ns) = (0, 0_i64);
    for of_one in parts.chunk_by(|one, next| one.collective == next.collective) {
        let by_gpu: Vec<&[RankPart]> = of_one.chunk_by(|one, next| one.on.0 == next.on.0).collect();
        for of_gpu in &by_gpu {
            let gpu = of_gpu.first().and_then(|first| first.on.0);
            if !gpus.iter().any(|(known, _)| *known == gpu) {
                gpus.push((gpu, 0));
            }
        }
        for arrivals in joint_executions(&by_gpu) {
            let Some(last) = arrivals.iter().max_by_key(|(_, span)| span.start_ns) else {
                continue;
            };
            let last_ns = last.1.start_ns;
            count += 1;
            let waits = arrivals
                .iter()
                .map(|(gpu, span)| exposed.within((*gpu, Interval::new(span.start_ns, last_ns))));
            waited_ns = waited_ns.saturating_add(sum(waits));
            if let Some((_, n_last)) = gpus.iter_mut().find(|(gpu, _)| *gpu == last.0) {
                *n_last += 1;
            }
        }
    }
    let n_gpus = i64::try_from(gpus.len()).ok()?;
    let last = gpus.into_iter().first_max_by_key(|one| one.1)?;
    (count > 0).then_some(Waits {
        count,
        mean_ns: waited_ns / n_gpus,
        last,
    })
}

/// Pairs the nth of each GPU: they are the same collective if all GPUs have equally many and the executions overlap.
fn joint_executions(by_gpu: &[&[RankPart]]) -> Vec<Vec<OnGpu>> {
    let counts = || by_gpu.iter().map(|of_gpu| of_gpu.len());
    let Some(count) = counts().next() else {
        return Vec::new();
    };
    let n_ranks = by_gpu
        .iter()
        .flat_map(|of_gpu| of_gpu.iter())
        .find_map(|part| part.n_ranks);
    let are_all_there = n_ranks.is_none_or(|n_ranks| n_ranks as usize == by_gpu.len());
    if by_gpu.len() < 2 || !are_all_there || counts().any(|of_gpu| of_gpu != count) {
        return Vec::new();
    }
    let nth = |at: usize| -> Vec<OnGpu> {
        let of_gpus = by_gpu.iter().filter_map(|of_gpu| of_gpu.get(at));
        of_gpus.map(|part| part.on).collect()
    };
    let is_one = |arrivals: &Vec<OnGpu>| {
        let starts = arrivals.iter().map(|(_, span)| span.start_ns);
        let ends = arrivals.iter().map(|(_, span)| span.end_ns);
        starts.max() < ends.min()
    };
    (0..count).map(nth).filter(is_one).collect()
}
