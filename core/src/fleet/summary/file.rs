//! The file of a summary: gzipped JSON.

use std::fmt;

use flate2::Compression;
use serde::{Deserialize, Serialize};

use super::{
    BuildColumns, LostColumns, MedianColumns, OutlierColumns, PatternColumns, RejectedColumns,
    RunColumns, SlowJobColumns, Summary, TopKernelColumns, TopOpColumns, Totals, WeekColumns,
};
use crate::base::gzip_json;
use crate::fleet::columns::BadColumn;
use crate::fleet::regressions::{CarrierColumns, ChangeColumns, PointColumns};

/// The version of the file format; increased if a key changes its meaning or is removed.
pub const FORMAT: u32 = 1;

/// How the JSON begins.
const START: &[u8] = b"{\"dormer_fleet\":";

/// A summary's JSON is never larger; anything larger is not a summary.
const MOST_BYTES: u64 = 256 << 20;

/// The file format.
#[derive(Serialize, Deserialize)]
struct File {
    /// [`FORMAT`]; first, so that a program can recognize the file by its first bytes.
    dormer_fleet: u32,
    dormer: String,
    sentence: String,
    by: String,
    totals: Totals,
    texts: Vec<String>,
    builds: BuildColumns,
    runs: RunColumns,
    weeks: WeekColumns,
    medians: MedianColumns,
    regressions: ChangeColumns,
    carriers: CarrierColumns,
    history: PointColumns,
    ops: TopOpColumns,
    kernels: TopKernelColumns,
    findings: PatternColumns,
    lost: LostColumns,
    slowest: SlowJobColumns,
    outliers: OutlierColumns,
    rejected: RejectedColumns,
}

/// Only the format version, which all versions write the same way.
#[derive(Deserialize)]
struct Format {
    dormer_fleet: u32,
}

/// Why a file cannot be read as a summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bad {
    /// It is something else.
    NoSummary,
    /// It is truncated or damaged.
    Damaged(String),
    /// It has another format version.
    Format(u32),
    /// A table is inconsistent.
    Table {
        /// The table.
        table: &'static str,
        /// The column.
        column: &'static str,
        /// The inconsistency.
        reason: String,
    },
}

impl fmt::Display for Bad {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bad::NoSummary => out.write_str("this is no fleet summary"),
            Bad::Damaged(reason) => write!(out, "the fleet summary cannot be read: {reason}"),
            Bad::Format(format) => write!(
                out,
                "the fleet summary has format {format}, and this version reads format {FORMAT}; \
                 write it again with dormer fleet summary"
            ),
            Bad::Table {
                table,
                column,
                reason,
            } => write!(
                out,
                "the fleet summary cannot be read: {column} of {table} {reason}"
            ),
        }
    }
}

impl std::error::Error for Bad {}

/// Whether bytes start like a summary, compressed or not, as opposed to a trace. The first 64 kB are enough.
pub(crate) fn is_summary(start: &[u8]) -> bool {
    gzip_json::starts_with(start, START)
}

impl Summary {
    /// The file: gzipped JSON. The same summary gives the same bytes.
    pub fn to_file(&self) -> Vec<u8> {
        gzip_json::write(&self.file(), Compression::best())
    }

    /// Reads a summary from the bytes of a file, gzipped or not.
    pub fn read(bytes: &[u8]) -> Result<Summary, Bad> {
        if !is_summary(bytes) {
            return Err(Bad::NoSummary);
        }
        let json = gzip_json::read(bytes, MOST_BYTES);
        let json = json.map_err(|error| Bad::Damaged(error.to_string()))?;
        let damaged = |error: serde_json::Error| Bad::Damaged(error.to_string());
        let Format { dormer_fleet } = serde_json::from_slice(&json).map_err(damaged)?;
        if dormer_fleet != FORMAT {
            return Err(Bad::Format(dormer_fleet));
        }
        Summary::of_file(serde_json::from_slice(&json).map_err(damaged)?)
    }

