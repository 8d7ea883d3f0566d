//! Normalization: subtract a mean, divide by a standard deviation, scale and shift.
//!
//! With n elements and C channels (parameters of the affine part). Forward: 2·n to normalize, 3·n to find mean and
//! variance if they are not given, 6·C to make a factor and an offset for each channel. Moved: input and result, and
//! per channel scale, shift, and the statistics that are kept or updated. Backward: 4·n for the sums over dY and dY·x̂,
//! 5·n for dX.

pub(crate) mod rms;

use crate::perf::input::product;
use crate::perf::params::{self, Param, Params};
use crate::perf::{Modeled, OpInput, dtype, on_vectors, vectors};

/// A normalization, as it is or as TraceLens interprets it.
#[derive(Clone)]
struct View {
    /// Position of the input.
    input: usize,
    channels: f64,
    channels_text: Param,
    has_bias: bool,
    is_affine: bool,
    /// Whether mean and variance are computed from the input.
    is_training: bool,
    output_mask: Option<Vec<bool>>,
}

impl View {
    fn params(&self, input: &OpInput) -> Params {
        let flags = [self.has_bias, self.is_affine, self.is_training];
        let mut params = params(input, self.input, self.channels_text.clone(), flags);
        if let Some(mask) = &self.output_mask {
            params.push(("output_mask", Param::Flags(mask.clone())));
        }
        params
    }

    /// A call that TraceLens interprets correctly.
    fn norm<'a>(self, input: &'a OpInput) -> Option<Call<'a>> {
        Some(Call {
            input,
            n: product(input.sizes(self.input)?),
            ours: self.clone(),
            theirs: self,
        })
    }
}

/// TraceLens's parameters of a norm of one of the arguments.
pub(crate) fn params(
    input: &OpInput,
    at: usize,
    channels: Param,
    [has_bias, is_affine, is_training]: [bool; 3],
) -> Params {
    let mut params = params::of_one(input, at, None, None);
    params.extend([
        ("num_channels", channels),
        ("has_bias", Param::Flag(has_bias)),
        ("is_affine", Param::Flag(is_affine)),
        ("is_training", Param::Flag(is_training)),
    ]);
    params
}

fn view(input: usize, channels: f64) -> View {
    View {
        input,
        channels,
        channels_text: Param::Int(channels),
        has_bias: true,
        is_affine: true,
        is_training: true,
        output_mask: None,
    }
}

/// A call as it is, and as TraceLens interprets it.
pub(crate) struct Call<'a> {
    input: &'a OpInput<'a>,
    n: f64,
    ours: View,
    theirs: View,
}

impl Call<'_> {
    pub(crate) fn forward(&self) -> Option<Modeled> {
        let (n, ours) = (self.n, &self.ours);
        let statistics = f64::from(ours.is_training);
        let per_channel = 2.0
            + f64::from(ours.is_affine)
            + f64::from(ours.is_affine && ours.has_bias)
            + 2.0 * statistics;
        let flops = 6.0 * ours.channels + statistics * 3.0 * n + 2.0 * n;
        self.listed(flops, 2.0 * n + per_channel * ours.channels)
    }

    /// All requested gradients.
    pub(crate) fn backward(&self) -> Option<Modeled> {
        let mask = self.ours.output_mask.as_ref();
        let wants_dx = mask.is_none_or(|mask| mask.first() == Some(&true));
        let (n, ours) = (self.n, &self.ours);
        let statistics = f64::from(ours.is_training);
        let dx = match (wants_dx, ours.is_training) {
            (true, true) => 5.0 * n,
            (true, false) => 0.0,
            (false, _) => 2.0 * n,
        };
        let fixed = f64::from(!ours.is_training) * 3.0 * ours.channels;
        let passes = 2.0 + f64::from(wants_dx) * statistics;
        let gradients = statistics * (1.0 + f64::from(ours.has_bias));
        let per_channel = statistics + f64::from(ours.is_affine) * (1.0 + gradients);
        let elements = passes * n + per_channel * ours.channels;
        self.listed(fixed + 4.0 * n + dx, elements)
    }

    fn listed(&self, flops: f64, elements: f64) -> Option<Modeled> {
        let modeled = vectors(self.input.dtype(self.ours.input), flops, elements);
        Some(modeled.with(self.theirs.params(self.input)))
    }
}

