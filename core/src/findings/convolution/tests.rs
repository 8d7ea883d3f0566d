//! Each pattern, from a trace with one such convolution.

use super::super::samples::{Calls, assert_contains, assert_contains_none, found, only, patterns};
use super::*;
use crate::findings::engine::finding::{Estimate, Impact, Priority};

const BF16: &str = "c10::BFloat16";

/// Stride, padding, dilation, transposed, output padding, groups.
const SAME: &str = "=[1, 1]*3, =False, =[0, 0], =1";
const GROUPS_OF_ONE: &str = "=[1, 1]*3, =False, =[0, 0], =256";
const GROUPS_OF_FOUR: &str = "=[1, 1]*3, =False, =[0, 0], =32";
const DILATED: &str = "=[1, 1], =[2, 2]*2, =False, =[0, 0], =1";

/// Arguments of `aten::convolution`.
fn args(x: &str, w: &str, settings: &str, dtype: &str) -> String {
    format!("{x}:{dtype}, {w}:{dtype}, _, {settings}")
}

/// A convolution of 100 ms.
fn slow(x: &str, w: &str, settings: &str, dtype: &str, kernel: &str) -> Calls {
    let args = args(x, w, settings, dtype);
    Calls::new().call("aten::convolution", &args, kernel, 100_000)
}

const X: &str = "32x256x56x56";
const W: &str = "256x256x3x3";
const DEPTHWISE: &str = "256x1x3x3";
const CHANNELS_FIRST: &str = "802816x3136x56x1";
const CHANNELS_LAST: &str = "802816x1x14336x256";

/// A convolution of 3 × 3 on large images, and what else it runs.
fn usual(us: f64, others: &[(&str, f64)]) -> Calls {
    let kernels = [&[("igemm_fwd", us)][..], others].concat();
    Calls::new().kernels("aten::convolution", &args(X, W, SAME, BF16), &kernels)
}

#[test]
fn each_pattern_is_seen() {
    #[rustfmt::skip]
    let cases = [
        // 3 × 3 on large images.
        (X, W, SAME, BF16, "igemm_fwd", "below_usual_efficiency"),
        // 724 µs at the FP32 rate of the matrix units: the type explains only a small part of the time.
        (X, W, SAME, "float", "igemm_fwd", "below_usual_efficiency"),
        // 32 groups of 4 channels.
        ("32x128x56x56", "128x4x3x3", GROUPS_OF_FOUR, BF16, "igemm_fwd_bt128x128x32", "narrow_groups"),
        ("32x3x224x224", "64x3x3x3", SAME, BF16, "igemm_fwd", "few_input_channels"),
        (X, DEPTHWISE, GROUPS_OF_ONE, BF16, "conv_depthwise2d", "depthwise"),
        (X, W, DILATED, BF16, "igemm_fwd", "dilated"),
        ("4x512x7x7", "512x512x3x3", SAME, BF16, "igemm_fwd", "small_spatial"),
        (X, W, SAME, BF16, "naive_conv_fwd_nchw", "fallback_kernel"),
    ];
    for (x, w, settings, dtype, kernel, expected) in cases {
        let outcome = slow(x, w, settings, dtype, kernel).outcome("convolution");
        assert_eq!(patterns(&outcome), [expected], "{x} {w}");
    }
}

/// The time of im2col is measured; the GEMMs of a fallback may be slow, too.
#[test]
fn a_fallback_saves_at_least_its_im2col() {
    let kernels = [
        ("Im2d2Col_v2", 60_000.0),
        ("Cijk_Ailk_Bljk_SB_MT64x64x16", 10_000.0),
    ];
    let calls = Calls::new().kernels("aten::convolution", &args(X, W, SAME, BF16), &kernels);
    let outcome = calls.outcome("convolution");
    let impact = only(&outcome, "fallback_kernel").impact.unwrap();
    assert!(
        impact.low_ns == 60_000_000 && impact.high_ns < 70_000_000,
        "{impact:?}"
    );
}

