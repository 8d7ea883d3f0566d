//! Kinds of norms, by name.

/// Kinds of norms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NormKind {
    Batch,
    Instance,
    Group,
    Layer,
    Rms,
    Other,
}

/// What the letters of a name hold; the first that fits.
const WORDS: &[(&str, NormKind)] = &[
    ("rmsnorm", NormKind::Rms),
    ("l2norm", NormKind::Rms),
    ("qknorm", NormKind::Rms),
    ("instancenorm", NormKind::Instance),
    ("batchnorm", NormKind::Batch),
    ("bnorm", NormKind::Batch),
    ("bnfw", NormKind::Batch),
    ("bnbw", NormKind::Batch),
    ("groupnorm", NormKind::Group),
    ("layernorm", NormKind::Layer),
    ("lnfwd", NormKind::Layer),
    ("lnbwd", NormKind::Layer),
];

impl NormKind {
    /// All kinds, in the order of tables.
    pub(crate) const ALL: [NormKind; 6] = [
        NormKind::Batch,
        NormKind::Instance,
        NormKind::Group,
        NormKind::Layer,
        NormKind::Rms,
        NormKind::Other,
    ];

    /// By the name of the operator, or of the kernel that stands for itself.
    pub(crate) fn of(name: &str) -> NormKind {
        let letters: String = name
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .map(|letter| letter.to_ascii_lowercase())
            .collect();
        let word = WORDS.iter().find(|(word, _)| letters.contains(word));
        word.map_or(NormKind::Other, |(_, norm)| *norm)
    }

    /// For people: at the start of a title, in the middle of a sentence, and the name of its number
    /// in files.
    fn names(self) -> [&'static str; 3] {
        match self {
            NormKind::Batch => ["Batch norm", "batch norm", "batch_norm_count"],
            NormKind::Instance => ["Instance norm", "instance norm", "instance_norm_count"],
            NormKind::Group => ["Group norm", "group norm", "group_norm_count"],
            NormKind::Layer => ["Layer norm", "layer norm", "layer_norm_count"],
            NormKind::Rms => ["RMS norm", "RMS norm", "rms_norm_count"],
            NormKind::Other => ["Other norms", "other norm", "other_norm_count"],
        }
    }

    /// At the start of a title.
    pub(crate) fn title(self) -> &'static str {
        self.names()[0]
    }

    /// In the middle of a sentence.
    pub(crate) fn label(self) -> &'static str {
        self.names()[1]
    }

    /// The name of its number of operations in files.
    pub(crate) fn count_key(self) -> &'static str {
        self.names()[2]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_norm() {
        let cases = [
            ("aten::batch_norm", NormKind::Batch),
            ("aten::miopen_batch_norm_backward", NormKind::Batch),
            (
                "void cudnn::bn_fw_tr_1C11_singleread<__half>",
                NormKind::Batch,
            ),
            ("aten::native_layer_norm_backward", NormKind::Layer),
            ("aten::_fused_rms_norm", NormKind::Rms),
            ("aiter::add_rmsnorm", NormKind::Rms),
            ("aten::instance_norm", NormKind::Instance),
            ("aiter::_groupnorm_run", NormKind::Group),
            ("my_norm", NormKind::Other),
        ];
        for (name, norm) in cases {
            assert_eq!(NormKind::of(name), norm, "{name}");
        }
    }
}
