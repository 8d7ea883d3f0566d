//! Ranks that hide each other, and hosts on which all ranks are slow.

use super::{GEMM, MS, cards, found};
use crate::job::cards::JobCard;
use crate::job::testing::{TestJob, TestWork};

/// Eight ranks, four steps: the same ten calls take `work_ms` on each rank, then all meet in an all-reduce.
fn of_eight(work_ms: [i64; 8]) -> TestJob {
    of_eight_late(work_ms, [0; 8])
}

/// The same with CPUs that load data for `late_ms` before that.
fn of_eight_late(work_ms: [i64; 8], late_ms: [i64; 8]) -> TestJob {
    let ranks: Vec<u32> = (0..8).collect();
    let own_ms = [0, 1, 2, 3, 4, 5, 6, 7].map(|at| work_ms[at] + late_ms[at]);
    let length_ns = (own_ms.into_iter().max().unwrap() + 2) * MS;
    let mut job = TestJob::new(8);
    for step in 0..4_i64 {
        let start_ns = step * length_ns;
        job.step(step as u64, start_ns, start_ns + length_ns);
        job.same_calls(step as u32, &GEMM, &work_ms);
        let spans = own_ms.map(|ms| (start_ns + ms * MS, start_ns + length_ns));
        for (rank, ms) in late_ms.into_iter().enumerate().filter(|(_, ms)| *ms > 0) {
            job.late(rank, spans[rank].0, ms * MS, "Data loading");
        }
        job.run("0 default_pg", "allreduce", &ranks, &spans);
    }
    job.on_gpus()
}

/// Of eight ranks, 2 and 5 take 30 ms instead of 20: if one of them is fixed, the others wait for the other one.
#[test]
fn slow_ranks_that_hide_each_other_are_worth_something_together() {
    let found = found(of_eight([20, 20, 30, 20, 20, 30, 20, 20]));
    assert_eq!(found[0], ("slow_rank".to_owned(), vec![2, 5], Some(40)));
    assert!(found.iter().all(|of| of.0 != "slow_kernels_without_effect"));
}

/// Rank 2 takes 60 ms, 5 takes 22: nearly all is saved if rank 2 alone is fixed.
#[test]
fn a_rank_that_hides_little_is_named_alone() {
    let found = found(of_eight([20, 20, 60, 20, 20, 22, 20, 20]));
    assert_eq!(found[0], ("slow_rank".to_owned(), vec![2], Some(152)));
}

/// Rank 2 takes 40 ms, 4 and 6 take 30: if rank 2 is fixed, the others wait for these two.
#[test]
fn slow_ranks_behind_a_slower_one_are_worth_something_with_it() {
    let job = of_eight([20, 20, 40, 20, 30, 20, 30, 20]).job();
    let cards = cards(&job);
    let slow: Vec<&JobCard> = cards
        .iter()
        .filter(|of| of.key.starts_with("slow"))
        .collect();
    // One problem, one finding: its table has what each is worth alone.
    let [card] = slow.as_slice() else {
        panic!("{slow:#?}");
    };
    assert_eq!(
        (&card.ranks[..], card.saving_ns),
        (&[2, 4, 6][..], Some(80 * MS))
    );
    assert!(
        card.issue.ends_with("They hide each other: fixing only rank 2 saves 10.0 ms a step of that; then the others wait for the next."),
        "{}",
        card.issue
    );
    assert_eq!(
        card.tables[0].rows,
        [
            ["2", "the same kernels take 2.00×", "all steps", "10.0 ms"],
            ["4", "the same kernels take 1.50×", "all steps", "–"],
            ["6", "the same kernels take 1.50×", "all steps", "–"],
        ]
    );
}

/// Rank 4 takes 30 ms for what the others do in 20, but all wait 40 ms for rank 2, which loads data for 20.
#[test]
fn a_slow_rank_behind_a_late_one_is_without_effect() {
    let slow = [20, 20, 20, 20, 30, 20, 20, 20];
    let found = found(of_eight_late(slow, [0, 0, 20, 0, 0, 0, 0, 0]));
    let expected = [
        ("late_host".to_owned(), vec![2], Some(40)),
        ("slow_kernels_without_effect".to_owned(), vec![4], None),
    ];
    assert_eq!(found[..2], expected);
}

/// Ranks 1 and 6 load data for 12 ms: if one of them is on time, the others wait for the other one.
#[test]
fn late_ranks_that_hide_each_other_are_worth_something_together() {
    let found = found(of_eight_late([20; 8], [0, 12, 0, 0, 0, 0, 12, 0]));
    assert_eq!(found[0], ("late_host".to_owned(), vec![1, 6], Some(48)));
}

/// All ranks load data for 12 ms of 34: none delays another.
#[test]
fn ranks_that_are_all_late_are_one_finding() {
    let late = found(of_eight_late([20; 8], [12; 8]));
    assert_eq!(late[0], ("all_late".to_owned(), vec![], Some(48)));
    // 1 ms of 23.
    let early = found(of_eight_late([20; 8], [1; 8]));
    assert_eq!(early, []);
}

/// Half of the ranks take 24 ms instead of 20.
#[test]
fn a_slow_half_of_the_ranks_is_reported() {
    let found = found(of_eight([20, 20, 20, 20, 24, 24, 24, 24]));
    let expected = ("slow_rank".to_owned(), vec![4, 5, 6, 7], Some(16));
    assert_eq!(found[0], expected);
}

