//! The rules for copies and communication.

use super::assess::{CopyAssessment, Facts};
use super::communication::{self, is_mostly_transfer};
use super::issues::{About, Issue, issues};
use super::messages::Reason;
use crate::findings::engine::pattern::Pattern;
use crate::findings::fill;
use crate::findings::prelude::*;
use crate::names::collective::Purpose;
use crate::profile::gpu::copies::DdpCopy;
use crate::profile::gpu::copies::Direction::{
    DeviceToDevice, DeviceToHost, HostToDevice, PeerToPeer,
};

/// All patterns that are flagged.
pub(crate) fn patterns(input: &Input, facts: &Facts) -> Vec<Pattern> {
    flagged(input, facts, &issues(input, facts))
}

/// The same for given issues.
pub(super) fn flagged(input: &Input, facts: &Facts, issues: &[Issue]) -> Vec<Pattern> {
    let patterns = issues.iter().filter_map(|issue| {
        let rule = RULES.iter().find(|rule| (rule.applies)(input, issue))?;
        let words = rule.words_of(&Group::new(input, vec![issue]));
        Some(Pattern {
            key: rule.key,
            name: rule.title,
            severity: issue.severity,
            description: fill(rule.issue, &words),
            recommendation: match issue.is_communication() {
                true => communication::advice(facts),
                false => rule.model,
            },
            recoverable_ns: match issue.about {
                About::Overlap => Some(facts.to_target_ns()),
                _ => issue.evidence.impact.map(|impact| impact.high_ns),
            },
        })
    });
    patterns.collect()
}

