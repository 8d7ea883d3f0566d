//! What the slow calls of an operation have in common: they are the first or the last, run another kernel, or run
//! concurrently with communication.

use std::sync::Arc;

use crate::base::interval::{Coverage, Interval, sum, union};
use crate::base::sort::Arranged;
use crate::base::stats::median_ns;
use crate::profile::Profile;
use crate::profile::gpu::kernels::Running;
use crate::profile::gpu::timeline::GpuClass;
use crate::profile::operations::Operation;
use crate::profile::operations::perf_rows::PerfRow;
use crate::trace::StringId;

/// What the slow calls of an operation have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SlowCalls {
    /// They run concurrently with communication and the other calls do not.
    BesideCommunication,
    /// They are the first calls of the operation.
    First,
    /// They run another kernel than the other calls.
    OtherKernel,
    /// They are the last calls.
    Last,
    /// None of these.
    Anywhere,
}

/// This share of the time above the median has to be in one place.
const MOST: f64 = 0.8;

/// A place is the first or last of this many parts of the calls.
const PARTS: usize = 3;

/// At most this share of the calls that are not slow may run concurrently with communication.
const FEW: f64 = 0.2;

impl SlowCalls {
    pub(crate) fn of(profile: &Profile, operation: &Operation) -> SlowCalls {
        let calls = by_start(profile, operation);
        let times: Vec<i64> = calls.iter().map(|(_, call)| call.kernel_ns).collect();
        let mid_ns = median_ns(times.clone()).unwrap_or(0);
        let above: Vec<i64> = times.iter().map(|ns| (ns - mid_ns).max(0)).collect();
        let is_most =
            |above: &[i64], all_ns: i64| sum(above.iter().copied()) as f64 >= all_ns as f64 * MOST;
        let all_ns = sum(above.iter().copied());
        if all_ns == 0 {
            return SlowCalls::Anywhere;
        }
        let communication = Communication::of(profile);
        let is_concurrent: Vec<bool> = calls
            .iter()
            .map(|(_, call)| communication.overlaps(profile, call))
            .collect();
        let concurrent = above
            .iter()
            .zip(&is_concurrent)
            .filter(|(_, concurrent)| **concurrent);
        let concurrent: Vec<i64> = concurrent.map(|(ns, _)| *ns).collect();
        let others = above.iter().zip(&is_concurrent).filter(|(ns, _)| **ns == 0);
        let others: Vec<bool> = others.map(|(_, concurrent)| *concurrent).collect();
        let n_concurrent = others.iter().filter(|concurrent| **concurrent).count();
        if is_most(&concurrent, all_ns) && n_concurrent as f64 <= others.len() as f64 * FEW {
            return SlowCalls::BesideCommunication;
        }
        let kernels: Vec<Option<StringId>> = calls
            .iter()
            .map(|(_, call)| longest_kernel(profile, call))
            .collect();
        let of_others: Vec<i64> = above
            .iter()
            .zip(&kernels)
            .filter(|(_, kernel)| {
                let mut usual = above.iter().zip(&kernels).filter(|(ns, _)| **ns == 0);
                usual.all(|(_, usual)| usual != *kernel)
            })
            .map(|(ns, _)| *ns)
            .collect();
        let part = times.len().div_ceil(PARTS);
        let (first, last) = (above.get(..part), above.get(times.len() - part..));
        match (first, last) {
            (Some(first), _) if is_most(first, all_ns) => SlowCalls::First,
            _ if is_most(&of_others, all_ns) => SlowCalls::OtherKernel,
            (_, Some(last)) if is_most(last, all_ns) => SlowCalls::Last,
            _ => SlowCalls::Anywhere,
        }
    }
}

/// The name of the longest kernel of a call.
fn longest_kernel(profile: &Profile, call: &PerfRow) -> Option<StringId> {
    let work = profile.gpu.each(&call.work);
    let longest = work.max_by_key(|work| (work.span.length(), work.event));
    longest.map(|work| work.name)
}

