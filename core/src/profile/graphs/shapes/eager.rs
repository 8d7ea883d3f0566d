//! Sizes from an eager trace of the same model, or from a capture of it.
//!
//! Kernels have other names there, because tiles depend on the batch size, but the order agrees: there are equally many
//! GEMMs between two attentions, and each has the weights of the GEMM at the same position. Diffusion transformers do
//! not order image and text consistently; for them, the sizes of the blocks are used instead.

use std::ops::RangeInclusive;
use std::sync::Arc;

use super::blocks::blocks_of;
use super::passes::ForwardPass;
use super::roles::{Part, anchors, parts};
use super::tokens::Rows;
use super::{Estimate, Estimates, Source, diffusion};
use crate::base::format;
use crate::base::group::grouped;
use crate::base::map::Map;
use crate::base::sort::Arrange;
use crate::hardware::ComputeSpec;
use crate::names::layer::Step;
use crate::names::runtime_calls::CaptureEdge;
use crate::names::{Family, family_of_op};
use crate::perf::estimate::{self, PagedSizes};
use crate::perf::model_config::{DiffusionModel, Matrix, Role};
use crate::perf::{Modeled, OpInput, Param, model};
use crate::profile::Profile;
use crate::profile::launch::{GpuId, is_graph_launch};
use crate::profile::operations::binding::{Binding, Pass};
use crate::profile::operations::kinds::gemm::{GemmSizes, activation_bytes};
use crate::profile::operations::shorter_in_turns;
use crate::trace::{ByName, Category, EventId, TrackId, extra_args};

/// The sizes of the layers in an eager trace.
#[derive(Debug, Clone, PartialEq)]
pub struct EagerShapes {
    /// GEMMs before the first attention, between attentions, and after the last.
    parts: Vec<Vec<Option<Linear>>>,
    /// The attention sizes of each layer; `None` if unknown.
    attention: Vec<Option<PagedSizes>>,
    /// The blocks, if it is a diffusion transformer.
    diffusion: Option<DiffusionModel>,
    /// Whether they come from eager steps of the same trace.
    is_own: bool,
}

/// The weights of a GEMM.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Linear {
    /// Number of activation rows.
    m: u64,
    matrix: Matrix,
    compute: Option<ComputeSpec>,
    /// Bytes per element of activations and of weights.
    bytes: Option<(f64, f64)>,
}

/// A kernel, classified by its name, and the call that launched it.
struct Launched {
    step: Step,
    call: EventId,
}

