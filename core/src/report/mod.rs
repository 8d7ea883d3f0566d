//! The analysis results of a profile, and the sheets that show them.
//!
//! A [`Report`] depends on choices (the GPU, the population of GPU activity, thresholds) and is rebuilt when one of
//! them changes. Everything that does not depend on them is in the [`Profile`]. Sheets keep the names, columns and row
//! order of AMD's TraceLens, called "the reference" in column descriptions.

pub mod cards;
pub mod charts;
pub(crate) mod columns;
pub mod details;
pub mod fact_table;
pub mod gap_chart;
mod kernel_runs;
pub(crate) mod labels;
pub mod memory;
pub mod overview;
pub(crate) mod places;
pub mod python;
pub mod shapes;
pub mod sheet;
pub mod sheets;
pub mod steps;
#[cfg(test)]
mod tests;
pub mod top;

pub use crate::assess::{Evaluation, ReportOptions, Timelines};
pub use crate::profile::gpu::kernels::SheetEvents;
pub use kernel_runs::{KernelRuns, kernel_runs};
pub use overview::Overview;
pub(crate) use sheets::{KernelTotal, RoundedTime, RoundedTimes, args_cells, module_times};
pub use sheets::{ModuleTime, has_row, module_of};

use std::sync::{Arc, OnceLock};

use crate::assess::evaluation;
use crate::base::parallel::{RunAll, in_turn};
use crate::findings::{Analyses, Input, Status};
use crate::profile::Profile;
use crate::profile::gpu::timeline::GpuTimeline;
use crate::profile::operations::Operation;
use sheet::Sheet;
use sheets::{SHEETS, SheetInput};

/// The analysis results of a profile.
#[derive(Debug, Clone)]
pub struct Report {
    /// The choices it was made with.
    pub options: ReportOptions,
    /// How GPU time splits.
    pub timelines: Arc<Timelines>,
    /// What the user reads first.
    pub overview: Overview,
    /// How each of [`Profile::operations`] performs on the GPU, in their order.
    pub evaluations: Vec<Evaluation>,
    /// The analyses and the findings.
    pub analyses: Analyses,
    /// Each of [`SHEETS`], made when it is first asked for.
    sheets: [OnceLock<Option<Sheet>>; SHEETS.len()],
}

impl Report {
    /// Analyzes a profile.
    pub fn new(profile: &Profile, options: &ReportOptions) -> Report {
        Report::with(profile, options, &in_turn)
    }

    /// The same, with the analyses run by the given function.
    pub fn with(profile: &Profile, options: &ReportOptions, run_all: RunAll) -> Report {
        let options = &options.of_trace(&profile.trace);
        let timelines = Timelines::of(profile);
        let evaluations = evaluation::evaluate(profile, options, &timelines);
        let input = Input {
            profile,
            options,
            timelines: &timelines,
            evaluations: &evaluations,
        };
        let analyses = Analyses::new(&input, run_all);
        let mut overview = Overview::new(profile, options, &timelines, &evaluations, &analyses);
        if let Some(mismatch) = &overview.hardware.mismatch {
            overview.quality.warn(mismatch.clone());
        }
        Report {
            options: options.clone(),
            overview,
            sheets: [const { OnceLock::new() }; SHEETS.len()],
            analyses,
            timelines,
            evaluations,
        }
    }

    /// The operations and how they perform on the GPU: attributed ones first, each part longest first.
    pub fn operations<'a>(
        &'a self,
        profile: &'a Profile,
    ) -> impl Iterator<Item = (&'a Operation, &'a Evaluation)> {
        profile.operations().iter().zip(&self.evaluations)
    }

    /// The input of the analyses.
    pub fn analysis_input<'a>(&'a self, profile: &'a Profile) -> Input<'a> {
        Input {
            profile,
            options: &self.options,
            timelines: &self.timelines,
            evaluations: &self.evaluations,
        }
    }

    /// The sheets that have rows, in the order of [`SHEETS`].
    pub fn sheets<'a>(&'a self, profile: &Profile) -> Vec<&'a Sheet> {
        let input = SheetInput::new(self, profile);
        let kinds = SHEETS.iter().zip(&self.sheets);
        kinds
            .filter_map(|(kind, made)| made.get_or_init(|| kind.make(&input)).as_ref())
            .collect()
    }

    /// The time that savings are relative to: from the first to the last GPU activity or, in a run on the CPU alone, that
    /// of the thread that computes. `None` if nothing was recorded.
    pub fn run_ns(&self) -> Option<i64> {
        let on_cpu = || {
            let outcome = self.analyses.outcome("cpu_time")?;
            (outcome.status == Status::Done).then_some(outcome.time_ns)
        };
        self.overview.total_ns.or_else(on_cpu)
    }

    /// Makes one sheet that is not made yet; `false` when there is none. All of them can take a second: whoever has to
    /// answer others in between makes one at a time.
    pub fn make_one_sheet(&self, profile: &Profile) -> bool {
        let mut kinds = SHEETS.iter().zip(&self.sheets);
        let missing = kinds.find(|(_, made)| made.get().is_none());
        if let Some((kind, made)) = missing {
            made.get_or_init(|| kind.make(&SheetInput::new(self, profile)));
        }
        missing.is_some()
    }

    /// A sheet by its name; `None` when it would be empty.
    pub fn sheet(&self, profile: &Profile, name: &str) -> Option<&Sheet> {
        let mut kinds = SHEETS.iter().zip(&self.sheets);
        let (kind, made) = kinds.find(|(kind, _)| kind.name == name)?;
        let make = || kind.make(&SheetInput::new(self, profile));
        made.get_or_init(make).as_ref()
    }

    /// How GPU time splits in sheets with TraceLens's names, recomputation included.
    pub(crate) fn sheet_timeline(&self, profile: &Profile) -> Option<GpuTimeline> {
        SheetInput::new(self, profile).sheet_timelines().whole
    }

    /// The kernels of the kernel sheet, merged over streams.
    pub(crate) fn kernel_totals(&self, profile: &Profile) -> Vec<KernelTotal> {
        sheets::kernel_totals(&SheetInput::new(self, profile))
    }
}
