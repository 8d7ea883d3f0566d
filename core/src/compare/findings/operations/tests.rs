use crate::compare::gap::Saving;
use crate::compare::testing::{H100, assert_contains, compared, pair, run, savings};
use crate::testing::Timetable;

/// A GEMM on each of four GPUs concurrently, each with the given number of milliseconds.
fn on_four_gpus(ms: u32) -> Timetable {
    (0..4).fold(Timetable::new(), |table, gpu| {
        table
            .gpu(gpu)
            .work("aten::mm", "gemm", 1_000..1_000 + ms * 1_000)
    })
}

#[test]
fn what_runs_on_four_gpus_at_once_saves_its_time_once() {
    let gpus = Some(("MI300X", "MI300X"));
    let comparison = compared(&on_four_gpus(1), &on_four_gpus(4), gpus);
    let gap = &comparison.gaps.ranked[0];
    // 4 ms of kernel time became 16 ms, and a run of 1 ms became one of 4 ms: this can save 3 ms.
    assert_eq!(gap.times, pair(4_000_000, 16_000_000));
    assert_eq!(comparison.parts.total.target, 4_000_000);
    let saving = Saving {
        matching_ns: 3_000_000,
        roofline_ns: None,
        is_predicted: true,
    };
    assert_eq!(gap.saving, Some(saving));
    assert!(gap.reasoning[0].contains("100"), "{}", gap.reasoning[0]);
    assert!(gap.reasoning[1].contains("on other streams or GPUs"));
}

/// 2·4096³ = 137.4 GFLOP: 138.9 µs at the peak of an H100, 440.5 µs at that of an A100.
const MM: &str = r#""Input Dims": [[4096, 4096], [4096, 4096]], "Input type": ["c10::BFloat16", "c10::BFloat16"]"#;

fn mm(kernel: &str, us: u32) -> Timetable {
    run([("aten::mm", MM, kernel, us)])
}

#[test]
fn what_the_roofline_of_the_target_forbids_is_said() {
    let gpus = Some(("H100", "A100-40GB"));
    let comparison = compared(&mm("a", 150), &mm("b", 1_000), gpus);
    let gap = &comparison.gaps.ranked[0];
    // 150 µs · 3.171 are expected, and 440.5 µs are the minimum.
    let saving = gap.saving.unwrap();
    assert_eq!(saving.matching_ns / 1_000, 524);
    assert_eq!(saving.roofline_ns.unwrap() / 1_000, 559);
    assert_eq!(gap.floor_ns.unwrap() / 1_000, 440);
    let words = "The 150 µs of the reference are out of reach. The target cannot go below 441 µs on this hardware";
    assert_contains(&gap.reasoning.join(" "), words);
}

#[test]
fn a_reference_above_its_roofline_is_implausible() {
    let comparison = compared(&mm("a", 100), &mm("b", 1_000), Some(("H100", "MI300X")));
    let op = &comparison.operations.matched[0];
    assert_eq!(op.judgment.is_implausible, pair(true, false));
    let caveats = comparison.caveats().join(" ");
    assert_contains(
        &caveats,
        "1 operation of the reference with 100 µs takes less time than its own roofline allows, `aten::mm` first (139 % of roofline)",
    );
    let gap = &comparison.gaps.ranked[0];
    assert_contains(
        &gap.reasoning.join(" "),
        "139 % of its own roofline on the reference is implausible",
    );
    // 75.7 µs would be expected, but the minimum is 105.1 µs.
    let saving = gap.saving.unwrap();
    assert_eq!(saving.roofline_ns, Some(saving.matching_ns));
}

#[test]
fn a_gap_without_a_prediction_is_worth_the_way_to_the_reference() {
    let op = |us| run([("my::op", "", "k", us)]);
    let comparison = compared(&op(20), &op(1_000), Some(("H100", "MI300X")));
    let gap = &comparison.gaps.ranked[0];
    assert_eq!(gap.pattern, "slower_not_judged");
    let saving = Saving {
        matching_ns: 980_000,
        roofline_ns: None,
        is_predicted: false,
    };
    assert_eq!(gap.saving, Some(saving));
    // Only the target's roofline is known: no GPU is chosen for the reference.
    let comparison = compared(&mm("a", 20), &mm("b", 1_000), Some(("", "MI300X")));
    let saving = comparison.gaps.ranked[0].saving.unwrap();
    assert_eq!(
        (saving.matching_ns / 1_000, saving.is_predicted),
        (805, false)
    );
}

