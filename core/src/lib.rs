//! The analysis core of Dormer: the bytes of a PyTorch profiler trace in, numbers and reports out.
//!
//! ```text
//! bytes ─import→ Trace ─profile→ Profile ─report(gpu, thresholds)→ Report ─export→ Artifact
//!                                                                      └──────→ views
//! ```
//!
//! | value | what it is | rebuilt when |
//! |---|---|---|
//! | [`Trace`] | what was recorded: columns of events, interned strings, op arguments, devices | a file is opened |
//! | [`Profile`] | what it means: call tree, launches, ops and kernels | a file is opened |
//! | [`Report`] | our assessment: the GPU timeline breakdown, sheets, [analyses](findings) with their findings, the overview | the user makes a choice |
//! | [`Comparison`](compare::Comparison) | two traces compared with each other | a second file is opened, or a choice is made |
//! | a [window](profile::window) of a `Profile` | a step, or any other time range | the user chooses one |
//! | [`Lanes`](profile::lanes::Lanes) | the timeline's rows, ready to draw | the timeline is first shown |
//!
//! # Modules
//!
//! A module uses only the modules above it; `tests/layers.rs` reads the `use` lines and enforces this.
//!
//! | module | contents |
//! |---|---|
//! | [`base`] | intervals, sorting, statistics, formatting of numbers, tables of values |
//! | [`trace`] | what was recorded: columns of events, strings, arguments, annotations |
//! | [`names`] | every table of names: operators and their signatures, kernels, libraries, modules, runtime calls |
//! | [`import`] | bytes to a trace: containers, formats, warnings |
//! | [`hardware`] | GPUs and their peak figures, the unit of work (FLOPs, bytes and what computes them), the roofline |
//! | [`perf`] | performance models: from an operator's arguments to its FLOPs and bytes |
//! | [`profile`] | launches, call tree, GPU timeline, windows; operations with their kernels and sizes |
//! | [`assess`] | options and thresholds; each operation's roofline on a GPU; idle time and its causes |
//! | [`findings`] | the rule engine, and the rules of each analysis |
//! | [`report`] | what is shown: overview, sheets, details of operations, charts as data |
//! | [`compare`] | two reports: pairing, expected ratios, verdicts, and their rules |
//! | [`job`] | many ranks: digests, matching of collectives, clocks, stragglers, what a change would save |
//! | [`tables`] | one trace as rows of a few tables with fixed columns, for users who store many traces |
//! | [`fleet`] | many traces: what changed between builds, where GPUs lose time, fleet summary |
//! | [`output`] | what is written out: documents and their checker, JSON, workbooks, reproducers; redaction |
//! | [`sample`] | a small trace, for examples, tests and the page's warm-up |
//! | [`testing`] | builders of small traces, for tests |
//!
//! Where to look first:
//!
//! | question | place |
//! |---|---|
//! | the FLOPs and bytes of an operator | `perf/models`, bound to names by `perf/models/table` |
//! | the kind, library or role of a kernel, by its name | `names` |
//! | what launched a kernel, what an operator is inside of | `profile/launch`, `profile/cpu/tree` |
//! | overlap of communication and computation | `profile/gpu/exposed`, `profile/gpu/timeline` |
//! | compute-bound or memory-bound | `hardware/roofline`, `assess/evaluation` |
//! | why the GPU was idle, why an operation is slow | `assess/idle/explain`, `assess/waterfall` |
//! | when a finding appears, what it says and saves | the `rules` of its folder in `findings`, `findings/engine/impact` |
//! | every threshold | `assess/thresholds` |
//! | a sheet with its columns and units | `report/sheets`, `compare/sheets`, `job/sheets` |
//! | from a rank's digest to the page | `job/digest`, `job/files`, `job/analysis`, `job/overview` |
//! | a file that is written | `output/export/formats` |
//!
//! A comparison takes two reports, each evaluated on its own GPU, so `compare` comes after `report`.
//!
//! Data flows one way: each stage takes the output of the stage before it and nothing else. The command line and the
//! page are thin shells around these four calls:
//!
//! ```
//! use dormer_core::{Profile, Report, ReportOptions, import, sample};
//!
//! let profile = Profile::new(import::import(sample::TRACE.as_bytes())?);
//! let report = Report::new(&profile, &ReportOptions::default());
//! assert!(report.sheet(&profile, "ops_summary").is_some());
//! # Ok::<(), dormer_core::import::ImportError>(())
//! ```
//!
//! # Invariants
//!
//! 1. No I/O, no clock, no thread, no browser type (banned in `clippy.toml`). Bytes go in, values come out.
//! 2. Import takes chunks as they arrive and never holds the whole text. The `Trace` is the same wherever the bytes are
//!    split.
//! 3. Only import can fail, with a kind and a byte offset. A bad event is a counted [`Warning`] with a sentence that a
//!    user understands, and the rest of the file is read. Nothing panics on input.
//! 4. Times are integer nanoseconds, from the decimal digits of the trace; they become floating point only in a
//!    [`report::sheet::Cell`].
//! 5. An unknown value is `None` and an empty cell, never zero.
//! 6. All GPU activity feeds the timeline, analyses and views, with what is [unattributed](profile::gpu::unattributed)
//!    listed separately. Sheets named as in TraceLens cover the same events as TraceLens, unless requested otherwise
//!    ([`profile::gpu::kernels::SheetEvents`]).
//! 7. Output order never depends on a hash map; the same input gives the same bytes.
//! 8. Strings from a trace are hostile: they are never evaluated, and are escaped when written.
//!
//! # Memory
//!
//! An event takes 21 bytes, plus 16 if it has ids or arguments; Python frames, which make up most of a trace, have
//! none. Measured on real traces with stacks: 39 to 56 bytes an event for the columns, plus about 10 per call tree
//! node.

pub mod assess;
pub mod base;
pub mod compare;
pub mod findings;
pub mod fleet;
pub mod hardware;
pub mod import;
pub mod job;
pub mod names;
pub mod output;
pub mod perf;
pub mod profile;
pub mod report;
pub mod sample;
pub mod tables;
pub mod testing;
pub mod trace;

pub use import::warning::{Warning, WarningKind, Warnings};
pub use profile::{NoGpu, Profile};
pub use report::{Report, ReportOptions};
pub use trace::Trace;
