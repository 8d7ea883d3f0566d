//! Kernels of serving engines.

use super::check;
use crate::perf::{OpInput, model};
use crate::trace::{OpArgsText, TraceBuilder};

#[test]
fn kernels_of_serving_engines() {
    // 8 + 4 numbers are turned, read and written.
    check(
        "sgl_kernel::rotary_embedding",
        "2, 2x4, 2x2, , 9x2",
        &["2"],
        36.0,
        48.0,
    );
    check(
        "sglang::store_cache",
        "2x4, 2x4, 9x4, 9x4, 2",
        &[],
        0.0,
        64.0,
    );
    check("_C_custom_ar::all_reduce", ", 2x4", &["1"], 0.0, 32.0);
    // A row of 8 in groups of 4: a byte each, two scales of four.
    check(
        "vllm::triton_per_token_group_quant_fp8",
        "1x8, ",
        &["4"],
        48.0,
        32.0,
    );
    // 8 results of two taps.
    check(
        "DaoAILab::_causal_conv1d_fwd_cpp",
        "1x2x4, 2x2, 2",
        &[],
        32.0,
        2.0 * (16.0 + 4.0 + 2.0),
    );
    // Two requests of 3 tokens each, all new: 2 · 2·4.5·(2 + 2); room for 7 keys, 6 in use.
    check(
        "aiter::mha_batch_prefill",
        "6x1x2, 99x1x2, 99x1x2, 3, 3, 7, , , , , , , ",
        &["3", "3", "0.", "1.", "0.", "False", "True"],
        72.0,
        2.0 * 4.0 * 12.0,
    );
}

#[test]
fn packed_sequences_without_an_annotation() {
    // Two requests of 3 tokens each: 2 · 2·9·(2 + 2), or half of it under a mask. Four tensors of
    // 12 elements.
    let name = "aiter::mha_varlen_fwd";
    let shapes = format!("6x1x2, 6x1x2, 6x1x2, 3, 3{}", ", ".repeat(10));
    let check = |values: &[&str], flops| check(name, &shapes, values, flops, 96.0);
    let before = ["3", "3", "0", "0.", "1.", "0.", "False"];
    check(&[&before[..], &["False"]].concat(), 144.0);
    check(&[&before[..], &["True"]].concat(), 72.0);
    // A key for each query, its own: 2 · 2·3·(2 + 2).
    check(&[&before[..], &["True", "0", "0"]].concat(), 48.0);
    // Before the shortest of the queries and a cap were arguments.
    check(&["3", "3", "0.", "1.", "False", "False"], 144.0);
    check(&["3", "3"], 72.0);
}

#[test]
fn annotations_tell_how_long_requests_are() {
    let mut builder = TraceBuilder::default();
    let id = builder.op_args(OpArgsText {
        dims: "[[3,2,4],[3,1,4],[3,1,4]]",
        types: r#"["c10::Half","c10::Half","c10::Half"]"#,
        ..OpArgsText::default()
    });
    let trace = builder.finish();
    let name = "vllm::unified_attention_with_output";
    let mut input = OpInput::new(&trace, name, trace.args.get(id).unwrap());
    let forward = model(name).unwrap().forward;
    assert_eq!(forward(&input), None);
    // Two new tokens of one request, one token of a request that has 5 keys.
    input.annotation = Some("execute_3_context_1(sq2sk2sqsq4sqsk4)_generation_1(sq1sk5sqsq1sqsk5)");
    let work = forward(&input).unwrap().work;
    // 2·(4 + 4)·(2·4 − 4 + 2·5); new: 3·(2 + 1)·8, in the cache: 4·8 numbers.
    assert_eq!((work.flops, work.bytes), (224.0, Some(208.0)));
}

