//! A sheet with what is known about its rows: its own cells, additional cells, and the kind of each row.

use dormer_core::assess::Evaluation;
use dormer_core::names::{Certainty, Family};
use dormer_core::profile::gpu::kernels::GpuWork;
use dormer_core::profile::operations::Operation;
use dormer_core::report::details::DetailsSubject;
use dormer_core::report::sheet::{Cell, Column, Sheet};
use dormer_core::report::sheets::ops_summary::OperatorRows;
use dormer_core::report::{KernelRuns, kernel_runs, module_of};
use dormer_core::{Profile, Report};

use super::cells::number;
use super::columns::{EXTRA_COLUMNS, ExtraColumn, OPERATIONS, OPERATORS, gpu_time};
use super::families::Families;
use super::notes::note;
use crate::protocol::{FAMILY, Note};

/// The column of the sheet of operations for the percentage of roofline.
const PCT_ROOFLINE: &str = "Pct Roofline";

/// The columns of kernel sheets for the category of a kernel, and for how it was determined.
const CATEGORY: &str = "Dormer category";
pub(super) const CATEGORY_BY: &str = "Dormer category by";
/// The text if no operator determines the category.
pub(super) const BY_KERNEL_NAME: &str = "the kernel name alone; no launching operator is known";

/// The kind of a row, if known in advance.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowKind {
    /// Its category.
    pub family: Family,
    /// Another word by which tables can be filtered; may be empty.
    pub class: &'static str,
}

/// A sheet with what is known about its rows.
pub(super) struct Table<'a> {
    pub sheet: &'a Sheet,
    /// The report to which the sheet belongs.
    report: Option<(&'a Families, &'a Profile, &'a Report)>,
    /// The kind of each row, for a sheet outside of reports.
    kinds: &'a [RowKind],
}

