use super::{JobOverview, Measure};
use crate::base::format;
use crate::job::testing::{GEMM, MS, TestJob};
use crate::job::{Analysis, Job};

/// Two hosts with two ranks each, four steps; rank 1 takes 30 ms for what the others do in 20, and all finish after 32.
///
/// ```text
/// ms              0           20     30  32
/// ranks 0, 2, 3   [============)──────────)
/// rank 1          [===================)───)
/// ```
fn job() -> TestJob {
    let mut job = TestJob::new(4).host(2, "b", 0, 0.0).host(3, "b", 0, 0.0);
    for step in 0..4 {
        let start_ns = i64::from(step) * 32 * MS;
        job.step(u64::from(step), start_ns, start_ns + 32 * MS);
        let own_ms = [20, 30, 20, 20];
        job.same_calls(step, &GEMM, &own_ms);
        let spans = own_ms.map(|ms| (start_ns + ms * MS, start_ns + 32 * MS));
        job.run("0 default_pg", "allreduce", &[0, 1, 2, 3], &spans);
    }
    job
}

fn overview(job: &Job) -> JobOverview {
    JobOverview::new(job, &Analysis::new(job), &[])
}

/// The rows of a table, limited to the first columns.
fn rows(overview: &JobOverview, key: &str, n_columns: usize) -> Vec<Vec<String>> {
    let mut tables = overview.tables.iter();
    let table = tables.find(|table| table.key == key).unwrap();
    let rows = table.rows.iter();
    rows.map(|row| row[..n_columns].to_vec()).collect()
}

#[test]
fn the_answer_says_who_is_slow_and_where_the_others_wait() {
    let overview = overview(&job().job());
    let headline = &overview.headline;
    assert!(headline.starts_with("Rank 1: "), "{headline}");
    let ends = "The other ranks wait most in all-reduce.";
    assert!(headline.ends_with(ends), "{headline}");
    // The all-reduce of the first step, when rank 1 reaches it.
    let collective = overview.cards[0].collective.as_ref().unwrap();
    assert_eq!(
        (collective.rank, &*collective.kind, collective.start_ns),
        (1, "all-reduce", 30 * MS)
    );
}

/// In each of four steps another rank takes 30 ms, for no reason visible in the trace; fixing any single one saves
/// nothing.
fn in_turn() -> TestJob {
    let mut job = TestJob::new(4);
    for step in 0..4 {
        let start_ns = step * 32 * MS;
        job.step(step as u64, start_ns, start_ns + 32 * MS);
        let spans = [0, 1, 2, 3].map(|rank| {
            let own_ms = if rank == step { 30 } else { 20 };
            (start_ns + own_ms * MS, start_ns + 32 * MS)
        });
        job.run("0 default_pg", "allreduce", &[0, 1, 2, 3], &spans);
    }
    job
}

#[test]
fn the_answer_claims_no_more_than_is_known() {
    let answer = |job: &Job| overview(job).headline;
    assert_eq!(
        answer(&in_turn().job()),
        "No single rank delays the others by 1 % of a step or more. All waiting between ranks costs at most 10.0 ms a step in all steps (31.2 %)."
    );
    let mut even = TestJob::on_two_clocks().job();
    assert_eq!(
        answer(&even),
        "No rank delays the others by 1 % of a step or more."
    );
    assert_eq!(
        answer(&TestJob::on_two_clocks().without(&[2])),
        "No rank of the 3 that were read, out of 4, delays the others by 1 % of a step or more."
    );
    even.clocks.are_comparable = false;
    assert_eq!(
        answer(&even),
        "The clocks of the ranks could not be aligned, so waiting between ranks is unknown."
    );
}

#[test]
fn ranks_and_hosts_that_are_worth_most_stand_first() {
    let overview = overview(&job().job());
    let ten = format::time_ns(10 * MS);
    let ranks = &overview.tables[0];
    assert_eq!(ranks.key, "ranks");
    assert_eq!(ranks.ranks, [1, 0, 2, 3].map(Some));
    assert_eq!(
        rows(&overview, "ranks", 5)[0],
        ["1", "a", "the same kernels take 1.50×", &ten, &ten]
    );
    assert_eq!(rows(&overview, "hosts", 5)[0], ["a", &ten, "1", &ten, "2"]);
}

#[test]
fn groups_say_what_determines_their_dimension() {
    let mut job = job();
    let span = (31 * MS, 31 * MS + 1000);
    job.run("1 mesh_tp", "allreduce", &[0, 1], &[span; 2]);
    let overview = overview(&job.job());
    assert_eq!(
        rows(&overview, "groups", 4),
        [
            ["default_pg 0", "all ranks", "size", "0, 1, 2, 3"],
            ["mesh_tp 1", "tensor parallel", "description", "0, 1"],
        ]
    );
}

#[test]
fn measures_are_those_that_are_known() {
    let overview = overview(&job().job());
    let of = |key: &str| -> Option<&Measure> {
        let mut measures = overview.measures.iter();
        measures.find(|measure| measure.key == key)
    };
    // 10 ms and 2 ms of 32.
    let first = |key: &str| {
        let values = &of(key).unwrap().values;
        [values[0][0], values[1][0]]
    };
    assert_eq!(first("waiting"), [Some(31.25), Some(0.0)]);
    assert_eq!(first("transfer"), [Some(6.25), Some(6.25)]);
    assert_eq!(first("late"), [Some(0.0), Some(0.0)]);
    // No experts, and no GPU.
    assert!(of("tokens").is_none() && of("idle").is_none());
}

#[test]
fn what_several_ranks_lost_is_said_once() {
    let lost = |ranks: &[usize]| {
        let mut job = job();
        ranks.iter().for_each(|rank| job.cut(*rank));
        let quality = overview(&job.job()).quality;
        let of_ranks = quality
            .iter()
            .filter(|line| line.contains("before it is closed"));
        let about = of_ranks.map(|line| line.split(':').next().unwrap().to_owned());
        about.collect::<Vec<String>>()
    };
    assert_eq!(lost(&[1]), ["Rank 1"]);
    assert_eq!(lost(&[0, 3]), ["Ranks 0 and 3"]);
    assert_eq!(lost(&[0, 1, 2, 3]), ["All ranks"]);
}

#[test]
fn what_is_incomplete_is_reported_with_its_group() {
    let overview = overview(&job().without(&[2]));
    let expected = "Group 0 (4×): Of these collectives 3 of 4 ranks were read: skew and waits are lower bounds.";
    assert!(
        overview.quality.iter().any(|line| line == expected),
        "{:?}",
        overview.quality
    );
}
