//! The arguments of `dormer tables` and `dormer fleet`.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Subcommand;
use clap::builder::{PossibleValuesParser, RangedU64ValueParser, TypedValueParser};
use dormer_core::fleet::Metric;
use dormer_core::hardware::GpuSpec;
use dormer_core::tables::TABLES;

use super::values::gpu_of;
use super::{AnalysisArgs, GPU, RedactArgs};

/// How `dormer fleet` ends.
const EXIT_CODES_OF_FLEET: &str = "\
Exit codes:
  0  every file has a row in the store, also those that are no traces
  1  there is no file to read, or the store cannot be read or written
  2  wrong usage
  4  done, but a file was rejected, killed or took too long (--fail-on rejected)";

#[derive(Debug, clap::Args)]
#[command(
    after_help = EXIT_CODES_OF_FLEET,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    subcommand_value_name = "COMMAND"
)]
pub(crate) struct FleetArgs {
    #[command(subcommand)]
    pub(crate) command: Option<FleetCommand>,

    #[command(flatten)]
    pub(crate) ingest: IngestArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum FleetCommand {
    /// Merge the files of each day into one; remove unfinished files
    Compact(CompactArgs),
    /// Print SQL that creates DuckDB views of the tables of a store
    Sql(SqlArgs),
    /// Write what the page shows of a store: where GPUs lose time, what changed, what to fix first
    Summary(SummaryArgs),
    /// Report what became slower or faster between builds, and which operations account for it
    Regressions(RegressionsArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct CompactArgs {
    /// The store
    #[arg(value_name = "STORE")]
    pub(crate) store: PathBuf,

    /// Also remove rows of older versions of Dormer, and of analyses that were repeated
    #[arg(long)]
    pub(crate) drop_old: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct SqlArgs {
    /// The store [default: the word STORE, to be replaced]
    #[arg(value_name = "STORE")]
    pub(crate) store: Option<PathBuf>,
}

/// Which runs of a store.
#[derive(Debug, clap::Args)]
pub(crate) struct QueryArgs {
    /// The store that `dormer fleet PATHS -o STORE` wrote
    #[arg(value_name = "STORE")]
    pub(crate) store: PathBuf,

    /// The tag that identifies builds; builds are ordered by their first recording
    #[arg(long, value_name = "TAG", default_value = "build")]
    pub(crate) by: String,

    /// Only runs with this value of a column of `runs` or of a tag, such as status=ok or tags.team=vision;
    /// can be given more than once
    #[arg(long = "where", value_name = "K=V", value_parser = tag_of)]
    pub(crate) wheres: Vec<(String, String)>,

    /// Only recordings of the last DAYS days before the newest one in the store, and files that failed
    /// since then
    #[arg(long, value_name = "DAYS", value_parser = from_one::<u32>())]
    pub(crate) last: Option<u32>,
}

impl QueryArgs {
    /// The name of the tag that tells builds apart.
    pub(crate) fn tag(&self) -> &str {
        self.by.strip_prefix("tags.").unwrap_or(&self.by)
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct SummaryArgs {
    #[command(flatten)]
    pub(crate) query: QueryArgs,

    /// The file to write, at most 5 MB: the page opens it
    #[arg(short, long, value_name = "fleet.json.gz")]
    pub(crate) output: PathBuf,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RegressionsArgs {
    #[command(flatten)]
    pub(crate) query: QueryArgs,

    /// Treat this build as the newest: report what changed with it, or before it and still
    /// shows in it [default: what changed in any build]
    #[arg(long, value_name = "BUILD")]
    pub(crate) new: Option<String>,

    /// What to compare; can be a list [default: total,category]
    #[arg(long, value_name = "METRICS", value_delimiter = ',', value_parser = metrics())]
    pub(crate) metric: Vec<Metric>,

    /// Print for programs or documents: md, json, csv (a row for each change), or otava (the series, for
    /// Apache Otava) [default: a table]
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub(crate) format: Option<RegressionFormat>,
}

/// How regressions are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum RegressionFormat {
    /// A document
    Md,
    /// Everything, for programs
    Json,
    /// A row for each change
    Csv,
    /// A row for each build, a column for each series, as Apache Otava reads it
    Otava,
}

fn metrics() -> impl TypedValueParser<Value = Metric> {
    PossibleValuesParser::new(Metric::ALL.map(Metric::key)).map(|key| {
        let mut all = Metric::ALL.into_iter();
        // The parser let nothing else through.
        all.find(|metric| metric.key() == key)
            .unwrap_or(Metric::Total)
    })
}

/// A whole number from 1 on.
fn from_one<T>() -> RangedU64ValueParser<T>
where
    T: TryFrom<u64> + Clone + Send + Sync,
{
    RangedU64ValueParser::new().range(1..)
}

/// Which traces, into which store, and how.
#[derive(Debug, clap::Args)]
pub(crate) struct IngestArgs {
    /// Traces, folders of them, patterns (* ? [a-z] **), or lists: LIST.txt has a path in each line, LIST.csv the path,
    /// name and value of a tag
    #[arg(value_name = "PATH|GLOB|LIST", required = true)]
    pub(crate) paths: Vec<PathBuf>,

    /// The store: a folder, created if missing
    #[arg(short, long, value_name = "STORE", required = true)]
    pub(crate) output: Option<PathBuf>,

    /// A pattern whose named groups are tags, taken from the path of each trace
    #[arg(
        long,
        value_name = "REGEX",
        value_parser = crate::fleet::pattern_of,
        help = "A pattern whose named groups are tags, taken from the path of each trace: (?P<build>b[0-9]+)__(?P<model>[^_]+)"
    )]
    pub(crate) tag_from: Option<regex_lite::Regex>,

    /// Traces that are read at once [default: one for each core]
    #[arg(long, value_name = "N", value_parser = from_one::<usize>())]
    pub(crate) jobs: Option<usize>,

    /// Time limit for one trace, in seconds [default: 60, plus 1 for every 2 MB]
    #[arg(long, value_name = "S", value_parser = from_one::<u64>())]
    pub(crate) timeout: Option<u64>,

    /// Memory limit for one trace, in MB [default: 1024, plus 40 times its size]
    #[arg(long, value_name = "MB", value_parser = from_one::<u64>())]
    pub(crate) memory: Option<u64>,

    /// Read again what was rejected, killed, or took too long
    #[arg(long)]
    pub(crate) retry: bool,

    /// Print which traces would be read
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Exit with code 4 if a file was rejected, was killed or took too long, in this run or an earlier one
    #[arg(long, value_name = "WHAT", value_parser = PossibleValuesParser::new(["rejected"]))]
    pub(crate) fail_on: Option<String>,

    #[command(flatten)]
    pub(crate) rows: RowArgs,
}

/// How `dormer tables` ends.
const EXIT_CODES_OF_TABLES: &str = "\
Exit codes:
  0  the row in `runs` was written: status and reason in it tell whether the file is a trace
  1  standard output cannot be written
  2  wrong usage";

#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES_OF_TABLES)]
pub(crate) struct TablesArgs {
    /// The trace, or - for standard input. The format is detected from the content
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,

    #[command(flatten)]
    pub(crate) rows: RowArgs,

    /// Which tables to write [default: all]
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        value_parser = PossibleValuesParser::new(TABLES.iter().map(|table| table.name))
    )]
    pub(crate) tables: Vec<String>,

    /// The location to record in the rows [default: its path]
    #[arg(long, value_name = "URI")]
    pub(crate) uri: Option<String>,

    /// End where more memory is needed than so many megabytes
    #[arg(long, value_name = "MB", hide = true)]
    pub(crate) memory_limit: Option<u64>,

    /// When the trace was last changed, in nanoseconds since 1970
    #[arg(long, value_name = "NS", hide = true)]
    pub(crate) modified: Option<i64>,

    /// When its rows say that it was analyzed, in nanoseconds since 1970: engines that may make rows again
    /// give it, so that those of all tables go together [default: now]
    #[arg(long, value_name = "NS", hide = true)]
    pub(crate) ingested: Option<i64>,
}

/// What changes the rows of a trace.
#[derive(Debug, clap::Args)]
pub(crate) struct RowArgs {
    /// A name and a value that its rows in `runs` carry, such as build=b07; can be given more than once
    #[arg(long = "tag", value_name = "K=V", value_parser = tag_of)]
    pub(crate) tags: Vec<(String, String)>,

    /// The GPU whose roofline to use: a name that `dormer gpus` lists, or a JSON file with its figures
    /// [default: the one that the trace names]
    #[arg(long, value_name = "NAME|FILE.json", value_parser = gpu_of, help_heading = GPU)]
    pub(crate) gpu: Option<Arc<GpuSpec>>,

    #[command(flatten)]
    pub(crate) analysis: AnalysisArgs,

    #[command(flatten)]
    pub(crate) redact: RedactArgs,
}

/// A name and a value with an equals sign between them.
fn tag_of(argument: &str) -> Result<(String, String), String> {
    match argument.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("expected a name and a value, NAME=VALUE".to_owned()),
    }
}