    fn file(&self) -> File {
        File {
            dormer_fleet: FORMAT,
            dormer: self.dormer.clone(),
            sentence: self.sentence.clone(),
            by: self.by.clone(),
            totals: self.totals.clone(),
            texts: self.texts.clone(),
            builds: BuildColumns::of(&self.builds),
            runs: RunColumns::of(&self.runs),
            weeks: WeekColumns::of(&self.weeks),
            medians: MedianColumns::of(&self.medians),
            regressions: ChangeColumns::of(&self.regressions),
            carriers: CarrierColumns::of(&self.carriers),
            history: PointColumns::of(&self.history),
            ops: TopOpColumns::of(&self.ops),
            kernels: TopKernelColumns::of(&self.kernels),
            findings: PatternColumns::of(&self.findings),
            lost: LostColumns::of(&self.lost),
            slowest: SlowJobColumns::of(&self.slowest),
            outliers: OutlierColumns::of(&self.outliers),
            rejected: RejectedColumns::of(&self.rejected),
        }
    }

    fn of_file(file: File) -> Result<Summary, Bad> {
        let n_texts = file.texts.len();
        macro_rules! rows {
            ($table:ident) => {
                file.$table
                    .rows(n_texts)
                    .map_err(|BadColumn { column, reason }| Bad::Table {
                        table: stringify!($table),
                        column,
                        reason,
                    })?
            };
        }
        Ok(Summary {
            builds: rows!(builds),
            runs: rows!(runs),
            weeks: rows!(weeks),
            medians: rows!(medians),
            regressions: rows!(regressions),
            carriers: rows!(carriers),
            history: rows!(history),
            ops: rows!(ops),
            kernels: rows!(kernels),
            findings: rows!(findings),
            lost: rows!(lost),
            slowest: rows!(slowest),
            outliers: rows!(outliers),
            rejected: rows!(rejected),
            sentence: file.sentence,
            by: file.by,
            dormer: file.dormer,
            totals: file.totals,
            texts: file.texts,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::summary::testing;

    fn json_of(summary: &Summary) -> serde_json::Value {
        serde_json::to_value(summary.file()).unwrap()
    }

    #[test]
    fn a_summary_reads_back() {
        let summary = testing::summary();
        let file = summary.to_file();
        assert_eq!(file, summary.to_file());
        assert!(is_summary(&file) && is_summary(&file[..file.len() / 2]));
        assert_eq!(Summary::read(&file), Ok(summary.clone()));
        // Also uncompressed.
        let json = serde_json::to_vec(&summary.file()).unwrap();
        assert_eq!(Summary::read(&json), Ok(summary));
    }

    #[test]
    fn tables_are_columns_and_texts_are_places() {
        let json = json_of(&testing::summary());
        assert_eq!(json["texts"][0], "r0");
        assert_eq!(json["runs"]["id"], serde_json::json!([0]));
        assert_eq!(json["runs"]["idle_ns"], serde_json::json!([null]));
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        let bad = |bytes: &[u8]| Summary::read(bytes).unwrap_err();
        assert_eq!(bad(b"{\"traceEvents\":[]}"), Bad::NoSummary);
        assert_eq!(bad(b""), Bad::NoSummary);
        let file = testing::summary().to_file();
        let cut = bad(&file[..file.len() - 30]);
        assert!(matches!(cut, Bad::Damaged(_)), "{cut:?}");
        // A later format may have other keys; its version is read anyway.
        assert_eq!(bad(b"{\"dormer_fleet\":2,\"rows\":[]}"), Bad::Format(2));
        assert_eq!(
            Bad::Format(2).to_string(),
            "the fleet summary has format 2, and this version reads format 1; write it again with dormer fleet summary"
        );
    }

    #[test]
    fn columns_that_contradict_each_other_are_no_summary() {
        let changed = |change: &dyn Fn(&mut serde_json::Value)| {
            let mut json = json_of(&testing::summary());
            change(&mut json);
            // Keys keep the order of the file, which is recognized by its first bytes.
            let format = json.as_object_mut().unwrap().remove("dormer_fleet");
            let rest = json.to_string();
            let text = format!("{{\"dormer_fleet\":{},{}", format.unwrap(), &rest[1..]);
            Summary::read(text.as_bytes()).unwrap_err().to_string()
        };
        assert_eq!(
            changed(&|json| json["runs"]["gpu"] = serde_json::json!([])),
            "the fleet summary cannot be read: gpu of runs has 0 values, the first column has 1"
        );
        assert_eq!(
            changed(&|json| json["runs"]["id"] = serde_json::json!([9])),
            "the fleet summary cannot be read: id of runs names text 9 of 2"
        );
    }
}
