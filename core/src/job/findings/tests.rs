mod combined;
mod hang;
mod stages;

use super::find;
use crate::job::cards::JobCard;
use crate::job::files::JobFiles;
use crate::job::testing::{GEMM, MS, TestCollective, TestJob, TestWork};
use crate::job::{Analysis, Job};

const COPY: TestWork = TestWork {
    kernel: "Memcpy HtoD",
    op: "aten::to",
    shapes: "8×8",
    category: "Memory copy",
};

/// An all-reduce of two ranks with this many elements.
fn all_reduce(elements: u64) -> TestCollective<'static> {
    TestCollective {
        group: "0 default_pg",
        name: "allreduce",
        ranks: &[0, 1],
        elements,
    }
}

/// Four ranks, four steps of 22 ms: 20 ms of work and an all-reduce of 2 ms. One rank needs `more_ns` longer for its
/// work, and the others wait for it.
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

fn cards(job: &Job) -> Vec<JobCard> {
    find(job, &Analysis::new(job), &[])
}

/// Key, ranks and saving in milliseconds over all steps.
fn found(job: TestJob) -> Vec<(String, Vec<u32>, Option<i64>)> {
    let cards = cards(&job.job()).into_iter();
    let found = cards.map(|card| (card.key, card.ranks, card.saving_ns.map(|ns| ns / MS)));
    found.collect()
}

#[test]
fn a_rank_whose_kernels_are_slow_holds_the_others_up() {
    let mut job = job(1, 10 * MS);
    for step in 0..4 {
        job.same_calls(step, &GEMM, &[20, 30, 20, 20]);
    }
    let found = found(job);
    assert_eq!(found[0], ("slow_rank".to_owned(), vec![1], Some(40)));
    assert_eq!(found.last().unwrap().0, "no_waiting");
}

/// With 3, 8 and 64 ranks on two clocks 5 ms apart, and with the first, a middle or the last rank slow: 20 ms of work,
/// 30 on the slow one.
#[test]
fn whichever_of_many_ranks_is_slow_is_named() {
    for n in [3_u32, 8, 64] {
        for slow in [0, n / 2, n - 1] {
            let ranks: Vec<u32> = (0..n).collect();
            let mut job = TestJob::new(n);
            for step in 0..24_i64 {
                let start_ns = step * 32 * MS;
                job.step(step as u64, start_ns, start_ns + 32 * MS);
                let own = |rank: &u32| if *rank == slow { 30 * MS } else { 20 * MS };
                for rank in &ranks {
                    job.work(*rank as usize, step as u32, &GEMM, 10, own(rank));
                }
                let spans: Vec<(i64, i64)> = (ranks.iter())
                    .map(|rank| (start_ns + own(rank), start_ns + 32 * MS))
                    .collect();
                job.run("0 default_pg", "allreduce", &ranks, &spans);
            }
            for rank in (n / 2)..n {
                job = job.host(rank as usize, "b", 5 * MS, 0.0);
            }
            let found = found(job);
            let slow_ranks = found.iter().filter(|of| of.0 == "slow_rank");
            let slow_ranks: Vec<(&[u32], i64)> = slow_ranks
                .map(|(_, ranks, savings)| (&ranks[..], savings.unwrap()))
                .collect();
            // 10 ms in each of 24 steps; clocks are accurate to a few nanoseconds.
            let [(ranks, savings)] = slow_ranks.as_slice() else {
                panic!("{n} ranks, {slow} slow: {found:?}");
            };
            assert_eq!(*ranks, [slow]);
            assert!((239..=240).contains(savings), "{savings}");
        }
    }
}

#[test]
fn a_rank_with_more_calls_has_more_work() {
    let mut job = job(3, 10 * MS);
    for step in 0..4 {
        job.more_calls(step, &GEMM, &[20, 20, 20, 30]);
    }
    assert_eq!(found(job)[0], ("uneven_work".to_owned(), vec![3], Some(40)));
}

