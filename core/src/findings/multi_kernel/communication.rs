//! What the data shows about communication, and what to do about it.

use super::assess::{Facts, LATENCY_NS, Moved};
use super::messages::{Reason, are_across_hosts};
use super::{copies, waiting};
use crate::base::format;
use crate::findings::Input;
use crate::names::collective::{CollectiveKind, Purpose};
use crate::profile::gpu::copies::Frames;
use crate::profile::gpu::timeline::GpuClass;

/// A purpose of communication, a further condition, and what to do about it.
type Advice = (Purpose, fn(&Facts) -> bool, &'static str);

/// Advice about exposed communication: the first row that matches, or [`OTHER_STREAM`].
#[rustfmt::skip]
const ADVICE: &[Advice] = &[
    (Purpose::Tensors, is_across_hosts, "keep tensor parallelism within one host, whose GPUs are linked (`tensor_parallel_size` at most the number of GPUs of a host), and use pipeline or data parallelism between hosts; until then, run its collectives beside other kernels."),
    (Purpose::Gradients, is_small, "send fewer, larger messages: raise `bucket_cap_mb` of `DistributedDataParallel` (25 by default), so that an all-reduce takes the gradients of several layers, and reduce once for several micro-batches (`no_sync()`)."),
    (Purpose::Fsdp, is_small, "send fewer, larger messages: wrap whole blocks instead of single layers (`auto_wrap_policy`, or `fully_shard` for each block), and shard only within a node (hybrid sharding); then gather the parameters of the next block early (`forward_prefetch=True`, `set_modules_to_forward_prefetch`)."),
    (Purpose::Shards, is_small, "send fewer, larger messages: keep small parameters on all ranks instead of gathering them in each step (`stage3_param_persistence_threshold`), raise the sizes of buckets (`stage3_prefetch_bucket_size`, `reduce_bucket_size`, `allgather_bucket_size`), and join what is sent at the same time in one buffer."),
    (Purpose::Tensors, is_small, SMALL_OF_TENSORS),
    (Purpose::Unknown, |facts| is_small(facts) && are_layers_split(facts), SMALL_OF_TENSORS),
    (Purpose::Unknown, is_small, "send fewer, larger messages: join them first (one flat buffer for many tensors; larger buckets of gradients, `bucket_cap_mb`; small parameters that stay on all ranks instead of being gathered, `stage3_param_persistence_threshold`), then start them earlier, on a stream of their own beside kernels that do not depend on them."),
    (Purpose::Gradients, is_wide, "send half the bytes: reduce gradients in BF16 (`register_comm_hook(state, bf16_compress_hook)` of `DistributedDataParallel`) where the accuracy allows; then see whether this rank waits for others (analyze the traces of all ranks as one job), and reduce once for several micro-batches (`no_sync()`)."),
    (Purpose::Fsdp, is_wide, "send half the bytes: gather parameters in BF16, and reduce gradients in BF16 where the accuracy allows (`MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.bfloat16)`, with `fully_shard`: `MixedPrecisionPolicy`); then gather parameters earlier (`forward_prefetch=True`, `backward_prefetch`, `set_modules_to_forward_prefetch`), and shard only within a node (hybrid sharding)."),
    (Purpose::Shards, is_wide, "send half the bytes: gather parameters in BF16, and reduce gradients in BF16 where the accuracy allows (`communication_data_type`; `--grad-reduce-in-bf16`); then all-gather parameters ahead of their use, and reduce-scatter gradients during the backward pass."),
    (Purpose::Unknown, is_wide, "send half the bytes: where the accuracy allows, convert gradients to BF16 before the collective; then start it as soon as its gradients are ready, during the backward pass, in buckets (`DistributedDataParallel` does both, with `register_comm_hook(state, bf16_compress_hook)`)."),
    (Purpose::Gradients, Facts::is_mostly_hidden, "gradients are already reduced during the backward pass, and most of that is overlapped: what is exposed is mostly the last bucket, so make buckets smaller (`bucket_cap_mb` of `DistributedDataParallel`); where gradients are accumulated, reduce them in the last micro-batch alone (`no_sync()`)."),
    (Purpose::Gradients, |_| true, "gradients are already reduced during the backward pass: check whether this rank waits for others (analyze the traces of all ranks as one job); then try other bucket sizes (`bucket_cap_mb` of `DistributedDataParallel`), reduce once for several micro-batches (`no_sync()`), and send less (a communication hook that compresses gradients)."),
    (Purpose::Buffers, |_| true, "`DistributedDataParallel` broadcasts the buffers of modules from rank 0 before each forward pass, and all ranks wait for it: set `broadcast_buffers=False` if buffers (such as the running statistics of batch norms) need not be equal on all ranks, and check whether rank 0 is late."),
    (Purpose::Fsdp, |_| true, "gather parameters earlier: prefetch those of the next layers in the forward and the backward pass (`forward_prefetch=True`, `backward_prefetch`, `limit_all_gathers=False`; with `fully_shard`: `set_modules_to_forward_prefetch`), keep them gathered until the backward pass where memory allows (`reshard_after_forward=False`), and shard only within a node (hybrid sharding)."),
    (Purpose::Shards, |_| true, "all-gather parameters ahead of their use, overlapped with the optimizer step or the preceding layers, and reduce-scatter gradients during the backward pass; keep gathered parameters where memory allows, and shard only within a node (hybrid sharding)."),
    (Purpose::Replicas, |_| true, "replace `DataParallel`, which copies all weights to each GPU in each step, by `DistributedDataParallel` with one process per GPU: it sends gradients alone, while the backward pass runs."),
    (Purpose::Stages, |_| true, "reduce the pipeline bubble: use more micro-batches, or an interleaved schedule; spread layers evenly over the stages, and send and receive (`isend`, `irecv`) while another micro-batch computes."),
    (Purpose::Tensors, |facts| facts.is_training, "run the collectives of tensor parallelism beside its GEMMs (asynchronous tensor parallelism), split norms and dropout along the sequence (sequence parallelism), and let fewer GPUs share a layer."),
    (Purpose::Tensors, |_| true, OF_TENSORS),
    (Purpose::Experts, |_| true, "run the exchange of expert parallelism beside other kernels (another micro-batch, shared experts), send less (narrower types, fewer copies of a token), and spread tokens evenly over the ranks."),
    (Purpose::Sequence, is_ring, "send keys and values to the next rank while attention runs on those that are here (`batch_isend_irecv` before each part, waited for after it), so that the ring only adds what is longer than attention; send less: key and value heads before they are repeated, narrower types, fewer ranks."),
    (Purpose::Sequence, |_| true, "run the exchange of sequence parallelism (heads against tokens) beside the projections around it, or pass keys and values round in a ring; send less: narrower types, fewer ranks."),
    (Purpose::Statistics, |_| true, "synchronized batch norms wait for tiny messages in each layer: keep them only where the batch of a rank is too small for statistics of its own, share them among fewer ranks (`process_group`), or use a norm without them."),
    (Purpose::Exchange, |_| true, "run the exchange beside other kernels (another micro-batch), send less (narrower types, fewer ranks), and see that all ranks have an equal share of it."),
    (Purpose::Unknown, |facts| facts.is_training, "reduce gradients asynchronously during the backward pass, in buckets that fit the computation left, and pipeline micro-batches; accumulate gradients, or compress them, to send less."),
    // Steps of a serving engine, whose layers are split over the GPUs.
    (Purpose::Unknown, |facts| facts.collectives.steps.is_some(), OF_TENSORS),
];

const OF_TENSORS: &str = "run the collectives of tensor parallelism on another stream beside other kernels (another micro-batch, prefill beside decode), or send less: narrower types, fewer ranks.";

const SMALL_OF_TENSORS: &str = "use all-reduces made for small messages (one-shot over peer-to-peer or symmetric memory, fused with the norm that follows), give each step more tokens, and let fewer GPUs share a layer.";

const OTHER_STREAM: &str = "start the collectives earlier, on a stream of their own beside the kernels that do not depend on them (gradients of one layer beside the backward pass of the next, one micro-batch beside another), or send less: narrower types, less often, fewer ranks.";

pub(super) fn advice(facts: &Facts) -> &'static str {
    if waiting::most(facts).is_some() {
        return waiting::ADVICE;
    }
    let purpose = facts.collectives.purpose.unwrap_or(Purpose::Unknown);
    let mut rows = ADVICE.iter();
    let row = rows.find(|(of, holds, _)| *of == purpose && holds(facts));
    row.map_or(OTHER_STREAM, |(.., advice)| *advice)
}

