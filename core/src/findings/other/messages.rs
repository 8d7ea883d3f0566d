//! Graph networks that write a message for each edge to memory.
//!
//! ```text
//! index_select   nodes × width → edges × width        reads the row of a node for each edge
//! mul            edges × width                        weights it
//! scatter_add    edges × width → nodes × width        adds it to the row of another node
//! ```
//!
//! A sparse matrix multiplication does all three without storing the messages.

use super::Observed;
use crate::base::map::{Map, Set};
use crate::findings::prelude::*;
use crate::names::{Family, OtherKind};
use crate::perf::Tensor;
use crate::profile::operations::Operation;
use crate::profile::operations::kinds::gemm::GemmSizes;

/// Fewer edges for each node are no graph: tokens of experts, tables of words.
const LEAST_PER_NODE: u64 = 2;

/// One of the two ends of the messages.
#[derive(Debug, Clone, Copy)]
pub(super) struct Messages {
    pub(super) edges: u64,
    pub(super) width: u64,
    /// The time of element-wise operations on them.
    pub(super) between_ns: i64,
    /// The bytes that a sparse multiplication reads or writes in its place, for each call.
    least_bytes: f64,
}

impl Messages {
    /// What need not be done: all but reading a row for each edge, or writing a row for each node.
    pub(super) fn saved_ns(&self, input: &Input, row: &Row) -> Option<i64> {
        let each_ns = self.least_bytes / input.gpu()?.mem_bw_gbps;
        let least_ns = (each_ns * row.n_calls as f64) as i64;
        Some(row.time_ns.saturating_sub(least_ns).max(0))
    }
}

/// How an operation moves rows between nodes and edges.
struct End {
    reads: bool,
    nodes: u64,
    edges: u64,
    width: u64,
    row_bytes: f64,
}

impl End {
    fn of(input: &Input, operation: &Operation) -> Option<End> {
        let tensors = operation.tensors(input.profile);
        let is_index =
            |tensor: &&Tensor| tensor.dtype.contains("int") || tensor.dtype.contains("long");
        let is_rows = |tensor: &&Tensor| tensor.shape.len() == 2 && !is_index(tensor);
        let mut rows = tensors.iter().filter(is_rows);
        let index = tensors.iter().find(is_index)?;
        let (first, second) = (rows.next()?, rows.next());
        let size = |size: Option<&i64>| u64::try_from(*size?).ok();
        let nodes = size(first.shape.first())?;
        let width = size(first.shape.last())?;
        let edges = match second {
            // The rows that are added to others have a tensor of their own.
            Some(second) if second.shape.last() == first.shape.last() => {
                size(second.shape.first())?
            }
            Some(_) => return None,
            None if index.shape.len() == 1 => size(index.shape.first())?,
            None => return None,
        };
        Some(End {
            reads: second.is_none(),
            nodes,
            edges,
            width,
            row_bytes: width as f64 * first.element_bytes()?,
        })
    }
}

/// Marks look-ups and writes of one row for each edge that have each other, unless a GEMM computes with the messages.
pub(super) fn mark(input: &Input, observed: &mut [Observed]) {
    let ends: Vec<Option<End>> = observed
        .iter()
        .map(|one| {
            let is_by_index = matches!(one.kind, OtherKind::LookUp | OtherKind::Scatter);
            let end = End::of(input, input.operation(one.row.operation)).filter(|_| is_by_index)?;
            let is_graph = end.edges >= end.nodes.saturating_mul(LEAST_PER_NODE) && end.width > 1;
            is_graph.then_some(end)
        })
        .collect();
    // For each size of messages: whether rows are read, and whether they are added.
    let mut sizes: Map<(u64, u64), [bool; 2]> = Map::default();
    for end in ends.iter().flatten() {
        sizes.entry((end.edges, end.width)).or_default()[usize::from(end.reads)] = true;
    }
    let are_messages =
        |(edges, _): &(u64, u64), has| has == [true, true] && !is_multiplied(input, *edges);
    let messages = sizes
        .into_iter()
        .filter(|(size, has)| are_messages(size, *has));
    let messages: Set<(u64, u64)> = messages.map(|(size, _)| size).collect();
    for (one, end) in observed.iter_mut().zip(ends) {
        let Some(End {
            reads,
            nodes,
            edges,
            width,
            row_bytes,
        }) = end
        else {
            continue;
        };
        if messages.contains(&(edges, width)) {
            let rows = if reads { edges } else { nodes };
            one.messages = Some(Messages {
                edges,
                width,
                between_ns: between_ns(input, [edges, width]),
                least_bytes: rows as f64 * row_bytes,
            });
        }
    }
}

