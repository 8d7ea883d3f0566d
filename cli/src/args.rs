//! The command line as a value.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Parser, Subcommand};
use clap_complete::Shell;
use dormer_core::base::interval::Interval;
use dormer_core::findings::Priority;
use dormer_core::hardware::{self, Basis, GpuSpec};
use dormer_core::output::export::{self, Source};
use dormer_core::perf::model_config::{self, ModelConfig};
use dormer_core::perf::user::{self, UserModels};
#[cfg(feature = "parquet")]
use dormer_core::{fleet::Metric, tables::TABLES};

/// How commands end, for scripts.
const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  the trace cannot be read or has nothing to analyze, or a file cannot be written
  2  wrong usage
  3  done, but data was lost (--strict)
  4  done, but a finding is as severe as --fail-on says, or more";

/// Where the GPU time of a PyTorch profiler trace went
#[derive(Debug, Parser)]
#[command(name = "dormer", version, arg_required_else_help = true, after_help = EXIT_CODES)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Analyze a trace: print a summary, write the report files
    Report(ReportArgs),
    /// Compare two traces: print what differs, write the tables of both
    Compare(CompareArgs),
    /// Analyze the ranks of one job: which holds the others up, why, and what it is worth
    Job(JobArgs),
    /// Many traces into a store of Parquet files, and what is asked of it
    #[cfg(feature = "parquet")]
    Fleet(FleetArgs),
    /// One trace as rows of a few tables, for programs: a ZIP of Arrow streams on standard output
    #[cfg(feature = "parquet")]
    Tables(TablesArgs),
    /// Show one event of a trace with its callers and what it called, or find calls by name
    Tree(TreeArgs),
    /// List the GPUs that --gpu knows
    Gpus,
    /// Print completions for a shell
    #[command(after_help = COMPLETIONS)]
    Completions {
        /// The shell
        #[arg(value_name = "SHELL")]
        shell: Shell,
    },
}

/// Where completions belong.
const COMPLETIONS: &str = "\
Where it belongs:
  bash        dormer completions bash > ~/.local/share/bash-completion/completions/dormer
  zsh         dormer completions zsh > \"${fpath[1]}/_dormer\"
  fish        dormer completions fish > ~/.config/fish/completions/dormer.fish
  powershell  dormer completions powershell >> $PROFILE";

#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct JobArgs {
    /// Traces or digests of the ranks, folders or archives of them (.zip, .tar, .tar.gz), or one file into
    /// which a tool has put several ranks; told apart by content
    #[arg(value_name = "DIR|FILE", required = true)]
    pub(crate) paths: Vec<PathBuf>,

    /// Write the report files and the digests into this folder; it is made when it is missing
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,

    /// Which files to write [default: all]. Without --output: print this one in place of the summary:
    /// json (job.json), md or html
    #[arg(
        long,
        value_name = "FORMATS",
        value_delimiter = ',',
        value_parser = formats_of::<export::job::Input>()
    )]
    pub(crate) format: Vec<String>,

    /// What a rank can send to other hosts, one way, in GB/s (10⁹ bytes a second): a card of 400 Gbit/s
    /// carries 50. Links between hosts are held against it
    #[arg(long, value_name = "GB/S", value_parser = positive)]
    pub(crate) network_gbps: Option<f64>,

    /// Also write the traces of all ranks as one archive for Perfetto 58.2 or later, unpacked, with a
    /// manifest that aligns their clocks
    #[arg(long, value_name = "OUT.tar")]
    pub(crate) perfetto: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct ReportArgs {
    /// The trace: .json, .json.gz or .zip, told apart by content; - reads standard input
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,

    /// The GPU to judge by: a name that `dormer gpus` lists, or a JSON file with its figures
    /// [default: the one the trace names]
    #[arg(long, value_name = "NAME|FILE.json", value_parser = gpu_of)]
    pub(crate) gpu: Option<Arc<GpuSpec>>,

    #[command(flatten)]
    pub(crate) judge: JudgeArgs,

    /// What was recorded while GPU graphs were captured: a trace, or a folder of such; can be given
    /// more than once. The kernels that the graphs replay get their operators, shapes and modules from
    /// it; an execution_details.json beside it is read
    #[arg(long, value_name = "FILE|DIR")]
    pub(crate) capture: Vec<PathBuf>,

    /// The config.json of the model, as Hugging Face has it, or that of the transformer of a diffusion
    /// pipeline: the sizes of kernels that GPU graphs replay follow from it, where no capture tells them
    #[arg(long, value_name = "FILE", value_parser = model_of)]
    pub(crate) model_config: Option<Arc<ModelConfig>>,

    /// An eager trace of the same model, or a capture of it: the sizes of kernels that GPU graphs replay are
    /// those of its operators at the same places, where no capture tells them
    #[arg(long, value_name = "FILE")]
    pub(crate) shapes_from: Option<PathBuf>,

    /// Analyze one step alone: the position of a step of a serving engine, from 1, the number of a
    /// ProfilerStep, or the whole name of a range that the program named. Several steps of an engine by
    /// the first and the last (12-43), or by the load: steady is the longest run of decode steps near the
    /// most requests; tracelens-mixed, tracelens-decode and tracelens-prefill are the windows that
    /// TraceLens picks
    #[arg(long, value_name = "N|A-B|NAME", conflicts_with = "window")]
    pub(crate) step: Option<String>,

    /// Analyze the whole recording, also of a serving engine: else its annotated steps are analyzed, from
    /// the first to the last, and only the tables are of the whole
    #[arg(long, conflicts_with_all = ["step", "window"])]
    pub(crate) whole: bool,

    /// Analyze a part of the time alone, in microseconds after the first event of the trace
    #[arg(long, value_name = "START_US,END_US", value_parser = window_of)]
    pub(crate) window: Option<Interval>,

    #[command(flatten)]
    pub(crate) redact: RedactArgs,

    #[command(flatten)]
    pub(crate) check: CheckArgs,

    /// Write the report files into this folder; it is made when it is missing
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,

    /// Which files to write [default: all]. Without --output: print this one in place of the summary:
    /// json (findings.json), md or html
    #[arg(
        long,
        value_name = "FORMATS",
        value_delimiter = ',',
        value_parser = formats_of_report()
    )]
    pub(crate) format: Vec<String>,
}

