//! Sentences about data quality, to read before trusting the figures.

use crate::base::format;
use crate::job::Job;
use crate::job::analysis::network::Network;
use crate::job::files::Excluded;
use crate::job::sheets::matching_notes;

/// At most this many sentences about unmatched collectives are shown; the sheet has all.
const MOST_NOTES: usize = 20;

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
    for rank in &job.ranks {
        let lost = rank.digest.warnings.iter();
        let lost = lost.filter(|warning| warning.loses_data());
        notes.extend(lost.map(|warning| format!("Rank {}: {}", rank.number, warning.sentence())));
    }
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
