//! Problems with the input: missing ranks, traces of other jobs.

use super::Context;
use crate::base::format;
use crate::base::value::{Table, Value, cell_columns};
use crate::job::cards::{JobCard, ShownTable};
use crate::job::files::{Excluded, ExclusionReason};

/// Maximum number of rows of evidence.
const MOST_ROWS: usize = 20;

/// At most this many ranks are named.
const MOST_NAMED: usize = 8;

/// Ranks without a trace: how long others wait for them is unknown.
pub(super) fn missing(context: &Context) -> Option<JobCard> {
    let missing = context.job.missing();
    if missing.is_empty() || context.job.ranks.is_empty() {
        return None;
    }
    let names: Vec<String> = missing.iter().map(u32::to_string).collect();
    let named = match names.len() {
        1 => format!("Rank {}", names.concat()),
        2..=MOST_NAMED => format!("Ranks {}", format::listed(&names)),
        n => format!("{n} ranks"),
    };
    let verb = if missing.len() == 1 { "is" } else { "are" };
    let n_partial = context
        .job
        .collectives
        .iter()
        .filter(|of| !of.is_complete());
    Some(JobCard {
        title: format!("{named} {verb} missing"),
        issue: format!(
            "Of {} ranks, {} were read. In {}, a rank is missing: waiting times are lower bounds, the straggler may be a missing rank, and savings of other findings do not include the missing ranks.",
            context.job.world_size,
            context.job.ranks.len(),
            format::counted(n_partial.count() as u64, "collective")
        ),
        action: "Add the traces of these ranks.".to_owned(),
        ranks: missing,
        ..JobCard::default()
    })
}

/// Traces of another job, or of another run of this one.
pub(super) fn other_jobs(context: &Context) -> Option<JobCard> {
    let is_other = |excluded: &&Excluded| {
        matches!(
            excluded.why,
            ExclusionReason::OtherWorld { .. }
                | ExclusionReason::OtherGroups(_)
                | ExclusionReason::OtherRun
        )
    };
    let others: Vec<&Excluded> = context.excluded.iter().filter(is_other).collect();
    let first = others.first()?;
    let table = Table::of(
        "other_jobs",
        "Files of other jobs or runs",
        others.iter().take(MOST_ROWS),
        cell_columns![
            "file", "File", |excluded| Value::Quoted(excluded.file.name.clone());
            "why", "Why", |excluded| Value::Text(excluded.why.to_string());
        ],
    );
    Some(JobCard {
        title: "Traces are of different jobs".to_owned(),
        issue: format!(
            "{} excluded as part of another job or run, such as `{}`: {}. Results cover only the other files.",
            match others.len() {
                1 => "One file was".to_owned(),
                n => format!("{n} files were"),
            },
            first.file.name,
            first.why
        ),
        action: "Give the traces of one run; open the others by themselves.".to_owned(),
        tables: vec![ShownTable::from(&table)],
        ..JobCard::default()
    })
}