/// At 60 % of the roofline of FP32, only the type remains as a cause.
#[test]
fn a_wide_type_is_the_cause_where_nothing_else_is() {
    let args = args(X, W, SAME, "float");
    let calls = Calls::new().call("aten::convolution", &args, "igemm_fwd", 1_200);
    only(&calls.outcome("convolution"), "wide_precision");
}

/// At 40 % of the roofline of FP32: its usual efficiency would save at most 43 %, 16 bits save 85 %. The last of four
/// waves, a quarter of the time, is no reason to keep the type either.
#[test]
fn a_wide_type_comes_first_where_it_costs_most() {
    let args = args(X, W, SAME, "float");
    let at = |kernel: &str| {
        let calls = Calls::new().call("aten::convolution", &args, kernel, 1_800);
        only(&calls.outcome("convolution"), "wide_precision").impact
    };
    let impact = at("igemm_fwd").unwrap();
    assert!(
        (1_500_000..1_600_000).contains(&impact.high_ns),
        "{impact:?}"
    );
    at("igemm_fwd_bt256x128x32");
}

/// Padding and strides filled in by the recorder carry no information: an output padding of two values for three
/// dimensions, a stride of one for all.
#[test]
fn placeholders_do_not_hide_a_convolution() {
    let settings = "=[1, 1, 1]*3, =False, =[0, 0], =1";
    let outcome =
        slow("2x64x16x56x56", "64x64x3x3x3", settings, BF16, "igemm_fwd").outcome("convolution");
    only(&outcome, "below_usual_efficiency");
    let kernels = [("igemm_fwd", 300), ("batched_transpose_32x32_half", 100)];
    let args = format!("{X}@1x1x1x1, {W}@1x1x1x1, _, {SAME}");
    let outcome = Calls::new()
        .kernels("aten::convolution", &args, &kernels)
        .outcome("convolution");
    assert_contains_none(&found(&outcome, "layout_changes").model, &["already"]);
}

/// A convolution with unusable arguments is still reported, as work without a model.
#[test]
fn convolutions_of_unknown_shape_are_not_forgotten() {
    let args = "8x3:float, 4:float";
    let calls = Calls::new().call("my::conv_bias_relu", args, "my_kernel", 10_000);
    let outcome = calls.outcome("convolution");
    assert_eq!(patterns(&outcome), ["unmodeled_significant"]);
}

#[test]
fn inside_its_band_it_is_no_finding_and_a_little_below_a_note() {
    // 2 · 9 · 256 · 32 · 256 · 56² operations at 708 TFLOPS: 167.2 µs.
    let at = |share: f64| usual(167.2 / share, &[]).outcome("convolution");
    let inside = at(0.55);
    assert!((inside.efficiency_percent().unwrap() - 55.0).abs() < 0.1);
    assert!(inside.findings.is_empty());
    let note = at(0.45);
    let finding = only(&note, "below_usual_efficiency");
    assert_eq!(finding.priority, Priority::Low);
    let bottleneck = at(0.25);
    let finding = only(&bottleneck, "below_usual_efficiency");
    assert_eq!(finding.priority, Priority::Critical);
    // From 25 to 60 % of roofline, the middle of 50–70 %.
    let mid = finding.impact.unwrap().mid_ns as f64;
    let expected = 167.2e3 / 0.25 * (1.0 - 25.0 / 60.0);
    assert!((mid - expected).abs() < 200.0, "{mid}");
    assert_eq!(bottleneck.rows[0].class, "3×3");
}

