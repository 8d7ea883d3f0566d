//! Kinds of norms.

/// Kinds of norms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Norm {
    Batch,
    Instance,
    Group,
    Layer,
    Rms,
    Other,
}

impl Norm {
    pub(super) const ALL: [Norm; 6] = [
        Norm::Batch,
        Norm::Instance,
        Norm::Group,
        Norm::Layer,
        Norm::Rms,
        Norm::Other,
    ];

    /// By the name of the operator, or of the kernel that stands for itself.
    pub(super) fn of(name: &str) -> Norm {
        const WORDS: &[(&str, Norm)] = &[
            ("rmsnorm", Norm::Rms),
            ("l2norm", Norm::Rms),
            ("qknorm", Norm::Rms),
            ("instancenorm", Norm::Instance),
            ("batchnorm", Norm::Batch),
            ("bnorm", Norm::Batch),
            ("bnfw", Norm::Batch),
            ("bnbw", Norm::Batch),
            ("groupnorm", Norm::Group),
            ("layernorm", Norm::Layer),
            ("lnfwd", Norm::Layer),
            ("lnbwd", Norm::Layer),
        ];
        let letters: String = name
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .map(|letter| letter.to_ascii_lowercase())
            .collect();
        let word = WORDS.iter().find(|(word, _)| letters.contains(word));
        word.map_or(Norm::Other, |(_, norm)| *norm)
    }

    /// For people, in the middle of a sentence.
    pub(super) fn label(self) -> &'static str {
        match self {
            Norm::Batch => "batch norm",
            Norm::Instance => "instance norm",
            Norm::Group => "group norm",
            Norm::Layer => "layer norm",
            Norm::Rms => "RMS norm",
            Norm::Other => "other norm",
        }
    }

    /// At the start of a title.
    pub(super) fn title(self) -> &'static str {
        match self {
            Norm::Batch => "Batch norm",
            Norm::Instance => "Instance norm",
            Norm::Group => "Group norm",
            Norm::Layer => "Layer norm",
            Norm::Rms => "RMS norm",
            Norm::Other => "Other norms",
        }
    }

    pub(super) fn count_key(self) -> &'static str {
        match self {
            Norm::Batch => "batch_norm_count",
            Norm::Instance => "instance_norm_count",
            Norm::Group => "group_norm_count",
            Norm::Layer => "layer_norm_count",
            Norm::Rms => "rms_norm_count",
            Norm::Other => "other_norm_count",
        }
    }
}
