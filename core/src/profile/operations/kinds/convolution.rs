//! Kinds of convolutions, by shapes and settings.

use crate::base::labels::labeled;
use crate::perf::{Modeled, Param, are_placeholders, convolution_of};
use crate::profile::Profile;
use crate::profile::operations::Operation;

labeled! {
    /// Kinds of convolutions with different typical efficiency.
    pub(crate) enum ConvolutionKind {
        Pointwise => "1×1",
        Standard => "kernel size 2–3",
        Large => "kernel size above 3",
        /// Each channel is convolved separately.
        Depthwise => "depthwise",
    }
}

/// Shapes and settings of a convolution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConvolutionShape {
    /// Batch, channels, positions.
    pub(crate) input: Vec<u64>,
    /// Output channels (input channels if transposed), channels per group, kernel size.
    pub(crate) filter: Vec<u64>,
    pub(crate) stride: Vec<u64>,
    pub(crate) dilation: Vec<u64>,
    /// Padding on either side of the input; `None` if unknown.
    pub(crate) padding: Option<Vec<u64>>,
    /// Output padding of a transposed convolution, used only if its padding is known.
    pub(crate) output_padding: Vec<u64>,
    pub(crate) groups: u64,
    pub(crate) is_transposed: bool,
    /// Whether channels are contiguous in memory; `None` if unknown from the strides.
    pub(crate) is_channels_last: Option<bool>,
}

impl ConvolutionShape {
    /// The shape of an operation's convolution; `None` if unknown.
    pub(crate) fn of(profile: &Profile, operation: &Operation) -> Option<ConvolutionShape> {
        let listed = operation.modeled.as_ref();
        let arguments = operation.arguments(profile);
        let unlisted = || convolution_of(arguments.as_ref()?);
        listed
            .and_then(ConvolutionShape::of_params)
            .or_else(|| ConvolutionShape::of_params(&unlisted()?))
            .or_else(|| ConvolutionShape::of_tensors(profile, operation))
    }

    /// Whether the channels of its input are contiguous. `None` if unknown from the strides, and for 1-D inputs, which
    /// have no such format.
    pub(crate) fn has_channels_last(profile: &Profile, operation: &Operation) -> Option<bool> {
        let shape = ConvolutionShape::of(profile, operation)?;
        channels_last(shape.n_dims())?;
        shape.is_channels_last
    }

    fn of_params(modeled: &Modeled) -> Option<ConvolutionShape> {
        let sizes = |wanted: &str| whole(modeled.param(wanted)?.sizes()?);
        let modeled_shape = modeled.param("input_shape")?.sizes()?;
        let (input, filter) = (whole(modeled_shape)?, sizes("filter_shape")?);
        let n_dims = input.len().checked_sub(2).filter(|n| *n > 0)?;
        (filter.len() == input.len()).then_some(())?;
        Some(ConvolutionShape {
            is_channels_last: modeled
                .param("input_stride")
                .and_then(Param::sizes)
                .filter(|strides| !are_placeholders(modeled_shape, strides))
                .and_then(whole)
                .and_then(|strides| is_channels_last(&input, &strides)),
            input,
            filter,
            stride: sizes("stride").unwrap_or_else(|| vec![1; n_dims]),
            dilation: sizes("dilation").unwrap_or_else(|| vec![1; n_dims]),
            padding: sizes("padding"),
            output_padding: sizes("output_padding").unwrap_or_else(|| vec![0; n_dims]),
            groups: modeled.size_of("groups").unwrap_or(1),
            is_transposed: modeled.param("transposed_conv").is_some_and(Param::is_true),
        })
    }

