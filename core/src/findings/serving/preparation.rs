//! What runs between the last GEMM and quantized attention to prepare its operands.

use super::passes::{Kernel, Role};
use super::{Issue, Kind, Source};
use crate::findings::prelude::*;
use crate::names::attention::AttentionKernel;
use crate::names::moe::quantizes;
use crate::profile::operations::kinds::attention::AttentionSizes;
use crate::trace::ByName;

/// If less of the preparation is quantizing, it does not serve a cheaper kernel.
const LEAST_QUANTIZING_PERCENT: f64 = 10.0;

/// Attention with one kernel, and its preparation.
#[derive(Default)]
struct Prepared<'a> {
    first: Option<&'a Kernel>,
    n: u64,
    attention_ns: i64,
    preparation_ns: i64,
    /// The part of it in kernels that quantize, by name.
    quantizing_ns: i64,
    kernels: Vec<&'a Kernel>,
}

/// Attention that takes less time than its preparation.
pub(super) fn issues(source: &Source) -> Vec<Issue> {
    let trace = &source.input.profile.trace;
    let strings = &trace.strings;
    let mut by_name = ByName::new(quantizes);
    let mut quantizes = |kernel: &Kernel| by_name.of(trace, kernel.event);
    let mut all: Vec<(crate::trace::StringId, Prepared)> = Vec::new();
    for pass in &source.passes.all {
        let mut before: Vec<&Kernel> = Vec::new();
        let mut track = None;
        for kernel in &pass.kernels {
            if track.replace(kernel.track) != Some(kernel.track) {
                before.clear();
            }
            match kernel.role {
                Role::Attention => {
                    let name = strings.get(kernel.name);
                    let is_paged = AttentionKernel::of_name(name) == Some(AttentionKernel::Paged);
                    let is_quantized = !is_paged && before.iter().any(|one| quantizes(one));
                    if is_quantized {
                        let at = all.iter().position(|(name, _)| *name == kernel.name);
                        let at = at.unwrap_or_else(|| {
                            all.push((kernel.name, Prepared::default()));
                            all.len() - 1
                        });
                        if let Some((_, prepared)) = all.get_mut(at) {
                            prepared.add(kernel, &before, &mut quantizes);
                        }
                    }
                    before.clear();
                }
                Role::Gemm | Role::Experts => before.clear(),
                _ => before.push(kernel),
            }
        }
    }
    let worth = all.into_iter().filter(|(_, one)| {
        let quantizing = percent_of(one.quantizing_ns, one.preparation_ns);
        one.preparation_ns > one.attention_ns
            && quantizing.is_some_and(|percent| percent >= LEAST_QUANTIZING_PERCENT)
    });
    worth.filter_map(|(_, one)| one.issue(source)).collect()
}

impl<'a> Prepared<'a> {
    fn add(
        &mut self,
        attention: &'a Kernel,
        before: &[&'a Kernel],
        quantizes: &mut impl FnMut(&Kernel) -> bool,
    ) {
        let first = *self.first.get_or_insert(attention);
        if first.event == attention.event {
            self.kernels = before.to_vec();
        }
        self.n += 1;
        self.attention_ns = self.attention_ns.saturating_add(attention.ns);
        self.preparation_ns = self
            .preparation_ns
            .saturating_add(sum(before.iter().map(|one| one.ns)));
        let quantizing = before.iter().filter(|one| quantizes(one));
        self.quantizing_ns = self
            .quantizing_ns
            .saturating_add(sum(quantizing.map(|one| one.ns)));
    }

    fn issue(self, source: &Source) -> Option<Issue> {
        let attention = self.first?;
        let n = self.n.max(1) as i64;
        let profile = source.input.profile;
        // Computed over the time of all calls.
        let rate = attention.operation.and_then(|at| {
            let (evaluation, operation) = (source.input.evaluation(at), source.input.operation(at));
            let work = evaluation.work.filter(|_| !evaluation.is_anomaly)?;
            let flops = work.flops * operation.n_calls() as f64;
            (operation.kernel_ns > 0).then(|| flops / operation.kernel_ns as f64 / 1e3)
        });
        let rate = rate.filter(|rate| *rate > 0.0);
        let rate = rate.map(|rate| format!(" at {}", format::tflops(rate)));
        let operation = attention.operation.map(|at| source.input.operation(at));
        // The meaning of a tensor's dimensions is only known from a model of the operator.
        let operation = operation.filter(|one| one.modeled.is_some());
        let sizes = operation.and_then(|one| AttentionSizes::of(profile, one));
        let at = sizes.map(|sizes| {
            let tokens = format::count(sizes.queries().round() as u64);
            format!("at {tokens} tokens ")
        });
        let names = self.kernels.iter().map(|one| source.name(one.name));
        let names: Vec<String> = names.collect();
        let words = vec![
            ("name", source.name(attention.name)),
            ("preparation", format::time_ns(self.preparation_ns / n)),
            ("attention", format::time_ns(self.attention_ns / n)),
            ("preparation_all", format::time_ns(self.preparation_ns)),
            ("attention_all", format::time_ns(self.attention_ns)),
            ("calls", format::counted(self.n, "call")),
            ("at_tokens", at.unwrap_or_default()),
            ("at_rate", rate.unwrap_or_default()),
            ("names", format::listed(&names)),
        ];
        let operations = self.kernels.iter().chain([&attention]);
        let operations = operations.filter_map(|one| one.operation);
        let operations = times_by_operation(operations.map(|at| (at, 0)));
        Some(Issue {
            operations: operations.into_iter().map(|(at, _)| at).collect(),
            events: vec![attention.event],
            words,
            ..Issue::new(
                Kind::Quantizing,
                self.preparation_ns.saturating_add(self.attention_ns),
            )
        })
    }
}