impl EagerShapes {
    /// The sizes in a trace, or a sentence that says why there are none.
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
        let parts: Vec<Vec<Option<Linear>>> = parts(&steps)
            .iter()
            .map(|part| part.gemms.iter().map(linear).collect())
            .collect();
        let first = anchors(&steps).first().and_then(|at| call(*at));
        let sizes: Vec<Vec<[u64; 3]>> = parts.iter().map(|part| sizes(part)).collect();
        let diffusion = first.and_then(|call| blocks_of(&sizes, full_heads(profile, call)?));
        let shapes = EagerShapes {
            parts,
            diffusion,
            is_own: false,
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

    /// The sizes from serving engine steps without a graph in a trace that also has steps with graphs; `None` if there
    /// are none.
    pub(super) fn of_own_steps(
        profile: &Profile,
        passes: &[ForwardPass],
    ) -> Option<Arc<EagerShapes>> {
        // Eager kernels in a diffusion pipeline belong to other models.
        let has_tokens = |pass: &ForwardPass| pass.batch.is_some_and(|of| of.tokens().is_some());
        if !passes.iter().any(has_tokens) {
            return None;
        }
        let shapes = EagerShapes::of(profile).ok()?;
        Some(Arc::new(EagerShapes {
            is_own: true,
            diffusion: None,
            ..Arc::unwrap_or_clone(shapes)
        }))
    }

    /// The GEMMs for a part of a pass with the given number of layers. GEMMs before the first attention are aligned at
    /// their end, because earlier ones do not belong to the model.
    fn part(&self, at: usize, of: &Part, layers: usize) -> Option<&[Option<Linear>]> {
        let known = self.parts.get(at)?;
        let n = of.gemms.len();
        match at {
            0 => known.get(known.len().checked_sub(n)?..),
            // Only one of both may include the LM head.
            _ if at == layers => known.get(..n.min(known.len())),
            _ => (known.len() == n).then_some(known.as_slice()),
        }
    }

    /// How many GEMMs and attentions of the given passes it explains, in a sentence. No shape contains the window size
    /// of sliding-window attention. `None` if steps of the same trace explain nothing.
    pub(super) fn coverage(
        &self,
        passes: &[ForwardPass],
        found: &Estimates,
        n_windows: usize,
    ) -> Option<String> {
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
        let explained = replayed.iter().filter(|id| {
            let estimate = found.of(**id).map(|(estimate, _)| estimate.source);
            estimate.is_some_and(|source| source >= Source::Eager && source != Source::Config)
        });
        let n_explained = explained.count();
        let of = [n_explained, replayed.len()].map(|n| format::count(n as u64));
        let windows = match n_windows {
            0 => String::new(),
            n => format!(
                " {} with a sliding window are not included, because no shape gives the window size.",
                format::counted(n as u64, "attention")
            ),
        };
        let subject = match self.is_own {
            true => {
                format!("Steps of this trace without a graph, with {layers} attention layers, give")
            }
            false => format!("The eager trace, with {layers} attention layers, gives"),
        };
        let message = format!(
            "{subject} the sizes of {} of {} replayed GEMMs and attentions.{windows}",
            of[0], of[1]
        );
        // A trace provided by the user is always reported, even if it explains nothing.
        (n_explained > 0 || !self.is_own).then_some(message)
    }

    /// Adds estimates for passes with a matching number of layers, for kernels without an estimate. Returns the number
    /// of sliding-window attentions with an unknown window size.
    pub(super) fn add(
        &self,
        profile: &Profile,
        passes: &[ForwardPass],
        found: &mut Estimates,
    ) -> usize {
        let mut n_windows = 0;
        let layers = self.attention.len();
        if let Some(model) = &self.diffusion {
            diffusion::add(profile, model, passes, found);
            return n_windows;
        }
        // The last GEMM before an attention has the hidden size as K.
        let hidden = self.parts.get(1).and_then(|part| *part.last()?);
        let Some(hidden) = hidden.map(|linear| linear.matrix.k) else {
            return n_windows;
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
                        modeled: linear.modeled(tokens),
                        is_least: false,
                    });
                }
            }
            n_windows += self.add_attention(profile, pass, found);
        }
        n_windows
    }

    fn add_attention(&self, profile: &Profile, pass: &ForwardPass, found: &mut Estimates) -> usize {
        let Some(batch) = pass.batch.filter(|batch| batch.has_lengths()) else {
            return 0;
        };
        let anchors = anchors(&pass.steps);
        let length = |at: &usize| {
            let work = pass.kernels.get(*at).and_then(|id| profile.gpu.get(*id));
            work.map_or(0, |work| work.span.length())
        };
        // If layers alternate, the shorter ones are sliding-window attention.
        let times: Vec<i64> = anchors.iter().map(length).collect();
        let are_alike = match (times.iter().min(), times.iter().max()) {
            (Some(least), Some(most)) => *most as f64 <= *least as f64 * MOST_RATIO,
            _ => false,
        };
        let sees_window = match are_alike {
            true => vec![false; times.len()],
            // Otherwise the kind of each attention is unknown.
            false => shorter_in_turns(&times).unwrap_or(vec![true; times.len()]),
        };
        for ((layer, at), _) in anchors
            .iter()
            .enumerate()
            .zip(&sees_window)
            .filter(|(_, sees_window)| !**sees_window)
        {
            let Some(sizes) = self.attention.get(layer).copied().flatten() else {
                continue;
            };
            let Some(modeled) = estimate::attention(&batch, sizes, "c10::BFloat16") else {
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
                        modeled: modeled.clone(),
                        is_least: false,
                    });
                }
            }
        }
        sees_window.iter().filter(|sees| **sees).count()
    }
}

/// M, N and K of the GEMMs of a part.
fn sizes(part: &[Option<Linear>]) -> Vec<[u64; 3]> {
    let linears = part.iter().flatten();
    linears
        .map(|one| [one.m, one.matrix.n, one.matrix.k])
        .collect()
}

/// Attentions that differ by more than this factor are of different kinds.
const MOST_RATIO: f64 = 1.3;

impl Linear {
    fn modeled(&self, tokens: u64) -> Modeled {
        estimate::gemm_of(self.matrix, tokens, self.bytes, self.compute)
    }
}

/// A kernel by its place in a stream, or a launch by its place in a thread.
struct Ordered<'a> {
    track: TrackId,
    at_ns: i64,
    name: &'a str,
    call: EventId,
}