/// What a result is checked for.
#[derive(Debug, clap::Args)]
pub(crate) struct CheckArgs {
    /// End with 3 where data was lost: some of what happened is missing from the numbers
    #[arg(long)]
    pub(crate) strict: bool,

    /// End with 4 where a finding is as severe as this, or more
    #[arg(long, value_name = "SEVERITY", value_parser = priorities())]
    pub(crate) fail_on: Option<Priority>,
}

/// What files may say.
#[derive(Debug, clap::Args)]
pub(crate) struct RedactArgs {
    /// Replace names that are your own by placeholders: of modules, Python files and functions,
    /// operators, kernels, annotations, hosts and devices; shapes, types and times stay
    #[arg(long)]
    pub(crate) redact: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CompareArgs {
    /// The trace to improve: .json, .json.gz or .zip, told apart by content; - reads standard input
    #[arg(value_name = "TARGET")]
    pub(crate) target: PathBuf,

    /// The trace that it is compared with
    #[arg(long, value_name = "REF")]
    pub(crate) reference: PathBuf,

    /// What to call the two in tables and reports [default: the names of the files]
    #[arg(long, value_name = "REF,TARGET", value_parser = names_of)]
    pub(crate) names: Option<[String; 2]>,

    /// The GPU to judge the target by: a name that `dormer gpus` lists, or a JSON file with its
    /// figures [default: the one the trace names]
    #[arg(long, value_name = "NAME|FILE.json", value_parser = gpu_of)]
    pub(crate) gpu: Option<Arc<GpuSpec>>,

    /// The GPU to judge the reference by [default: the one the trace names]
    #[arg(long, value_name = "NAME|FILE.json", value_parser = gpu_of)]
    pub(crate) reference_gpu: Option<Arc<GpuSpec>>,

    #[command(flatten)]
    pub(crate) judge: JudgeArgs,

    /// Compare one step of each alone, as in `dormer report`; one value is for both, an empty one
    /// for the whole trace
    #[arg(long, value_name = "REF,TARGET", value_parser = steps_of, conflicts_with = "window")]
    pub(crate) step: Option<[Option<String>; 2]>,

    /// Compare the whole recordings, also of serving engines: else their annotated steps are compared,
    /// from the first to the last
    #[arg(long, conflicts_with_all = ["step", "window"])]
    pub(crate) whole: bool,

    /// Compare a part of the time alone, in microseconds after the first event of a trace: of both
    /// the same, or of the reference and then of the target
    #[arg(long, value_name = "START_US,END_US[,START_US,END_US]", value_parser = windows_of)]
    pub(crate) window: Option<[Interval; 2]>,

    #[command(flatten)]
    pub(crate) redact: RedactArgs,

    #[command(flatten)]
    pub(crate) check: CheckArgs,

    /// Write the files of the comparison into this folder; it is made when it is missing
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,

    /// Which files to write [default: all]. Without --output: print this one in place of the summary:
    /// json (comparison.json), md or html
    #[arg(
        long,
        value_name = "FORMATS",
        value_delimiter = ',',
        value_parser = formats_of::<export::pair::Input>()
    )]
    pub(crate) format: Vec<String>,
}