#[test]
fn layout_changes_inside_are_worth_what_they_take() {
    let inside = |kernel: &str, us: f64| {
        let calls = usual(300.0, &[(kernel, us)]);
        calls.outcome_without_gpu("convolution")
    };
    // 100 of 400 µs.
    let outcome = inside("batched_transpose_32x32_half", 100.0);
    let finding = only(&outcome, "layout_changes");
    assert_eq!(finding.impact, Some(Impact::measured(100_000)));
    assert_eq!(finding.priority, Priority::High);
    assert_eq!(outcome.get("transpose_count"), Some(&Value::Count(1)));
    let overhead = outcome.get("transpose_overhead");
    assert_eq!(overhead, Some(&Value::Percent(25.0)));
    // 30 of 330 µs is 9.1 %.
    let little = inside("batched_transpose_32x32_half", 30.0);
    assert!(little.findings.is_empty());
    // However much others take, 100 of 400 µs are a burden where they are.
    let other = "64x256x56x56";
    let others = usual(300.0, &[("batched_transpose_32x32_half", 100.0)])
        .call(
            "aten::convolution",
            &args(other, W, SAME, BF16),
            "igemm_fwd",
            4_000,
        )
        .outcome_without_gpu("convolution");
    let finding = only(&others, "layout_changes");
    assert_eq!(finding.impact, Some(Impact::measured(100_000)));
    assert_contains(
        &finding.issue,
        &["Some convolutions spend", "25.0 % of their time"],
    );
    // A transposed convolution is not a layout change.
    let transposed = inside("conv_transpose2d_kernel", 100.0);
    assert_eq!(transposed.get("transpose_count"), Some(&Value::Count(0)));
}

#[test]
fn copies_beside_a_convolution_count_as_layout_changes() {
    let copy = |from| format!("{X}@{from}, {X}@{CHANNELS_FIRST}, _:Scalar");
    let outcome = usual(300.0, &[])
        .call("aten::copy_", &copy(CHANNELS_LAST), "copy", 100)
        .call("aten::copy_", &copy(CHANNELS_FIRST), "copy", 100)
        .outcome_without_gpu("convolution");
    // The second is neither next to it nor does it change anything.
    let copies = outcome.get("adjacent_layout_copy_time");
    assert_eq!(copies, Some(&Value::Ns(100_000)));
    let finding = only(&outcome, "layout_changes");
    assert_eq!(finding.impact, Some(Impact::measured(100_000)));
}

#[test]
fn the_channels_last_format_is_that_of_the_rank() {
    #[rustfmt::skip]
    let cases = [
        ("8x64x56x56", "64x64x3x3", ["[1, 1]", "[0, 0]"], "memory_format=torch.channels_last)"),
        ("8x64x16x56x56", "64x64x3x3x3", ["[1, 1, 1]", "[0, 0, 0]"], "memory_format=torch.channels_last_3d)"),
        // There is no such format for one dimension.
        ("8x64x4096", "64x64x3", ["[1]", "[0]"], "as `Conv2d` with a height of one"),
    ];
    for (x, w, [ones, zeros], expected) in cases {
        let args = format!("{x}, {w}, _, ={ones}*3, =False, ={zeros}, =1");
        let kernels = [("igemm_fwd", 300), ("batched_transpose_32x32_half", 100)];
        let calls = Calls::new().kernels("aten::convolution", &args, &kernels);
        let outcome = calls.outcome_without_gpu("convolution");
        assert_contains(&only(&outcome, "layout_changes").model, &[expected]);
    }
}

#[test]
fn only_types_that_the_gpu_has_and_does_not_use_are_advised() {
    let tf32 = "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw";
    #[rustfmt::skip]
    let cases = [
        ("A100-80GB", "float", "implicit_convolve_sgemm", "run it in BF16 or FP16 (autocast), or allow TF32 where the accuracy suffices (`torch.backends.cudnn.allow_tf32 = True`)."),
        // It already runs in TF32.
        ("A100-80GB", "float", tf32, "run it in BF16 or FP16 (autocast)."),
        // Neither TF32 nor BF16.
        ("MI210", "float", "igemm_fwd", "run it in BF16 or FP16 (autocast)."),
        ("V100-32GB", "float", "implicit_convolve_sgemm", "run it in FP16 (autocast)."),
        // Double precision is not called FP32.
        ("A100-80GB", "double", "implicit_convolve_dgemm", "run it in FP32, or in BF16 or FP16, where the accuracy suffices."),
    ];
    for (gpu, dtype, kernel, model) in cases {
        let outcome = slow(X, W, SAME, dtype, kernel).outcome_on(gpu, "convolution");
        let finding = &outcome.findings[0];
        assert!(finding.model.ends_with(model), "{gpu}: {}", finding.model);
        if finding.pattern == "wide_precision" {
            assert_eq!(finding.title.contains("32"), dtype == "float");
        }
    }
}

