//! Convolution.
//!
//! Each result is a sum over the filter's window and its share of input channels: with a filter w
//! of C_out × C_in/groups × k…, 2·|w[1..]|·|out| operations. A transposed convolution spreads each
//! input over the window of every output channel of its group: 2·|w[1..]|·|x| with w of
//! C_in × C_out/groups × k…. A bias adds one to each result. Input, filter and bias are read, the
//! result is written, once each.
//!
//! The gradient of the input and that of the filter are convolutions of the same size. Each is a separate kernel and
//! reads its operands again.

use crate::perf::input::product;
use crate::perf::params::{self, Param, Params};
use crate::perf::{Modeled, OpInput, Work, bare, dtype};

/// The arguments from `x` on: x, w, bias, stride, padding, dilation, transposed, output padding,
/// groups. `convolution_backward` has the gradient before them.
pub(super) struct Conv<'a> {
    input: &'a OpInput<'a>,
    x: usize,
    shape: &'a [i64],
    filter: &'a [i64],
    stride: Vec<i64>,
    padding: Vec<i64>,
    dilation: Vec<i64>,
    is_transposed: bool,
    output_padding: Vec<i64>,
    groups: f64,
    has_bias: bool,
    /// The bias according to TraceLens.
    listed_bias: Param,
}