/// Whether small messages are those of layers that are split over the GPUs, although no process group says so: in steps
/// of a serving engine, and where nothing is trained and all-reduces take most of the time.
fn are_layers_split(facts: &Facts) -> bool {
    facts.collectives.steps.is_some()
        || (!facts.is_training && is_mostly(facts, CollectiveKind::AllReduce))
}

/// Whether collectives of one kind take the most time.
fn is_mostly(facts: &Facts, kind: CollectiveKind) -> bool {
    let first = facts.collectives.kinds.first();
    first.is_some_and(|first| first.kind == kind)
}

/// Whether most communication passes something from rank to rank.
fn is_ring(facts: &Facts) -> bool {
    is_mostly(facts, CollectiveKind::SendReceive)
}

fn is_across_hosts(facts: &Facts) -> bool {
    Reason::of(facts) == Some(Reason::AcrossHosts)
}

fn is_small(facts: &Facts) -> bool {
    Reason::of(facts) == Some(Reason::Small)
}

fn is_wide(facts: &Facts) -> bool {
    Reason::of(facts) == Some(Reason::Wide)
}

/// A sentence about what overlap cannot save, if too little computation is left.
pub(crate) fn out_of_reach(facts: &Facts) -> Option<String> {
    let (free_ns, exposed_ns) = (facts.free_ns(), facts.hideable.exposed_comm_ns);
    (free_ns < exposed_ns).then(|| {
        format!(
            "Only {} of computation are left for it to overlap with, so that overlap saves no more than that; the other {} are transfer or waiting for other ranks, and shrink with less to send or with ranks that arrive together.",
            format::time_ns(free_ns),
            format::time_ns(exposed_ns - free_ns)
        )
    })
}