/// What a trace is judged by, beside the GPU.
#[derive(Debug, clap::Args)]
pub(crate) struct JudgeArgs {
    /// Which figures of the GPU to judge by, where they are known
    #[arg(
        long,
        value_name = "BASIS",
        value_parser = bases(),
        default_value = Basis::default().label()
    )]
    pub(crate) basis: Basis,

    /// Your own performance models of ops, a TOML file; they go before the built-in ones
    #[arg(long, value_name = "FILE.toml", value_parser = models_of)]
    pub(crate) perf_models: Option<Arc<UserModels>>,

    /// Count unattributed GPU activity in the sheets that have TraceLens's names, too; all else counts it
    #[arg(long)]
    pub(crate) all_gpu_events: bool,

    /// Split idle time at gaps between GPU activity of this many microseconds
    #[arg(long, value_name = "US", value_parser = microseconds)]
    pub(crate) micro_idle: Option<f64>,
}

/// How `dormer fleet` ends.
#[cfg(feature = "parquet")]
const EXIT_CODES_OF_FLEET: &str = "\
Exit codes:
  0  every file has a row in the store, also those that are no traces
  1  the store cannot be read or written
  2  wrong usage
  4  done, but a file was rejected (--fail-on rejected)";

#[cfg(feature = "parquet")]
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

#[cfg(feature = "parquet")]
#[derive(Debug, Subcommand)]
pub(crate) enum FleetCommand {
    /// Make one file of those of each day; remove what was never finished
    Compact(CompactArgs),
    /// Print the statements that make the tables of a store views of DuckDB
    Sql(SqlArgs),
    /// Write what the page shows of a store: where GPUs lose time, what changed, what to fix first
    Summary(SummaryArgs),
    /// Tell what became slower or faster between builds, and which operations carry it
    Regressions(RegressionsArgs),
}

#[cfg(feature = "parquet")]
#[derive(Debug, clap::Args)]
pub(crate) struct CompactArgs {
    /// The store
    #[arg(value_name = "STORE")]
    pub(crate) store: PathBuf,

    /// Also remove rows of older versions of Dormer, and of analyses that were repeated
    #[arg(long)]
    pub(crate) drop_old: bool,
}

#[cfg(feature = "parquet")]
#[derive(Debug, clap::Args)]
pub(crate) struct SqlArgs {
    /// The store [default: the word STORE, to be replaced]
    #[arg(value_name = "STORE")]
    pub(crate) store: Option<PathBuf>,
}

/// Which runs of a store.
#[cfg(feature = "parquet")]
#[derive(Debug, clap::Args)]
pub(crate) struct AskedArgs {
    /// The store that `dormer fleet PATHS -o STORE` wrote
    #[arg(value_name = "STORE")]
    pub(crate) store: PathBuf,

    /// The tag that tells builds apart; they stand in the order of their first recording
    #[arg(long, value_name = "TAG", default_value = "build")]
    pub(crate) by: String,

    /// Only runs with this value of a column of `runs` or of a tag, such as status=ok or tags.team=vision;
    /// can be given more than once
    #[arg(long = "where", value_name = "K=V", value_parser = tag_of)]
    pub(crate) wheres: Vec<(String, String)>,

    /// Only recordings of so many days before the newest of the store
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) last: Option<u32>,
}

#[cfg(feature = "parquet")]
impl AskedArgs {
    /// The name of the tag that tells builds apart.
    pub(crate) fn tag(&self) -> &str {
        self.by.strip_prefix("tags.").unwrap_or(&self.by)
    }
}

#[cfg(feature = "parquet")]
#[derive(Debug, clap::Args)]
pub(crate) struct SummaryArgs {
    #[command(flatten)]
    pub(crate) asked: AskedArgs,

