//! Sizes from an eager trace of the same model, or from a capture of it.
//!
//! Kernels have other names there, as tiles change with the batch. What agrees is their order: the GEMMs
//! between two attentions are as many, and the weights of each are those of the GEMM at its place.

use std::sync::Arc;

use super::passes::ForwardPass;
use super::roles::{Part, anchors, parts};
use super::tokens::Rows;
use super::{Estimate, Estimates, Source};
use crate::base::format;
use crate::base::group::grouped;
use crate::base::sort::Arrange;
use crate::hardware::{ComputeSpec, Precision};
use crate::names::layer::Step;
use crate::names::{Family, family_of_op};
use crate::perf::estimate::{self, PagedSizes};
use crate::perf::model_config::{Matrix, Role};
use crate::perf::{Modelled, OpInput, model};
use crate::profile::Profile;
use crate::profile::binding::{Binding, Pass};
use crate::profile::launch::GpuId;
use crate::trace::{Category, EventId, TrackId, extra_args};

/// The sizes of the layers of an eager trace.
#[derive(Debug, Clone, PartialEq)]
pub struct EagerShapes {
    /// GEMMs before the first attention, between attentions, and behind the last.
    parts: Vec<Vec<Option<Linear>>>,
    /// Of the attention of each layer; `None` where nothing tells.
    attention: Vec<Option<PagedSizes>>,
}

/// The weights of a GEMM.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Linear {
    matrix: Matrix,
    compute: Option<ComputeSpec>,
    /// Bytes of an element of activations, and of one of weights.
    bytes: Option<(f64, f64)>,
}

/// A kernel by its name, and the call that launched it.
struct Launched {
    step: Step,
    call: EventId,
}

impl EagerShapes {
    /// Those of a trace, or why it has none, in a sentence.
    pub fn of(profile: &Profile) -> Result<Arc<EagerShapes>, String> {
        let streams = streams(profile);
        let longest = streams.iter().max_by_key(|stream| {
            let steps: Vec<Step> = stream.iter().map(|one| one.step).collect();
            anchors(&steps).len()
        });
        let stream = longest.map_or(&[][..], |stream| stream);
        let steps: Vec<Step> = stream.iter().map(|one| one.step).collect();
        if anchors(&steps).len() < 2 {
            return Err(
                "The eager trace has no layers: no attention of two of them was recorded."
                    .to_owned(),
            );
        }
        let call = |at: usize| stream.get(at).map(|one| one.call);
        let linear = |at: &usize| linear(profile, call(*at)?);
        let shapes = EagerShapes {
            parts: parts(&steps)
                .iter()
                .map(|part| part.gemms.iter().map(linear).collect())
                .collect(),
            attention: anchors(&steps)
                .into_iter()
                .map(|at| heads(profile, call(at)?))
                .collect(),
        };
        let n_known = shapes.parts.iter().flatten().flatten().count();
        match n_known {
            0 => Err(
                "The eager trace has no shapes: record it with `record_shapes=True`.".to_owned(),
            ),
            _ => Ok(Arc::new(shapes)),
        }
    }

    /// The GEMMs of a part of a pass of so many layers; those that precede the first attention count from
    /// behind, as what is before a model is none of it.
    fn part(&self, at: usize, of: &Part, layers: usize) -> Option<&[Option<Linear>]> {
        let known = self.parts.get(at)?;
        let n = of.gemms.len();
        match at {
            0 => known.get(known.len().checked_sub(n)?..),
            // An LM head may follow in one of both.
            _ if at == layers => known.get(..n.min(known.len())),
            _ => (known.len() == n).then_some(known.as_slice()),
        }
    }

    /// How much of the GEMMs and attentions of some passes it tells, in a sentence.
    pub(super) fn coverage(&self, passes: &[ForwardPass], found: &Estimates) -> String {
        let layers = self.attention.len();
        let replayed = passes.iter().flat_map(|pass| {
            let kernels = pass
                .kernels
                .iter()
                .zip(pass.steps.iter())
                .zip(&pass.is_bare);
            kernels.filter(|((_, step), is_bare)| {
                **is_bare && matches!(step, Step::Gemm | Step::Attention)
            })
        });
        let replayed: Vec<GpuId> = replayed.map(|((id, _), _)| *id).collect();
        let told = replayed.iter().filter(|id| {
            let estimate = found.of(**id).map(|(estimate, _)| estimate.source);
            estimate.is_some_and(|source| source >= Source::Eager && source != Source::Config)
        });
        let of = [told.count(), replayed.len()].map(|n| format::count(n as u64));
        format!(
            "The eager trace, of {layers} attentions, tells the sizes of {} of {} replayed GEMMs and attentions.",
            of[0], of[1]
        )
    }

