//! The order of dimensions in memory, in the words of advice.

/// The memory format of PyTorch with the channels last, by the number of dimensions; `None` where
/// there is none.
pub(super) fn channels_last(n_dims: usize) -> Option<&'static str> {
    match n_dims {
        4 => Some("torch.channels_last"),
        5 => Some("torch.channels_last_3d"),
        _ => None,
    }
}
