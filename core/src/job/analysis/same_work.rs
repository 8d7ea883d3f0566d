//! The same work on several ranks: which ranks take longer for it, and which have more of it.
//!
//! The same kernel with the same shapes counts as the same work on all ranks. The amount of work of a rank is compared
//! only with ranks of its own pipeline stage, since other stages do something else.

mod extra;
mod slow;
mod speed;

use serde::Serialize;

use super::roles::Layout;
use crate::base::interval::sum;
use crate::base::map::{Map, Set};
use crate::base::sort::{Arrange, Arranged};
use crate::base::stats::medians_of_others;
use crate::job::Job;
use crate::job::digest::TextId;

pub(crate) use extra::MoreWork;
pub(crate) use slow::{SlowCategory, SlowKernel, SlowWork};
pub(crate) use speed::SlowSpeed;

/// Ranks have the same work if it differs by no more than this share.
const ALIKE: f64 = 0.1;

/// Kernels count as slower from this ratio on.
pub(crate) const LEAST_RATIO: f64 = 1.05;

/// The work of a rank in a step, or in all steps, compared with the same work of the others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(crate) struct Same {
    /// All kernels, or without a GPU all operators.
    pub(crate) total_ns: i64,
    /// How long work that at least two ranks do takes.
    pub(crate) shared_ns: i64,
    /// How long the same number of calls of that work takes at the median of all ranks.
    pub(crate) expected_ns: i64,
    /// How much more work it has than is usual in its stage, at the speed of the others; negative for less.
    pub(crate) more_ns: i64,
}

impl Same {
    /// How many times as long as on the others the same work takes; `None` where no other rank does it.
    pub(crate) fn ratio(&self) -> Option<f64> {
        (self.expected_ns > 0).then(|| self.shared_ns as f64 / self.expected_ns as f64)
    }

    /// How much longer its work takes than at the speed of the others.
    pub(crate) fn slower_ns(&self) -> i64 {
        self.total_ns.saturating_sub(self.at_speed_of_others_ns())
    }

    /// How long all of its work would take at the speed of the others.
    fn at_speed_of_others_ns(&self) -> i64 {
        let alone_ns = self.total_ns.saturating_sub(self.shared_ns);
        let ratio = self.ratio().unwrap_or(1.0);
        let alone_ns = match ratio > 0.0 {
            true => (alone_ns as f64 / ratio).round() as i64,
            false => alone_ns,
        };
        self.expected_ns.saturating_add(alone_ns)
    }
}

/// The same work on all ranks.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct SameWork {
    /// Indexed by step of the job, then by rank.
    pub(crate) of_steps: Vec<Vec<Same>>,
    /// Indexed by rank, including what belongs to no step.
    pub(crate) of_ranks: Vec<Same>,
    /// The work that takes longer than on other ranks, limited for each rank; largest excess first.
    pub(crate) slow: Vec<SlowWork>,
    /// Work that some ranks have and others lack, largest time first.
    pub(crate) more: Vec<MoreWork>,
    /// Steps in which all ranks are slow, in order.
    #[serde(skip)]
    pub(crate) slow_steps: Vec<SlowSpeed>,
    #[serde(skip)]
    items: Vec<Item>,
    #[serde(skip)]
    texts: Vec<String>,
}

/// Kernel, operator and shapes, as texts of the job.
type Key = (TextId, TextId, TextId);

/// A row of a rank's work.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Item {
    step: Option<usize>,
    key: Key,
    rank: usize,
    category: TextId,
    calls: u64,
    total_ns: i64,
    /// Number of ranks with the same key in the same step.
    n_ranks: usize,
    /// Expected time of the same number of calls, from the median; `None` where no other rank has any.
    expected_ns: Option<i64>,
}

/// Where several ranks are slow, the median of work that few ranks share may be that of slow ones. If a rank shares at
/// least this much of its work with half of all ranks, only that work counts; otherwise, if it shares this much with
/// more than one other rank, only that.
const LEAST_WITH_SEVERAL_PERCENT: i64 = 20;