/// Two groups of three, each with four all-reduces; those of ranks 3 to 5 take 6 ms instead of 2. Rank 2 was not read.
#[test]
fn a_slow_group_is_compared_with_those_that_lack_a_rank() {
    let mut job = TestJob::new(6);
    for step in 0..4 {
        let start_ns = step * 10 * MS;
        job.step(step as u64, start_ns, start_ns + 10 * MS);
        for (group, ranks, ms) in [("1 mesh_dp", [0, 1, 2], 2), ("2 mesh_dp", [3, 4, 5], 6)] {
            let span = (start_ns + MS, start_ns + (1 + ms) * MS);
            job.run(group, "allreduce", &ranks, &[span; 3]);
        }
        let spans = [4, 4, 4, 8, 8, 8].map(|ms| (start_ns + ms * MS, start_ns + 10 * MS));
        job.run("0 default_pg", "barrier", &[0, 1, 2, 3, 4, 5], &spans);
    }
    let job = job.without(&[2]);
    let cards = cards(&job);
    let slow = cards.iter().find(|card| card.key == "slow_link").unwrap();
    assert_eq!(
        (&*slow.ranks, slow.saving_ns),
        (&[3, 4, 5][..], Some(16 * MS))
    );
}

/// Rank 0 gets 600 tokens, the other two 150 each, and works on them for 40 ms instead of 10.
#[test]
fn hot_experts_are_reported_without_a_rank() {
    let mut job = TestJob::new(3);
    for step in 0..4_i64 {
        let start_ns = step * 50 * MS;
        job.step(step as u64, start_ns, start_ns + 50 * MS);
        let gets: [&[u64]; 3] = [&[200, 200, 200], &[50, 50, 50], &[50, 50, 50]];
        let sends = [200, 50, 50];
        let span = (start_ns + MS, start_ns + 2 * MS);
        job.run("1 mesh_ep", "all_to_allv", &[0, 1, 2], &[span; 3]);
        (0..3).for_each(|rank| job.splits(rank, &sends, gets[rank]));
        let spans = [42, 12, 12].map(|ms| (start_ns + ms * MS, start_ns + 44 * MS));
        job.run("1 mesh_ep", "all_to_allv", &[0, 1, 2], &spans);
        (0..3).for_each(|rank| job.splits(rank, gets[rank], &sends));
    }
    let job = job.without(&[1]);
    let cards = cards(&job);
    let hot = cards.iter().find(|card| card.key == "hot_experts").unwrap();
    assert_eq!(hot.ranks, [0]);
}

/// In each step, another rank gets 600 tokens, the other two 150 each.
#[test]
fn experts_that_are_hot_in_turns_are_reported() {
    let mut job = TestJob::new(3);
    for step in 0..3 {
        let start_ns = step as i64 * 50 * MS;
        job.step(step as u64, start_ns, start_ns + 50 * MS);
        let mut sends = [50_u64; 3];
        sends[step] = 200;
        let gets = sends.map(|tokens| [tokens; 3]);
        let span = (start_ns + MS, start_ns + 2 * MS);
        job.run("1 mesh_ep", "all_to_allv", &[0, 1, 2], &[span; 3]);
        (0..3).for_each(|rank| job.splits(rank, &sends, &gets[rank]));
        let mut spans = [(start_ns + 12 * MS, start_ns + 44 * MS); 3];
        spans[step].0 = start_ns + 42 * MS;
        job.run("1 mesh_ep", "all_to_allv", &[0, 1, 2], &spans);
        (0..3).for_each(|rank| job.splits(rank, &gets[rank], &sends));
    }
    let cards = cards(&job.job());
    let hot = cards.iter().find(|card| card.key == "hot_experts").unwrap();
    assert_eq!(hot.ranks, [0, 1, 2]);
    assert_eq!(hot.title, "In each step, experts of other ranks are hot");
}

