//! The rules for MoE layers.

use super::{Observed, behind_sibling_ns, bytes_and_rate};
use crate::findings::engine::compute::subject;
use crate::findings::engine::narrower::less_arithmetic;
use crate::findings::prelude::*;
use crate::hardware::Precision;
use crate::hardware::roofline::Bound;
use crate::names::moe::{MoeRole, is_fused_routing, is_narrow};
use crate::perf::expert_choices;

impl Subject for Observed<'static> {
    type Of<'a> = Observed<'a>;

    const ROW: RowOf<Self> = |observed| Some(observed.row);
}

/// What the bytes of expert weights are based on.
pub(super) const EVENLY: &str = "Bytes are an average: those of the experts that are chosen when \
    tokens choose evenly. So are FLOPs where experts are spread over several GPUs; where one holds \
    all of them they are exact.";

pub(super) const RULES: &[Rule<Observed>] = &[
    Rule {
        key: "slower_expert_gemm",
        when: "one of the two GEMMs of the experts moves its bytes far slower than the other",
        applies: |_, observed| observed.sibling.is_some(),
        gate: |group| group.is_large(|lines| lines.moe_gate_ms),
        title: "One expert GEMM far slower than the other",
        issue: "{subject} reaches {rate}{at} and takes {time}; the other GEMM of the same experts reaches {other}.",
        model: "let the engine tune or select a kernel for each of the two GEMMs at these token counts.",
        kernel: "compare tile, split of K and layout of the weights with those of the faster GEMM, with the reproducer.",
        notes: &[
            "Both GEMMs read the weights of the same experts once and are bound by memory, so what one reaches the other can; the estimate is its time beyond its bytes at the other's rate.",
            EVENLY,
        ],
        words: |group| {
            let rate = bytes_and_rate(group.input, group.first().row).map(|(_, rate)| rate);
            let other = group.first().sibling;
            let text = |rate: Option<f64>| format::bandwidth_gbps(rate.unwrap_or(0.0));
            vec![("rate", text(rate)), ("other", text(other))]
        },
        saves: Saves::AtMost(|input, observed| behind_sibling_ns(input, observed)),
        ..Rule::BASE
    },
    Rule {
        key: "slower_expert_gemm",
        when: "one of the two GEMMs of a fused MoE operation does its work far slower than the other",
        applies: |_, observed| observed.slower_half.is_some(),
        gate: |group| group.is_large(|lines| lines.moe_gate_ms),
        title: "One expert GEMM far slower than the other",
        issue: "{figures}. Its {slower} takes {slower_time}, {times} times as long for its share of the work as {other}, which takes {other_time}.",
        model: "let the engine tune or select a kernel for each of the two GEMMs at these token counts.",
        kernel: "compare tile, split of K and layout of the weights with those of the faster GEMM, with the reproducer.",
        notes: &[
            "Both GEMMs multiply the same tokens by weights of the same experts, so their weights tell the share of the work that each has; the estimate is the time of the slower one beyond the rate of the other.",
            EVENLY,
        ],
        words: |group| {
            let Some(half) = group.first().slower_half else {
                return Vec::new();
            };
            let other = match half.role {
                MoeRole::Gemm1 => MoeRole::Gemm2,
                _ => MoeRole::Gemm1,
            };
            vec![
                ("slower", half.role.label().to_owned()),
                ("other", other.label().to_owned()),
                ("slower_time", format::time_ns(half.ns)),
                ("other_time", format::time_ns(half.other_ns)),
                ("times", format::times_as_fast(half.times)),
            ]
        },
        saves: Saves::AtMost(|_, observed| Some(observed.slower_half?.beyond_ns())),
        ..Rule::BASE
    },
    Rule {
        key: "unfused_experts",
        when: "both GEMMs of the experts are kernels of their own, and what lies between them is a good part of what they move, or is not known",
        applies: |_, observed| {
            observed.role.is_gemm() && !observed.reads_weights && observed.is_of_operator
        },
        gate: |group| group.is_large(|lines| lines.moe_gate_ms),
        title: "Expert GEMMs in separate kernels",
        issue: "{figures}; its GEMMs are kernels of their own.",
        model: "use a fused MoE operation, where the serving engine or library has one for these types.",
        kernel: "tune tiles of both GEMMs for these token counts with the reproducer.",
        notes: &[
            "The first GEMM writes what the second reads; a fused kernel keeps it on the chip.",
            EVENLY,
        ],
        ..Rule::BASE
    },
    Rule {
        key: "expert_weights_gap",
        when: "a GEMM of the experts is slow, and nearly all it moves is their weights",
        applies: |_, observed| observed.role.is_gemm() && observed.is_slow,
        title: "Expert GEMMs at a low % of the memory bandwidth",
        issue: "{figures}.",
        model: "batch more tokens: each weight that is read then serves more of them.",
        kernel: "tune tiles and split-K for these token counts, with the reproducer.",
        by: |observed| observed.row.gap_bucket(),
        notes: &[
            "It reads weights for nearly all of its bytes: keeping what lies between both GEMMs on the chip, as a fused kernel does, would change little.",
            EVENLY,
        ],
        ..Rule::BASE
    },
    Rule {
        key: "routing_overhead",
        when: "routing and sorting take a good part of the MoE layers",
        applies: |_, observed| observed.is_around() && observed.has_expert_gemms,
        gate: |group| {
            percent_of_layers(group) > group.input.options.thresholds.moe_routing_percent
                && group.is_large(|lines| lines.moe_gate_ms)
        },
        title: "Routing and sorting of tokens",
        issue: "Choosing experts and sorting tokens takes {time}{at}, {share} of the time of the MoE layers; the longest is {longest}.",
        model: "{fused?|use fused routing (softmax, top-k and sorting in one kernel), and }larger batches of tokens.",
        kernel: "{short?these kernels are short; merging them counts for more than tuning them|compare the longest of these kernels with other implementations for these counts of tokens and experts, with the reproducer}.",
        notes: &[
            "These are {operations} in {calls}; a trace does not show which of them the model needs.",
        ],
        words: |group| {
            let ns = |is: fn(&str) -> bool| {
                group.sum(|observed| {
                    match matches!(observed.role, MoeRole::Router | MoeRole::TopK)
                        && is(observed.name)
                    {
                        true => observed.row.time_ns,
                        false => 0,
                    }
                })
            };
            let is_fused = ns(is_fused_routing) > ns(|_| true) / 2;
            let mut rows = group.rows.iter();
            let are_short = rows.all(|row| is_launch_scale(group.input, row));
            let longest = group.rows.get(..1).unwrap_or_default();
            let operations = format::counted(group.rows.len() as u64, "operation");
            vec![
                ("share", format::percent(percent_of_layers(group))),
                ("longest", subject(group.input, longest)),
                ("operations", operations),
                holds("fused", is_fused),
                holds("short", are_short),
            ]
        },
        ..Rule::BASE
    },
    Rule {
        key: "slow_routing",
        when: "routing or sorting is slow and the trace does not tell the GEMMs of the experts",
        applies: |_, observed| observed.is_around() && observed.is_slow,
        title: "Routing and sorting of tokens at a low % of roofline",
        issue: "{figures}.",
        model: "choose experts for larger batches of tokens at once.",
        kernel: "compare it with other implementations for these counts of tokens and experts, with the reproducer.",
        notes: &[NOT_SHOWN],
        is_pattern: false,
        ..Rule::BASE
    },
    Rule {
        key: "compute_bound_gap",
        when: "a fused MoE kernel is slow and compute-bound",
        applies: |_, observed| {
            is_slow_fused(observed) && observed.row.bound == Some(Bound::Compute)
        },
        title: "Compute-bound MoE kernels at a low % of roofline",
        model: "{narrower}{filled?a configuration of the kernel that was tuned for this GPU, number of experts and inner size (serving engines can search for one)|larger batches of tokens, so that the last tile of each expert is full}.",
        kernel: "tune tile sizes for these token counts of each expert with the reproducer.",
        words: |group| {
            let narrower = match group.any(|observed| has_narrow_types(group.input, observed)) {
                true => None,
                false => less_arithmetic(group.input, &group.rows),
            };
            let narrower = narrower.map_or(String::new(), |narrower| format!("{narrower}, and "));
            let rows = choices(group).map(|[tokens, chosen, experts]| tokens * chosen / experts);
            let mut words = spread(group);
            words.push(("narrower", narrower));
            words.push(holds("filled", rows.is_some_and(|rows| rows >= FILLED)));
            words
        },
        ..SLOW
    },
    Rule {
        key: "memory_bound_gap",
        when: "a fused MoE kernel is slow and memory-bound",
        applies: |_, observed| is_slow_fused(observed),
        title: "Memory-bound MoE kernels at a low % of roofline",
        model: "batch more tokens: each weight that is read then serves more of them.",
        kernel: "profile the fused kernel at these token counts with the reproducer.",
        ..SLOW
    },
];

