//! The rules for norms.

use super::Observed;
use super::neighbors::Neighbors;
use crate::assess::waterfall::Cause;
use crate::findings::engine::outcome::weighted;
use crate::findings::prelude::*;
use crate::names::Family;
use crate::names::norm::NormKind;

impl Subject for Observed<'static> {
    type Of<'a> = Observed<'a>;

    const ROW: RowOf<Self> = |observed| Some(observed.row);

    fn words(group: &Group<Self>) -> Words {
        vec![("norm", group.first().norm.kind.title().to_owned())]
    }

    fn reasoning(group: &Group<Self>) -> Vec<String> {
        let from = called_from(group.input, &group.rows);
        vec![from.unwrap_or_default(), String::new()]
    }
}

/// All rules for norms of a kind that together are large and at a low % of roofline.
pub(super) const RULES: &[Rule<Observed>] = &[
    Rule {
        key: "helper_kernels",
        when: "most of its gap is layout changes, casts and copies beside the kernels of the norm",
        takes: |group| {
            let is_helped = |observed: &&&Observed| observed.cause == Some(Cause::Helpers);
            let helped = group.observed.iter().filter(is_helped);
            group.time_ns() < 2 * sum(helped.map(|observed| observed.row.time_ns))
        },
        title: "Copies and casts beside {norms}",
        issue: "{figures}.",
        model: "keep the input in the layout and type that the norm takes{channels?: its kernels copy a channels-last input to the contiguous layout first, so run the blocks around it in one layout|}.",
        kernel: "a kernel that reads this layout and type makes the copies unnecessary.",
        notes: &["{strided}"],
        words: |group| {
            let mut words = below(group);
            let kind = group.first().norm.kind;
            let by_channels = matches!(kind, NormKind::Group | NormKind::Instance);
            words.push(("norms", format!("{}s", kind.label())));
            words.push(holds("channels", by_channels));
            words
        },
        tables: |_| Vec::new(),
        saves: Saves::Steps(&[Cause::Helpers]),
        ..BELOW
    },
    Rule {
        key: "few_workgroups",
        when: "its longest kernel has workgroups for a quarter of the compute units at most",
        takes: |group| {
            let first = group.first();
            let is_most = group.time_ns() < 2 * first.row.time_ns;
            is_most && !few_workgroups(group.input, first.row).is_empty()
        },
        title: "{norm} in {few}",
        kernel: "spread it over the whole GPU: more workgroups for a row or a column, and a second stage that adds up their parts.",
        model: "{rows?the gradients of scale and shift are sums over all rows, with a result for each of few columns: use another implementation of the norm (`torch.compile`, libraries of fused norms), or leave out scale and shift where the model allows|{advice}}.",
        words: |group| {
            let mut words = below(group);
            let first = group.first();
            words.push(("few", few_workgroups(group.input, first.row)));
            words.push(holds("rows", first.norm.is_backward));
            words
        },
        ..BELOW
    },
    Rule {
        key: "norm_in_several_kernels",
        when: "most of its time is in norms of which each runs as several kernels, one after the other",
        takes: |group| {
            // A backward pass has a kernel for the gradient of the input and one for those of the weights.
            let is_several = |observed: &&&Observed| {
                observed.n_kernels > 1 + usize::from(observed.norm.is_backward)
                    && observed.norm.kind != NormKind::Batch
            };
            let several = group.observed.iter().filter(is_several);
            group.time_ns() < 2 * sum(several.map(|observed| observed.row.time_ns))
        },
        title: "{norm} in {kernels}",
        issue: "{figures}{rates}; it computes its statistics in a kernel of its own, and then reads the input again.",
        words: |group| {
            let n = group.first().n_kernels as u64;
            let mut words = below(group);
            words.push(("kernels", format::counted(n, "kernel")));
            words
        },
        ..BELOW
    },
    Rule {
        key: "norm_kernel_issue",
        when: "it reaches less than 20 % of roofline, where element-wise operations reach more than 70 % of the memory bandwidth",
        takes: |group| {
            let thresholds = &group.input.options.thresholds;
            let percent = efficiency(&group.rows);
            percent.is_some_and(|percent| percent < thresholds.norm_slow_percent)
                && yardstick_percent(group)
                    .is_some_and(|percent| percent > thresholds.norm_baseline_percent)
        },
        title: "{norm}: slow kernels, not slow memory",
        ..BELOW
    },
    Rule {
        key: "norm_below_baseline",
        when: "it moves bytes, with those that it has to read twice, at less than half the rate of element-wise operations",
        takes: |group| {
            let most = group.input.options.thresholds.norm_baseline_ratio;
            let is_below = |observed: &&&Observed| {
                let ratio = observed.ratio();
                ratio.is_some_and(|ratio| ratio * observed.read_twice < most)
            };
            let below = group.observed.iter().filter(is_below);
            group.time_ns() < 2 * sum(below.map(|observed| observed.row.time_ns))
        },
        title: "{norm} far below element-wise operations",
        ..BELOW
    },
    Rule {
        key: "memory_bound_gap",
        when: "neither holds",
        title: "{norm} at a low % of roofline",
        ..BELOW
    },
];

