//! Operations whose sizes differ between the traces.

use super::*;

#[test]
fn the_same_operator_on_other_sizes_is_judged_by_its_own_work() {
    let doubled = r#""Input Dims": [[1024, 256], [256, 128]], "Input type": ["float", "float"], "Input Strides": [[256, 1], [128, 1]], "Concrete Inputs": ["", ""]"#;
    let comparison = testing::compared(&mm(MM, 40), &mm(doubled, 80), H100);
    let op = only(&comparison.operations);
    assert_eq!(op.level, MatchLevel::Operator);
    assert_eq!(op.label(), "aten::mm 1024×256, 256×128 fp32");
    let reference = op.reference_shapes.as_deref();
    assert_eq!(reference, Some("512×256, 256×128 fp32"));
    assert_eq!(op.types, None);
    // 1024·256 + 256·128 + 1024·128 elements to move, instead of 512·256 + 256·128 + 512·128.
    let expected = op.judgment.expected.unwrap_or_default();
    let error = (expected - 425_984.0 / 229_376.0).abs();
    assert!(error < 1e-9, "{expected}");
    assert_eq!(op.judgment.verdict, Verdict::ExplainedByHardware);
    let words = "on 1024×256, 256×128 fp32 instead of 512×256, 256×128 fp32";
    assert_contains(&comparison.caveats().join(" "), words);
    // With other sizes and a different number of calls, nothing shows that they match.
    let twice = run([("aten::mm", doubled, "k", 80); 2]);
    assert!(compared(&mm(MM, 40), &twice).operations.matched.is_empty());
}

