//! Roles of modules, by name.

use super::words::{Words, classify};
use crate::base::labels::labeled;
use ModuleRole::*;

labeled! {
    /// The part of a model that a module is, according to its name.
    pub enum ModuleRole {
        /// Attention.
        Attention => "attention",
        /// The MLP (feed-forward) part.
        Mlp => "the MLP",
        /// A mixture of experts and its routing.
        Moe => "the MoE layer",
        /// A normalization layer.
        Norm => "a norm",
        /// Embedding of tokens or patches.
        Embedding => "an embedding",
        /// The output layer.
        Head => "the output head",
        /// A convolution or a block of them.
        Convolution => "a convolution block",
    }
}

/// "MoeMlp" is a mixture of experts.
#[rustfmt::skip]
const WORDS: &Words<ModuleRole> = &[
    (Attention, &["rotary", "attention", "attn"]),
    (Moe, &["moe", "expert", "router"]),
    (Norm, &["norm"]),
    (Embedding, &["embed"]),
    (Head, &["lm_head", "lmhead", "logits", "classifier"]),
    (Mlp, &["mlp", "feedforward", "feed_forward", "ffn", "intermediate"]),
    (Convolution, &["bottleneck", "basicblock", "conv"]),
];

impl ModuleRole {
    /// From the name of a module.
    pub(crate) fn of_module(name: &str) -> Option<ModuleRole> {
        classify(WORDS, name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::format::without_number;

    #[test]
    fn names_tell_the_role() {
        let cases = [
            ("Qwen2FlashAttention2", Some(Attention)),
            ("MixtralSparseMoeBlock", Some(Moe)),
            ("Qwen2RMSNorm", Some(Norm)),
            ("Qwen2MLP", Some(Mlp)),
            ("TimesformerIntermediate", Some(Mlp)),
            ("Linear", None),
        ];
        for (module, role) in cases {
            assert_eq!(ModuleRole::of_module(module), role, "{module}");
        }
        assert_eq!(without_number("Linear_12"), "Linear");
        assert_eq!(without_number("Linear_a"), "Linear_a");
        assert_eq!(without_number("Linear_"), "Linear_");
    }
}
