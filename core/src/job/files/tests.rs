use super::*;
use crate::base::sort::Arranged;
use crate::job::testing::{TestCollective, TestJob};

/// The ranks found for a job of three whose files have these names and no metadata.
fn named(names: [&str; 3]) -> Vec<(u32, RankFrom)> {
    let mut job = TestJob::new(3);
    job.step(1, 0, 100);
    let digests = job.digests().into_iter().zip(names);
    let digests = digests.map(|(mut digest, name)| {
        digest.file.name = name.to_owned();
        digest.identity.rank = None;
        digest.identity.rank_from = RankFrom::Unknown;
        digest.identity.coordinates = Coordinates::of(name);
        digest
    });
    let job_files = JobFiles::new(digests.collect());
    let ranks = job_files.windows.iter().flat_map(|window| &window.ranks);
    ranks
        .map(|rank| (rank.number, rank.digest.identity.rank_from))
        .arranged_by_key(|(number, _)| *number)
}

#[test]
fn coordinates_give_the_rank_where_nothing_else_does() {
    let names = ["7-TP-0-DP-0.json", "7-TP-1-DP-0.json", "7-TP-2-DP-0.json"];
    let expected = [0, 1, 2].map(|rank| (rank, RankFrom::Coordinates));
    assert_eq!(named(names), expected);
    // Names without information give no rank, whatever their order.
    assert_eq!(named(["a.json", "b.json", "c.json"]), []);
}

/// A file that says `{"rank": 1}` and nothing about its job belongs to the job of the others.
#[test]
fn a_rank_alone_is_enough() {
    let mut job = TestJob::new(2);
    job.step(1, 0, 100);
    let mut digests = job.digests();
    digests[1].identity.world_size = None;
    let job_files = JobFiles::new(digests);
    assert_eq!(job_files.excluded, []);
    assert_eq!(job_files.windows[0].ranks.len(), 2);
}

#[test]
fn the_same_recording_counts_once() {
    let digests = || {
        let mut job = TestJob::new(2);
        job.step(1, 0, 100);
        let mut digests = job.digests();
        for digest in &mut digests {
            digest.identity.trace_id = format!("id of {:?}", digest.identity.rank);
        }
        digests
    };
    let copies = digests().into_iter().map(|mut digest| {
        digest.file.name = format!("copy of {}", digest.file.name);
        digest
    });
    let job_files = JobFiles::new(digests().into_iter().chain(copies).collect());
    let excluded = job_files
        .excluded
        .iter()
        .map(|excluded| excluded.file.name.as_str());
    assert_eq!(excluded.collect::<Vec<_>>(), ["rank0.json", "rank1.json"]);
    assert_eq!(job_files.windows[0].ranks.len(), 2);
}

/// Three ranks of a group that start at a given time, in a step with a given number.
fn run(number: u64, start_ns: i64, group: &[u32]) -> Vec<Digest> {
    let mut job = TestJob::new(3);
    job.step(number, start_ns, start_ns + 100);
    for rank in group {
        let span = (start_ns + 10, start_ns + 20);
        let of = TestCollective {
            group: "1 mesh_tp",
            name: "allreduce",
            ranks: group,
            elements: 8,
        };
        job.run_of(of, *rank, span);
    }
    job.digests()
}

const HOUR_NS: i64 = 3_600_000_000_000;

/// Renames the file of a digest.
fn called(mut digest: Digest, name: &str) -> Digest {
    digest.file.name = name.to_owned();
    digest
}

/// What is excluded, and the ranks of each window.
fn excluded_and_windows(digests: Vec<Digest>) -> (Vec<(String, ExclusionReason)>, Vec<Vec<u32>>) {
    let job_files = JobFiles::new(digests);
    let excluded = job_files.excluded.into_iter();
    let windows = job_files
        .windows
        .iter()
        .map(|window| window.ranks.iter().map(|rank| rank.number).arranged());
    let excluded = excluded.map(|excluded| (excluded.file.name, excluded.why));
    (excluded.collect(), windows.collect())
}

/// Ranks 0, 1 and 2 are in one group; a file of rank 1 says that it was in one with rank 0 only.
#[test]
fn a_stale_file_sets_none_of_the_others_apart() {
    for (start_ns, step) in [(0, 1), (-HOUR_NS, 1), (-HOUR_NS, 9)] {
        let stale = called(run(step, start_ns, &[0, 1]).remove(1), "a stale file.json");
        let all = run(1, 0, &[0, 1, 2]).into_iter().chain([stale]);
        let why = ExclusionReason::OtherGroups("1".to_owned());
        let excluded = vec![("a stale file.json".to_owned(), why)];
        assert_eq!(
            excluded_and_windows(all.collect()),
            (excluded, vec![vec![0, 1, 2]])
        );
    }
}

