//! The schema of all tables: their columns with type, unit, label and meaning. Files, displays and documentation are
//! derived from it.

use super::ColumnType::{self, *};

/// The schema version: increased if the meaning of a column changes or a column is removed, but not for a new column.
pub const SCHEMA_VERSION: i32 = 1;

/// A column of a table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Field {
    /// Its name in files, with the unit last: "kernel_ns".
    name: &'static str,
    /// The type of its values.
    pub of: ColumnType,
    /// Its label for people: the column's name in sheets, but with the unit of the table.
    pub label: &'static str,
    /// Its meaning, as a sentence.
    pub doc: &'static str,
    /// Whether it is part of the table's key.
    pub is_key: bool,
}

impl Field {
    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Its unit, from the suffix of its name; empty if it has none.
    pub fn unit(&self) -> &'static str {
        const UNITS: [(&str, &str); 7] = [
            ("_ns", "ns"),
            ("_bytes", "B"),
            ("efficiency", "%"),
            ("bandwidth", "B/s"),
            ("gflops", "GFLOP"),
            ("flops", "FLOP"),
            ("bytes", "B"),
        ];
        let unit = UNITS.iter().find(|(end, _)| self.name.ends_with(end));
        unit.map_or("", |(_, unit)| unit)
    }

    const fn key(self) -> Field {
        Field {
            is_key: true,
            ..self
        }
    }
}

const fn field(
    name: &'static str,
    of: ColumnType,
    label: &'static str,
    doc: &'static str,
) -> Field {
    Field {
        name,
        of,
        label,
        doc,
        is_key: false,
    }
}

/// One of the tables.
#[derive(Debug, PartialEq)]
pub struct TableKind {
    /// Its name in files: "runs".
    pub name: &'static str,
    /// What a row represents, for people.
    pub row: &'static str,
    /// Its columns.
    pub columns: &'static [Field],
}

impl TableKind {
    /// A table by its name.
    pub fn find(name: &str) -> Option<&'static TableKind> {
        TABLES.iter().find(|kind| kind.name == name)
    }
}

// The first columns of every table.
#[rustfmt::skip]
const RUN_ID: Field = field("run_id", Str, "run", "The file: the first 16 hexadecimal digits of the SHA-256 of the file as stored, compressed or not.").key();
#[rustfmt::skip]
const DATE: Field = field("date", Date, "date", "The UTC day on which the recording starts; unknown if the trace does not contain it.");
#[rustfmt::skip]
const INGESTED: Field = field("ingested", Timestamp, "ingested", "When the file was analyzed: the rows of one analysis have the same time in all tables.");

/// Every table, in the order in which they are written. To add one, add a row here and a file next to this one that
/// makes its rows.
#[rustfmt::skip]
pub const TABLES: &[TableKind] = &[
    TableKind { name: RUNS, row: "file and version of Dormer", columns: RUN_COLUMNS },
    TableKind { name: STEPS, row: "step of a run", columns: STEP_COLUMNS },
    TableKind { name: OPS, row: "operation with its arguments", columns: OP_COLUMNS },
    TableKind { name: KERNELS, row: "kernel under its operation", columns: KERNEL_COLUMNS },
    TableKind { name: COLLECTIVES, row: "process group, type and size of collectives", columns: COLLECTIVE_COLUMNS },
    TableKind { name: FINDINGS, row: "ranked finding", columns: FINDING_COLUMNS },
    TableKind { name: WARNINGS, row: "kind of warning", columns: WARNING_COLUMNS },
];

/// The name of the table of files.
pub const RUNS: &str = "runs";
/// The name of the table of steps.
pub const STEPS: &str = "steps";
/// The name of the table of operations.
pub const OPS: &str = "ops";
/// The name of the table of kernels.
pub const KERNELS: &str = "kernels";
/// The name of the table of collectives.
pub const COLLECTIVES: &str = "collectives";
/// The name of the table of findings.
pub const FINDINGS: &str = "findings";
/// The name of the table of warnings.
pub(crate) const WARNINGS: &str = "warnings";

