//! Sizes of the kernels of a diffusion transformer whose roles are known from their order.
//!
//! Attention is the same in all blocks; the roles of GEMMs, and of the activations after them, come from
//! [`blocks`](super::blocks).

use std::ops::Range;

use super::blocks::{self, Kernel, Place, Rows};
use super::inputs::ImageTokens;
use super::passes::ForwardPass;
use super::roles::{anchors, parts};
use super::{Estimate, Estimates, Source};
use crate::names::layer::{Step, is_gelu, is_layer_norm};
use crate::names::tile::Tile;
use crate::names::words::holds;
use crate::names::{Family, family_of_kernel};
use crate::perf::model_config::{DiffusionModel, Role};
use crate::perf::{Modeled, estimate};
use crate::profile::Profile;
use crate::trace::ByName;

/// The type that activations are taken to have: kernels of a graph show none.
const DTYPE: &str = "c10::BFloat16";

/// Adds the estimates of denoising steps to the existing ones.
pub(super) fn add(
    profile: &Profile,
    model: &DiffusionModel,
    passes: &[ForwardPass],
    found: &mut Estimates,
) {
    let blocks = model.double_blocks.saturating_add(model.single_blocks);
    let is_whole = |pass: &&ForwardPass| pass.n_layers as u64 == blocks;
    let passes: Vec<&ForwardPass> = passes.iter().filter(is_whole).collect();
    let Some(tokens) = (!passes.is_empty())
        .then(|| ImageTokens::of(profile))
        .flatten()
    else {
        return;
    };
    let mut traits_by_name = ByName::new(KernelTraits::of);
    for pass in passes {
        let works = pass.kernels.iter().map(|id| profile.gpu.get(*id));
        let Some(works) = works.collect::<Option<Vec<_>>>() else {
            continue;
        };
        let traits: Vec<KernelTraits> = works
            .iter()
            .map(|work| traits_by_name.of(&profile.trace, work.event))
            .collect();
        // GPUs that share a step divide its tokens or its heads.
        if traits.iter().any(|traits| traits.communicates) {
            continue;
        }
        let known = works.iter().zip(&traits).zip(pass.steps.iter());
        let kernels = known.map(|((work, traits), step)| Kernel {
            step: *step,
            name: work.name.0,
            ns: work.span.length(),
            activates: traits.activates,
            side: traits.side,
        });
        let of = Denoising {
            model,
            tokens,
            pass,
            kernels: kernels.collect(),
            traits,
        };
        of.attention(found);
        if model.has_known_blocks {
            of.blocks(found);
        }
    }
}

/// What is known from the name of a kernel.
#[derive(Debug, Clone, Copy)]
struct KernelTraits {
    communicates: bool,
    activates: bool,
    normalizes: bool,
    /// Queries and keys are multiplied in 8 bits.
    is_sage: bool,
    side: Option<u64>,
}

impl KernelTraits {
    fn of(name: &str) -> KernelTraits {
        let tile = Tile::of(name).map(|tile| tile.output.0.min(tile.output.1));
        KernelTraits {
            communicates: family_of_kernel(name) == Family::Communication,
            activates: is_gelu(name),
            normalizes: is_layer_norm(name),
            is_sage: name.contains("sage"),
            side: if holds(name, &["gemv"]) {
                Some(1)
            } else {
                tile
            },
        }
    }
}

struct Denoising<'a> {
    model: &'a DiffusionModel,
    tokens: ImageTokens,
    pass: &'a ForwardPass,
    kernels: Vec<Kernel>,
    traits: Vec<KernelTraits>,
}