    /// Adds what it tells of passes with as many layers, of kernels that nothing else tells of.
    pub(super) fn add(&self, profile: &Profile, passes: &[ForwardPass], found: &mut Estimates) {
        let layers = self.attention.len();
        // The last before an attention takes the hidden size.
        let hidden = self.parts.get(1).and_then(|part| *part.last()?);
        let Some(hidden) = hidden.map(|linear| linear.matrix.k) else {
            return;
        };
        let rows = Rows::of(profile, hidden);
        for pass in passes {
            let is_alike = pass.n_layers > 1 && layers.is_multiple_of(pass.n_layers);
            let Some((tokens, source)) = rows.tokens(pass).filter(|_| is_alike) else {
                continue;
            };
            for (at, part) in parts(&pass.steps).iter().enumerate() {
                let Some(known) = self.part(at, part, pass.n_layers) else {
                    continue;
                };
                for (n, (kernel, linear)) in part.gemms.iter().zip(known).enumerate() {
                    let role = part.loose_role(n);
                    let Some(linear) = linear else { continue };
                    found.put(pass, *kernel, 1.0, || Estimate {
                        role,
                        source: source.max(Source::Eager),
                        modelled: linear.modelled(tokens),
                        is_least: false,
                    });
                }
            }
            self.add_attention(profile, pass, found);
        }
    }

    fn add_attention(&self, profile: &Profile, pass: &ForwardPass, found: &mut Estimates) {
        let Some(batch) = pass.batch.filter(|batch| batch.has_lengths()) else {
            return;
        };
        let anchors = anchors(&pass.steps);
        let length = |at: &usize| {
            let work = pass.kernels.get(*at).and_then(|id| profile.gpu.get(*id));
            work.map_or(0, |work| work.span.length())
        };
        // Layers in other kernels, or much shorter ones, may see a window.
        let mut times: Vec<i64> = anchors.iter().map(length).collect();
        times.arrange();
        let are_alike = match (times.first(), times.last()) {
            (Some(least), Some(most)) => *most as f64 <= *least as f64 * MOST_RATIO,
            _ => false,
        };
        for (layer, at) in anchors.iter().enumerate().filter(|_| are_alike) {
            let Some(sizes) = self.attention.get(layer).copied().flatten() else {
                continue;
            };
            let Some(modelled) = estimate::attention(&batch, sizes, "c10::BFloat16") else {
                continue;
            };
            let is_sum = matches!(pass.steps.get(at + 1), Some(Step::AttentionSum));
            let (own, sum) = (length(at), if is_sum { length(&(at + 1)) } else { 0 });
            let share = |ns: i64| ns as f64 / (own + sum).max(1) as f64;
            for (at, ns) in [(*at, own), (at + 1, sum)] {
                if at > 0 && ns > 0 {
                    found.put(pass, at, share(ns), || Estimate {
                        role: Role::Attention,
                        source: Source::Eager,
                        modelled: modelled.clone(),
                        is_least: false,
                    });
                }
            }
        }
    }
}

/// Attentions that differ by more are not of one kind.
const MOST_RATIO: f64 = 1.3;

impl Linear {
    fn modelled(&self, tokens: u64) -> Modelled {
        estimate::gemm_of(self.matrix, tokens, self.bytes, self.compute)
    }
}

