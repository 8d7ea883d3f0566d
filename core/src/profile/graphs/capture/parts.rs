//! Adds operators for the parts of an MoE layer that a single operator launches.
//!
//! The reference's inference report does the same: under `vllm::moe_forward` and similar operators, the launch of each
//! expert GEMM gets its own operator, so that it can be modeled. The launch still belongs to the whole operator. AITER
//! functions, identified by their Python frames, are in `functions.rs`.

use crate::base::sort::Arrange;
use crate::profile::cpu::tree::{CallTree, Frames, NodeId};
use crate::profile::graphs::capture::copies::number;
use crate::profile::launch::{GpuId, Launches, is_graph_call};
use crate::trace::{Category, Dims, EventId, NewEvent, StringId, Trace, extra_args};

/// An operator whose parts are distinguished.
#[derive(Debug, Clone, Copy)]
struct SplitOperator {
    op: &'static str,
    /// Part of the names of expert GEMM kernels.
    gemm: &'static str,
    parts: Parts,
}

/// The roles of the expert GEMMs of an operator, sorted by start.
#[derive(Debug, Clone, Copy)]
enum Parts {
    /// The first is the up projection, the others are down projections.
    UpDown(&'static str, &'static str),
    /// One kernel does both.
    One(&'static str),
}

#[rustfmt::skip]
const SPLIT_OPERATORS: &[SplitOperator] = &[
    SplitOperator { op: "vllm::moe_forward", gemm: "matmul_ogs", parts: Parts::UpDown("pseudo_op::moe_triton_unfused_up", "pseudo_op::moe_triton_unfused_down") },
    SplitOperator { op: "vllm::outplace_fused_experts", gemm: "fused_moe_kernel_gptq_awq", parts: Parts::UpDown("pseudo_op::moe_gptq_awq_up", "pseudo_op::moe_gptq_awq_down") },
    SplitOperator { op: "vllm::rocm_aiter_fused_moe", gemm: "fmoe", parts: Parts::One("pseudo_op::moe_aiter_fused_1stage") },
];

/// The kernel that combines the results of the experts.
const COMBINE: &str = "matmul_scatter";
const COMBINED: &str = "pseudo_op::moe_triton_unfused_finalize_matmul_scatter";

/// Puts operators around the launches of expert GEMMs in the whole trace.
pub(super) fn add(trace: &mut Trace, launches: &Launches) {
    if SPLIT_OPERATORS
        .iter()
        .all(|whole| trace.strings.find(whole.op).is_none())
    {
        return;
    }
    let tree = CallTree::new(trace, Frames::Without, launches);
    let of_call = |event: EventId| {
        let is_op = trace.events.category(event) == Category::CpuOp;
        let mut wholes = SPLIT_OPERATORS.iter().filter(|_| is_op);
        wholes.find(|whole| trace.name(event) == whole.op)
    };
    let wholes: Vec<(NodeId, EventId, &SplitOperator)> = tree
        .ids()
        .filter_map(|node| {
            let event = tree.event(node)?;
            Some((node, event, of_call(event)?))
        })
        .collect();
    for (node, whole, of) in wholes {
        let parts = parts(trace, launches, of, tree.gpu_work(node));
        let facts = facts(trace, &tree, node, whole, &parts);
        let facts = trace.strings.intern(&facts);
        for Part { call, name, .. } in parts {
            put_around(trace, call, name, whole, Some(facts));
        }
    }
}

/// Puts an operator around a call, with the arguments of another call.
pub(super) fn put_around(
    trace: &mut Trace,
    call: EventId,
    name: &str,
    donor: EventId,
    facts: Option<StringId>,
) {
    let name = trace.strings.intern(name);
    let uid = trace.next_uid();
    let events = &trace.events;
    let part = NewEvent {
        uid: number(uid),
        category: Category::CpuOp,
        name,
        track: events.track(call),
        ts_ns: events.ts_ns(call),
        dur_ns: None,
        external_id: None,
        correlation: None,
        op_args: events.op_args(donor),
        extra_args: facts,
    };
    let part = trace.events.push(part);
    trace.captured.add(part, 0);
    trace.captured.put_around(call, part);
    trace.captured.number_from(uid + 1);
}

/// A kernel that gets an operator.
struct Part {
    call: EventId,
    name: &'static str,
    kernel: EventId,
}

/// The parts among the kernels of an operator.
fn parts(trace: &Trace, launches: &Launches, whole: &SplitOperator, work: &[GpuId]) -> Vec<Part> {
    let kernel = |id: &GpuId| {
        let event = *launches.work.get(id.index())?;
        let call = launches
            .launched_by(*id)
            .filter(|call| !is_graph_call(trace, *call))?;
        Some((trace.events.ts_ns(event), event, call))
    };
    let mut kernels: Vec<_> = work.iter().filter_map(kernel).collect();
    kernels.arrange_by_key(|(start_ns, ..)| *start_ns);
    let named = |is_part: &dyn Fn(&str) -> bool| -> Vec<(EventId, EventId)> {
        let of_part = kernels
            .iter()
            .filter(|(_, event, _)| is_part(trace.name(*event)));
        of_part.map(|(_, event, call)| (*event, *call)).collect()
    };
    let (up, down) = match whole.parts {
        Parts::UpDown(up, down) => (up, down),
        Parts::One(name) => {
            let computes = |kernel: &str| {
                kernel.contains(whole.gemm)
                    && kernel.contains("aiter")
                    && !kernel.contains("MoeSorting")
                    && !kernel.to_ascii_lowercase().contains("quant")
            };
            return match named(&computes)[..] {
                [(kernel, call)] => vec![Part { call, name, kernel }],
                _ => Vec::new(),
            };
        }
    };
    let combines = named(&|kernel| kernel.contains(COMBINE));
    let gemms = named(&|kernel| kernel.contains(whole.gemm));
    let gemms = gemms.into_iter().enumerate();
    let mut parts: Vec<Part> = gemms
        .map(|(at, (kernel, call))| Part {
            call,
            name: if at == 0 { up } else { down },
            kernel,
        })
        .collect();
    if let ([(kernel, call)], false) = (&combines[..], parts.is_empty()) {
        parts.push(Part {
            call: *call,
            name: COMBINED,
            kernel: *kernel,
        });
    }
    parts
}

/// Sizes that the shapes of the operator do not contain, as arguments of its parts: the experts per token, and the
/// padded intermediate size, which follows from the launch grid of the up projection.
fn facts(trace: &Trace, tree: &CallTree, node: NodeId, whole: EventId, parts: &[Part]) -> String {
    let chosen = chosen(trace, tree, node).unwrap_or(CHOSEN);
    let inner = parts.first().and_then(|up| inner(trace, whole, up, chosen));
    let inner = inner.map_or(String::new(), |inner| format!(", \"inner\": {inner}"));
    format!("\"topk\": {chosen}{inner}")
}

/// Default number of experts per token.
const CHOSEN: u64 = 4;

/// The number of experts per token, from the arguments of the top-k operator.
fn chosen(trace: &Trace, tree: &CallTree, node: NodeId) -> Option<u64> {
    let below = tree
        .subtree(node)
        .filter_map(|node| tree.event(NodeId(node)));
    let picks = below
        .into_iter()
        .find(|event| trace.name(*event) == "TopK")?;
    let args = trace.args.get(trace.events.op_args(picks)?)?;
    let value = args.concrete.as_deref()?.get(1)?;
    trace.strings.get(*value).parse().ok().filter(|n| *n > 0)
}

/// Columns of the up projection, or half of them with a gate: the blocks of its grid divided by the row blocks of all
/// experts. Each expert has row blocks of its own.
fn inner(trace: &Trace, whole: EventId, up: &Part, chosen: u64) -> Option<u64> {
    let kernel = trace.name(up.kernel);
    let [block_m, block_n] = blocks(kernel)?;
    let args = trace.args.get(trace.events.op_args(whole)?)?;
    let size = |tensor: usize, at: usize| {
        let Dims::One(shape) = args.dims.as_deref()?.get(tensor)? else {
            return None;
        };
        u64::try_from(*trace.args.shape(*shape).get(at)?).ok()
    };
    let (tokens, experts) = (size(0, 0)?, size(1, 1)?);
    let rows = tokens.checked_mul(chosen)?;
    let row_blocks = match rows > experts {
        true => experts + (rows - experts) / block_m,
        false => rows,
    };
    let grid = grid_blocks(trace, up.call)?;
    let is_whole = row_blocks > 0 && grid.is_multiple_of(row_blocks);
    let columns = (grid / row_blocks.max(1))
        .checked_mul(block_n)
        .filter(|_| is_whole)?;
    let gate = if kernel.contains("swiglu") { 2 } else { 1 };
    (columns > 0).then_some(columns / gate)
}

/// Rows and columns of a tile: 16 and 128 for `…_16x128x256x1…`.
fn blocks(kernel: &str) -> Option<[u64; 2]> {
    let tile = |part: &str| -> Option<[u64; 2]> {
        let sizes: Option<Vec<u64>> = part.split('x').map(|size| size.parse().ok()).collect();
        match sizes?[..] {
            [m, n, _, _] if m > 0 => Some([m, n]),
            _ => None,
        }
    };
    kernel.split('_').find_map(tile)
}

/// The number of blocks that a call launches, as recorded.
fn grid_blocks(trace: &Trace, call: EventId) -> Option<u64> {
    let args = trace.strings.get(trace.events.extra_args(call)?);
    let grid = extra_args::behind(args, "grid")?.strip_prefix('[')?;
    let (grid, _) = grid.split_once(']')?;
    let mut sizes = grid.split(',').map(|size| size.trim().parse::<u64>().ok());
    sizes.try_fold(1, |all: u64, size| all.checked_mul(size?))
}