    /// The file to write, at most 5 MB: the page opens it
    #[arg(short, long, value_name = "fleet.json.gz")]
    pub(crate) output: PathBuf,
}

#[cfg(feature = "parquet")]
#[derive(Debug, clap::Args)]
pub(crate) struct RegressionsArgs {
    #[command(flatten)]
    pub(crate) asked: AskedArgs,

    /// The newest build to look at, as if none had come after it: what changed with it, or before and still
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
#[cfg(feature = "parquet")]
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

#[cfg(feature = "parquet")]
fn metrics() -> impl TypedValueParser<Value = Metric> {
    let keys = Metric::ALL.map(Metric::key);
    PossibleValuesParser::new(keys).map(|key| {
        let mut all = Metric::ALL.into_iter();
        // The parser let nothing else through.
        all.find(|metric| metric.key() == key)
            .unwrap_or(Metric::Total)
    })
}

/// Which traces, into which store, and how.
#[cfg(feature = "parquet")]
#[derive(Debug, clap::Args)]
pub(crate) struct IngestArgs {
    /// Traces, folders of them, patterns (* ? **), or lists: LIST.txt has a path in each line, LIST.csv
    /// path, key and value of a tag
    #[arg(value_name = "PATH|GLOB|LIST", required = true)]
    pub(crate) paths: Vec<PathBuf>,

    /// The store: a folder, which is made when it is missing
    #[arg(short, long, value_name = "STORE", required = true)]
    pub(crate) output: Option<PathBuf>,

    /// A pattern whose named groups are tags, taken from the path of each trace
    #[arg(
        long,
        value_name = "REGEX",
        value_parser = crate::fleet::pattern_of,
        help = "A pattern whose named groups are tags, taken from the path of each trace: (?P<build>b[0-9]+)__(?P<model>[^_]+)"
    )]
    pub(crate) tag_from: Option<regex::Regex>,

    /// Traces that are read at once [default: one for each core]
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<usize>,

    /// The most time for one trace, in seconds [default: 60, and 1 for every 2 MB]
    #[arg(long, value_name = "S")]
    pub(crate) timeout: Option<u64>,

    /// The most memory for one trace, in MB [default: 1024, and 40 times its size]
    #[arg(long, value_name = "MB")]
    pub(crate) memory: Option<u64>,

    /// Read again what was rejected, killed, or took too long
    #[arg(long)]
    pub(crate) retry: bool,

    /// Print which traces would be read
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// End with 4 where a file was rejected
    #[arg(long, value_name = "WHAT", value_parser = PossibleValuesParser::new(["rejected"]))]
    pub(crate) fail_on: Option<String>,

    #[command(flatten)]
    pub(crate) rows: RowArgs,
}

/// How `dormer tables` ends.
#[cfg(feature = "parquet")]
const EXIT_CODES_OF_TABLES: &str = "\
Exit codes:
  0  the row in `runs` was written: status and reason in it tell whether the file is a trace
  1  standard output cannot be written
  2  wrong usage";

#[cfg(feature = "parquet")]
#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES_OF_TABLES)]
pub(crate) struct TablesArgs {
    /// The trace: .json, .json.gz or .zip, told apart by content; - reads standard input
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

    /// Where the trace comes from, as rows say it [default: its path]
    #[arg(long, value_name = "URI")]
    pub(crate) uri: Option<String>,

    /// End where more memory is needed than so many megabytes
    #[arg(long, value_name = "MB", hide = true)]
    pub(crate) memory_limit: Option<u64>,

    /// When the trace was last changed, in nanoseconds since 1970
    #[arg(long, value_name = "NS", hide = true)]
    pub(crate) modified: Option<i64>,
}

/// What changes the rows of a trace.
#[cfg(feature = "parquet")]
#[derive(Debug, clap::Args)]
pub(crate) struct RowArgs {
    /// A name and a value that its rows in `runs` carry, such as build=b07; can be given more than once
    #[arg(long = "tag", value_name = "K=V", value_parser = tag_of)]
    pub(crate) tags: Vec<(String, String)>,

    /// The GPU to judge by: a name that `dormer gpus` lists, or a JSON file with its figures
    /// [default: the one the trace names]
    #[arg(long, value_name = "NAME|FILE.json", value_parser = gpu_of)]
    pub(crate) gpu: Option<Arc<GpuSpec>>,

    #[command(flatten)]
    pub(crate) judge: JudgeArgs,