/// `batch_norm(x, scale, shift, mean, variance, training, …)`, `instance_norm` likewise. TraceLens takes any word as
/// `True`, and absent parameters as present.
pub(crate) fn batch_norm<'a>(input: &'a OpInput) -> Option<Call<'a>> {
    let channels = *input.sizes(0)?.get(1)? as f64;
    let view = View {
        is_training: !input.value(5).is_empty(),
        ..view(0, channels)
    };
    let mut call = view.norm(input)?;
    call.ours.is_affine = input.tensor(1).is_some();
    call.ours.has_bias = input.tensor(2).is_some();
    call.ours.is_training = input.flag_or(5, call.ours.is_training)?;
    Some(call)
}

/// `native_batch_norm_backward(dY, x, scale, mean, variance, …, training[7], eps, mask[9])`.
pub(crate) fn native_batch_norm_backward(input: &OpInput) -> Option<Modeled> {
    let channels = *input.sizes(1)?.get(1)? as f64;
    let view = View {
        is_training: !input.value(7).is_empty(),
        output_mask: Some(vec![true]),
        ..view(1, channels)
    };
    let [asks_x, _, asks_bias] = input.asked_gradients(9)?;
    let mut call = view.norm(input)?;
    call.ours.is_affine = input.tensor(2).is_some();
    call.ours.has_bias = asks_bias;
    call.ours.is_training = input.flag_or(7, call.ours.is_training)?;
    call.ours.output_mask = Some(vec![asks_x]);
    call.backward()
}

/// `cudnn_batch_norm_backward(x, dY, scale, …)`, `miopen_…`: always in training.
pub(crate) fn vendor_batch_norm_backward(input: &OpInput) -> Option<Modeled> {
    let channels = *input.sizes(0)?.get(1)? as f64;
    let view = View {
        is_training: false,
        output_mask: Some(vec![true]),
        ..view(0, channels)
    };
    let mut call = view.norm(input)?;
    call.ours.is_affine = input.tensor(2).is_some();
    call.ours.is_training = true;
    call.backward()
}

/// `layer_norm(x, normalized_shape, scale, shift, …)`.
pub(crate) fn layer_norm<'a>(input: &'a OpInput) -> Option<Call<'a>> {
    view(0, normalized(input, 1, 2)?).norm(input)
}

/// The number of elements that are normalized together. Where values of arguments were not recorded, it is the size of
/// the scale.
fn normalized(input: &OpInput, shape: usize, scale: usize) -> Option<f64> {
    let recorded = input.integers(shape).map(|sizes| product(&sizes));
    recorded.or_else(|| Some(product(input.sizes(scale)?)))
}

/// `FusedLayerNormAffineFunction(x, scale, shift, …)` of apex, `FastLayerNormFN` likewise.
pub(crate) fn apex_layer_norm<'a>(input: &'a OpInput) -> Option<Call<'a>> {
    let mut call = view(0, product(input.sizes(1)?)).norm(input)?;
    call.ours.has_bias = input.tensor(2).is_some();
    Some(call)
}

/// `native_layer_norm_backward(dY, x, normalized_shape, mean, rstd, scale, shift, mask)`.
pub(crate) fn native_layer_norm_backward(input: &OpInput) -> Option<Modeled> {
    let mask = input.flags(7)?;
    let view = View {
        is_affine: *mask.get(1)?,
        has_bias: *mask.get(2)?,
        output_mask: Some(mask),
        ..view(1, normalized(input, 2, 5)?)
    };
    view.norm(input)?.backward()
}

/// `group_norm(x, …)`.
pub(crate) fn group_norm<'a>(input: &'a OpInput) -> Option<Call<'a>> {
    view(0, *input.sizes(0)?.get(1)? as f64).norm(input)
}

/// `native_group_norm_backward(dY, x, mean, rstd, scale, N, C, HxW, groups, mask)`.
pub(crate) fn native_group_norm_backward(input: &OpInput) -> Option<Modeled> {
    let channels = *input.sizes(1)?.get(1)? as f64 / input.number(8).filter(|n| *n > 0.0)?;
    let view = View {
        channels_text: Param::Float(channels),
        output_mask: Some(input.flags(9)?),
        ..view(1, channels)
    };
    view.norm(input)?.backward()
}

/// `_fused_rms_norm(x, normalized_shape, scale, eps)`: for each of the n / C rows the sum of squares, 2·C, and its
/// root, 2; then two multiplications per element.
pub(crate) fn rms_norm(input: &OpInput) -> Option<Modeled> {
    let n = product(input.sizes(0)?);
    let channels = normalized(input, 1, 2)?;
    let modeled = vectors(input.dtype(0), rms_flops(n, channels)?, 2.0 * n + channels);
    Some(modeled.with(rms_view(0, channels).params(input)))
}

/// Operations of a scaled RMS norm.
pub(crate) fn rms_flops(n: f64, channels: f64) -> Option<f64> {
    (channels > 0.0).then(|| n / channels * (2.0 * channels + 2.0) + 2.0 * n)
}