impl Denoising<'_> {
    fn put(&self, found: &mut Estimates, at: usize, role: Role, modeled: impl FnOnce() -> Modeled) {
        // Operands that are fused into them are not counted.
        let is_least = matches!(role, Role::Activation | Role::Norm);
        found.put(self.pass, at, 1.0, || Estimate {
            role,
            source: Source::Neighbors,
            modeled: modeled(),
            is_least,
        });
    }

    fn attention(&self, found: &mut Estimates) {
        let sizes = [
            self.tokens.batch,
            self.tokens.image.saturating_add(self.tokens.text),
            self.model.heads,
            self.model.head_dim,
        ];
        for at in anchors(&self.pass.steps) {
            let is_sage = self.traits.get(at).is_some_and(|traits| traits.is_sage);
            let math = if is_sage { "int8" } else { DTYPE };
            self.put(found, at, Role::Attention, || {
                estimate::full_attention(sizes, DTYPE, math)
            });
        }
    }

    fn blocks(&self, found: &mut Estimates) {
        let places = blocks::assign(&self.kernels, self.model, self.tokens);
        let mut up: Option<Place> = None;
        for (at, place) in places.iter().enumerate() {
            let step = self.kernels.get(at).map(|kernel| kernel.step);
            match place {
                Some(place) => {
                    let rows = place.rows.count(self.tokens);
                    self.put_gemm(found, at, place.role, || {
                        estimate::gemm(place.matrix, rows, DTYPE, None)
                    });
                }
                None if self.traits.get(at).is_some_and(|traits| traits.activates) => {
                    let place = up.take().filter(|place| place.role == Role::Up);
                    if let Some(place) = place.filter(|_| self.is_alone(at)) {
                        self.put_elements(
                            found,
                            at,
                            Role::Activation,
                            place.rows,
                            self.model.inner,
                        );
                    }
                }
                None => {}
            }
            if step == Some(Step::Gemm) {
                up = *place;
            }
        }
        // In single-stream blocks, all norms are over the same tokens.
        let parts = parts(&self.pass.steps);
        let single = parts.iter().skip(self.model.double_blocks as usize + 1);
        for part in single.take((self.model.single_blocks as usize).saturating_sub(1)) {
            self.norms(found, part.range.clone());
        }
    }

    /// Whether there is no other activation between the same GEMMs.
    fn is_alone(&self, at: usize) -> bool {
        let behind = self.kernels.iter().skip(at + 1);
        let mut behind = behind.take_while(|kernel| kernel.step != Step::Gemm);
        !behind.any(|kernel| kernel.activates)
    }

    /// Adds a GEMM; for a split-K GEMM, the kernel after it that adds up the partial results gets a share.
    fn put_gemm(
        &self,
        found: &mut Estimates,
        at: usize,
        role: Role,
        modeled: impl Fn() -> Modeled,
    ) {
        let ns = |at: usize, wanted: Step| {
            let kernel = self.kernels.get(at).filter(|kernel| kernel.step == wanted);
            kernel.map_or(0, |kernel| kernel.ns)
        };
        let (own, sum) = (ns(at, Step::Gemm), ns(at + 1, Step::GemmSum));
        for (at, ns) in [(at, own), (at + 1, sum)]
            .into_iter()
            .filter(|(_, ns)| *ns > 0)
        {
            let share = ns as f64 / (own + sum).max(1) as f64;
            found.put(self.pass, at, share, || Estimate {
                role,
                source: Source::Neighbors,
                modeled: modeled(),
                is_least: false,
            });
        }
    }

    /// Reads and writes `width` elements per token.
    fn put_elements(&self, found: &mut Estimates, at: usize, role: Role, rows: Rows, width: u64) {
        let n = rows.count(self.tokens).saturating_mul(width);
        self.put(found, at, role, || {
            estimate::elements(n.saturating_mul(2), DTYPE)
        });
    }

    fn norms(&self, found: &mut Estimates, range: Range<usize>) {
        let is_norm = |at: &usize| self.traits.get(*at).is_some_and(|traits| traits.normalizes);
        for at in range.filter(is_norm) {
            self.put_elements(found, at, Role::Norm, Rows::Both, self.model.hidden());
        }
    }
}
