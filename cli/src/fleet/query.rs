//! The runs of a store that a query selects, in the form that the core crate analyzes.

use dormer_core::base::format;
use dormer_core::fleet::{Fleet, RunQuery, tags_of};
use dormer_core::tables::{FINDINGS, KERNELS, OPS, RUNS, Table};

use super::store::{self, read};
use crate::Failure;
use crate::args::QueryArgs;

/// The columns used, for tables with many rows.
const COLUMNS: [(&str, &[&str]); 3] = [
    (
        OPS,
        &[
            "op_key",
            "name",
            "category",
            "input_dims",
            "calls",
            "kernel_ns",
        ],
    ),
    (
        KERNELS,
        &[
            "kernel_short",
            "op",
            "category",
            "library",
            "calls",
            "total_ns",
        ],
    ),
    (
        FINDINGS,
        &[
            "number", "analysis", "pattern", "title", "low_ns", "mid_ns", "high_ns",
        ],
    ),
];

/// Reads the runs. If builds are requested, it is an error if no run has the tag that identifies them.
pub(super) fn fleet(args: &QueryArgs, needs_builds: bool) -> Result<Fleet, Failure> {
    let query = RunQuery {
        by: args.by.clone(),
        wheres: args.wheres.clone(),
        last_days: args.last,
    };
    store::check(&args.store)?;
    let tables = read::latest(&args.store, &COLUMNS)?;
    let fleet = Fleet::new(&tables, &query);
    if fleet.runs.is_empty() {
        let sentence = match tables.table(RUNS).is_none_or(Table::is_empty) {
            true => "the store has no runs",
            false => "no run matches --where and --last",
        };
        return Err(Failure::Sentence(sentence.to_owned()));
    }
    if needs_builds && fleet.runs.iter().all(|run| run.build.is_none()) {
        let tags = tags_of(&tables);
        let tags = match tags.is_empty() {
            true => "no run has tags; dormer fleet --tag and --tag-from give them".to_owned(),
            false => format!("tags of runs are {}", format::listed(&tags)),
        };
        let tag = query.tag();
        return Err(Failure::Usage(format!(
            "no run has the tag {tag}, which --by names: {tags}"
        )));
    }
    Ok(fleet)
}
