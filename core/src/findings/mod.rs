//! Interprets the numbers: one analysis for each kind of work, and one for each issue of the run as a whole.
//!
//! ```text
//! Input ─ANALYSES→ Outcome (rows, facts, tables, findings) ─rank→ Findings, largest saving first
//! ```
//!
//! All analyses take the same [`Input`] and return the same [`Outcome`]; none reads another's. One that fails reports
//! so in its status without affecting the others. Savings are computed in kernel time and then converted to run time,
//! which is less where kernels run concurrently, and zero for now where the run waits for the CPU instead. Every
//! threshold is an entry of [`Thresholds`](crate::assess::Thresholds).
//!
//! # Where to look
//!
//! | module | contents |
//! |---|---|
//! | [`engine`] | the rule engine: rules, the figures of operations, savings, findings and their order |
//! | `prelude` | what the rules of most analyses import |
//! | `attention`, `convolution`, `elementwise`, `gemm`, `moe`, `norm`, `reduce`, `triton`, `other` | operations, by what they compute |
//! | `unmodeled`, `across_kinds`, `calls_differ`, `slowdown`, `tuning`, `unattributed` | operations of any kind, by what they share |
//! | `fusion`, `loops` | several operations that one could do |
//! | [`cpu_idle`], [`multi_kernel`], `serving`, `memory` | the run as a whole: idle time, copies and communication, serving steps, GPU memory |
//! | `cpu_time` | a run on the CPU alone |
//!
//! The rules of an analysis are `RULES` in its `rules.rs`, or in its only file; a part with figures of its own, such as
//! `gemm/quantization`, has its own. To add an analysis, add a module here with its `run`, and a row to [`ANALYSES`].

mod across_kinds;
mod attention;
mod calls_differ;
mod convolution;
pub mod cpu_idle;
mod cpu_time;
mod elementwise;
pub mod engine;
mod fusion;
mod gemm;
mod loops;
mod memory;
mod moe;
pub mod multi_kernel;
mod norm;
mod other;
mod prelude;
mod reduce;
#[cfg(test)]
mod samples;
mod serving;
mod slowdown;
mod triton;
mod tuning;
mod unattributed;
mod unmodeled;

pub use crate::assess::Input;
pub use crate::assess::severity::Severity;
pub(crate) use across_kinds::recomputation;
pub(crate) use attention::unfused as unfused_attention;
pub(crate) use cpu_idle::of_code as idle_code;
pub use engine::assessment::Assessment;
pub(crate) use engine::compute::is_launch_scale;
pub use engine::finding::{Confidence, Effect, Estimate, Finding, Impact, Priority, Replay};
pub use engine::outcome::{Fact, Note, Outcome, Status, Topic};
pub use engine::rank::{Findings, RankedFinding, Within};
pub use engine::row::Row;
pub use engine::rule::RuleDoc;
pub(crate) use engine::rule::{Words, fill};
pub(crate) use gemm::is_tiny_batched;
pub(crate) use serving::memory::{StepMemory, StepsOf};

use std::sync::OnceLock;

use crate::base::parallel::RunAll;
use crate::base::sort::Arrange;
use crate::hardware::{Vendor, vendor_of};
use crate::names::elementwise::ElementwiseKind;
use crate::names::reduction::ReductionKind;
use crate::names::{Family, LoopKind};
use crate::profile::Profile;
use crate::profile::operations::Operation;
use crate::profile::operations::kinds::norm::Norm;

/// Which part of the reports an analysis belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tier {
    /// One kind of GPU work.
    Compute,
    /// The pipeline as a whole.
    System,
    /// Work of several kinds that one kernel could do.
    Fusion,
}

impl Tier {
    /// Its name in files.
    pub fn key(self) -> &'static str {
        match self {
            Tier::Compute => "compute_kernel",
            Tier::System => "system",
            Tier::Fusion => "kernel_fusion",
        }
    }
}