/// ", most of it in `reduce` in `train.py:160`": the function of the program that starts most of the communication while
/// nothing computes.
pub(super) fn mostly_in(input: &Input) -> Option<String> {
    let profile = input.profile;
    let moved = Moved::of(profile);
    let exposed = &Option::as_ref(&moved)?.spans.communication;
    let mut frames = Frames::new(profile);
    let all = profile.gpu.all();
    let all = all.filter(|work| work.class == GpuClass::Communication);
    let times = all.map(|work| {
        let frame = work.launched_by.and_then(|call| frames.above(call));
        let gpu = work.running(&profile.trace).gpu;
        (frame, exposed.within((gpu, work.span)))
    });
    copies::place_of_most(input, times)
}

/// How collectives within a host use the links.
struct OnBus {
    /// Their average speed in GB/s.
    gbps: f64,
    /// What the links between their ranks carry in each direction, in GB/s.
    link_gbps: f64,
    /// Whether those are all links of the GPU.
    are_all: bool,
    /// The former in percent of the latter.
    percent: f64,
    /// How long the messages would take at the latter.
    at_link_ns: i64,
}

fn on_bus(facts: &Facts) -> Option<OnBus> {
    let links = facts.links?;
    let (bytes, ns) = facts.collectives.on_bus(false)?;
    let groups = facts.collectives.groups.iter();
    let at_link = groups
        .filter(|group| !group.key.spans_hosts)
        .filter_map(|group| Some(group.bus_bytes()? / links.gbps_among(group.key.group_size)));
    let at_link_ns: f64 = at_link.sum();
    Some(OnBus {
        gbps: bytes / ns as f64,
        link_gbps: bytes / at_link_ns,
        are_all: bytes / at_link_ns >= 0.99 * links.gbps(),
        percent: at_link_ns * 100.0 / ns as f64,
        at_link_ns: facts.of_one_gpu(at_link_ns.round() as i64),
    })
    .filter(|_| at_link_ns > 0.0)
}

/// The bus bandwidth, at the end of a sentence.
pub(super) fn bus_clause(facts: &Facts) -> String {
    let Some(on_bus) = on_bus(facts) else {
        let across = facts.collectives.on_bus(true);
        return across.map_or(String::new(), |(bytes, ns)| {
            let gbps = format::bandwidth_gbps(bytes / ns as f64);
            format!("; its bus bandwidth between hosts averages {gbps}")
        });
    };
    format!(
        "; its bus bandwidth averages {}, {} of the {} that the links{} carry each way",
        format::bandwidth_gbps(on_bus.gbps),
        format::percent(on_bus.percent),
        format::bandwidth_gbps(on_bus.link_gbps),
        match on_bus.are_all {
            true => "",
            false => " between its ranks",
        }
    )
}

/// Below this share of what the links carry, most of the time is not transfer.
const LITTLE_PERCENT: f64 = 50.0;

/// Whether the links carry at least half of what they can.
pub(super) fn is_mostly_transfer(facts: &Facts) -> bool {
    on_bus(facts).is_some_and(|on_bus| on_bus.percent >= LITTLE_PERCENT)
}

/// From this share of what the links carry on, collectives are as fast as they can be.
const FULL_PERCENT: f64 = 80.0;

/// Whether the links carry about what they can.
pub(super) fn are_links_full(facts: &Facts) -> bool {
    on_bus(facts).is_some_and(|on_bus| on_bus.percent >= FULL_PERCENT)
}

