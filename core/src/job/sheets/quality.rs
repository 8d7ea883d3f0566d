//! Sheet `job_quality`: what is missing, was set apart, was wrong with traces, or could not be matched.

use super::Input;
use super::delays::{MOST_RANKS, n_not_asked};
use super::table::{Body, Col, body, columns, int, known, text};
use crate::base::format;
use crate::base::group::counted;
use crate::base::sort::Arrange;
use crate::import::warning::Severity;
use crate::job::Job;

/// A problem with the data.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::job) struct Note {
    pub(super) kind: &'static str,
    pub(super) rank: Option<u32>,
    pub(super) file: String,
    pub(super) group: String,
    pub(super) count: u64,
    pub(super) sentence: String,
}

pub(super) fn notes_columns() -> Vec<Col<Note>> {
    columns![Note:
        "kind", Text, |of| text(of.kind), "`missing rank`, `set apart`, `data loss`, `repaired` or `info` of a trace, `incomplete`, `left out`, `clock`, `not asked`.";
        "rank", Count, |of| known(of.rank), "The rank that is concerned, by its number in the job.";
        "file", Text, |of| text(&of.file), "The file that is concerned.";
        "group", Text, |of| text(&of.group), "The process group that is concerned.";
        "count", Count, |of| int(of.count), "How often.";
        "what", Text, |of| text(&of.sentence), "What it is, in a sentence.";
    ]
}

pub(super) fn quality_body(input: &Input) -> Body<'static> {
    let mut notes = missing(input);
    notes.extend(excluded(input));
    notes.extend(warnings(input));
    notes.extend(matching_notes(input.job));
    notes.extend(not_asked(input));
    body(&notes_columns(), notes)
}

/// Notes about collectives that are incomplete or could not be matched, and about clocks.
pub(in crate::job) fn matching_notes(job: &Job) -> Vec<Note> {
    let mut notes = incomplete(job);
    notes.extend(left_out(job));
    notes.extend(clocks(job));
    notes
}

impl Note {
    /// The note as a sentence that starts with its subject: "Rank 1, group mesh_tp 3 (2×): …".
    pub(in crate::job) fn line(&self) -> String {
        let rank = self.rank.map(|rank| format!("rank {rank}"));
        let group = Some(&self.group).filter(|group| !group.is_empty());
        let about = rank
            .into_iter()
            .chain(group.map(|group| format!("group {group}")));
        let about = format::joined(about, ", ");
        let times = match self.count {
            ..=1 => String::new(),
            n => format!(" ({}×)", format::count(n)),
        };
        match about.is_empty() {
            true => format!("{}{times}", self.sentence),
            false => format!("{}{times}: {}", format::capitalized(&about), self.sentence),
        }
    }
}

fn missing(input: &Input) -> Vec<Note> {
    let missing = input.job.missing().into_iter();
    let notes = missing.map(|rank| Note {
        kind: "missing rank",
        rank: Some(rank),
        count: 1,
        sentence: "No file of this rank was read; what compares ranks is about the others."
            .to_owned(),
        ..Note::default()
    });
    notes.collect()
}

fn excluded(input: &Input) -> Vec<Note> {
    let notes = input.excluded.iter().map(|one| Note {
        kind: "set apart",
        file: one.file.name.clone(),
        count: 1,
        sentence: format!("{}.", format::capitalized(&one.why.to_string())),
        ..Note::default()
    });
    notes.collect()
}

fn warnings(input: &Input) -> Vec<Note> {
    let notes = input.job.ranks.iter().flat_map(|rank| {
        let digest = &rank.digest;
        digest.warnings.iter().map(|warning| Note {
            kind: match warning.kind.severity() {
                Severity::DataLoss => "data loss",
                Severity::Repaired => "repaired",
                Severity::Info => "info",
            },
            rank: Some(rank.number),
            file: digest.file.name.clone(),
            count: warning.count,
            sentence: warning.sentence().into_owned(),
            ..Note::default()
        })
    });
    notes.collect()
}

