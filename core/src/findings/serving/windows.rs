//! Layers whose attention sees a sliding window of the context, among layers that see all of it.

use super::passes::{Kernel, Role};
use super::{Issue, Kind, Source};
use crate::findings::prelude::*;
use crate::names::words::contains_any;
use crate::perf::model_config;

/// Fewer layers are not enough to show a pattern.
const LEAST_LAYERS: usize = 6;
/// The pattern repeats after at most this many layers.
const LONGEST_TURN: usize = 8;

/// Which of the layers of a pass see a window.
struct Layers {
    are_sliding: Vec<bool>,
    /// The number of layers after which the pattern repeats.
    turn: usize,
}

pub(super) fn issues(source: &Source) -> Vec<Issue> {
    let layers = source.passes.all.iter().map(|pass| {
        let attention = pass.kernels.iter();
        let attention = attention.filter(|one| one.role == Role::Attention);
        attention.arranged_by_key(|one| (one.start_ns, one.event))
    });
    let layers: Vec<Vec<&Kernel>> = layers.collect();
    // Of several batches, the first with such a pattern.
    let pattern = layers.iter().find_map(|layers| {
        let are_sliding: Vec<bool> = layers.iter().map(|one| is_sliding(source, one)).collect();
        Layers::of(are_sliding)
    });
    pattern
        .and_then(|pattern| pattern.issue(source, &layers))
        .into_iter()
        .collect()
}

/// Whether a kernel sees a window: decided by its operation, or by its name.
fn is_sliding(source: &Source, kernel: &Kernel) -> bool {
    const NAMES: &[&str] = &["SlidingOrChunked", "unified_attention_2d"];
    let operation = kernel.operation.map(|at| source.input.operation(at));
    let by_operation = operation.is_some_and(|one| {
        let role = one.estimate.as_ref().map(|estimate| estimate.role);
        one.sees_window || role == Some(model_config::Role::WindowedAttention)
    });
    let name = source.input.profile.trace.strings.get(kernel.name);
    by_operation || contains_any(name, NAMES)
}

impl Layers {
    /// `None` unless both kinds alternate in a pattern.
    fn of(are_sliding: Vec<bool>) -> Option<Layers> {
        let is_mixed = are_sliding.contains(&true) && are_sliding.contains(&false);
        if !is_mixed || are_sliding.len() < LEAST_LAYERS {
            return None;
        }
        let mut turns = 2..=LONGEST_TURN.min(are_sliding.len() / 2);
        let turn = turns.find(|turn| {
            let mut pairs = are_sliding.iter().zip(are_sliding.iter().skip(*turn));
            pairs.all(|(one, next)| one == next)
        })?;
        Some(Layers { are_sliding, turn })
    }

    fn count(&self, sliding: bool) -> u64 {
        self.are_sliding.iter().filter(|is| **is == sliding).count() as u64
    }

    /// "Every second layer sees a sliding window, the first one does".
    fn which(&self) -> String {
        let first = self.are_sliding.first() == Some(&true);
        let turn = self.are_sliding.iter().take(self.turn);
        let n_full = turn.filter(|is| !**is).count();
        match (self.turn, n_full) {
            (2, _) if first => {
                "Every second layer sees a sliding window, the first layer does".to_owned()
            }
            (2, _) => {
                "Every second layer sees a sliding window, the first layer does not".to_owned()
            }
            (turn, 1) => {
                format!("One layer of {turn} sees the full context, the others a sliding window")
            }
            (turn, n_full) => format!(
                "{} layers of {turn} see the full context, the others a sliding window",
                format::count(n_full as u64)
            ),
        }
    }

    fn issue(&self, source: &Source, layers: &[Vec<&Kernel>]) -> Option<Issue> {
        let of_kind = |sliding: bool| {
            let all = layers.iter().flatten();
            let all = all.filter(|one| is_sliding(source, one) == sliding);
            Attention::of(source, &all.copied().collect::<Vec<_>>())
        };
        let (sliding, full) = (of_kind(true)?, of_kind(false)?);
        let words = vec![
            ("which", self.which()),
            ("sliding", format::count(self.count(true))),
            ("full", format::count(self.count(false))),
            ("sliding_time", format::time_ns(sliding.ns)),
            ("full_time", format::time_ns(full.ns)),
            holds("unjudged", sliding.rate.is_none()),
            ("sliding_rate", sliding.rate.unwrap_or_default()),
            ("full_rate", full.rate.unwrap_or_default()),
        ];
        Some(Issue {
            operations: [sliding.operations, full.operations].concat(),
            events: [sliding.first, full.first].into(),
            words,
            ..Issue::new(Kind::Windows, sliding.ns.saturating_add(full.ns))
        })
    }
}

/// The attention of layers of one kind.
struct Attention {
    ns: i64,
    first: crate::trace::EventId,
    operations: Vec<usize>,
    /// How close it is to the roofline: " at 2.42 TB/s (45.6 % of roofline)".
    rate: Option<String>,
}

impl Attention {
    fn of(source: &Source, kernels: &[&Kernel]) -> Option<Attention> {
        let input = source.input;
        let at = times_by_operation(
            kernels
                .iter()
                .filter_map(|one| Some((one.operation?, one.ns))),
        );
        let operations: Vec<usize> = at.iter().map(|(at, _)| *at).collect();
        // Includes related kernels, such as the reduction of a split context.
        let whole_ns = sum(operations.iter().map(|at| input.operation(*at).kernel_ns));
        let kernels_ns = sum(kernels.iter().map(|one| one.ns));
        let are_known = kernels.iter().all(|one| {
            one.operation.is_some_and(|at| {
                input.operation(at).estimate.is_some() || input.operation(at).modeled.is_some()
            })
        });
        let rate = match operations[..] {
            [at] => {
                let evaluation = input.evaluation(at);
                let rate = evaluation.tb_per_s.zip(evaluation.achieved);
                rate.filter(|_| !evaluation.is_anomaly)
                    .map(|(rate, achieved)| {
                        format!(
                            " at {} ({} of roofline)",
                            format::bandwidth_gbps(rate * 1e3),
                            format::percent(achieved.percent_of_roofline)
                        )
                    })
            }
            _ => None,
        };
        Some(Attention {
            ns: if are_known { whole_ns } else { kernels_ns },
            first: kernels.first()?.event,
            operations,
            rate,
        })
    }
}
