//! The rules for chains that one kernel could do.

use std::cmp::Reverse;

use super::{Candidate, least_ns};
use crate::findings::elementwise::dropout::is_inference;
use crate::findings::engine::finding::Estimate;
use crate::findings::engine::run_time;
use crate::findings::prelude::*;
use crate::names::fusion::ChainKind;

/// The steps of a chain for a title: "`add` and `relu`"; their number if there are many.
fn steps(chain: &Candidate) -> String {
    const NAMED: usize = 3;
    let names = chain.names.iter();
    let names: Vec<String> = names.map(|name| format!("`{}`", quotable(name))).collect();
    match names.len() {
        n if n > NAMED => format!("{n} element-wise steps"),
        _ => format::listed(&names),
    }
}

impl Subject for Candidate {
    type Of<'a> = Candidate;

    fn evidence(group: &Group<Self>, _: &Rule<Self>) -> Option<Evidence> {
        let (input, largest) = (group.input, group.first());
        let time_ns = group.sum(|one| one.time_ns);
        let line = input.options.thresholds.high_percent_of_compute;
        let share = input.percent_of_compute(time_ns);
        let is_high = share.is_some_and(|share| share > line);
        let priority = match largest.confidence {
            Confidence::Low => Priority::Low,
            _ if is_high => Priority::High,
            _ => Priority::Medium,
        };
        let (savings, operations) = shares(group);
        Some(Evidence {
            confidence: Some(largest.confidence),
            operations,
            events: largest.first.clone(),
            impact: impact(group),
            savings,
            ..Evidence::new(priority, time_ns)
        })
    }

    fn words(group: &Group<Self>) -> Words {
        let largest = group.first();
        let (time_ns, run_ns) = (group.sum(|one| one.time_ns), group.sum(|one| one.run_ns));
        let place = match &largest.class {
            Some(class) => format!(", in `{}`{}", quotable(class), of_forward(largest)),
            None => String::new(),
        };
        let others = match group.observed.len() as u64 {
            1 => String::new(),
            n if place.is_empty() => format!(" in {}", format::counted(n, "place")),
            n => format!(" and {}", format::counted(n - 1, "other place")),
        };
        let saving = impact(group).map(|impact| {
            let what = if run_ns < time_ns { "the run" } else { "they" };
            let less = format::time_ns(impact.mid_ns);
            format!("; fused {what} would take {less} less")
        });
        let count = |n: fn(&Candidate) -> u64| group.observed.iter().map(|one| n(one)).sum();
        // The GEMM or norm itself is not one of the steps.
        let n_steps = largest.names.len() + usize::from(largest.kind.is_epilogue());
        let kernels = format::counted(count(|one| one.n_kernels), "kernel");
        let instances = format::counted(count(|one| one.n_instances), "instance");
        vec![
            ("n", n_steps.to_string()),
            ("steps", steps(largest)),
            holds("one", largest.names.len() == 1),
            ("kernels", kernels),
            ("instances", instances),
            ("place", place),
            ("others", others),
            ("time", time_and_share(time_ns, group.input)),
            ("worth", saving.unwrap_or_default()),
        ]
    }

