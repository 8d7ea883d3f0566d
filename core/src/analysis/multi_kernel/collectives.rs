//! Collectives: what they do, how large their messages are, how fast they move them.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::exposed::{Exposed, OnGpu};
use crate::analysis::{Input, args};
use crate::interval::sum;
use crate::kernels::GpuWork;
use crate::launch::process;
use crate::report::element_bytes;
use crate::sort::Arrange;
use crate::timeline::GpuClass;
use crate::trace::{Category, Dims, EventId, Trace};

/// What a collective does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Kind {
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
    pub(super) fn label(self) -> &'static str {
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
    pub(super) fn of_name(name: &str) -> Kind {
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
    fn bus_factor(self, group_size: f64) -> Option<f64> {
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

/// What collectives of one row have in common.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Key {
    pub(super) kind: Kind,
    /// Type of the elements, as PyTorch calls it.
    pub(super) dtype: Option<String>,
    /// The larger of what a member gives and gets.
    pub(super) elements: Option<f64>,
    pub(super) group_size: Option<f64>,
    /// The members exchange parts of different sizes: what stays with each is not told.
    pub(super) is_uneven: bool,
}

/// All collectives of one kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct OfKind {
    pub(super) kind: Kind,
    pub(super) count: u64,
    /// How many groups of equal type, size and members they are.
    pub(super) n_groups: u64,
    /// The size of the messages, where all have the same.
    pub(super) message_bytes: Option<f64>,
    pub(super) time_ns: i64,
    /// Time in which nothing computes beside one of them.
    pub(super) exposed_ns: i64,
}

/// Collectives of one kind and size.
#[derive(Debug, Clone)]
pub(super) struct Collectives {
    pub(super) key: Key,
    pub(super) count: u64,
    /// Sum of the durations; waiting for the other members counts.
    pub(super) time_ns: i64,
    pub(super) min_ns: i64,
    /// Time in which nothing computes beside one of them.
    pub(super) exposed_ns: i64,
}

impl Collectives {
    /// The size of the message: the whole of it, as benchmarks of collectives count it.
    pub(super) fn message_bytes(&self) -> Option<f64> {
        let dtype = self.key.dtype.as_deref()?;
        let element = element_bytes(dtype).or_else(|| crate::perf::element_bytes(dtype))?;
        Some(self.key.elements? * element)
    }

    /// What all of them move over the links; `None` where size or members are not told.
    fn bus_bytes(&self) -> Option<f64> {
        Some(self.message_bytes()? * self.bus_factor()? * self.count as f64)
    }

    /// Bytes of the message over a duration; bytes per nanosecond are GB/s.
    fn algorithm_gbps(&self, ns: i64) -> Option<f64> {
        let bytes = self.message_bytes().filter(|bytes| *bytes > 0.0)?;
        (ns > 0).then(|| bytes / ns as f64)
    }

    pub(super) fn mean_ns(&self) -> i64 {
        self.time_ns / i64::try_from(self.count.max(1)).unwrap_or(i64::MAX)
    }

    /// In the mean.
    pub(super) fn algorithm_bandwidth(&self) -> Option<f64> {
        self.algorithm_gbps(self.mean_ns())
    }

    /// In the mean.
    pub(super) fn bus_bandwidth(&self) -> Option<f64> {
        self.bus_gbps(self.mean_ns())
    }

    /// Of the shortest, which waits least for the other members.
    pub(super) fn best_bus_bandwidth(&self) -> Option<f64> {
        self.bus_gbps(self.min_ns)
    }

    fn bus_gbps(&self, ns: i64) -> Option<f64> {
        Some(self.algorithm_gbps(ns)? * self.bus_factor()?)
    }

    fn bus_factor(&self) -> Option<f64> {
        match self.key.is_uneven {
            true => None,
            false => self.key.kind.bus_factor(self.key.group_size?),
        }
    }
}

/// One long collective.
#[derive(Debug, Clone, Copy)]
pub(super) struct Longest {
    pub(super) event: EventId,
    pub(super) length_ns: i64,
    pub(super) stream: Option<i64>,
}

/// The collectives of a trace.
#[derive(Debug, Default)]
pub(super) struct CollectiveSummary {
    /// What is exposed longest first.
    pub(super) groups: Vec<Collectives>,
    /// What is exposed longest first.
    pub(super) kinds: Vec<OfKind>,
    pub(super) count: u64,
    /// Sum of the durations.
    pub(super) time_ns: i64,
    pub(super) max_ns: i64,
    /// At most ten, the longest first.
    pub(super) longest: Vec<Longest>,
}