impl SameWork {
    pub(crate) fn new(job: &Job, layout: &Layout) -> SameWork {
        let n_ranks = job.ranks.len();
        let (mut items, texts) = items(job);
        let mut same = SameWork {
            of_steps: vec![vec![Same::default(); job.ranks.len()]; job.steps.len()],
            of_ranks: vec![Same::default(); job.ranks.len()],
            ..SameWork::default()
        };
        for of_key in
            items.chunk_by_mut(|one, other| (one.step, one.key) == (other.step, other.key))
        {
            expect(of_key, n_ranks, job.has_gpu());
        }
        leave_out_rare(&mut items, n_ranks);
        for item in &items {
            let step = item
                .step
                .and_then(|at| same.of_steps.get_mut(at)?.get_mut(item.rank));
            for sum in step.into_iter().chain(same.of_ranks.get_mut(item.rank)) {
                sum.total_ns = sum.total_ns.saturating_add(item.total_ns);
                if let Some(ns) = item.expected_ns {
                    sum.shared_ns = sum.shared_ns.saturating_add(item.total_ns);
                    sum.expected_ns = sum.expected_ns.saturating_add(ns);
                }
            }
        }
        for row in same.of_steps.iter_mut().chain([&mut same.of_ranks]) {
            let all: Vec<i64> = row.iter().map(Same::at_speed_of_others_ns).collect();
            let others = layout.of_stages(&all, usual);
            for (same, (own, others)) in row.iter_mut().zip(all.iter().zip(others)) {
                same.more_ns = match n_ranks {
                    0 | 1 => 0,
                    _ => own.saturating_sub(others),
                };
            }
        }
        items.arrange_by_key(|item| (item.key, item.rank, item.step));
        same.slow = slow::find(&items, &texts);
        same.more = extra::find(&items, &texts, layout, job.ranks.len());
        same.slow_steps = speed::find(&items, job.steps.len(), job.ranks.len());
        (same.items, same.texts) = (items, texts);
        same
    }

    /// How many times as long as the others a rank takes for the same work in a step.
    pub(crate) fn ratio(&self, step: usize, rank: usize) -> Option<f64> {
        self.of_steps.get(step)?.get(rank)?.ratio()
    }
}

/// All rows of all ranks, by step, key and rank; and their texts.
fn items(job: &Job) -> (Vec<Item>, Vec<String>) {
    let mut texts: Set<&str> = Set::default();
    let mut items = Vec::new();
    for (rank, of) in job.ranks.iter().enumerate() {
        let digest = &of.digest;
        let mut own: Vec<Option<TextId>> = vec![None; digest.texts.len()];
        let mut id = |local: TextId| {
            if let Some(Some(id)) = own.get(local as usize) {
                return *id;
            }
            let id = texts.number(digest.text(local)) as TextId;
            if let Some(own) = own.get_mut(local as usize) {
                *own = Some(id);
            }
            id
        };
        let own_steps: Vec<Option<usize>> = (0..digest.steps.len() as u32)
            .map(|own| {
                let mut steps = job.steps.iter();
                steps.position(|step| step.of_rank.get(rank) == Some(&Some(own)))
            })
            .collect();
        for work in &digest.work {
            items.push(Item {
                step: work
                    .step
                    .and_then(|own| own_steps.get(own as usize).copied().flatten()),
                key: (id(work.kernel), id(work.op), id(work.shapes)),
                rank,
                category: id(work.category),
                calls: u64::from(work.calls),
                total_ns: work.total_ns,
                n_ranks: 1,
                expected_ns: None,
            });
        }
    }
    items.arrange_by_key(|item| (item.step, item.key, item.rank));
    (items, texts.into_iter().map(str::to_owned).collect())
}

/// Sets the expected time of ranks with the same work in the same step: from the median of their means. In a job of two
/// ranks that is the faster one. Where half of the ranks may be slow, it is the faster one of the middle two if these
/// are far apart, since no rank takes a time between them.
fn expect(of_key: &mut [Item], n_ranks: usize, may_be_halves: bool) {
    if of_key.len() < 2 {
        return;
    }
    let means = (of_key.iter())
        .map(|item| item.total_ns as f64 / item.calls.max(1) as f64)
        .arranged_by(f64::total_cmp);
    let last = means.len() - 1;
    let (low, high) = (means[last / 2], means[last.div_ceil(2)]);
    let are_apart = may_be_halves && high >= low * LEAST_RATIO;
    let median = if n_ranks == 2 || are_apart {
        low
    } else {
        low.midpoint(high)
    };
    let n_ranks = of_key.len();
    for item in of_key {
        item.n_ranks = n_ranks;
        item.expected_ns = Some((median * item.calls as f64).round() as i64);
    }
}