/// GEMMs of this many tokens, forward and backward, of a layer from 4096 to 16384 and back, and what follows them.
fn layer(tokens: u32, calls: usize) -> crate::testing::Timetable {
    let gemm = |m: u32, k: u32, n: u32| {
        let args = format!(
            r#""Input Dims": [[{m}, {k}], [{k}, {n}]], "Input type": ["c10::BFloat16", "c10::BFloat16"]"#
        );
        ("aten::mm", args, 400 * tokens / 8192)
    };
    let points = format!(r#""Input Dims": [[{tokens}, 16384]], "Input type": ["c10::BFloat16"]"#);
    let all = [
        gemm(tokens, 4096, 16384),
        ("aten::gelu", points, 100 * tokens / 8192),
        gemm(tokens, 16384, 4096),
        gemm(16384, tokens, 4096),
        gemm(4096, tokens, 16384),
    ];
    let step = all
        .iter()
        .map(|(op, args, us)| (*op, args.as_str(), "k", *us));
    run((0..calls).flat_map(|_| step.clone()))
}

#[test]
fn twice_the_batch_is_matched_even_where_sizes_then_coincide() {
    let comparison = testing::compared(&layer(8192, 2), &layer(16384, 2), H100);
    let operations = &comparison.operations;
    assert_eq!(operations.unmatched, Pair::default());
    assert_eq!(operations.matched.len(), 4, "{operations:#?}");
    // Forward 8192 × 16384 · 16384 × 4096, and 16384 × 8192 · 8192 × 4096 of its weights.
    let joined = operations
        .matched
        .iter()
        .find(|op| op.calls() == pair(4, 4));
    let joined = joined.unwrap();
    assert_eq!(joined.label(), "aten::mm 16384×16384, 16384×4096 bf16");
    assert_eq!(joined.times(), pair(1_600_000, 3_200_000));
    assert!(operations.matched.iter().all(|op| {
        op.level == MatchLevel::Operator && op.verdict_label() == "explained by its sizes"
    }));
    let work = comparison.work.as_ref().unwrap();
    assert!(
        work.is_uniform && (work.ratio - 2.0).abs() < 1e-9,
        "{work:?}"
    );
    assert_eq!(
        work.sentence(),
        "The target does 2.00× the work of the reference."
    );
    assert!(comparison.gaps.ranked.is_empty(), "{:#?}", comparison.gaps);
    assert_contains(&comparison.nothing_found(), "2.00× the work");
    // With more layers, too.
    let more = testing::compared(&layer(16384, 2), &layer(8192, 3), H100);
    assert_eq!(more.operations.unmatched, Pair::default());
    assert!(more.gaps.ranked.is_empty(), "{:#?}", more.gaps);
}

#[test]
fn sizes_without_a_common_factor_are_not_matched_by_one() {
    let gemms = |sizes: [u32; 3], calls| {
        let args = sizes.map(|n| {
            format!(r#""Input Dims": [[{n}, {n}], [{n}, {n}]], "Input type": ["float", "float"]"#)
        });
        run((0..calls).flat_map(|_| {
            args.iter()
                .map(|args| ("aten::mm", args.as_str(), "k", 100))
        }))
    };
    let operations = compared(&gemms([512, 640, 768], 1), &gemms([1024, 896, 1152], 2)).operations;
    assert!(operations.matched.is_empty(), "{operations:#?}");
    // The same work as before says nothing about more of it.
    assert_eq!(compared(&layer(8192, 2), &layer(8192, 2)).work, None);
}

#[test]
fn longer_sequences_are_explained_by_kind_of_work() {
    let attention = |length: u32| {
        let qkv = format!("[4, 32, {length}, 128]");
        let args = format!(
            r#""Input Dims": [{qkv}, {qkv}, {qkv}, [], []], "Input type": ["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "Scalar", "Scalar"], "Concrete Inputs": ["", "", "", "0.", "True"]"#
        );
        let us = length / 4 * length / 2048;
        layer(4 * length, 2).call(
            "aten::_scaled_dot_product_flash_attention",
            &args,
            "flash_fwd_kernel",
            90_000..90_000 + us,
        )
    };
    let comparison = testing::compared(&attention(2048), &attention(4096), H100);
    let work = comparison.work.as_ref().unwrap();
    let of = |family| work.by_family.iter().find(|(of, _)| *of == family);
    assert_eq!(of(crate::names::Family::Gemm).map(|of| of.1), Some(2.0));
    assert_eq!(
        of(crate::names::Family::Attention).map(|of| of.1),
        Some(4.0)
    );
}

/// 64 × 4096 elements, as two operands.
const WIDE: &str = r#""Input Dims": [[64, 4096], [64, 4096]], "Input type": ["float", "float"]"#;

/// Between two GEMMs that both traces have, these operators with their arguments.
fn between(calls: &[(&str, &str)]) -> Timetable {
    let gemm = ("aten::mm", MM, "gemm", 100);
    let other = ("aten::bmm", "", "gemm", 100);
    let calls = calls.iter().map(|(op, args)| (*op, *args, *op, 30));
    run([gemm].into_iter().chain(calls).chain([other]))
}

#[test]
fn what_is_between_the_same_operations_is_a_match() {
    let fused = between(&[("triton_poi_fused_add_gelu_0", WIDE)]);
    let chain = between(&[("aten::add", WIDE), ("aten::gelu", WIDE)]);
    for (reference, target) in [(&fused, &chain), (&chain, &fused)] {
        let operations = compared(reference, target).operations;
        let mut matched = operations.matched.iter();
        let op = matched.find(|op| op.level == MatchLevel::Neighbors);
        let op = op.unwrap_or_else(|| panic!("{operations:#?}"));
        assert_eq!(op.calls(), pair(1, 1));
        assert_eq!(operations.unmatched, pair(Vec::new(), Vec::new()));
    }
}

#[test]
fn other_sizes_between_the_same_operations_are_no_match() {
    let small = r#""Input Dims": [[64, 64], [64, 64]], "Input type": ["float", "float"]"#;
    let fused = between(&[("triton_poi_fused_add_gelu_0", small)]);
    let chain = between(&[("aten::add", WIDE), ("aten::gelu", WIDE)]);
    let operations = compared(&fused, &chain).operations;
    assert_eq!(operations.matched.len(), 2);
    assert_eq!(operations.unmatched.target.len(), 2);
}
