use super::*;

/// The sizes of gpt-oss-20b.
pub(crate) const GPT_OSS: &str = r#"{
  "architectures": ["GptOssForCausalLM"], "model_type": "gpt_oss", "hidden_size": 2880,
  "intermediate_size": 2880, "num_hidden_layers": 24, "num_attention_heads": 64,
  "num_key_value_heads": 8, "head_dim": 64, "vocab_size": 201088, "sliding_window": 128,
  "layer_types": ["sliding_attention", "full_attention"], "num_local_experts": 32,
  "num_experts_per_tok": 4, "hidden_act": "silu", "torch_dtype": "bfloat16",
  "quantization_config": {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn", "lm_head"]}
}"#;

fn language(text: &str) -> LanguageModel {
    let config = parse(text).unwrap();
    config.language().unwrap().clone()
}

/// A small model with additional keys.
fn with(keys: &str) -> LanguageModel {
    language(&format!(
        r#"{{"architectures": ["A"], "hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 4,
        "vocab_size": 100, "intermediate_size": 16, {keys}}}"#
    ))
}

#[test]
fn a_configuration_that_is_proved_is_the_row() {
    let config = parse(GPT_OSS).unwrap();
    assert_eq!(config.name, "gpt-oss-20b");
    let model = config.language().unwrap();
    let row = proved("gpt_oss", 2880, 201_088, 24).unwrap();
    let row = row.language().unwrap();
    assert_eq!(
        (model.heads, model.kv_heads, model.head_dim, model.experts),
        (row.heads, row.kv_heads, row.head_dim, row.experts)
    );
    let windows = [0, 1, 22, 23].map(|layer| model.window_of(layer));
    assert_eq!(windows, [Some(128), None, Some(128), None]);
    let weights = model.weights.as_ref().unwrap();
    let held = ["experts", "self_attn", "mlp"].map(|module| weights.hold_for(module));
    assert_eq!((held, weights.bytes), ([true, false, false], 0.53125));
}

#[test]
fn rows_are_taken_where_all_sizes_agree() {
    for (family, hidden, vocab, layers) in [
        ("gpt_oss", 2880, 201_088, 25),
        ("gpt_oss", 2880, 201_089, 24),
        ("llama", 2880, 201_088, 24),
        ("gpt_oss", 4096, 201_088, 24),
    ] {
        assert_eq!(proved(family, hidden, vocab, layers), None);
    }
}