/// An analysis.
#[derive(Debug, Clone, Copy)]
pub struct AnalysisKind {
    /// Its name in files.
    pub key: &'static str,
    /// The display name.
    pub title: &'static str,
    /// What it looks at, in the middle of a sentence: "GEMM operations".
    pub subject: &'static str,
    /// Its part of the reports.
    pub tier: Tier,
    /// The operations that it looks at; each operation that computes is covered by one analysis of [`Tier::Compute`].
    pub covers: fn(&Profile, &Operation) -> bool,
    /// It looks at more than the operations that it covers, so it runs even if there are none.
    pub is_of_whole: bool,
    /// The class that it assigns to an operation by itself: "softmax". Empty if more information is needed.
    pub class: fn(&Profile, &Operation) -> String,
    /// Runs it on its rows and adds what it finds. If it fails, the status says why.
    pub run: fn(&Input, &[Row], &mut Outcome),
    /// What it can find.
    pub rules: Docs,
}

impl AnalysisKind {
    /// Defaults, for struct update syntax.
    const BASE: AnalysisKind = AnalysisKind {
        key: "",
        title: "",
        subject: "",
        tier: Tier::Compute,
        covers: |_, _| false,
        is_of_whole: false,
        class: |_, _| String::new(),
        run: |_, _, _| {},
        rules: Vec::new,
    };
}

/// Every analysis, in the order of the reports.
#[rustfmt::skip]
pub const ANALYSES: &[AnalysisKind] = &[
    AnalysisKind { key: "gemm", title: "GEMM", subject: "GEMM operations", covers: |profile, operation| operation.family == Family::Gemm && !other::claims(profile, operation), run: gemm::run, rules: gemm::DOCS, ..AnalysisKind::BASE },
    AnalysisKind { key: "sdpa_fwd", title: "Attention, forward", subject: "attention operations", covers: |profile, operation| operation.family == Family::Attention && !attention::is_backward(profile, operation), is_of_whole: true, run: attention::run, rules: attention::DOCS, ..AnalysisKind::BASE },
    AnalysisKind { key: "sdpa_bwd", title: "Attention, backward", subject: "backward passes of attention", covers: |profile, operation| operation.family == Family::Attention && attention::is_backward(profile, operation), is_of_whole: true, run: attention::run, ..AnalysisKind::BASE },
    AnalysisKind { key: "convolution", title: "Convolution", subject: "convolutions", covers: |_, operation| operation.family == Family::Convolution, run: convolution::run, rules: convolution::DOCS, ..AnalysisKind::BASE },
    AnalysisKind { key: "elementwise", title: "Element-wise", subject: "element-wise operations", covers: |profile, operation| operation.family == Family::Elementwise && !other::claims(profile, operation), class: |profile, operation| ElementwiseKind::of(profile, operation).label().to_owned(), run: elementwise::run, rules: elementwise::DOCS, ..AnalysisKind::BASE },
    AnalysisKind { key: "norm", title: "Normalization", subject: "norms", covers: |_, operation| operation.family == Family::Normalization, class: |profile, operation| Norm::of(profile, operation).class(), run: norm::run, rules: norm::DOCS, ..AnalysisKind::BASE },
    AnalysisKind { key: "reduce", title: "Reduction", subject: "reductions", covers: |profile, operation| operation.family == Family::Reduction && !other::claims(profile, operation), class: |profile, operation| ReductionKind::of(operation.short_name(profile)).label().to_owned(), run: reduce::run, rules: reduce::DOCS, ..AnalysisKind::BASE },
    AnalysisKind { key: "moe", title: "MoE", subject: "mixtures of experts", covers: |_, operation| operation.family == Family::Moe, class: |profile, operation| moe::role(profile, operation).label().to_owned(), run: moe::run, rules: moe::DOCS, ..AnalysisKind::BASE },
    AnalysisKind { key: "triton", title: "Triton", subject: "generated kernels", covers: |_, operation| operation.family == Family::Triton, class: |profile, operation| LoopKind::of(operation.short_name(profile)).label().to_owned(), run: triton::run, rules: triton::DOCS, ..AnalysisKind::BASE },
    AnalysisKind { key: "other", title: "Other", subject: "other operations", covers: other::covers, is_of_whole: true, class: |profile, operation| other::kind_of(profile, operation).label().to_owned(), run: other::run, rules: other::DOCS, ..AnalysisKind::BASE },
    AnalysisKind { key: "unattributed", title: "Unattributed", subject: "unattributed kernels", covers: |_, operation| operation.is_unattributed(), run: unattributed::run, rules: unattributed::DOCS, ..AnalysisKind::BASE },
    AnalysisKind { key: "multi_kernel", title: "Copies and communication", subject: "memory copies or collectives", tier: Tier::System, is_of_whole: true, run: multi_kernel::run, rules: multi_kernel::DOCS, ..AnalysisKind::BASE },
    AnalysisKind { key: "cpu_idle", title: "Idle time", subject: "idle time of the GPU", tier: Tier::System, is_of_whole: true, run: cpu_idle::run, rules: cpu_idle::DOCS, ..AnalysisKind::BASE },
    AnalysisKind { key: "cpu_time", title: "Run on the CPU", subject: "runs on the CPU alone", tier: Tier::System, is_of_whole: true, run: cpu_time::run, rules: cpu_time::DOCS, ..AnalysisKind::BASE },
    AnalysisKind { key: "serving", title: "Serving steps", subject: "steps of serving engines", tier: Tier::System, is_of_whole: true, run: serving::run, rules: serving::DOCS, ..AnalysisKind::BASE },
    AnalysisKind { key: "memory", title: "Memory", subject: "memory of the GPU", tier: Tier::System, is_of_whole: true, run: memory::run, rules: memory::DOCS, ..AnalysisKind::BASE },
    AnalysisKind { key: "graphs", title: "GPU graphs", subject: "GPU graphs", tier: Tier::System, covers: across_kinds::runs_in_graphs, run: across_kinds::run_graphs, rules: across_kinds::GRAPH_DOCS, ..AnalysisKind::BASE },
    AnalysisKind { key: "recompute", title: "Recomputation", subject: "activations computed again", tier: Tier::System, covers: across_kinds::is_recomputed, run: across_kinds::run_recompute, rules: across_kinds::RECOMPUTE_DOCS, ..AnalysisKind::BASE },
    AnalysisKind { key: "slowdown", title: "Slowdown", subject: "operations that become slower or faster", tier: Tier::System, covers: slowdown::covers, run: slowdown::run, rules: slowdown::DOCS, ..AnalysisKind::BASE },
    AnalysisKind { key: "kernel_tuning", title: "Kernel tuning", subject: "kernels that are tuned", tier: Tier::System, is_of_whole: true, run: tuning::run, rules: tuning::DOCS, ..AnalysisKind::BASE },
    AnalysisKind { key: "kernel_fusion", title: "Kernel fusion", subject: "kernels that could be fused", tier: Tier::Fusion, is_of_whole: true, run: fusion::run, rules: fusion::DOCS, ..AnalysisKind::BASE },
];

