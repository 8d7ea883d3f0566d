//! `job.json`: everything about a job, for programs.

use serde_json::{Map, Value as Json};

use super::{Schema, list, record};
use crate::import::warning::Warning;
use crate::job::clocks::Clock;
use crate::job::files::Excluded;
use crate::job::groups::Group;
use crate::job::overview::{JobCard, JobOverview};
use crate::job::sheets::FilledSheet;
use crate::job::{Job, JobStep, Rank};
use crate::report::sheet::Column;

const FORMAT: u32 = 1;

/// The job as a JSON value; every record and key is explained at its top.
pub(crate) fn json(
    job: &Job,
    overview: &JobOverview,
    excluded: &[Excluded],
    sheets: &[FilledSheet],
) -> Json {
    match File::of(job, overview, excluded, sheets) {
        Json::Object(keys) => {
            let schema = ("$schema".to_owned(), schema());
            Json::Object(std::iter::once(schema).chain(keys).collect())
        }
        other => other,
    }
}

/// What each key of each record means.
fn schema() -> Json {
    let records = SCHEMA.iter().map(|(name, _, keys): &Schema| {
        let keys = keys.iter().map(|(key, meaning)| {
            let meaning = Json::from(meaning.trim());
            ((*key).to_owned(), meaning)
        });
        ((*name).to_owned(), Json::Object(keys.collect()))
    });
    Json::Object(records.collect::<Map<String, Json>>())
}

record! {
    /// The file. At its top, `$schema` says what each key means.
    File(job: &Job, overview: &JobOverview, excluded: &[Excluded], sheets: &[FilledSheet]) {
        format: "1; it changes when a key changes its meaning or is removed." = FORMAT,
        headline: "The answer, in a sentence or two." = overview.headline,
        findings: "What to do, by saving, the largest first; the bound of the job is last." = list(&overview.cards, |card| JobFinding::of(job, card)),
        world_size: "How many ranks the job has." = job.world_size,
        missing: "Ranks of which no file was read, by number." = job.missing(),
        hosts: "Names of hosts, in order of their first rank; null where traces do not name them." = job.are_hosts_named.then_some(&job.hosts),
        are_clocks_comparable: "False where the clocks of the ranks could not be matched: then nothing is compared by them." = job.clocks.are_comparable,
        ranks: "The ranks, by number." = job.ranks.iter().enumerate().map(|(at, rank)| JobRank::of(job, at, rank)).collect::<Json>(),
        groups: "Process groups." = list(&job.groups, |group| ProcessGroup::of(job, group)),
        steps: "Steps, by number." = list(&job.steps, |step| Step::of(job, step)),
        collectives: "How many collectives were matched over ranks." = Collectives::of(job),
        set_apart: "Files that take no part." = list(excluded, ExcludedFile::of),
        sheets: "The sheets that have rows." = list(sheets, JobTable::of),
    }

    /// A finding.
    JobFinding(job: &Job, card: &JobCard) {
        key: "Which: slow_rank, late_host, …; `docs/job.md` lists them." = card.key,
        title: "What it is, in a few words." = card.title,
        issue: "The same with its figures." = card.issue,
        action: "What to do." = card.action,
        ranks: "The ranks that it is about, by number." = card.ranks,
        step: "The number of the step that shows it first; null where it is of no step." = card.step.and_then(|at| job.steps.get(at)).map(|step| step.number),
        worth_ns: "The time that all steps together would save, by a replay of the job; null if unknown." = card.saving_ns,
        worth: "The same as text, per step on average; empty if unknown." = card.savings,
    }

    /// A rank.
    JobRank(job: &Job, at: usize, rank: &Rank) {
        rank: "Its number." = rank.number,
        told_by: "What told that: metadata, merged trace, collectives, file name or coordinates." = rank.digest.identity.rank_from.label(),
        file: "Its file." = rank.digest.file.name,
        file_bytes: "The size of that." = rank.digest.file.bytes,
        text_bytes: "Its size, unpacked." = rank.digest.text_bytes,
        host: "Its host." = job.hosts.get(rank.host),
        device: "The first GPU that its trace describes." = rank.digest.identity.device,
        backend: "The library of its collectives, as PyTorch calls it." = rank.digest.identity.backend,
        base_ns: "What is to be added to the times of its trace, in nanoseconds since 1970." = rank.base_ns,
        clock: "Its clock; null where nothing joins it with that of the first rank." = job.clocks.of_rank.get(at).filter(|clock| clock.is_joined).map(RankClock::of),
        collectives: "Collectives in its trace." = rank.digest.collectives.len(),
        warnings: "What was wrong with its trace." = list(&rank.digest.warnings, Fault::of),
    }