    fn reasoning(group: &Group<Self>) -> Vec<String> {
        let largest = group.first();
        let names = largest.names.iter();
        let names: Vec<String> = names.map(|name| format!("`{}`", quotable(name))).collect();
        let after = match largest.kind {
            ChainKind::GemmEpilogue => " right after a GEMM or convolution",
            ChainKind::NormEpilogue => " right after a normalization",
            _ => "",
        };
        let order = match names.as_slice() {
            all if largest.is_by_order => format!(
                "The steps {} follow one another on one stream; their shapes were not recorded.",
                all.join(", ")
            ),
            [one] => format!(
                "The step {one} follows{after} on one stream, and takes the shape that it gives."
            ),
            _ => format!(
                "The steps {} follow one another{after} on one stream, and each takes a shape that an earlier one gives.",
                names.join(", ")
            ),
        };
        let told_by = match largest.is_by_order {
            true => "order and place suggest it",
            false => "shapes, order and place suggest it",
        };
        let why = match largest.confidence {
            Confidence::High => "both the name of the module and the operators say so",
            Confidence::Medium => "one of the name of the module and the operators says so",
            Confidence::Low => "neither a name nor a known set of operators says so",
        };
        let confidence = largest.confidence.label();
        let mut sentences = vec![
            order,
            format!("Which tensors are the same is not in a trace: {told_by}."),
            format!("Confidence is {confidence}: {why}."),
        ];
        if let Some(impact) = largest.impact {
            let saving = match impact.estimate {
                Estimate::Measured => {
                    "The saving is the time of all steps but the longest: one kernel for all of them moves no more than that does."
                }
                _ => {
                    "The saving is the measured time less what one kernel needs to read the inputs, compute, and write the result."
                }
            };
            sentences.push(saving.to_owned());
        }
        if impact(group).is_some() {
            let (time_ns, run_ns) = (group.sum(|one| one.time_ns), group.sum(|one| one.run_ns));
            sentences.extend(run_time::overlap_sentence(time_ns, run_ns));
        }
        sentences
    }

    fn tables(group: &Group<Self>) -> Vec<Table> {
        let steps = step_table(group.input, group.first());
        let candidates = candidate_table(&group.observed);
        [steps].into_iter().chain(candidates).collect()
    }
}