/// The kernels of each stream, in order; for a capture, whose launches never ran, the launches of each thread.
fn streams(profile: &Profile) -> Vec<Vec<Launched>> {
    let (trace, events) = (&profile.trace, &profile.trace.events);
    let mut is_graph = ByName::new(is_graph_launch);
    let on_gpu = profile.gpu.iter().filter_map(|(_, work)| {
        // Replayed kernels have no operators of their own.
        let mut is_replay = |call: &EventId| is_graph.of(trace, trace.recorded_call(*call));
        let call = work.launched_by.filter(|call| !is_replay(call))?;
        let is_kernel = events.category(work.event) == Category::Kernel;
        is_kernel.then(|| Ordered {
            track: events.track(work.event),
            at_ns: work.span.start_ns,
            name: trace.strings.get(work.name),
            call,
        })
    });
    let captures = captures(profile);
    let calls = events.of_category(Category::is_runtime);
    let captured = calls.filter_map(|call| {
        // The thread also launches kernels outside of captures.
        let capture = captures.get(&events.track(call))?;
        capture.contains(&events.ts_ns(call)).then_some(())?;
        let args = trace.strings.get(events.extra_args(call)?);
        let name = extra_args::value(args, "kernel")?;
        Some(Ordered {
            track: events.track(call),
            at_ns: events.ts_ns(call),
            name,
            call,
        })
    });
    let on_gpu: Vec<Ordered> = on_gpu.collect();
    let captured: Vec<Ordered> = captured.collect();
    // There are few names but many kernels.
    let mut known: Map<&str, Step> = Map::default();
    for Ordered { name, .. } in on_gpu.iter().chain(&captured) {
        known.entry(name).or_insert_with(|| Step::of(name));
    }
    let step = |name: &str| known.get(name).copied().unwrap_or(Step::Other);
    let layers = |all: &[Ordered]| {
        let attentions = all.iter().filter(|one| step(one.name) == Step::Attention);
        attentions.count()
    };
    let all = match layers(&on_gpu) > 1 && layers(&on_gpu) >= layers(&captured) {
        true => on_gpu,
        false => captured,
    };
    let streams = grouped(all.into_iter().map(|one| (one.track, one)), Vec::push);
    let in_time = |(_, mut stream): (TrackId, Vec<Ordered>)| {
        stream.arrange_by_key(|one| (one.at_ns, one.call));
        let launched = stream.into_iter().map(|one| Launched {
            step: step(one.name),
            call: one.call,
        });
        launched.collect()
    };
    streams.into_iter().map(in_time).collect()
}

/// From the start of the first capture of a thread to the end of the last one: between the pieces of a graph, some
/// kernels are launched directly.
fn captures(profile: &Profile) -> Map<TrackId, RangeInclusive<i64>> {
    let (trace, events) = (&profile.trace, &profile.trace.events);
    let edges = trace.named(Category::is_runtime, |name| CaptureEdge::of(name).is_some());
    let mut captures: Map<TrackId, RangeInclusive<i64>> = Map::default();
    for edge in edges {
        let ns = events.ts_ns(edge);
        let all = captures.entry(events.track(edge)).or_insert(ns..=ns);
        *all = ns.min(*all.start())..=ns.max(*all.end());
    }
    captures
}

/// The operators around a call that have a performance model, innermost first.
fn modeled_around(
    profile: &Profile,
    call: EventId,
) -> impl Iterator<Item = (Binding, Modeled)> + '_ {
    let ops = profile.tree.ops_around(&profile.trace, call);
    ops.filter_map(|op| {
        let binding = Binding::new(model(profile.trace.name(op))?, op, Pass::Forward);
        let modeled = binding.own_work(profile, &[])?;
        Some((binding, modeled))
    })
}

fn linear(profile: &Profile, call: EventId) -> Option<Linear> {
    modeled_around(profile, call).find_map(|(binding, modeled)| {
        let sizes = GemmSizes::of_modeled(&modeled).or_else(|| binding.gemm_sizes(profile))?;
        let GemmSizes { batch, m, n, k, .. } = sizes;
        let matrix = Matrix { batch, n, k };
        let compute = modeled.work.compute;
        let activation = activation_bytes(compute?);
        let [b, rows, n, k] = [batch, m, n, k].map(|size| size as f64);
        let bytes = modeled.work.bytes.map(|bytes| {
            let weight = (bytes / b - rows * (k + n) * activation) / (k * n);
            (activation, weight.max(0.5))
        });
        Some(Linear {
            m,
            matrix,
            compute,
            bytes,
        })
    })
}

/// Number of heads and head dimension of full, non-causal attention.
fn full_heads(profile: &Profile, call: EventId) -> Option<[u64; 2]> {
    modeled_around(profile, call).find_map(|(_, modeled)| {
        let size = |name| modeled.size_of(name);
        let is_causal = modeled.param("causal").is_some_and(Param::is_true);
        (!is_causal).then_some([size("H_Q")?, size("d_h_qk")?])
    })
}

/// The heads of an attention: the queries are its first 3-D tensor, the keys the next one with at least three
/// dimensions.
fn heads(profile: &Profile, call: EventId) -> Option<PagedSizes> {
    let trace = &profile.trace;
    let mut ops = profile.tree.ops_around(&profile.trace, call);
    ops.find_map(|op| {
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
