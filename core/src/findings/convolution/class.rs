//! What kind of convolution it is, by shapes and settings.

use super::super::Input;
use super::super::order::tensors;
use crate::assess::Thresholds;
use crate::perf::Param;
use crate::profile::operations::Operation;

/// What decides how close to the roof a convolution is expected to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    /// Each channel by itself.
    Depthwise,
    /// A window of one position.
    Pointwise,
    /// A window of two or three positions.
    Standard,
    /// A wider one.
    Large,
}

impl Class {
    pub(super) const ALL: [Class; 4] = [
        Class::Pointwise,
        Class::Standard,
        Class::Large,
        Class::Depthwise,
    ];

    /// In a table.
    pub(super) fn label(self) -> &'static str {
        match self {
            Class::Depthwise => "depthwise",
            Class::Pointwise => "1×1",
            Class::Standard => "window up to 3",
            Class::Large => "window above 3",
        }
    }

    /// What is usual, in percent of the roof: lower and upper end.
    pub(super) fn band(self) -> (f64, f64) {
        match self {
            Class::Depthwise => (30.0, 50.0),
            Class::Pointwise => (40.0, 60.0),
            Class::Standard => (50.0, 70.0),
            Class::Large => (60.0, 80.0),
        }
    }

    /// Below this it is a bottleneck. Depthwise convolutions are expected to be less efficient.
    pub(super) fn gate(self, thresholds: &Thresholds) -> f64 {
        match self {
            Class::Depthwise => self.band().0.min(thresholds.gate_efficiency_percent),
            _ => thresholds.gate_efficiency_percent,
        }
    }
}

/// Shapes and settings of a convolution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shape {
    /// Batch, channels, positions.
    pub(super) input: Vec<u64>,
    /// Output channels (input channels where it is transposed), channels of a group, window.
    pub(super) filter: Vec<u64>,
    pub(super) stride: Vec<u64>,
    pub(super) dilation: Vec<u64>,
    /// On either side of the input; `None` where it is not told.
    pub(super) padding: Option<Vec<u64>>,
    /// What is added to the result of a transposed one, where its padding is told.
    pub(super) output_padding: Vec<u64>,
    pub(super) groups: u64,
    pub(super) is_transposed: bool,
    /// Channels lie next to each other in memory; `None` where strides do not tell.
    pub(super) is_channels_last: Option<bool>,
}

impl Shape {
    /// Of an operation; `None` where nothing tells.
    pub(super) fn of(input: &Input, operation: &Operation) -> Option<Shape> {
        Shape::of_params(operation).or_else(|| Shape::of_tensors(input, operation))
    }

    fn of_params(operation: &Operation) -> Option<Shape> {
        let modelled = operation.modelled.as_ref()?;
        let sizes = |wanted: &str| whole(modelled.param(wanted)?.sizes()?);
        let (input, filter) = (sizes("input_shape")?, sizes("filter_shape")?);
        let n_dims = input.len().checked_sub(2).filter(|n| *n > 0)?;
        (filter.len() == input.len()).then_some(())?;
        Some(Shape {
            is_channels_last: sizes("input_stride")
                .and_then(|strides| is_channels_last(&input, &strides)),
            input,
            filter,
            stride: sizes("stride").unwrap_or_else(|| vec![1; n_dims]),
            dilation: sizes("dilation").unwrap_or_else(|| vec![1; n_dims]),
            padding: sizes("padding"),
            output_padding: sizes("output_padding").unwrap_or_else(|| vec![0; n_dims]),
            groups: modelled.param("groups").and_then(Param::size).unwrap_or(1),
            is_transposed: modelled
                .param("transposed_conv")
                .is_some_and(Param::is_true),
        })
    }