#[test]
fn channels_last_is_advised_where_channels_lie_apart() {
    let advised = |strides: &str, gpu: &str| {
        let (x, w) = (format!("{X}@{strides}"), format!("{DEPTHWISE}@9x9x3x1"));
        let calls = slow(&x, &w, GROUPS_OF_ONE, BF16, "conv_depthwise2d");
        let outcome = calls.outcome_on(gpu, "convolution");
        found(&outcome, "depthwise").model.clone()
    };
    let format = "`torch.channels_last`";
    let switch = "`PYTORCH_MIOPEN_SUGGEST_NHWC=1`";
    assert_contains(&advised(CHANNELS_FIRST, "MI300X"), &[format, switch]);
    assert_contains_none(&advised(CHANNELS_LAST, "MI300X"), &["channels_last"]);
    assert_contains(&advised(CHANNELS_FIRST, "H100"), &[format]);
    assert_contains_none(&advised(CHANNELS_FIRST, "H100"), &[switch]);
}

/// Without operators, a name may or may not identify the pass.
#[test]
fn kernels_that_both_passes_run_belong_to_none() {
    let calls = Calls::new().with(|timetable| {
        timetable
            .kernel(1, "igemm_fwd_gtcx3_nhwc_bf16", 100..150)
            .kernel(2, "igemm_bwd_gtcx3_nhwc_bf16", 200..250)
            .kernel(3, "batched_transpose_32x32_half", 300..350)
    });
    let outcome = calls.outcome_without_gpu("convolution");
    let mut tables = outcome.tables.iter();
    let table = tables.find(|table| table.key == "directions").unwrap();
    let rows = table.rows.iter().map(|row| [row[0].text(), row[1].text()]);
    let expected = ["forward", "backward", "unknown"].map(|pass| [pass, "1"].map(str::to_owned));
    assert_eq!(rows.collect::<Vec<_>>(), expected);
}

/// Non-overlapping patches are one GEMM, and no reason to pad channels.
#[test]
fn patches_are_a_gemm() {
    let settings = "=[16, 16], =[0, 0], =[1, 1], =False, =[0, 0], =1";
    let (x, w) = ("128x3x224x224", "768x3x16x16");
    let outcome = slow(x, w, settings, BF16, "igemm_fwd").outcome("convolution");
    let model = &found(&outcome, "few_input_channels").model;
    assert_contains(model, &["one GEMM"]);
    assert_contains_none(model, &["pad"]);
}

/// Two kernel sizes in one finding, each with its usual efficiency.
#[test]
fn each_kernel_size_has_its_band() {
    let args = |kernel: u32| {
        let padding = kernel / 2;
        format!(
            "64x256x56x56, 256x256x{kernel}x{kernel}, _, =[1, 1], =[{padding}, {padding}], =[1, 1], =False, =[0, 0], =1"
        )
    };
    let outcome = Calls::new()
        .call("aten::convolution", &args(7), "igemm_fwd", 200_000)
        .call("aten::convolution", &args(1), "igemm_fwd", 100_000)
        .outcome("convolution");
    let expected = "where 60–80 % is usual for kernel size 7×7 and 40–60 % for kernel size 1×1";
    let finding = only(&outcome, "below_usual_efficiency");
    assert_contains(&finding.issue, &[expected]);
}

