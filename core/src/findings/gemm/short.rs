//! The rules for GEMMs that are about as short as their launch, and for those of single experts.

use super::Observed;
use crate::findings::engine::compute::{beyond_roofline_ns, least_ns};
use crate::findings::loops::steps::advice_for_short;
use crate::findings::prelude::*;

/// GEMMs that are about as short as their launch: each remains a kernel, which has a minimum time.
pub(super) const SHORT: &[Rule<Observed>] = &[
    Rule {
        key: "short_gemm_per_expert",
        when: "GEMMs of single experts are about as short as their launch, and many",
        applies: |_, observed| observed.is_of_expert,
        takes: SMALL.gate,
        ..PER_EXPERT
    },
    SMALL,
];

pub(super) const PER_EXPERT: Rule<Observed> = Rule {
    title: "One GEMM after the other for each expert",
    issue: "{calls} of GEMMs multiply the tokens of one expert each, one after the other: {time}{at}.",
    model: "sort the tokens by expert once, and multiply all of them in one grouped GEMM for each projection (`torch._grouped_mm`) or with a fused MoE kernel; that also removes most launches, and the waits for the number of tokens of each expert.",
    kernel: "a grouped GEMM computes the GEMMs of all experts in one launch: tune its tile sizes for the number of tokens per expert.",
    notes: &[
        "Tokens are gathered by an index before these GEMMs and their results scattered after them, several times in each layer.",
        "The estimate is the time of the GEMMs beyond their roofline. Idle time between their launches has findings of its own.",
    ],
    saves: Saves::AtMost(|_, observed| beyond_roofline_ns(observed.row)),
    effect: Effect::FewerLaunches,
    ..Rule::BASE
};

const SMALL: Rule<Observed> = Rule {
    key: "many_small_products",
    when: "many GEMMs are about as short as their launch",
    title: "Many short GEMMs",
    issue: "{calls} of GEMMs take {mean} each on average: {time}{at}.",
    model: "{loop}join GEMMs of one input (fused projections), batch those of equal sizes (`bmm`, a grouped GEMM), or give each more rows (larger batches).",
    words: |group| {
        vec![
            ("loop", advice_for_short(group.input)),
            ("mean", format::time_ns(group.mean_ns(n_calls(&group.rows)))),
        ]
    },
    saves: Saves::AtMost(|_, observed| {
        let least_ns = least_ns(observed.row);
        beyond_roofline_ns(observed.row).map(|ns| ns.min(observed.row.time_ns - least_ns))
    }),
    effect: Effect::KernelTime,
    ..Rule::SMALL_KERNELS
};