#[rustfmt::skip]
const RUN_COLUMNS: &[Field] = &[
    RUN_ID,
    DATE,
    INGESTED,
    field("tool_version", Str, "version of Dormer", "The version of Dormer that analyzed the file.").key(),
    field("schema_version", I32, "version of the tables", "The version of the tables: it grows where the meaning of a column changes or one goes."),
    field("status", Str, "status", "What became of the file: ok, partial (not all of it was read: bytes are missing or damaged, it has too many events, or it holds several traces), rejected, killed, timeout, or duplicate (its bytes have a row already)."),
    field("reason", Str, "reason", "Why it is not ok, for people."),
    field("reason_kind", Str, "kind of reason", "Why it is not ok: empty, not_json, web_page, no_trace_events, broken_gzip, broken_zip, broken_tar, cut, damaged, too_big, more_traces, killed, timeout or io."),
    field("uri", Str, "file", "Where the file was; with --redact a hash of that."),
    field("file_bytes", I64, "file size", "Size of the file as it is, compressed or not."),
    field("file_sha256", Str, "SHA-256", "SHA-256 of the bytes of the file; unknown where they could not be read."),
    field("modified", Timestamp, "modified", "When the file was last changed; unknown of what comes as a stream."),
    field("analysis_ns", I64, "analysis time", "How long reading and analyzing it took."),
    field("trace_id", Str, "trace id", "The profiler's own id of the recording; never with --redact."),
    field("host", Str, "host", "The machine it was recorded on; never with --redact."),
    field("rank", I32, "rank", "The number of the process in its job."),
    field("world_size", I32, "ranks of the job", "How many processes the job has."),
    field("job_id", Str, "job", "The same for the ranks of one job: a hash of the number of ranks, the groups of all of them, and to 10 s when the first collective of all ranks ended, or where there is none when the recording started."),
    field("gpu_name", Str, "recorded on", "The GPU as the trace names it, the first of several."),
    field("gpu_id", Str, "judged by", "The GPU of Dormer's table whose roofline operations are compared with."),
    field("n_gpus", I32, "GPUs", "How many GPUs work ran on."),
    field("pytorch_version", Str, "PyTorch", "The version of PyTorch, where the trace has it."),
    field("cuda_version", Str, "CUDA", "The version of the CUDA runtime."),
    field("rocm_version", Str, "HIP", "The version of the HIP runtime."),
    field("start", Timestamp, "start", "When the first event of the trace starts."),
    field("duration_ns", I64, "trace length", "From the start of the first event of the trace to the end of its last."),
    field("n_events", I64, "events", "Events in the file, of any kind."),
    field("n_dropped", I64, "events dropped", "Events that could not be read or have no time, and were left out."),
    field("total_ns", I64, "total_time", "From the first start to the last end of GPU activity, as in the sheet gpu_timeline: that of known launching calls unless all was asked for."),
    field("busy_ns", I64, "busy_time", "Time of it in which any GPU activity runs."),
    field("compute_ns", I64, "computation_time", "Time of it in which a kernel computes."),
    field("exposed_comm_ns", I64, "exposed_comm_time", "Time of it in which communication runs and nothing computes."),
    field("exposed_copy_ns", I64, "exposed_memcpy_time", "Time of it in which copies run, and nothing computes or communicates."),
    field("idle_ns", I64, "idle_time", "Time of it in which nothing runs: total less busy."),
    field("unattributed_ns", I64, "unattributed", "How much longer the GPU is busy if activity without a known launching call counts, too."),
    field("flops", F64, "FLOPs", "Floating-point operations of all calls that have a model."),
    field("matrix_efficiency", F64, "matrix efficiency", "Mean share of the GPU's matrix rate that operations on matrix units reach, weighted by time."),
    field("model_name", Str, "model", "The model, as far as modules and shapes show it."),
    field("architecture", Str, "architecture", "Its kind: Transformer, CNN, Diffusion and the like."),
    field("precision", Str, "precision", "The type that most of its arithmetic is in."),
    field("options_hash", Str, "options", "A hash of all choices that change figures: runs with different ones are not to be compared."),
    field("tags", MapStr, "tags", "What the user gave: build, commit, team and the like."),
];

#[rustfmt::skip]
const STEP_COLUMNS: &[Field] = &[
    RUN_ID,
    DATE,
    INGESTED,
    field("step", I32, "step", "Its position among the steps, from 0, by start on the CPU.").key(),
    field("name", Str, "name", "Its name, with its number where it has one: ProfilerStep#12."),
    field("start_ns", I64, "start", "When its GPU activity starts, after the first event of the trace; without a GPU, when it starts on the CPU."),
    field("duration_ns", I64, "step time", "How long its GPU activity takes, from the first start to the last end; without a GPU, how long it takes on the CPU."),
    field("compute_ns", I64, "computation_time", "Time of it in which a kernel computes; all GPU activity counts."),
    field("exposed_comm_ns", I64, "exposed_comm_time", "Time of it in which communication runs and nothing computes."),
    field("exposed_copy_ns", I64, "exposed_memcpy_time", "Time of it in which copies run, and nothing computes or communicates."),
    field("idle_ns", I64, "idle_time", "Time of it in which nothing runs."),
];

