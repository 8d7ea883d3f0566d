//! GPU time, split among the operations.
//!
//! | split | what is split |
//! |---|---|
//! | [`Shares::of_computation`] | the time in which anything is computed |
//! | [`Shares::of_run`] | the time in which only one kind of activity runs: computation, communication or copies |
//!
//! Kernels that run at the same time get equal shares of that time, so the shares add up to exactly the time that is
//! split, even if streams overlap.
//!
//! ```text
//! stream 7  [======= add =======)        add has 10 ms of the computation, but 4 ms of the run:
//! stream 9  [=== all-reduce ===)         without it the all-reduce would take its 6 ms nevertheless
//! ms        0    2    4    6    8   10
//! ```

use std::sync::Arc;

use crate::base::sort::Arrange;
use crate::profile::Profile;
use crate::profile::gpu::kernels::Running;
use crate::profile::gpu::timeline::GpuClass;
use crate::trace::StringId;

/// Number of fractional bits of the shares, in units of a nanosecond.
const FRACTION_BITS: u32 = 32;

/// Time of a trace, split among its operations.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Shares {
    /// By position in [`Profile::operations`].
    pub(crate) operations_ns: Vec<i64>,
    /// Time that belongs to no operation.
    pub(crate) others_ns: i64,
}

impl Shares {
    /// Splits the computation time of the GPU activity that counts.
    pub(crate) fn of_computation(profile: &Profile) -> Shares {
        Shares::of(profile, |running| {
            (running.class == GpuClass::Computation).then_some(Running {
                gpu: None,
                ..running
            })
        })
    }

    /// Splits the run: on each GPU, the time in which activity of exactly one class runs. The rest is not assigned,
    /// because removing a single class would not shorten it. In a window, activity of other windows counts too, but
    /// belongs to no operation.
    pub(crate) fn of_run(profile: &Profile) -> Arc<Shares> {
        profile.once(|| Shares::of(profile, Some))
    }

