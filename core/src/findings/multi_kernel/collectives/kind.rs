//! What a collective does, by its name, and how much of its message the links carry for that.

/// What a collective does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::findings::multi_kernel) enum Kind {
    AllReduce,
    AllGather,
    ReduceScatter,
    AllToAll,
    Broadcast,
    Reduce,
    Gather,
    Scatter,
    SendReceive,
    Barrier,
    /// The trace does not say.
    Unknown,
}

impl Kind {
    pub(in crate::findings::multi_kernel) fn label(self) -> &'static str {
        match self {
            Kind::AllReduce => "all-reduce",
            Kind::AllGather => "all-gather",
            Kind::ReduceScatter => "reduce-scatter",
            Kind::AllToAll => "all-to-all",
            Kind::Broadcast => "broadcast",
            Kind::Reduce => "reduce",
            Kind::Gather => "gather",
            Kind::Scatter => "scatter",
            Kind::SendReceive => "send and receive",
            Kind::Barrier => "barrier",
            Kind::Unknown => "unknown",
        }
    }

    /// From what PyTorch or a kernel calls it: "_allgather_base", "ncclDevKernel_AllReduce_Sum".
    pub(in crate::findings::multi_kernel) fn of_name(name: &str) -> Kind {
        let letters: String = name
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .map(|letter| letter.to_ascii_lowercase())
            .collect();
        // The first that fits: an all-reduce is no reduce.
        const WORDS: &[(&str, Kind)] = &[
            ("allreduce", Kind::AllReduce),
            ("crossdevicereduce", Kind::AllReduce),
            ("allgather", Kind::AllGather),
            ("reducescatter", Kind::ReduceScatter),
            ("alltoall", Kind::AllToAll),
            // Of expert parallelism: tokens go to their experts and come back.
            ("dispatch", Kind::AllToAll),
            ("combine", Kind::AllToAll),
            ("broadcast", Kind::Broadcast),
            ("barrier", Kind::Barrier),
            ("send", Kind::SendReceive),
            ("recv", Kind::SendReceive),
            ("scatter", Kind::Scatter),
            ("gather", Kind::Gather),
            ("reduce", Kind::Reduce),
        ];
        let word = WORDS.iter().find(|(word, _)| letters.contains(word));
        word.map_or(Kind::Unknown, |(_, kind)| *kind)
    }

    /// What the links carry for each byte of the message, so that different collectives can be
    /// held against the same link. Of n members an all-reduce moves each byte to the others and
    /// the sums back, 2 (n − 1) / n; gathering, scattering and exchanging leave out the own part,
    /// (n − 1) / n; the rest moves it once.
    pub(in crate::findings::multi_kernel) fn bus_factor(self, group_size: f64) -> Option<f64> {
        if group_size < 2.0 {
            return None;
        }
        let others = (group_size - 1.0) / group_size;
        match self {
            Kind::AllReduce => Some(2.0 * others),
            Kind::AllGather | Kind::ReduceScatter | Kind::AllToAll => Some(others),
            Kind::Broadcast | Kind::Reduce | Kind::Gather | Kind::Scatter | Kind::SendReceive => {
                Some(1.0)
            }
            Kind::Barrier | Kind::Unknown => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_what_a_collective_does() {
        let cases = [
            ("allreduce_coalesced", Kind::AllReduce),
            ("_allgather_base", Kind::AllGather),
            ("_reduce_scatter_base", Kind::ReduceScatter),
            ("all_to_allv", Kind::AllToAll),
            ("broadcast", Kind::Broadcast),
            ("reduce", Kind::Reduce),
            (
                "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevComm*)",
                Kind::AllReduce,
            ),
            (
                "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)",
                Kind::SendReceive,
            ),
            (
                "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)",
                Kind::Unknown,
            ),
            (
                "void sglang::cross_device_reduce_1stage<bf16>",
                Kind::AllReduce,
            ),
            (
                "void deep_ep::internode_ll::dispatch<true, false, 7168>(void*)",
                Kind::AllToAll,
            ),
            (
                "void deep_ep::intranode::combine<__nv_bfloat16, 8, 768, 4096>",
                Kind::AllToAll,
            ),
            ("moeA2ADispatchKernel<8>", Kind::AllToAll),
            (
                "mori::moe::EpDispatchInterNodeKernel<float>",
                Kind::AllToAll,
            ),
        ];
        for (name, kind) in cases {
            assert_eq!(Kind::of_name(name), kind, "{name}");
        }
    }
}