/// The title of an analysis by its key.
pub fn title_of(key: &str) -> Option<&'static str> {
    let named = ANALYSES.iter().find(|kind| kind.key == key);
    named.map(|kind| kind.title)
}

/// Returns the documentation of some rules.
pub type Docs = fn() -> Vec<RuleDoc>;

/// Rules shared by all analyses, under their headings.
pub const SHARED_RULES: &[(&str, Docs)] = &[
    ("Operations without a model", unmodeled::DOCS),
    ("Calls that differ", across_kinds::CALLS_DOCS),
    ("Recordings without operators", engine::one_cause::DOCS),
];

/// What all analyses found.
#[derive(Debug, Clone, Default)]
pub struct Analyses {
    /// One for each of [`ANALYSES`], in their order.
    pub outcomes: Vec<Outcome>,
    /// What to do, largest saving first.
    pub findings: Findings,
}

impl Analyses {
    /// Runs every analysis with the given function.
    pub fn new(input: &Input, run_all: RunAll) -> Analyses {
        let run = |kind: &'static AnalysisKind| {
            let mut outcome = engine::compute::outcome(input, kind);
            if outcome.status == Status::Done || kind.is_of_whole {
                // Calls that tune are shown, but say nothing about the work of a step.
                let mut rows = outcome.rows.clone();
                rows.retain(|row| !input.operation(row.operation).is_tuning());
                (kind.run)(input, &rows, &mut outcome);
            }
            if kind.tier == Tier::Compute {
                let differ = across_kinds::calls_that_differ(input, &outcome);
                outcome.findings.extend(differ);
                for finding in &mut outcome.findings {
                    engine::run_time::to_run_time(input, finding);
                    engine::run_time::discount_off_critical_path(input, finding);
                }
            }
            if !input.profile.trace.source.is_pytorch() {
                outcome
                    .findings
                    .retain(|finding| !finding.is_about_pytorch());
            }
            if vendor_of(&input.profile.trace) == Some(Vendor::Intel) {
                let findings = outcome.findings.iter_mut();
                findings.for_each(|finding| finding.use_module("xpu"));
            }
            outcome
        };
        let made: Vec<OnceLock<Outcome>> = ANALYSES.iter().map(|_| OnceLock::new()).collect();
        // Those of the run as a whole take longest, so they start first.
        let mut order: Vec<_> = ANALYSES.iter().zip(&made).collect();
        order.arrange_by_key(|(kind, _)| kind.tier != Tier::System);
        run_all(order.len(), &|at| {
            if let Some((kind, made)) = order.get(at) {
                made.get_or_init(|| run(kind));
            }
        });
        let made = made.into_iter().zip(ANALYSES);
        let outcomes: Vec<Outcome> = made
            .map(|(made, kind)| made.into_inner().unwrap_or_else(|| run(kind)))
            .collect();
        Analyses {
            findings: engine::rank::rank(input, &outcomes),
            outcomes,
        }
    }

    /// The outcome of an analysis by its key.
    pub fn outcome(&self, key: &str) -> Option<&Outcome> {
        self.outcomes.iter().find(|outcome| outcome.kind.key == key)
    }

    /// The assessment of an operation, by its index, in the analysis of its kind.
    pub fn assessment(&self, operation: usize) -> Option<Assessment> {
        let rows = self.outcomes.iter().flat_map(|outcome| &outcome.rows);
        let mut of_it = rows.filter(|row| row.operation == operation);
        of_it.find_map(|row| row.assessment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Timetable;

    /// An operation of each family and of each class of other work, and the analysis of each.
    #[test]
    fn every_operation_that_computes_is_covered_once() {
        const TRITON: &str = "triton_poi_fused_add_0";
        const COPY: &str = "Memcpy HtoD (Pinned -> Device)";
        let cases = [
            ("aten::mm", "gemm", Some(Family::Gemm)),
            ("my::attention", "attention_kernel", Some(Family::Attention)),
            ("aten::convolution", "conv", Some(Family::Convolution)),
            ("aten::batch_norm", "norm", Some(Family::Normalization)),
            ("aten::mul", "elementwise_kernel", Some(Family::Elementwise)),
            ("aten::sum", "reduce_kernel", Some(Family::Reduction)),
            ("my::moe", "fused_moe_kernel", Some(Family::Moe)),
            (TRITON, TRITON, Some(Family::Triton)),
            ("my::op", "my_kernel", Some(Family::Other)),
            ("aten::embedding", "gather", None),
            ("aten::embedding_dense_backward", "embedding_backward", None),
            ("aten::_cudnn_rnn", "gemm", None),
            ("aten::copy_", COPY, Some(Family::MemoryCopy)),
            ("vllm::all_reduce", "my_kernel", Some(Family::Communication)),
        ];
        for (op, kernel, family) in cases {
            let profile = Timetable::new().work(op, kernel, 20..30).profile();
            let operation = &profile.operations()[0];
            if let Some(family) = family {
                assert_eq!(operation.family, family, "{op}");
            }
            let covering: Vec<&str> = ANALYSES
                .iter()
                .filter(|kind| kind.tier == Tier::Compute && (kind.covers)(&profile, operation))
                .map(|kind| kind.key)
                .collect();
            let is_computing =
                !matches!(operation.family, Family::MemoryCopy | Family::Communication);
            let n_covering = usize::from(is_computing);
            assert_eq!(covering.len(), n_covering, "{op}: {covering:?}");
            if is_computing && family.is_none_or(|family| family == Family::Other) {
                assert_eq!(covering, ["other"], "{op}");
            }
        }
    }
}