pub(super) const RULES: &[Rule<Issue>] = &[
    Rule {
        when: "most of them write a checkpoint",
        applies: |_, issue| issue.copies(DeviceToHost, |_| true) && issue.is_of_checkpoint(),
        title: "Device-to-host copies of a checkpoint",
        issue: "{copies} {time} ({share} of the run), {exposed} of it while nothing else runs, most of them in {checkpoint}{moved}.",
        model: "copy to pinned memory while the next step computes and write in the background (`torch.distributed.checkpoint.async_save`), and less often.",
        ..TO_HOST
    },
    Rule {
        when: SLOW_LINK,
        applies: |_, issue| issue.copies(DeviceToHost, CopyAssessment::is_link_slow),
        title: "Device-to-host copies over a slow link",
        model: FASTER_LINK,
        ..TO_HOST
    },
    Rule {
        when: "host memory is pinned, and kernels are too few to hide most of them",
        applies: |_, issue| issue.copies(DeviceToHost, CopyAssessment::are_bound_by_link),
        title: "Device-to-host copies: more than kernels can hide",
        model: "move fewer bytes: keep on the GPU what fits there and what the CPU does not need, copy narrower types, and do more work for each transfer.",
        ..TO_HOST
    },
    Rule {
        when: "they are large and host memory is not known to be pinned",
        applies: |_, issue| issue.copies(DeviceToHost, |all| all.are_large && !all.are_pinned),
        model: "copy into a pinned buffer that is allocated once (`pin_memory=True`), with `non_blocking=True`, and wait for it only where the values are used; keep on the GPU what the CPU does not need.",
        ..TO_HOST
    },
    Rule {
        when: "host memory is pinned and most of them overlap with other kernels",
        applies: |_, issue| issue.copies(DeviceToHost, are_overlapped),
        model: OVERLAPPED,
        ..TO_HOST
    },
    Rule {
        when: "they are large, host memory is pinned, and they have a stream of their own",
        applies: |_, issue| {
            issue.copies(DeviceToHost, |all| all.are_large && all.copies.are_apart())
        },
        model: "the copies have a stream of their own already: let them overlap with the kernels that follow, and wait for them only where the values are used; keep on the GPU what the CPU does not need.",
        ..TO_HOST
    },
    Rule {
        when: "they are large and host memory is pinned",
        applies: |_, issue| issue.copies(DeviceToHost, |all| all.are_large),
        model: "let copies overlap with computation, on a stream of their own, and wait for them only where the values are used; keep on the GPU what the CPU does not need.",
        ..TO_HOST
    },
    Rule {
        when: "they are small",
        kernel: "a kernel that takes the value from GPU memory makes reading it back unnecessary.",
        ..TO_HOST
    },
    Rule {
        when: SLOW_LINK,
        applies: |_, issue| issue.copies(HostToDevice, CopyAssessment::is_link_slow),
        title: "Host-to-device copies over a slow link",
        model: FASTER_LINK,
        ..TO_DEVICE
    },
    Rule {
        when: "host memory is pinned, and kernels are too few to hide most of them",
        applies: |_, issue| issue.copies(HostToDevice, CopyAssessment::are_bound_by_link),
        title: "Host-to-device copies: more than kernels can hide",
        model: "move fewer bytes: keep on the GPU what fits there (some of the layers, if these are weights), copy narrower types (weights of 8 or 4 bits), and do more work for each transfer (larger batches).",
        ..TO_DEVICE
    },
    Rule {
        when: "host memory is pinned and most of them overlap with other kernels",
        applies: |_, issue| issue.copies(HostToDevice, are_overlapped),
        model: OVERLAPPED,
        ..TO_DEVICE
    },
    Rule {
        when: "host memory is pinned, and they have a stream of their own",
        applies: |_, issue| {
            issue.copies(HostToDevice, |all| all.are_pinned && all.copies.are_apart())
        },
        model: "host memory is pinned, and the copies have a stream of their own already: start them earlier, one layer or batch ahead of their use, and wait for them only where the values are used.",
        ..TO_DEVICE
    },
    Rule {
        when: "host memory is pinned",
        applies: |_, issue| issue.copies(HostToDevice, |all| all.are_pinned),
        model: "host memory is pinned already: start copies earlier, on a stream of their own, beside computation (`non_blocking=True`); create constants and masks on the GPU, once.",
        ..TO_DEVICE
    },
    Rule {
        when: "host memory is pageable",
        applies: |_, issue| issue.copies(HostToDevice, |all| all.are_pageable),
        title: "Host-to-device copies from pageable memory",
        ..TO_DEVICE
    },
    TO_DEVICE,
    Rule {
        when: "`DistributedDataParallel` copies gradients and buffers",
        applies: |_, issue| issue.copies(DeviceToDevice, |all| all.of_ddp == DdpCopy::ALL),
        model: "let `DistributedDataParallel` leave gradients in its buckets (`gradient_as_bucket_view=True`), and where ranks may differ in their buffers, as in the running statistics of norms, let it not broadcast them (`broadcast_buffers=False`).",
        ..OF_DDP
    },
    Rule {
        when: "`DistributedDataParallel` copies gradients",
        applies: |_, issue| issue.copies(DeviceToDevice, |all| all.of_ddp == [DdpCopy::Gradients]),
        model: "let `DistributedDataParallel` leave gradients in its buckets (`gradient_as_bucket_view=True`).",
        ..OF_DDP
    },
    Rule {
        when: "`DistributedDataParallel` copies buffers",
        applies: |_, issue| issue.copies(DeviceToDevice, |all| all.of_ddp == [DdpCopy::Buffers]),
        model: "where ranks may differ in their buffers, as in the running statistics of norms, let `DistributedDataParallel` not broadcast them (`broadcast_buffers=False`).",
        ..OF_DDP
    },
    WITHIN_DEVICE,
    Rule {
        key: "high_p2p_memcpy",
        when: "copies between GPUs take long and overlap with nothing",
        applies: |_, issue| issue.copies(PeerToPeer, |_| true),
        title: "Copies between GPUs",
        model: "place what works together on the same GPU, or start the copy early enough to overlap with computation.",
        ..COPIES
    },
    Rule {
        when: "communication is mostly waiting for ranks that come later",
        applies: |_, issue| issue.blocks_by(Reason::Late),
        title: "Collectives wait for late ranks",
        ..BLOCKING
    },
    Rule {
        when: "exposed communication is mostly that of tensor parallelism in groups that span hosts",
        applies: |_, issue| issue.blocks_by(Reason::AcrossHosts),
        title: "Tensor parallelism across hosts",
        ..BLOCKING
    },
    Rule {
        when: "exposed communication is mostly small messages, whose time is latency",
        applies: |_, issue| issue.blocks_by(Reason::Small),
        title: "Communication in small messages",
        ..BLOCKING
    },
    Rule {
        when: "exposed communication is mostly FP32 messages beside computation in BF16, FP16 or narrower types",
        applies: |_, issue| issue.blocks_by(Reason::Wide),
        title: "Communication in FP32 beside 16-bit computation",
        ..BLOCKING
    },
    Rule {
        when: "exposed communication is between the stages of a pipeline, and hardly any of it is transfer",
        applies: |_, issue| {
            let is_of_stages = issue.facts.collectives.purpose == Some(Purpose::Stages);
            issue.is_blocking() && is_of_stages && !is_mostly_transfer(issue.facts)
        },
        title: "Pipeline stages wait for each other",
        ..BLOCKING
    },
    Rule {
        when: "communication is exposed for long, and less than 30 % of it overlaps with computation",
        applies: |_, issue| {
            issue.is_blocking() && issue.facts.overlap().is_flagged && issue.hardly_overlaps()
        },
        title: "Communication blocks computation and hardly overlaps with it",
        ..BLOCKING
    },
    Rule {
        when: "communication is exposed for long, and its overlap with computation is below the target",
        applies: |_, issue| issue.is_blocking() && issue.facts.overlap().is_flagged,
        title: "Communication blocks computation and overlaps with it only in part",
        ..BLOCKING
    },
    BLOCKING,
    Rule {
        when: "less than 30 % of communication overlaps with computation",
        applies: |_, issue| issue.is_communication() && issue.hardly_overlaps(),
        title: "Communication hardly overlaps with computation",
        ..POOR_OVERLAP
    },
    POOR_OVERLAP,
    Rule {
        key: "uneven_gpus",
        when: "GPUs of one trace wait long for the last of them in collectives",
        applies: |_, issue| matches!(issue.about, About::Uneven),
        title: "GPUs wait for each other in collectives",
        issue: "In {collectives} of several GPUs of this trace a GPU waits {time} on average ({share} of the run) for the one that comes last{last}.",
        model: "give all GPUs the same to do: batches of equal size, sequences of equal length, layers and experts spread evenly; where the load is even, look for what delays the last one: its CPU, its data, its clock.",
        kernel: "nothing to gain in the collectives: they wait for what runs before them on the last GPU.",
        notes: &[
            "A collective ends for all once the last of its ranks has started: what a GPU spends in it before is waiting. With an even load all would start at the mean of their times.",
        ],
        saves: Saves::Evidence,
        ..Rule::BASE
    },
    Rule {
        key: "reduced_in_each_micro_batch",
        when: "gradients are reduced after each micro-batch of a step, and those of all but the last block computation",
        applies: |_, issue| matches!(issue.about, About::Repeated),
        title: "Gradients are reduced in each micro-batch",
        issue: "Gradients are reduced after each of {n} micro-batches, although the optimizer needs only their sum: {collectives} after all but the last take {time}, {exposed} of it ({share} of the run) while nothing computes.",
        model: "accumulate gradients on each rank, and reduce them after the last micro-batch of a step: run the others in {sharded?`no_sync()`, with `fully_shard` after `set_requires_gradient_sync(False)`, where memory suffices for gradients that are not sharded|`no_sync()` of `DistributedDataParallel`}.",
        kernel: "nothing to gain in the collectives: these are not needed.",
        notes: &[
            "The estimate is the time in which nothing computes beside the collectives that are not needed.",
        ],
        saves: Saves::Evidence,
        has_reproducer: false,
        ..Rule::BASE
    },
    Rule {
        key: "staging_copies",
        when: "copies into and out of the buffers of collectives take a good part of the run",
        applies: |_, issue| matches!(issue.about, About::Staging),
        title: "Copies into and out of the buffers of all-reduces",
        issue: "{copies}{size} directly before and after {collectives} take {time} ({share} of the run), {of_all} of the {all} that these take with their copies.",
        model: "let the GEMM before the all-reduce write into the symmetric buffer, and what follows read from it; fuse the all-reduce with the norm after it, where the engine can.",
        kernel: "an all-reduce that reads its message where it is, and writes the result where it is needed, makes the copies unnecessary.",
        notes: &[
            "The copies have the size of the message and run on the stream of the collective: its cost is all three.",
        ],
        saves: Saves::Evidence,
        ..Rule::BASE
    },
];