/// Drops the comparisons of work shared by few ranks, for ranks that share enough with many.
fn leave_out_rare(items: &mut [Item], n_ranks: usize) {
    let many = [n_ranks.div_ceil(2).max(3), 3];
    // For each rank, the time of all shared work, and of work shared with at least as many ranks as in `many`.
    let mut sums = vec![(0_i64, [0_i64; 2]); n_ranks];
    for item in items.iter().filter(|item| item.expected_ns.is_some()) {
        if let Some((all, with)) = sums.get_mut(item.rank) {
            *all = all.saturating_add(item.total_ns);
            for (ns, _) in with
                .iter_mut()
                .zip(many)
                .filter(|(_, n)| item.n_ranks >= *n)
            {
                *ns = ns.saturating_add(item.total_ns);
            }
        }
    }
    for item in items {
        let least = sums.get(item.rank).and_then(|(all, with)| {
            let mut enough = with.iter().zip(many).filter(|(ns, _)| {
                ns.saturating_mul(100) >= all.saturating_mul(LEAST_WITH_SEVERAL_PERCENT)
            });
            enough.next().map(|(_, n)| n)
        });
        if least.is_some_and(|least| item.n_ranks < least) {
            item.expected_ns = None;
        }
    }
}

/// For each rank of a stage, how much work it would have if the work were even: as much as the others, where most of
/// them have the same; otherwise the mean of all, since work that one rank gives away goes to the others.
fn usual(works: &[i64]) -> Vec<i64> {
    let all: i64 = sum(works.iter().copied());
    let mean = all / (works.len().max(1) as i64);
    let medians = medians_of_others(works).into_iter().zip(works);
    let usual = medians.map(|(median, own)| {
        let is_alike = |of: &i64| of.abs_diff(median) as f64 <= ALIKE * median as f64;
        let n_others = works.iter().filter(|of| is_alike(of)).count() - usize::from(is_alike(own));
        if n_others * 2 >= works.len() - 1 {
            median
        } else {
            mean
        }
    });
    usual.collect()
}

/// Keeps the first rows of each rank.
fn keep_most<R>(rows: &mut Vec<R>, rank: fn(&R) -> usize) {
    /// Further rows of a rank add little.
    const MOST_ROWS: usize = 50;
    let mut kept: Map<usize, usize> = Map::default();
    rows.retain(|row| {
        let kept = kept.entry(rank(row)).or_default();
        *kept += 1;
        *kept <= MOST_ROWS
    });
}