impl CollectiveSummary {
    /// The bytes that links move, and the time in which they do, of the collectives that tell it;
    /// `None` where those are less than half of the time.
    pub(super) fn on_bus(&self) -> Option<(f64, i64)> {
        let told = || {
            let groups = self.groups.iter();
            groups.filter_map(|group| Some((group.bus_bytes()?, group.time_ns)))
        };
        let bytes = told().map(|(bytes, _)| bytes).sum();
        let ns = sum(told().map(|(_, ns)| ns));
        (ns > 0 && ns >= self.time_ns / 2).then_some((bytes, ns))
    }

    /// The kind that takes the most time.
    pub(super) fn leading(&self) -> Option<Kind> {
        let kinds = self.kinds.iter();
        let longest = kinds.reduce(|longest, next| match next.time_ns > longest.time_ns {
            true => next,
            false => longest,
        });
        longest.map(|of_kind| of_kind.kind)
    }
}

/// Sums up groups by kind, given when those of each kind ran. `exposed` as below.
fn by_kind(
    groups: &[Collectives],
    mut spans: HashMap<Kind, Vec<OnGpu>, FxBuildHasher>,
    exposed: &Exposed,
) -> Vec<OfKind> {
    let mut kinds: Vec<OfKind> = Vec::new();
    for group in groups {
        let bytes = group.message_bytes();
        match kinds.iter_mut().find(|known| known.kind == group.key.kind) {
            Some(known) => {
                known.count += group.count;
                known.n_groups += 1;
                known.message_bytes = known.message_bytes.filter(|known| Some(*known) == bytes);
                known.time_ns = known.time_ns.saturating_add(group.time_ns);
            }
            None => kinds.push(OfKind {
                kind: group.key.kind,
                count: group.count,
                n_groups: 1,
                message_bytes: bytes,
                time_ns: group.time_ns,
                exposed_ns: exposed.within_all(&spans.remove(&group.key.kind).unwrap_or_default()),
            }),
        }
    }
    kinds.arrange_by_key(|of_kind| std::cmp::Reverse((of_kind.exposed_ns, of_kind.time_ns)));
    kinds
}

/// Sums up the collectives among some GPU work. `exposed` is the time in which collectives run and
/// nothing computes.
pub(super) fn collectives<'a>(
    input: &Input,
    work: impl Iterator<Item = &'a GpuWork>,
    exposed: &Exposed,
) -> CollectiveSummary {
    const N_LONGEST: usize = 10;
    let mut summary = CollectiveSummary::default();
    let mut index: HashMap<String, usize, FxBuildHasher> = HashMap::default();
    // On several streams they run at once.
    let mut spans: Vec<Vec<OnGpu>> = Vec::new();
    let mut of_kinds: HashMap<Kind, Vec<OnGpu>, FxBuildHasher> = HashMap::default();
    for work in work.filter(|work| work.class == GpuClass::Communication) {
        let length_ns = work.span.length();
        let key = key(input, work);
        let span = (process(&input.profile.trace, work.event), work.span);
        of_kinds.entry(key.kind).or_default().push(span);
        let spelled = format!("{key:?}");
        let row = *index.entry(spelled).or_insert(summary.groups.len());
        if row == summary.groups.len() {
            summary.groups.push(Collectives {
                key,
                count: 0,
                time_ns: 0,
                min_ns: length_ns,
                exposed_ns: 0,
            });
            spans.push(Vec::new());
        }
        if let Some(spans) = spans.get_mut(row) {
            spans.push(span);
        }
        if let Some(group) = summary.groups.get_mut(row) {
            group.count += 1;
            group.time_ns = group.time_ns.saturating_add(length_ns);
            group.min_ns = group.min_ns.min(length_ns);
        }
        summary.count += 1;
        summary.time_ns = summary.time_ns.saturating_add(length_ns);
        summary.max_ns = summary.max_ns.max(length_ns);
        let place = summary
            .longest
            .partition_point(|longer| longer.length_ns >= length_ns);
        if place < N_LONGEST {
            let longest = Longest {
                event: work.event,
                length_ns,
                stream: work.stream,
            };
            summary.longest.insert(place, longest);
            summary.longest.truncate(N_LONGEST);
        }
    }
    for (group, spans) in summary.groups.iter_mut().zip(spans) {
        group.exposed_ns = exposed.within_all(&spans);
    }
    summary.kinds = by_kind(&summary.groups, of_kinds, exposed);
    summary
        .groups
        .arrange_by_key(|group| std::cmp::Reverse((group.exposed_ns, group.time_ns)));
    summary
}