impl<'a> Conv<'a> {
    /// `places`: argument positions of stride, padding and dilation. One group, not transposed, without a bias.
    fn new(input: &'a OpInput<'a>, x: usize, places: [usize; 3]) -> Option<Conv<'a>> {
        let (shape, filter) = (input.sizes(x)?, input.sizes(x + 1)?);
        let n_dims = shape.len().checked_sub(2).filter(|n| *n > 0)?;
        // Without its settings the size of the result is unknown.
        if filter.len() != shape.len() || !input.has_values() {
            return None;
        }
        let [stride, padding, dilation] = places;
        let dilation = each(input, dilation, 1, n_dims)?;
        let padding = match input.value(padding).trim() {
            "valid" => vec![0; n_dims],
            "same" => same(filter.get(2..)?, &dilation)?,
            _ => each(input, padding, 0, n_dims)?,
        };
        Some(Conv {
            input,
            x,
            shape,
            filter,
            stride: each(input, stride, 1, n_dims)?,
            padding,
            dilation,
            is_transposed: false,
            output_padding: vec![0; n_dims],
            groups: 1.0,
            has_bias: false,
            listed_bias: Param::Flag(input.n_args() == 3),
        })
    }

    /// `…, stride, padding, dilation, transposed, output padding, groups`, from the stride on.
    fn with_settings(input: &'a OpInput<'a>, x: usize, first: usize) -> Option<Conv<'a>> {
        let conv = Conv::new(input, x, [first, first + 1, first + 2])?;
        let is_transposed = input.flag_or(first + 3, false)?;
        let n_dims = conv.stride.len();
        Some(Conv {
            is_transposed,
            // Only a transposed convolution uses it; for others its length does not matter.
            output_padding: match is_transposed {
                true => each(input, first + 4, 0, n_dims)?,
                false => each(input, first + 4, 0, n_dims).unwrap_or_else(|| vec![0; n_dims]),
            },
            groups: input.number_or(first + 5, 1.0)?,
            ..conv
        })
    }

    /// With a bias, if there is a tensor at this argument position.
    fn with_bias(self, at: usize) -> Conv<'a> {
        Conv {
            has_bias: self.input.tensor(at).is_some(),
            ..self
        }
    }

    /// With the number of groups at this argument position.
    fn in_groups(self, at: usize) -> Option<Conv<'a>> {
        Some(Conv {
            groups: self.input.number_or(at, 1.0)?,
            ..self
        })
    }

    /// Transposed, with the output padding at this argument position.
    fn transposed(self, output_padding: usize) -> Option<Conv<'a>> {
        Some(Conv {
            output_padding: each(self.input, output_padding, 0, self.stride.len())?,
            is_transposed: true,
            ..self
        })
    }

    /// The shape of the result.
    fn out(&self) -> Option<Vec<i64>> {
        let channels = match self.is_transposed {
            true => (*self.filter.get(1)? as f64 * self.groups) as i64,
            false => *self.filter.first()?,
        };
        let mut out = vec![*self.shape.first()?, channels];
        for dim in 0..self.shape.len() - 2 {
            let (size, window) = (*self.shape.get(dim + 2)?, *self.filter.get(dim + 2)?);
            let (stride, padding) = (*self.stride.get(dim)?, *self.padding.get(dim)?);
            let reach = self
                .dilation
                .get(dim)?
                .checked_mul(window.checked_sub(1)?)?;
            // How far a window extends beyond its first element, minus the padding.
            let lost = reach.checked_sub(padding.checked_mul(2)?)?;
            out.push(match self.is_transposed {
                true => size
                    .checked_sub(1)?
                    .checked_mul(stride)?
                    .checked_add(lost)?
                    .checked_add(1)?
                    .checked_add(*self.output_padding.get(dim)?)?,
                false => size
                    .checked_sub(lost)?
                    .checked_sub(1)?
                    .checked_div(stride)?
                    .checked_add(1)?,
            });
        }
        out.iter().all(|size| *size >= 0).then_some(out)
    }

    /// Operations without the bias; each gradient takes as many.
    fn flops(&self, out: &[i64]) -> f64 {
        let centers = if self.is_transposed { self.shape } else { out };
        2.0 * product(self.filter.get(1..).unwrap_or_default()) * product(centers)
    }

    pub(super) fn forward(&self) -> Option<Modeled> {
        Some(bare(self.work()?).with(self.params()))
    }

    /// The gradients of all operands.
    pub(super) fn backward(&self) -> Option<Modeled> {
        self.backward_to([true, true, self.has_bias])
    }

    fn work(&self) -> Option<Work> {
        let out = self.out()?;
        let bias = if self.has_bias { 1.0 } else { 0.0 };
        let (n_x, n_w, n_out) = (product(self.shape), product(self.filter), product(&out));
        let elements = n_x + n_w + n_out + bias * *out.get(1)? as f64;
        Some(self.on_matrices(self.flops(&out) + bias * n_out, elements))
    }

    fn on_matrices(&self, flops: f64, elements: f64) -> Work {
        let dtype = self.input.dtype(self.x);
        Work {
            flops,
            bytes: dtype::bytes(dtype).map(|size| elements * size),
            compute: dtype::matrix(dtype),
        }
    }

    /// `asked`: whether the gradients of input, filter and bias are requested.
    fn backward_to(&self, asked: [bool; 3]) -> Option<Modeled> {
        let out = self.out()?;
        let channels = *out.get(1)? as f64;
        let (n_x, n_w, n_out) = (product(self.shape), product(self.filter), product(&out));
        let each = self.flops(&out);
        let gradients = [
            (each, n_out + n_w + n_x),
            (each, n_out + n_x + n_w),
            (n_out, n_out + channels),
        ];
        let (mut flops, mut elements) = (0.0, 0.0);
        for (gradient, _) in gradients.iter().zip(asked).filter(|(_, asked)| *asked) {
            flops += gradient.0;
            elements += gradient.1;
        }
        Some(bare(self.on_matrices(flops, elements)).with(self.params()))
    }

    fn params(&self) -> Params {
        let (x, w) = (self.x, self.x + 1);
        let types = [Some(self.input.dtype(x)), Some(self.input.dtype(w))];
        vec![
            (
                "convNd",
                Param::Text(format!("conv{}d", self.shape.len() - 2)),
            ),
            ("input_shape", params::sizes(self.shape)),
            ("filter_shape", params::sizes(self.filter)),
            ("dtype_input_weight", params::dtypes(&types)),
            ("input_stride", params::opt_sizes(self.input.strides(x))),
            ("weight_stride", params::opt_sizes(self.input.strides(w))),
            ("bias", self.listed_bias.clone()),
            ("stride", params::sizes(&self.stride)),
            ("padding", params::sizes(&self.padding)),
            ("dilation", params::sizes(&self.dilation)),
            ("transposed_conv", Param::Flag(self.is_transposed)),
            ("output_padding", params::sizes(&self.output_padding)),
            ("groups", Param::Int(self.groups)),
        ]
    }
}

