//! Pipelines in which each stage has one rank.

use super::{GEMM, MS, found};
use crate::job::testing::TestJob;

/// A pipeline of four stages, one rank each, four steps: each works for `work_ms` on what it receives from the previous
/// one. Optionally, rank 0 launches 20 ms late in the third step.
///
/// ```text
/// ms         0     20 21         51 52     72 73     93 95
/// rank 0     [work)[S)[all-reduce─────────────────────)
/// rank 1     [receive)[work)     [S)[all-reduce───────)
/// rank 2     [receive─────────────)[work) [S)[─all-r.─)
/// rank 3     [receive───────────────────────)[work)[a.)
/// ```
fn of_four_stages(work_ms: [i64; 4], is_late: bool) -> TestJob {
    let ranks = [0, 1, 2, 3];
    let mut job = TestJob::new(4);
    let mut start_ns = 0;
    for step in 0..4 {
        let late_ns = if is_late && step == 2 { 20 * MS } else { 0 };
        let end_ns = start_ns + late_ns + (work_ms.iter().sum::<i64>() + 5) * MS;
        job.step(step, start_ns, end_ns);
        let mut at_ns = start_ns + late_ns;
        if late_ns > 0 {
            job.late(0, at_ns + work_ms[0] * MS, late_ns, "Data loading");
        }
        let mut done = [0; 4];
        for (rank, ms) in (0..).zip(work_ms) {
            at_ns += ms * MS;
            if rank < 3 {
                let pair = [rank, rank + 1];
                let spans = [(at_ns, at_ns + MS), (start_ns, at_ns + MS)];
                job.send("1 mesh_pp", &ranks, pair, spans);
                at_ns += MS;
            }
            done[rank as usize] = at_ns;
        }
        let spans = done.map(|at_ns| (at_ns, end_ns));
        job.run("0 default_pg", "allreduce", &ranks, &spans);
        start_ns = end_ns;
    }
    job.on_gpus()
}

/// The same ten calls take 30 ms on the rank of the second stage, and 20 on the others: no other rank is in its stage,
/// but the kernels are the same.
#[test]
fn a_slow_rank_that_is_alone_in_its_stage_is_named() {
    let work_ms = [20, 30, 20, 20];
    let mut job = of_four_stages(work_ms, false);
    for step in 0..4 {
        job.same_calls(step, &GEMM, &work_ms);
    }
    assert_eq!(found(job)[0], ("slow_rank".to_owned(), vec![1], Some(40)));
}

#[test]
fn a_rank_that_is_alone_in_its_stage_is_late_in_one_of_its_steps() {
    let found = found(of_four_stages([20; 4], true));
    assert_eq!(found[0], ("late_host".to_owned(), vec![0], Some(20)));
}

/// Stages that do different work do not count as delaying others.
#[test]
fn uneven_stages_of_one_rank_each_make_nobody_slow() {
    let found = found(of_four_stages([50, 20, 20, 20], false));
    let keys: Vec<&str> = found.iter().map(|(key, ..)| key.as_str()).collect();
    let of_pipeline = ["pipeline_bubble", "few_micro_batches"];
    assert!(keys.iter().all(|key| of_pipeline.contains(key)), "{keys:?}");
}

/// One micro-batch for four stages leaves each of them without work for three quarters of the step.
#[test]
fn few_micro_batches_for_the_stages_are_reported() {
    let reports = |job: TestJob| {
        let found = found(job).into_iter();
        found.filter(|(key, ..)| key == "few_micro_batches").count()
    };
    assert_eq!(reports(of_four_stages([20; 4], false)), 1);
    // Four micro-batches for two stages.
    assert_eq!(reports(of_two_stages([20, 20])), 0);
}

/// Two pipelines of two stages; the same ten calls take 30 ms on both ranks of the second stage, and 20 on those of the
/// first. They are equally slow, and if one of them is fixed the first stage waits for the other one.
#[test]
fn a_stage_of_which_all_ranks_are_slow_is_reported() {
    let work_ms = [20, 20, 30, 30];
    let mut job = TestJob::of_two_pipelines(work_ms);
    for step in 0..4 {
        job.same_calls(step, &GEMM, &work_ms);
    }
    let found = found(job.on_gpus());
    assert_eq!(found[0], ("slow_rank".to_owned(), vec![2, 3], Some(40)));
}

/// Two stages and four micro-batches, of which a stage computes `ms` each, in two steps of 2 ms more.
///
/// ```text
/// ms         0    10 11    21        42   52       73     83        104      134 136
/// rank 0     [work)[S)[work)[send────)[work)[send──)[work)[send─────)[all-reduce─────)
/// rank 1     [recv───)[work─────────)[R)[work─────)[R)[work────────)[R)[work─────)[a.)
/// ```
fn of_two_stages(ms: [i64; 2]) -> TestJob {
    let mut job = TestJob::new(2);
    let mut start_ns = 0;
    for step in 0..2 {
        // Where each rank has arrived, and the transfers.
        let (mut at_ns, mut spans) = ([start_ns; 2], Vec::new());
        for _ in 0..4 {
            at_ns[0] += ms[0] * MS;
            let end_ns = at_ns[0].max(at_ns[1]) + MS;
            spans.push([(at_ns[0], end_ns), (at_ns[1], end_ns)]);
            at_ns = [end_ns, end_ns + ms[1] * MS];
        }
        let end_ns = at_ns[1] + 2 * MS;
        job.step(step, start_ns, end_ns);
        for spans in spans {
            job.send("1 mesh_pp", &[0, 1], [0, 1], spans);
        }
        let spans = at_ns.map(|at_ns| (at_ns, end_ns));
        job.run("0 default_pg", "allreduce", &[0, 1], &spans);
        job.more_calls(step as u32, &GEMM, &ms.map(|ms| 4 * ms));
        start_ns = end_ns;
    }
    job.on_gpus()
}

/// 10 + 4 · 30 ms become 20 + 4 · 20 if both stages have 20 ms of each micro-batch.
#[test]
fn a_stage_with_more_work_than_others_is_reported_with_what_even_stages_save() {
    let found_in = |ms| {
        let found = found(of_two_stages(ms)).into_iter();
        let mut found = found.filter(|(key, ..)| key == "uneven_stages");
        found.next()
    };
    let uneven = ("uneven_stages".to_owned(), vec![1], Some(60));
    assert_eq!(found_in([10, 30]), Some(uneven));
    assert_eq!(found_in([20, 20]), None);
}