/// What each stream runs, in order; of a capture, whose launches never ran, what each thread launches.
fn streams(profile: &Profile) -> Vec<Vec<Launched>> {
    let (trace, events) = (&profile.trace, &profile.trace.events);
    let on_gpu = profile.gpu.iter().filter_map(|(_, work)| {
        let call = work.launched_by?;
        let is_kernel = events.category(work.event) == Category::Kernel;
        is_kernel.then(|| {
            (
                events.track(work.event),
                work.span.start_ns,
                trace.strings.get(work.name),
                call,
            )
        })
    });
    let captured = events.ids().filter_map(|call| {
        let args = trace.strings.get(events.extra_args(call)?);
        let name = extra_args::value(args, "kernel")?;
        let is_launch = events.category(call).is_runtime();
        is_launch.then(|| (events.track(call), events.ts_ns(call), name, call))
    });
    let on_gpu: Vec<(TrackId, i64, &str, EventId)> = on_gpu.collect();
    let has_layers = on_gpu
        .iter()
        .filter(|one| Step::of(one.2) == Step::Attention)
        .count()
        > 1;
    let all = match has_layers {
        true => on_gpu,
        false => captured.collect(),
    };
    let by_track = all.into_iter().map(|(track, ns, name, call)| {
        (
            track,
            (
                ns,
                Launched {
                    step: Step::of(name),
                    call,
                },
            ),
        )
    });
    let streams = grouped(by_track, |all: &mut Vec<(i64, Launched)>, one| {
        all.push(one)
    });
    let in_time = |(_, mut stream): (TrackId, Vec<(i64, Launched)>)| {
        stream.arrange_by_key(|(ns, one)| (*ns, one.call));
        stream.into_iter().map(|(_, one)| one).collect()
    };
    streams.into_iter().map(in_time).collect()
}

/// The operators around a call, the innermost first.
fn around(profile: &Profile, call: EventId) -> impl Iterator<Item = EventId> + '_ {
    let (trace, tree) = (&profile.trace, &profile.tree);
    let node = tree.node_of(call);
    let nodes = node.into_iter().flat_map(|node| tree.ancestors(node));
    nodes
        .filter_map(|node| tree.event(node))
        .filter(|event| trace.events.category(*event) == Category::CpuOp)
}

fn linear(profile: &Profile, call: EventId) -> Option<Linear> {
    around(profile, call).find_map(|op| {
        let binding = Binding::new(model(profile.trace.name(op))?, op, Pass::Forward);
        let modelled = binding.own_work(profile, &[])?;
        let size = |wanted: &str| modelled.param(wanted)?.size();
        let (m, matrix) = match size("M").zip(size("N")).zip(size("K")) {
            Some(((m, n), k)) => (
                m,
                Matrix {
                    batch: size("B").unwrap_or(1),
                    n,
                    k,
                },
            ),
            None => {
                let sizes = binding.product(profile)?;
                (
                    sizes.m,
                    Matrix {
                        batch: sizes.batch,
                        n: sizes.n,
                        k: sizes.k,
                    },
                )
            }
        };
        let compute = modelled.work.compute;
        let activation = match compute?.precision {
            Precision::Fp32 | Precision::Tf32 => 4.0,
            Precision::Fp8 | Precision::Int8 => 1.0,
            _ => 2.0,
        };
        let [b, m, n, k] = [matrix.batch, m, matrix.n, matrix.k].map(|size| size as f64);
        let bytes = modelled.work.bytes.map(|bytes| {
            let weight = (bytes / b - (m * k + m * n) * activation) / (k * n);
            (activation, weight.max(0.5))
        });
        Some(Linear {
            matrix,
            compute,
            bytes,
        })
    })
}

/// The heads of an attention: queries are its first tensor of three sizes, keys the next of three or
/// more.
fn heads(profile: &Profile, call: EventId) -> Option<PagedSizes> {
    let trace = &profile.trace;
    around(profile, call).find_map(|op| {
        let input = OpInput::of_call(trace, op)?;
        let family = family_of_op("", trace.name(op), None);
        let tensors = (family == Family::Attention).then(|| input.tensors())?;
        let shapes: Vec<&[i64]> = tensors.map(|tensor| tensor.shape).collect();
        let first = shapes.iter().position(|shape| shape.len() == 3)?;
        let [_, heads, d_qk] = shapes.get(first)?[..] else {
            return None;
        };
        let keys = shapes.get(first + 1..)?.iter();
        let mut keys = keys.filter(|shape| shape.len() >= 3 && shape.last() == Some(&d_qk));
        let [.., kv_heads, d_v] = keys.next()?[..] else {
            return None;
        };
        let size = |size: i64| u64::try_from(size).ok().filter(|size| *size > 0);
        let (heads, kv_heads) = (size(heads)?, size(kv_heads)?);
        heads.is_multiple_of(kv_heads).then_some(PagedSizes {
            heads,
            kv_heads,
            d_qk: size(d_qk)?,
            d_v: size(d_v)?,
            is_latent: false,
            window: None,
            cache_bytes: None,
        })
    })
}
