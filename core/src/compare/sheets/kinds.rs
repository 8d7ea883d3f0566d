//! Which sheets are compared, what joins their rows, and which numbers have differences.

use crate::base::labels::labeled;

labeled! {
    /// The subset of rows in one of the sheets of a comparison, with the word in the name of the sheet. The words are
    /// TraceLens's, which calls the reference the baseline and the target a variant.
    pub(super) enum Subset {
        /// Rows that both sides have.
        Both => "intersect",
        /// Rows that the reference alone has.
        Reference => "only_baseline",
        /// Rows that the target alone has.
        Target => "only_variant",
    }
}

/// A sheet of a report that is compared.
#[derive(Debug)]
pub(super) struct SheetKind {
    /// Its name in a report.
    pub(super) sheet: &'static str,
    /// Its name in a comparison.
    pub(super) name: &'static str,
    /// A readable title: unsplit, then for each subset.
    pub(super) titles: [&'static str; 4],
    pub(super) keys: Keys,
    /// Among rows with the same keys, those that also agree in these columns are joined first.
    pub(super) prefer: &'static [&'static str],
    /// The columns with differences.
    pub(super) diffs: &'static [&'static str],
    /// Columns left out on both sides, as they repeat others.
    pub(super) dropped: &'static [&'static str],
    /// Columns left out for the target if a row of the reference has the same value.
    pub(super) dropped_of_target: &'static [&'static str],
    /// Whether rows are sorted by key instead of in the order of the reference's sheet, longest first.
    pub(super) is_by_key: bool,
    /// Whether there are three sheets: rows of both, of the reference alone, of the target alone.
    pub(super) is_split: bool,
}

/// What joins the rows of two sheets. `is_recompute` is always part of it, if present.
#[derive(Debug)]
pub(super) enum Keys {
    /// These columns, if both sheets have them.
    Columns(&'static [&'static str]),
    /// The operator's name and the model parameters that both sheets have.
    NameAndParams,
}

macro_rules! titles {
    ($title:literal) => {
        [
            concat!($title, ", compared"),
            concat!($title, " of both traces"),
            concat!($title, " of the reference alone"),
            concat!($title, " of the target alone"),
        ]
    };
}

const ARGS: Keys = Keys::Columns(&[
    "name",
    "Input type",
    "Input Dims",
    "Input Strides",
    "Concrete Inputs",
]);

/// Threads are not a key: their numbers differ in every run.
const SAME_PLACE: &[&str] = &["op category", "thread_name"];

/// Defaults for most sheets, to complete a literal.
const BASE: SheetKind = SheetKind {
    sheet: "",
    name: "",
    titles: titles!(""),
    keys: Keys::Columns(&["name"]),
    prefer: &[],
    diffs: &[],
    dropped: &[],
    dropped_of_target: &[],
    is_by_key: false,
    is_split: false,
};

/// An entry for an operator family's sheet, joined on the parameters of its model.
const fn family(sheet: &'static str, name: &'static str, titles: [&'static str; 4]) -> SheetKind {
    SheetKind {
        sheet,
        name,
        titles,
        keys: Keys::NameAndParams,
        diffs: &[
            "Kernel Time (µs)_sum",
            "Kernel Time (µs)_mean",
            "name_count",
            "TFLOPS/s_mean",
            "TB/s_mean",
        ],
        // The same parameters are the same work.
        dropped_of_target: &[
            "GFLOPS_first",
            "Data Moved (MB)_first",
            "FLOPS/Byte_first",
            "Input Dims_first",
            "Input type_first",
            "Input Strides_first",
            "Concrete Inputs_first",
        ],
        is_split: true,
        ..BASE
    }
}

/// The compared sheets, in output order.
pub(super) const KINDS: &[SheetKind] = &[
    SheetKind {
        sheet: "gpu_timeline",
        name: "gpu_timeline",
        titles: titles!("How GPU time splits"),
        keys: Keys::Columns(&["type"]),
        diffs: &["time ms"],
        is_by_key: true,
        ..BASE
    },
    SheetKind {
        sheet: "serving_batches",
        name: "serving_batches",
        titles: titles!("Steps by phase and batch size"),
        keys: Keys::Columns(&["phase", "batch", "requests", "tokens"]),
        diffs: &["step time ms", "ms per token"],
        ..BASE
    },
    SheetKind {
        sheet: "ops_summary",
        name: "ops_summary",
        titles: titles!("Operators by GPU time"),
        diffs: &["total_direct_kernel_time_ms", "Count"],
        dropped: &["total_direct_kernel_time_sum"],
        dropped_of_target: &["Cumulative Percentage (%)"],
        ..BASE
    },
    SheetKind {
        sheet: "kernel_summary",
        name: "kernel_summary",
        titles: titles!("Kernels"),
        keys: Keys::Columns(&["Kernel name", "Parent cpu_op"]),
        prefer: &["Parent op category", "Kernel stream"],
        diffs: &[
            "Kernel duration (µs)_sum",
            "Kernel duration (µs)_mean",
            "Kernel duration (µs)_count",
        ],
        dropped: &[
            "Kernel duration (µs)_min",
            "Kernel duration (µs)_max",
            "Parent op category",
        ],
        ..BASE
    },
    SheetKind {
        sheet: "ops_unique_args",
        name: "ops_unique_args",
        titles: titles!("Operators by arguments"),
        keys: ARGS,
        prefer: SAME_PLACE,
        diffs: &[
            "total_direct_kernel_time_sum",
            "total_direct_kernel_time_mean",
            "operation_count",
        ],
        is_split: true,
        ..BASE
    },
    SheetKind {
        sheet: "unified_perf_summary",
        name: "unified_perf_summary",
        titles: titles!("FLOPs, bytes and achieved rates"),
        keys: ARGS,
        prefer: SAME_PLACE,
        diffs: &[
            "Kernel Time (µs)_sum",
            "Kernel Time (µs)_mean",
            "operation_count",
        ],
        is_split: true,
        ..BASE
    },
    family("GEMM", "GEMM", titles!("GEMMs")),
    family("SDPA_fwd", "SDPA_fwd", titles!("Attention")),
    family("SDPA_bwd", "SDPA_bwd", titles!("Attention, backward,")),
    family("CONV_fwd", "CONV_fwd", titles!("Convolutions")),
    family("CONV_bwd", "CONV_bwd", titles!("Convolutions, backward,")),
    family(
        "UnaryElementwise",
        "un_eltwise",
        titles!("Element-wise operators of one tensor"),
    ),
    family(
        "BinaryElementwise",
        "bin_eltwise",
        titles!("Element-wise operators of two tensors"),
    ),
];