#[test]
fn a_kernel_of_an_older_generation_is_named_on_either_side() {
    let (old, new) = ("volta_h16gemm_tt_v1", "sm90_xmma_gemm_bf16bf16");
    let gap = |reference, target| {
        let comparison = compared(
            &mm(reference, 200),
            &mm(target, 900),
            Some(("H100", "H100")),
        );
        comparison.gaps.ranked[0].clone()
    };
    let slow = gap(new, old);
    assert_eq!(slow.pattern, "outdated_kernel");
    assert!(
        slow.title
            .ends_with(": its kernel is built for Volta, an older generation"),
        "{}",
        slow.title
    );
    assert_contains(&slow.kernel, "built for Volta, an older generation");
    let other = gap(old, new);
    assert_eq!(other.pattern, "unexpected_slowdown");
    assert_contains(
        &other.reasoning.join(" "),
        "The name of the reference's kernel says that it is built for Volta, an older generation",
    );
    // If it is the same on both sides, it makes no difference.
    assert_eq!(gap(old, old).pattern, "same_kernels");
}

/// The same GPU and work, other kernels, less than 1.25 times the time: the hardware explains none of it.
#[test]
fn other_kernels_on_the_same_gpu_are_compared_more_closely() {
    let patterns = |kernel, us| {
        let comparison = compared(&mm("a", 200), &mm(kernel, us), Some(("H100", "H100")));
        let ranked = comparison.gaps.ranked.iter();
        let ranked = ranked.map(|gap| (gap.pattern, gap.saving.map(|saving| saving.matching_ns)));
        ranked.collect::<Vec<_>>()
    };
    assert_eq!(patterns("b", 240), [("other_kernels", Some(40_000))]);
    assert_eq!(patterns("b", 300), [("other_kernels", Some(100_000))]);
    assert_eq!(patterns("b", 215), []);
    assert_eq!(patterns("a", 240), [("same_kernels", Some(40_000))]);
    assert_eq!(patterns("a", 215), []);
}

/// Copies of one trace; in each copy, the kernels of one operation take twice as long.
#[test]
fn the_operation_that_takes_twice_as_long_is_found_with_its_size() {
    const X: &str = r#""Input Dims": [[4096, 4096]], "Input type": ["c10::BFloat16"]"#;
    const QKV: &str = r#""Input Dims": [[8, 16, 2048, 64], [8, 16, 2048, 64], [8, 16, 2048, 64]], "Input type": ["c10::Half", "c10::Half", "c10::Half"]"#;
    let calls = [
        ("aten::mm", MM, "gemm", 200),
        (
            "aten::_scaled_dot_product_flash_attention",
            QKV,
            "flash",
            300,
        ),
        ("aten::gelu", X, "gelu", 120),
        ("aten::_softmax", X, "softmax", 150),
        ("my::op", "", "own", 90),
    ];
    for (at, (name, ..)) in calls.iter().enumerate() {
        let mut slower = calls;
        slower[at].3 *= 2;
        let comparison = compared(&run(calls), &run(slower), Some(("H100", "H100")));
        let [gap] = &comparison.gaps.ranked[..] else {
            panic!("{name}: {:#?}", comparison.gaps);
        };
        assert!(gap.title.contains(name), "{}", gap.title);
        let more_ns = i64::from(calls[at].3) * 1_000;
        assert_eq!(gap.times.difference(), more_ns, "{name}");
        let saved_ns = gap.saving.unwrap().matching_ns;
        assert!(
            (saved_ns - more_ns).abs() * 20 <= more_ns,
            "{name}: {saved_ns}"
        );
    }
}

#[test]
fn where_only_peaks_predict_less_the_saving_ends_at_the_achievable_roofline() {
    let gpus = Some(("H100", "MI300X"));
    let comparison = compared(&mm("a", 200), &mm("b", 280), gpus);
    let gap = &comparison.gaps.ranked[0];
    assert_eq!(gap.pattern, "moderately_beyond");
    // 151.4 µs by peaks, 194.1 at the 708 TFLOPS that the report of the target uses.
    assert_eq!(gap.saving.unwrap().matching_ns / 1_000, 85);
    assert_eq!(gap.floor_ns.unwrap() / 1_000, 194);
    assert_eq!(gap.priority, crate::findings::Priority::Low);
    assert_contains(
        &gap.gap,
        "the hardware predicts 24.3 % less by peaks, 39.7 % more by achievable figures",
    );
}

