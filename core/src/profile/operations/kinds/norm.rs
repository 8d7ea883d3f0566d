//! Kinds of norms, by name and arguments.

use super::convolution::channels_last;
use crate::names::norm::NormKind;
use crate::profile::Profile;
use crate::profile::operations::Operation;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Norm {
    pub(crate) kind: NormKind,
    pub(crate) is_backward: bool,
    /// Whether a batch norm computes statistics from the batch; `None` if that was not recorded.
    pub(crate) is_training: Option<bool>,
    /// The channels-last format, if the channels of the input are not contiguous.
    pub(crate) wanted_format: Option<&'static str>,
}

impl Norm {
    pub(crate) fn of(profile: &Profile, operation: &Operation) -> Norm {
        let name = operation.short_name(profile);
        let kind = NormKind::of(name);
        let lower = name.to_ascii_lowercase();
        let is_backward = lower.contains("backward")
            || lower.contains("bwd")
            || operation.key.label == "NORM_bwd";
        let is_training = || is_training(profile, operation, is_backward);
        Norm {
            kind,
            is_backward,
            is_training: (kind == NormKind::Batch).then(is_training).flatten(),
            wanted_format: wanted_format(profile, operation, is_backward),
        }
    }

    /// "batch norm, training".
    pub(crate) fn class(self) -> String {
        let suffix = match (self.is_backward, self.is_training) {
            (true, _) => " backward",
            (false, Some(true)) => ", training",
            (false, Some(false)) => ", inference",
            (false, None) => "",
        };
        format!("{}{suffix}", self.kind.label())
    }

    /// A batch norm that uses batch statistics.
    pub(crate) fn is_trained_batch_norm(self) -> bool {
        self.kind == NormKind::Batch && (self.is_backward || self.is_training == Some(true))
    }
}

/// The `training` flag as recorded: the sixth argument of every batch norm, `(x, scale, shift, mean, variance,
/// training, …)`, the eighth of `native_batch_norm_backward`.
fn is_training(profile: &Profile, operation: &Operation, is_backward: bool) -> Option<bool> {
    let name = operation.short_name(profile);
    if name.ends_with("_no_training") {
        return Some(false);
    }
    let arguments = operation.arguments(profile)?;
    match is_backward {
        false => arguments.flag(5),
        true if name.ends_with("native_batch_norm_backward") => arguments.flag(7),
        true => None,
    }
}

/// The channels-last format, if the stride of the channels (dimension 1) is not the smallest. The input is the first
/// argument, in a backward pass the second.
fn wanted_format(
    profile: &Profile,
    operation: &Operation,
    is_backward: bool,
) -> Option<&'static str> {
    let arguments = operation.arguments(profile)?;
    let x = arguments.tensor(usize::from(is_backward))?;
    let strides = x.strides.filter(|strides| strides.len() == x.shape.len())?;
    let are_apart =
        x.shape.get(1).is_some_and(|size| *size > 1) && strides.get(1) != strides.iter().min();
    channels_last(x.shape.len()).filter(|_| are_apart)
}