/// Whether a GEMM has a row for each edge, as in networks that compute messages from both nodes.
fn is_multiplied(input: &Input, edges: u64) -> bool {
    let sizes = input
        .operations()
        .filter_map(|(_, operation, _)| GemmSizes::of_params(operation));
    let mut sizes = sizes.filter(|sizes| sizes.batch == 1);
    sizes.any(|sizes| sizes.m == edges || sizes.n == edges)
}

fn between_ns(input: &Input, size: [u64; 2]) -> i64 {
    let has_size = |operation: &Operation| {
        let tensors = operation.tensors(input.profile);
        tensors.iter().any(|tensor| {
            let sizes = tensor.shape.iter().map(|size| size.unsigned_abs());
            sizes.eq(size)
        })
    };
    let operations = input.operations();
    let between = operations.filter(|(_, operation, _)| {
        operation.family == Family::Elementwise
            && !super::claims(input.profile, operation)
            && has_size(operation)
    });
    sum(between.map(|(_, operation, _)| operation.kernel_ns))
}

pub(super) const RULE: Rule<Observed> = Rule {
    key: "messages_of_edges",
    when: "rows are read by one index and added by another, two or more for each row of the result, no GEMM computes with them, and both take 5 % of the computation or more",
    applies: |_, observed| observed.messages.is_some(),
    takes: |group| group.is_much(),
    title: "A message for each edge in memory",
    issue: "{figures}; a graph with {edges} writes a message of {width} for each of them, and reads it again to add it up{between?. Element-wise operations on the messages take another {between}}.",
    model: "aggregate by a sparse matrix multiplication: pass the graph as a sparse tensor (CSR, sorted once) and multiply it with the features (`torch.sparse.mm`, the sparse adjacency matrix of the graph library), so that weighting and adding happen as rows are read.",
    kernel: "an SpMM or a segmented reduction over edges sorted by target needs no atomic additions and no messages in memory.",
    notes: &[
        "The saving leaves the time to read a row for each edge and to write a row for each node at the memory bandwidth. What element-wise operations on the messages take comes on top.",
        "A message that depends on more than one node or on a non-linear function of the edge needs a fused kernel instead.",
    ],
    words: |group| {
        let Some(messages) = group.first().messages else {
            return Vec::new();
        };
        let between = match messages.between_ns {
            0 => String::new(),
            ns => time_and_share(ns, group.input),
        };
        vec![
            ("edges", format::counted(messages.edges, "edge")),
            ("width", format::counted(messages.width, "value")),
            ("between", between),
        ]
    },
    saves: Saves::AtMost(|input, observed| observed.messages?.saved_ns(input, observed.row)),
    has_reproducer: false,
    ..Rule::BASE
};

#[cfg(test)]
mod tests {
    use crate::findings::samples::{Calls, assert_contains, found, patterns};

    /// 8 million edges and 500 000 nodes with 128 features: 4.1 GB of messages.
    fn graph(scatter: &str, gemm: &str) -> Calls {
        let calls = Calls::new();
        let select = "500000x128@128x1:float, =0, 8000000:long int";
        let calls = calls.call("aten::index_select", select, "indexSelectLargeIndex", 3_000);
        let weights = "8000000x128@128x1:float, 8000000x1@1x1:float";
        let calls = calls.call("aten::mul", weights, "elementwise_kernel", 3_000);
        let calls = calls.call(
            "aten::scatter_add_",
            scatter,
            "_scatter_gather_elementwise_kernel",
            10_000,
        );
        match gemm {
            "" => calls,
            args => calls.call("aten::mm", args, "gemm", 1_000),
        }
    }

    #[test]
    fn messages_that_are_only_added_up_need_no_memory() {
        let add = "500000x128@128x1:float, =0, 8000000x128@1x0:long int, 8000000x128@128x1:float";
        let outcome = graph(add, "500000x128:float, 128x128:float").outcome_on("H100", "other");
        let finding = found(&outcome, "messages_of_edges");
        assert_contains(
            &finding.issue,
            &[
                "a graph with 8 000 000 edges writes a message of 128 values",
                "take another 3.00 ms",
            ],
        );
        // 4.1 GB of rows that are read and 0.26 GB that are written are 1.30 ms at 3 350 GB/s.
        let impact = finding.impact.unwrap();
        assert!(
            (11_650_000..11_750_000).contains(&impact.high_ns),
            "{impact:?}"
        );
        // Messages that a GEMM computes, and few edges for each node.
        let of_edges = graph(add, "8000000x128:float, 128x128:float").outcome_on("H100", "other");
        assert!(!patterns(&of_edges).contains(&"messages_of_edges"));
        let few = "5000000x128@128x1:float, =0, 8000000x128@1x0:long int, 8000000x128@128x1:float";
        let outcome = graph(few, "").outcome_on("H100", "other");
        assert!(!patterns(&outcome).contains(&"messages_of_edges"));
    }
}