const COPIES: Rule<Issue> = Rule {
    issue: "{copies} {time} ({share} of the run), {exposed} of it while nothing else runs{place}{moved}.",
    kernel: "{combine}.",
    saves: Saves::Evidence,
    ..Rule::BASE
};

const TO_HOST: Rule<Issue> = Rule {
    key: "high_d2h_memcpy",
    applies: |_, issue| issue.copies(DeviceToHost, |_| true),
    title: "Device-to-host copies",
    model: "keep values on the GPU: no `.item()`, `.cpu()` or printing in the loop, reductions on the GPU, and one read for many steps.",
    ..COPIES
};

const TO_DEVICE: Rule<Issue> = Rule {
    key: "high_h2d_memcpy",
    when: "host memory is not known to be pinned",
    applies: |_, issue| issue.copies(HostToDevice, |_| true),
    title: "Host-to-device copies",
    model: "pin host memory (`pin_memory=True`) and copy with `non_blocking=True` on a stream of its own; create constants and masks on the GPU, once.",
    ..COPIES
};

const SLOW_LINK: &str = "they are large, host memory is pinned, and they reach less than half of the 12 GB/s that PCIe 3.0 with 16 lanes carries";

const FASTER_LINK: &str = "find what slows the link, which reaches less than half of what PCIe 3.0 with 16 lanes carries: check its generation and width (`nvidia-smi -q`, `rocm-smi --showbus`), run the process and allocate its memory on the NUMA node of the GPU (`numactl`), and see whether other devices copy over the same link; then start copies earlier, on a stream of their own, beside computation.";

