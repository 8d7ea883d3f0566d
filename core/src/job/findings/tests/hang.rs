//! Collectives that never end.

use super::MS;
use crate::base::interval::Interval;
use crate::job::Job;
use crate::job::cards::JobCard;
use crate::job::digest::{Collective, Digest};
use crate::job::files::JobFiles;
use crate::job::testing::TestJob;

/// Four ranks, three steps of 20 ms with an all-reduce each. In the last step, these ranks call another one, which has
/// no kernel; the recording ends 500 ms later.
fn digests(calling: &[usize]) -> Vec<Digest> {
    let mut job = TestJob::new(4);
    for step in 0..3 {
        let start_ns = step * 20 * MS;
        job.step(step as u64, start_ns, start_ns + 20 * MS);
        let span = (start_ns + 10 * MS, start_ns + 12 * MS);
        job.run("0 default_pg", "allreduce", &[0, 1, 2, 3], &[span; 4]);
        job.seq(step as u64 + 1);
    }
    let mut digests = job.digests();
    for rank in calling {
        let digest = &mut digests[*rank];
        let last = digest.collectives.last().unwrap().clone();
        digest.unfinished.push(Collective {
            seq: Some(4),
            span: Interval::new(55 * MS, 555 * MS),
            ..last
        });
    }
    digests
}

fn cards(digests: Vec<Digest>) -> Vec<JobCard> {
    let job = Job::new(JobFiles::new(digests).windows.remove(0));
    let cards = super::cards(&job).into_iter();
    cards
        .filter(|card| card.key == "unfinished_collective")
        .collect()
}

#[test]
fn a_rank_that_does_not_call_what_the_others_wait_in_is_named() {
    let cards = cards(digests(&[0, 1, 3]));
    assert_eq!((cards.len(), &cards[0].ranks[..]), (1, &[2][..]));
    assert_eq!(
        cards[0].title,
        "Rank 2 does not join the all-reduce: the job hangs"
    );
    assert_eq!(
        cards[0].issue,
        "Ranks 0, 1 and 3 wait in the all-reduce of 4.19 MB of `default_pg 0`, number 4 of the group, in step 2, for at least 500 ms, until the recording ends, because rank 2 does not call it."
    );
}

#[test]
fn a_rank_that_calls_another_collective_is_named() {
    let mut digests = digests(&[0, 1, 2, 3]);
    digests[3].unfinished[0].given = Some(1 << 10);
    let cards = cards(digests);
    assert_eq!((cards.len(), &cards[0].ranks[..]), (1, &[3][..]));
    assert_eq!(
        cards[0].title,
        "Rank 3 calls another collective: the job hangs"
    );
}

/// Kernels that no rank recorded, that one recorded, or that a damaged trace lacks, are no hang.
#[test]
fn kernels_that_were_not_recorded_are_no_hang() {
    assert_eq!(cards(digests(&[])), []);
    assert_eq!(cards(digests(&[0, 1, 2, 3])), []);
    let mut one_ended = digests(&[0, 1, 2]);
    let ended = one_ended[0].unfinished.remove(0);
    one_ended[0].collectives.push(ended);
    assert_eq!(cards(one_ended), []);
    let mut cut = digests(&[0, 1, 3]);
    let mut other = TestJob::new(4);
    other.cut(2);
    cut[2].warnings = other.digests().remove(2).warnings;
    assert_eq!(cards(cut), []);
}

/// The kernels of three ranks run for 900 ms, until the job is stopped, instead of 2.
#[test]
fn a_kernel_that_runs_until_the_job_is_stopped_is_a_hang() {
    let long = |ms: i64| {
        let mut digests = digests(&[]);
        for rank in [0, 1, 3] {
            let digest = &mut digests[rank];
            let last = digest.collectives.last().unwrap().clone();
            let before = digest.collectives.len() as u32 - 1;
            digest.collectives.push(Collective {
                seq: Some(4),
                span: Interval::new(55 * MS, (55 + ms) * MS),
                before: Some(before),
                own: None,
                ..last
            });
        }
        cards(digests)
    };
    let cards = long(900);
    assert_eq!((cards.len(), &cards[0].ranks[..]), (1, &[2][..]));
    assert_eq!(long(2), []);
}

/// Three stages, two steps in which each sends to the next one. In the third step, these ranks wait for the one before
/// them, which sends nothing; the recording ends 500 ms later.
fn stages(waiting: &[usize]) -> Vec<Digest> {
    let mut job = TestJob::new(3);
    let ranks = [0, 1, 2];
    for step in 0..3 {
        let start_ns = step * 20 * MS;
        job.step(step as u64, start_ns, start_ns + 20 * MS);
        for from in 0..if step < 2 { 2 } else { 0 } {
            let span = (start_ns + 5 * MS, start_ns + 6 * MS);
            job.send("1 mesh_pp", &ranks, [from, from + 1], [span; 2]);
        }
    }
    let mut digests = job.digests();
    for rank in waiting {
        let digest = &mut digests[*rank];
        let receives = |of: &&Collective| digest.text(of.name) == "recv";
        let last = digest.collectives.iter().rfind(receives).unwrap().clone();
        digest.unfinished.push(Collective {
            step: Some(2),
            span: Interval::new(55 * MS, 555 * MS),
            ..last
        });
    }
    digests
}

#[test]
fn the_first_rank_of_a_pipeline_that_sends_nothing_is_named() {
    let two = cards(stages(&[1, 2]));
    assert_eq!((two.len(), &two[0].ranks[..]), (1, &[0][..]));
    assert_eq!(
        two[0].title,
        "Rank 0 does not send to rank 1: the job hangs"
    );
    assert_eq!(
        two[0].issue,
        "Rank 1 waits in the receive of 4.19 MB of `mesh_pp 1` in step 2, for at least 500 ms, until the recording ends, because rank 0 does not call the other part of it. Rank 2 waits for ranks that wait, and is not the cause."
    );
    let one = cards(stages(&[2]));
    assert_eq!((one.len(), &one[0].ranks[..]), (1, &[1][..]));
    assert_eq!(cards(stages(&[])), []);
}

/// A rank that stops in the middle of a pipeline neither takes from the one before it nor sends to the one after it.
#[test]
fn all_that_a_rank_does_not_call_is_on_one_card() {
    let mut digests = stages(&[2]);
    let digest = &mut digests[0];
    let sends = |of: &&Collective| digest.text(of.name) == "send";
    let last = digest.collectives.iter().rfind(sends).unwrap().clone();
    digest.unfinished.push(Collective {
        step: Some(2),
        span: Interval::new(55 * MS, 555 * MS),
        ..last
    });
    let cards = cards(digests);
    assert_eq!((cards.len(), &cards[0].ranks[..]), (1, &[1][..]));
    assert_eq!(
        cards[0].title,
        "Rank 1 does not receive from rank 0 and does not send to rank 2: the job hangs"
    );
    let parts = ["Rank 0 waits in the send", "Rank 2 waits in the receive"];
    assert!(parts.iter().all(|part| cards[0].issue.contains(part)));
}