/// What is known of a collective: from its kernel, else from the operator that asked for it, else
/// from names.
fn key(input: &Input, work: &GpuWork) -> Key {
    const NAME: &str = "Collective name";
    let profile = input.profile;
    let trace = &profile.trace;
    let named = |event: EventId| args::arg(trace, event, NAME).is_some();
    let said_by = if named(work.event) {
        Some(work.event)
    } else {
        asking_op(input, work, named)
    };
    let Some(event) = said_by else {
        return key_of_kernel(input, work);
    };
    let given = args::number(trace, event, "In msg nelems");
    let got = args::number(trace, event, "Out msg nelems");
    Key {
        kind: args::arg(trace, event, NAME).map_or(Kind::Unknown, Kind::of_name),
        dtype: text(trace, event, "dtype"),
        elements: match (given, got) {
            (Some(given), Some(got)) => Some(given.max(got)),
            (given, got) => given.or(got),
        },
        group_size: args::number(trace, event, "Group size"),
        is_uneven: ["In split size", "Out split size"]
            .into_iter()
            .filter_map(|key| args::arg(trace, event, key))
            .any(is_uneven),
    }
}

/// Whether a list of sizes, `[4000000, 0, 0, 0]`, has different ones. One that is cut short ends in
/// dots, and says nothing.
fn is_uneven(sizes: &str) -> bool {
    let list = sizes.trim_matches(['[', ']']).split(',');
    let mut sizes = list.filter_map(|size| size.trim().parse::<u64>().ok());
    let first = sizes.next();
    sizes.any(|size| Some(size) != first)
}

/// What a kernel's name and the operator above it tell. Of an all-reduce the largest tensor is the
/// message: all members give and get the same size.
fn key_of_kernel(input: &Input, work: &GpuWork) -> Key {
    let name = input.profile.trace.strings.get(work.name);
    let kind = Kind::of_name(name);
    let message = match kind {
        Kind::AllReduce => largest_tensor(input, work),
        _ => None,
    };
    let (elements, dtype) = message.unzip();
    Key {
        kind,
        dtype,
        elements,
        group_size: members(name),
        is_uneven: false,
    }
}

/// Elements and type of the largest tensor of the nearest operator above the launch that has any.
fn largest_tensor(input: &Input, work: &GpuWork) -> Option<(f64, String)> {
    let trace = &input.profile.trace;
    let largest = |event: EventId| {
        let args = trace.args.get(trace.events.op_args(event)?)?;
        let types = args.types.as_deref()?;
        let tensors = args.dims.as_deref()?.iter().zip(types);
        let sized = tensors.filter_map(|(dims, dtype)| {
            let Dims::One(shape) = dims else { return None };
            let shape = trace.args.shape(*shape);
            let dtype = trace.strings.get(*dtype);
            crate::perf::element_bytes(dtype)?;
            let elements = shape.iter().map(|size| *size as f64).product::<f64>();
            (!shape.is_empty() && elements > 0.0).then_some((elements, dtype))
        });
        let (elements, dtype) =
            sized.reduce(|most, next| if next.0 > most.0 { next } else { most })?;
        let dtype = dtype.strip_prefix("c10::").unwrap_or(dtype);
        Some((elements, dtype.to_owned()))
    };
    let tree = &input.profile.tree;
    let node = tree.node_of(work.launched_by?)?;
    let mut ops = tree
        .ancestors(node)
        .filter(|above| tree.category(trace, *above) == Category::CpuOp);
    ops.find_map(|op| largest(tree.event(op)?))
}

