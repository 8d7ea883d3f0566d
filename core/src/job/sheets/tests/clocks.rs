//! Ranks whose clocks differ.

use super::ranks::Text;
use super::two;

#[test]
fn corrected_clocks_move_waits_and_no_durations() {
    let mut job = two().job();
    // Rank 1 is 50 µs ahead: it started 10 µs before rank 0.
    job.clocks.of_rank[1].offset_ns = 50_000.0;
    let labels = [
        "rank_0_wait_time",
        "rank_1_wait_time",
        "rank_1_ts",
        "comm_latency",
    ];
    let raw = Text::of(&job, "nccl_implicit_sync");
    assert_eq!(raw.columns(&labels), ["40 | 0 | 140 | 70"]);
    let corrected = Text::of(&job, "nccl_implicit_sync_corrected");
    assert_eq!(corrected.columns(&labels), ["0 | 10 | 90 | 70"]);
    let stragglers = Text::of(&job, "straggler_summary_corrected");
    assert_eq!(
        stragglers.columns(&["rank", "times_arrived_last"]),
        ["0 | 1", "1 | 0"]
    );

    job.clocks.are_comparable = false;
    assert_eq!(
        Text::of(&job, "nccl_implicit_sync_corrected").0.rows,
        Vec::<Vec<_>>::new()
    );
    let collectives = Text::of(&job, "collectives");
    assert_eq!(
        collectives.columns(&["start skew µs", "transfer µs"]),
        ["– | –"]
    );
    let quality = Text::of(&job, "job_quality");
    assert_eq!(quality.columns(&["kind"]), ["clock"]);
}

/// Most ranks share a clock, but the first one does not.
#[test]
fn a_clock_that_nothing_joins_is_listed_for_the_first_rank_too() {
    let mut job = two().job();
    job.clocks.of_rank[0].is_joined = false;
    let quality = Text::of(&job, "job_quality");
    assert_eq!(quality.columns(&["kind", "rank"]), ["clock | 0"]);
}

/// The base of times changes every three months; ranks may be on both sides of the change.
#[test]
fn bases_of_times_are_added_before_ranks_are_compared() {
    let ranks = two().digest(1, |digest| {
        digest.base_ns = Some(-1_000_000);
        let one = &mut digest.collectives[0].span;
        (one.start_ns, one.end_ns) = (one.start_ns + 1_000_000, one.end_ns + 1_000_000);
        let step = &mut digest.steps[0].host;
        (step.start_ns, step.end_ns) = (step.start_ns + 1_000_000, step.end_ns + 1_000_000);
    });
    let sheet = ranks.sheet("nccl_implicit_sync");
    assert_eq!(
        sheet.columns(&["rank_0_ts", "rank_1_ts", "skew in start time"]),
        ["100 | 1140 | 40"]
    );
}
