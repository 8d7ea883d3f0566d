//! Which sheets are compared, what joins their rows, and of which numbers differences are taken.

use crate::base::labels::labelled;

labelled! {
    /// The rows of one of the sheets that a comparison comes in, with the word in the name of the
    /// sheet. The words are those of other tools: there the reference is called the baseline and the
    /// target a variant.
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
    /// What it shows, for people: unsplit, then of each subset.
    pub(super) titles: [&'static str; 4],
    pub(super) keys: Keys,
    /// Of rows with the same keys those that agree here as well belong together first.
    pub(super) prefer: &'static [&'static str],
    /// The columns of which differences are taken.
    pub(super) diffs: &'static [&'static str],
    /// Columns left out on both sides: they say what others say.
    pub(super) dropped: &'static [&'static str],
    /// Columns left out on the target's side, where a row of the reference says the same.
    pub(super) dropped_of_target: &'static [&'static str],
    /// The rows stand by key rather than as in the reference's sheet, the longest first.
    pub(super) is_by_key: bool,
    /// It comes as three sheets: rows of both, of the reference alone, of the target alone.
    pub(super) is_split: bool,
}

/// What joins the rows of two sheets. `is_recompute` is always one of them, where it is there.
#[derive(Debug)]
pub(super) enum Keys {
    /// These columns, as far as both sheets have them.
    Columns(&'static [&'static str]),
    /// The operator's name and the parameters of its model that both sheets have.
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

/// Threads are named by numbers that no two runs share.
const SAME_PLACE: &[&str] = &["op category", "thread_name"];

/// What most sheets have in common, for the rest of a literal.
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

/// An entry for a sheet of operators of one kind, joined on what its model reads.
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

/// What is compared, in the order in which it is written.
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
        titles: titles!("Work and rates"),
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