    /// Input and filter are the first two tensors of equal rank; before those of a backward pass
    /// stands the gradient. Settings are not told.
    fn of_tensors(input: &Input, operation: &Operation) -> Option<Shape> {
        let name = operation.short_name(input.profile);
        let tensors = tensors(input, operation);
        let skip = usize::from(name.contains("backward"));
        let (x, w) = (tensors.get(skip)?, tensors.get(skip + 1)?);
        if x.shape.len() != w.shape.len() || x.shape.len() < 3 {
            return None;
        }
        let (input, filter) = (whole(x.shape)?, whole(w.shape)?);
        let n_dims = input.len() - 2;
        // Each group has its share of the input channels.
        let channels = *input.get(1)?;
        let groups = channels.checked_div(*filter.get(1)?).unwrap_or(1).max(1);
        Some(Shape {
            is_channels_last: x
                .strides
                .and_then(whole)
                .and_then(|strides| is_channels_last(&input, &strides)),
            input,
            filter,
            stride: vec![1; n_dims],
            dilation: vec![1; n_dims],
            padding: None,
            output_padding: vec![0; n_dims],
            groups,
            is_transposed: name.contains("transpose"),
        })
    }

    /// Dimensions of its tensors: batch, channels, and those of the image.
    pub(super) fn n_dims(&self) -> usize {
        self.input.len()
    }

    /// The window.
    pub(super) fn window(&self) -> &[u64] {
        self.filter.get(2..).unwrap_or_default()
    }

    /// Channels that are read.
    pub(super) fn channels(&self) -> u64 {
        self.input.get(1).copied().unwrap_or(0)
    }

    /// Channels that are written.
    pub(super) fn out_channels(&self) -> u64 {
        match self.is_transposed {
            true => self
                .filter
                .get(1)
                .map_or(0, |channels| channels.saturating_mul(self.groups)),
            false => self.filter.first().copied().unwrap_or(0),
        }
    }

    /// Positions that are written for each image.
    pub(super) fn positions(&self) -> u64 {
        let n_dims = self.n_dims().saturating_sub(2);
        (0..n_dims)
            .map(|dim| self.written(dim).unwrap_or(0))
            .fold(1, u64::saturating_mul)
    }