pub(super) const RULES: &[Rule<Candidate>] = &[
    Rule {
        key: "rms_norm",
        when: "a chain has the operators of an RMS normalization",
        applies: |_, chain| chain.kind == ChainKind::RmsNorm,
        title: "RMS normalization in {n} kernels",
        model: "Call `torch.nn.functional.rms_norm` or compile the module with `torch.compile`, so that one kernel reads the input once and writes the result.",
        ..CHAIN
    },
    Rule {
        key: "layer_norm",
        when: "a chain has the operators of a layer normalization",
        applies: |_, chain| chain.kind == ChainKind::LayerNorm,
        title: "Layer normalization in {n} kernels",
        model: "Call `torch.nn.functional.layer_norm` in place of the separate steps, or compile the module with `torch.compile`.",
        ..CHAIN
    },
    Rule {
        key: "rope",
        when: "a chain has the operators of a rotary embedding",
        applies: |_, chain| chain.kind == ChainKind::Rope,
        title: "Rotary embedding in {n} kernels",
        model: "Use a fused rotary embedding, or compile the function that applies it with `torch.compile`.",
        ..CHAIN
    },
    Rule {
        key: "dropout",
        when: "random flags are drawn, scaled and multiplied with a tensor, and the trace has no backward pass",
        applies: |input, chain| chain.kind == ChainKind::Dropout && is_inference(input),
        title: "Dropout in {n} kernels, without a backward pass",
        model: "Switch the model to evaluation before inference (`model.eval()`): dropout then does nothing. Where it is meant to run, call `torch.nn.functional.dropout`, which is one kernel.",
        notes: &["The trace has no backward pass, and only training needs dropout."],
        ..CHAIN
    },
    Rule {
        key: "dropout",
        when: "random flags are drawn, scaled and multiplied with a tensor",
        applies: |_, chain| chain.kind == ChainKind::Dropout,
        title: "Dropout in {n} kernels",
        model: "Call `torch.nn.functional.dropout` (or `torch.nn.Dropout`) in place of the separate steps: one kernel draws the flags, and keeps one byte of each for the backward pass.",
        ..CHAIN
    },
    Rule {
        key: "gated_activation",
        when: "an activation is multiplied with another tensor, which a GEMM may compute in between",
        applies: |_, chain| chain.kind == ChainKind::GatedActivation,
        title: "Gated activation in {n} kernels",
        model: "Fuse the activation with the multiplication of the gate, with a fused operator or `torch.compile`.",
        notes: &[
            "{between?A GEMM may run between them; its result is what the activation is multiplied with.|}",
        ],
        words: |group| vec![holds("between", group.any(|one| one.is_interrupted))],
        ..CHAIN
    },
    Rule {
        key: "gelu",
        when: "a chain has the operators of GELU",
        applies: |_, chain| chain.kind == ChainKind::Gelu,
        title: "GELU in {n} kernels",
        model: "Call `torch.nn.functional.gelu`{exact?| with `approximate=\"tanh\"`} in place of its parts.",
        words: |group| {
            // The exact function rather than its approximation.
            let mut names = group.first().names.iter();
            vec![holds("exact", names.any(|name| name == "erf"))]
        },
        ..CHAIN
    },
    Rule {
        key: "gemm_epilogue",
        when: "element-wise operators directly follow a GEMM or convolution",
        applies: |_, chain| chain.kind == ChainKind::GemmEpilogue,
        title: "{steps} right after a GEMM or convolution",
        issue: "{steps} {one?follows a GEMM or convolution in a kernel of its own|follow a GEMM or convolution in kernels of their own}: {kernels} in {instances}{place}{others}, {time}{worth}.",
        model: "Compile the module with `torch.compile` and autotuned GEMMs, or call an operator that takes bias and activation along.",
        kernel: "Offer the element-wise steps as an epilogue of the GEMM, so that its result is not written and read again.",
        ..CHAIN
    },
    Rule {
        key: "norm_epilogue",
        when: "element-wise operators directly follow a fused normalization",
        applies: |_, chain| chain.kind == ChainKind::NormEpilogue,
        title: "{steps} right after a normalization",
        issue: "{steps} {one?follows a normalization in a kernel of its own|follow a normalization in kernels of their own}: {kernels} in {instances}{place}{others}, {time}{worth}.",
        model: "Use a normalization that takes {affine?scale and shift|activation and residual} along, or compile the module with `torch.compile`{batch_norm?; in evaluation a batch norm can be folded into the convolution before it}.",
        kernel: "Offer {affine?scale and shift|activation and residual} as the end of the normalization, so that its result is not written and read again.",
        words: |group| {
            let largest = group.first();
            let starts = |names: [&str; 2]| largest.names.iter().take(2).eq(names);
            let is_affine = starts(["mul", "add"]) && !largest.follows_batch_norm;
            vec![
                holds("affine", is_affine),
                holds("batch_norm", largest.follows_batch_norm),
            ]
        },
        ..CHAIN
    },
    Rule {
        key: "residual_norm",
        when: "a residual addition directly precedes a fused normalization",
        applies: |_, chain| chain.kind == ChainKind::ResidualNorm,
        title: "Residual addition and normalization in {n} kernels",
        model: "Use a normalization that takes the residual along, or compile the block with `torch.compile`.",
        ..CHAIN
    },
    Rule {
        key: "bias_activation",
        when: "an addition precedes or follows an activation",
        applies: |_, chain| chain.kind == ChainKind::BiasActivation,
        title: "Addition and activation in {n} kernels",
        ..CHAIN
    },
    Rule {
        key: "elementwise_chain",
        when: "element-wise operators and reductions feed each other, with no name of their own",
        applies: |_, chain| chain.kind == ChainKind::Elementwise,
        title: "Chain of element-wise operators in {n} kernels",
        ..CHAIN
    },
];

const CHAIN: Rule<Candidate> = Rule {
    gate: |group| is_worth_it(group),
    issue: "{kernels} in {instances} of the same steps{place}{others}: {time}{worth}.",
    model: "Compile the code around these operators with `torch.compile`, which makes one kernel of them.",
    kernel: "Provide one kernel for the chain that keeps intermediate results on chip and touches memory for inputs and result alone.",
    saves: Saves::Evidence,
    ..Rule::BASE
};

fn is_worth_it(group: &Group<Candidate>) -> bool {
    let least_ns = least_ns(group.input);
    let least_saved_ns = least_ns.max(group.input.options.thresholds.fusion_least_ms * 1e6);
    let is_saving = match impact(group) {
        Some(impact) => impact.high_ns as f64 >= least_saved_ns,
        None => group.input.gpu().is_none(),
    };
    is_saving && group.sum(|one| one.time_ns) as f64 >= least_ns
}

