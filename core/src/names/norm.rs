//! Kinds of norms, by name.

use super::words::{Words, letters, said_by};
use crate::base::labels::labelled;

labelled! {
    /// Kinds of norms, as in the middle of a sentence.
    pub(crate) enum NormKind {
        Batch => "batch norm",
        Instance => "instance norm",
        Group => "group norm",
        Layer => "layer norm",
        Rms => "RMS norm",
        Other => "other norm",
    }
}

/// By the letters of a name.
const WORDS: &Words<NormKind> = &[
    (NormKind::Rms, &["rmsnorm", "l2norm", "qknorm"]),
    (NormKind::Instance, &["instancenorm"]),
    (NormKind::Batch, &["batchnorm", "bnorm", "bnfw", "bnbw"]),
    (NormKind::Group, &["groupnorm"]),
    (NormKind::Layer, &["layernorm", "lnfwd", "lnbwd"]),
];

impl NormKind {
    /// By the name of the operator, or of the kernel that stands for itself.
    pub(crate) fn of(name: &str) -> NormKind {
        said_by(WORDS, &letters(name)).unwrap_or(NormKind::Other)
    }

    /// At the start of a title, and the name of its number in files.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            NormKind::Batch => ("Batch norm", "batch_norm_count"),
            NormKind::Instance => ("Instance norm", "instance_norm_count"),
            NormKind::Group => ("Group norm", "group_norm_count"),
            NormKind::Layer => ("Layer norm", "layer_norm_count"),
            NormKind::Rms => ("RMS norm", "rms_norm_count"),
            NormKind::Other => ("Other norms", "other_norm_count"),
        }
    }

    /// At the start of a title.
    pub(crate) fn title(self) -> &'static str {
        self.names().0
    }

    /// The name of its number of operations in files.
    pub(crate) fn count_key(self) -> &'static str {
        self.names().1
    }
}

#[cfg(test)]
mod tests {
    use super::NormKind::{self, *};

    #[test]
    fn names_tell_the_norm() {
        let cases = [
            ("aten::batch_norm", Batch),
            ("aten::miopen_batch_norm_backward", Batch),
            ("void cudnn::bn_fw_tr_1C11_singleread<__half>", Batch),
            ("aten::native_layer_norm_backward", Layer),
            ("aten::_fused_rms_norm", Rms),
            ("aiter::add_rmsnorm", Rms),
            ("aten::instance_norm", Instance),
            ("aiter::_groupnorm_run", Group),
            ("my_norm", Other),
        ];
        for (name, norm) in cases {
            assert_eq!(NormKind::of(name), norm, "{name}");
        }
    }
}