    /// The clock of a rank against that of the first: offset + drift (t - at).
    RankClock(clock: &Clock) {
        offset_ns: "By how much it is ahead." = clock.offset_ns,
        spread_ns: "The median deviation of what that was estimated from." = clock.spread_ns,
        drift: "By how much it goes faster: 0.000001 is a microsecond a second." = clock.drift,
        at_ns: "When it is ahead by the offset, in nanoseconds since 1970." = clock.at_ns,
    }

    /// What was wrong with a trace.
    Fault(warning: &Warning) {
        sentence: "What it means, and what was done." = warning.sentence(),
        count: "How often." = warning.count,
    }

    /// A process group.
    ProcessGroup(job: &Job, group: &Group) {
        name: "The name that PyTorch gave it; another group may have it, too." = group.name,
        description: "What the program calls it; empty where nobody named it." = group.description,
        ranks: "Its ranks, by number, in its order." = group.ranks,
        ranks_read: "How many of them were read." = group.members.len(),
        spans_hosts: "Whether those are on several hosts." = group.spans_hosts(&job.ranks),
    }

    /// A step.
    Step(job: &Job, step: &JobStep) {
        number: "Its number." = step.number,
        ranks: "The ranks that recorded it, by number." = step.of_rank.iter().zip(&job.ranks).filter_map(|(own, rank)| own.map(|_| rank.number)).collect::<Vec<u32>>(),
    }

    /// How many collectives were matched.
    Collectives(job: &Job) {
        count: "Collectives of several ranks." = job.collectives.len(),
        complete: "Those of which every rank was read." = job.collectives.iter().filter(|of| of.is_complete()).count(),
        left_out: "Those left out because ranks report different types or sizes." = job.unmatched.disagreeing.len(),
        out_of_order: "How often a rank's collectives of a group were left out because they are in another order." = job.unmatched.out_of_order.len(),
        unlabeled_left_out: "Collectives without a process group that ranks list differently." = job.unmatched.unlabeled,
    }

    /// A file that takes no part.
    ExcludedFile(excluded: &Excluded) {
        file: "Its name." = excluded.file.name,
        reason: "Why." = excluded.why.to_string(),
    }

    /// A sheet; `docs/columns.md` describes all of them.
    JobTable(made: &FilledSheet) {
        name: "Its name, which is that of its CSV file." = made.sheet.name,
        columns: "Its columns." = list(&made.sheet.columns, JobColumn::of),
        n_rows: "How many rows it has." = made.n_rows,
        rows: "Its rows, each a list of cells in the order of the columns; an unknown is null. Null where there are more than 200,000, or eight million cells: they are in its CSV file alone." = made.is_whole().then_some(&made.sheet.rows),
    }

    /// A column.
    JobColumn(column: &Column<String>) {
        label: "Its label." = column.label,
        unit: "What its numbers are: text, count, ms, us, percent, number, flag." = column.unit,
        doc: "What it means." = column.doc,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::digest::{Digest, RankFrom};
    use crate::job::files::JobFiles;

    #[test]
    fn a_job_says_who_its_ranks_are() {
        let digests = [0, 2].map(|rank| {
            let mut digest = Digest::default();
            digest.file.name = format!("{rank}.json");
            digest.identity.rank = Some(rank);
            digest.identity.rank_from = RankFrom::FileName;
            digest.identity.world_size = Some(3);
            digest
        });
        let mut job_files = JobFiles::new(digests.to_vec());
        let job = Job::new(job_files.windows.remove(0));
        let overview = JobOverview {
            cards: vec![JobCard::default()],
            ..JobOverview::default()
        };
        let text = json(&job, &overview, &[], &[]).to_string();
        // The meanings of the keys come first.
        assert!(text.starts_with(r#"{"$schema":{"#), "{text}");
        let file: Json = serde_json::from_str(&text).unwrap();
        assert_eq!(file["missing"], serde_json::json!([1]));
        assert_eq!(file["ranks"][1]["rank"], 2);
        assert_eq!(file["ranks"][1]["told_by"], "file name");
        assert_eq!(file["hosts"], Json::Null);
        // Every key has a meaning.
        let explained = |record: &str, value: &Json| {
            let keys = value.as_object().unwrap().keys();
            let known = &file["$schema"][record];
            let mut keys = keys.filter(|key| *key != "$schema");
            keys.all(|key| known[key].is_string())
        };
        assert!(explained("File", &file));
        assert!(explained("JobFinding", &file["findings"][0]));
        assert!(explained("JobRank", &file["ranks"][0]));
    }
}
