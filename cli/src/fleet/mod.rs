//! `dormer fleet`: reads many traces into a store of Parquet files, and queries it.
//!
//! ```text
//! paths ─walk→ Found ─known?→ a child process for each ─→ batches ─→ STORE/<table>/date=…/<batch>.parquet
//! ```
//!
//! A child is `dormer tables` of one trace, with limits on time and memory: whatever happens to it becomes a row. Files
//! that are already in the store are skipped without reading.

mod child;
mod ingest;
mod query;
mod regressions;
mod sql;
pub(crate) mod store;
mod stored_files;
mod summary;
mod walk;
mod worker;

pub(crate) use ingest::pattern_of;

use crate::Failure;
use crate::args::{FleetArgs, FleetCommand};
use crate::stdout::Out;

/// Runs the subcommand.
pub(crate) fn run(args: &FleetArgs, out: &mut Out) -> Result<(), Failure> {
    match &args.command {
        None => ingest::run(args, out),
        Some(FleetCommand::Compact(args)) => store::compact::run(args, out),
        Some(FleetCommand::Sql(args)) => sql::run(args, out),
        Some(FleetCommand::Summary(args)) => summary::run(args, out),
        Some(FleetCommand::Regressions(args)) => regressions::run(args, out),
    }
}
