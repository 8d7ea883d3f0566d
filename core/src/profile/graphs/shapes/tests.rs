use std::collections::BTreeMap;
use std::sync::Arc;

use super::{EagerShapes, Estimate, ShapeSources, Source};
use crate::perf::model_config::{Role, parse};
use crate::profile::Profile;
use crate::testing::Timetable;

/// Two layers, hidden size 256, 4 query heads and 2 KV heads with head dimension 64, vocabulary 30 000.
const CONFIG: &str = r#"{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 256,
    "intermediate_size": 512, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
    "vocab_size": 30000, "hidden_act": "silu"}"#;

/// Three requests of 10, 20 and 30 tokens decode.
const STEP: &str = "execute_3_context_0(sq0sk0sqsq0sqsk0)_generation_3(sq3sk60sqsq3sqsk60)";

const LAYER: &[(&str, u32)] = &[
    ("nvjet_tst_64x64_qkv", 10),
    ("void vllm::rotary_embedding_kernel<c10::BFloat16>", 2),
    (
        "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16>",
        2,
    ),
    ("kernel_unified_attention_3d", 9),
    ("reduce_segments", 1),
    ("nvjet_tst_64x64", 5),
    ("void vllm::fused_add_rms_norm_kernel<c10::BFloat16>", 2),
    ("nvjet_tst_64x64", 20),
    (
        "void vllm::act_and_mul_kernel<c10::BFloat16, silu_kernel>",
        2,
    ),
    ("nvjet_tst_64x64", 10),
    ("void vllm::fused_add_rms_norm_kernel<c10::BFloat16>", 2),
];

/// A step that replays `layers` layers in one graph, followed by a GEMM.
fn replay(step: &str, layers: usize, head: &str) -> Timetable {
    replay_after(Timetable::new(), 0, step, layers, head)
}