#[rustfmt::skip]
const OP_COLUMNS: &[Field] = &[
    RUN_ID,
    DATE,
    INGESTED,
    field("op_key", U64, "operation", "A hash of name, shapes, types, strides, concrete inputs and recomputation: the same on all machines (FNV-1a, 64 bits).").key(),
    field("name", Str, "name", "The operator, or the runtime call where a launch has no operator around it."),
    field("category", Str, "Dormer category", "The kind of work that most of its kernel time is."),
    field("input_dims", Str, "Input Dims", "Shapes of its arguments."),
    field("input_types", Str, "Input type", "Types of its arguments."),
    field("calls", I64, "operation_count", "Calls with these arguments."),
    field("kernel_ns", I64, "Kernel Time (ns)_sum", "Kernel time, sum over the calls."),
    field("median_ns", I64, "Kernel Time (ns)_median", "Kernel time of a call, median."),
    field("gflops", F64, "GFLOPS", "Floating-point operations of one call, in units of 10⁹."),
    field("bytes", F64, "Data Moved (B)", "Bytes to and from memory of one call, each operand once."),
    field("efficiency", F64, "Pct Roofline", "The least time over the kernel time, of all calls together."),
    field("bound", Str, "Roofline Bound", "Whether it is compute-bound or memory-bound on the chosen GPU."),
    field("is_recompute", Flag, "is_recompute", "True for what ran while activations were computed again."),
];

#[rustfmt::skip]
const KERNEL_COLUMNS: &[Field] = &[
    RUN_ID,
    DATE,
    INGESTED,
    field("kernel_key", U64, "kernel", "A hash of the kernel and its operation: the same on all machines (FNV-1a, 64 bits).").key(),
    field("kernel", Str, "Kernel name", "The kernel."),
    field("kernel_short", Str, "kernel, short", "Its name without namespaces, template arguments and parameters: several kernels may share it."),
    field("op", Str, "Parent cpu_op", "The operator that launched it (the innermost one), or the launching call; unknown if neither was recorded."),
    field("category", Str, "Dormer category", "The kind of work it is."),
    field("library", Str, "library", "The library it comes from; unknown if its name does not show it."),
    field("calls", I64, "Kernel duration_count", "How often it ran."),
    field("total_ns", I64, "Kernel duration (ns)_sum", "Sum of its durations."),
    field("mean_ns", I64, "Kernel duration (ns)_mean", "Mean duration, rounded."),
    field("min_ns", I64, "Kernel duration (ns)_min", "Shortest duration."),
    field("max_ns", I64, "Kernel duration (ns)_max", "Longest duration."),
];

#[rustfmt::skip]
const COLLECTIVE_COLUMNS: &[Field] = &[
    RUN_ID,
    DATE,
    INGESTED,
    field("group", Str, "Process Group Name", "The group of processes that took part.").key(),
    field("group_desc", Str, "Process Group Description", "What the program calls the group."),
    field("group_size", I32, "Group size", "How many processes it has."),
    field("type", Str, "Collective name", "What they did: all-reduce, all-gather and the like.").key(),
    field("dtype", Str, "dtype", "Type of the elements.").key(),
    field("bytes", I64, "message size", "Size of the message as benchmarks of collectives count it; unknown if size or type was not recorded.").key(),
    field("calls", I64, "operation_count", "How often."),
    field("total_ns", I64, "dur_sum", "Sum of the kernel durations, including waiting for other ranks."),
    field("min_ns", I64, "dur_min", "Shortest duration."),
    field("exposed_ns", I64, "exposed", "The part of the sum in which nothing computes."),
    field("bus_bandwidth", F64, "bus bandwidth", "Bus bandwidth of the shortest call, which waits least, as nccl-tests define it."),
    field("transfer_ns", I64, "transfer", "How long data moved; only where all ranks of the job were read."),
    field("wait_ns", I64, "wait", "How long it waited for other ranks; only where all ranks of the job were read."),
];

#[rustfmt::skip]
const FINDING_COLUMNS: &[Field] = &[
    RUN_ID,
    DATE,
    INGESTED,
    field("number", I32, "number", "Its place among the findings of the run, from 1: what saves most comes first.").key(),
    field("analysis", Str, "analysis", "The analysis that found it."),
    field("pattern", Str, "pattern", "What was found, as files write it: tiny_batched."),
    field("priority", Str, "priority", "How much it matters: Critical, High, Medium or Low."),
    field("title", Str, "title", "What was found, in a few words."),
    field("time_ns", I64, "time", "The measured time that it is about."),
    field("low_ns", I64, "saves, low", "What following it saves, the low end of the range; unknown where the trace cannot tell."),
    field("mid_ns", I64, "saves", "What following it saves, the middle: findings are ranked by it."),
    field("high_ns", I64, "saves, high", "What following it saves, the high end of the range."),
    field("estimate", Str, "estimate", "What the saving is estimated from: measured, roofline, usual_efficiency, upper_bound or heuristic."),
    field("op_keys", ListU64, "operations", "The operations that show it, the longest first: rows of the table ops."),
];

#[rustfmt::skip]
const WARNING_COLUMNS: &[Field] = &[
    RUN_ID,
    DATE,
    INGESTED,
    field("kind", Str, "kind", "What was wrong.").key(),
    field("severity", Str, "severity", "How much it matters: info, repaired, or data_loss."),
    field("count", I64, "count", "How often."),
    field("sentence", Str, "sentence", "What it means and what was done, for people."),
];