impl<'a> Table<'a> {
    /// A sheet of a report.
    pub(super) fn new(
        sheet: &'a Sheet,
        families: &'a Families,
        profile: &'a Profile,
        report: &'a Report,
    ) -> Table<'a> {
        Table {
            sheet,
            report: Some((families, profile, report)),
            kinds: &[],
        }
    }

    /// A sheet whose rows have known kinds.
    pub(super) fn of_kinds(sheet: &'a Sheet, kinds: &'a [RowKind]) -> Table<'a> {
        Table {
            sheet,
            report: None,
            kinds,
        }
    }

    pub(super) fn profile(&self) -> Option<&'a Profile> {
        self.report.map(|(_, profile, _)| profile)
    }

    fn report(&self) -> Option<&'a Report> {
        self.report.map(|(.., report)| report)
    }

    /// An additional column. Other sheets may have an own column of the same label.
    fn extra(&self, label: &str) -> Option<(&'static ExtraColumn, Column)> {
        let mut extra = EXTRA_COLUMNS.iter().filter(|extra| extra.label == label);
        extra.find_map(|extra| Some((extra, extra.column(self.sheet)?)))
    }

    /// A column of the sheet, or an additional one.
    pub(super) fn column(&self, label: &str) -> Option<Column> {
        match self.extra(label) {
            Some((_, column)) => Some(column),
            None => self.sheet.columns.get(self.sheet.column(label)?).cloned(),
        }
    }

    /// A cell of the sheet, or an additional one.
    pub(super) fn cell(&self, row: usize, label: &str) -> Option<Cell> {
        if let Some((extra, _)) = self.extra(label) {
            return Some((extra.cell)(self, row));
        }
        // GPU memory bandwidth is not the roofline of a copy over a link.
        let is_over_link = |evaluation: &Evaluation| evaluation.is_over_link;
        if label == PCT_ROOFLINE
            && self.sheet.name == OPERATIONS
            && self.evaluation(row).is_some_and(is_over_link)
        {
            return Some(Cell::Empty);
        }
        if let Some(cell) = self.rate_of_parts(row, label) {
            return Some(cell);
        }
        let cells = self.sheet.rows.get(row)?;
        cells.get(self.sheet.column(label)?).cloned()
    }

    /// The operation of a row and its parts that are analyzed separately, such as attention with a sliding window.
    pub(super) fn parts(&self, row: usize) -> Vec<(&'a Operation, &'a Evaluation)> {
        let (Some(profile), Some(report), Some(operation)) =
            (self.profile(), self.report(), self.operation(row))
        else {
            return Vec::new();
        };
        let own = self
            .evaluation(row)
            .map(|evaluation| (operation, evaluation));
        let parts = operation.parts(profile).into_iter();
        let parts = parts.filter_map(|at| {
            let part = profile.operations().get(at)?;
            Some((part, report.evaluations.get(at)?))
        });
        own.into_iter().chain(parts).collect()
    }

    /// A rate of an operation that has parts or reads less than its arguments suggest: the sheet assumes the full
    /// context for each call. Empty if FLOPs and bytes are unknown.
    fn rate_of_parts(&self, row: usize, label: &str) -> Option<Cell> {
        if self.sheet.name != OPERATIONS {
            return None;
        }
        let (of, mean) = label.rsplit_once('_').unwrap_or((label, "mean"));
        let amount: fn(&Evaluation) -> Option<f64> = match of {
            "TB/s" => |evaluation| Some(evaluation.work?.bytes? / 1e3),
            "TFLOPS/s" => |evaluation| Some(evaluation.work?.flops / 1e3),
            PCT_ROOFLINE => |evaluation| Some(evaluation.roofline?.time_us * 1e3 * 100.0),
            _ => return None,
        };
        let reads_less = self.evaluation(row)?.reads_less;
        let parts = self.parts(row);
        if parts.len() < 2 && !reads_less {
            return None;
        }
        let all = parts.iter().map(|(one, evaluation)| {
            let known = amount(evaluation).filter(|_| !evaluation.reads_less)?;
            Some(known * one.n_calls() as f64)
        });
        let all: Option<f64> = all.sum::<Option<f64>>().filter(|_| mean == "mean");
        let ns: i64 = parts.iter().map(|(one, _)| one.kernel_ns).sum();
        Some(match all.filter(|_| ns > 0) {
            Some(all) => Cell::Float(all / ns as f64),
            None => Cell::Empty,
        })
    }

    /// Dormer's own category of a row: of the operation, as the sheet has it, or else of the operator.
    pub(super) fn family(&self, row: usize) -> Family {
        let Some((families, ..)) = self.report else {
            let kind = self.kinds.get(row);
            return kind.map_or(Family::Other, |kind| kind.family);
        };
        if let Some(operation) = self.operation(row) {
            return operation.family;
        }
        if let Some(label) = self.text(row, CATEGORY) {
            let mut all = Family::ALL.into_iter();
            let family = all.find(|family| family.label() == label);
            return family.unwrap_or(Family::Other);
        }
        let name = self.text(row, "name");
        name.map_or(Family::Other, |name| families.of_op(name))
    }

    /// Whether a row matches a filter word: a category, or a class.
    pub(super) fn is_of(&self, row: usize, word: &str) -> bool {
        let kind = self.kinds.get(row);
        self.family(row).token() == word || kind.is_some_and(|kind| kind.class == word)
    }

    /// How the category of a row was determined.
    pub(super) fn certainty(&self, row: usize) -> Certainty {
        match self.sheet.column(CATEGORY_BY) {
            Some(_) if self.text(row, CATEGORY_BY) == Some(Certainty::ByKernelName.label()) => {
                Certainty::ByKernelName
            }
            Some(_) => Certainty::ByOperator,
            None => self
                .certainty_of_first_work(row)
                .unwrap_or(Certainty::ByOperator),
        }
    }

    /// The calls of a row have the same name, so the first GPU activity represents all.
    fn certainty_of_first_work(&self, row: usize) -> Option<Certainty> {
        let work = self.first_work(row)?;
        Some(match work.parent_op.is_some() {
            true => Certainty::ByOperator,
            false => Certainty::ByKernelName,
        })
    }

    /// The first GPU activity of the calls of a row.
    fn first_work(&self, row: usize) -> Option<&'a GpuWork> {
        let profile = self.profile()?;
        let work = match self.sheet.name {
            OPERATIONS => self.operation(row)?.work().next()?,
            OPERATORS => {
                let rows = OperatorRows::of(profile);
                let first = profile.ops.get(*rows.0.get(row)?.calls.first()?)?;
                *profile.ops.kernels(first).first()?
            }
            _ => return None,
        };
        profile.gpu.get(work)
    }

    /// The class of the innermost module around a row's first call.
    pub(super) fn module(&self, row: usize) -> Option<String> {
        let call = self.first_work(row)?.launched_by?;
        let module = module_of(self.profile()?, call)?;
        // All of them have this prefix.
        let class = module.strip_prefix("nn.Module: ").unwrap_or(module);
        Some(class.to_owned())
    }

    /// How the runs of a kernel were launched.
    pub(super) fn runs(&self, row: usize) -> Option<KernelRuns> {
        kernel_runs(self.profile()?, self.report()?, row)
    }

    fn text(&self, row: usize, label: &str) -> Option<&'a str> {
        match self.sheet.rows.get(row)?.get(self.sheet.column(label)?)? {
            Cell::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The note on a cell.
    pub(super) fn note(&self, row: usize, label: &str) -> Option<Note> {
        match label {
            PCT_ROOFLINE => note(self.evaluation(row)?, &self.report()?.options),
            FAMILY if self.certainty(row) == Certainty::ByKernelName => {
                Some(Note::Guess(format!("Inferred from {BY_KERNEL_NAME}")))
            }
            _ => None,
        }
    }

    /// The GPU time of a row as a share of the time in which anything runs.
    pub(super) fn share(&self, row: usize) -> Option<f64> {
        let (column, to_us) = gpu_time(self.sheet)?;
        let time = number(self.sheet.rows.get(row)?.get(column)?)? * to_us;
        Some(time * 1e3 / self.busy_ns()? as f64 * 100.0)
    }

    /// The time in which anything runs; `None` if nothing does.
    pub(super) fn busy_ns(&self) -> Option<i64> {
        self.report()?.overview.busy_ns.filter(|ns| *ns > 0)
    }

    /// What a row is about; `None` if it does not run on the GPU.
    pub(super) fn subject(&self, row: usize) -> Option<DetailsSubject> {
        DetailsSubject::of_row(self.profile()?, self.report()?, self.sheet.name, row)
    }

    /// The operation of a row, with its parts that are analyzed separately.
    pub(super) fn operations(&self, row: usize) -> Vec<&'a Operation> {
        let parts = self.parts(row).into_iter();
        parts.map(|(operation, _)| operation).collect()
    }

    pub(super) fn operation(&self, row: usize) -> Option<&'a Operation> {
        let profile = self.profile().filter(|_| self.sheet.name == OPERATIONS)?;
        profile.operations().get(row)
    }

    pub(super) fn evaluation(&self, row: usize) -> Option<&'a Evaluation> {
        self.report()?.evaluations.get(row)
    }
}

