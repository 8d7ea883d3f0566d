//! A cause is placed in the calls of one operation, and the waterfall has to name it with its size.

use super::*;
use crate::profile::Profile;
use crate::report::Report;
use crate::testing::{Timetable, options_on};

/// A large GEMM with whole tiles and full waves: 16 × 19 tiles of 256 × 256 on 304 compute units.
const GEMM: &str = "4096x4096, 4096x4864";
const TILE: &str = "Cijk_Alik_Bljk_BBS_BH_MT256x256x64_SK0";

/// One kernel of a call: its name and duration in microseconds.
type Kernel = (&'static str, u32);

/// Consecutive calls of an operation, each with its kernels.
fn profile_of(op: &str, args: &str, calls: &[&[Kernel]]) -> Profile {
    let (mut trace, mut at) = (Timetable::new(), 100);
    let mut gpu_us = 1_000;
    for kernels in calls {
        trace = trace.op(op, at..at + 90).args(args);
        for (position, (name, us)) in kernels.iter().enumerate() {
            let start = at + 2 + 4 * position as u32;
            trace = trace.launched(name, start..start + 2, gpu_us..gpu_us + us);
            gpu_us += us;
        }
        at += 100;
    }
    trace.profile()
}

fn waterfall_on(gpu: &str, profile: &Profile) -> Waterfall {
    let report = Report::new(profile, &options_on(gpu));
    let waterfall = Waterfall::of(&report.analysis_input(profile), 0).unwrap();
    let steps: i64 = waterfall.steps.iter().map(|step| step.ns).sum();
    assert_eq!(waterfall.roofline_ns + steps, waterfall.measured_ns);
    waterfall
}

#[test]
fn what_is_measured_is_named_to_the_nanosecond() {
    const FAST: &[Kernel] = &[(TILE, 300)];
    #[rustfmt::skip]
    let cases: [(&[&[Kernel]], Cause, i64); 7] = [
        // A transpose of the operand in one of four calls.
        (&[FAST, FAST, &[("batched_transpose_32x32_half", 80), (TILE, 300)], FAST], Cause::Helpers, 80_000),
        (&[&[(TILE, 300), ("Cijk_SS_BiasS_HA_PostGSU4_VW4", 40)], FAST], Cause::Helpers, 40_000),
        (&[FAST, &[("Memset (Device)", 20), (TILE, 300)]], Cause::Helpers, 20_000),
        (&[&[("void at::native::vectorized_elementwise_kernel<4, at::native::bfloat16tofloat32_copy_kernel_cuda", 30), (TILE, 300)]], Cause::Helpers, 30_000),
        // The first call is a warm-up; a later one a straggler.
        (&[&[(TILE, 900)], FAST, FAST, FAST], Cause::WarmUp, 600_000),
        (&[FAST, FAST, &[(TILE, 900)], FAST], Cause::Spread, 600_000),
        (&[&[(TILE, 900)], FAST, &[(TILE, 500)], FAST, FAST], Cause::Spread, 200_000),
    ];
    for (calls, cause, ns) in cases {
        let waterfall = waterfall_on("MI300X", &profile_of("aten::mm", GEMM, calls));
        assert_eq!(
            waterfall.ns(cause),
            ns,
            "{cause:?} of {calls:?}: {waterfall:?}"
        );
    }
}

#[test]
fn what_follows_from_sizes_is_named_with_its_factor() {
    #[rustfmt::skip]
    let cases = [
        // Whole tiles in one full wave have no step.
        ("MI300X", "aten::mm", GEMM, TILE, None),
        // 1 025 in tiles of 128 and 64, of which there are 153.
        ("MI300X", "aten::mm", "1025x8192, 8192x1025", "Cijk_Alik_Bljk_BBS_BH_MT128x64x64_SK0", Some((Cause::TilePadding, 1.193))),
        ("MI300X", "aten::mm", "1025x8192, 8192x1025", "Cijk_Alik_Bljk_BBS_BH_MT128x64x64_SK0", Some((Cause::WaveQuantization, 304.0 / 153.0))),
        // 16 · 16 tiles, each split in four along K: 1 024 workgroups in 4 waves.
        ("MI300X", "aten::mm", "4096x8192, 8192x4096", "Cijk_Alik_Bljk_BBS_BH_MT256x256x64_GSU4_SK0", Some((Cause::WaveQuantization, 4.0 * 304.0 / 1024.0))),
        // Stream-K keeps all units busy to the end.
        ("MI300X", "aten::mm", "1024x8192, 8192x1024", "Cijk_Alik_Bljk_BBS_BH_MT256x256x64_SK3", None),
        ("H100", "aten::mm", "8944x1024, 1024x1024", "nvjet_tst_128x128_64x4_2x1_v_bz_TNT", Some((Cause::WaveQuantization, 5.0 * 132.0 / 560.0))),
        // K is processed in steps of 64.
        ("MI300X", "aten::mm", "4096x4104, 4104x4864", TILE, Some((Cause::PaddedDimension, 4160.0 / 4104.0))),
        // FP64 on vector units, on a GPU with matrix units for it.
        ("H100", "aten::mm", "4096x4096:double, 4096x4224:double", "void cutlass::Kernel2<cutlass_80_simt_dgemm_128x128_8x2_nn_align1>", Some((Cause::SlowerUnit, 67.0 / 34.0))),
        // FP32 on the same GPU: matrix units take it as TF32, which is its roofline.
        ("H100", "aten::mm", "4096x4096:float, 4096x4224:float", "ampere_sgemm_128x64_nn", Some((Cause::SlowerUnit, 494.7 / 67.0))),
        // A head dimension of 80 in a Triton kernel.
        ("MI300X", "aten::_scaled_dot_product_flash_attention", "8x16x4096x80*3, =0.0, =False", "attn_fwd", Some((Cause::PaddedDimension, 1.6))),
        ("H100", "aten::_scaled_dot_product_flash_attention", "8x16x4096x80*3, =0.0, =False", "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<96, 128, 64, 4>>", Some((Cause::PaddedDimension, 1.2))),
    ];
    for (gpu, op, args, kernel, expected) in cases {
        let waterfall = waterfall_on(gpu, &profile_of(op, args, &[&[(kernel, 20_000)]]));
        let named = waterfall
            .steps
            .iter()
            .filter(|step| step.cause != Cause::Unexplained);
        let Some((cause, factor)) = expected else {
            assert_eq!(named.count(), 0, "{kernel}: {waterfall:?}");
            continue;
        };
        let step = waterfall
            .step(cause)
            .unwrap_or_else(|| panic!("{kernel}: {waterfall:?}"));
        assert!(
            (step.factor - factor).abs() < 0.01 * factor,
            "{kernel}: {waterfall:?}"
        );
    }
}

/// The second kernel of a layer norm's gradient reads two of three operands again.
#[test]
fn a_gradient_in_two_kernels_reads_again() {
    const ARGS: &str = "16384x4096*2, =[4096], 16384x1:float*2, 4096*2, =[True, True, True]";
    const INPUT: Kernel = (
        "layer_norm_grad_input_kernel_vectorized<c10::BFloat16>",
        600,
    );
    const SCALE: Kernel = ("GammaBetaBackwardCUDAKernelTemplate<c10::BFloat16>", 400);
    let op = "aten::native_layer_norm_backward";
    let step = |kernels: &[Kernel]| {
        let waterfall = waterfall_on("H100", &profile_of(op, ARGS, &[kernels]));
        waterfall.step(Cause::ReadAgain).map(|step| step.factor)
    };
    let factor = step(&[INPUT, SCALE]).unwrap();
    assert!((factor - 5.0 / 3.0).abs() < 1e-9, "{factor}");
    assert_eq!(step(&[INPUT]), None);
}

/// An implicit GEMM indexes its operands, which is not a gather of rows.
#[test]
fn a_convolution_does_not_gather() {
    let args = "8x64x56x56, 64x64x3x3, _, =[1, 1], =[1, 1], =[1, 1], =False, =[0, 0], =1";
    let kernel =
        "sm80_xmma_fprop_implicit_gemm_indexed_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x128x32";
    let profile = profile_of("aten::convolution", args, &[&[(kernel, 2_000)]]);
    let facts = waterfall_on("A100-80GB", &profile).facts;
    assert!(!facts.contains(&Fact::Gather), "{facts:?}");
}

#[test]
fn what_has_no_factor_is_a_fact() {
    #[rustfmt::skip]
    let cases = [
        ("MI300X", "aten::mm", "4096x1022, 1022x4096", TILE, "K = 1 022, no multiple of 8: rows are not 16-byte aligned"),
        ("H100", "aten::mm", "4096x4096, 4096x4096", "ampere_bf16_s16816gemm_bf16_256x128_ldg8_f2f_stages_64x3_nn", "its kernel was built for Ampere (8.0), the GPU is Hopper (9.0)"),
        ("H100", "aten::mm", "4096x4096, 4096x4096", "cutlass_75_tensorop_f16_s1688gemm_f16_256x128_32x2_nn_align8", "its kernel was built for Turing (7.5), the GPU is Hopper (9.0)"),
        ("MI300X", "aten::_scaled_dot_product_flash_attention", "1x2x4096x128*3, =0.0, =False", "attn_fwd", "only 128 workgroups for 304 compute units, unless keys are split or blocks have fewer than 64 queries"),
        ("MI300X", "aten::mm", "4096x64, 64x4864", TILE, "K = 64 is 1 step of 64: prologue and epilogue take most of the time"),
        ("MI300X", "aten::convolution", "8x3x224x224, 64x3x7x7, _, =[2, 2], =[3, 3], =[1, 1], =False, =[0, 0], =1", "igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt128x128x32", "C_in = 3"),
        ("MI300X", "aten::convolution", "8x3x224x224, 64x3x7x7, _, =[2, 2], =[3, 3], =[1, 1], =False, =[0, 0], =1", "naive_conv_ab_packed_fwd_nchw_ushort_double_ushort", "its kernel is what is left where no tuned one fits"),
    ];
    for (gpu, op, args, kernel, fact) in cases {
        let waterfall = waterfall_on(gpu, &profile_of(op, args, &[&[(kernel, 20_000)]]));
        let facts: Vec<String> = waterfall.facts.iter().map(Fact::text).collect();
        let plain: Vec<String> = facts
            .iter()
            .map(|fact| fact.replace('\u{202f}', " "))
            .collect();
        assert!(plain.iter().any(|one| one == fact), "{kernel}: {plain:?}");
    }
}

/// A kernel faster than its roofline has no gap.
#[test]
fn what_beats_its_roofline_has_no_steps() {
    let waterfall = waterfall_on("MI300X", &profile_of("aten::mm", GEMM, &[&[(TILE, 10)]]));
    assert_eq!(
        (waterfall.roofline_ns, &waterfall.steps[..]),
        (10_000, &[][..])
    );
    assert_eq!(waterfall.roofline_percent(), Some(100.0));
}

/// Additions of two numbers, of which one kernel takes 3 µs and the other 4: how fast they read says nothing.
#[test]
fn hardly_any_data_has_a_shortest_time_and_no_factor() {
    let table = Timetable::new()
        .call("aten::add_", "2@1:float*2", "add", 100..112)
        .call("aten::sub_", "2@1:float*2", "sub", 120..123);
    let waterfall = waterfall_on("MI300X", &table.profile());
    let step = waterfall.step(Cause::SmallSize).unwrap();
    assert!(!step.has_factor());
    assert_eq!(
        step.text(),
        "the fastest other operation on as little data takes 3.00 µs"
    );
}

/// 2 × 19 tiles on 304 units reach at most an eighth of the GPU: a kernel that is faster has more workgroups than its
/// name and sizes tell.
#[test]
fn workgroups_too_few_for_the_measured_time_are_not_believed() {
    let waves = |us: u32| {
        let args = "512x16384, 16384x4864";
        waterfall_on("MI300X", &profile_of("aten::mm", args, &[&[(TILE, us)]]))
    };
    // 81.6 GFLOP take 62 µs at the peak of the whole GPU, and 499 µs on 38 units.
    let slow = waves(600);
    assert!(slow.step(Cause::WaveQuantization).is_some(), "{slow:?}");
    assert_eq!(slow.few_workgroups(), Some((38, 304)));
    let fast = waves(300);
    assert_eq!(fast.step(Cause::WaveQuantization), None, "{fast:?}");
    assert_eq!(fast.few_workgroups(), None);
}