#[test]
fn copies_of_a_checkpoint_belong_to_its_finding() {
    let late = |by| {
        let mut job = job(2, 10 * MS);
        for step in 0..4 {
            let start_ns = step * 32 * MS + 30 * MS;
            job.copies(2, start_ns, 6 * MS);
            job.late(2, start_ns, 4 * MS, by);
        }
        let mut found = found(job);
        found.retain(|(key, ..)| key != "no_waiting");
        found
    };
    let one = ("late_host".to_owned(), vec![2], Some(40));
    assert_eq!(late("Checkpointing"), [one]);
    let both = late("Data loading");
    let keys: Vec<&str> = both.iter().map(|(key, ..)| key.as_str()).collect();
    assert_eq!(keys, ["slow_copies", "late_host"]);
}

#[test]
fn a_rank_that_waits_for_copies_is_named() {
    let mut job = job(2, 10 * MS);
    for step in 0..4 {
        job.copies(2, step * 32 * MS + 30 * MS, 10 * MS);
    }
    assert_eq!(found(job)[0], ("slow_copies".to_owned(), vec![2], Some(40)));
}

/// The work of a rank includes its copies: 10 ms of 30.
#[test]
fn copies_that_others_lack_are_one_finding() {
    let mut job = job(2, 10 * MS);
    for step in 0..4 {
        job.same_calls(step, &GEMM, &[20; 4]);
        job.work(2, step, &COPY, 1, 10 * MS);
        job.copies(2, i64::from(step) * 32 * MS + 30 * MS, 10 * MS);
    }
    let found = found(job);
    let keys: Vec<&str> = found.iter().map(|(key, ..)| key.as_str()).collect();
    assert_eq!(keys, ["slow_copies", "no_waiting"]);
}

#[test]
fn a_rank_on_which_nothing_runs_is_named_where_it_has_a_gpu() {
    let idle = || {
        let mut job = job(2, 10 * MS);
        for step in 0..4 {
            job.idle(2, step * 32 * MS + 30 * MS, 10 * MS);
        }
        job
    };
    let card = ("idle_rank".to_owned(), vec![2], Some(40));
    assert_eq!(found(idle().on_gpus())[0], card);
    assert!(!found(idle()).contains(&card));
}

#[test]
fn a_card_names_the_ranks_that_are_late_because_of_its_rank() {
    let mut job = TestJob::with_a_delay_passed_on();
    job.same_calls(0, &GEMM, &[10, 10, 30]);
    let job = job.job();
    let cards = cards(&job);
    assert_eq!(
        (&*cards[0].key, &cards[0].ranks[..]),
        ("slow_rank", &[2][..])
    );
    assert_eq!(
        cards[0].reasoning.last().unwrap(),
        "Rank 1 is late in other groups because of the wait for this one."
    );
}

#[test]
fn a_pipeline_that_waits_longer_than_it_must_is_reported() {
    let found = found(TestJob::of_two_stages());
    let bubble = ("pipeline_bubble".to_owned(), vec![1], None);
    assert!(found.contains(&bubble), "{found:?}");
}

/// One slow step of three is not the pipeline's fault: the median step decides.
#[test]
fn a_pipeline_is_judged_by_the_median_step() {
    for (waits, expected) in [
        ([false, true, false], 0),
        ([false, true, true], 1),
        ([true, true, true], 1),
    ] {
        let mut job = TestJob::new(2);
        for (number, waits) in (0..).zip(waits) {
            job.step_of_two_stages(number, waits);
        }
        let found = found(job);
        let bubbles = found.iter().filter(|(key, ..)| key == "pipeline_bubble");
        assert_eq!(bubbles.count(), expected, "{waits:?}");
    }
}

