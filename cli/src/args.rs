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

/// Headings of options in the help of a command with many.
const GPU: &str = "GPU";
const PART: &str = "Part of the trace";
const SHAPES: &str = "Operators and shapes that the trace lacks";
const CHECKS: &str = "Checks";
const FILES: &str = "Output";

/// How commands end, for scripts.
const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  a file cannot be read or written, or there is nothing to analyze
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

    /// Write the report files and the digests into this folder
    ///
    /// It is created if missing; files of the same names in it are replaced, and all others stay.
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,

    /// Which files to write with --output [default: all]; without it, print one of them in place of the summary: json
    /// (job.json), md or html
    #[arg(
        long,
        value_name = "FORMATS",
        value_delimiter = ',',
        value_parser = formats_of::<export::job::Input>()
    )]
    pub(crate) format: Vec<String>,

    /// Bandwidth of a rank to other hosts, one way, in GB/s (10⁹ bytes per second): a 400 Gbit/s NIC
    /// carries 50. Measured bandwidth between hosts is compared with it
    #[arg(long, value_name = "GB/S", value_parser = positive, allow_negative_numbers = true)]
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
    /// The trace: a file, a folder with one trace, ARCHIVE:NAME for a file in a zip or tar archive, or - for standard
    /// input. The format is detected from the content
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,

    /// Several traces, which belong to other commands
    #[arg(hide = true)]
    pub(crate) others: Vec<PathBuf>,

    /// The GPU whose roofline to use: a name that `dormer gpus` lists, or a JSON file with its figures
    /// [default: the one that the trace names]
    #[arg(long, value_name = "NAME|FILE.json", value_parser = gpu_of, help_heading = GPU)]
    pub(crate) gpu: Option<Arc<GpuSpec>>,

    /// Analyze one step: its number, or the name of an annotated range; of a serving engine also a range of steps
    ///
    /// N is the number of a ProfilerStep, or the position of a step of a serving engine, counted from 1. NAME is the
    /// full name of a range that the program annotated. For several steps of an engine, give the first and the last
    /// (12-43), or select them by the load: steady is the longest run of decode steps near the most requests;
    /// tracelens-mixed, tracelens-decode and tracelens-prefill are the windows that TraceLens picks.
    #[arg(long, value_name = "N|A-B|NAME", conflicts_with = "window", help_heading = PART)]
    pub(crate) step: Option<String>,

    /// Analyze one of several GPUs, by its number in the trace
    ///
    /// From its first activity to its last. Cannot be combined with --step, --window or --whole.
    #[arg(long, value_name = "N", conflicts_with_all = ["step", "window", "whole"], help_heading = PART)]
    pub(crate) device: Option<String>,

    /// Analyze the whole recording of a serving engine, not only its annotated steps
    ///
    /// By default, the analysis covers the annotated steps, from the first to the last, and only the tables cover the
    /// whole recording.
    #[arg(long, conflicts_with_all = ["step", "window"], help_heading = PART)]
    pub(crate) whole: bool,

    /// Analyze a range of time, in microseconds after the first event of the trace
    #[arg(
        long,
        value_name = "START_US,END_US",
        value_parser = window_of,
        allow_hyphen_values = true,
        help_heading = PART
    )]
    pub(crate) window: Option<Interval>,

    /// A trace of the capture of its GPU graphs, or a folder of such traces; can be given more than once
    ///
    /// The kernels that the graphs replay get their operators, shapes and modules from it. An
    /// execution_details.json beside it is read.
    #[arg(long, value_name = "FILE|DIR", help_heading = SHAPES)]
    pub(crate) capture: Vec<PathBuf>,

    /// The config.json of the model, for sizes of kernels that GPU graphs replay
    ///
    /// As Hugging Face has it; for a diffusion pipeline, that of its transformer. Used where no capture has the
    /// sizes.
    #[arg(long, value_name = "FILE", value_parser = model_of, help_heading = SHAPES)]
    pub(crate) model_config: Option<Arc<ModelConfig>>,

    /// An eager trace of the same model, for sizes of kernels that GPU graphs replay
    ///
    /// Or a trace of a capture of it. The kernels get the sizes of its operators at the same places, where no capture
    /// has them.
    #[arg(long, value_name = "FILE", help_heading = SHAPES)]
    pub(crate) shapes_from: Option<PathBuf>,

    /// The execution trace of the same run, for shapes that the trace lacks
    ///
    /// It is what `profile(execution_trace_observer=…)` writes.
    #[arg(long, value_name = "FILE", help_heading = SHAPES)]
    pub(crate) execution_trace: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) check: CheckArgs,

    /// Write the report files into this folder
    ///
    /// It is created if missing; files of the same names in it are replaced, and all others stay.
    #[arg(short, long, value_name = "DIR", help_heading = FILES)]
    pub(crate) output: Option<PathBuf>,

    /// Which files to write with --output [default: all]; without it, print one of them in place of the summary: json
    /// (findings.json), md or html
    #[arg(
        long,
        value_name = "FORMATS",
        value_delimiter = ',',
        value_parser = formats_of_report(),
        help_heading = FILES
    )]
    pub(crate) format: Vec<String>,

    #[command(flatten)]
    pub(crate) redact: RedactArgs,

    #[command(flatten)]
    pub(crate) analysis: AnalysisArgs,
}

/// What a result is checked for.
#[derive(Debug, clap::Args)]
pub(crate) struct CheckArgs {
    /// Exit with code 3 if data was lost: the numbers miss part of the run
    #[arg(long, help_heading = CHECKS)]
    pub(crate) strict: bool,