    #[command(flatten)]
    pub(crate) redact: RedactArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct TreeArgs {
    /// The trace: .json, .json.gz or .zip, told apart by content; - reads standard input
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,

    #[command(flatten)]
    pub(crate) call: CallArgs,
}

/// Which calls to show.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(crate) struct CallArgs {
    /// One event, by its position in traceEvents, counted from 0
    #[arg(long, value_name = "N")]
    pub(crate) uid: Option<u32>,

    /// All calls and kernels whose name has this in it, in any case: with their path, time and number
    /// of calls, the most GPU time first
    #[arg(long, value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) find: Option<String>,
}

/// The name for all formats together.
pub(crate) const ALL_FORMATS: &str = "all";
/// The name for what was found, of one trace.
pub(crate) const FINDINGS: &str = "findings";
/// The name for one archive of what else is asked for.
pub(crate) const ZIP: &str = "zip";

/// What `--format` takes: the exporters' names.
fn formats_of<S: Source>() -> PossibleValuesParser {
    let exporters = S::exporters().into_iter();
    let kinds = exporters.map(|kind| PossibleValue::new(kind.format).help(kind.title));
    let all = PossibleValue::new(ALL_FORMATS).help("Everything");
    let zip = PossibleValue::new(ZIP).help("The other formats, or everything, as one archive");
    PossibleValuesParser::new([all].into_iter().chain(kinds).chain([zip]))
}

/// The tables of a trace, which are no exporter of the core: it links no Parquet.
pub(crate) const PARQUET: &str = "parquet";

/// The formats of a report, and the tables.
fn formats_of_report() -> PossibleValuesParser {
    let formats = formats_of::<export::Input>();
    if cfg!(not(feature = "parquet")) {
        return formats;
    }
    let known = formats.possible_values().into_iter().flatten();
    let parquet = PossibleValue::new(PARQUET)
        .help("The tables of `dormer tables` as Parquet files; only where it is asked for");
    PossibleValuesParser::new(known.chain([parquet]))
}

/// What `--fail-on` takes.
const PRIORITIES: [(&str, Priority); 4] = [
    ("critical", Priority::Critical),
    ("high", Priority::High),
    ("medium", Priority::Medium),
    ("low", Priority::Low),
];

fn priorities() -> impl TypedValueParser<Value = Priority> {
    PossibleValuesParser::new(PRIORITIES.map(|(name, _)| name)).map(|asked| {
        let found = PRIORITIES.into_iter().find(|(name, _)| asked == *name);
        found.map_or(Priority::Low, |(_, priority)| priority)
    })
}

/// What `--basis` takes.
fn bases() -> impl TypedValueParser<Value = Basis> {
    let names = [
        PossibleValue::new(Basis::Achievable.label())
            .help("What a tuned library was measured to reach"),
        PossibleValue::new(Basis::Peak.label()).help("What the vendor prints"),
    ];
    PossibleValuesParser::new(names).map(|name| match name == Basis::Peak.label() {
        true => Basis::Peak,
        false => Basis::Achievable,
    })
}

/// A GPU of the table, or of a file: one that is there, or whatever looks like one.
fn gpu_of(argument: &str) -> Result<Arc<GpuSpec>, String> {
    let path = Path::new(argument);
    let is_file = path
        .extension()
        .is_some_and(|extension| extension == "json")
        || path.components().count() > 1
        || (hardware::find(argument).is_none() && path.is_file());
    if !is_file {
        return gpu_by_name(argument).map(Arc::from);
    }
    let text = small_file(path, hardware::MAX_FILE_BYTES)?;
    let spec = hardware::parse(&text).map_err(|error| error.to_string())?;
    Ok(Arc::new(spec))
}

/// A number above zero.
fn positive(argument: &str) -> Result<f64, String> {
    let number = argument.trim().parse().ok();
    let number = number.filter(|number: &f64| *number > 0.0 && number.is_finite());
    number.ok_or_else(|| "expected a number above zero".to_owned())
}

