//! How much longer the CPU of a rank takes for the same operators than those of other ranks.

use crate::base::map::Map;
use crate::base::stats::median;
use crate::job::Job;

/// An operator counts as slower from this ratio on.
const SLOWER: f64 = 1.1;

/// A slow CPU slows down all that runs on it; a single operator has another cause.
const LEAST_OPERATORS: usize = 3;

/// The share of calls, in percent, whose operators have to be slower.
const NEARLY_ALL_PERCENT: f64 = 90.0;

/// An operator that a rank calls.
struct Calls {
    count: f64,
    /// The mean time of a call on the rank, and the median of that on other ranks.
    own_ns: f64,
    others_ns: f64,
}

/// How many times as long the CPU of a rank takes for the same calls, if it takes longer for nearly all of them.
pub(crate) fn slower_cpu(job: &Job, rank: usize) -> Option<f64> {
    let calls = shared_calls(job, rank);
    let slower = calls.iter().filter(|of| of.own_ns >= of.others_ns * SLOWER);
    let slower: Vec<&Calls> = slower.collect();
    let n_calls: f64 = calls.iter().map(|of| of.count).sum();
    let total = |of_call: fn(&Calls) -> f64| -> f64 {
        slower.iter().map(|of| of.count * of_call(of)).sum()
    };
    let is_nearly_all = total(|_| 1.0) * 100.0 >= n_calls * NEARLY_ALL_PERCENT;
    if slower.len() < LEAST_OPERATORS || !is_nearly_all {
        return None;
    }
    Some(total(|of| of.own_ns) / total(|of| of.others_ns))
}

/// The operators that a rank and at least one other call.
fn shared_calls(job: &Job, rank: usize) -> Vec<Calls> {
    let mut of_others: Map<&str, Vec<f64>> = Map::default();
    let mut own = Vec::new();
    for (at, of) in job.ranks.iter().enumerate() {
        for calls in &of.digest.cpu_ops {
            let (op, ns) = (
                of.digest.text(calls.op),
                calls.self_ns as f64 / calls.calls.max(1) as f64,
            );
            match at == rank {
                true => own.push((op, calls.calls, ns)),
                false => of_others.entry(op).or_default().push(ns),
            }
        }
    }
    let shared = own.into_iter().filter_map(|(op, count, own_ns)| {
        let others_ns = median(of_others.get(op)?.clone());
        (others_ns > 0.0).then_some(Calls {
            count: count as f64,
            own_ns,
            others_ns,
        })
    });
    shared.collect()
}

#[cfg(test)]
mod tests {
    use super::slower_cpu;
    use crate::job::digest::CpuCalls;
    use crate::job::testing::TestJob;

    /// What the CPU of rank 1 of 3 takes relative to others, if calls of three operators take this many microseconds on
    /// it, and 10 on others.
    fn ratio(us: [i64; 3]) -> Option<f64> {
        let mut job = TestJob::new(3).job();
        for (rank, of) in job.ranks.iter_mut().enumerate() {
            of.digest.texts = ["", "aten::mm", "aten::add", "aten::view"]
                .map(str::to_owned)
                .to_vec();
            let calls = us.into_iter().zip(1..).map(|(us, op)| CpuCalls {
                op,
                calls: 100,
                self_ns: 100_000 * if rank == 1 { us } else { 10 },
            });
            of.digest.cpu_ops = calls.collect();
        }
        slower_cpu(&job, 1)
    }

    #[test]
    fn a_cpu_is_slower_if_it_is_in_nearly_all_calls() {
        assert_eq!(ratio([26, 26, 26]), Some(2.6));
        assert_eq!(ratio([10, 10, 80]), None);
        assert_eq!(ratio([10, 10, 10]), None);
    }
}
