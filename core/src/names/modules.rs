//! Modules and Python frames by their names.

/// What part of a model a module is, as its name says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ModuleRole {
    /// Attention.
    Attention,
    /// The MLP (feed-forward) part.
    Mlp,
    /// A mixture of experts and its routing.
    Moe,
    /// A norm.
    Norm,
    /// Embedding of tokens or patches.
    Embedding,
    /// The output layer.
    Head,
    /// A convolution or a block of them.
    Convolution,
}

impl ModuleRole {
    /// In a sentence.
    pub fn label(self) -> &'static str {
        match self {
            ModuleRole::Attention => "attention",
            ModuleRole::Mlp => "the MLP",
            ModuleRole::Moe => "the MoE layer",
            ModuleRole::Norm => "a norm",
            ModuleRole::Embedding => "an embedding",
            ModuleRole::Head => "the output head",
            ModuleRole::Convolution => "a convolution block",
        }
    }

    /// What the name of a module says. The first that fits: "MoeMlp" is a mixture of experts.
    pub fn of_module(name: &str) -> Option<ModuleRole> {
        const WORDS: &[(&str, ModuleRole)] = &[
            ("rotary", ModuleRole::Attention),
            ("attention", ModuleRole::Attention),
            ("attn", ModuleRole::Attention),
            ("moe", ModuleRole::Moe),
            ("expert", ModuleRole::Moe),
            ("router", ModuleRole::Moe),
            ("norm", ModuleRole::Norm),
            ("embed", ModuleRole::Embedding),
            ("lm_head", ModuleRole::Head),
            ("lmhead", ModuleRole::Head),
            ("logits", ModuleRole::Head),
            ("classifier", ModuleRole::Head),
            ("mlp", ModuleRole::Mlp),
            ("feedforward", ModuleRole::Mlp),
            ("feed_forward", ModuleRole::Mlp),
            ("ffn", ModuleRole::Mlp),
            ("intermediate", ModuleRole::Mlp),
            ("bottleneck", ModuleRole::Convolution),
            ("basicblock", ModuleRole::Convolution),
            ("conv", ModuleRole::Convolution),
        ];
        let name = name.to_ascii_lowercase();
        let word = WORDS.iter().find(|(word, _)| name.contains(word))?;
        Some(word.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::format::without_number;

    #[test]
    fn names_tell_the_role() {
        let cases = [
            ("Qwen2FlashAttention2", Some(ModuleRole::Attention)),
            ("MixtralSparseMoeBlock", Some(ModuleRole::Moe)),
            ("Qwen2RMSNorm", Some(ModuleRole::Norm)),
            ("Qwen2MLP", Some(ModuleRole::Mlp)),
            ("TimesformerIntermediate", Some(ModuleRole::Mlp)),
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
