//! Ranks that hide each other, and hosts on which all ranks are slow.

use super::{GEMM, MS, cards, found};
use crate::job::cards::JobCard;
use crate::job::testing::TestJob;

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
        ["On all of them kernels are launched late; meanwhile most are in `Data loading`."]
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