fn text(texts: &[String], id: TextId) -> String {
    texts.get(id as usize).cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::testing::{GEMM, MS, NORM, TestJob, TestWork};

    /// One step of ranks with some kernels: calls, and milliseconds in total.
    fn same(work: &[(&TestWork, &[(u32, i64)])]) -> SameWork {
        let n_ranks = work.iter().map(|(_, ranks)| ranks.len()).max().unwrap();
        let mut job = TestJob::new(n_ranks as u32);
        job.step(1, 0, 100 * MS);
        for (kernel, ranks) in work {
            for (rank, (calls, ms)) in ranks.iter().enumerate() {
                if *calls > 0 {
                    job.work(rank, 0, kernel, *calls, ms * MS);
                }
            }
        }
        let job = job.job();
        SameWork::new(&job, &Layout::new(&job))
    }

    fn rounded(same: &SameWork) -> Vec<(Option<f64>, i64, i64)> {
        let rows = same.of_steps[0].iter().map(|of| {
            let ratio = of.ratio().map(|ratio| (ratio * 100.0).round() / 100.0);
            (ratio, of.slower_ns() / MS, of.more_ns / MS)
        });
        rows.collect()
    }

    #[test]
    fn the_same_work_is_held_against_the_median_of_all() {
        // Ten calls of 2 ms each, on rank 2 of 3 ms. No rank has more work.
        let same = same(&[(&GEMM, &[(10, 20), (10, 20), (10, 30), (10, 20)])]);
        let (usual, slow) = ((Some(1.0), 0, 0), (Some(1.5), 10, 0));
        assert_eq!(rounded(&same), [usual, usual, slow, usual]);
        let row = &same.slow[0];
        assert_eq!((row.rank, row.calls, row.excess_ns()), (2, 10, 10 * MS));
        assert_eq!(row.mean_ns() as i64, 3 * MS);
        assert_eq!(row.peers_ns() as i64, 2 * MS);
        assert_eq!(same.more, []);
    }

    /// Five steps: in the given ones both ranks take 3 ms for each of ten calls instead of 2.
    #[test]
    fn steps_in_which_all_ranks_are_slow() {
        let slow_steps = |slow: &[i64]| -> Vec<usize> {
            let mut job = TestJob::new(2);
            for step in 0..5_i64 {
                job.step(step as u64, step * 100 * MS, (step + 1) * 100 * MS);
                for rank in 0..2 {
                    let ms = if slow.contains(&step) { 30 } else { 20 };
                    job.work(rank, step as u32, &GEMM, 10, ms * MS);
                }
            }
            let job = job.job();
            let same = SameWork::new(&job, &Layout::new(&job));
            assert!(
                same.slow_steps
                    .iter()
                    .all(|of| (of.factor() - 1.5).abs() < 1e-9)
            );
            same.slow_steps.iter().map(|of| of.step).collect()
        };
        assert_eq!(slow_steps(&[2, 3]), [2, 3]);
        assert_eq!(slow_steps(&[2, 3, 4]), [2, 3, 4]);
        assert_eq!(slow_steps(&[]), Vec::<usize>::new());
        // A warm-up.
        assert_eq!(slow_steps(&[0]), Vec::<usize>::new());
    }

    #[test]
    fn more_calls_are_more_work_and_not_slower() {
        // 2 ms per call everywhere; rank 3 has 15 calls instead of 10.
        let same = same(&[(&GEMM, &[(10, 20), (10, 20), (10, 20), (15, 30)])]);
        assert_eq!(rounded(&same)[3], (Some(1.0), 0, 10));
        let row = &same.more[0];
        let actual = (row.rank, row.calls, row.peers_calls, row.excess_ns);
        assert_eq!(actual, (3, 15, 10, 10 * MS));
    }

    #[test]
    fn the_usual_work_is_that_of_most_others_or_the_mean() {
        assert_eq!(usual(&[20, 20, 30, 20]), [20, 20, 20, 20]);
        assert_eq!(usual(&[20, 30]), [30, 20]);
        // Under a causal mask, parts of a sequence have one to four blocks: the mean is 25.
        assert_eq!(usual(&[10, 20, 30, 40]), [25, 25, 25, 25]);
    }

    #[test]
    fn of_two_ranks_the_quicker_one_is_the_reference() {
        // 2 and 3 ms per call.
        let same = same(&[(&GEMM, &[(10, 20), (10, 30)])]);
        let ratios: Vec<_> = rounded(&same).iter().map(|of| of.0).collect();
        assert_eq!(ratios, [Some(1.0), Some(1.5)]);
    }

    /// Ranks 6 and 7 take 1.5 times as long. For work of only these and rank 5, the median is theirs.
    #[test]
    fn what_few_ranks_share_counts_only_where_they_share_little_else() {
        let mut of_few = [(0, 0); 8];
        (of_few[5], of_few[6], of_few[7]) = ((10, 20), (10, 30), (10, 30));
        let mut of_all = [(10, 20); 8];
        (of_all[6], of_all[7]) = ((10, 30), (10, 30));
        let ratios = |same: &SameWork| -> Vec<_> {
            let rows = rounded(same).into_iter();
            rows.skip(5).map(|(ratio, ..)| ratio).collect()
        };
        let both = same(&[(&GEMM, &of_all), (&NORM, &of_few)]);
        assert_eq!(ratios(&both), [Some(1.0), Some(1.5), Some(1.5)]);
        let few = same(&[(&NORM, &of_few)]);
        assert_eq!(ratios(&few), [Some(0.67), Some(1.0), Some(1.0)]);
    }

    #[test]
    fn work_that_nobody_else_has_gives_no_ratio() {
        let same = same(&[
            (&GEMM, &[(10, 20), (10, 20), (10, 20)]),
            (&NORM, &[(0, 0), (0, 0), (4, 8)]),
        ]);
        // Its 8 ms are more work, at the speed of the rest of its work.
        assert_eq!(rounded(&same)[2], (Some(1.0), 0, 8));
        assert_eq!(same.more[0].op, "aten::layer_norm");
    }
}