/// One value per dimension; a single value applies to all.
fn each(input: &OpInput, at: usize, default: i64, n_dims: usize) -> Option<Vec<i64>> {
    match &input.integers_or_none(at)?[..] {
        [] => Some(vec![default; n_dims]),
        [one] => Some(vec![*one; n_dims]),
        all => (all.len() == n_dims).then(|| all.to_vec()),
    }
}

/// The padding on each side that keeps the size unchanged, for odd windows.
fn same(windows: &[i64], dilation: &[i64]) -> Option<Vec<i64>> {
    let of =
        |(window, dilation): (&i64, &i64)| Some(window.checked_sub(1)?.checked_mul(*dilation)? / 2);
    windows.iter().zip(dilation).map(of).collect()
}

/// `convolution(x, w, bias, stride, padding, dilation, transposed, output padding, groups)`. TraceLens ignores the
/// bias.
pub(super) fn convolution<'a>(input: &'a OpInput<'a>) -> Option<Conv<'a>> {
    Some(Conv {
        has_bias: input.tensor(2).is_some(),
        ..Conv::with_settings(input, 0, 3)?
    })
}

/// `convolution_backward(dY, x, w, bias sizes, stride, …, groups[9], mask[10])`.
pub(super) fn convolution_backward(input: &OpInput) -> Option<Modeled> {
    let conv = Conv {
        listed_bias: Param::Flags(Vec::new()),
        ..Conv::with_settings(input, 1, 4)?
    };
    conv.backward_to(input.asked_gradients(10)?)
}

/// The convolution of a forward call that TraceLens does not know, with its parameters.
pub(crate) fn of_call(input: &OpInput) -> Option<Modeled> {
    let conv = match input.name.strip_prefix("aten::")? {
        "conv1d" | "conv2d" | "conv3d" => functional(input),
        "conv_transpose1d" | "conv_transpose2d" | "conv_transpose3d" => functional_transpose(input),
        "_convolution" | "convolution_overrideable" => convolution(input),
        "cudnn_convolution" => vendor(input, 2),
        "miopen_convolution" | "miopen_depthwise_convolution" => vendor(input, 3),
        "cudnn_convolution_transpose" | "miopen_convolution_transpose" => vendor_transpose(input),
        "slow_conv_transpose2d" | "slow_conv_transpose3d" => kernel_size_first_transpose(input),
        "_conv_depthwise2d"
        | "_slow_conv2d_forward"
        | "conv_depthwise3d"
        | "slow_conv_dilated2d"
        | "slow_conv_dilated3d" => kernel_size_first(input),
        "cudnn_convolution_relu"
        | "cudnn_convolution_add_relu"
        | "miopen_convolution_relu"
        | "miopen_convolution_add_relu" => before_relu(input),
        _ => None,
    };
    conv?.forward()
}

/// `conv2d(x, w, bias, stride, padding, dilation, groups)` when it launches its own kernel.
fn functional<'a>(input: &'a OpInput<'a>) -> Option<Conv<'a>> {
    Some(Conv::new(input, 0, [3, 4, 5])?.in_groups(6)?.with_bias(2))
}

/// `conv_transpose2d(x, w, bias, stride, padding, output padding, groups, dilation)`.
fn functional_transpose<'a>(input: &'a OpInput<'a>) -> Option<Conv<'a>> {
    let conv = Conv::new(input, 0, [3, 4, 7])?.transposed(5)?;
    Some(conv.in_groups(6)?.with_bias(2))
}