#[test]
fn what_is_left_out_follows_from_the_rest() {
    let model = with(r#""model_type": "llama", "hidden_act": "silu""#);
    assert_eq!(
        (model.kv_heads, model.head_dim, model.is_gated),
        (2, 4, Some(true))
    );
    assert_eq!(with(r#""hidden_act": "gelu_new""#).is_gated, Some(false));
    assert_eq!(
        with(r#""model_type": "gemma3_text", "hidden_act": "gelu""#).is_gated,
        Some(true)
    );
    assert_eq!(with(r#""x": 1"#).is_gated, None);
}

#[test]
fn windows_of_layers() {
    let seen = |keys: &str| {
        let model = with(keys);
        (0..6)
            .map(|layer| model.window_of(layer).is_some())
            .collect::<Vec<bool>>()
    };
    assert_eq!(seen(r#""sliding_window": 4"#), [true; 6]);
    assert_eq!(
        seen(r#""sliding_window": 4, "use_sliding_window": false"#),
        [false; 6]
    );
    assert_eq!(seen(r#""sliding_window": null"#), [false; 6]);
    assert_eq!(
        seen(r#""sliding_window": 4, "sliding_window_pattern": 3"#),
        [true, true, false, true, true, false]
    );
}

#[test]
fn experts_and_latents() {
    let model = with(
        r#""n_routed_experts": 64, "num_experts_per_tok": 6, "moe_intermediate_size": 4,
        "n_shared_experts": 2, "first_k_dense_replace": 1, "kv_lora_rank": 5, "q_lora_rank": null,
        "qk_nope_head_dim": 3, "qk_rope_head_dim": 2, "v_head_dim": 3"#,
    );
    let experts = Experts {
        n: 64,
        chosen: 6,
        inner: 4,
        shared_inner: 8,
        first_dense: 1,
    };
    assert_eq!(
        (model.experts_of(0), model.experts_of(1)),
        (None, Some(experts))
    );
    let latent = Latent {
        kv_rank: 5,
        q_rank: None,
        nope: 3,
        rope: 2,
        values: 3,
    };
    assert_eq!(model.latent, Some(latent));
}

#[test]
fn quantized_weights() {
    let weights = |keys: &str| {
        let model = with(&format!(r#""quantization_config": {{{keys}}}"#));
        model.weights.map(|weights| (weights.bytes, weights.math))
    };
    let fp8 = Some("float8_e4m3fn");
    let blocks = 1.0 + 4.0 / 16_384.0;
    let cases = [
        (
            r#""quant_method": "fp8", "weight_block_size": [128, 128]"#,
            Some((blocks, fp8)),
        ),
        (
            r#""quant_method": "awq", "bits": 4, "group_size": 128"#,
            Some((0.515_625, None)),
        ),
        (
            r#""quant_method": "gptq", "bits": 8, "group_size": 32"#,
            Some((1.0625, None)),
        ),
        (
            r#""quant_method": "modelopt", "quant_algo": "NVFP4""#,
            Some((0.5625, Some("float4_e2m1fn_x2"))),
        ),
        (
            r#""quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "float"}, "input_activations": {"num_bits": 8}}}"#,
            Some((1.0, fp8)),
        ),
        (
            r#""quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": {"num_bits": 4, "type": "int", "group_size": 32}, "input_activations": null}}"#,
            Some((0.5625, None)),
        ),
        (r#""quant_method": "something new""#, None),
    ];
    for (keys, expected) in cases {
        assert_eq!(weights(keys), expected, "{keys}");
    }
}

#[test]
fn the_transformer_of_a_diffusion_pipeline() {
    let config = parse(
        r#"{"_class_name": "FluxTransformer2DModel", "num_layers": 19, "num_single_layers": 38,
        "num_attention_heads": 24, "attention_head_dim": 128, "joint_attention_dim": 4096, "in_channels": 64}"#,
    );
    let config = config.unwrap();
    let model = config.diffusion().unwrap();
    assert_eq!(
        (&*config.name, model.hidden(), model.text_width),
        ("FLUX.1", 3072, Some(4096))
    );
}

#[test]
fn sizes_one_level_down() {
    let model = language(
        r#"{"architectures": ["A"], "model_type": "a", "text_config": {"model_type": "a_text", "hidden_size": 8,
        "num_attention_heads": 2, "num_hidden_layers": 4, "vocab_size": 100, "intermediate_size": 16}}"#,
    );
    assert_eq!((&*model.family, model.hidden), ("a_text", 8));
}

#[test]
fn what_is_wrong_is_said_in_a_sentence() {
    let cases = [
        (
            "{",
            "line 1: not JSON: a model's configuration is its config.json",
        ),
        (
            "[1]",
            "not a model's configuration: it has neither `architectures` nor `_class_name`",
        ),
        (
            r#"{"traceEvents": [], "model_type": "a"}"#,
            "not a model's configuration: it has neither `architectures` nor `_class_name`",
        ),
        (
            r#"{"architectures": []}"#,
            "`hidden_size` is missing: without it the shapes of its GEMMs cannot be computed",
        ),
        (
            r#"{"architectures": [], "hidden_size": "many"}"#,
            "`hidden_size` must be a whole number",
        ),
        (
            r#"{"architectures": [], "hidden_size": 8}"#,
            "`num_attention_heads` is missing: without it the shapes of attention cannot be computed",
        ),
        (
            r#"{"_class_name": "FluxPipeline"}"#,
            "the index of a pipeline, which has no sizes: the config.json of its transformer has them",
        ),
        (
            r#"{"_class_name": "Flux", "num_layers": 2}"#,
            "`num_attention_heads` is missing: without it the shapes of its GEMMs and attention cannot be computed",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(parse(text).unwrap_err().to_string(), expected, "{text}");
    }
}

#[test]
fn files_are_recognized_by_content() {
    for (text, expected) in [
        (GPT_OSS, true),
        (r#"{"_class_name": "FluxTransformer2DModel"}"#, true),
        (r#"{"traceEvents": [], "architectures": []}"#, false),
        (r#"{"name": "My GPU"}"#, false),
        ("[[perf_model]]", false),
    ] {
        assert_eq!(is_config(text.as_bytes()), expected, "{text}");
    }
    assert!(!is_config(&[0xff, 0x7b]));
}
