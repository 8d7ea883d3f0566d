//! The command line as a value.

#[cfg(feature = "parquet")]
mod fleet;
mod values;

use std::path::PathBuf;
use std::sync::Arc;

use clap::{Parser, Subcommand};
use clap_complete::Shell;
use dormer_core::base::interval::Interval;
use dormer_core::findings::Priority;
use dormer_core::hardware::{Basis, GpuSpec};
use dormer_core::output::export;
use dormer_core::perf::model_config::ModelConfig;
use dormer_core::perf::user::UserModels;

#[cfg(feature = "parquet")]
pub(crate) use fleet::*;
use values::*;
pub(crate) use values::{ALL_FORMATS, FINDINGS, PAGE, PARQUET, ZIP};

/// How commands end, for scripts.
const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  the trace cannot be read or has nothing to analyze, or a file cannot be written
  2  wrong usage
  3  done, but data was lost (--strict)
  4  done, but a finding has the severity of --fail-on or higher";

/// Analyze PyTorch profiler traces: where the GPU time goes, and what to optimize
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
    /// Analyze the ranks of one job: find stragglers, their cause, and what fixing them saves
    Job(JobArgs),
    /// Open traces or a log directory in a browser on this computer
    Open(OpenArgs),
    /// Analyze many traces into a store of Parquet files, and query it
    #[cfg(feature = "parquet")]
    Fleet(FleetArgs),
    /// Write one trace as tables for programs: a ZIP of Arrow streams on standard output
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
To install completions:
  bash        dormer completions bash > ~/.local/share/bash-completion/completions/dormer
  zsh         dormer completions zsh > \"${fpath[1]}/_dormer\"
  fish        dormer completions fish > ~/.config/fish/completions/dormer.fish
  powershell  dormer completions powershell >> $PROFILE";

/// Those of commands without `--strict` and `--fail-on`.
const EXIT_CODES_OF_JOB: &str = "\
Exit codes:
  0  done
  1  no trace can be read, or a file cannot be written
  2  wrong usage";

#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES_OF_JOB)]
pub(crate) struct JobArgs {
    /// Traces or digests of the ranks, folders or archives of them (.zip, .tar, .tar.gz), or one file into
    /// which a tool has merged several ranks; formats are detected from the content
    #[arg(value_name = "DIR|FILE", required = true)]
    pub(crate) paths: Vec<PathBuf>,

    /// Write the report files and the digests into this folder; it is created if missing
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

    /// Bandwidth of a rank to other hosts, one way, in GB/s (10⁹ bytes per second): a 400 Gbit/s NIC
    /// carries 50. Measured bandwidth between hosts is compared with it
    #[arg(long, value_name = "GB/S", value_parser = positive)]
    pub(crate) network_gbps: Option<f64>,