    /// Positions along a dimension that are written; where no padding is told it keeps the size.
    fn written(&self, dim: usize) -> Option<u64> {
        let (size, window) = (*self.input.get(dim + 2)?, *self.filter.get(dim + 2)?);
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
            .saturating_mul(window.saturating_sub(1));
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
    pub(super) fn elements(&self) -> [u64; 2] {
        let all = |sizes: &[u64]| sizes.iter().copied().fold(1_u64, u64::saturating_mul);
        let batch = self.input.first().copied().unwrap_or(0);
        let result = [batch, self.out_channels(), self.positions()];
        [all(&self.input), all(&result)]
    }

    /// Each channel by itself.
    pub(super) fn is_depthwise(&self) -> bool {
        self.groups > 1
            && self.groups == self.channels()
            && (self.is_transposed || self.filter.get(1) == Some(&1))
    }

    /// Channels that a group reads.
    pub(super) fn group_channels(&self) -> u64 {
        self.channels() / self.groups.max(1)
    }

    /// Windows side by side, as vision transformers cut images into patches.
    pub(super) fn is_patches(&self) -> bool {
        let is_wide = self.window().iter().any(|size| *size > 1);
        is_wide && !self.is_transposed && self.groups == 1 && self.stride == self.window()
    }

    pub(super) fn class(&self) -> Class {
        let widest = self.window().iter().copied().max().unwrap_or(1);
        match widest {
            _ if self.is_depthwise() => Class::Depthwise,
            0..=1 => Class::Pointwise,
            2..=3 => Class::Standard,
            _ => Class::Large,
        }
    }

    /// "3×3, stride 2"; "depthwise 7×7"; "transposed 4×4, stride 2"; "5 (1d)".
    pub(super) fn text(&self) -> String {
        let window: Vec<String> = self.window().iter().map(u64::to_string).collect();
        let mut text = window.join("×");
        if self.window().len() == 1 {
            text.push_str(" (1d)");
        }
        let of_groups = match (self.is_depthwise(), self.groups) {
            (true, _) => "depthwise ".to_owned(),
            (false, 0 | 1) => String::new(),
            (false, groups) => format!("{groups} groups of "),
        };
        let transposed = if self.is_transposed {
            "transposed "
        } else {
            ""
        };
        text = format!("{transposed}{of_groups}{text}");
        let beyond_one = |name: &str, values: &[u64]| {
            let first = values.first().copied().unwrap_or(1);
            if values.iter().all(|value| *value == 1) {
                return String::new();
            }
            match values.iter().all(|value| *value == first) {
                true => format!(", {name} {first}"),
                false => {
                    let values: Vec<String> = values.iter().map(u64::to_string).collect();
                    format!(", {name} {}", values.join("×"))
                }
            }
        };
        text.push_str(&beyond_one("stride", &self.stride));
        text.push_str(&beyond_one("dilation", &self.dilation));
        text
    }

    /// "10×64×56×56 by 64×64×3×3".
    pub(super) fn sizes(&self) -> String {
        let join = |sizes: &[u64]| {
            let sizes: Vec<String> = sizes.iter().map(u64::to_string).collect();
            sizes.join("×")
        };
        format!("{} by {}", join(&self.input), join(&self.filter))
    }
}

/// Sizes that are none below zero.
fn whole(sizes: &[i64]) -> Option<Vec<u64>> {
    sizes.iter().map(|size| u64::try_from(*size).ok()).collect()
}

/// Whether channels lie next to each other; `None` where shapes make no difference.
fn is_channels_last(sizes: &[u64], strides: &[u64]) -> Option<bool> {
    let (channels, channel_stride) = (*sizes.get(1)?, *strides.get(1)?);
    let positions = sizes.iter().skip(2).copied().fold(1, u64::saturating_mul);
    (channels > 1 && positions > 1 && sizes.len() == strides.len()).then_some(channel_stride == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(input: &[u64], filter: &[u64], groups: u64) -> Shape {
        let n_dims = input.len() - 2;
        Shape {
            input: input.to_vec(),
            filter: filter.to_vec(),
            stride: vec![1; n_dims],
            dilation: vec![1; n_dims],
            padding: None,
            output_padding: vec![0; n_dims],
            groups,
            is_transposed: false,
            is_channels_last: None,
        }
    }

    #[test]
    fn shapes_tell_the_class() {
        let cases = [
            (
                shape(&[8, 64, 56, 56], &[64, 64, 1, 1], 1),
                Class::Pointwise,
                "1×1",
            ),
            (
                shape(&[8, 64, 56, 56], &[64, 64, 3, 3], 1),
                Class::Standard,
                "3×3",
            ),
            (
                shape(&[8, 3, 224, 224], &[64, 3, 7, 7], 1),
                Class::Large,
                "7×7",
            ),
            // The longer side decides.
            (
                shape(&[8, 64, 17, 17], &[64, 64, 1, 7], 1),
                Class::Large,
                "1×7",
            ),
            (
                shape(&[8, 64, 56, 56], &[64, 1, 3, 3], 64),
                Class::Depthwise,
                "depthwise 3×3",
            ),
            (
                shape(&[8, 64, 56, 56], &[64, 16, 3, 3], 4),
                Class::Standard,
                "4 groups of 3×3",
            ),
            (
                shape(&[8, 64, 1000], &[64, 64, 5], 1),
                Class::Large,
                "5 (1d)",
            ),
            (
                shape(&[1, 4, 9, 9, 9], &[8, 4, 3, 3, 3], 1),
                Class::Standard,
                "3×3×3",
            ),
        ];
        for (shape, class, text) in cases {
            assert_eq!(shape.class(), class, "{text}");
            assert_eq!(shape.text(), text);
        }
        let strided = Shape {
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
        let of = |size: u64, window: u64, padding: u64, dilation: u64| Shape {
            padding: Some(vec![padding; 2]),
            dilation: vec![dilation; 2],
            ..shape(&[1, 8, size, size], &[8, 8, window, window], 1)
        };
        // A window of all that there is, one that loses a row on each side, and one that keeps them.
        assert_eq!(of(8, 8, 0, 1).positions(), 1);
        assert_eq!(of(16, 3, 0, 1).positions(), 14 * 14);
        assert_eq!(of(16, 3, 1, 1).positions(), 16 * 16);
        // Five positions wide.
        assert_eq!(of(16, 3, 0, 2).positions(), 12 * 12);
        // (4 − 1)·2 + 4 − 2 = 8.
        let transposed = Shape {
            is_transposed: true,
            stride: vec![2, 2],
            ..of(4, 4, 1, 1)
        };
        assert_eq!(transposed.positions(), 8 * 8);
        // A window that does not fit writes nothing.
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