const BELOW: Rule<Observed> = Rule {
    by: |observed| observed.norm.kind.label().to_owned(),
    gate: |group| group.is_large(|lines| lines.norm_gate_ms),
    issue: "{figures}{rates}.",
    model: "{advice}.",
    kernel: "a norm should come near the memory bandwidth of simple element-wise kernels: compare this one with other implementations for these shapes, with the reproducer.",
    notes: &["{reach}", "{strided}", "{bytes}", NOT_SHOWN],
    words: below,
    tables: |group| vec![comparison(group)],
    saves: Saves::Each(|input, observed| observed.gap(input)),
    ..Rule::BASE
};

fn below(group: &Group<Observed<'static>>) -> Words {
    vec![
        ("rates", rates(group)),
        ("advice", advice(group)),
        ("reach", reach(group)),
        ("strided", strided(group)),
        either(
            "bytes",
            group.first().read_twice > 1.0,
            "Bytes are a lower bound. The saving is that to a kernel that reads its operands twice: the statistics of a batch norm need the whole batch before the first result.",
            "Bytes are a lower bound: a kernel that reads its input twice is not as slow as it looks.",
        ),
    ]
}

/// Batch norms with fixed statistics only scale channels, which the weights of a convolution can do.
pub(super) const FOLDABLE: &[Rule<Observed>] = &[Rule {
    key: "foldable_batch_norm",
    when: "it is a batch norm with fixed statistics, in a trace with convolutions and without training",
    gate: |group| group.is_large(|lines| lines.norm_gate_ms),
    title: "Batch norms that convolutions can absorb",
    issue: "{calls} of batch norms use fixed statistics: {figures}.",
    model: "fold them into the weights and biases of the convolutions before them (`torch.nn.utils.fuse_conv_bn_eval`, or what exports the model).",
    kernel: "nothing to tune in kernels that need not run.",
    notes: &[
        "The training flag of these calls is false, so each only scales and shifts its channels by constants.",
        "Only those directly after a convolution can be folded; the others stay.",
    ],
    saves: Saves::All,
    has_reproducer: false,
    ..Rule::BASE
}];

/// Weights that are computed from their direction and length again in each call.
pub(super) const OF_WEIGHTS: &[Rule<Observed>] = &[Rule {
    key: "weight_norm_at_inference",
    when: "it normalizes weights, and the trace has no backward pass",
    gate: |group| group.is_large(|lines| lines.norm_gate_ms),
    title: "Weights normalized in each forward pass",
    issue: "{figures}; each call computes the same weights again from their direction and length.",
    model: "compute the weights once before inference: `torch.nn.utils.parametrize.remove_parametrizations(module, \"weight\")`, or `torch.nn.utils.remove_weight_norm(module)`.",
    kernel: "nothing to tune in kernels that need not run.",
    notes: &[
        "The trace has no backward pass. In training the weights change with each step, and this has to run.",
    ],
    saves: Saves::All,
    has_reproducer: false,
    ..Rule::BASE
}];

/// What the operations reach that norms are compared with, in percent of the memory bandwidth.
fn yardstick_percent(group: &Group<Observed<'static>>) -> Option<f64> {
    weighted(group.observed.iter().filter_map(|observed| {
        let percent = observed.baseline.percent(observed.yardstick?.gbps)?;
        Some((percent, observed.row.time_ns))
    }))
}

