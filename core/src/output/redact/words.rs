//! Words that say what kind of work something is, without revealing whose it is.

/// Words of kernels, operators and modules, in lower case. If one is a prefix of another, the longer one comes first.
#[rustfmt::skip]
const WORDS: &[&str] = &[
    "scaled_dot_product", "attention", "attn", "fmha", "flash", "sdpa", "mla", "mqa", "kv_cache", "kvcache",
    "rotary", "rope", "causal", "layer_norm", "layernorm", "rms_norm", "rmsnorm", "batch_norm", "batchnorm",
    "group_norm", "groupnorm", "instance_norm", "norm", "grouped_gemm", "gemm", "gemv", "matmul", "bmm",
    "scaled_mm", "linear", "convolution", "conv1d", "conv2d", "conv3d", "conv", "winograd", "im2col",
    "transpose", "log_softmax", "softmax", "cross_entropy", "nll_loss", "loss", "reduce_scatter", "all_reduce",
    "allreduce", "all_gather", "allgather", "all_to_all", "alltoall", "cross_device_reduce", "nccl", "rccl",
    "nvshmem", "broadcast", "reduction", "reduce", "topk", "argmax", "sort", "cumsum", "scan", "pool", "moe",
    "experts", "expert", "router", "gating", "elementwise", "pointwise", "multi_tensor_apply", "dropout",
    "embedding", "embed", "gelu_tanh", "gelu", "relu", "silu", "swiglu", "geglu", "sigmoid", "tanh", "adamw",
    "adam", "sgd", "quant", "permute", "cast", "copy", "fill", "index", "gather", "scatter", "cat", "arange",
    "philox", "position", "token_ids", "mlp", "feedforward", "feed_forward", "ffn", "intermediate",
    "bottleneck", "basicblock", "lm_head", "lmhead", "logits", "classifier", "encoder", "decoder", "layer",
    "block", "head", "fused_add", "backward", "forward", "triton", "bwd", "fwd", "memcpy", "memset",
];

/// The words contained in a name, in order of position.
pub(super) fn in_name(name: &str) -> Vec<&'static str> {
    let lower = name.to_ascii_lowercase();
    let mut found = Vec::new();
    let mut rest = lower.as_str();
    while let Some(first) = rest.chars().next() {
        let here = WORDS.iter().filter(|word| rest.starts_with(**word));
        match here.max_by_key(|word| word.len()) {
            Some(word) => {
                if !found.contains(word) {
                    found.push(*word);
                }
                rest = rest.get(word.len()..).unwrap_or_default();
            }
            None => rest = rest.get(first.len_utf8()..).unwrap_or_default(),
        }
    }
    found
}

/// A placeholder followed by the words of the name.
pub(super) fn described(placeholder: String, name: &str) -> String {
    in_name(name)
        .into_iter()
        .fold(placeholder, |all, word| format!("{all}_{word}"))
}

pub(super) fn is_identifier(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !text.is_empty() && text.bytes().all(is_letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_words_stay_and_others_go() {
        let cases = [
            ("void acme::SecretRmsNormKernel<float>", "x_rmsnorm"),
            ("acme_fused_add_rms_norm_bwd", "x_fused_add_rms_norm_bwd"),
            ("AcmeFlashAttention", "x_flash_attention"),
            ("AcmeDecoderLayer", "x_decoder_layer"),
            ("größe", "x"),
            ("", "x"),
        ];
        for (name, expected) in cases {
            assert_eq!(described("x".to_owned(), name), expected, "{name}");
        }
    }
}