/// 32 groups of 8 channels: these are the reason for the low % of roofline, not kernel size 3×3 as such.
#[test]
fn narrow_groups_are_named() {
    let of = |n: u32, w: &str, pattern: &str| {
        let settings = format!("=[1, 1]*3, =False, =[0, 0], ={n}");
        let calls = slow("64x256x56x56", w, &settings, BF16, "igemm_fwd");
        let outcome = calls.outcome_on("H100", "convolution");
        only(&outcome, pattern).clone()
    };
    let narrow = of(32, "256x8x3x3", "narrow_groups");
    assert_contains(&narrow.issue, &["a group has 8 channels"]);
    // From 61 µs at roofline to the 30 % of depthwise convolutions, of 100 ms.
    let impact = narrow.impact.unwrap();
    assert_eq!(impact.estimate, Estimate::UpperBound);
    assert!(
        (99_700_000..99_900_000).contains(&impact.high_ns),
        "{impact:?}"
    );
    of(8, "256x32x3x3", "narrow_groups");
    // Wide groups are already multiples of 8.
    let wide = of(2, "256x128x3x3", "below_usual_efficiency");
    assert_contains_none(&wide.model, &["multiples of 8"]);
}

/// Groups matter more than small images.
#[test]
fn narrow_groups_are_named_on_small_images() {
    let settings = "=[1, 1]*3, =False, =[0, 0], =32";
    let outcome = slow("32x1024x14x14", "1024x32x3x3", settings, BF16, "igemm_fwd")
        .outcome_on("H100", "convolution");
    only(&outcome, "narrow_groups");
}

/// The sum over 3 × 7 × 7 values is short because there are few channels.
#[test]
fn few_channels_come_before_the_short_sum_that_they_make() {
    let kernel = "igemm_fwd_gtcx_nhwc_fp32_bx0_ex0_bt128x128x32";
    let outcome = slow("1x3x224x224", "64x3x7x7", SAME, BF16, kernel).outcome("convolution");
    let causes = &only(&outcome, "few_input_channels").causes;
    let [channels, sum] = ["C_in = 3", "K = 147"].map(|cause| causes.find(cause).unwrap());
    assert!(channels < sum, "{causes}");
}

#[test]
fn one_input_channel_is_singular() {
    let outcome = slow("32x1x224x224", "64x1x7x7", SAME, BF16, "igemm_fwd").outcome("convolution");
    let issue = &only(&outcome, "few_input_channels").issue;
    assert_contains(issue, &["there is only 1 input channel"]);
}

/// What is left after layout changes is as fast as usual: 167 µs at roofline of 300, and 200 µs of layout changes.
#[test]
fn layout_changes_alone_make_no_slow_convolution() {
    let outcome = usual(300.0, &[("batched_transpose_32x32_half", 200.0)]).outcome("convolution");
    only(&outcome, "layout_changes");
    let outcome = usual(900.0, &[("batched_transpose_32x32_half", 200.0)]).outcome("convolution");
    assert_eq!(
        patterns(&outcome),
        ["layout_changes", "below_usual_efficiency"]
    );
}

/// Adding the bias takes longer than the convolution.
#[test]
fn kernels_beside_a_convolution_are_worth_what_they_take() {
    let add = "void at::native::elementwise_kernel<128, 4, at::native::CUDAFunctor_add<c10::Half>>";
    let outcome = usual(300.0, &[(add, 320.0)]).outcome("convolution");
    let finding = only(&outcome, "helper_kernels");
    assert_eq!(finding.impact, Some(Impact::measured(320_000)));
    let outcome = usual(300.0, &[(add, 20.0)]).outcome("convolution");
    assert_eq!(patterns(&outcome), [""; 0]);
    // No bias is added here.
    let outcome = usual(300.0, &[("SubTensorOpWithCastTensor1d", 320.0)]).outcome("convolution");
    let finding = only(&outcome, "helper_kernels");
    assert_contains(&finding.title, &["Type conversions"]);
    assert_contains_none(&finding.model, &["bias"]);
}

/// In 16 bits the convolution takes half as long, which is more than its addition of the bias.
#[test]
fn a_narrower_type_comes_before_a_short_helper() {
    let run = |dtype: &str, kernel: &str, us: f64| {
        let add = "void at::native::elementwise_kernel<128, 4, at::native::CUDAFunctor_add<float>>";
        let args = args(X, W, SAME, dtype);
        let kernels = [(kernel, us), (add, 250.0)];
        let calls = Calls::new().kernels("aten::convolution", &args, &kernels);
        calls.outcome_on("A100-80GB", "convolution")
    };
    let tf32 = "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc";
    only(&run("float", tf32, 1_500.0), "wide_precision");
    let bf16 = "sm80_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc";
    only(&run(BF16, bf16, 700.0), "helper_kernels");
}

