//! What the details are about, derived from what the user selected.

use crate::profile::Profile;
use crate::profile::launch::GpuId;
use crate::report::Report;
use crate::report::sheet::{Cell, Sheet};
use crate::trace::{Category, EventId, StringId};

/// The sheets whose rows are subjects.
const OPERATIONS: &str = "unified_perf_summary";
const OPERATORS: &str = "ops_summary";
const KERNELS: &str = "kernel_summary";

/// What the details are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DetailsSubject {
    /// An operator with its arguments: a position in [`Profile::operations`].
    Operation(usize),
    /// An operator with any arguments: a position in the groups of [`Profile::ops`].
    Operator(usize),
    /// Kernels with one name.
    Kernel(KernelKey),
    /// A CPU call that is not an operation: all calls with its name and arguments.
    Call(EventId),
}

/// The kernels of one row of the kernel sheet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KernelKey {
    /// Its name.
    pub name: StringId,
    /// The operator nearest above the launch, or the launching call; `None` if unknown.
    pub launcher: Option<StringId>,
    /// The stream it ran on.
    pub stream: Option<i64>,
}

impl KernelKey {
    /// The row that a piece of GPU activity belongs to.
    pub fn of(profile: &Profile, work: GpuId) -> Option<KernelKey> {
        let work = profile.gpu.get(work)?;
        let launcher = work.parent_event(profile).or(work.launched_by);
        Some(KernelKey {
            name: work.name,
            launcher: launcher
                .filter(|_| profile.has_cpu_ops())
                .map(|event| profile.trace.events.name(event)),
            stream: work.stream,
        })
    }

    fn of_row(profile: &Profile, sheet: &Sheet, cells: &[Cell]) -> Option<KernelKey> {
        let cell = |label| cells.get(sheet.column(label)?);
        let text = |label| match cell(label) {
            Some(Cell::Text(text)) => profile.trace.strings.find(text),
            _ => None,
        };
        Some(KernelKey {
            name: text("Kernel name")?,
            launcher: text("Parent cpu_op"),
            stream: match cell("Kernel stream") {
                Some(Cell::Int(stream)) => Some(*stream),
                _ => None,
            },
        })
    }
}

impl DetailsSubject {
    /// The subject of an event: the operation that it is a call of or that it launches or runs GPU activity for,
    /// otherwise its kernel, otherwise the call itself.
    pub fn of_event(profile: &Profile, event: EventId) -> DetailsSubject {
        let category = profile.trace.events.category(event);
        if category.is_gpu() {
            let work = profile.launches.id_of(event);
            let owner = work.and_then(|work| profile.owner_of(work));
            let kernel = || KernelKey::of(profile, work?).map(DetailsSubject::Kernel);
            return owner
                .map(|owner| DetailsSubject::Operation(owner.operation))
                .or_else(kernel)
                .unwrap_or(DetailsSubject::Call(event));
        }
        let operations = profile.operations();
        let is_call = |operation: &&crate::profile::operations::Operation| {
            operation.key.kernel.is_none() && operation.calls.iter().any(|call| call.event == event)
        };
        if category == Category::CpuOp
            && let Some(at) = operations.iter().position(|each| is_call(&each))
        {
            return DetailsSubject::Operation(at);
        }
        if category.is_runtime() {
            let node = profile.tree.node_of(event);
            let work = node.and_then(|node| profile.tree.gpu_work(node).first());
            if let Some(owner) = work.and_then(|work| profile.owner_of(*work)) {
                return DetailsSubject::Operation(owner.operation);
            }
        }
        DetailsSubject::Call(event)
    }

    /// The subject of a row of a sheet; `None` for a sheet whose rows are not about GPU activity.
    pub fn of_row(
        profile: &Profile,
        report: &Report,
        sheet: &str,
        row: usize,
    ) -> Option<DetailsSubject> {
        let sheet = report.sheet(profile, sheet)?;
        let cells = sheet.rows.get(row)?;
        match sheet.name {
            OPERATIONS => Some(DetailsSubject::Operation(row)),
            OPERATORS => Some(DetailsSubject::Operator(row)),
            KERNELS => KernelKey::of_row(profile, sheet, cells).map(DetailsSubject::Kernel),
            _ => None,
        }
    }

    /// The sheet and the row of this subject, the inverse of [`DetailsSubject::of_row`]; `None` if the report has none.
    pub fn row(self, profile: &Profile, report: &Report) -> Option<(&'static str, usize)> {
        let (name, row) = match self {
            DetailsSubject::Operation(at) => (OPERATIONS, at),
            DetailsSubject::Operator(at) => (OPERATORS, at),
            DetailsSubject::Kernel(key) => {
                let sheet = report.sheet(profile, KERNELS)?;
                let is_key =
                    |cells: &Vec<Cell>| KernelKey::of_row(profile, sheet, cells) == Some(key);
                (KERNELS, sheet.rows.iter().position(is_key)?)
            }
            DetailsSubject::Call(_) => return None,
        };
        let n_rows = report.sheet(profile, name)?.rows.len();
        (row < n_rows).then_some((name, row))
    }
}
