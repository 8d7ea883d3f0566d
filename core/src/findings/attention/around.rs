//! The rules for what runs around attention: writes to its cache, copies of its operands, and separate operations in its
//! place.

use std::cmp::Reverse;

use super::Observed;
use super::copies::Copy;
use super::rules::reasoning;
use super::serving::CacheWrites;
use super::unfused::Unfused;
use crate::findings::prelude::*;

impl Subject for CacheWrites<'static> {
    type Of<'a> = CacheWrites<'a>;

    fn evidence(group: &Group<Self>, _: &Rule<Self>) -> Option<Evidence> {
        let writes = group.first();
        let operations = Group::<Observed<'static>>::new(group.input, writes.operations.clone());
        let unknown = Rule {
            saves: Saves::Unknown,
            ..Rule::BASE
        };
        Some(Evidence {
            time_ns: writes.cache_ns,
            ..Evidence::of_operations(&operations, &unknown)?
        })
    }

    fn words(group: &Group<Self>) -> Words {
        let writes = group.first();
        let share = writes.percent().map(format::percent);
        vec![
            ("time", time_and_share(writes.cache_ns, group.input)),
            ("share", share.unwrap_or_default()),
        ]
    }
}

pub(super) const CACHE_WRITES: &[Rule<CacheWrites>] = &[Rule {
    key: "cache_writes",
    when: "kernels that write the KV cache take a good part of paged attention",
    applies: |input, writes| writes.are_costly(input),
    title: "KV cache writes take much of attention",
    issue: "Writing keys and values to the KV cache takes {time}, {share} of attention.",
    model: "write the cache from the kernel that rotates the keys, where the serving engine has such a fused one.",
    kernel: "it moves each key and value once: compare its bandwidth with the best element-wise operation of this trace.",
    notes: &["A fused kernel reads each key and value one time less; the writes remain."],
    saves: Saves::Unknown,
    ..Rule::BASE
}];

impl Subject for Copy<'static> {
    type Of<'a> = Copy<'a>;

    /// The finding is about the copies; the attention next to them is listed as the place to look.
    fn evidence(group: &Group<Self>, _: &Rule<Self>) -> Option<Evidence> {
        let mut savings =
            times_by_operation(group.observed.iter().map(|copy| (copy.operation, copy.ns)));
        savings.arrange_by_key(|&(operation, ns)| (Reverse(ns), operation));
        let mut operations: Vec<usize> = savings.iter().map(|(operation, _)| *operation).collect();
        operations.extend(adjacent_attention(group).iter().map(|row| row.operation));
        let time_ns = group.sum(|copy| copy.ns);
        Some(Evidence {
            savings,
            impact: Some(Impact::measured(time_ns)),
            ..Evidence::of_time(group.input, operations, time_ns)
        })
    }

    fn words(group: &Group<Self>) -> Words {
        let time_ns = group.sum(|copy| copy.ns);
        let n_copies = format::counted(group.observed.len() as u64, "copy call");
        let share = time_ns as f64 / attention_ns(group).max(1) as f64 * 100.0;
        vec![
            ("copies", n_copies),
            ("attention", group.first().attention.name(group.input)),
            ("time", time_and_share(time_ns, group.input)),
            ("share", format::percent(share)),
        ]
    }

    fn reasoning(group: &Group<Self>) -> Vec<String> {
        reasoning(group.input, group.first().attention)
    }
}

const COPY: Rule<Copy> = Rule {
    gate: |group| {
        let share = group.input.options.thresholds.sdpa_copies_percent;
        group.sum(|copy| copy.ns) as f64 * 100.0 > share * attention_ns(group) as f64
    },
    saves: Saves::Evidence,
    ..Rule::BASE
};

pub(super) const COPIES: &[Rule<Copy>] = &[
    Rule {
        key: "repeated_key_heads",
        when: "copies of K and V that repeat their heads take a good part of the time of attention",
        applies: |_, copy| copy.repeats_heads,
        title: "Key and value heads repeated in memory",
        issue: "{copies} before `{attention}` repeat heads of keys and values: {time}, {share} of the time of attention itself.",
        model: "pass keys and values with the heads that they have, with `enable_gqa=True` in `scaled_dot_product_attention`: its kernels share key heads between query heads without a copy.",
        kernel: "a kernel that takes one key head for several query heads makes the copies unnecessary.",
        notes: &[
            "The copies have as many elements as K or V, keep the type, directly precede the attention on its stream, and their source has a dimension with a stride of zero.",
            "Attention then also reads keys and values fewer times; that is not part of the saving.",
        ],
        ..COPY
    },
    Rule {
        key: "contiguous_copies",
        when: "copies of Q, K, V or the result right before or after it take a good part of its time",
        title: "Copies around attention",
        issue: "{copies} around `{attention}` only change the layout of its operands and result: {time}, {share} of the time of attention itself.",
        model: "drop `.contiguous()` around the attention, or project into the layout that it takes: fused attention kernels take strided tensors.",
        kernel: "a kernel that reads and writes these strides makes the copies unnecessary.",
        notes: &[
            "The copies have as many elements as Q, K, V or the result, keep the type, and directly precede or follow the attention on its stream.",
        ],
        ..COPY
    },
];

/// The attention operations next to copies, each once.
fn adjacent_attention<'g>(group: &Group<'g, '_, Copy<'static>>) -> Vec<&'g Row> {
    let rows = group.observed.iter().map(|copy| copy.attention.row);
    let each = grouped(rows.map(|row| (row.operation, row)), |of_it, row| {
        *of_it = Some(row)
    });
    each.into_iter().filter_map(|(_, row)| row).collect()
}

fn attention_ns(group: &Group<Copy<'static>>) -> i64 {
    sum(adjacent_attention(group).iter().map(|row| row.time_ns))
}

pub(super) const UNFUSED: &[Rule<Unfused>] = &[Rule {
    key: "unfused_attention",
    when: "GEMMs with a softmax between them do what one attention kernel could",
    gate: |group| group.any(|one| one.impact.high_ns > 0),
    title: "Attention in separate operations{backward}",
    issue: "{what} runs as {operators}, {times} in all: {time}.",
    model: "{advice}.",
    kernel: "until then softmax and batched GEMMs can be tuned one by one, which usually saves 10–30 %.",
    saves: Saves::Evidence,
    ..Rule::BASE
}];