    /// Input and filter are the first two tensors of equal rank; in a backward pass the gradient precedes them.
    /// Settings are unknown.
    fn of_tensors(profile: &Profile, operation: &Operation) -> Option<ConvolutionShape> {
        let name = operation.short_name(profile);
        let tensors = operation.tensors(profile);
        let skip = usize::from(name.contains("backward"));
        let (x, w) = (tensors.get(skip)?, tensors.get(skip + 1)?);
        if x.shape.len() != w.shape.len() || x.shape.len() < 3 {
            return None;
        }
        let (input, filter) = (whole(x.shape)?, whole(w.shape)?);
        // Each group has its share of the input channels.
        let channels = *input.get(1)?;
        let groups = channels.checked_div(*filter.get(1)?).unwrap_or(1).max(1);
        let strides = x.strides.and_then(whole);
        Some(ConvolutionShape {
            is_channels_last: strides.and_then(|strides| is_channels_last(&input, &strides)),
            is_transposed: name.contains("transpose"),
            ..ConvolutionShape::plain(input, filter, groups)
        })
    }

    /// A convolution with default stride and dilation and unknown padding.
    fn plain(input: Vec<u64>, filter: Vec<u64>, groups: u64) -> ConvolutionShape {
        let n_dims = input.len().saturating_sub(2);
        ConvolutionShape {
            input,
            filter,
            stride: vec![1; n_dims],
            dilation: vec![1; n_dims],
            padding: None,
            output_padding: vec![0; n_dims],
            groups,
            is_transposed: false,
            is_channels_last: None,
        }
    }

    /// Number of dimensions of its tensors: batch, channels, and spatial dimensions.
    pub(crate) fn n_dims(&self) -> usize {
        self.input.len()
    }

    /// The kernel size in each spatial dimension.
    fn kernel_size(&self) -> &[u64] {
        self.filter.get(2..).unwrap_or_default()
    }

    /// Number of input positions that each result sums over.
    pub(crate) fn taps(&self) -> u64 {
        let sizes = self.kernel_size().iter().copied();
        sizes.fold(1, u64::saturating_mul)
    }

    /// The kernel size in each dimension that the images have: libraries compute signals as images of one row.
    fn extents(&self) -> Vec<u64> {
        let sizes = self.input.iter().skip(2).zip(self.kernel_size());
        let used = sizes.filter(|(size, kernel)| **size > 1 || **kernel > 1);
        used.map(|(_, kernel)| *kernel).collect()
    }

    /// Whether its kernel size differs between dimensions.
    pub(crate) fn is_asymmetric(&self) -> bool {
        let size = self.extents();
        size.iter().any(|one| Some(one) != size.first())
    }

    /// "3×3".
    pub(crate) fn kernel_text(&self) -> String {
        match self.extents().as_slice() {
            [] => by(self.kernel_size()),
            extents => by(extents),
        }
    }

    /// Number of input channels.
    pub(crate) fn channels(&self) -> u64 {
        self.input.get(1).copied().unwrap_or(0)
    }

    /// Number of output channels.
    pub(crate) fn out_channels(&self) -> u64 {
        match self.is_transposed {
            true => self
                .filter
                .get(1)
                .map_or(0, |channels| channels.saturating_mul(self.groups)),
            false => self.filter.first().copied().unwrap_or(0),
        }
    }

    /// Output positions per image.
    pub(crate) fn positions(&self) -> u64 {
        let n_dims = self.n_dims().saturating_sub(2);
        (0..n_dims)
            .map(|dim| self.written(dim).unwrap_or(0))
            .fold(1, u64::saturating_mul)
    }

    /// Output positions along a dimension. With unknown padding, "same" padding is assumed.
    fn written(&self, dim: usize) -> Option<u64> {
        let (size, kernel) = (*self.input.get(dim + 2)?, *self.filter.get(dim + 2)?);
        let stride = self.stride.get(dim)?.max(&1);
        let Some(padding) = &self.padding else {
            return Some(match self.is_transposed {
                true => size.saturating_mul(*stride),
                false => size.div_ceil(*stride),
            });
        };
        let reach = self
            .dilation
            .get(dim)?
            .saturating_mul(kernel.saturating_sub(1));
        let padding = padding.get(dim)?.saturating_mul(2);
        Some(match self.is_transposed {
            true => (size.saturating_sub(1).saturating_mul(*stride))
                .saturating_add(reach)
                .saturating_add(1 + self.output_padding.get(dim).unwrap_or(&0))
                .saturating_sub(padding),
            false => match size.saturating_add(padding).checked_sub(reach + 1) {
                Some(steps) => steps / stride + 1,
                None => 0,
            },
        })
    }