#[test]
fn the_same_steps_at_another_time_are_another_run() {
    let other = called(run(1, -HOUR_NS, &[0, 1, 2]).remove(1), "old.json");
    let all = run(1, 0, &[0, 1, 2]).into_iter().chain([other]);
    let excluded = vec![("old.json".to_owned(), ExclusionReason::OtherRun)];
    assert_eq!(
        excluded_and_windows(all.collect()),
        (excluded, vec![vec![0, 1, 2]])
    );
}

/// In the older window rank 2 has no steps.
#[test]
fn a_rank_without_steps_takes_its_window_from_none_of_the_others() {
    let mut older = run(1, -HOUR_NS, &[0, 1, 2]);
    older[2].steps.clear();
    for digest in &mut older {
        digest.file.name = format!("older {}", digest.file.name);
    }
    let all = run(2, 0, &[0, 1, 2]).into_iter().chain(older);
    let both = vec![vec![0, 1, 2], vec![0, 1, 2]];
    assert_eq!(excluded_and_windows(all.collect()), (vec![], both));
}

/// Rank 2 alone records other steps, later.
#[test]
fn a_newer_window_without_most_ranks_comes_last() {
    let late = run(9, HOUR_NS, &[0, 1, 2]).remove(2);
    let mut all = run(1, 0, &[0, 1, 2]);
    all.remove(2);
    let windows = [vec![0, 1], vec![2]];
    let all = all.into_iter().chain([called(late, "late.json")]);
    assert_eq!(excluded_and_windows(all.collect()).1[..1], windows[..1]);
    // With most ranks, the newer one comes first.
    let newer = run(9, HOUR_NS, &[0, 1, 2]).into_iter().take(2);
    let newer = newer
        .zip(["newer 0.json", "newer 1.json"])
        .map(|(one, name)| called(one, name));
    let all = run(1, 0, &[0, 1, 2]).into_iter().chain(newer);
    let windows = vec![vec![0, 1], vec![0, 1, 2]];
    assert_eq!(excluded_and_windows(all.collect()).1, windows);
}

#[test]
fn of_two_files_of_a_rank_the_one_with_more_in_it_counts() {
    let mut cut = called(run(1, 0, &[0, 1, 2]).remove(1), "a cut file.json");
    cut.collectives.clear();
    let all = run(1, 0, &[0, 1, 2]).into_iter().chain([cut]);
    let why = ExclusionReason::SameRank(1, "rank1.json".to_owned());
    let excluded = vec![("a cut file.json".to_owned(), why)];
    assert_eq!(
        excluded_and_windows(all.collect()),
        (excluded, vec![vec![0, 1, 2]])
    );
}

/// Metadata is missing; collectives of rank 2 say that it is the third of ranks 0, 1 and 2.
#[test]
fn collectives_give_the_rank_where_metadata_do_not() {
    let mut digests = run(1, 0, &[0, 1, 2]);
    for (digest, position) in digests.iter_mut().zip(0..) {
        digest.identity.rank = None;
        digest.identity.rank_from = RankFrom::Unknown;
        digest.collectives[0].position = Some(position);
    }
    let from = |of: &Rank| of.digest.identity.rank_from == RankFrom::Collectives;
    let job_files = JobFiles::new(digests.clone());
    assert!(job_files.windows[0].ranks.iter().all(from));
    assert_eq!(excluded_and_windows(digests), (vec![], vec![vec![0, 1, 2]]));
}

#[test]
fn groups_of_one_name_for_other_purposes_are_those_of_another_job() {
    let with = |description: &str, name: &str| {
        let group = format!("1 {description}");
        let mut job = TestJob::new(2);
        job.step(1, 0, 100);
        job.run(&group, "allreduce", &[0, 1], &[(10, 20); 2]);
        let digests = job.digests().into_iter();
        digests
            .map(|one| {
                let file = format!("{name}{}", one.file.name);
                called(one, &file)
            })
            .collect::<Vec<Digest>>()
    };
    let both = [with("mesh_dp", "a"), with("mesh_tp", "b")].concat();
    let (excluded, windows) = excluded_and_windows(both);
    assert_eq!(windows, [[0, 1]]);
    assert_eq!(excluded.len(), 2);
    let is_other =
        |(_, why): &(String, ExclusionReason)| matches!(why, ExclusionReason::OtherGroups(_));
    assert!(excluded.iter().all(is_other), "{excluded:?}");
}