/// The calls of an operation in GPU order, with the start of each.
pub(crate) fn by_start<'a>(profile: &Profile, operation: &'a Operation) -> Vec<(i64, &'a PerfRow)> {
    let calls = operation.calls.iter().filter_map(|call| {
        let work = profile.gpu.each(&call.work);
        Some((work.map(|work| work.span.start_ns).min()?, call))
    });
    calls.arranged_by_key(|(start_ns, call)| (*start_ns, call.uid))
}

/// When each GPU communicates.
#[derive(Debug)]
pub(crate) struct Communication(Vec<(Option<StringId>, Coverage)>);

impl Communication {
    pub(crate) fn of(profile: &Profile) -> Arc<Communication> {
        profile.once(|| {
            let mut gpus: Vec<(Option<StringId>, Vec<Interval>)> = Vec::new();
            let communicates = |work: &Running| work.class == GpuClass::Communication;
            for Running { gpu, span, .. } in profile.running().filter(communicates) {
                match gpus.iter_mut().find(|(known, _)| *known == gpu) {
                    Some((_, spans)) => spans.push(span),
                    None => gpus.push((gpu, vec![span])),
                }
            }
            let gpus = gpus.into_iter();
            Communication(
                gpus.map(|(gpu, spans)| (gpu, Coverage::new(union(spans))))
                    .collect(),
            )
        })
    }

    /// Whether a call runs concurrently with communication for more than a quarter of its time.
    pub(crate) fn overlaps(&self, profile: &Profile, call: &PerfRow) -> bool {
        let work = profile.gpu.each(&call.work);
        let concurrent_ns = work.map(|work| {
            let Running { gpu, span, .. } = work.running(&profile.trace);
            let of_gpu = self.0.iter().find(|(known, _)| *known == gpu);
            of_gpu.map_or(0, |(_, communicates)| communicates.within(span))
        });
        sum(concurrent_ns) > call.kernel_ns / 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Timetable;

    /// GEMMs back to back with these durations in microseconds, and all-reduces on another stream.
    fn slow_calls(times: &[u32], all_reduces: &[std::ops::Range<u32>]) -> SlowCalls {
        let (table, _) = times.iter().fold((Timetable::new(), 0), |(table, at), us| {
            (table.work("aten::mm", "gemm", at..at + us), at + us)
        });
        let table = all_reduces.iter().fold(table.stream(9), |table, span| {
            table.work("c10d::allreduce_", "ncclDevKernel_AllReduce", span.clone())
        });
        let profile = table.profile();
        let mut operations = profile.operations().iter();
        let gemm = operations.find(|one| one.short_name(&profile) == "aten::mm");
        SlowCalls::of(&profile, gemm.unwrap())
    }

    #[test]
    fn slow_calls_by_where_they_lie() {
        #[rustfmt::skip]
        let cases: &[(&[u32], SlowCalls)] = &[
            (&[300, 200, 100, 100, 100, 100], SlowCalls::First),
            (&[100, 100, 100, 100, 200, 300], SlowCalls::Last),
            (&[100, 300, 100, 100, 300, 100], SlowCalls::Anywhere),
            (&[100, 100, 100], SlowCalls::Anywhere),
        ];
        for (times, expected) in cases {
            assert_eq!(slow_calls(times, &[]), *expected, "{times:?}");
        }
        // Two of six run another kernel.
        let table = Timetable::new()
            .work("aten::mm", "gemm_256", 0..100)
            .work("aten::mm", "gemm_64", 100..400)
            .work("aten::mm", "gemm_256", 400..500)
            .work("aten::mm", "gemm_256", 500..600)
            .work("aten::mm", "gemm_64", 600..900)
            .work("aten::mm", "gemm_256", 900..1_000);
        let profile = table.profile();
        let gemm = &profile.operations()[0];
        assert_eq!(SlowCalls::of(&profile, gemm), SlowCalls::OtherKernel);
        // Two of six take twice as long while an all-reduce runs.
        let times = [100, 200, 100, 100, 200, 100];
        let concurrent = slow_calls(&times, &[120..280, 520..680]);
        assert_eq!(concurrent, SlowCalls::BesideCommunication);
        // All calls are concurrent with an all-reduce, so it explains nothing.
        let all = slow_calls(&times, &[0..400, 400..800]);
        assert_eq!(all, SlowCalls::Anywhere);
    }
}