#[cfg(test)]
mod tests {
    use dormer_core::testing::Timetable;

    use super::*;
    use crate::protocol::{Choice, SHARE, TIME};
    use crate::worker::Analysis;

    /// 40 µs of a GEMM while a collective of 60 µs runs; together 80 µs.
    #[test]
    fn shares_are_of_the_time_in_which_anything_runs() {
        let profile = Timetable::new()
            .work("aten::mm", "gemm", 100..140)
            .stream(9)
            .work("c10d::allreduce_", "ncclDevKernel_AllReduce", 120..180)
            .profile();
        let analysis = Analysis::new(profile, &Choice::default());
        let shares = |sheet: &str| -> Vec<Option<Cell>> {
            let table = analysis.table(sheet).unwrap();
            let rows = 0..table.sheet.rows.len();
            rows.map(|row| table.cell(row, SHARE)).collect()
        };
        let percent = |percent| Some(Cell::Float(percent));
        assert_eq!(shares(OPERATIONS), [percent(50.0)]);
        assert_eq!(shares("ops_summary"), [percent(50.0)]);
        assert_eq!(shares("kernel_summary"), [percent(75.0), percent(50.0)]);
    }

    /// Eight layers of attention, every second one with a window of unknown size.
    fn alternating_attention() -> Timetable {
        let step = "execute_3_context_0(sq0sk0sqsq0sqsk0)_generation_3(sq3sk9sqsq3sqsk9)";
        let mut timetable = Timetable::new().annotation(step, 0..400);
        for at in 0_u32..8 {
            let (kernel, us) = if at % 2 == 0 {
                ("attn_2d", 10)
            } else {
                ("attn_3d", 40)
            };
            let (host, gpu) = (at * 20 + 1, 1000 + at * 50);
            timetable = timetable
                .op("vllm::unified_attention_with_output", host..host + 15)
                .args("3x2x4:c10::Half, 3x1x4:c10::Half*2")
                .launched(kernel, host + 1..host + 2, gpu..gpu + us);
        }
        timetable
    }