/// Two times with a comma between them, after the first event of the trace.
fn window_of(argument: &str) -> Result<Interval, String> {
    let times: Vec<&str> = argument.split(',').collect();
    let expected = || "expected two times in microseconds, START_US,END_US".to_owned();
    let [start, end] = times.as_slice().try_into().map_err(|_| expected())?;
    let ns = |text: &str| {
        let us: f64 = text.trim().parse().ok()?;
        // Longer than any trace, and exact in nanoseconds.
        const MOST_US: f64 = 1e12;
        (0.0..=MOST_US)
            .contains(&us)
            .then(|| (us * 1e3).round() as i64)
    };
    let (start_ns, end_ns) = ns(start).zip(ns(end)).ok_or_else(expected)?;
    match start_ns < end_ns {
        true => Ok(Interval::new(start_ns, end_ns)),
        false => Err("the window ends before it starts".to_owned()),
    }
}

/// One window for both, or two with a comma between them.
fn windows_of(argument: &str) -> Result<[Interval; 2], String> {
    let second = argument.match_indices(',').nth(1);
    let (reference, target) = match second {
        Some((at, comma)) => (&argument[..at], &argument[at + comma.len()..]),
        None => (argument, argument),
    };
    Ok([window_of(reference)?, window_of(target)?])
}

/// One step for both, or two with a comma between them; an empty one is the whole trace.
fn steps_of(argument: &str) -> Result<[Option<String>; 2], String> {
    let steps = argument.split_once(',').unwrap_or((argument, argument));
    let step = |text: &str| Some(text.trim().to_owned()).filter(|step| !step.is_empty());
    Ok([step(steps.0), step(steps.1)])
}

/// Two names with a comma between them.
fn names_of(argument: &str) -> Result<[String; 2], String> {
    let names: Vec<&str> = argument.split(',').map(str::trim).collect();
    match names.as_slice() {
        ["", _] | [_, ""] => Err("a name is missing".to_owned()),
        [reference, target] if reference == target => Err("the two names are equal".to_owned()),
        [reference, target] => Ok([reference, target].map(|name| (*name).to_owned())),
        _ => Err("expected two names, REF,TARGET".to_owned()),
    }
}

/// The configuration of a model.
fn model_of(argument: &str) -> Result<Arc<ModelConfig>, String> {
    let text = small_file(Path::new(argument), model_config::MAX_FILE_BYTES)?;
    let config = model_config::parse(&text).map_err(|error| error.to_string())?;
    Ok(Arc::new(config))
}

/// Models that a user wrote.
fn models_of(argument: &str) -> Result<Arc<UserModels>, String> {
    let text = small_file(Path::new(argument), user::MAX_FILE_BYTES)?;
    let models = UserModels::parse(&text).map_err(|error| error.to_string())?;
    Ok(Arc::new(models))
}

/// The text of a file, no more of it than tells that it is too long: it may be a trace, given by
/// mistake.
fn small_file(path: &Path, most_bytes: usize) -> Result<String, String> {
    let mut text = String::new();
    File::open(path)
        .and_then(|file| file.take(most_bytes as u64 + 1).read_to_string(&mut text))
        .map_err(|error| format!("cannot read it: {}", crate::reason(&error)))?;
    Ok(text)
}

/// Looks a GPU up; the error names the closest ones, as clap does for its own values.
fn gpu_by_name(name: &str) -> Result<&'static GpuSpec, String> {
    if let Some(spec) = hardware::find(name) {
        return Ok(spec);
    }
    let mut close: Vec<&str> = hardware::GPUS
        .iter()
        .map(|spec| &*spec.id)
        .filter(|known| is_close(name, known))
        .collect();
    // A part of a name is meant more often than a typing error.
    let name = name.to_lowercase();
    close.sort_by_key(|known| !known.to_lowercase().contains(&name));
    Err(match close.as_slice() {
        [] => "no such GPU; `dormer gpus` lists them".to_owned(),
        names => format!("no such GPU; close names: {}", names.join(", ")),
    })
}

/// Names that differ by a typing error, or of which one is part of the other.
fn is_close(asked: &str, known: &str) -> bool {
    let (asked, known) = (asked.to_lowercase(), known.to_lowercase());
    let is_part = known.contains(&asked) || asked.contains(&known);
    !asked.is_empty() && (is_part || strsim::jaro_winkler(&asked, &known) > 0.8)
}

/// A name and a value with an equals sign between them.
#[cfg(feature = "parquet")]
fn tag_of(argument: &str) -> Result<(String, String), String> {
    match argument.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("expected a name and a value, NAME=VALUE".to_owned()),
    }
}

/// A time that can be a limit.
fn microseconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(us) if us.is_finite() && us > 0.0 => Ok(us),
        _ => Err("not a number of microseconds above 0".to_owned()),
    }
}