fn impact(group: &Group<Candidate>) -> Option<Impact> {
    let impacts = group.observed.iter().filter_map(|one| one.impact);
    impacts.reduce(Impact::plus)
}

/// The saving of each operation, by its share of run time; and the operations sorted by time.
fn shares(group: &Group<Candidate>) -> (Vec<(usize, i64)>, Vec<usize>) {
    let parts = group.observed.iter().flat_map(|one| {
        let operations = one.operations.iter();
        operations.map(|(&operation, &ns)| (operation, (one.impact, one.run_ns, ns)))
    });
    let saved = parts
        .clone()
        .filter_map(|(operation, (impact, all_ns, ns))| {
            let run_ns = run_time::of_operation(group.input, operation, ns);
            let share = run_ns as f64 / all_ns.max(1) as f64;
            Some((operation, (impact?.mid_ns as f64 * share).floor() as i64))
        });
    let mut saved = times_by_operation(saved);
    saved.arrange_by_key(|(operation, _)| *operation);
    let mut times = times_by_operation(parts.map(|(operation, (.., ns))| (operation, ns)));
    times.arrange_by_key(|&(operation, ns)| (Reverse(ns), operation));
    (
        saved,
        times.into_iter().map(|(operation, _)| operation).collect(),
    )
}

/// The largest candidates; `None` without any.
pub(super) fn candidate_table(candidates: &[&Candidate]) -> Option<Table> {
    /// Further candidates add little.
    const MAX_CANDIDATES: usize = 12;
    let module = |one: &Candidate| Value::quoted(one.class.clone());
    let saving = |impact: Option<Impact>| Value::ns(impact.map(|saved| saved.mid_ns));
    #[rustfmt::skip]
    let columns: &[CellColumn<&Candidate>] = &[
        ("pattern", "Pattern", &|one| Value::Text(one.kind.label().to_owned())),
        ("module", "Module", &|one| module(one)),
        ("steps", "Steps", &|one| Value::Count(one.members.len() as u64)),
        ("instances", "Instances", &|one| Value::Count(one.n_instances)),
        ("kernels", "Kernels", &|one| Value::Count(one.n_kernels)),
        ("time", "Time", &|one| Value::Ns(one.time_ns)),
        ("saving", "Saving", &|one| saving(one.impact)),
        ("confidence", "Confidence", &|one| Value::Text(one.confidence.label().to_owned())),
    ];
    let largest = candidates.iter().copied().take(MAX_CANDIDATES);
    let title = "Chains that one kernel could do";
    (!candidates.is_empty()).then(|| Table::of("candidates", title, largest, columns))
}

fn step_table(input: &Input, candidate: &Candidate) -> Table {
    let title = match candidate.n_instances {
        1 => "The steps of the one instance".to_owned(),
        n => format!("The steps, all {} instances", format::count(n)),
    };
    let kernel = |at: usize| {
        let names = input.operation(at).kernel_names(input.profile);
        Value::quoted(names.first().map(|name| format::middle_ellipsis(name, 100)))
    };
    let has_model = |at: usize| input.operation(at).known().is_some();
    #[rustfmt::skip]
    let columns: &[CellColumn<(&(usize, i64), &String)>] = &[
        ("kernel", "Kernel", &|((at, _), _)| kernel(*at)),
        ("type", "Type", &|(_, name)| Value::Quoted((*name).clone())),
        ("duration", "Duration", &|((_, ns), _)| Value::Ns(*ns)),
        ("perf_model", "Perf model", &|((at, _), _)| Value::Flag(has_model(*at))),
    ];
    let steps = candidate.members.iter().zip(&candidate.names);
    Table::of("kernels", title, steps, columns)
}

/// For a chain of the backward pass, the module that it computes gradients for.
fn of_forward(candidate: &Candidate) -> String {
    let module = candidate.gradient_of.as_deref();
    module.map_or(String::new(), |module| {
        format!(" (the backward pass of `{}`)", quotable(module))
    })
}

/// A name from the trace that can be put between backticks.
fn quotable(name: &str) -> String {
    format::middle_ellipsis(&name.replace('`', "'"), 60)
}
