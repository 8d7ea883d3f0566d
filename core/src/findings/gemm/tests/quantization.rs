//! Operands that are quantized or dequantized right before their GEMMs.

use super::*;

/// An operand of 4 096 × 4 096 elements is quantized in eager mode, in six kernels of `us` microseconds each.
fn quantized(calls: Calls, us: u32) -> Calls {
    const STEPS: [(&str, &str); 6] = [
        ("aten::abs", "4096x4096"),
        ("aten::amax", "4096x4096"),
        ("aten::copy_", "4096x4096:float, 4096x4096"),
        ("aten::mul", "4096x4096:float"),
        ("aten::clamp", "4096x4096:float"),
        (
            "aten::copy_",
            "4096x4096:c10::Float8_e4m3fn, 4096x4096:float",
        ),
    ];
    let step = |calls: Calls, (op, args)| calls.call(op, args, &format!("{op}_kernel"), us);
    STEPS.into_iter().fold(calls, step)
}

/// Four layers: the element-wise product before, `prepare`, and a GEMM of 200 µs in FP8.
fn fp8_layers(prepare: impl Fn(Calls) -> Calls) -> Outcome {
    const FP8: &str = "4096x4096:c10::Float8_e4m3fn*2, 1:float*2, _*3";
    let calls = (0..4).fold(Calls::new(), |calls, _| {
        let calls = calls.call("aten::mul", "4096x4096*2", "mul_kernel", 70);
        prepare(calls).call("aten::_scaled_mm", FP8, "nvjet_qqtst_128x256", 200)
    });
    calls.outcome_on("H100", "gemm")
}

fn figures(outcome: &Outcome, key: &str) -> Option<(i64, i64)> {
    let finding = outcome.findings.iter().find(|one| one.pattern == key)?;
    let impact = finding.impact?;
    Some((impact.low_ns / 1_000, impact.high_ns / 1_000))
}

#[test]
fn quantizing_that_costs_more_than_it_saves() {
    let key = "quantized_operands";
    // 300 µs before each GEMM of 200, which would take 400 in BF16: 100 µs less in each of four layers, as the units
    // have 2.001 times the rate.
    let costly = fp8_layers(|calls| quantized(calls, 50));
    assert_eq!(figures(&costly, key), Some((299, 399)));
    let finding = costly.findings.iter().find(|one| one.pattern == key);
    assert_contains(
        &finding.unwrap().issue,
        &[
            "24 kernels quantize",
            "1.20 ms",
            "for GEMMs of 800 µs",
            "about 1.60 ms in BF16",
        ],
    );
    // Less than the GEMMs, with short kernels or a fused one.
    assert_eq!(
        figures(&fp8_layers(|calls| quantized(calls, 30)), key),
        None
    );
    let fused = "per_token_group_quant_8bit_kernel";
    let fused =
        |calls: Calls| calls.call("sgl_kernel::sgl_per_token_group_quant_fp8", "", fused, 40);
    assert_eq!(figures(&fp8_layers(fused), key), None);
    // Something else runs between the cast and the GEMM.
    let apart = |calls| quantized(calls, 50).call("aten::gelu", "64x64", "gelu_kernel", 5);
    assert_eq!(figures(&fp8_layers(apart), key), None);
}

/// Quantizing pays, but takes six kernels where one would do: all but the two casts of 30 µs can go.
#[test]
fn quantizing_step_by_step() {
    let key = "quantized_in_steps";
    let steps = fp8_layers(|calls| quantized(calls, 30));
    assert_eq!(figures(&steps, key), Some((450, 600)));
    let finding = steps.findings.iter().find(|one| one.pattern == key);
    assert_contains(&finding.unwrap().issue, &["24 kernels quantize", "720 µs"]);
    // One kernel does it, or a small part of the time goes to it.
    let fused = |calls: Calls| calls.call("_C::dynamic_scaled_fp8_quant", "", "quant_kernel", 60);
    assert_eq!(figures(&fp8_layers(fused), key), None);
    let little = fp8_layers(|calls| quantized(calls, 3));
    assert_eq!(figures(&little, key), None);
    // Less than a fifth of the GEMMs, but five of six kernels can go.
    let short = fp8_layers(|calls| quantized(calls, 6));
    assert_eq!(figures(&short, key), Some((90, 120)));
}

