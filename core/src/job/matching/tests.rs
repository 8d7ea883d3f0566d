use crate::job::Job;
use crate::job::files::JobFiles;
use crate::job::testing::{TestCollective, TestJob};

/// An all-reduce of all ranks.
fn all_reduce(ranks: &[u32]) -> TestCollective<'_> {
    TestCollective {
        group: "0 default_pg",
        name: "allreduce",
        ranks,
        elements: 1 << 20,
    }
}

/// For each collective, the number of ranks read, the group size, and its step.
fn summary(job: &Job) -> Vec<(usize, usize, Option<usize>)> {
    let all = job.collectives.iter();
    all.map(|of| (of.members.len(), of.expected, of.step))
        .collect()
}

/// Two steps with two all-reduces each, of a group or of none.
fn two_steps(group: &str) -> TestJob {
    let mut job = TestJob::new(3);
    for (number, start_ns) in [(1, 0), (2, 1_000)] {
        job.step(number, start_ns, start_ns + 1_000);
        for at in [start_ns + 100, start_ns + 500] {
            job.run(group, "allreduce", &[0, 1, 2], &[(at, at + 50); 3]);
        }
    }
    job
}

#[test]
fn a_send_and_its_receive_are_one_transfer() {
    let mut job = TestJob::new(4);
    job.step(1, 0, 100);
    job.send("5 mesh_pp", &[1, 3], [1, 3], [(10, 20), (5, 20)]);
    job.send("5 mesh_pp", &[1, 3], [3, 1], [(30, 40), (22, 40)]);
    let job = job.job();
    let pairs: Vec<_> = job.collectives.iter().map(|of| of.pair).collect();
    assert_eq!(pairs, [Some((1, 3)), Some((3, 1))]);
    assert!(job.collectives.iter().all(|of| of.is_complete()));
}

#[test]
fn a_rank_that_lacks_its_first_collectives_is_shifted() {
    let mut job = TestJob::new(3);
    job.step(1, 0, 1_000);
    for at in 0..6_i64 {
        let ranks: &[u32] = if at < 2 { &[0, 1] } else { &[0, 1, 2] };
        let of = TestCollective {
            elements: 1_000 + at as u64,
            ..all_reduce(&[0, 1, 2])
        };
        for rank in ranks {
            job.run_of(of, *rank, (at * 100 + 10, at * 100 + 50));
        }
    }
    let job = job.job();
    let n: Vec<usize> = job.collectives.iter().map(|of| of.members.len()).collect();
    assert_eq!(n, [2, 2, 3, 3, 3, 3]);
    assert!(job.collectives.iter().all(|of| of.expected == 3));
}

#[test]
fn a_rank_without_steps_is_matched_by_the_order_of_all() {
    for group in ["0 default_pg", ""] {
        let mut digests = two_steps(group).digests();
        digests[1].steps.clear();
        for of in &mut digests[1].collectives {
            of.step = None;
        }
        let job = Job::new(JobFiles::new(digests).windows.remove(0));
        let [first, second] = [(3, 3, Some(0)), (3, 3, Some(1))];
        assert_eq!(summary(&job), [first, first, second, second], "{group}");
    }
}

#[test]
fn collectives_without_a_group_are_of_ranks_that_were_not_read_too() {
    let job = two_steps("").without(&[1]);
    let [first, second] = [(2, 3, Some(0)), (2, 3, Some(1))];
    assert_eq!(summary(&job), [first, first, second, second]);
    assert!(job.collectives.iter().all(|of| !of.is_complete()));
}

/// Rank 1 lacks the second of three; matched by order alone, its third would pair with the second of rank 0.
#[test]
fn seq_identifies_the_one_that_a_rank_lacks() {
    let mut job = TestJob::new(2);
    job.step(1, 0, 1_000);
    for (at, seq) in [(100, 7), (200, 8), (300, 9)] {
        job.run("0 default_pg", "allreduce", &[0, 1], &[(at, at + 50); 2]);
        job.seq(seq);
    }
    let mut digests = job.digests();
    digests[1].collectives.remove(1);
    let job = Job::new(JobFiles::new(digests).windows.remove(0));
    let [both, one] = [(2, 2, Some(0)), (1, 2, Some(0))];
    assert_eq!(summary(&job), [both, one, both]);
}

/// Two collectives of one coalesced call share a number; their order identifies them.
#[test]
fn of_equal_seq_the_order_decides() {
    let mut job = TestJob::new(2);
    job.step(1, 0, 1_000);
    for (at, elements) in [(100, 8), (200, 16)] {
        let spans = [(at, at + 50); 2];
        let of = TestCollective {
            elements,
            ..all_reduce(&[0, 1])
        };
        job.run_sized(of, &spans);
        job.seq(7);
    }
    let job = job.job();
    let sizes = job.collectives.iter().map(|of| {
        let sizes = of.rows(&job.ranks).map(|(_, row)| row.given);
        sizes.collect::<Vec<_>>()
    });
    assert_eq!(sizes.collect::<Vec<_>>(), [[Some(8); 2], [Some(16); 2]]);
}