/// "; the longest moves 685 GB/s where `aten::add_` moves 4.00 TB/s".
fn rates(group: &Group<Observed<'static>>) -> String {
    let first = group.first();
    let Some((gbps, yardstick)) = first.gbps.zip(first.yardstick) else {
        return String::new();
    };
    let name = short_name(group.input, group.input.operation(yardstick.operation));
    let [rate, other] = [gbps, yardstick.gbps].map(format::bandwidth_gbps);
    format!("; the longest moves {rate} where `{name}` moves {other}")
}

fn advice(group: &Group<Observed<'static>>) -> String {
    use NormKind::{Batch, Instance};
    let mut wanted = group
        .observed
        .iter()
        .filter_map(|observed| observed.norm.wanted_format);
    let is_fixed = group.first().norm.is_training == Some(false);
    match (group.first().norm.kind, wanted.next()) {
        (Batch, _) if is_fixed => {
            "its statistics are fixed: fold scale and shift into the convolution or linear layer before it (`torch.nn.utils.fuse_conv_bn_eval`), or merge it with the activation that follows (`torch.compile`)".to_owned()
        }
        (Batch, Some(format)) => format!(
            "run the network in `{format}`, so that the channels of a pixel are contiguous; larger batches; group or layer norm where the accuracy allows"
        ),
        (Batch, None) => {
            "merge it with the activation that follows (`torch.compile`); larger batches; group or layer norm where the accuracy allows".to_owned()
        }
        (Instance | NormKind::Group, _) => {
            let layout = match group.input.has(Family::Convolution) {
                true => ", or try the layout that the convolutions around it use",
                false => "",
            };
            format!("merge it with its neighbors (`torch.compile`){layout}")
        }
        _ => Neighbors::of(group.input, &group.rows).advice(),
    }
}

fn reach(group: &Group<Observed<'static>>) -> String {
    let baseline = group.first().baseline;
    match baseline.demonstrated {
        Some(_) => baseline.sentence(),
        None => "No plain addition, multiplication, copy or fill of this trace is large enough to show the achievable memory bandwidth; each norm is compared with the fastest one that moves about as much.".to_owned(),
    }
}

/// How many read tensors with strided channels; empty if none.
fn strided(group: &Group<Observed<'static>>) -> String {
    let are_apart = |observed: &&&Observed| observed.norm.wanted_format.is_some();
    let all = format::counted(group.observed.len() as u64, "operation");
    match group.observed.iter().filter(are_apart).count() {
        0 => String::new(),
        1 => format!("1 of {all} reads a tensor whose channels are strided in memory."),
        n => format!("{n} of {all} read tensors whose channels are strided in memory."),
    }
}

fn comparison(group: &Group<Observed<'static>>) -> Table {
    const MAX_ROWS: usize = 10;
    let work = |observed: &Observed| group.input.evaluation(observed.row.operation).work;
    let bytes = |observed: &Observed| work(observed)?.bytes;
    let name = |at: usize| Value::Quoted(short_name(group.input, group.input.operation(at)));
    let observed = group.observed.iter().copied().take(MAX_ROWS);
    #[rustfmt::skip]
    let columns: &[CellColumn<&Observed>] = &[
        ("operation", "Operation", &|observed| name(observed.row.operation)),
        ("type", "Type", &|observed| Value::Text(observed.norm.class())),
        ("bytes", "Bytes a call", &|observed| bytes(observed).map_or(Value::NO_BYTES, |bytes| Value::Bytes(bytes as u64))),
        ("bandwidth", "Bandwidth", &|observed| Value::gbps(observed.gbps)),
        ("yardstick", "Compared with", &|observed| observed.yardstick.map_or(Value::Empty, |one| name(one.operation))),
        ("yardstick_bandwidth", "Its bandwidth", &|observed| Value::gbps(observed.yardstick.map(|one| one.gbps))),
        ("ratio", "Ratio", &|observed| Value::number(observed.ratio())),
    ];
    Table::of(
        "baseline_comparison",
        "Compared with element-wise operations",
        observed.filter(|observed| work(observed).is_some()),
        columns,
    )
}
