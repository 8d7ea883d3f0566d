//! The columns that tables have beside those of their sheet, made of what core knows of the row.
//!
//! To add one: a row in [`BESIDE`].

use dormer_core::assess::Judged;
use dormer_core::base::format;
use dormer_core::hardware::roofline::Bound;
use dormer_core::names::{Certainty, Family};
use dormer_core::profile::kernels::GpuWork;
use dormer_core::profile::operations::Operation;
use dormer_core::report::details::Subject;
use dormer_core::report::ops_summary::OperatorRows;
use dormer_core::report::shapes::{gemm_sizes, shapes};
use dormer_core::report::sheet::{Cell, Column, Sheet, Unit};
use dormer_core::report::{KernelRuns, kernel_runs, module_of};
use dormer_core::{Profile, Report};

use super::families::Families;
use super::notes::note;
use super::rows::number;
use crate::protocol::{
    BLOCK, BOUND, FAMILY, GRID, MEDIAN, MODULE, Note, OCCUPANCY, P95, REGISTERS, SHAPES, SHARE,
    SHARED_MEMORY, SIZES, TIME,
};

/// The sheet whose rows are the operations of the profile, in their order.
pub(super) const OPERATIONS: &str = "unified_perf_summary";
/// The sheet whose rows are the operators of the profile, in their order.
const OPERATORS: &str = "ops_summary";
/// The sheet of kernels.
const KERNELS: &str = "kernel_summary";
/// The column of the sheet of operations that says how close an operation comes to the roofline.
const OF_ROOF: &str = "Pct Roofline";

/// The columns of sheets of kernels that say what kind of work one is, and what tells it.
const CATEGORY: &str = "Dormer category";
const TOLD_BY: &str = "Dormer category by";
/// What is said where no operator tells the kind of work.
const BY_KERNEL_NAME: &str = "the kernel name alone; no launching operator is known";

/// The columns of GPU time of sheets, with what makes microseconds of them.
const GPU_TIME: &[(&str, &str, f64)] = &[
    (OPERATIONS, "Kernel Time (µs)_sum", 1.0),
    (OPERATORS, "total_direct_kernel_time_ms", 1e3),
    ("kernel_summary", "Kernel duration (µs)_sum", 1.0),
    ("kernels_by_layer", "Kernel duration (µs)_sum", 1.0),
];

/// The column of GPU time of a sheet: where it stands, and what makes microseconds of it.
fn gpu_time(sheet: &Sheet) -> Option<(usize, f64)> {
    let (_, label, to_us) = GPU_TIME.iter().find(|(name, ..)| *name == sheet.name)?;
    Some((sheet.column(label)?, *to_us))
}

pub(super) struct Beside {
    /// How the page calls it.
    label: &'static str,
    /// What its cells are.
    unit: Unit,
    source: ColumnSource,
    cell: fn(&Table, usize) -> Cell,
}