#[test]
fn another_operator_for_attention_is_the_cause_before_its_kernel() {
    const QKV: &str = r#""Input Dims": [[4, 32, 2048, 128], [4, 32, 2048, 128], [4, 32, 2048, 128]], "Input type": ["c10::BFloat16", "c10::BFloat16", "c10::BFloat16"]"#;
    let by = |op: &str, kernel: &str, us| run([(op, QKV, kernel, us)]);
    let flash = by(
        "aten::_scaled_dot_product_flash_attention",
        "flash_fwd_kernel",
        200,
    );
    let other = by(
        "aten::_scaled_dot_product_efficient_attention",
        "fmha_cutlassF_bf16_aligned_64x64_rf_sm80",
        320,
    );
    let gap = &compared(&flash, &other, crate::compare::testing::H100)
        .gaps
        .ranked[0];
    assert_eq!(gap.pattern, "other_attention");
    assert_contains(&gap.model, "sdpa_kernel(SDPBackend.FLASH_ATTENTION)");
}

/// Three GEMMs on an A100 and on an H100, which ought to be 3.17 times as fast.
#[test]
fn gemms_that_are_behind_another_gpu_by_one_factor_are_one_finding() {
    let step = |us: [u32; 3]| {
        let ops = ["aten::mm", "aten::addmm", "aten::bmm"];
        let args = |op: &str| match op {
            "aten::addmm" => {
                MM.replacen("[[", "[[4096], [", 1)
                    .replacen("\"c10", r#""c10::BFloat16", "c10"#, 1)
            }
            "aten::bmm" => MM.replace("[4096, 4096]", "[1, 4096, 4096]"),
            _ => MM.to_owned(),
        };
        let calls: Vec<(&str, String, u32)> = ops
            .into_iter()
            .zip(us)
            .map(|(op, us)| (op, args(op), us))
            .collect();
        run(calls
            .iter()
            .map(|(op, args, us)| (*op, args.as_str(), "gemm", *us)))
    };
    let found = |us| {
        let gpus = Some(("A100-80GB", "H100"));
        compared(&step([600, 600, 600]), &step(us), gpus)
            .gaps
            .ranked
    };
    let alike = found([400, 410, 405]);
    assert_eq!(alike.len(), 1, "{alike:#?}");
    assert_contains(&alike[0].title, "GEMM in 3 operations");
    assert_contains(&alike[0].reasoning.join(" "), "by about the same factor");
    assert_contains(&alike[0].model, "none of them is at fault");
    // Others, each by a factor of its own.
    assert!(found([300, 390, 800]).len() > 1);
}

#[test]
fn both_passes_of_attention_by_another_operator_are_one_finding() {
    const QKV: &str = r#""Input Dims": [[4, 2048, 32, 128], [4, 2048, 32, 128], [4, 2048, 32, 128], [4, 2048, 32, 128]], "Input type": ["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "c10::BFloat16"]"#;
    let by = |kind: &str, us: u32| {
        let [forward, backward] =
            ["forward", "backward"].map(|pass| format!("aten::_{kind}_attention_{pass}"));
        run([
            (forward.as_str(), QKV, kind, us),
            (backward.as_str(), QKV, kind, 3 * us),
        ])
    };
    let ranked = compared(&by("flash", 1_000), &by("efficient", 1_600), H100)
        .gaps
        .ranked;
    assert_eq!(savings(&ranked), [("other_attention", Some(2_400_000))]);
    assert_eq!(
        ranked[0].title,
        "Attention by `aten::_efficient_attention_backward`, on the reference by `aten::_flash_attention_backward`"
    );
}

/// A GEMM whose operands have these strides.
fn strided(strides: &str, kernel: &str, us: u32) -> Timetable {
    let args = format!(r#"{MM}, "Input Strides": [{strides}]"#);
    run([("aten::mm", args.as_str(), kernel, us)])
}

#[test]
fn another_layout_of_the_operands_is_named() {
    let (rows, columns) = ("[4096, 1], [4096, 1]", "[1, 4096], [1, 4096]");
    let of = |strides, kernel| {
        let comparison = compared(
            &strided(rows, "gemm_tn", 200),
            &strided(strides, kernel, 600),
            Some(("H100", "H100")),
        );
        comparison.gaps.ranked[0].clone()
    };
    let slow = of(columns, "gemm_nt");
    assert_eq!(slow.pattern, "other_layout");
    assert!(
        slow.title.ends_with("operands in a slower layout"),
        "{}",
        slow.title
    );
    assert_contains(
        &slow.reasoning.join(" "),
        "strides [1, 4096] and [1, 4096] on the target, [4096, 1] and [4096, 1] on the reference",
    );
    // The same strides, or the same kernel: the layout is not the cause.
    assert_eq!(of(rows, "gemm_nt").pattern, "unexpected_slowdown");
    assert_ne!(of(columns, "gemm_tn").pattern, "other_layout");
}

/// Query, key and value in one GEMM of 6 144 columns, or in three of 4 096 and 1 024.
fn projections(columns: &[u32], us: &[u32]) -> Timetable {
    let args: Vec<String> = columns
        .iter()
        .map(|columns| {
            format!(
                r#""Input Dims": [[8192, 4096], [4096, {columns}]], "Input type": ["c10::BFloat16", "c10::BFloat16"]"#
            )
        })
        .collect();
    let calls = args.iter().zip(us);
    run(calls.map(|(args, us)| ("aten::mm", args.as_str(), "gemm", *us)))
}

#[test]
fn projections_that_the_reference_joins_are_compared_as_a_whole() {
    let joined = projections(&[6144], &[600]);
    let separate = |us| projections(&[4096, 1024, 1024], &[400, us, us]);
    let comparison = compared(&joined, &separate(200), Some(("H100", "H100")));
    assert_eq!(comparison.operations.matched.len(), 1);
    let gap = &comparison.gaps.ranked[0];
    assert_eq!(gap.pattern, "separate_gemms");
    assert_eq!(gap.saving.unwrap().matching_ns, 200_000);
    assert_contains(&gap.model, "Join the projections of one input");
    // Even a sixth is worth a finding on the same GPU.
    let comparison = compared(&joined, &separate(150), Some(("H100", "H100")));
    assert_eq!(
        comparison.gaps.ranked[0].saving.unwrap().matching_ns,
        100_000
    );
    // As fast as the joined one.
    let comparison = compared(&joined, &separate(100), Some(("H100", "H100")));
    assert!(comparison.gaps.ranked.is_empty());
    // The output projection has the sizes of the query's: 600 + 400 against 400 + 200 + 200 + 400 µs.
    let joined = projections(&[6144, 4096], &[600, 400]);
    let separate = projections(&[4096, 1024, 1024, 4096], &[400, 200, 200, 400]);
    let comparison = compared(&joined, &separate, Some(("H100", "H100")));
    assert_eq!(comparison.operations.matched.len(), 1);
    assert_eq!(
        savings(&comparison.gaps.ranked),
        [("separate_gemms", Some(200_000))]
    );
    // Gate and up beside them are a pair of their own.
    let joined = projections(&[6144, 4096, 28672], &[600, 400, 900]);
    let separate = projections(
        &[4096, 1024, 1024, 4096, 14336, 14336],
        &[400, 200, 200, 400, 450, 450],
    );
    let comparison = compared(&joined, &separate, Some(("H100", "H100")));
    assert_eq!(comparison.operations.matched.len(), 2);
    assert_eq!(
        savings(&comparison.gaps.ranked),
        [("separate_gemms", Some(200_000))]
    );
    // Other columns: not the same work.
    let other = projections(&[4096, 512], &[400, 100]);
    let comparison = compared(&joined, &other, Some(("H100", "H100")));
    assert!(
        comparison
            .gaps
            .ranked
            .iter()
            .all(|gap| gap.pattern != "separate_gemms")
    );
}

/// GEMMs by two operators with kernels of their own, and an addition that is as fast as ever.
#[test]
fn the_same_kernels_of_one_family_are_one_finding() {
    let calls = |percent: u32| {
        let gemms = [("aten::mm", 4), ("aten::addmm", 2)];
        let gemms = gemms.map(|(name, us)| (name, "", name, us * percent));
        run(gemms.into_iter().chain([("aten::add", "", "add", 1_000)]))
    };
    let ranked = compared(&calls(100), &calls(150), H100).gaps.ranked;
    assert_eq!(savings(&ranked), [("same_kernels", Some(300_000))]);
    assert_eq!(
        ranked[0].title,
        "GEMM in 2 operations: 1.50× the time with the same kernels"
    );
    assert_contains(&ranked[0].gap, "on `aten::mm`, `aten::addmm`");
    assert_eq!(compared(&calls(100), &calls(104), H100).gaps.ranked, []);
}