    /// Also write the traces of all ranks as one archive for Perfetto 58.2 or later, unpacked, with a
    /// manifest that aligns their clocks
    #[arg(long, value_name = "OUT.tar")]
    pub(crate) perfetto: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct OpenArgs {
    /// A trace, two to compare, the ranks of a job, or folders whose runs are listed
    #[arg(value_name = "TRACE|DIR", required = true)]
    pub(crate) paths: Vec<PathBuf>,

    /// Print the address and do not start a browser
    #[arg(long)]
    pub(crate) no_browser: bool,

    /// Keep serving after the page is closed, for several tabs or a browser on another computer
    #[arg(long)]
    pub(crate) keep: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct ReportArgs {
    /// The trace; its format is detected from the content. - reads standard input, ARCHIVE:NAME a file in a zip or tar
    /// archive
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,

    /// The GPU whose roofline to use: a name that `dormer gpus` lists, or a JSON file with its peaks
    /// [default: the one the trace names]
    #[arg(long, value_name = "NAME|FILE.json", value_parser = gpu_of)]
    pub(crate) gpu: Option<Arc<GpuSpec>>,

    #[command(flatten)]
    pub(crate) analysis: AnalysisArgs,

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

    /// The execution trace of the same run (`profile(execution_trace_observer=…)`): the operators of a trace
    /// that was recorded without shapes get theirs from it
    #[arg(long, value_name = "FILE")]
    pub(crate) execution_trace: Option<PathBuf>,

    /// Analyze one step: the position of a step of a serving engine, counted from 1, the number of a
    /// ProfilerStep, or the full name of a range that the program annotated. Select several steps of an engine by
    /// the first and the last (12-43), or by the load: steady is the longest run of decode steps near the
    /// most requests; tracelens-mixed, tracelens-decode and tracelens-prefill are the windows that
    /// TraceLens picks
    #[arg(long, value_name = "N|A-B|NAME", conflicts_with = "window")]
    pub(crate) step: Option<String>,

    /// Analyze one of several GPUs alone, by the number that the trace gives it: what runs on it, from its
    /// first start to its last end. Cannot be combined with --step, --window or
    /// --whole
    #[arg(long, value_name = "N", conflicts_with_all = ["step", "window", "whole"])]
    pub(crate) device: Option<String>,

    /// Analyze the whole recording of a serving engine. By default only its annotated steps are analyzed, from
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

    /// Write the report files into this folder; it is created if missing
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
    /// Exit with code 3 if data was lost: the numbers miss part of the run
    #[arg(long)]
    pub(crate) strict: bool,

    /// Exit with code 4 if any finding has this severity or higher
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
    /// The trace to improve; its format is detected from the content. - reads standard input, ARCHIVE:NAME a file in a
    /// zip or tar archive
    #[arg(value_name = "TARGET")]
    pub(crate) target: PathBuf,

    /// The trace that it is compared with
    #[arg(long, value_name = "REF")]
    pub(crate) reference: PathBuf,

    /// What to call the two in tables and reports [default: the names of the files]
    #[arg(long, value_name = "REF,TARGET", value_parser = names_of)]
    pub(crate) names: Option<[String; 2]>,

    /// The GPU whose roofline to use for the target: a name that `dormer gpus` lists, or a JSON file with its
    /// figures [default: the one the trace names]
    #[arg(long, value_name = "NAME|FILE.json", value_parser = gpu_of)]
    pub(crate) gpu: Option<Arc<GpuSpec>>,

    /// The GPU whose roofline to use for the reference [default: the one the trace names]
    #[arg(long, value_name = "NAME|FILE.json", value_parser = gpu_of)]
    pub(crate) reference_gpu: Option<Arc<GpuSpec>>,

    #[command(flatten)]
    pub(crate) analysis: AnalysisArgs,

    /// Compare one step of each alone, as in `dormer report`; one value is for both, an empty one
    /// for the whole trace
    #[arg(long, value_name = "REF,TARGET", value_parser = sides_of, conflicts_with = "window")]
    pub(crate) step: Option<[Option<String>; 2]>,

    /// Compare one GPU of each alone, as in `dormer report`; one value is for both, an empty one for
    /// all GPUs
    #[arg(long, value_name = "REF,TARGET", value_parser = sides_of, conflicts_with_all = ["step", "window", "whole"])]
    pub(crate) device: Option<[Option<String>; 2]>,

    /// Compare the whole recordings of serving engines. By default only their annotated steps are compared,
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

    /// Write the files of the comparison into this folder; it is created if missing
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,

    /// Which files to write [default: all]. Without --output: print this one in place of the summary:
    /// json (comparison.json), md or html
    #[arg(
        long,
        value_name = "FORMATS",
        value_delimiter = ',',
        value_parser = formats_with_page::<export::pair::Input>()
    )]
    pub(crate) format: Vec<String>,
}

/// Options of the analysis, in addition to the GPU.
#[derive(Debug, clap::Args)]
pub(crate) struct AnalysisArgs {
    /// Which rates of the GPU to compute the roofline from, where known
    #[arg(
        long,
        value_name = "BASIS",
        value_parser = bases(),
        default_value = Basis::default().label()
    )]
    pub(crate) basis: Basis,

    /// A TOML file with custom perf models of ops; they take precedence over the built-in ones
    #[arg(long, value_name = "FILE.toml", value_parser = models_of)]
    pub(crate) perf_models: Option<Arc<UserModels>>,

    /// Count unattributed GPU activity in the sheets that have TraceLens's names, too; all else counts it
    #[arg(long)]
    pub(crate) all_gpu_events: bool,

    /// Report idle gaps shorter than this many microseconds as micro idle time, apart from the rest
    #[arg(long, value_name = "US", value_parser = microseconds)]
    pub(crate) micro_idle: Option<f64>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct TreeArgs {
    /// The trace; its format is detected from the content. - reads standard input, ARCHIVE:NAME a file in a zip or tar
    /// archive
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

    /// All calls and kernels whose name contains this, ignoring case: with their path, time and number
    /// of calls, the most GPU time first
    #[arg(long, value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) find: Option<String>,
}
