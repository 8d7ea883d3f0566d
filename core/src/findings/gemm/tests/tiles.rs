//! Output tiles, and how they map to compute units.

use super::*;
use crate::import::import;
use crate::profile::Profile;
use crate::profile::operations::kinds::gemm::GemmSizes;

#[test]
fn a_split_gemm_has_more_parts_than_output_tiles() {
    let split = "nvjet_hsh_256x256_64x4_1x2_h_bz_splitK_NNN";
    let outcome = slow("MI300X", "aten::mm", "512x4096, 4096x512", split);
    assert_contains(&only(&outcome, "compute_bound_gap").kernel, &["split-K"]);
}

/// A tile of 64 × 32 on 788 × 768: 12 along N by 25 along M, because PyTorch's libraries use column-major order.
#[test]
fn tiles_lie_along_n_first() {
    let sizes = GemmSizes {
        batch: 1,
        m: 788,
        n: 768,
        k: 768,
        is_grouped: false,
    };
    assert_eq!(sizes.tiles((64, 32), true), 300);
    assert_eq!(sizes.tiles((64, 32), false), 13 * 24);
}

/// Four tiles of 256 × 256. The longest kernel was launched with `grid`, counted in threads or in blocks.
#[test]
fn more_workgroups_than_tiles_are_a_split() {
    let (of_blocks, of_threads) = ("hipLaunchKernel", "hipExtModuleLaunchKernel");
    let cases = [
        (of_blocks, 4, "4 tiles on 304 compute units"),
        (of_blocks, 8, "8 workgroups on 304 compute units"),
        (of_threads, 1024, "4 tiles on 304 compute units"),
        (of_threads, 2048, "8 workgroups on 304 compute units"),
    ];
    for (call, grid, expected) in cases {
        let profile = Timetable::new()
            .without_flows()
            .op("aten::mm", 0..10)
            .args("512x4096, 4096x512")
            .runtime(call, 1, 1..2)
            .kernel(1, "Cijk_Alik_Bljk_BBS_BH_MT256x256x32", 100..100_100)
            .args(&format!(r#""grid": [{grid}, 1, 1], "block": [256, 1, 1]"#))
            .profile();
        let report = Report::new(&profile, &options_on("MI300X"));
        let ranked = &report.analyses.findings.ranked;
        assert_eq!(ranked[0].finding.title, expected, "{call} {grid}");
    }
}

/// 144 tiles for 132 compute units leave a wave of 12.
#[test]
fn tiles_are_few_only_where_units_have_none() {
    let kernel = "nvjet_tst_128x256_64x4_1x2_h_bz_NNN";
    let outcome = slow("H100", "aten::mm", "2176x8192, 8192x2048", kernel);
    let model = &only(&outcome, "compute_bound_gap").model;
    assert_contains(model, &["12 tiles for 132 compute units"]);
}

/// 64 tiles on 132 units, in the same time: one barely memory-bound, one compute-bound. Both save the time of their
/// step, and no more.
#[test]
fn few_tiles_save_their_step_whatever_bounds_the_gemm() {
    let kernel = "nvjet_tst_64x64_64x13_1x1_v_bz_TNT";
    let saved = |args: &str, kernel: &str| {
        let calls = Calls::new().call("aten::mm", args, kernel, 60);
        let outcome = calls.outcome_on("H100", "gemm");
        let found = only(&outcome, "few_output_tiles").clone();
        let step = "wave quantization ×2.06";
        assert_contains(&found.causes, &[step]);
        found.impact.unwrap().high_ns
    };
    let of_memory = saved("512x8192, 8192x512", kernel);
    let of_compute = saved("768x8192, 8192x768", "nvjet_tst_96x96_64x13_1x1_v_bz_TNT");
    // At 7 and 17 % of roofline in 60 µs.
    assert!(of_memory > 0 && of_memory < of_compute, "{of_memory}");
    assert!(of_compute < 15_000, "{of_compute}");
}

/// The gradient of a weight sums over 8 192 tokens.
#[test]
fn a_larger_batch_gives_the_gradient_of_a_weight_no_tiles() {
    let kernel = "nvjet_tst_64x64_64x13_1x1_v_bz_TNT";
    let gemm = |calls: Calls| calls.call("aten::mm", "512x8192, 8192x512", kernel, 60);
    let model = |calls: Calls| {
        let outcome = calls.outcome_on("H100", "gemm");
        only(&outcome, "few_output_tiles").model.clone()
    };
    assert_contains(
        &model(gemm(Calls::new())),
        &["larger batches or fused projections"],
    );
    let engine = "autograd::engine::evaluate_function: MmBackward0";
    let gradient = Calls::new().inside(engine, gemm);
    assert_contains(&model(gradient), &["a larger batch only makes K longer"]);
    // In FP32 a narrower type pays, whatever the number of tiles; it leads where it saves more than work for all units.
    let wide = |n: u32| {
        let gemm = |calls: Calls| {
            let sizes = format!("512x8192:float, 8192x{n}:float");
            calls.call("aten::mm", &sizes, "ampere_sgemm_128x128_nt", 3_000)
        };
        Calls::new().inside(engine, gemm).outcome_on("H100", "gemm")
    };
    let few = wide(512);
    let few = only(&few, "few_output_tiles");
    assert_contains(&few.model, &["run it in BF16 or FP16"]);
    assert_contains_none(&few.model, &["nothing to gain"]);
    only(&wide(1024), "wide_precision");
}

/// The table has no number of units for a GB200, but the trace does: 32 tiles for 152.
#[test]
fn compute_units_come_from_the_trace() {
    let pattern = |gpu: &str| {
        let (args, kernel) = (
            "1024x8192, 8192x1024",
            "nvjet_tst_128x256_64x4_1x2_h_bz_NNN",
        );
        let timetable = Timetable::new().call("aten::mm", args, kernel, 100..60_100);
        let devices = format!(r#"[{{"id": 0, "name": "NVIDIA {gpu}", "numSms": 152}}]"#);
        let device = format!(r#"{{"deviceProperties": {devices}, "#);
        let json = timetable.json().replacen('{', &device, 1);
        let profile = Profile::new(import(json.as_bytes()).unwrap());
        let report = Report::new(&profile, &options_on("GB200"));
        report.analyses.findings.ranked[0].finding.pattern
    };
    assert_eq!(pattern("GB200"), "few_output_tiles");
    // The number of units of another GPU is not used.
    assert_eq!(pattern("B200"), "compute_bound_gap");
}

/// 4 tiles, and 64 splits along K: 256 workgroups run, so it is the reduction of their parts that takes time.
#[test]
fn a_reduction_beside_the_kernel_indicates_a_split() {
    let profile = Timetable::new()
        .without_flows()
        .op("aten::mm", 0..10)
        .args("256x262144, 262144x256")
        .runtime("cudaLaunchKernel", 1, 1..2)
        .runtime("cudaLaunchKernel", 2, 3..4)
        .kernel(
            1,
            "cutlass_80_tensorop_bf16_s16816gemm_bf16_128x128_32x5_nt_align8",
            100..195,
        )
        .args(r#""grid": [2, 2, 64], "block": [128, 1, 1]"#)
        .kernel(
            2,
            "void cublasLt::splitKreduce_kernel<32, 16, int, float>",
            195..255,
        )
        .profile();
    let report = Report::new(&profile, &options_on("H100"));
    let found = &report.analyses.findings.ranked[0].finding;
    assert_eq!(found.title, "Split-K reductions beside GEMMs");
    assert_contains(&found.causes, &["1 split-K reduction"]);
    assert_contains_none(&found.causes, &["wave quantization"]);
}

/// 64 entries of 16 rows by one matrix of 4 096 × 4 096: as one GEMM 34.4 GFLOP, 34.7 µs on an H100.
#[test]
fn one_matrix_for_a_whole_batch_is_multiplied_once() {
    let kernel = "nvjet_tst_64x64_64x13_1x4_h_bz_TNT";
    let of = |matrix: &str, us: u32| {
        let args = format!("64x16x4096, {matrix}");
        let calls = Calls::new().call("aten::bmm", &args, kernel, us);
        calls.outcome_on("H100", "gemm")
    };
    let shared = "64x4096x4096@0x4096x1";
    for us in [580, 58] {
        let outcome = of(shared, us);
        let finding = only(&outcome, "shared_matrix");
        assert_contains(&finding.model, &["folded into the rows"]);
    }
    // 128 rows fill the rows of small tiles alone.
    let args = "64x128x4096, 64x4096x4096@0x4096x1";
    let rows = Calls::new().call("aten::bmm", args, kernel, 1_000);
    only(&rows.outcome_on("H100", "gemm"), "shared_matrix");
    // At 80 % of roofline tiles cost nothing; each entry may have a matrix of its own.
    assert_eq!(patterns(&of(shared, 43)), [""; 0]);
    assert!(!patterns(&of("64x4096x4096", 5_000)).contains(&"shared_matrix"));
}

/// Reading and writing 8 192 × 8 192 elements takes 80 µs on an H100; the GEMM itself 1.1 ms at 989.4 TFLOPS.
#[test]
fn a_slow_norm_inside_of_an_operator_is_named() {
    let of = |norm_us: u32| {
        let kernels = [
            (
                "void transformer_engine::normalization::rmsnorm_fwd_general_kernel<8192>",
                norm_us,
            ),
            ("nvjet_tst_128x256_64x4_2x1_v_bz_TNT", 1_600),
        ];
        let args = "8192x8192, 8192, 8192, 8192x8192";
        let calls = Calls::new().kernels("_LayerNormLinear", args, &kernels);
        calls.outcome_on("H100", "gemm")
    };
    let outcome = of(800);
    let finding = only(&outcome, "slow_norm_inside");
    assert_contains(&finding.issue, &["takes 800 µs of it, at 10.0 % of"]);
    let saved_us = finding.impact.unwrap().high_ns / 1000;
    assert!((715..725).contains(&saved_us), "{saved_us}");
    assert_eq!(patterns(&of(110)), [""; 0]);
}

/// 17 rows in 64 of 128 × 128 tiles on 132 units: at a hundredth of what these could do, the tiles are not the reason.
#[test]
fn few_tiles_do_not_explain_a_kernel_that_is_far_below_its_share() {
    let kernel = "nvjet_tst_128x128_64x6_2x1_v_bz_TNN";
    let pattern = |us: u32| {
        let calls = Calls::new().call("aten::mm", "17x4096, 4096x8192", kernel, us);
        patterns(&calls.outcome_on("H100", "gemm"))
    };
    assert_eq!(pattern(60), ["few_output_tiles"]);
    assert_eq!(pattern(2_000), ["tall_skinny"]);
}
