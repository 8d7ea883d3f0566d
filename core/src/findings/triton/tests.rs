use super::super::samples::{Calls, found, patterns};
use super::*;

/// A kernel that reads and writes 16.8 million BF16 elements: 67.1 MB, 12.7 µs at 5 300 GB/s.
fn kernel(calls: Calls, n: u32, name: &str, sizes: &[u64], us: u32) -> Calls {
    let sizes: String = sizes.iter().map(|size| format!(", ={size}")).collect();
    let args = format!("4096x4096@4096x1*2{sizes}");
    calls.calls(n, name, &args, name, us)
}

/// Kernels of 3 µs.
fn short(n: u32, name: &str) -> Calls {
    Calls::new().calls(n, name, "64@1:float", name, 3)
}

const ADD: &str = "triton_poi_fused_add_7";
const REDUCTION: &str = "triton_red_fused_add_mean_mul_pow_rsqrt_0";
const POINTWISE: &str = "triton_poi_fused_mul_silu_2";

#[test]
fn slow_reductions_are_distinguished_from_other_slow_kernels() {
    let case = |name, sizes: &[u64], us| {
        patterns(&kernel(Calls::new(), 1, name, sizes, us).outcome("triton"))
    };
    // 12.7 %, 36 % and 63 % of roofline.
    let reduction = |us| case(REDUCTION, &[4096, 4096], us);
    assert_eq!(reduction(100), ["slow_reduction_fusion"]);
    assert_eq!(reduction(35), ["memory_bound_gap"]);
    assert_eq!(reduction(20), [""; 0]);
    assert_eq!(case(POINTWISE, &[16_777_216], 100), ["memory_bound_gap"]);
}

#[test]
fn the_merged_operators_are_named() {
    let outcome = kernel(Calls::new(), 1, REDUCTION, &[4096, 4096], 100).outcome("triton");
    let finding = found(&outcome, "slow_reduction_fusion");
    let said = "The longest merges `add`, `mean`, `mul`, `pow` and `rsqrt`.".to_owned();
    assert!(finding.reasoning.contains(&said), "{:?}", finding.reasoning);
    let merged = outcome.tables[0].rows[0][2].text();
    assert_eq!(merged, "add, mean, mul, pow, rsqrt");
    assert_eq!(outcome.get("reduction_count"), Some(&Value::Count(1)));
    assert_eq!(outcome.get("memory_bound_count"), Some(&Value::Count(1)));
}

#[test]
fn many_short_kernels_are_narrow_fusions() {
    let many = |n| short(n, ADD).outcome("triton");
    let outcome = many(150);
    assert_eq!(patterns(&outcome), ["narrow_fusions"]);
    let said = "The longest holds `add` alone.".to_owned();
    assert!(found(&outcome, "narrow_fusions").reasoning.contains(&said));
    assert_eq!(patterns(&many(50)), [""; 0]);
}

#[test]
fn kernels_of_gpu_graphs_are_not_to_be_replayed_as_graphs() {
    let launched = short(150, ADD);
    let model = |calls: &Calls| {
        let outcome = calls.outcome("triton");
        found(&outcome, "narrow_fusions").model.clone()
    };
    assert!(model(&launched).contains("replay the kernels as GPU graphs"));
    let both = model(&launched.graph(ADD, 150, 3));
    assert!(both.contains("capture these kernels"), "{both}");
}

#[test]
fn short_kernels_that_hold_a_whole_norm_do_not_merge_little() {
    let issue = |name| {
        let outcome = short(150, name).outcome("triton");
        found(&outcome, "narrow_fusions").issue.clone()
    };
    assert!(issue(ADD).ends_with(": each merges little."));
    assert!(!issue(REDUCTION).contains("merges"));
}

/// 137 GFLOP at a third of 989 TFLOPS: a GEMM from a template has tiles to compare, not loops to make contiguous.
#[test]
fn templates_of_gemms_have_advice_of_their_own() {
    let of = |us: u32| {
        let name = "triton_tem_fused_addmm_0";
        let args = "4096x2048, 2048x8192, 4096x8192";
        let calls = Calls::new().calls(8, name, args, name, us);
        calls.outcome_on("H100", "triton")
    };
    let slow = of(420);
    assert!(
        found(&slow, "template_gap")
            .model
            .contains("compare more tiles")
    );
    assert_eq!(patterns(&of(190)), [""; 0]);
}
