//! Sentences about data quality, to read before trusting the figures.

use std::borrow::Cow;

use crate::base::format;
use crate::job::Job;
use crate::job::analysis::network::Network;
use crate::job::files::Excluded;
use crate::job::sheets::matching_notes;

/// At most this many sentences about unmatched collectives are shown; the sheet has all.
const MOST_NOTES: usize = 20;

/// More ranks are counted, not listed; the sheet has all.
const MOST_RANKS: usize = 8;

/// Sentences about what is missing, excluded, damaged, or could not be matched.
pub(super) fn lines(job: &Job, network: &Network, excluded: &[Excluded]) -> Vec<String> {
    let missing: Vec<String> = job.missing().iter().map(u32::to_string).collect();
    let mut notes = Vec::new();
    if !missing.is_empty() {
        let noun = if missing.len() == 1 { "Rank" } else { "Ranks" };
        notes.push(format!(
            "{noun} {} of {} not given: waiting and skew are lower bounds.",
            format::listed(&missing),
            job.world_size
        ));
    }
    let apart = excluded
        .iter()
        .map(|apart| format!("{}: {}.", apart.file.name, apart.why));
    notes.extend(apart);
    notes.extend(lost(job));
    let matching = matching_notes(job);
    let shown = matching.iter().take(MOST_NOTES);
    notes.extend(shown.map(|note| note.line()));
    let above = network.links.iter().filter(|link| link.exceeds_figure());
    let above = above.count() as u64;
    if above > 0 {
        notes.push(format!(
            "The bus bandwidth of {} is above what the links between the ranks carry by the figures of the GPU: times, sizes or links are not as assumed, so no share of the link is given.",
            format::counted(above, "message size"),
        ));
    }
    if matching.len() > MOST_NOTES {
        let n = format::counted((matching.len() - MOST_NOTES) as u64, "more note");
        notes.push(format!(
            "{n} of collectives and clocks are in the sheet `job_quality`."
        ));
    }
    notes
}

/// What the files of ranks lost; a sentence that is true of several ranks stands once.
fn lost(job: &Job) -> Vec<String> {
    let mut found: Vec<(Cow<'static, str>, Vec<String>)> = Vec::new();
    for rank in &job.ranks {
        let lost = rank.digest.warnings.iter();
        for warning in lost.filter(|warning| warning.loses_data()) {
            let sentence = warning.sentence();
            let number = rank.number.to_string();
            match found.iter_mut().find(|(known, _)| *known == sentence) {
                Some((_, ranks)) => ranks.push(number),
                None => found.push((sentence, vec![number])),
            }
        }
    }
    let n_ranks = job.ranks.len();
    let lines = found.into_iter().map(|(sentence, ranks)| match &*ranks {
        [one] => format!("Rank {one}: {sentence}"),
        all if all.len() == n_ranks => format!("All ranks: {sentence}"),
        some if some.len() > MOST_RANKS => format!("{} of {n_ranks} ranks: {sentence}", some.len()),
        some => format!("Ranks {}: {sentence}", format::listed(some)),
    });
    lines.collect()
}
