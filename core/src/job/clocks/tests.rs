use crate::job::Job;
use crate::job::testing::TestJob;

/// How many microseconds the clock of each rank is ahead, rounded.
fn offsets_us(job: &Job) -> Vec<i64> {
    let clocks = job.clocks.of_rank.iter();
    clocks
        .map(|clock| (clock.offset_ns / 1e3).round() as i64)
        .collect()
}

/// Adds a number of all-reduces of all ranks, 1 ms apart. The ranks arrive within 50 µs, and all end within 2 µs.
fn with_all_reduces(job: &mut TestJob, ranks: u32, n: i64) {
    job.step(1, 0, (n + 1) * 1_000_000);
    let all: Vec<u32> = (0..ranks).collect();
    for at in 1..=n {
        let spans = all.iter().map(|rank| {
            let rank = i64::from(*rank);
            let start_ns = at * 1_000_000 + (rank * 17_000 + at * 13_000) % 50_000;
            (
                start_ns,
                at * 1_000_000 + 120_000 + (rank * 700 + at * 300) % 2_000,
            )
        });
        let spans: Vec<(i64, i64)> = spans.collect();
        job.run("0 default_pg", "allreduce", &all, &spans);
    }
}

#[test]
fn hosts_whose_clocks_differ_are_brought_together() {
    let mut job = TestJob::new(4)
        .host(2, "b", 2_280_000, 0.0)
        .host(3, "b", 2_280_500, 0.0);
    with_all_reduces(&mut job, 4, 12);
    let job = job.job();
    let expected = [0.0, 0.0, 2_280_000.0, 2_280_500.0];
    for (clock, expected) in job.clocks.of_rank.iter().zip(expected) {
        let error_ns = clock.offset_ns - expected;
        assert!(error_ns.abs() < 1_500.0, "{expected}: {error_ns}");
    }
    assert!(job.clocks.are_comparable);
    let clock = job.clocks.of_rank[3];
    assert!(clock.is_joined && clock.is_applied && clock.spread_ns < 1_000.0);
    // 5 ms on the clock of the other host.
    let true_ns = 5_000_000;
    let error_ns = job.corrected_ns(3, true_ns + 2_280_500) - true_ns;
    assert!(error_ns.abs() < 1_500, "{error_ns}");
}

#[test]
fn clocks_that_drift_are_brought_together_over_the_whole_window() {
    let mut job = TestJob::new(2).host(1, "b", -700_000, 20e-6);
    with_all_reduces(&mut job, 2, 400);
    let job = job.job();
    for true_ns in [1_000_000, 200_000_000, 400_000_000] {
        let own_ns = true_ns - 700_000 + true_ns / 50_000;
        let error_ns = job.corrected_ns(1, own_ns) - true_ns;
        assert!(error_ns.abs() < 1_500, "{true_ns}: {error_ns}");
    }
}

#[test]
fn a_small_group_that_scatters_less_joins_better_than_a_large_one() {
    // All-reduces of all ranks end up to 300 µs apart; those of pairs do not.
    let mut job = TestJob::new(4)
        .host(1, "b", 40_000, 0.0)
        .host(2, "c", -90_000, 0.0)
        .host(3, "d", 500_000, 0.0);
    job.step(1, 0, 100_000_000);
    for at in 1..=8 {
        let ns = at * 10_000_000;
        let end = |rank: i64| ns + 900_000 + ((rank + 3) * at * at * 61_000) % 300_000;
        let spans = [0, 1, 2, 3].map(|rank| (ns, end(rank)));
        job.run("0 default_pg", "allreduce", &[0, 1, 2, 3], &spans);
        for (name, pair) in [("1 tp", [0, 1]), ("2 tp", [1, 2]), ("3 tp", [2, 3])] {
            let ns = ns + 2_000_000 * i64::from(pair[1]);
            let spans = [(ns, ns + 60_000), (ns, ns + 60_000 + at * 100)];
            job.run(name, "allreduce", &pair, &spans);
        }
    }
    let expected = [0, 40_000, -90_000, 500_000];
    let job = job.job();
    for (clock, expected) in job.clocks.of_rank.iter().zip(expected) {
        let error_ns = clock.offset_ns - f64::from(expected);
        assert!(error_ns.abs() < 2_500.0, "{expected}: {}", clock.offset_ns);
    }
}

#[test]
fn what_is_smaller_than_its_scatter_is_not_corrected() {
    let mut job = TestJob::new(2).host(1, "b", 0, 0.0);
    job.step(1, 0, 100_000_000);
    for at in 1..=9 {
        let ns = at * 10_000_000;
        let spans = [
            (ns, ns + 400_000 + (at * 170_000) % 300_000),
            (ns, ns + 500_000),
        ];
        job.run("0 default_pg", "barrier", &[0, 1], &spans);
    }
    let job = job.job();
    let clock = job.clocks.of_rank[1];
    assert!(!clock.is_applied && clock.estimate_ns.abs() > 1_000.0);
    assert_eq!(offsets_us(&job), [0, 0]);
}

#[test]
fn the_clocks_of_two_jobs_cannot_be_matched() {
    // Half of the barriers say 1 ms, the others 9 ms.
    let mut job = TestJob::new(2).host(1, "b", 0, 0.0);
    job.step(1, 0, 1_000_000_000);
    for at in 1..=20 {
        let ns = at * 40_000_000;
        let ahead_ns = if at % 2 == 0 { 1_000_000 } else { 9_000_000 };
        let spans = [(ns, ns + 50_000), (ns + ahead_ns, ns + ahead_ns + 50_000)];
        job.run("0 default_pg", "barrier", &[0, 1], &spans);
    }
    let clocks = job.job().clocks;
    assert!(!clocks.are_comparable);
    assert_eq!(clocks.n_checked, 20);
}

#[test]
fn ranks_of_one_host_share_a_clock_without_a_collective() {
    let mut job = TestJob::new(3).host(2, "b", 3_000_000, 0.0);
    job.step(1, 0, 10_000_000);
    let ns = 2_000_000;
    job.run(
        "1 dp",
        "allreduce",
        &[0, 2],
        &[(ns, ns + 80_000), (ns, ns + 80_000)],
    );
    let job = job.job();
    let joined: Vec<bool> = (job.clocks.of_rank.iter())
        .map(|clock| clock.is_joined)
        .collect();
    assert_eq!(joined, [true, true, true]);
    assert_eq!(offsets_us(&job), [0, 0, 3000]);
}

#[test]
fn ranks_without_a_way_to_the_first_one_stay_as_they_are() {
    let mut job = TestJob::new(3)
        .host(1, "b", 0, 0.0)
        .host(2, "c", 5_000_000, 0.0);
    job.step(1, 0, 10_000_000);
    let ns = 2_000_000;
    job.run(
        "1 dp",
        "allreduce",
        &[0, 1],
        &[(ns, ns + 80_000), (ns, ns + 80_000)],
    );
    job.run("2 dp", "allreduce", &[2], &[(ns, ns + 80_000)]);
    let clocks = job.job().clocks;
    assert!(!clocks.of_rank[2].is_joined);
    assert!(clocks.of_rank[2].offset_ns.abs() < 1.0);
    assert!(clocks.are_comparable);
}