/// Collectives for which not all ranks were read, by group and number of ranks read.
fn incomplete(job: &Job) -> Vec<Note> {
    let incomplete = job.collectives.iter().filter(|of| !of.is_complete());
    let mut counts = counted(incomplete.map(|of| (of.group, of.members.len(), of.expected)));
    counts.arrange();
    let notes = counts.into_iter().map(|((group, n, expected), count)| Note {
        kind: "incomplete",
        group: name(job, group),
        count: count as u64,
        sentence: match group.and_then(|at| job.groups.get(at)).is_some_and(|of| n < of.members.len()) {
            true => format!("Only {n} of {expected} ranks recorded these collectives: skew and waits are lower bounds."),
            false => format!("Of these collectives {n} of {expected} ranks were read: skew and waits are lower bounds."),
        },
        ..Note::default()
    });
    notes.collect()
}

/// Collectives that could not be matched.
fn left_out(job: &Job) -> Vec<Note> {
    let unmatched = &job.unmatched;
    let counts = |mut counts: Vec<((usize, u32), usize)>, sentence: &'static str| {
        counts.arrange();
        counts.into_iter().map(move |((group, rank), n)| Note {
            kind: "left out",
            rank: Some(rank),
            group: name(job, Some(group)),
            count: n as u64,
            sentence: sentence.to_owned(),
            ..Note::default()
        })
    };
    let odd = unmatched.disagreeing.iter();
    let odd = counted(odd.flat_map(|(group, ranks)| ranks.iter().map(|rank| (*group, *rank))));
    let differs = "Its types or sizes of these collectives differ from those of the other ranks; they are left out on all of them.";
    let another = "Its collectives of the group are in another order than those of the other ranks; they are left out in this many steps.";
    let order = counted(unmatched.out_of_order.iter().copied());
    let mut notes: Vec<Note> = counts(odd, differs).chain(counts(order, another)).collect();
    if unmatched.unlabeled > 0 {
        notes.push(Note {
            kind: "left out",
            count: unmatched.unlabeled as u64,
            sentence: "Collectives name no process group, and the ranks do not list the same ones in a step.".to_owned(),
            ..Note::default()
        });
    }
    notes
}

fn clocks(job: &Job) -> Vec<Note> {
    let clocks = &job.clocks;
    let note = |rank: Option<u32>, sentence: &str| Note {
        kind: "clock",
        rank,
        count: 1,
        sentence: sentence.to_owned(),
        ..Note::default()
    };
    if !clocks.are_comparable {
        let sentence =
            "The clocks of the ranks could not be matched; what compares them is left out.";
        return vec![note(None, sentence)];
    }
    let mut notes = Vec::new();
    if clocks.n_violations > 0 {
        let checked = format::counted(clocks.n_checked as u64, "collective");
        notes.push(Note {
            kind: "clock",
            count: clocks.n_violations as u64,
            sentence: format!(
                "In {checked}, a rank ended on the common clock before another started: their transfer time is unknown."
            ),
            ..Note::default()
        });
    }
    let alone = job.ranks.iter().zip(&clocks.of_rank);
    let alone = alone.filter(|(_, clock)| !clock.is_joined);
    let sentence =
        "No collective joins its clock with those of most ranks; its times are as recorded.";
    notes.extend(alone.map(|(rank, _)| note(Some(rank.number), sentence)));
    notes
}

/// Ranks for which `what_if` has no rows.
fn not_asked(input: &Input) -> Option<Note> {
    let n = n_not_asked(input);
    (n > 0).then(|| Note {
        kind: "not asked",
        count: n as u64,
        sentence: format!(
            "`what_if` covers the {MOST_RANKS} ranks with the largest delays; this many others have smaller ones."
        ),
        ..Note::default()
    })
}

fn name(job: &Job, group: Option<usize>) -> String {
    let group = group.and_then(|group| job.groups.get(group));
    group.map_or_else(String::new, |group| group.name.clone())
}
