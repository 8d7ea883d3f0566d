//! One trace as rows of a few tables, for users who store the figures of many traces.
//!
//! ```text
//! Profile + Report + Source ─Tables::of_trace→ Tables ─ a shell → Arrow, Parquet
//! ImportError       + Source ─Tables::of_failure┘
//! ```
//!
//! [`TABLES`] lists all tables and their columns, with type, unit and meaning. Values are columns of plain Rust values;
//! shells write them to a file. A file that is not a trace has a row in `runs`, with the reason, and none elsewhere.
//!
//! `runs` holds a row for each analysis of a file. All rows of one analysis have the same `run_id` and `ingested`, so
//! that a repeated analysis can be distinguished from the first.

mod collectives;
mod column;
mod findings;
mod hash;
mod kernels;
mod operations;
mod options;
mod recording;
mod runs;
mod schema;
mod status;
mod steps;
#[cfg(test)]
mod tests;
mod warnings;

pub use column::{Column, ColumnType, Table};
pub use options::{options_hash, options_text, options_together};
pub use recording::{RecordingInfo, day_of, hidden_uri, is_hidden_uri};
pub(crate) use schema::WARNINGS;
pub use schema::{
    COLLECTIVES, FINDINGS, Field, KERNELS, OPS, RUNS, SCHEMA_VERSION, STEPS, TABLES, TableKind,
};
pub use status::{Failed, ReasonKind, Status};

pub(crate) use column::Value;

use crate::job::Digest;
use crate::job::digest::SourceFile;
use crate::profile::Profile;
use crate::report::Report;

/// The version of Dormer in rows.
pub const TOOL_VERSION: &str = env!("CARGO_PKG_VERSION");

/// What the caller knows about a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Source {
    /// Its path or URL.
    pub uri: Option<String>,
    /// Its size.
    pub file_bytes: Option<u64>,
    /// SHA-256 of its bytes, in hexadecimal; `None` if they could not be read.
    pub sha256: Option<String>,
    /// When it was last changed, in nanoseconds since 1970.
    pub modified_ns: Option<i64>,
    /// Tags given by the user.
    pub tags: Vec<(String, String)>,
    /// Now, in nanoseconds since 1970.
    pub ingested_ns: i64,
    /// How long reading and analyzing took.
    pub analysis_ns: Option<i64>,
    /// The [`options_hash`] of the options.
    pub options_hash: String,
}

impl Source {
    /// The id of the run: from the hash of the bytes, or of the URI if they could not be read.
    pub fn run_id(&self) -> String {
        let known = self.sha256.as_deref().and_then(|hash| hash.get(..16));
        known.map_or_else(
            || hash::fnv_hex(&["unread", self.uri.as_deref().unwrap_or_default()]),
            str::to_owned,
        )
    }
}

/// The results of an analysis.
#[derive(Debug, Clone, Copy)]
pub struct Analyzed<'a> {
    /// What the trace contained before redaction.
    pub recorded: &'a RecordingInfo,
    /// The whole trace.
    pub profile: &'a Profile,
    /// The report of the whole trace.
    pub report: &'a Report,
    /// The part that findings are about: the steps of a serving engine, else the whole trace.
    pub findings: (&'a Profile, &'a Report),
}

/// All tables of one trace, or of several.
#[derive(Debug, Clone, PartialEq)]
pub struct Tables {
    /// In the order of [`TABLES`].
    pub all: Vec<Table>,
}

impl Default for Tables {
    fn default() -> Tables {
        Tables {
            all: TABLES.iter().map(Table::new).collect(),
        }
    }
}

impl Tables {
    /// The tables of a trace.
    pub fn of_trace(source: &Source, of: Analyzed) -> Tables {
        let file = SourceFile {
            name: source.uri.clone().unwrap_or_default(),
            bytes: source.file_bytes.unwrap_or(0),
        };
        let mut digest = Digest::without_work(of.profile, file);
        digest.find_rank();
        let run = Run::new(source, of.recorded.start_ns);
        let mut tables = Tables::default();
        tables.add(RUNS, &run, [runs::row(source, &of, &digest)]);
        tables.add(STEPS, &run, steps::rows(of.profile, &digest));
        tables.add(OPS, &run, operations::rows(of.profile, of.report));
        tables.add(KERNELS, &run, kernels::rows(of.profile, of.report));
        tables.add(COLLECTIVES, &run, collectives::rows(of.profile, &digest));
        let (profile, report) = of.findings;
        tables.add(FINDINGS, &run, findings::rows(profile, report));
        tables.add(WARNINGS, &run, warnings::rows(of.profile));
        tables
    }

    /// The tables of a file that could not be read as a trace.
    pub fn of_failure(source: &Source, failed: &Failed) -> Tables {
        let mut tables = Tables::default();
        let run = Run::new(source, None);
        tables.add(RUNS, &run, [runs::failed(source, failed)]);
        tables
    }

    /// A table by its name.
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.all.iter().find(|table| table.kind.name == name)
    }

    /// Appends the rows of other tables.
    pub fn append(&mut self, more: Tables) {
        let mut more = more.all.into_iter();
        for table in &mut self.all {
            if let Some(rows) = more.next() {
                table.append(rows);
            }
        }
    }

    fn add(&mut self, name: &str, run: &Run, rows: impl IntoIterator<Item = Vec<Value>>) {
        let Some(table) = self.all.iter_mut().find(|table| table.kind.name == name) else {
            return;
        };
        for row in rows {
            let mut all = run.cells();
            all.extend(row);
            table.push(all);
        }
    }
}

/// The first cells of every row of an analysis.
struct Run {
    id: String,
    day: Option<i32>,
    ingested_ns: i64,
}

impl Run {
    fn new(source: &Source, start_ns: Option<i64>) -> Run {
        Run {
            id: source.run_id(),
            day: start_ns.map(day_of),
            ingested_ns: source.ingested_ns,
        }
    }

    fn cells(&self) -> Vec<Value> {
        vec![
            Value::Str(self.id.clone()),
            self.day.into(),
            Value::Int(self.ingested_ns),
        ]
    }
}