/// What a low utilization of the links means; `None` if it is high.
fn little_use(facts: &Facts) -> Option<String> {
    /// Messages from this size on reach the bandwidth of the links.
    const LARGE_BYTES: f64 = 16e6;
    let OnBus { at_link_ns, .. } = on_bus(facts).filter(|it| it.percent < LITTLE_PERCENT)?;
    let mut kinds = facts.collectives.kinds.iter();
    let is_large = |bytes: f64| bytes >= LARGE_BYTES;
    let are_all_large = kinds.all(|kind| kind.message_bytes.is_some_and(is_large));
    let small = match are_all_large {
        true => " or a slower link than these",
        false => ", a slower link than these, or messages too small for them",
    };
    Some(format!(
        "At the bandwidth of the links the messages of known size would take {} of {}: the rest is waiting for other ranks{small}.",
        format::time_ns(at_link_ns),
        format::time_ns(facts.timeline.comm_ns)
    ))
}

/// That messages go between hosts, so that the links of the GPU do not limit them.
fn across_hosts(facts: &Facts) -> Option<String> {
    let n_linked = facts.n_linked.filter(|_| are_across_hosts(facts))?;
    let groups = facts.collectives.groups.iter();
    let mut across = groups.filter(|group| group.key.spans_hosts);
    let size = across.find_map(|group| group.key.group_size);
    let by_size = size.filter(|size| *size > n_linked as f64);
    let how = match by_size {
        Some(size) => format!("a group of {size} ranks spans hosts"),
        None => "its groups span hosts by the numbers of their ranks".to_owned(),
    };
    Some(format!(
        "{n_linked} GPUs are linked, so {how}: the network between hosts carries it, not the links of the GPU."
    ))
}

fn largest_kind(facts: &Facts) -> Option<String> {
    let first = facts.collectives.kinds.first()?;
    let size = first.message_bytes.map_or(String::new(), |bytes| {
        format!(" of {}", format::bytes(bytes as u64))
    });
    let sizes = match first.n_groups {
        1 => String::new(),
        n => format!(" with {} kinds of messages", format::count(n)),
    };
    let most = match first.exposed_ns > facts.timeline.exposed_comm_ns / 2 {
        true => "Most",
        false => "The largest part",
    };
    Some(format!(
        "{most} of it is {}{size}, {}{sizes}: {} while nothing computes.",
        first.kind.label(),
        format::counted(first.count, "time"),
        format::time_ns(facts.of_one_gpu(first.exposed_ns))
    ))
}

/// That the latency of collectives stays.
fn latency(facts: &Facts) -> Option<String> {
    let latency_ns = Some(facts.latency_ns()).filter(|ns| *ns > 0)?;
    Some(format!(
        "{} of it are the latency of the collectives, about {} each: each layer needs their results before it goes on, so it is counted in no saving.",
        format::time_ns(latency_ns),
        format::time_ns(LATENCY_NS)
    ))
}

pub(super) fn reasoning(facts: &Facts) -> Vec<String> {
    let (timeline, high_ns) = (&facts.timeline, facts.hideable.exposed_comm_ns);
    let mut sentences: Vec<String> = out_of_reach(facts).into_iter().collect();
    if sentences.is_empty() && facts.overlap().is_flagged {
        sentences.push(format!(
            "With {} of it overlapped with computation {} are saved, with all of it {}.",
            format::percent(facts.thresholds.overlap_target_percent),
            format::time_ns(facts.to_target_ns()),
            format::time_ns(facts.savable_comm_ns())
        ));
    }
    sentences.extend(latency(facts));
    sentences.extend(facts.repeated().map(|repeated| {
        format!(
            "{} of it are reductions of gradients after micro-batches that are not the last of their step; their own finding covers them.",
            format::time_ns(facts.of_one_gpu(repeated.exposed_ns))
        )
    }));
    sentences.extend(largest_kind(facts));
    let reason = Reason::of(facts);
    if reason != Some(Reason::Late) {
        sentences.extend(waiting::sentence(facts));
    }
    let reason = reason.and_then(|reason| reason.sentence(facts));
    sentences.extend(reason.or_else(|| little_use(facts)));
    sentences.extend(across_hosts(facts));
    sentences.push(match facts.n_gpus {
        1 => "A trace of one process cannot tell waiting for the others from transfer: the traces of all ranks can.",
        _ => "Times are those of an average GPU. What a GPU waits for another one counts as communication.",
    }.to_owned());
    if facts.n_gpus > 1 && high_ns < timeline.exposed_comm_ns {
        sentences.push(format!(
            "The GPU that has least of it has {} while it computes nothing; hiding saves no more than that, because the others wait for this one.",
            format::time_ns(high_ns)
        ));
    }
    sentences
}