/// How many take part, by the last parameter of kernels that are compiled for their number:
/// `cross_device_reduce_2stage<__nv_bfloat16, 8>`.
fn members(kernel: &str) -> Option<f64> {
    const WORDS: [&str; 3] = [
        "cross_device_reduce_",
        "::one_shot_all_reduce_kernel",
        "two_shot_all_reduce_kernel",
    ];
    let at = WORDS.iter().find_map(|word| kernel.find(word))?;
    let parameters = kernel.get(at..)?.split_once('<')?.1;
    let parameters = parameters.split_once('>')?.0;
    let members: u32 = parameters.rsplit(',').next()?.trim().parse().ok()?;
    (2..=1024).contains(&members).then(|| f64::from(members))
}

fn text(trace: &Trace, event: EventId, key: &str) -> Option<String> {
    args::arg(trace, event, key)
        .filter(|text| !text.is_empty() && *text != "null")
        .map(str::to_owned)
}

/// The operator above the launch that says what the collective is.
fn asking_op(input: &Input, work: &GpuWork, named: impl Fn(EventId) -> bool) -> Option<EventId> {
    let profile = input.profile;
    let tree = &profile.tree;
    let node = tree.node_of(work.launched_by?)?;
    tree.ancestors(node).find_map(|above| {
        let is_op = tree.category(&profile.trace, above) == Category::CpuOp;
        tree.event(above).filter(|event| is_op && named(*event))
    })
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

    #[test]
    fn kernels_that_are_compiled_for_a_number_of_members_tell_it() {
        let cases = [
            (
                "void vllm::cross_device_reduce_2stage<__nv_bfloat16, 8>(vllm::RankData*)",
                Some(8.0),
            ),
            (
                "void aiter::cross_device_reduce_1stage_naive<std::bfloat16_t, 4>(aiter::RankData*)",
                Some(4.0),
            ),
            (
                "c10d::two_shot_all_reduce_kernel_inplace<c10::BFloat16, 16, 8>",
                Some(8.0),
            ),
            // The last parameter is an alignment; no number of members; none at all.
            ("multimem_all_reduce_kernel<c10::BFloat16, 16>", None),
            (
                "multimem_one_shot_all_reduce_kernel<c10::BFloat16, 16>",
                None,
            ),
            ("sglang::cross_device_reduce_1stage<bf16>", None),
            ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", None),
        ];
        for (name, expected) in cases {
            assert_eq!(members(name), expected, "{name}");
        }
    }

    /// 8 members, 4 000 000 floats of 4 bytes in 100 µs: 16 MB / 100 µs = 160 GB/s. An all-reduce
    /// moves 2 · 7 / 8 = 1.75 of that, 280 GB/s, a gathering 7 / 8, 140 GB/s.
    #[test]
    fn bandwidth_by_hand() {
        let of = |kind, group_size| Collectives {
            key: Key {
                kind,
                dtype: Some("Float".to_owned()),
                elements: Some(4e6),
                group_size: Some(group_size),
                is_uneven: false,
            },
            count: 2,
            time_ns: 200_000,
            min_ns: 80_000,
            exposed_ns: 0,
        };
        let reduce = of(Kind::AllReduce, 8.0);
        assert_eq!(reduce.message_bytes(), Some(16e6));
        assert_eq!(reduce.algorithm_bandwidth(), Some(160.0));
        assert_eq!(reduce.bus_bandwidth(), Some(280.0));
        assert_eq!(reduce.best_bus_bandwidth(), Some(350.0));
        assert_eq!(of(Kind::AllGather, 8.0).bus_bandwidth(), Some(140.0));
        assert_eq!(of(Kind::Broadcast, 8.0).bus_bandwidth(), Some(160.0));
        assert_eq!(of(Kind::AllReduce, 1.0).bus_bandwidth(), None);
        assert_eq!(of(Kind::Barrier, 8.0).bus_bandwidth(), None);
        // Of uneven parts nobody knows what leaves.
        let mut uneven = of(Kind::AllToAll, 8.0);
        assert_eq!(uneven.bus_bandwidth(), Some(140.0));
        uneven.key.is_uneven = true;
        assert_eq!(uneven.algorithm_bandwidth(), Some(160.0));
        assert_eq!(uneven.bus_bandwidth(), None);
    }

    #[test]
    fn sizes_of_parts_are_even_or_not() {
        let cases = [
            ("[]", false),
            ("[4000000, 0, 0, 0]", true),
            ("[1024,1024]", false),
            ("[1024, 1024, 1024, ...]", false),
        ];
        for (sizes, expected) in cases {
            assert_eq!(is_uneven(sizes), expected, "{sizes}");
        }
    }
}