/// In 100 ms rank 0 waits 50 for rank 1, hidden by work; then data moves for 40, exposed on rank 0 and hidden by work
/// on rank 1.
///
/// ```text
/// ms         0                     50        51          91    100
/// rank 0     [all-reduce───────────)transfer)[all-reduce)
/// rank 1                           [all-reduce)[all-reduce)
/// ```
#[test]
fn hidden_waiting_is_no_part_of_exposed_communication() {
    let mut job = TestJob::new(2);
    job.step(1, 0, 100 * MS);
    let spans = [(0, 51 * MS), (50 * MS, 51 * MS)];
    job.run("0 default_pg", "allreduce", &[0, 1], &spans);
    let span = (51 * MS, 91 * MS);
    job.run("0 default_pg", "allreduce", &[0, 1], &[span; 2]);
    let mut job = job.on_gpus().job();
    for (rank, exposed_ns) in job.ranks.iter_mut().zip([40 * MS, 0]) {
        let digest = &mut rank.digest;
        digest.collectives[0].exposed_ns = 0;
        digest.collectives[1].exposed_ns = exposed_ns;
        let gpu = digest.gpu.as_mut().unwrap();
        (gpu.exposed_comm_ns, gpu.computation_ns) = (exposed_ns, MS);
    }
    let find = |job: &Job| {
        let mut cards = cards(job).into_iter();
        cards.find(|card| card.key == "exposed_communication")
    };
    // Rank 0 has all of it, so that the mean is half.
    assert_eq!(
        find(&job).unwrap().tables[0].rows[0][..4],
        [
            "all-reduce of 4.19 MB",
            "ranks 0 and 1 (default_pg 0)",
            "no",
            "20.0 ms"
        ]
    );
    // Exposed waiting accounts for all of the exposed time.
    for rank in &mut job.ranks {
        rank.digest.collectives[0].exposed_ns = 51 * MS;
    }
    assert!(find(&job).is_none());
}

/// 1,000 all-reduces of 32 bytes in a step are too many, even beside computation; 16 are if they are exposed. Each takes
/// 10 µs, and all but one are saved.
#[test]
fn many_small_messages_in_a_step_are_reported() {
    let saving_ns = |n: i64, is_exposed: bool| {
        let mut job = TestJob::new(2);
        job.step(1, 0, n * 20_000);
        for at in 0..n {
            let span = (at * 20_000 + 10_000, at * 20_000 + 20_000);
            job.run_sized(all_reduce(8), &[span; 2]);
        }
        let mut job = job.job();
        let digests = job.ranks.iter_mut().map(|rank| &mut rank.digest);
        for of in digests.flat_map(|digest| &mut digest.collectives) {
            of.exposed_ns = if is_exposed { of.span.length() } else { 0 };
        }
        let found = cards(&job).into_iter();
        let mut found = found.filter(|card| card.key == "small_messages");
        found.next().map(|card| card.saving_ns)
    };
    assert_eq!(saving_ns(1_000, false), Some(None));
    assert_eq!(saving_ns(999, false), None);
    assert_eq!(saving_ns(100, true), Some(Some(990_000)));
    assert_eq!(saving_ns(16, true), Some(Some(150_000)));
    assert_eq!(saving_ns(15, true), None);
}