    #[test]
    fn the_parts_of_an_operation_are_found_by_its_key() {
        let timetable = alternating_attention();
        let analysis = Analysis::new(timetable.profile(), &Choice::default());
        let table = analysis.table(OPERATIONS).unwrap();
        let parts = table.parts(0);
        let calls = parts
            .iter()
            .map(|(one, _)| (one.sees_window, one.calls.len()));
        assert_eq!(calls.collect::<Vec<_>>(), [(false, 4), (true, 4)]);
    }

    /// The sheet assumes the full context for all calls.
    #[test]
    fn attention_to_a_window_of_unknown_size_has_no_rate() {
        let timetable = alternating_attention();
        let analysis = Analysis::new(timetable.profile(), &Choice::default());
        let table = analysis.table(OPERATIONS).unwrap();
        assert_eq!(table.cell(0, TIME), Some(Cell::Float(200.0)));
        assert_eq!(table.cell(0, "operation_count"), Some(Cell::Int(8)));
        assert_eq!(table.cell(0, "TB/s_mean"), Some(Cell::Empty));
        let own = table
            .sheet
            .column("TB/s_mean")
            .map(|at| &table.sheet.rows[0][at]);
        assert!(matches!(own, Some(Cell::Float(_))), "{own:?}");
    }

    /// One kernel below an operator, and one that a graph ran.
    #[test]
    fn a_category_that_a_kernels_name_alone_determines_is_marked() {
        let profile = Timetable::new()
            .work("aten::convolution", "my_conv", 100..110)
            .runtime("cudaGraphLaunch", 2, 20..30)
            .kernel(2, "void flash_fwd_kernel<128>()", 110..130)
            .profile();
        let analysis = Analysis::new(profile, &Choice::default());
        let marked = |sheet: &str, name: &str| -> Vec<String> {
            let table = analysis.table(sheet).unwrap();
            let rows = 0..table.sheet.rows.len();
            rows.map(|row| {
                let is_marked = table.note(row, FAMILY).is_some();
                let has_source = matches!(table.cell(row, "category from"), Some(Cell::Text(_)));
                // A sheet of kernels has its own column for this.
                let expects_source = is_marked && sheet != "kernel_summary";
                assert_eq!(has_source, expects_source, "{sheet} {row}");
                let name = table.text(row, name).unwrap();
                let family = table.family(row).label();
                format!("{name}: {family}{}", if is_marked { "?" } else { "" })
            })
            .collect()
        };
        assert_eq!(
            marked("kernel_summary", "Kernel name"),
            [
                "void flash_fwd_kernel<128>(): Attention?",
                "my_conv: Convolution"
            ]
        );
        assert_eq!(
            marked("ops_summary", "name"),
            [
                "cudaGraphLaunch: Attention?",
                "aten::convolution: Convolution"
            ]
        );
        let operations = marked(OPERATIONS, "name");
        let marks = operations.iter().map(|row| row.ends_with('?'));
        assert_eq!(
            marks.collect::<Vec<bool>>(),
            [true, false],
            "{operations:?}"
        );
    }
}