/// 98 tiles on 304 compute units: above the gate, and the title says why it is no faster.
#[test]
fn what_is_not_slow_still_has_its_tiles_in_the_title() {
    let args = args("16x256x28x28", W, SAME, BF16);
    let kernel = "igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt256x128x32";
    let calls = Calls::new().call("aten::convolution", &args, kernel, 40);
    let finding = calls.outcome("convolution");
    let finding = only(&finding, "partly_filled_gpu");
    assert_eq!(finding.title, "98 workgroups on 304 compute units");
}

#[test]
fn sixteen_bits_on_vector_units_are_named() {
    let on = |kernel: &str| {
        let args = args(X, W, SAME, "c10::Half");
        let calls = Calls::new().call("aten::convolution", &args, kernel, 7_000);
        calls.outcome_on("A100-80GB", "convolution")
    };
    let finding = on("ampere_scudnn_128x64_relu_medium_nn_v1");
    assert_contains(&only(&finding, "slower_unit").model, &["multiples of 8"]);
    let finding = on("sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc");
    only(&finding, "below_usual_efficiency");
}

/// The gradient of a filter has nine tiles whatever the batch; a forward pass has more with a larger one.
#[test]
fn few_tiles_of_a_filter_are_not_filled_by_a_batch() {
    let of = |op: &str, args: &str, kernel: &str, us: u32| {
        let calls = Calls::new().call(op, args, kernel, us);
        let outcome = calls.outcome_on("A100-80GB", "convolution");
        only(&outcome, "partly_filled_gpu").model.clone()
    };
    let backward =
        "32x128x56x56*2, 128x128x3x3, _, =[1, 1]*3, =False, =[0, 0], =1, =[True, True, False]";
    let filter = "cutlass_tensorop_s16816wgrad_optimized_f16_128x128_64x3_nhwc_align8";
    let model = of("aten::convolution_backward", backward, filter, 5_000);
    assert_contains(&model, &["whatever the batch"]);
    let forward = args("1x512x7x7", "512x512x3x3", SAME, "c10::Half");
    let kernel = "sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x128x64";
    assert_contains(
        &of("aten::convolution", &forward, kernel, 90),
        &["larger batches"],
    );
}

/// The library's operator has the stride of the patches, too, and a signal of one row is no image.
#[test]
fn the_operators_of_libraries_have_their_settings() {
    let args = "8x3x16x224x224, 1024x3x2x16x16, =[0, 0, 0], =[2, 16, 16], =[1, 1, 1], =1";
    let kernel = "implicit_convolveNd_sgemm";
    let patches = Calls::new().call("aten::cudnn_convolution", args, kernel, 50_000);
    let outcome = patches.outcome("convolution");
    assert_contains(&outcome.findings[0].model, &["one GEMM over patches"]);
    // 392 tiles of 128 × 256 for 304 units: in this time three channels are not computed as eight.
    let kernel = "igemm_fwd_gtcx3_nhwc_bf16_bx0_bt128x256x32";
    let fast = Calls::new().call("aten::cudnn_convolution", args, kernel, 120);
    assert_contains_none(&causes(&fast), &["computed as"]);
    let args = "16x512x1x500, 512x256x1x16, =[0, 4], =[0, 0], =[1, 8], =[1, 1], =1";
    let name = "aten::cudnn_convolution_transpose";
    let signals = Calls::new().call(name, args, "igemm_bwd", 50_000);
    assert_contains(&causes(&signals), &["a kernel of size 16"]);
    assert_contains_none(&causes(&signals), &["groups", "1×16"]);
}

fn causes(calls: &Calls) -> String {
    let outcome = calls.outcome("convolution");
    let all = outcome.findings.iter().map(|one| one.causes.as_str());
    all.collect()
}