/// `cudnn_convolution(x, w, padding[2], stride, dilation, groups, …)`, which `aten::convolution` calls, adding the bias
/// itself; `miopen_convolution(x, w, bias, padding[3], stride, dilation, groups, …)`.
fn vendor<'a>(input: &'a OpInput<'a>, padding: usize) -> Option<Conv<'a>> {
    let conv = Conv::new(input, 0, [padding + 1, padding, padding + 2])?.in_groups(padding + 3)?;
    Some(match padding {
        3 => conv.with_bias(2),
        _ => conv,
    })
}

/// `ConvBias_(x, w, bias, stride, padding)` of apex: stride and padding are single numbers.
pub(super) fn conv_bias<'a>(input: &'a OpInput<'a>) -> Option<Conv<'a>> {
    const NONE: usize = usize::MAX;
    if input.is_absent(3) || input.is_absent(4) {
        return None;
    }
    Some(Conv {
        has_bias: true,
        listed_bias: Param::Flag(true),
        ..Conv::new(input, 0, [3, 4, NONE])?
    })
}

/// `cudnn_convolution_relu(x, w, bias, stride, padding, dilation, groups)`, `miopen_convolution_relu`;
/// `…_add_relu(x, w, z, alpha, bias, stride, …)`.
fn before_relu<'a>(input: &'a OpInput<'a>) -> Option<Conv<'a>> {
    let (bias, stride) = if adds(input) { (4, 5) } else { (2, 3) };
    let conv = Conv::new(input, 0, [stride, stride + 1, stride + 2])?;
    Some(conv.in_groups(stride + 3)?.with_bias(bias))
}

/// Whether it also adds a tensor before its activation.
fn adds(input: &OpInput) -> bool {
    input.name.contains("add_relu")
}

/// The convolution and what such a call does with its result.
pub(super) fn with_relu(input: &OpInput) -> Option<Modeled> {
    let conv = before_relu(input)?;
    let work = conv.work()?;
    let n_out = product(&conv.out()?);
    let added = if adds(input) { 1.0 } else { 0.0 };
    let size = dtype::bytes(input.dtype(0));
    let bytes = || Some(work.bytes? + added * n_out * size?);
    Some(bare(Work {
        flops: work.flops + (1.0 + added) * n_out,
        bytes: bytes(),
        ..work
    }))
}

/// `cudnn_convolution_transpose(x, w, padding, output padding, stride, dilation, groups, …)`;
/// `miopen_convolution_transpose` has a bias before them.
fn vendor_transpose<'a>(input: &'a OpInput<'a>) -> Option<Conv<'a>> {
    let padding = if input.name.contains("miopen") { 3 } else { 2 };
    let conv = Conv::new(input, 0, [padding + 2, padding, padding + 3])?;
    let conv = conv.transposed(padding + 1)?.in_groups(padding + 4)?;
    Some(match padding {
        3 => conv.with_bias(2),
        _ => conv,
    })
}

/// `_conv_depthwise2d(x, w, kernel, bias, stride, padding, dilation)`: each channel has separate filters.
/// `slow_conv_dilated2d` and `_slow_conv2d_forward` have the same arguments, with filters over all channels.
fn kernel_size_first<'a>(input: &'a OpInput<'a>) -> Option<Conv<'a>> {
    Some(Conv::new(input, 0, [4, 5, 6])?.with_bias(3))
}

/// `slow_conv_transpose2d(x, w, kernel, bias, stride, padding, output padding, dilation)`.
fn kernel_size_first_transpose<'a>(input: &'a OpInput<'a>) -> Option<Conv<'a>> {
    Some(Conv::new(input, 0, [4, 5, 7])?.transposed(6)?.with_bias(3))
}