/// The same, starting at a given time.
fn replay_after(before: Timetable, at: u32, step: &str, layers: usize, head: &str) -> Timetable {
    let mut timetable =
        before
            .annotation(step, at..at + 100)
            .runtime("cudaGraphLaunch", 5, at + 10..at + 20);
    let mut start = at + 200;
    for (kernel, us) in LAYER.repeat(layers) {
        timetable = timetable.kernel(5, kernel, start..start + us);
        start += us;
    }
    let bf16 = r#""Input type": ["c10::BFloat16", "c10::BFloat16"]"#;
    timetable
        .op("aten::mm", at + 30..at + 40)
        .args(&format!(r#""Input Dims": {head}, {bf16}"#))
        .launched("nvjet_tst_128x64", at + 31..at + 32, start..start + 50)
}

const HEAD: &str = "[[3, 256], [256, 30000]]";

fn with_config(timetable: &Timetable, config: &str) -> Profile {
    let config = parse(config).unwrap();
    timetable.profile().with_sources(ShapeSources {
        config: Some(Arc::new(config)),
        ..ShapeSources::default()
    })
}

/// Role, number of calls, and FLOPs and bytes of one call.
fn estimates(profile: &Profile) -> Vec<(Role, usize, f64, f64)> {
    let all = profile.operations().iter();
    let all = all.filter_map(|one| {
        let Estimate { role, modeled, .. } = one.estimate.as_ref()?;
        Some((
            *role,
            one.calls.len(),
            modeled.work.flops,
            modeled.work.bytes?,
        ))
    });
    let mut all: Vec<_> = all.collect();
    all.sort_by_key(|one| one.0);
    all
}

#[test]
fn replayed_kernels_get_their_sizes_from_a_configuration() {
    let profile = with_config(&replay(STEP, 2, HEAD), CONFIG);
    let gemm = |n: f64, k: f64| (2.0 * 3.0 * n * k, 2.0 * (3.0 * n + 3.0 * k + n * k));
    // 60 pairs; 3 new tokens and 57 from the cache. Nine tenths are in the attention kernel, one in the kernel that
    // combines its parts.
    let attention = (
        2.0 * 4.0 * 128.0 * 60.0,
        2.0 * (3.0 * 6.0 * 128.0 + 57.0 * 2.0 * 128.0),
    );
    #[rustfmt::skip]
    let expected = [
        (Role::Qkv, 2, gemm(512.0, 256.0).0, gemm(512.0, 256.0).1),
        (Role::Attention, 2, attention.0 * 0.9, attention.1 * 0.9),
        (Role::Attention, 2, attention.0 * 0.1, attention.1 * 0.1),
        (Role::Output, 2, gemm(256.0, 256.0).0, gemm(256.0, 256.0).1),
        (Role::GateUp, 2, gemm(1024.0, 256.0).0, gemm(1024.0, 256.0).1),
        (Role::Down, 2, gemm(256.0, 512.0).0, gemm(256.0, 512.0).1),
        (Role::Norm, 4, 0.0, 3.0 * 4.0 * 256.0 * 2.0),
        (Role::Rope, 2, 0.0, 3.0 * 2.0 * 6.0 * 64.0 * 2.0),
        (Role::Store, 2, 0.0, 3.0 * 2.0 * 2.0 * 64.0 * 4.0),
        (Role::Activation, 2, 0.0, 3.0 * 3.0 * 512.0 * 2.0),
    ];
    let seen = estimates(&profile);
    assert_eq!(seen.len(), expected.len(), "{seen:#?}");
    for (seen, expected) in seen.iter().zip(expected) {
        let is_near = |one: f64, other: f64| (one - other).abs() <= 1e-6 * other.abs();
        assert_eq!((seen.0, seen.1), (expected.0, expected.1));
        assert!(
            is_near(seen.2, expected.2) && is_near(seen.3, expected.3),
            "{seen:?} for {expected:?}"
        );
    }
    let sources = profile
        .operations()
        .iter()
        .filter_map(|one| Some(one.estimate.as_ref()?.source));
    assert!(sources.into_iter().all(|source| source == Source::Config));
}

/// Sheets have one row per kernel, whatever its roles.
#[test]
fn kernels_of_several_roles_are_one_row_of_the_sheet() {
    let plain = replay(STEP, 2, HEAD).profile();
    let known = with_config(&replay(STEP, 2, HEAD), CONFIG);
    let rows = |profile: &Profile| {
        let report = crate::Report::new(profile, &crate::testing::options_on("H100"));
        let sheet = report.sheet(profile, "unified_perf_summary").unwrap();
        format!("{:?}", sheet)
    };
    assert_eq!(rows(&known), rows(&plain));
    let n = |profile: &Profile| profile.operations().len();
    assert_eq!((n(&plain), n(&known)), (9, 11));
}

#[test]
fn what_a_graph_is_padded_to_is_told_by_what_follows() {
    let profile = with_config(&replay(STEP, 2, "[[8, 256], [256, 30000]]"), CONFIG);
    let all = profile.operations().iter();
    let qkv = all
        .filter_map(|one| one.estimate.as_ref())
        .find(|one| one.role == Role::Qkv);
    let qkv = qkv.unwrap();
    assert_eq!(
        (qkv.source, qkv.modeled.work.flops),
        (Source::Neighbors, 2.0 * 8.0 * 512.0 * 256.0)
    );
}

/// An all-reduce of the hidden states of three tokens, 256 wide, two bytes per element; with two ranks, the bus traffic
/// equals the message size.
#[test]
fn all_reduces_in_a_graph_move_the_hidden_states() {
    use crate::names::collective::CollectiveKind;
    use crate::profile::graphs::shapes::Messages;
    let timetable = replay(STEP, 2, HEAD);
    let known = with_config(&timetable, CONFIG);
    let call = known.gpu.iter().find_map(|(_, work)| {
        let call = work.launched_by?;
        crate::profile::launch::is_graph_launch(known.trace.name(call)).then_some(call)
    });
    let call = call.unwrap();
    assert_eq!(
        Messages::of(&known).at(&known, call),
        Some((768.0, "BFloat16".to_owned(), Source::Config))
    );
    let plain = timetable.profile();
    assert_eq!(Messages::of(&plain).at(&plain, call), None);
    assert_eq!(
        CollectiveKind::of_name("cross_device_reduce_1stage").bus_factor(2.0),
        Some(1.0)
    );
}

#[test]
fn a_configuration_of_another_model_is_refused() {
    let swap = |from: &str, to: &str| CONFIG.replace(from, to);
    let cases = [
        (
            swap(r#""hidden_size": 256"#, r#""hidden_size": 512"#),
            "The configuration is of another model: its hidden size is 512, in the trace it is 256.",
        ),
        (
            swap("30000", "60000"),
            "The configuration is of another model: its vocabulary is 60\u{202f}000, in the trace it is 30\u{202f}000.",
        ),
        (
            swap(r#""num_hidden_layers": 2"#, r#""num_hidden_layers": 3"#),
            "The configuration is of another model: its number of layers is 3, in the trace it is 2.",
        ),
    ];
    for (config, expected) in cases {
        let profile = with_config(&replay(STEP, 2, HEAD), &config);
        assert_eq!(estimates(&profile), [], "{config}");
        assert_eq!(profile.config_mismatch(), Some(expected));
    }
}

#[test]
fn without_a_configuration_other_models_stay_unknown() {
    let profile = replay(STEP, 2, HEAD).profile();
    assert_eq!(estimates(&profile), []);
    assert_eq!(
        (profile.known_model(), profile.config_mismatch()),
        (None, None)
    );
}

/// Two recorded layers: operators with the weights of each GEMM, and different kernel names.
fn eager(config_of_layer: &[(&str, &str, &str)]) -> Timetable {
    let bf16 = r#""Input type": ["c10::BFloat16", "c10::BFloat16", "c10::BFloat16"]"#;
    let mut timetable = Timetable::new();
    let mut at = 100;
    for _ in 0..2 {
        for (op, dims, kernel) in config_of_layer {
            let args = format!(r#""Input Dims": {dims}, {bf16}"#);
            timetable = timetable.call(op, &args, kernel, at..at + 5);
            at += 10;
        }
    }
    timetable
}

#[test]
fn an_eager_trace_tells_the_weights_by_their_order() {
    let (gemm, attention) = ("aten::mm", "vllm::unified_attention_with_output");
    let layer = [
        (gemm, "[[7, 256], [256, 512]]", "cutlass_128x128_gemm"),
        (
            attention,
            "[[7, 4, 64], [7, 2, 64], [7, 2, 64]]",
            "flash_fwd_kernel",
        ),
        (gemm, "[[7, 256], [256, 256]]", "cutlass_64x64_gemm"),
        (gemm, "[[7, 256], [256, 1024]]", "cutlass_256x128_gemm"),
        (
            "_C::silu_and_mul",
            "[[7, 512], [7, 1024]]",
            "act_and_mul_kernel",
        ),
        (gemm, "[[7, 512], [512, 256]]", "cutlass_64x64_gemm"),
    ];
    let shapes = EagerShapes::of(&eager(&layer).profile()).unwrap();
    let profile = replay(STEP, 2, HEAD).profile().with_sources(ShapeSources {
        eager: Some(shapes),
        ..ShapeSources::default()
    });
    let gemm = |n: f64, k: f64| 2.0 * 3.0 * n * k;
    let attention = 2.0 * 4.0 * 128.0 * 60.0;
    let seen: Vec<(Role, usize, f64)> = estimates(&profile)
        .into_iter()
        .map(|(role, n, flops, _)| (role, n, flops.round()))
        .collect();
    #[rustfmt::skip]
    let expected = [
        (Role::Qkv, 2, gemm(512.0, 256.0)),
        (Role::Attention, 2, (attention * 0.9_f64).round()),
        (Role::Attention, 2, (attention * 0.1_f64).round()),
        (Role::Output, 2, gemm(256.0, 256.0)),
        (Role::GateUp, 2, gemm(1024.0, 256.0)),
        (Role::Down, 2, gemm(256.0, 512.0)),
    ];
    assert_eq!(seen, expected);
    assert_eq!(
        profile.eager_coverage(),
        Some(
            "The eager trace, with 2 attention layers, gives the sizes of 10 of 10 replayed GEMMs and attentions."
        )
    );
    // The same with eager steps of the same trace, as prefill often is.
    let own = replay_after(eager(&layer), 1000, STEP, 2, HEAD).profile();
    let of_own: Vec<(Role, usize)> = estimates(&own)
        .into_iter()
        .map(|(role, n, ..)| (role, n))
        .collect();
    let roles: Vec<(Role, usize)> = expected.iter().map(|(role, n, _)| (*role, *n)).collect();
    assert_eq!(of_own, roles);
    assert_eq!(
        own.eager_coverage(),
        Some(
            "Steps of this trace without a graph, with 2 attention layers, give the sizes of 10 of 10 replayed GEMMs and attentions."
        )
    );
    // The graph has one layer more: nothing agrees.
    let other = replay(STEP, 3, HEAD)
        .profile()
        .with_sources(profile.sources.clone());
    assert_eq!(estimates(&other), []);
}

/// Inferred values are distinguished from recorded and unknown ones.
#[test]
fn what_is_worked_out_is_said_to_be() {
    let replay = replay(STEP, 2, HEAD);
    let found = |profile: &Profile| {
        let report = crate::Report::new(profile, &crate::testing::options_on("H100"));
        let outcome = report.analyses.outcome("graphs").unwrap();
        let us = |key: &str| outcome.get(key).map(|value| value.text());
        let findings = outcome.findings.iter();
        let findings: Vec<_> = findings
            .map(|one| (one.pattern, one.time_ns / 1000))
            .collect();
        let facts = report.overview.serving.unwrap().all_facts();
        let known = facts.into_iter().find(|(label, _)| label == "Known work");
        (findings, us("graph_unknown"), known.unwrap().1)
    };
    // Two layers of 65 µs, and an LM head of 50 µs.
    assert_eq!(
        found(&with_config(&replay, CONFIG)),
        (
            vec![("shapes_without_capture", 130)],
            Some("0 µs".to_owned()),
            "100 % of kernel time (from config 72.2 %, recorded 27.8 %)".to_owned()
        )
    );
    assert_eq!(
        found(&replay.profile()),
        (
            vec![("unknown_in_graphs", 130)],
            Some("130 µs".to_owned()),
            "27.8 % of kernel time (recorded 27.8 %)".to_owned()
        )
    );
}

/// GEMM sizes of a small diffusion transformer with hidden size 256: I and T of image and text, hidden × hidden; U and
/// V up, D and E down; B, W and O of both; m, s and z of the modulation; X, Y and F at its ends.
fn sizes(letter: char, [image, text]: [u64; 2]) -> Option<[u64; 3]> {
    let both = image + text;
    Some(match letter {
        'I' => [image, 256, 256],
        'T' => [text, 256, 256],
        'U' => [image, 1024, 256],
        'V' => [text, 1024, 256],
        'D' => [image, 256, 1024],
        'E' => [text, 256, 1024],
        'B' => [both, 256, 256],
        'W' => [both, 1024, 256],
        'O' => [both, 256, 1280],
        'm' => [1, 1536, 256],
        's' => [1, 768, 256],
        'z' => [1, 512, 256],
        'X' => [image, 256, 64],
        'Y' => [text, 256, 4096],
        'F' => [image, 64, 256],
        _ => return None,
    })
}

/// The blocks in sequence, run eagerly.
fn eager_blocks(blocks: &str, tokens: [u64; 2]) -> Profile {
    let bf16 =
        r#""Input type": ["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "Scalar", "Scalar"]"#;
    let mut timetable = Timetable::new();
    for (at, letter) in (10..).step_by(10).zip(blocks.chars()) {
        let (op, dims, kernel) = match (letter, sizes(letter, tokens)) {
            (_, Some([m, n, k])) => (
                "aten::mm",
                format!("[[{m}, {k}], [{k}, {n}]]"),
                "ampere_bf16_s16816gemm_bf16_128x128_ldg8",
            ),
            ('a', None) => (
                "aten::_scaled_dot_product_flash_attention",
                {
                    let all = format!("[1, 2, {}, 128]", tokens[0] + tokens[1]);
                    // Q, K, V, dropout, and not causal.
                    let rest = r#"[], []], "Concrete Inputs": ["", "", "", "0.", "False"]"#;
                    format!("[{all}, {all}, {all}, {rest}")
                },
                "flash_fwd_kernel",
            ),
            _ => ("aten::gelu", "[[8, 8]]".to_owned(), "GeluCUDAKernelImpl"),
        };
        let args = format!(r#""Input Dims": {dims}, {bf16}"#);
        timetable = timetable.call(op, &args, kernel, at..at + 5);
    }
    timetable.profile()
}

/// The same in a graph, in a different order, for a different image and with different kernels.
fn compiled_blocks(blocks: &str) -> Timetable {
    let inputs = r#""Input Dims": [[[1], [1, 640, 64], [1, 128, 4096], [128, 3], [640, 3]], []], "Input type": ["TensorList", ""]"#;
    let mut timetable = Timetable::new()
        .op("aten::_foreach_copy_", 0..10)
        .args(inputs)
        .runtime("cudaGraphLaunch", 5, 20..30);
    let mut start = 100;
    for letter in blocks.chars() {
        let (kernel, us) = match letter {
            'I' => ("Cijk_Alik_Bljk_BBS_BH_MT128x128x64", 40),
            'T' | 'Y' => ("Cijk_Alik_Bljk_BBS_BH_MT64x48x64", 10),
            'U' => ("Cijk_Alik_Bljk_BBS_BH_MT256x128x64", 80),
            'V' => ("Cijk_Alik_Bljk_BBS_BH_MT64x64x64", 20),
            'D' => ("Cijk_Alik_Bljk_BBS_BH_MT128x64x64", 90),
            'E' => ("Cijk_Alik_Bljk_BBS_BH_MT64x32x64", 20),
            'm' | 's' | 'z' => ("Cijk_Alik_Bljk_BBS_BH_MT192x16x128", 8),
            'a' => ("flash_fwd_kernel", 30),
            'g' => ("triton_poi_fused_addmm_gelu_view_4", 5),
            _ => ("Cijk_Alik_Bljk_BBS_BH_MT256x256x64", 100),
        };
        timetable = timetable.kernel(5, kernel, start..start + us);
        start += us;
    }
    timetable
}

/// The blocks have the same sizes from the model's configuration and from an eager trace.
#[test]
fn blocks_of_image_and_text() {
    const WRITTEN: &str = "XYmmIIITTTaITUgDVgEmmIIITTTaITUgDVgEsWgBBBaOsWgBBBaOzF";
    const COMPILED: &str = "mmXYTITITIaITmUgDmVgETITITIaITsVgEUgDBBBasWgOBBBaWgOzF";
    let config = r#"{"_class_name": "FluxTransformer2DModel", "num_layers": 2, "num_single_layers": 2,
        "num_attention_heads": 2, "attention_head_dim": 128, "joint_attention_dim": 4096, "in_channels": 64}"#;
    let config = ShapeSources {
        config: Some(Arc::new(parse(config).unwrap())),
        ..ShapeSources::default()
    };
    let by_eager = |eager: &Profile| ShapeSources {
        eager: Some(EagerShapes::of(eager).unwrap()),
        ..ShapeSources::default()
    };
    let found = |sources: ShapeSources| {
        let profile = compiled_blocks(COMPILED).profile().with_sources(sources);
        let coverage = profile.eager_coverage().map(str::to_owned);
        let mut counts: BTreeMap<[u64; 3], usize> = BTreeMap::new();
        for one in profile.operations() {
            let Some(Estimate { modeled, .. }) = &one.estimate else {
                continue;
            };
            let size = |name| modeled.size_of(name);
            if let (Some(m), Some(n), Some(k)) = (size("M"), size("N"), size("K")) {
                *counts.entry([m, n, k]).or_default() += one.calls.len();
            }
        }
        (counts, coverage)
    };
    let mut expected: BTreeMap<[u64; 3], usize> = BTreeMap::new();
    for letter in COMPILED.chars().filter(|letter| !"XYF".contains(*letter)) {
        if let Some(sizes) = sizes(letter, [640, 128]) {
            *expected.entry(sizes).or_default() += 1_usize;
        }
    }
    assert_eq!(found(config), (expected.clone(), None));
    // A different image, in sequence: the GEMM at the same position may have a different size.
    let eager = eager_blocks(WRITTEN, [256, 128]);
    let expected_coverage = "The eager trace, with 4 attention layers, gives the sizes of 45 of 48 replayed GEMMs and attentions.";
    assert_eq!(
        found(by_eager(&eager)),
        (expected, Some(expected_coverage.to_owned()))
    );
    // One single-stream block less: a different model.
    let other = eager_blocks(&WRITTEN.replacen("OsWgBBBa", "", 1), [256, 128]);
    assert_eq!(found(by_eager(&other)).0.len(), 0);
}

#[test]
fn a_trace_without_layers_tells_nothing() {
    let why = EagerShapes::of(&Timetable::new().profile()).unwrap_err();
    assert_eq!(
        why,
        "The eager trace has no layers: no attention of two of them was recorded."
    );
}
