//! Kinds of norms, by name.

use super::words::{Words, classify, letters};
use crate::base::labels::labeled;

labeled! {
    /// Kinds of norms, labeled as in the middle of a sentence; `as` gives the key of their count in files.
    pub(crate) enum NormKind {
        Batch => "batch norm" as "batch_norm_count",
        Instance => "instance norm" as "instance_norm_count",
        Group => "group norm" as "group_norm_count",
        Layer => "layer norm" as "layer_norm_count",
        Rms => "RMS norm" as "rms_norm_count",
        Other => "other norm" as "other_norm_count",
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
    /// From the name of the operator, or of a kernel without one.
    pub(crate) fn of(name: &str) -> NormKind {
        classify(WORDS, &letters(name)).unwrap_or(NormKind::Other)
    }

    /// Its label at the start of a title.
    pub(crate) fn title(self) -> &'static str {
        match self {
            NormKind::Batch => "Batch norm",
            NormKind::Instance => "Instance norm",
            NormKind::Group => "Group norm",
            NormKind::Layer => "Layer norm",
            NormKind::Rms => "RMS norm",
            NormKind::Other => "Other norms",
        }
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