enum ColumnSource {
    /// Every sheet has it; this is what it means.
    Everywhere(&'static str),
    /// The sheet of operations has it; this is what it means.
    Operations(&'static str),
    /// The sheets of operations and of operators have it; this is what it means.
    Operators(&'static str),
    /// The sheet of kernels has it; this is what it means.
    Kernels(&'static str),
    /// That sheet has it where it has this column, which means the same to programs.
    Instead(&'static str),
    /// Sheets that have a column of GPU time have it instead of a share of their own sum; this is
    /// what it means.
    GpuWork(&'static str),
}

const BESIDE: &[Beside] = &[
    Beside {
        label: FAMILY,
        unit: Unit::Text,
        source: ColumnSource::Everywhere("The category of the operation."),
        cell: |table, row| Cell::Text(table.family(row).label().to_owned()),
    },
    Beside {
        label: "told by",
        unit: Unit::Text,
        source: ColumnSource::Everywhere("How the category was determined."),
        cell: |table, row| match table.certainty(row) {
            // The sheet says it itself.
            _ if table.sheet.column(TOLD_BY).is_some() => Cell::Empty,
            Certainty::ByOperator => Cell::Empty,
            Certainty::ByKernelName => Cell::Text(BY_KERNEL_NAME.to_owned()),
        },
    },
    Beside {
        label: SHAPES,
        unit: Unit::Text,
        source: ColumnSource::Operations("Shapes and types of the tensor arguments."),
        cell: |table, row| {
            let shapes = table
                .profile()
                .zip(table.operation(row))
                .map(|(profile, operation)| shapes(profile, operation));
            shapes.map_or(Cell::Empty, Cell::Text)
        },
    },
    Beside {
        label: SIZES,
        unit: Unit::Text,
        source: ColumnSource::Operations("Sizes of a GEMM: M×K times K×N."),
        cell: |table, row| {
            let sizes = table
                .profile()
                .zip(table.operation(row))
                .and_then(|(profile, operation)| gemm_sizes(profile, operation));
            sizes.map_or(Cell::Empty, Cell::Text)
        },
    },
    Beside {
        label: MODULE,
        unit: Unit::Text,
        source: ColumnSource::Operators("The class of the innermost module around its first call."),
        cell: |table, row| table.module(row).map_or(Cell::Empty, Cell::Text),
    },
    Beside {
        label: GRID,
        unit: Unit::Text,
        source: ColumnSource::Kernels(
            "Blocks that its longest run was launched with; on AMD GPUs some launches count threads.",
        ),
        cell: |table, row| {
            let runs = table
                .runs(row)
                .and_then(|runs| Some((runs.size?.0, runs.n_other_sizes)));
            runs.map_or(Cell::Empty, |(grid, n_others)| {
                let others = match n_others {
                    0 => String::new(),
                    n => format!(" ({} others)", format::count(n)),
                };
                Cell::Text(three(grid) + &others)
            })
        },
    },
    Beside {
        label: BLOCK,
        unit: Unit::Text,
        source: ColumnSource::Kernels("Threads of a block of its longest run."),
        cell: |table, row| {
            let size = table.runs(row).and_then(|runs| runs.size);
            size.map_or(Cell::Empty, |(_, block)| Cell::Text(three(block)))
        },
    },
    Beside {
        label: REGISTERS,
        unit: Unit::Count,
        source: ColumnSource::Kernels("Registers of a thread, as the profiler recorded them."),
        cell: |table, row| whole(table.runs(row).and_then(|runs| runs.registers)),
    },
    Beside {
        label: SHARED_MEMORY,
        unit: Unit::Count,
        source: ColumnSource::Kernels(
            "Shared memory of a block, bytes, as the profiler recorded it.",
        ),
        cell: |table, row| whole(table.runs(row).and_then(|runs| runs.shared_bytes)),
    },
    Beside {
        label: OCCUPANCY,
        unit: Unit::Percent,
        source: ColumnSource::Kernels(
            "The profiler's estimate from grid, block, registers and shared memory of the longest run. Not measured.",
        ),
        cell: |table, row| known(table.runs(row).and_then(|runs| runs.occupancy_percent)),
    },
    Beside {
        label: MEDIAN,
        unit: Unit::Us,
        source: ColumnSource::Kernels("Median duration."),
        cell: |table, row| known_us(table.runs(row).and_then(|runs| runs.median_ns)),
    },
    Beside {
        label: P95,
        unit: Unit::Us,
        source: ColumnSource::Kernels("The duration that 95 % of its runs do not exceed."),
        cell: |table, row| known_us(table.runs(row).and_then(|runs| runs.p95_ns)),
    },
    Beside {
        label: TIME,
        unit: Unit::Us,
        source: ColumnSource::Instead("Kernel Time (µs)_sum"),
        cell: |table, row| {
            let parts = table.parts(row);
            let ns: i64 = parts.iter().map(|(one, _)| one.kernel_ns).sum();
            match parts.is_empty() {
                true => Cell::Empty,
                false => Cell::Float(ns as f64 / 1e3),
            }
        },
    },
    Beside {
        label: SHARE,
        unit: Unit::Percent,
        source: ColumnSource::GpuWork("Share of GPU busy time. Concurrent kernels count in full."),
        cell: |table, row| table.share(row).map_or(Cell::Empty, Cell::Float),
    },
    Beside {
        label: BOUND,
        unit: Unit::Text,
        source: ColumnSource::Instead("Roofline Bound"),
        cell: |table, row| {
            let judged = table.judged(row).filter(|judged| !judged.is_over_link);
            let roof = judged.and_then(|judged| judged.roof);
            roof.map_or(Cell::Empty, |roof| Cell::Text(bound(roof.bound).to_owned()))
        },
    },
];

fn three(size: [u64; 3]) -> String {
    size.map(|n| n.to_string()).join("×")
}

fn known(number: Option<f64>) -> Cell {
    number.map_or(Cell::Empty, Cell::Float)
}

fn whole(number: Option<f64>) -> Cell {
    number.map_or(Cell::Empty, |number| Cell::Int(number as i64))
}

fn known_us(ns: Option<i64>) -> Cell {
    known(ns.map(|ns| ns as f64 / 1e3))
}

impl Beside {
    /// As a column of this sheet; `None` where it is none.
    pub(super) fn column(&self, sheet: &Sheet) -> Option<Column> {
        let doc = match self.source {
            ColumnSource::Everywhere(doc) => doc,
            ColumnSource::Operations(doc) => (sheet.name == OPERATIONS).then_some(doc)?,
            ColumnSource::Operators(doc) => [OPERATIONS, OPERATORS]
                .contains(&sheet.name)
                .then_some(doc)?,
            ColumnSource::Kernels(doc) => (sheet.name == KERNELS).then_some(doc)?,
            ColumnSource::GpuWork(doc) => gpu_time(sheet).map(|_| doc)?,
            ColumnSource::Instead(column) => {
                let column = sheet.column(column).filter(|_| sheet.name == OPERATIONS)?;
                sheet.columns.get(column)?.doc
            }
        };
        Some(Column {
            label: self.label,
            unit: self.unit,
            doc,
        })
    }

    /// Nothing in the sheet says the same.
    pub(super) fn adds(&self) -> bool {
        !matches!(
            self.source,
            ColumnSource::Instead(_) | ColumnSource::GpuWork(_)
        )
    }
}

/// What keeps an operation from being faster, in a word.
pub(super) fn bound(bound: Bound) -> &'static str {
    match bound {
        Bound::Compute => "compute",
        Bound::Memory => "memory",
    }
}

/// The columns that a sheet has beside its own, with what makes them.
pub(super) fn beside(sheet: &Sheet) -> impl Iterator<Item = (&'static Beside, Column)> {
    let columns = BESIDE
        .iter()
        .map(|beside| Some((beside, beside.column(sheet)?)));
    columns.flatten()
}

/// What a row is, where that is known before.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowKind {
    /// Its category.
    pub family: Family,
    /// What else tables can be filtered by; empty where there is nothing.
    pub class: &'static str,
}

/// A sheet with what is known of its rows.
pub(super) struct Table<'a> {
    pub sheet: &'a Sheet,
    /// The report that it is a sheet of.
    report: Option<(&'a Families, &'a Profile, &'a Report)>,
    /// What each row is, of a sheet of no report.
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

    /// A sheet whose rows are known.
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

    /// A column of the sheet or beside it.
    pub(super) fn column(&self, label: &str) -> Option<Column> {
        match BESIDE.iter().find(|beside| beside.label == label) {
            Some(beside) => beside.column(self.sheet),
            None => self.sheet.columns.get(self.sheet.column(label)?).cloned(),
        }
    }

    /// A cell of the sheet or beside it.
    pub(super) fn cell(&self, row: usize, label: &str) -> Option<Cell> {
        if let Some(beside) = BESIDE.iter().find(|beside| beside.label == label) {
            return Some((beside.cell)(self, row));
        }
        // The memory of the GPU is no roofline of a copy over a link.
        let is_over_link = |judged: &Judged| judged.is_over_link;
        if label == OF_ROOF
            && self.sheet.name == OPERATIONS
            && self.judged(row).is_some_and(is_over_link)
        {
            return Some(Cell::Empty);
        }
        if let Some(cell) = self.rate_of_parts(row, label) {
            return Some(cell);
        }
        let cells = self.sheet.rows.get(row)?;
        cells.get(self.sheet.column(label)?).cloned()
    }

    /// The operation of a row and the parts of it that are judged apart, as attention to a sliding window.
    fn parts(&self, row: usize) -> Vec<(&'a Operation, &'a Judged)> {
        let (Some(profile), Some(report), Some(operation)) =
            (self.profile(), self.report(), self.operation(row))
        else {
            return Vec::new();
        };
        let own = self.judged(row).map(|judged| (operation, judged));
        // They come last.
        let parts = profile.operations().iter().zip(&report.judged).rev();
        let parts = parts.take_while(|(one, _)| one.is_part);
        let parts = parts.filter(|(one, _)| one.key == operation.key);
        own.into_iter().chain(parts).collect()
    }

    /// A rate of an operation that reads less than its arguments say, or in parts: what the sheet has counts
    /// the full context for each call. Empty where the work is not known.
    fn rate_of_parts(&self, row: usize, label: &str) -> Option<Cell> {
        if self.sheet.name != OPERATIONS {
            return None;
        }
        let (of, mean) = label.rsplit_once('_').unwrap_or((label, "mean"));
        let amount: fn(&Judged) -> Option<f64> = match of {
            "TB/s" => |judged| Some(judged.work?.bytes? / 1e3),
            "TFLOPS/s" => |judged| Some(judged.work?.flops / 1e3),
            OF_ROOF => |judged| Some(judged.roof?.time_us * 1e3 * 100.0),
            _ => return None,
        };
        let reads_less = self.judged(row)?.reads_less;
        let parts = self.parts(row);
        if parts.len() < 2 && !reads_less {
            return None;
        }
        let all = parts.iter().map(|(one, judged)| {
            let known = amount(judged).filter(|_| !judged.reads_less)?;
            Some(known * one.n_calls() as f64)
        });
        let all: Option<f64> = all.sum::<Option<f64>>().filter(|_| mean == "mean");
        let ns: i64 = parts.iter().map(|(one, _)| one.kernel_ns).sum();
        Some(match all.filter(|_| ns > 0) {
            Some(all) => Cell::Float(all / ns as f64),
            None => Cell::Empty,
        })
    }

    /// Dormer's own category of a row: of the operation, as the sheet says it, else of the operator.
    pub(super) fn family(&self, row: usize) -> Family {
        let Some((families, ..)) = self.report else {
            let kind = self.kinds.get(row);
            return kind.map_or(Family::Other, |kind| kind.family);
        };
        if let Some(operation) = self.operation(row) {
            return operation.family;
        }
        if let Some(said) = self.text(row, CATEGORY) {
            let mut all = Family::ALL.into_iter();
            let family = all.find(|family| family.label() == said);
            return family.unwrap_or(Family::Other);
        }
        let name = self.text(row, "name");
        name.map_or(Family::Other, |name| families.of_op(name))
    }

    /// Whether a row is what a filter's word stands for: of that category, or of that class.
    pub(super) fn is_of(&self, row: usize, word: &str) -> bool {
        let kind = self.kinds.get(row);
        self.family(row).token() == word || kind.is_some_and(|kind| kind.class == word)
    }

    /// What tells the category of a row.
    pub(super) fn certainty(&self, row: usize) -> Certainty {
        match self.sheet.column(TOLD_BY) {
            Some(_) if self.text(row, TOLD_BY) == Some(Certainty::ByKernelName.label()) => {
                Certainty::ByKernelName
            }
            Some(_) => Certainty::ByOperator,
            None => self
                .certainty_of_first_work(row)
                .unwrap_or(Certainty::ByOperator),
        }
    }

    /// The calls of a row have their names in common, so the first piece of work speaks for all.
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

    /// The class of the innermost module around the first call of a row.
    fn module(&self, row: usize) -> Option<String> {
        let call = self.first_work(row)?.launched_by?;
        let module = module_of(self.profile()?, call)?;
        // All of them are called so.
        let class = module.strip_prefix("nn.Module: ").unwrap_or(module);
        Some(class.to_owned())
    }

    /// How the runs of a kernel were launched.
    fn runs(&self, row: usize) -> Option<KernelRuns> {
        kernel_runs(self.profile()?, self.report()?, row)
    }

    fn text(&self, row: usize, label: &str) -> Option<&'a str> {
        match self.sheet.rows.get(row)?.get(self.sheet.column(label)?)? {
            Cell::Text(text) => Some(text),
            _ => None,
        }
    }

    /// What has to be said about a cell.
    pub(super) fn note(&self, row: usize, label: &str) -> Option<Note> {
        match label {
            OF_ROOF => note(self.judged(row)?, &self.report()?.options),
            FAMILY if self.certainty(row) == Certainty::ByKernelName => {
                Some(Note::Guess(format!("Inferred from {BY_KERNEL_NAME}")))
            }
            _ => None,
        }
    }

    /// The GPU time of a row as a share of the time in which anything runs.
    fn share(&self, row: usize) -> Option<f64> {
        let (column, to_us) = gpu_time(self.sheet)?;
        let time = number(self.sheet.rows.get(row)?.get(column)?)? * to_us;
        Some(time * 1e3 / self.busy_ns()? as f64 * 100.0)
    }

    /// The time in which anything runs; `None` where nothing does.
    pub(super) fn busy_ns(&self) -> Option<i64> {
        self.report()?.overview.busy_ns.filter(|ns| *ns > 0)
    }

    /// What a row is about; `None` where that is nothing that runs on the GPU.
    pub(super) fn subject(&self, row: usize) -> Option<Subject> {
        Subject::of_row(self.profile()?, self.report()?, self.sheet.name, row)
    }

    /// The operation of a row with the parts of it that are judged apart.
    pub(super) fn operations(&self, row: usize) -> Vec<&'a Operation> {
        let parts = self.parts(row).into_iter();
        parts.map(|(operation, _)| operation).collect()
    }

    fn operation(&self, row: usize) -> Option<&'a Operation> {
        let profile = self.profile().filter(|_| self.sheet.name == OPERATIONS)?;
        profile.operations().get(row)
    }

    fn judged(&self, row: usize) -> Option<&'a Judged> {
        self.report()?.judged.get(row)
    }
}

#[cfg(test)]
mod tests {
    use dormer_core::testing::Timetable;

    use super::*;
    use crate::protocol::Choice;
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

    /// Eight layers of attention, every second one to a window of unknown width: the sheet counts the full
    /// context for all of them.
    #[test]
    fn attention_to_a_window_of_unknown_width_has_no_rate() {
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

    /// One kernel below an operator, one that a graph ran.
    #[test]
    fn a_category_that_a_kernels_name_alone_tells_is_marked() {
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
                let told_by = matches!(table.cell(row, "told by"), Some(Cell::Text(_)));
                // A sheet of kernels has a column of its own for it.
                let is_told = is_marked && sheet != "kernel_summary";
                assert_eq!(told_by, is_told, "{sheet} {row}");
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
