//! The analysis core of Dormer: the bytes of a PyTorch profiler trace in, numbers and reports out.
//!
//! ```text
//! bytes ─import→ Trace ─profile→ Profile ─report(gpu, thresholds)→ Report ─export→ Artifact
//!                                                                      └──────→ views
//! ```
//!
//! | value | what it is | made anew when |
//! |---|---|---|
//! | [`Trace`] | what was recorded: columns of events, interned strings, op arguments, devices | a file is opened |
//! | [`Profile`] | what it means: call tree, launches, ops and kernels | a file is opened |
//! | [`Report`] | what we judge: the timeline's split, sheets, [analyses](findings) with their findings, the overview | the user makes a choice |
//! | [`Comparison`](compare::Comparison) | two traces held against each other | a second file is opened, or a choice is made |
//! | a [window](profile::window) of a `Profile` | what a step, or any part of the time, means | the user chooses one |
//! | [`Lanes`](profile::lanes::Lanes) | the trace over time, ready to be drawn | the timeline is first shown |
//!
//! # Rooms
//!
//! A room uses only the rooms above it; `tests/layers.rs` reads the `use` lines and holds them to it.
//!
//! | room | what is in it |
//! |---|---|
//! | [`base`] | intervals, sorting, statistics, numbers for people, tables of values |
//! | [`trace`] | what was recorded: columns of events, strings, arguments, annotations |
//! | [`names`] | every table of names: operators and their signatures, kernels, libraries, modules, calls of the runtime |
//! | [`import`] | bytes to a trace: containers, formats, what was wrong with the bytes |
//! | [`hardware`] | GPUs and their figures, the work that operators ask of them, the roofline |
//! | [`perf`] | models: from the arguments of an operator to its FLOPs and bytes |
//! | [`profile`] | launches, call tree, GPU timeline, windows; operations with their kernels and sizes |
//! | [`assess`] | choices and thresholds; what a GPU makes of each operation; idle time and its causes |
//! | [`findings`] | the engine of rules, and one folder of rules for each analysis |
//! | [`report`] | what is shown: overview, sheets, details of operations, charts as data |
//! | [`compare`] | two reports: pairing, expected ratios, verdicts, and their rules |
//! | [`job`] | many ranks: digests, which collectives belong together, clocks, who holds the others up, what a change is worth |
//! | [`tables`] | one trace as rows of a few tables with fixed columns, for whoever keeps many traces |
//! | [`fleet`] | many traces: what changed between builds, where GPUs lose time, their summary |
//! | [`output`] | what is written: documents and their checker, JSON, workbooks, reproducers; redaction |
//!
//! A comparison is of two reports, each judged on its own GPU, so `compare` comes after `report`.
//!
//! Data goes one way: each stage takes the one before it and nothing else. The command line and
//! the page are thin shells around these four calls:
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
//! 1. No I/O, no clock, no thread, no browser type (`clippy.toml` holds the bans). Bytes are pushed
//!    in, values come out.
//! 2. Import is fed with chunks as they come, and never holds the text whole. A split at any byte
//!    gives the same `Trace`.
//! 3. Only import can fail, with a kind and a byte offset. A bad event is a counted [`Warning`] with
//!    a sentence a user understands, and the rest is read. Nothing panics on input.
//! 4. Times are integer nanoseconds, from the decimal digits of the trace; they become floating
//!    point in a [`report::sheet::Cell`] and not before.
//! 5. An unknown is `None` and an empty cell, never zero.
//! 6. All GPU activity feeds timeline, analyses and views, with what is
//!    [unattributed](profile::unattributed) as a part of its own. Sheets with the reference's names
//!    keep its population, unless asked otherwise ([`profile::kernels::SheetEvents`]).
//! 7. The order of output is never a hash map's; the same input gives the same bytes.
//! 8. Strings from a trace are hostile: never evaluated, escaped where they are written.
//!
//! # Memory
//!
//! An event takes 21 bytes, and 16 more when it has ids or arguments; Python frames, most of a
//! trace, have none. Measured on real traces with stacks: 39 to 56 bytes an event for the columns,
//! and some 10 for each node of the call tree.

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