#[test]
fn norms_of_serving_engines() {
    // As `aiter::rmsnorm`: ten rows of 2·4 + 2, and 2·40; 2·40 + 4 elements.
    check("_C::rms_norm", "10x4, 10x4, 4, ", &["1e-6"], 180.0, 168.0);
    // The residual in place: an addition each; 4·40 + 4 elements.
    check(
        "_C::fused_add_rms_norm",
        "10x4, 10x4, 4, ",
        &["1e-6"],
        220.0,
        328.0,
    );
    check("FusedRMSNormAffineFunction", "10x4, 4", &[], 180.0, 168.0);
    // A byte for each result, two operations more.
    let fp8 = "10x4:c10::Float8_e4m3fn, 10x4, 4, 1:float, ";
    check(
        "_C::rms_norm_static_fp8_quant",
        fp8,
        &["1e-6"],
        260.0,
        80.0 + 8.0 + 40.0,
    );
}

#[test]
fn element_wise_kernels_of_serving_engines() {
    check("_C::gelu_and_mul", "2x5, 2x10", &[], 80.0, 60.0);
    check("flashinfer::silu_and_mul", "2x5, 2x10", &[], 50.0, 60.0);
    check("_C::gelu_new", "2x5, 2x5", &[], 10.0, 40.0);
    // Half of each head of 2 turns: (8 + 4) / 2 numbers.
    let shapes = "2:long int, 2x4, 2x2, , 9x1";
    check("_C::rotary_embedding", shapes, &["2"], 18.0, 24.0);
    let shapes = "2x4, 2x2, 2x4, 2x2";
    check(
        "sgl_kernel::apply_rope_pos_ids_cos_sin_cache",
        shapes,
        &[],
        36.0,
        48.0,
    );
    check("aiter::rope_fwd_impl", "2x4, 2x4", &[], 24.0, 32.0);
}

#[test]
fn quantisation_of_serving_engines() {
    let shapes = "2x8:c10::Float8_e4m3fn, 2x8, 2x1:float";
    check(
        "_C::dynamic_per_token_scaled_fp8_quant",
        shapes,
        &[""],
        48.0,
        16.0 + 32.0 + 8.0,
    );
    // Half a byte each and a scale for 64.
    let shapes = "2x64, , ";
    check(
        "bitsandbytes::quantize_4bit",
        shapes,
        &["64", "nf4"],
        384.0,
        256.0 + 64.0 + 8.0,
    );
    let shapes = "64:unsigned char, 2:float, , , , ";
    let values = ["64", "nf4", "[2, 64]", "15"];
    check(
        "bitsandbytes::dequantize_4bit",
        shapes,
        &values,
        128.0,
        64.0 + 8.0 + 256.0,
    );
    // 16 × 1 whole numbers hold 16 × 8 weights.
    let shapes = "16x1:int, 1x8, 1x1:int";
    check(
        "_C::awq_dequantize",
        shapes,
        &[],
        256.0,
        64.0 + 16.0 + 4.0 + 256.0,
    );
}

#[test]
fn generation_with_pages_needs_the_annotation() {
    let mut builder = TraceBuilder::default();
    let id = builder.op_args(OpArgsText {
        dims: "[[2,4,8],[2,4,8],[99,1,8,16],[99,1,8,16],[]]",
        types: r#"["c10::Half","c10::Half","c10::Half","c10::Half","Scalar"]"#,
        concrete: r#"["","","","","1"]"#,
        ..OpArgsText::default()
    });
    let trace = builder.finish();
    let name = "_C::paged_attention_v1";
    let mut input = OpInput::new(&trace, name, trace.args.get(id).unwrap());
    let forward = model(name).unwrap().forward;
    assert_eq!(forward(&input), None);
    input.annotation = Some("step[DECODE c_sq=0 g_sq=2 g_sqsq=2 g_sk=10 g_sqsk=10]");
    // Ten scores in each of 4 heads: 4·16·20; two new tokens of (4 + 1)·16, eight cached keys of 16.
    let work = forward(&input).unwrap().work;
    assert_eq!(
        (work.flops, work.bytes),
        (1280.0, Some(2.0 * (160.0 + 128.0)))
    );
}
