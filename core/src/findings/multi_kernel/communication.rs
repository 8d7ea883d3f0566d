//! What the data shows of communication, and what to do about it.

use super::assess::Facts;
use crate::base::format;
use crate::names::collective::Purpose;

/// What to do in the model about communication that nothing hides.
struct Advice {
    /// What it is for.
    purposes: &'static [Purpose],
    applies: fn(&Facts) -> bool,
    model: &'static str,
}

/// The first that applies.
const ADVICE: &[Advice] = &[
    Advice {
        purposes: &[Purpose::Gradients],
        applies: is_mostly_hidden,
        model: "gradients are reduced during the backward pass already, and most of that is hidden: what is left is for the most part what the pass ends with, so let the last bucket be small (`bucket_cap_mb` of `DistributedDataParallel`); where gradients are accumulated, reduce them in the last micro-batch alone (`no_sync()`).",
    },
    Advice {
        purposes: &[Purpose::Gradients],
        applies: |_| true,
        model: "gradients are reduced during the backward pass already: see in the traces of the other ranks whether this one waits for them; then try other bucket sizes (`bucket_cap_mb` of `DistributedDataParallel`), reduce once for several micro-batches (`no_sync()`), and send less (a communication hook that compresses gradients).",
    },
    Advice {
        purposes: &[Purpose::Fsdp],
        applies: |_| true,
        model: "gather parameters earlier: prefetch those of the next layers in the forward and the backward pass (`forward_prefetch`, `backward_prefetch`, no `limit_all_gathers`; with `fully_shard` `set_modules_to_forward_prefetch`), keep them between both where memory allows (`reshard_after_forward=False`), and shard within a node alone.",
    },
    Advice {
        purposes: &[Purpose::Shards],
        applies: |_| true,
        model: "gather parameters ahead of their use, beside the optimizer's step or the layers before, and scatter gradients during the backward pass; keep what is gathered where memory allows, and shard within a node alone.",
    },
    Advice {
        purposes: &[Purpose::Stages],
        applies: |_| true,
        model: "shorten what stages of the pipeline wait for each other: more micro-batches, or an interleaved schedule; spread layers evenly over the stages, and send and receive (`isend`, `irecv`) while another micro-batch computes.",
    },
    Advice {
        purposes: &[Purpose::Tensors],
        applies: |facts| facts.is_training,
        model: "run the collectives of tensor parallelism beside its GEMMs (asynchronous tensor parallelism), split norms and dropout along the sequence (sequence parallelism), and let fewer GPUs share a layer.",
    },
    Advice {
        purposes: &[Purpose::Experts],
        applies: |_| true,
        model: "run the exchange of expert parallelism beside other kernels (another micro-batch, shared experts), send less (narrower types, fewer copies of a token), and spread tokens evenly over the ranks.",
    },
    Advice {
        purposes: &[Purpose::Sequence],
        applies: |_| true,
        model: "run the exchange of sequence parallelism (heads against tokens) beside the projections around it, or pass keys and values round in a ring; send less: narrower types, fewer ranks.",
    },
    Advice {
        purposes: &[Purpose::Statistics],
        applies: |_| true,
        model: "synchronized batch norms wait for tiny messages in each layer: keep them only where the batch of a rank is too small for statistics of its own, share them among fewer ranks (`process_group`), or use a norm without them.",
    },
    Advice {
        purposes: &[Purpose::Exchange],
        applies: |_| true,
        model: "run the exchange beside other kernels (another micro-batch), send less (narrower types, fewer ranks), and see that all ranks have an equal share of it.",
    },
    Advice {
        purposes: &[Purpose::Unknown],
        applies: |facts| facts.is_training,
        model: "reduce gradients asynchronously during the backward pass, in buckets that fit the computation left, and pipeline micro-batches; accumulate gradients, or compress them, to send less.",
    },
    Advice {
        purposes: &[Purpose::Tensors, Purpose::Unknown],
        applies: |_| true,
        model: "run the collectives of tensor parallelism on another stream beside other kernels (another micro-batch, prefill beside decode), or send less: narrower types, fewer ranks.",
    },
];

/// What to do in the model.
pub(super) fn advice(facts: &Facts) -> &'static str {
    let purpose = facts.collectives.purpose.unwrap_or(Purpose::Unknown);
    let mut advice = ADVICE.iter();
    let first = advice.find(|advice| advice.purposes.contains(&purpose) && (advice.applies)(facts));
    first.map_or("", |advice| advice.model)
}

/// Most of the communication runs beside computation.
fn is_mostly_hidden(facts: &Facts) -> bool {
    facts.timeline.exposed_comm_ns < facts.timeline.comm_ns / 2
}

/// What overlap cannot save, where there is less computation left than communication is exposed: a
/// sentence.
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

/// How much of what the links carry the collectives use.
#[derive(Debug, Clone, Copy)]
struct OnBus {
    /// In the mean.
    gbps: f64,
    /// What the links carry each way.
    link_gbps: f64,
    /// What the messages would take at that.
    at_link_ns: i64,
}

impl OnBus {
    fn new(facts: &Facts) -> Option<OnBus> {
        let link_gbps = facts.link_gbps.filter(|gbps| *gbps > 0.0)?;
        let (bytes, ns) = facts.collectives.on_bus()?;
        Some(OnBus {
            gbps: bytes / ns as f64,
            link_gbps,
            at_link_ns: facts.of_one_gpu((bytes / link_gbps).round() as i64),
        })
    }

    fn percent(self) -> f64 {
        self.gbps * 100.0 / self.link_gbps
    }
}

/// The bus bandwidth, at the end of a sentence.
pub(super) fn bus_clause(facts: &Facts) -> String {
    OnBus::new(facts).map_or(String::new(), |bus| {
        format!(
            "; its bus bandwidth averages {}, {} of the {} that the links carry each way",
            format::bandwidth_gbps(bus.gbps),
            format::percent(bus.percent()),
            format::bandwidth_gbps(bus.link_gbps)
        )
    })
}

/// What little use of the links means; `None` where they are well used.
fn little_use(facts: &Facts) -> Option<String> {
    /// Below half of what the links carry most of the time is something else than transfer.
    const LITTLE_PERCENT: f64 = 50.0;
    let bus = OnBus::new(facts).filter(|bus| bus.percent() < LITTLE_PERCENT)?;
    Some(format!(
        "At the bandwidth of the links the messages of known size would take {} of {}: the rest is waiting for other ranks, a slower link than these, or messages too small for them.",
        format::time_ns(bus.at_link_ns),
        format::time_ns(facts.timeline.comm_ns)
    ))
}

/// What kind of collective most of it is.
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

/// What the data shows and what it cannot show.
pub(super) fn reasoning(facts: &Facts) -> Vec<String> {
    let (timeline, high_ns) = (&facts.timeline, facts.hideable.exposed_comm_ns);
    let mut sentences: Vec<String> = out_of_reach(facts).into_iter().collect();
    if sentences.is_empty() && facts.overlap().is_flagged {
        sentences.push(format!(
            "With {} of it overlapped with computation {} are saved, with all of it {}.",
            format::percent(facts.thresholds.overlap_target_percent),
            format::time_ns(facts.to_target_ns()),
            format::time_ns(high_ns)
        ));
    }
    sentences.extend(largest_kind(facts));
    sentences.extend(little_use(facts));
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