#[test]
fn a_rank_whose_copies_are_slow_is_said_to_copy_slowly() {
    const TO_GPU: TestWork = TestWork {
        kernel: "Memcpy HtoD (Pinned -> Device)",
        ..COPY
    };
    let mut job = job(1, 10 * MS);
    for step in 0..4 {
        job.same_calls(step, &GEMM, &[15, 15, 15, 15]);
        job.same_calls(step, &TO_GPU, &[5, 15, 5, 5]);
    }
    let card = &cards(&job.on_gpus().job())[0];
    assert_eq!(card.title, "Rank 1: its copies take 3.00×");
    assert!(card.action.contains("NUMA"), "{}", card.action);
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
fn clocks_that_differ_are_reported_and_blame_nobody() {
    let found = found(TestJob::on_two_clocks());
    let keys: Vec<&str> = found.iter().map(|(key, ..)| key.as_str()).collect();
    assert_eq!(keys, ["clocks_apart"]);
}

/// Stages of a pipeline do different work, so ranks are compared with those of their own stage.
///
/// ```text
/// ms         0    10   20   30   40
/// ranks 0, 1 [=========)              all-reduce of all at 40
/// ranks 2, 3 [===================)
/// ```
#[test]
fn a_stage_with_more_work_makes_none_of_its_ranks_slow() {
    let work_ms = [20, 20, 40, 40];
    let mut job = TestJob::of_two_pipelines(work_ms);
    for step in 0..4 {
        job.more_calls(step, &GEMM, &work_ms);
    }
    let found = found(job);
    let keys: Vec<&str> = found.iter().map(|(key, ..)| key.as_str()).collect();
    assert!(
        !keys.contains(&"uneven_work") && !keys.contains(&"slow_rank"),
        "{keys:?}"
    );
}

/// All-reduces of 268 MB between two H100 take 20 ms: 13 GB/s of 450. At half of that bandwidth they take 1.2 ms, and
/// four steps are 75 ms shorter.
#[test]
fn large_messages_that_use_little_of_their_link_are_reported() {
    let mut job = TestJob::new(2).gpu("H100");
    for step in 0..4 {
        let start_ns = step * 30 * MS;
        job.step(step as u64, start_ns, start_ns + 30 * MS);
        let spans = [(start_ns + 10 * MS, start_ns + 30 * MS); 2];
        job.run_sized(all_reduce(1 << 26), &spans);
    }
    let found = found(job);
    assert_eq!(
        found[0],
        ("link_bandwidth".to_owned(), vec![0, 1], Some(75))
    );
}

#[test]
fn ranks_that_are_missing_are_reported() {
    let job = job(1, 0).without(&[2]);
    let cards = cards(&job).into_iter();
    let found: Vec<_> = cards.map(|card| (card.key, card.ranks)).collect();
    assert_eq!(found, [("missing_ranks".to_owned(), vec![2])]);
}

/// A trace of a job with two ranks is among those of a job with four.
#[test]
fn traces_of_another_job_are_reported() {
    let mut digests = job(1, 0).digests();
    let mut other = TestJob::new(2).digests();
    other[1].file.name = "other/rank1.json".to_owned();
    digests.push(other.remove(1));
    let mut job_files = JobFiles::new(digests);
    let job = Job::new(job_files.windows.remove(0));
    let cards = find(&job, &Analysis::new(&job), &job_files.excluded);
    let found: Vec<&str> = cards.iter().map(|card| card.key.as_str()).collect();
    assert_eq!(found, ["other_jobs"]);
    assert_eq!(cards[0].tables[0].rows[0][0], "other/rank1.json");
}

#[test]
fn what_is_changed_in_nothing_gains_nothing() {
    let job = job(1, 10 * MS).job();
    let analysis = Analysis::new(&job);
    let replay = analysis.replay.as_ref().unwrap();
    let gain = replay.gain(&analysis.flow, &replay.plan());
    assert_eq!((gain.of_steps, gain.total_ns), (vec![0; 4], 0));
}

#[test]
fn a_slow_rank_on_another_gpu_is_named_with_it() {
    let mut job = job(1, 10 * MS);
    for step in 0..4 {
        job.same_calls(step, &GEMM, &[20, 30, 20, 20]);
    }
    let mut job = job.job();
    for (at, rank) in job.ranks.iter_mut().enumerate() {
        let device = if at == 1 {
            "NVIDIA A100"
        } else {
            "NVIDIA H100"
        };
        rank.digest.identity.device = device.to_owned();
    }
    let card = &cards(&job)[0];
    let title = "Rank 1: the same kernels take 1.50× on another GPU, NVIDIA A100";
    assert_eq!(card.title, title);
    assert!(card.action.contains("the others have NVIDIA H100"));
}

#[test]
fn without_shapes_slow_kernels_may_be_larger_ones() {
    const BARE: TestWork = TestWork { shapes: "", ..GEMM };
    let with = |work: &TestWork| {
        let mut job = job(1, 10 * MS);
        for step in 0..4 {
            job.same_calls(step, work, &[20, 30, 20, 20]);
        }
        cards(&job.job())[0].action.clone()
    };
    assert!(with(&BARE).starts_with("Record shapes"));
    assert!(with(&GEMM).starts_with("Check clock rate"));
}
