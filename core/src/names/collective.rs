//! Collectives: their kind and purpose, by the names of kernels and process groups.

use super::words::{Words, classify, holds, letters};
use crate::base::labels::labeled;
use CollectiveKind::*;

labeled! {
    pub(crate) enum CollectiveKind {
        AllReduce => "all-reduce",
        /// All-reduce with residual addition and RMSNorm in the same kernel.
        AllReduceNorm => "all-reduce + RMSNorm, fused",
        AllGather => "all-gather",
        ReduceScatter => "reduce-scatter",
        AllToAll => "all-to-all",
        Broadcast => "broadcast",
        Reduce => "reduce",
        Gather => "gather",
        Scatter => "scatter",
        SendReceive => "send and receive",
        Barrier => "barrier",
        /// The trace does not say.
        Unknown => "unknown",
    }
}

/// By the letters of a name; "allreduce" must not match as "reduce".
const KINDS: &Words<CollectiveKind> = &[
    (
        AllReduceNorm,
        &[
            "allreducefusion",
            "arfusion",
            "allreducermsnorm",
            "allreduceresidual",
            "allreducenorm",
        ],
    ),
    (
        AllReduce,
        &["allreduce", "crossdevicereduce", "quickreduce"],
    ),
    (AllGather, &["allgather"]),
    (ReduceScatter, &["reducescatter"]),
    // Includes expert parallelism: tokens are sent to their experts and back.
    (AllToAll, &["alltoall", "dispatch", "combine"]),
    (Broadcast, &["broadcast"]),
    (Barrier, &["barrier"]),
    (SendReceive, &["send", "recv"]),
    (Scatter, &["scatter"]),
    (Gather, &["gather"]),
    (Reduce, &["reduce"]),
];

impl CollectiveKind {
    /// From the name in PyTorch or of a kernel: "_allgather_base", "ncclDevKernel_AllReduce_Sum".
    pub(crate) fn of_name(name: &str) -> CollectiveKind {
        classify(KINDS, &letters(name)).unwrap_or(Unknown)
    }

    /// Whether all ranks end up with the sum of their inputs.
    pub(crate) fn is_all_reduce(self) -> bool {
        matches!(self, AllReduce | AllReduceNorm)
    }

    /// Whether no rank can finish it before all have started it, because each needs data from every other.
    pub(crate) fn waits_for_all(self) -> bool {
        matches!(
            self,
            AllReduce | AllReduceNorm | AllGather | ReduceScatter | AllToAll | Barrier
        )
    }

    /// Bytes over the links for each byte of the message, so that different collectives can be compared with the same
    /// link bandwidth. With n ranks, an all-reduce sends each byte to the others and the sums back, 2 (n − 1) / n;
    /// gather, scatter and all-to-all exclude the rank's own part, (n − 1) / n; the others move each byte once.
    pub(crate) fn bus_factor(self, group_size: f64) -> Option<f64> {
        if group_size < 2.0 {
            return None;
        }
        let others = (group_size - 1.0) / group_size;
        match self {
            AllReduce | AllReduceNorm => Some(2.0 * others),
            AllGather | ReduceScatter | AllToAll | Gather | Scatter => Some(others),
            Barrier | Unknown => None,
            _ => Some(1.0),
        }
    }
}

/// The purpose of communication.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Purpose {
    /// Gradients of replicas, reduced during the backward pass.
    Gradients,
    /// Buffers of modules, which `DistributedDataParallel` broadcasts before each forward pass.
    Buffers,
    /// Sharded parameters and gradients.
    Shards,
    /// The same with `FullyShardedDataParallel` or `fully_shard`.
    Fsdp,
    /// Weights that `DataParallel` copies to its GPUs in each step, and the gradients.
    Replicas,
    /// Transfers between pipeline stages.
    Stages,
    /// Tensor parallelism: parts of layers that are split over GPUs.
    Tensors,
    /// Expert parallelism: tokens to their experts and back.
    Experts,
    /// Sequence parallelism: heads are exchanged for tokens of split sequences.
    Sequence,
    /// Synchronized norms: statistics over all ranks.
    Statistics,
    /// An all-to-all of unknown content.
    Exchange,
    /// Unknown purpose.
    Unknown,
}

/// Kernels for communication between experts.
pub(crate) fn is_of_experts(kernel: &str) -> bool {
    holds(kernel, &["dispatch", "combine", "moe", "deep_ep"])
}

/// The purpose of a process group from its description: `TENSOR_MODEL_PARALLEL_GROUP`, `mesh_tp`, `ep:0`. For
/// data-parallel groups it depends on what they do.
pub(crate) fn purpose_of_group(description: &str) -> Option<Purpose> {
    const WORDS: &[(&[&str], Option<Purpose>)] = &[
        (&["data", "dp", "ddp", "fsdp", "shard", "replicate"], None),
        (&["tensor", "tp"], Some(Purpose::Tensors)),
        (&["pipeline", "pp"], Some(Purpose::Stages)),
        (&["expert", "experts", "ep"], Some(Purpose::Experts)),
        (
            &["sequence", "sp", "context", "cp", "ulysses"],
            Some(Purpose::Sequence),
        ),
    ];
    let description = description.to_ascii_lowercase();
    let words = description.split(|letter: char| !letter.is_ascii_alphanumeric());
    let words: Vec<&str> = words.collect();
    let known = |known: &&str| words.contains(known);
    WORDS
        .iter()
        .find(|(names, _)| names.iter().any(known))
        .and_then(|(_, purpose)| *purpose)
}