    /// Exit with code 4 if any finding has this severity or higher
    #[arg(long, value_name = "SEVERITY", value_parser = priorities(), help_heading = CHECKS)]
    pub(crate) fail_on: Option<Priority>,
}

/// What files may say.
#[derive(Debug, clap::Args)]
pub(crate) struct RedactArgs {
    /// Replace your own names by placeholders
    ///
    /// These are names of modules, Python files and functions, operators, kernels, annotations, hosts and devices.
    /// Shapes, types and times stay.
    #[arg(long, help_heading = FILES)]
    pub(crate) redact: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CompareArgs {
    /// The trace to improve: a file, a folder with one trace, ARCHIVE:NAME for a file in a zip or tar archive, or - for
    /// standard input. The format is detected from the content
    #[arg(value_name = "TARGET")]
    pub(crate) target: PathBuf,

    /// The trace that it is compared with, given in the same way
    #[arg(long, value_name = "REF")]
    pub(crate) reference: PathBuf,

    /// The GPU whose roofline to use for the target: a name that `dormer gpus` lists, or a JSON file with its
    /// figures [default: the one that the trace names]
    #[arg(long, value_name = "NAME|FILE.json", value_parser = gpu_of, help_heading = GPU)]
    pub(crate) gpu: Option<Arc<GpuSpec>>,

    /// The GPU whose roofline to use for the reference [default: the one that the trace names]
    #[arg(long, value_name = "NAME|FILE.json", value_parser = gpu_of, help_heading = GPU)]
    pub(crate) reference_gpu: Option<Arc<GpuSpec>>,

    /// Compare one step of each, as in `dormer report`; one value is for both, an empty one for the whole trace
    #[arg(
        long,
        value_name = "REF,TARGET",
        value_parser = sides_of,
        conflicts_with = "window",
        help_heading = PART
    )]
    pub(crate) step: Option<[Option<String>; 2]>,

    /// Compare one GPU of each, as in `dormer report`; one value is for both, an empty one for all GPUs
    #[arg(
        long,
        value_name = "REF,TARGET",
        value_parser = sides_of,
        conflicts_with_all = ["step", "window", "whole"],
        help_heading = PART
    )]
    pub(crate) device: Option<[Option<String>; 2]>,

    /// Compare the whole recordings of serving engines, not only their annotated steps
    #[arg(long, conflicts_with_all = ["step", "window"], help_heading = PART)]
    pub(crate) whole: bool,

    /// Compare a range of time, in microseconds after the first event of a trace: one for both, or that of the
    /// reference and then that of the target
    #[arg(
        long,
        value_name = "START_US,END_US[,START_US,END_US]",
        value_parser = windows_of,
        allow_hyphen_values = true,
        help_heading = PART
    )]
    pub(crate) window: Option<[Interval; 2]>,

    #[command(flatten)]
    pub(crate) check: CheckArgs,

    /// Write the files of the comparison into this folder
    ///
    /// It is created if missing; files of the same names in it are replaced, and all others stay.
    #[arg(short, long, value_name = "DIR", help_heading = FILES)]
    pub(crate) output: Option<PathBuf>,

    /// Which files to write with --output [default: all]; without it, print one of them in place of the summary: json
    /// (comparison.json), md or html
    #[arg(
        long,
        value_name = "FORMATS",
        value_delimiter = ',',
        value_parser = formats_with_page::<export::pair::Input>(),
        help_heading = FILES
    )]
    pub(crate) format: Vec<String>,

    /// What to call the two in tables and reports [default: the names of the files]
    #[arg(long, value_name = "REF,TARGET", value_parser = names_of, help_heading = FILES)]
    pub(crate) names: Option<[String; 2]>,

    #[command(flatten)]
    pub(crate) redact: RedactArgs,

    #[command(flatten)]
    pub(crate) analysis: AnalysisArgs,
}

/// Options of the analysis, in addition to the GPU.
#[derive(Debug, clap::Args)]
pub(crate) struct AnalysisArgs {
    /// Which rates of the GPU to compute the roofline from, where known
    #[arg(
        long,
        value_name = "BASIS",
        value_parser = bases(),
        default_value = Basis::default().label(),
        help_heading = GPU
    )]
    pub(crate) basis: Basis,

    /// Custom perf models: a TOML file with FLOP and byte formulas for operators
    ///
    /// They take precedence over the built-in ones.
    #[arg(long, value_name = "FILE.toml", value_parser = models_of, help_heading = GPU)]
    pub(crate) perf_models: Option<Arc<UserModels>>,

    /// Also count unattributed GPU activity in the sheets that have TraceLens's names; everything else counts it
    #[arg(long, help_heading = FILES)]
    pub(crate) all_gpu_events: bool,

    /// In the sheet gpu_timeline, split idle time: gaps shorter than this many microseconds are micro idle time
    #[arg(
        long,
        value_name = "US",
        value_parser = microseconds,
        allow_negative_numbers = true,
        help_heading = FILES
    )]
    pub(crate) micro_idle: Option<f64>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct TreeArgs {
    /// The trace: a file, a folder with one trace, ARCHIVE:NAME for a file in a zip or tar archive, or - for standard
    /// input. The format is detected from the content
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
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) uid: Option<u32>,

    /// All calls and kernels whose name contains this, ignoring case: with their path, time and number
    /// of calls, the most GPU time first
    #[arg(long, value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) find: Option<String>,
}