#[test]
fn dequantizing_that_takes_longer_than_the_gemms() {
    let key = "dequantized_weights";
    let layers = |gemm: &str, gemm_us: u32, between: &str| {
        const PACKED: &str = "8388608x1:unsigned char, 262144:float, =64, =nf4, =[4096, 4096], =15";
        const KERNEL: &str = "void kDequantizeBlockwise<__nv_bfloat16, 512, 64, 8, 2>";
        let calls = (0..8).fold(Calls::new(), |calls, _| {
            let calls = calls.call("bitsandbytes::dequantize_4bit", PACKED, KERNEL, 60);
            let calls = calls.call(between, "64x4096:float, 64x4096", "elementwise_kernel", 2);
            calls.call("aten::mm", gemm, "nvjet_tst_64x64", gemm_us)
        });
        figures(&calls.outcome_on("H100", "gemm"), key)
    };
    let few = "64x4096, 4096x4096";
    assert_eq!(layers(few, 20, "aten::copy_"), Some((360, 480)));
    // Less than the GEMMs, yet a good part of the time.
    let more = "512x4096, 4096x4096";
    assert_eq!(layers(more, 100, "aten::copy_"), Some((360, 480)));
    // Enough rows, or for something else.
    assert_eq!(layers("8192x4096, 4096x4096", 500, "aten::copy_"), None);
    assert_eq!(layers(few, 20, "aten::gelu"), None);
}

/// INT8 weights that element-wise operations convert and scale in each call. What is converted for something else, or is
/// not as large as an operand, stays what it is.
#[test]
fn weights_converted_before_their_gemms_are_dequantized() {
    let layers = |converted: &str, scale: &str, from: &str| {
        let calls = (0..8).fold(Calls::new(), |calls, _| {
            let copy = format!("{converted}, {converted}:{from}, _");
            let calls = calls.call("aten::copy_", &copy, "bfloat16_copy_kernel", 25);
            let scaled = format!("{converted}, 4096x1");
            let calls = calls.call(scale, &scaled, "elementwise_kernel", 35);
            calls.call("aten::mm", "64x4096, 4096x4096", "nvjet_tst_64x64", 20)
        });
        figures(&calls.outcome_on("H100", "gemm"), "dequantized_weights")
    };
    let weights = "4096x4096";
    assert_eq!(
        layers(weights, "aten::mul", "signed char"),
        Some((360, 480))
    );
    assert_eq!(layers(weights, "aten::gelu", "signed char"), None);
    assert_eq!(layers(weights, "aten::mul", "float"), None);
    assert_eq!(layers("1024x4096", "aten::mul", "signed char"), None);
}

/// Kernels that a compiler generated for the same steps; one that also holds a norm does more than quantizing.
#[test]
fn generated_kernels_quantize_too() {
    const NARROW: &str = "4096x4096, 4096x4096:c10::Float8_e4m3fn";
    let generated = |largest: &'static str| {
        fp8_layers(|calls: Calls| {
            let calls = calls.call(largest, "4096x4096, 1:float", largest, 150);
            let cast = "triton_poi_fused__to_copy_clamp_mul_1";
            calls.call(cast, NARROW, cast, 150)
        })
    };
    let key = "quantized_operands";
    let costly = generated("triton_red_fused_abs_amax_clamp_reciprocal_0");
    assert_eq!(figures(&costly, key), Some((299, 399)));
    let finding = costly.findings.iter().find(|one| one.pattern == key);
    assert_contains(&finding.unwrap().model, &["let the compiler merge it"]);
    let with_norm = generated("triton_red_fused_abs_amax_mean_rsqrt_mul_0");
    assert_eq!(figures(&with_norm, key), None);
}