/// `_fused_rms_norm_backward(dY, x, normalized_shape, rstd, scale, mask)`: dY·scale, x̂, six per element for dX; dY·x̂
/// and its sum over the rows for the scale.
pub(crate) fn rms_norm_backward(input: &OpInput) -> Option<Modeled> {
    let channels = product(&input.integers(2)?);
    rms_backward(input, 1, channels, input.flags(5)?)
}

/// The backward pass of [`rms_norm`], from the forward call.
pub(crate) fn rms_norm_bwd(input: &OpInput) -> Option<Modeled> {
    let channels = product(&input.integers(1)?);
    rms_backward(input, 0, channels, vec![true, true])
}

fn rms_backward(input: &OpInput, at: usize, channels: f64, mask: Vec<bool>) -> Option<Modeled> {
    let n = product(input.sizes(at)?);
    let dx = f64::from(mask.first() == Some(&true)) * 6.0 * n;
    let sums_rows = 1.0 + f64::from(n / channels > 1.0);
    let dscale = f64::from(mask.get(1) == Some(&true)) * sums_rows * n;
    let view = View {
        output_mask: Some(mask),
        ..rms_view(at, channels)
    };
    let flops = 2.0 * n + dx + dscale;
    Some(vectors(input.dtype(at), flops, 3.0 * n + 2.0 * channels).with(view.params(input)))
}

fn rms_view(at: usize, channels: f64) -> View {
    View {
        has_bias: false,
        is_training: false,
        ..view(at, channels)
    }
}

/// `fused_ln_modulate(x, …)`: layer norm with a shift and scale for each sample, of T × B × H: the norm and two more
/// operations per element; two parameters of B × H, two 4-byte statistics per row. Its backward pass: dX, and the
/// gradients of shift and scale.
pub(crate) fn modulated(
    input: &OpInput,
    flops_each: f64,
    [passes, per_sample]: [f64; 2],
) -> Option<Modeled> {
    let [t, b, h] = input.sized(0)?;
    let n = t * b * h;
    let dtype = input.dtype(0);
    let bytes =
        dtype::bytes(dtype).map(|size| (passes * n + per_sample * b * h) * size + 8.0 * t * b);
    Some(on_vectors(dtype, flops_each * n, bytes).with(view(0, h).params(input)))
}

/// `_weight_norm_interface(v, g, dim)`: the norm of each slice of v, then v·g/|v|: two operations to
/// square and add, two to scale; v and g are read, the result and the norms written. Backward, `(dW, v,
/// g, norms, dim)`: dW·v summed, then two products and a sum; dW, v, g and the norms are read, gradients
/// of v and g written.
pub(crate) fn weight_norm(
    input: &OpInput,
    first: usize,
    [flops_each, passes]: [f64; 2],
) -> Option<Modeled> {
    let (v, g) = (input.tensor(first)?, input.tensor(first + 1)?);
    let bytes = || Some(passes * v.bytes()? + passes * g.bytes()?);
    Some(on_vectors(v.dtype, flops_each * v.n(), bytes()))
}

/// `batch_norm_stats(x, eps)` of synchronized batch norm: mean and variance of each channel.
pub(crate) fn batch_statistics(input: &OpInput) -> Option<Modeled> {
    let x = input.tensor(0)?;
    let channels = *x.shape.get(1)? as f64;
    let bytes = x.bytes().map(|bytes| bytes + 8.0 * channels);
    Some(on_vectors(x.dtype, 3.0 * x.n(), bytes))
}

/// `batch_norm_elemt(x, scale, shift, mean, invstd, eps)`: two operations per element; `batch_norm_backward_elemt(dY,
/// x, …)`: dX, five per element.
pub(crate) fn batch_elements(input: &OpInput, x: usize, flops_each: f64) -> Option<Modeled> {
    let x = input.tensor(x)?;
    let bytes = || Some(input.tensor_bytes()? + x.bytes()?);
    Some(on_vectors(x.dtype, flops_each * x.n(), bytes()))
}

/// `batch_norm_backward_reduce(dY, x, …)`: Σ dY and Σ dY·x̂, four operations per element.
pub(crate) fn batch_backward_reduce(input: &OpInput) -> Option<Modeled> {
    let (gradient, x) = (input.tensor(0)?, input.tensor(1)?);
    let channels = *x.shape.get(1)? as f64;
    let bytes = || Some(gradient.bytes()? + x.bytes()? + 16.0 * channels);
    Some(on_vectors(x.dtype, 4.0 * x.n(), bytes()))
}