    /// Elements of the input and of the result.
    pub(crate) fn elements(&self) -> [u64; 2] {
        let all = |sizes: &[u64]| sizes.iter().copied().fold(1_u64, u64::saturating_mul);
        let batch = self.input.first().copied().unwrap_or(0);
        let result = [batch, self.out_channels(), self.positions()];
        [all(&self.input), all(&result)]
    }

    /// Each channel is convolved separately.
    pub(crate) fn is_depthwise(&self) -> bool {
        self.groups > 1
            && self.groups == self.channels()
            && (self.is_transposed || self.filter.get(1) == Some(&1))
    }

    /// Number of input channels of a group.
    pub(crate) fn group_channels(&self) -> u64 {
        self.channels() / self.groups.max(1)
    }

    /// Stride equals kernel size, as in the patch embedding of vision transformers.
    pub(crate) fn is_patches(&self) -> bool {
        let is_large = self.kernel_size().iter().any(|size| *size > 1);
        is_large && !self.is_transposed && self.groups == 1 && self.stride == self.kernel_size()
    }

    pub(crate) fn kind(&self) -> ConvolutionKind {
        match self.kernel_size().iter().copied().max().unwrap_or(1) {
            _ if self.is_depthwise() => ConvolutionKind::Depthwise,
            0..=1 => ConvolutionKind::Pointwise,
            2..=3 => ConvolutionKind::Standard,
            _ => ConvolutionKind::Large,
        }
    }

    /// "3×3, stride 2"; "depthwise 7×7"; "transposed 4×4, stride 2"; "5 (1d)".
    pub(crate) fn text(&self) -> String {
        let transposed = if self.is_transposed {
            "transposed "
        } else {
            ""
        };
        let of_groups = match (self.is_depthwise(), self.groups) {
            (true, _) => "depthwise ".to_owned(),
            (false, 0 | 1) => String::new(),
            (false, groups) => format!("{groups} groups of "),
        };
        let one_dimension = match self.kernel_size() {
            [_] => " (1d)",
            _ => "",
        };
        let beyond_one = |name: &str, values: &[u64]| match values {
            _ if values.iter().all(|value| *value == 1) => String::new(),
            [first, others @ ..] if others.iter().all(|value| value == first) => {
                format!(", {name} {first}")
            }
            _ => format!(", {name} {}", by(values)),
        };
        let kernel = self.kernel_text();
        let stride = beyond_one("stride", &self.stride);
        let dilation = beyond_one("dilation", &self.dilation);
        format!("{transposed}{of_groups}{kernel}{one_dimension}{stride}{dilation}")
    }

    /// "10×64×56×56 by 64×64×3×3".
    pub(crate) fn sizes(&self) -> String {
        format!("{} by {}", by(&self.input), by(&self.filter))
    }
}

/// "10×64×56×56".
fn by(sizes: &[u64]) -> String {
    let sizes: Vec<String> = sizes.iter().map(u64::to_string).collect();
    sizes.join("×")
}

/// The sizes, if none is negative.
fn whole(sizes: &[i64]) -> Option<Vec<u64>> {
    sizes.iter().map(|size| u64::try_from(*size).ok()).collect()
}

/// PyTorch's channels-last memory format for the number of dimensions; `None` if there is none.
pub(crate) fn channels_last(n_dims: usize) -> Option<&'static str> {
    match n_dims {
        4 => Some("torch.channels_last"),
        5 => Some("torch.channels_last_3d"),
        _ => None,
    }
}

/// Whether channels are contiguous; `None` where both layouts have the same strides.
fn is_channels_last(sizes: &[u64], strides: &[u64]) -> Option<bool> {
    let (channels, channel_stride) = (*sizes.get(1)?, *strides.get(1)?);
    let positions = sizes.iter().skip(2).copied().fold(1, u64::saturating_mul);
    (channels > 1 && positions > 1 && sizes.len() == strides.len()).then_some(channel_stride == 1)
}