/// The card of the host of ranks 6 and 7: one finding for one problem.
fn of_slow_host(job: TestJob) -> JobCard {
    let job = job.host(6, "b", 0, 0.0).host(7, "b", 0, 0.0).job();
    let mut cards = cards(&job);
    let findings: Vec<_> = cards
        .iter()
        .map(|card| (&*card.key, &*card.ranks))
        .collect();
    assert_eq!(findings, [("slow_host", &[6, 7][..]), ("no_waiting", &[])]);
    cards.remove(0)
}

#[test]
fn all_ranks_of_a_host_that_are_slow_are_a_slow_host() {
    let card = of_slow_host(of_eight([20, 20, 20, 20, 20, 20, 30, 30]));
    assert_eq!(card.saving_ns, Some(40 * MS));
    assert_eq!(
        card.reasoning,
        ["On all of them the same kernels take longer than elsewhere, up to 1.50×."]
    );
}

/// Both CPUs of host b load data for 12 ms.
#[test]
fn a_host_on_which_all_launch_late_says_what_they_do() {
    let card = of_slow_host(of_eight_late([20; 8], [0, 0, 0, 0, 0, 0, 12, 12]));
    assert_eq!(
        card.reasoning,
        ["On all of them kernels are launched late; meanwhile most are in data loading."]
    );
}

/// Four pairs of ranks that share their layers; the last pair has three times the work. Both have as much as their
/// partner, and fixing only one of them saves nothing.
#[test]
fn ranks_that_share_layers_and_have_more_work_are_reported_together() {
    let mut job = TestJob::new(8);
    let works_ms = [10, 10, 10, 10, 10, 10, 30, 30];
    for step in 0..4 {
        let start_ns = step * 33 * MS;
        job.step(step as u64, start_ns, start_ns + 33 * MS);
        for (pair, works_ms) in works_ms.chunks(2).enumerate() {
            let ranks = [2 * pair as u32, 2 * pair as u32 + 1];
            let at_ns = start_ns + works_ms[0] * MS;
            let name = format!("{} mesh_tp", pair + 1);
            job.run(&name, "allreduce", &ranks, &[(at_ns, at_ns + MS); 2]);
        }
        let spans = works_ms.map(|ms| (start_ns + (ms + 1) * MS, start_ns + 33 * MS));
        job.run(
            "0 default_pg",
            "allreduce",
            &[0, 1, 2, 3, 4, 5, 6, 7],
            &spans,
        );
        job.more_calls(step as u32, &GEMM, &works_ms);
    }
    let found = found(job.on_gpus());
    assert_eq!(found[0], ("uneven_work".to_owned(), vec![6, 7], Some(80)));
}

/// Four ranks share a sequence, four steps: these are the times of their attention, in calls of 10 ms.
fn of_sequence(calls: [u32; 4]) -> TestJob {
    const ATTENTION: TestWork = TestWork {
        kernel: "flash_fwd_kernel",
        op: "aten::_scaled_dot_product_flash_attention",
        shapes: "8×8",
        category: "Attention",
    };
    let mut job = TestJob::new(4);
    let length_ns = i64::from(calls.into_iter().max().unwrap()) * 10 * MS + 2 * MS;
    for step in 0..4_i64 {
        let start_ns = step * length_ns;
        job.step(step as u64, start_ns, start_ns + length_ns);
        for (rank, n) in calls.into_iter().enumerate() {
            job.work(rank, step as u32, &ATTENTION, n, i64::from(n) * 10 * MS);
        }
        let spans = calls.map(|n| (start_ns + i64::from(n) * 10 * MS, start_ns + length_ns));
        job.run("1 mesh_cp", "allreduce", &[0, 1, 2, 3], &spans);
    }
    job.on_gpus()
}

/// 10 to 40 ms: 25 on each rank would do.
#[test]
fn causal_attention_that_grows_with_the_rank_is_uneven() {
    let ranks = vec![0, 1, 2, 3];
    let found = found(of_sequence([1, 2, 3, 4]));
    assert_eq!(found[0], ("uneven_sequence".to_owned(), ranks, Some(60)));
    assert!(found.iter().all(|of| of.0 != "uneven_work"));
    assert_eq!(self::found(of_sequence([2, 2, 2, 2])), []);
    let other = self::found(of_sequence([2, 2, 4, 2]));
    assert_eq!(other[0].0, "uneven_work");
}

/// In each of four steps two other ranks have twice the work of the others, and hide each other.
#[test]
fn work_that_is_uneven_on_other_ranks_in_each_step_is_said_so() {
    let mut job = TestJob::new(4);
    for step in 0..4_i64 {
        let start_ns = step * 42 * MS;
        job.step(step as u64, start_ns, start_ns + 42 * MS);
        let spans = [0, 1, 2, 3].map(|rank| {
            let is_large = rank == step || rank == (step + 1) % 4;
            let n = if is_large { 20 } else { 10 };
            job.work(rank as usize, step as u32, &GEMM, n, i64::from(n) * 2 * MS);
            (start_ns + i64::from(n) * 2 * MS, start_ns + 42 * MS)
        });
        job.run("0 default_pg", "allreduce", &[0, 1, 2, 3], &spans);
    }
    let job = job.on_gpus().job();
    let cards = cards(&job);
    assert_eq!(cards[0].title, "In each step, other ranks have more work");
    assert_eq!(cards[0].saving_ns, Some(80 * MS));
    assert_eq!(cards[0].ranks, [0, 1, 2, 3]);
}