/// The number of ranks, from the last template parameter of kernels that are compiled for it:
/// `cross_device_reduce_2stage<__nv_bfloat16, 8>`.
pub(crate) fn ranks_of_kernel(kernel: &str) -> Option<f64> {
    const WORDS: [&str; 3] = [
        "cross_device_reduce_",
        "::one_shot_all_reduce_kernel",
        "two_shot_all_reduce_kernel",
    ];
    let at = WORDS.iter().find_map(|word| kernel.find(word))?;
    let parameters = kernel.get(at..)?.split_once('<')?.1.split_once('>')?.0;
    let ranks: u32 = parameters.rsplit(',').next()?.trim().parse().ok()?;
    (2..=1024).contains(&ranks).then(|| f64::from(ranks))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_carries_what_others_have() {
        // Each of four ranks excludes its own quarter; an all-reduce sends twice.
        let cases = [
            (AllReduce, Some(1.5)),
            (AllGather, Some(0.75)),
            (Gather, Some(0.75)),
            (Scatter, Some(0.75)),
            (Broadcast, Some(1.0)),
            (Barrier, None),
        ];
        for (kind, factor) in cases {
            assert_eq!(kind.bus_factor(4.0), factor, "{kind:?}");
        }
    }

    #[test]
    fn names_tell_what_a_collective_does() {
        #[rustfmt::skip]
        let cases = [
            ("allreduce_coalesced", AllReduce),
            ("_allgather_base", AllGather),
            ("_reduce_scatter_base", ReduceScatter),
            ("all_to_allv", AllToAll),
            ("broadcast", Broadcast),
            ("reduce", Reduce),
            ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevComm*)", AllReduce),
            ("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", SendReceive),
            ("ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)", Unknown),
            ("void sglang::cross_device_reduce_1stage<bf16>", AllReduce),
            ("multimem_all_reduce_kernel<c10::BFloat16, 16>", AllReduce),
            ("two_shot_all_reduce_kernel_inplace", AllReduce),
            ("void quickreduce::allreduce_prototype_twoshot<quickreduce::AllReduceTwoshot>", AllReduce),
            ("void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<0>", AllReduceNorm),
            ("void deep_ep::internode_ll::dispatch<true, false, 7168>(void*)", AllToAll),
            ("void deep_ep::intranode::combine<__nv_bfloat16, 8, 768, 4096>", AllToAll),
            ("moeA2ADispatchKernel<8>", AllToAll),
            ("mori::moe::EpDispatchInterNodeKernel<float>", AllToAll),
        ];
        for (name, kind) in cases {
            assert_eq!(CollectiveKind::of_name(name), kind, "{name}");
        }
    }

    #[test]
    fn kernels_that_are_compiled_for_a_number_of_ranks_tell_it() {
        #[rustfmt::skip]
        let cases = [
            ("void vllm::cross_device_reduce_2stage<__nv_bfloat16, 8>(vllm::RankData*)", Some(8.0)),
            ("void aiter::cross_device_reduce_1stage_naive<std::bfloat16_t, 4>(aiter::RankData*)", Some(4.0)),
            ("c10d::two_shot_all_reduce_kernel_inplace<c10::BFloat16, 16, 8>", Some(8.0)),
            // The last parameter is an alignment; no number of ranks; none at all.
            ("multimem_all_reduce_kernel<c10::BFloat16, 16>", None),
            ("multimem_one_shot_all_reduce_kernel<c10::BFloat16, 16>", None),
            ("sglang::cross_device_reduce_1stage<bf16>", None),
            ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", None),
        ];
        for (name, expected) in cases {
            assert_eq!(ranks_of_kernel(name), expected, "{name}");
        }
    }

    #[test]
    fn a_group_tells_what_it_is_for() {
        let cases = [
            ("TENSOR_MODEL_PARALLEL_GROUP", Some(Purpose::Tensors)),
            ("mesh_tp", Some(Purpose::Tensors)),
            ("PIPELINE_MODEL_PARALLEL_GROUP", Some(Purpose::Stages)),
            ("ep:0", Some(Purpose::Experts)),
            ("sp_pg", Some(Purpose::Sequence)),
            ("DATA_PARALLEL_GROUP_WITH_CP", None),
            ("mesh_dp_shard", None),
            ("default_pg", None),
            ("steps", None),
        ];
        for (description, expected) in cases {
            assert_eq!(purpose_of_group(description), expected, "{description}");
        }
    }
}