/// From this number of tokens for each expert on, the last tile of an expert is a small part of its work.
const FILLED: u64 = 512;

/// Tokens, how many experts each of them chooses, and experts.
fn choices(group: &Group<Observed<'static>>) -> Option<[u64; 3]> {
    let operation = group.input.operation(group.first().row.operation);
    let of_model = || {
        let known = operation.known()?;
        let [tokens, chosen, experts] = ["M", "topk", "E"].map(|size| known.size_of(size));
        Some([tokens?, chosen?, experts?])
    };
    of_model().or_else(|| expert_choices(&operation.arguments(group.input.profile)?))
}

/// How the tokens spread over the experts.
fn spread(group: &Group<Observed<'static>>) -> Words {
    let spread = choices(group).map_or(String::new(), |[tokens, chosen, experts]| {
        let each = tokens as f64 * chosen as f64 / experts as f64;
        format!(
            "; {} with {chosen} of {} each: {} tokens for an expert on average",
            format::counted(tokens, "token"),
            format::counted(experts, "expert"),
            format::number(each)
        )
    });
    vec![("spread", spread)]
}

const SLOW: Rule<Observed> = Rule {
    issue: "{figures}{spread}.",
    words: spread,
    by: |observed| observed.row.gap_bucket(),
    notes: &[EVENLY],
    is_pattern: false,
    ..Rule::BASE
};

fn is_slow_fused(observed: &Observed) -> bool {
    observed.role == MoeRole::Fused && observed.is_slow
}

fn percent_of_layers(group: &Group<Observed<'static>>) -> f64 {
    group.rows.iter().map(|row| row.percent_of_category).sum()
}

/// Whether the GEMMs already use eight bits or fewer.
fn has_narrow_types(input: &Input, observed: &Observed) -> bool {
    use Precision::{Fp4, Fp6, Fp8, Int8};
    let work = input.evaluation(observed.row.operation).work;
    let spec = work.and_then(|work| work.compute);
    is_narrow(observed.name)
        || spec.is_some_and(|spec| matches!(spec.precision, Fp4 | Fp6 | Fp8 | Int8))
}