const OVERLAPPED: &str = "most of these copies overlap with other kernels already: start the others early enough for that too, and wait for them only where the values are used.";

const WITHIN_DEVICE: Rule<Issue> = Rule {
    key: "high_d2d_memcpy",
    when: "copies within the GPU take long and overlap with nothing",
    applies: |_, issue| issue.copies(DeviceToDevice, |_| true),
    title: "Copies within the GPU",
    model: "write results where they are needed: views for `clone()`, `contiguous()` and concatenation, preallocated buffers for results that are copied into others.",
    kernel: "a kernel that reads the other layout, or writes into the final buffer, makes the copy unnecessary.",
    ..COPIES
};

const OF_DDP: Rule<Issue> = Rule {
    kernel: "nothing to gain in a kernel: the copies are unnecessary.",
    ..WITHIN_DEVICE
};

const BLOCKING: Rule<Issue> = Rule {
    key: "nccl_blocking_compute",
    when: "communication is exposed for long",
    applies: |_, issue| issue.is_blocking(),
    title: "Communication blocks computation",
    issue: "Collective communication takes {all}, {time} of it ({share} of the run) while nothing computes{place}{overlaps}{bus}.",
    model: "{advice}",
    kernel: "{at_link?nothing to gain in these kernels: the links carry about what they can|compare the bus bandwidth of each type and size with that of the link, and check topology and configuration of the communication library; small messages need low-latency kernels}.",
    saves: Saves::Evidence,
    ..Rule::BASE
};

/// Blocking communication has the same remedy, so one finding covers both.
const POOR_OVERLAP: Rule<Issue> = Rule {
    key: "poor_comm_compute_overlap",
    when: "less of the communication overlaps with computation than the target",
    applies: |_, issue| issue.is_communication(),
    gate: |group| !group.any(|issue| issue.facts.blocking().is_flagged),
    title: "Communication overlaps with computation only in part",
    ..BLOCKING
};

fn are_overlapped(copies: &CopyAssessment) -> bool {
    copies.are_pinned && copies.are_hidden
}