#[cfg(test)]
mod tests {
    use super::ConvolutionKind::*;
    use super::*;

    fn shape(input: &[u64], filter: &[u64], groups: u64) -> ConvolutionShape {
        ConvolutionShape::plain(input.to_vec(), filter.to_vec(), groups)
    }

    #[test]
    fn shapes_tell_the_kind() {
        type Case = (
            &'static [u64],
            &'static [u64],
            u64,
            ConvolutionKind,
            &'static str,
        );
        let image: &[u64] = &[8, 64, 56, 56];
        let cases: [Case; 8] = [
            (image, &[64, 64, 1, 1], 1, Pointwise, "1×1"),
            (image, &[64, 64, 3, 3], 1, Standard, "3×3"),
            (&[8, 3, 224, 224], &[64, 3, 7, 7], 1, Large, "7×7"),
            // The longer side decides.
            (&[8, 64, 17, 17], &[64, 64, 1, 7], 1, Large, "1×7"),
            (image, &[64, 1, 3, 3], 64, Depthwise, "depthwise 3×3"),
            (image, &[64, 16, 3, 3], 4, Standard, "4 groups of 3×3"),
            (&[8, 64, 1000], &[64, 64, 5], 1, Large, "5 (1d)"),
            (&[1, 4, 9, 9, 9], &[8, 4, 3, 3, 3], 1, Standard, "3×3×3"),
        ];
        for (input, filter, groups, kind, text) in cases {
            let shape = shape(input, filter, groups);
            assert_eq!(shape.kind(), kind, "{text}");
            assert_eq!(shape.text(), text);
        }
        let strided = ConvolutionShape {
            stride: vec![2, 2],
            dilation: vec![1, 4],
            is_transposed: true,
            ..shape(&[8, 64, 10, 10], &[64, 32, 4, 4], 1)
        };
        assert_eq!(strided.text(), "transposed 4×4, stride 2, dilation 1×4");
        assert_eq!(strided.out_channels(), 32);
        // 8 · 32 · 20 · 20.
        assert_eq!(strided.elements(), [51_200, 102_400]);
    }

    #[test]
    fn padding_and_dilation_tell_what_is_written() {
        let of = |size: u64, kernel: u64, padding: u64, dilation: u64| ConvolutionShape {
            padding: Some(vec![padding; 2]),
            dilation: vec![dilation; 2],
            ..shape(&[1, 8, size, size], &[8, 8, kernel, kernel], 1)
        };
        // A kernel as large as the image, one that loses a row on each side, and one that keeps the size.
        assert_eq!(of(8, 8, 0, 1).positions(), 1);
        assert_eq!(of(16, 3, 0, 1).positions(), 14 * 14);
        assert_eq!(of(16, 3, 1, 1).positions(), 16 * 16);
        // Five positions wide.
        assert_eq!(of(16, 3, 0, 2).positions(), 12 * 12);
        // (4 − 1)·2 + 4 − 2 = 8.
        let transposed = ConvolutionShape {
            is_transposed: true,
            stride: vec![2, 2],
            ..of(4, 4, 1, 1)
        };
        assert_eq!(transposed.positions(), 8 * 8);
        // A kernel that does not fit writes nothing.
        assert_eq!(of(2, 3, 0, 1).positions(), 0);
    }

    #[test]
    fn strides_tell_the_layout() {
        let sizes = [8, 64, 56, 56];
        assert_eq!(
            is_channels_last(&sizes, &[200_704, 3136, 56, 1]),
            Some(false)
        );
        assert_eq!(
            is_channels_last(&sizes, &[200_704, 1, 3584, 64]),
            Some(true)
        );
        // One channel, or one position, is the same in both.
        assert_eq!(is_channels_last(&[8, 1, 56, 56], &[3136, 1, 56, 1]), None);
        assert_eq!(is_channels_last(&[8, 64, 1, 1], &[64, 1, 1, 1]), None);
    }
}
