use super::find;
use crate::job::Analysis;
use crate::job::testing::{TestJob, TestWork};

const MS: i64 = 1_000_000;

const GEMM: TestWork = TestWork("gemm_kernel", "aten::mm", "8×8, 8×8");

/// Four ranks, four steps of 22 ms: 20 ms of work and an all-reduce of 2 ms. One rank needs so much longer
/// for its work, which the others wait for.
fn job(slow: usize, more_ns: i64) -> TestJob {
    let mut job = TestJob::new(4);
    let length_ns = 22 * MS + more_ns;
    for step in 0..4 {
        let start_ns = step * length_ns;
        job.step(step as u64, start_ns, start_ns + length_ns);
        let spans = [0, 1, 2, 3].map(|rank| {
            let own_ns = 20 * MS + if rank == slow { more_ns } else { 0 };
            (start_ns + own_ns, start_ns + length_ns)
        });
        job.run("0 default_pg", "allreduce", &[0, 1, 2, 3], &spans);
    }
    job
}

/// Key, ranks and worth in milliseconds over all steps.
fn found(job: TestJob) -> Vec<(String, Vec<u32>, Option<i64>)> {
    let job = job.job();
    let cards = find(&job, &Analysis::new(&job)).into_iter();
    let found = cards.map(|card| (card.key, card.ranks, card.worth_ns.map(|ns| ns / MS)));
    found.collect()
}

#[test]
fn a_rank_whose_kernels_are_slow_holds_the_others_up() {
    let mut job = job(1, 10 * MS);
    for (rank, work_ns) in [20, 30, 20, 20].into_iter().enumerate() {
        for step in 0..4 {
            job.work(rank, step, &GEMM, 10, work_ns * MS);
        }
    }
    let found = found(job);
    assert_eq!(found[0], ("slow_rank".to_owned(), vec![1], Some(40)));
    assert_eq!(found.last().unwrap().0, "no_waiting");
}

#[test]
fn a_rank_with_more_calls_has_more_work() {
    let mut job = job(3, 10 * MS);
    for (rank, calls) in [10, 10, 10, 15].into_iter().enumerate() {
        for step in 0..4 {
            job.work(rank, step, &GEMM, calls, i64::from(calls) * 2 * MS);
        }
    }
    assert_eq!(found(job)[0], ("uneven_work".to_owned(), vec![3], Some(40)));
}

#[test]
fn a_host_that_launches_late_is_named_with_what_it_did() {
    let mut late = job(2, 10 * MS);
    for step in 0..4 {
        late.late(2, step * 32 * MS + 30 * MS, 10 * MS, "Data loading");
    }
    assert_eq!(found(late)[0], ("late_host".to_owned(), vec![2], Some(40)));
}

#[test]
fn nothing_is_found_where_all_ranks_are_in_time() {
    assert_eq!(found(job(0, 0)), []);
}

#[test]
fn clocks_that_differ_are_told_and_blame_nobody() {
    let mut job = TestJob::new(4);
    for step in 0..40_i64 {
        let start_ns = step * 22 * MS;
        job.step(step as u64, start_ns, start_ns + 22 * MS);
        let spans = [(start_ns + 20 * MS, start_ns + 22 * MS); 4];
        job.run("0 default_pg", "allreduce", &[0, 1, 2, 3], &spans);
    }
    let job = job.host(2, "b", 5 * MS, 0.0).host(3, "b", 5 * MS, 0.0);
    let found = found(job);
    let keys: Vec<&str> = found.iter().map(|(key, ..)| key.as_str()).collect();
    assert_eq!(keys, ["clocks_apart"]);
}

#[test]
fn what_is_changed_in_nothing_gains_nothing() {
    let job = job(1, 10 * MS).job();
    let analysis = Analysis::new(&job);
    let replay = analysis.replay.as_ref().unwrap();
    let gain = replay.gain(&analysis.flow, &replay.plan());
    assert_eq!((gain.of_steps, gain.total_ns), (vec![0; 4], 0));
}