    fn of(profile: &Profile, counted_as: impl Fn(Running) -> Option<Running>) -> Shares {
        // The last owner collects what belongs to no operation.
        let nobody = profile.operations().len();
        let own = profile.gpu.iter().filter_map(|(id, work)| {
            let owner = profile.owner_of(id).map_or(nobody, |owner| owner.operation);
            let work = work.running(&profile.trace);
            let span = profile.counted(work.span)?;
            Some((owner, Running { span, ..work }))
        });
        let others = profile.overlapping_work().map(|work| (nobody, work));
        let mut gpus: Vec<Option<StringId>> = Vec::new();
        let mut spans: Vec<Span> = Vec::new();
        for (owner, work) in own.chain(others) {
            let Some(work) = counted_as(work) else {
                continue;
            };
            let known = gpus.iter().rposition(|gpu| *gpu == work.gpu);
            let gpu = known.unwrap_or_else(|| {
                gpus.push(work.gpu);
                gpus.len() - 1
            });
            spans.push(Span {
                start_ns: work.span.start_ns,
                end_ns: work.span.end_ns,
                owner,
                gpu,
                class: work.class,
            });
        }
        let mut operations_ns = split(&spans, nobody + 1, gpus.len());
        Shares {
            others_ns: operations_ns.pop().unwrap_or(0),
            operations_ns,
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Span {
    start_ns: i64,
    end_ns: i64,
    owner: usize,
    gpu: usize,
    class: GpuClass,
}

/// What runs on one GPU, by class, with the clock of each class.
#[derive(Debug, Clone, Copy, Default)]
struct Lane {
    n_open: [i128; 3],
    clock: [i128; 3],
}

impl Lane {
    /// The class that runs alone.
    fn alone(&self) -> Option<usize> {
        let mut open = (0..self.n_open.len()).filter(|class| self.n_open[*class] > 0);
        open.next().filter(|_| open.next().is_none())
    }
}

/// The time of each owner in whole nanoseconds. They add up to the time in which spans of exactly one class are open on
/// a GPU.
///
/// Each class of a GPU has a clock. It stops while nothing of the class runs or something else does, and advances at
/// 1/n speed while n such spans are open on all GPUs. A span's share is how far the clock advances between its start
/// and its end.
fn split(spans: &[Span], n_owners: usize, n_gpus: usize) -> Vec<i64> {
    let mut edges: Vec<(i64, bool, usize)> = Vec::with_capacity(spans.len() * 2);
    for (at, span) in spans.iter().enumerate() {
        if span.start_ns < span.end_ns {
            edges.push((span.start_ns, true, at));
            edges.push((span.end_ns, false, at));
        }
    }
    edges.arrange();
    let mut lanes = vec![Lane::default(); n_gpus];
    let mut union_ns = 0_i128;
    let mut last_ns = 0_i64;
    let mut started = vec![0_i128; spans.len()];
    let mut shares = vec![0_i128; n_owners];
    for (ns, is_start, at) in edges {
        if ns > last_ns {
            let n_open = |lane: &Lane| lane.alone().map_or(0, |class| lane.n_open[class]);
            let n_alone: i128 = lanes.iter().map(n_open).sum();
            if n_alone > 0 {
                let passed = i128::from(ns) - i128::from(last_ns);
                union_ns += passed;
                for lane in &mut lanes {
                    if let Some(class) = lane.alone() {
                        lane.clock[class] += (passed << FRACTION_BITS) / n_alone;
                    }
                }
            }
        }
        last_ns = ns;
        let Some((span, lane)) = spans
            .get(at)
            .and_then(|span| Some((span, lanes.get_mut(span.gpu)?)))
        else {
            continue;
        };
        let class = span.class as usize;
        if is_start {
            lane.n_open[class] += 1;
            started[at] = lane.clock[class];
        } else {
            lane.n_open[class] -= 1;
            if let Some(share) = shares.get_mut(span.owner) {
                *share += lane.clock[class] - started[at];
            }
        }
    }
    whole(&shares, union_ns)
}

/// Rounds so that the sum is `whole_ns`: down, then up for the largest remainders.
fn whole(shares: &[i128], whole_ns: i128) -> Vec<i64> {
    let mut rounded: Vec<i128> = shares.iter().map(|share| share >> FRACTION_BITS).collect();
    let mut missing = whole_ns - rounded.iter().sum::<i128>();
    let mut by_rest: Vec<usize> = (0..shares.len()).filter(|at| shares[*at] > 0).collect();
    by_rest.arrange_by_largest(|at| shares[*at] & ((1 << FRACTION_BITS) - 1));
    while missing > 0 && !by_rest.is_empty() {
        for at in &by_rest {
            if missing == 0 {
                break;
            }
            rounded[*at] += 1;
            missing -= 1;
        }
    }
    let bounded = rounded.into_iter();
    bounded
        .map(|ns| i64::try_from(ns).unwrap_or(i64::MAX))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Timetable;

    const NCCL: &str = "ncclDevKernel_AllReduce";

    fn spans(all: &[(i64, i64, usize)]) -> Vec<Span> {
        let span = |&(start_ns, end_ns, owner): &(i64, i64, usize)| Span {
            start_ns,
            end_ns,
            owner,
            gpu: 0,
            class: GpuClass::Computation,
        };
        all.iter().map(span).collect()
    }

    /// ```text
    /// ns   0    10   20   30   40
    /// a    [=========)              alone, then with b
    /// b         [=========)         with a, then with c
    /// c              [=========)    with b, then alone
    /// ```
    #[test]
    fn what_runs_at_once_shares_the_time() {
        let times = split(&spans(&[(0, 20, 0), (10, 30, 1), (20, 40, 2)]), 3, 1);
        assert_eq!(times, [15, 10, 15]);
    }

    #[test]
    fn shares_sum_up_to_the_union_exactly() {
        // 10 ns shared by three: 3⅓ each. One of them gets the remaining nanosecond.
        assert_eq!(
            split(&spans(&[(0, 10, 0), (0, 10, 1), (0, 10, 2)]), 3, 1),
            [4, 3, 3]
        );
        let many: Vec<(i64, i64, usize)> = (0..97).map(|at| (at, 1000 + at * 7, 1)).collect();
        let mut all = many.clone();
        all.extend([(3, 777, 0), (5_000, 5_001, 2), (9, 9, 2)]);
        // The union covers 0 to 1672, plus one nanosecond.
        assert_eq!(split(&spans(&all), 3, 1).iter().sum::<i64>(), 1_673);
    }

    #[test]
    fn impossible_times_do_not_overflow() {
        let times = split(
            &spans(&[(i64::MIN, i64::MAX, 0), (i64::MIN, i64::MAX, 1)]),
            2,
            1,
        );
        assert_eq!(times, [i64::MAX, i64::MAX]);
    }

    #[test]
    fn computation_belongs_to_the_operation_that_launched_it() {
        let profile = Timetable::new()
            .work("aten::mm", "gemm", 100..140)
            .stream(8)
            .work("aten::add", "add", 120..160)
            .work("aten::add", "Memcpy DtoH", 160..200)
            .kernel(9, "unlinked", 300..310)
            .profile();
        let names: Vec<&str> = profile
            .operations()
            .iter()
            .map(|operation| operation.short_name(&profile))
            .collect();
        assert_eq!(names, ["aten::add", "aten::mm", "unlinked"]);
        let all = Shares::of_computation(&profile);
        assert_eq!(all.operations_ns, [30_000, 30_000, 10_000]);
        assert_eq!(all.others_ns, 0);
    }

    /// ```text
    /// µs        0    10   20   30   40   50   60
    /// stream 7  [======== mm ========)[add)
    /// stream 9       [all-reduce)[copy)
    /// ```
    #[test]
    fn of_the_run_an_operation_has_what_passes_for_its_kind_of_work_alone() {
        let profile = Timetable::new()
            .work("aten::mm", "gemm", 100..140)
            .work("aten::add", "add", 140..150)
            .stream(9)
            .work("c10d::allreduce_", NCCL, 110..120)
            .work("aten::copy_", "Memcpy HtoD (Pinned -> Device)", 130..145)
            .profile();
        let named = |shares: Shares| -> Vec<(&str, i64)> {
            let names = profile.operations().iter();
            let names = names.map(|operation| operation.short_name(&profile));
            let times = shares.operations_ns.into_iter().map(|ns| ns / 1000);
            names.zip(times).collect()
        };
        // 10 µs of the GEMM are concurrent with the all-reduce and 10 µs with the copy; 5 µs of the addition are
        // concurrent with the copy.
        let run = Shares::of_run(&profile);
        // Exactly one class runs in 100 to 110, 120 to 130 and 145 to 150; the all-reduce and the copy never run alone.
        assert_eq!(run.others_ns, 0);
        let run = named((*run).clone());
        let of = |name: &str| run.iter().find(|(known, _)| *known == name).unwrap().1;
        assert_eq!(
            (of("aten::mm"), of("aten::add"), of("aten::copy_")),
            (20, 5, 0)
        );
        let computation = named(Shares::of_computation(&profile));
        assert!(computation.contains(&("aten::mm", 40)));
    }

    /// ```text
    /// µs     0         10        20
    /// GPU 0  [== mm ==)[==== nccl)
    /// GPU 1  [==== nccl)[== mm ==)
    /// ```
    #[test]
    fn what_another_gpu_waits_for_is_time_of_the_run() {
        let profile = Timetable::new()
            .work("aten::mm", "gemm", 100..110)
            .work("c10d::allreduce_", NCCL, 110..120)
            .gpu(1)
            .work("aten::mm", "gemm", 110..120)
            .work("c10d::allreduce_", NCCL, 100..110)
            .profile();
        let run = Shares::of_run(&profile);
        // Each interval of ten µs has two halves: the GEMM's, and that of the waiting GPU.
        assert_eq!(run.operations_ns, [10_000]);
        assert_eq!(run.others_ns, 10_000);
    }
}
