//! `dormer fleet`: many traces into a store of Parquet files, and what is asked of it.
//!
//! ```text
//! paths ─walk→ Found ─known?→ a child process for each ─→ batches ─→ STORE/<table>/date=…/<batch>.parquet
//! ```
//!
//! A child is `dormer tables` of one trace, with limits of time and memory: whatever happens to it is a row.
//! What is in the store already is skipped without reading.

mod asked;
mod child;
mod ingest;
mod known;
mod regressions;
mod sql;
pub(crate) mod store;
mod summary;
mod walk;
mod worker;

pub(crate) use ingest::pattern_of;

use crate::Failure;
use crate::args::{FleetArgs, FleetCommand};
use crate::stdout::Out;

/// Does what is asked.
pub(crate) fn run(args: &FleetArgs, out: &mut Out) -> Result<(), Failure> {
    match &args.command {
        None => ingest::run(args, out),
        Some(FleetCommand::Compact(args)) => store::compact::run(args, out),
        Some(FleetCommand::Sql(args)) => sql::run(args, out),
        Some(FleetCommand::Summary(args)) => summary::run(args, out),
        Some(FleetCommand::Regressions(args)) => regressions::run(args, out),
    }
}
