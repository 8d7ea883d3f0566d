//! Sizes of the kernels of a diffusion transformer, where order tells their roles.
//!
//! Attention is alike in all blocks. Of blocks with one set of weights for image and text the GEMMs are told by
//! the activation between two of them; of blocks with two sets nothing tells which is which.

use super::inputs::ImageTokens;
use super::passes::ForwardPass;
use super::roles::{Part, anchors, parts};
use super::{Estimate, Estimates, Source};
use crate::perf::estimate;
use crate::perf::model_config::{DiffusionModel, Matrix, Role};
use crate::profile::Profile;

/// The type of activations.
const DTYPE: &str = "c10::BFloat16";
/// The inner size of an MLP over the hidden size, in models of this class.
const MLP_RATIO: u64 = 4;
const CLASS: &str = "Flux";

/// Adds the estimates of denoising steps to those that are there.
pub(super) fn add(
    profile: &Profile,
    model: &DiffusionModel,
    passes: &[ForwardPass],
    found: &mut Estimates,
) {
    let Some(tokens) = ImageTokens::of(profile) else {
        return;
    };
    let blocks = model.double_blocks.saturating_add(model.single_blocks);
    for pass in passes.iter().filter(|pass| pass.n_layers as u64 == blocks) {
        let images = pass.batch.and_then(|batch| batch.images);
        let of = Denoising {
            model,
            images: images.map(|images| images.batch),
            tokens: tokens.image.saturating_add(tokens.text),
        };
        of.attention(profile, pass, found);
        if model.class.contains(CLASS) {
            let parts = parts(&pass.steps);
            // What follows the attention of a block and precedes the next.
            let of_single = (1..).zip(parts.iter().skip(1));
            for (_, part) in of_single.filter(|(at, _)| *at > model.double_blocks) {
                of.block(pass, part, found);
            }
        }
    }
}

struct Denoising<'a> {
    model: &'a DiffusionModel,
    images: Option<u64>,
    /// Of image and text.
    tokens: u64,
}

impl Denoising<'_> {
    fn attention(&self, profile: &Profile, pass: &ForwardPass, found: &mut Estimates) {
        let Some(images) = self.images else { return };
        for at in anchors(&pass.steps) {
            let name = pass.kernels.get(at).and_then(|id| profile.gpu.get(*id));
            let name = name.map_or("", |work| profile.trace.strings.get(work.name));
            // It multiplies queries and keys in eight bits.
            let math = if name.contains("sage") { "int8" } else { DTYPE };
            let sizes = [images, self.tokens, self.model.heads, self.model.head_dim];
            found.put(pass, at, 1.0, || Estimate {
                role: Role::Attention,
                source: Source::Neighbors,
                modelled: estimate::full_attention(sizes, DTYPE, math),
                is_least: false,
            });
        }
    }

    /// The MLP and the output projection of a block, and the projections of the next one.
    fn block(&self, pass: &ForwardPass, part: &Part, found: &mut Estimates) {
        let (hidden, Some(images)) = (self.model.hidden(), self.images) else {
            return;
        };
        let Some([up, down]) = part.around_activation() else {
            return;
        };
        let inner = hidden.saturating_mul(MLP_RATIO);
        let rows = self.tokens.saturating_mul(images);
        let mut put = |n: usize, role: Role, rows: u64, [columns, k]: [u64; 2]| {
            let (Some(at), matrix) = (
                part.gemms.get(n),
                Matrix {
                    batch: 1,
                    n: columns,
                    k,
                },
            ) else {
                return;
            };
            found.put(pass, *at, 1.0, || Estimate {
                role,
                source: Source::Neighbors,
                modelled: estimate::gemm(matrix, rows, DTYPE, None),
                is_least: false,
            });
        };
        put(up, Role::Up, rows, [inner, hidden]);
        put(
            down,
            Role::MlpAndOutput,
            rows,
            [hidden, inner.saturating_add(hidden)],
        );
        // Nothing of the next block can run before the output but what depends on the time step alone.
        if part.gemms.len() == 6 && (up, down) == (1, 2) {
            put(0, Role::Modulation, images, [3 * hidden, hidden]);
            for n in 3..6 {
                put(n, Role::AttentionInput, rows, [hidden, hidden]);
            }
        }
    }
}
