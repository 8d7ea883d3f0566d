//! What findings about idle time say and advise.

use super::*;

#[test]
fn a_thread_that_waited_for_the_gpu() {
    let profile = launched(item(), 4, 130.0)
        .kernel(1, "a", 20..100)
        .copy(2, "Memcpy DtoH (Device -> Pinned)", 101..103)
        .kernel(4, "b", 140..150)
        .profile();
    let (metrics, findings) = analysed(&profile);
    assert_eq!(longest(&profile), ("synchronisation".to_owned(), 37.0));
    assert_eq!(metrics["gap_analysis"]["sync_point_count"], 1);
    assert_eq!(findings[0].pattern, "synchronisation");
    let longest = "The longest, 37.0 µs, follows `cudaStreamSynchronize` in `train.py(30): step`.";
    assert!(findings[0].reasoning.iter().any(|said| said == longest));
    let said = "Most of it follows `cudaStreamSynchronize` in `aten::_local_scalar_dense`: 37.0 µs in 1 gap.";
    assert!(
        findings[0]
            .reasoning
            .iter()
            .any(|sentence| sentence == said),
        "{:?}",
        findings[0].reasoning
    );
    let row = &findings[0].tables[0].rows[0];
    assert_eq!(row[9], Value::Quoted("cudaStreamSynchronize".to_owned()));
    assert_eq!(row[11], Value::Quoted("train.py(30): step".to_owned()));
}

/// What ends a gap is known without operators, too, where it is a graph that was launched late.
#[test]
fn a_graph_that_is_launched_late_is_launched_late() {
    let profile = Timetable::new()
        .runtime("cudaGraphLaunch", 7, 10..20)
        .runtime("cudaGraphLaunch", 8, 100..110)
        .kernel(7, "a", 40..50)
        .kernel(8, "b", 130..140)
        .profile();
    assert_eq!(longest(&profile), ("launch_bound".to_owned(), 80.0));
    let (_, findings) = analysed(&profile);
    let model = &findings[0].model;
    assert!(
        model.contains("capture larger parts in one graph"),
        "{model}"
    );
}

#[test]
fn a_wait_outside_of_operators_is_a_call_of_the_programs() {
    let profile = launched(
        launched(Timetable::new(), 1, 10.0).runtime("cudaDeviceSynchronize", 3, 20..102),
        2,
        130.0,
    )
    .kernel(1, "a", 20..100)
    .kernel(2, "b", 140..150)
    .profile();
    let (_, findings) = analysed(&profile);
    assert!(
        findings[0]
            .model
            .starts_with("take `torch.cuda.synchronize()`")
    );
}

#[test]
fn what_the_cpu_works_in_is_named() {
    let profile = between(|trace| trace.op("aten::_fused_adamw_", 100..900));
    let (_, findings) = analysed(&profile);
    let said = "`aten::_fused_adamw_` for most of the time of some gaps: 800 µs in 1 gap";
    let reasoning = &findings[0].reasoning;
    assert!(
        reasoning.iter().any(|one| one.contains(said)),
        "{reasoning:?}"
    );
    // After a wait the wait could go as well.
    let waited = launched(Timetable::new(), 1, 10.0)
        .op("aten::item", 20..1_010)
        .runtime("cudaStreamSynchronize", 3, 26..1_007);
    let waited = launched(waited, 4, 2_000.0)
        .kernel(1, "a", 20..1_000)
        .kernel(4, "b", 2_010..2_020)
        .profile();
    let (_, findings) = analysed(&waited);
    assert_eq!(findings[0].pattern, "host_work");
    assert!(findings[0].model.contains("Or remove the wait before it"));
}

/// Fills count among what is short, and the range of the optimizer is named.
#[test]
fn what_is_launched_late_is_named() {
    let mut timetable = Timetable::new().annotation("Optimizer.zero_grad#SGD.zero_grad", 0..400);
    for id in 0..10 {
        timetable = launched_by("aten::zero_", timetable, id, 10.0 + 40.0 * f64::from(id));
    }
    timetable = launched(timetable, 10, 410.0);
    for id in 0..10 {
        let start = 18.0 + 40.0 * f64::from(id);
        timetable = timetable.fill(id, "Memset (Device)", start..start + 3.0);
    }
    let profile = timetable.kernel(10, "add_kernel", 418..430).profile();
    let (_, findings) = analysed(&profile);
    let found = &findings[0];
    assert!(
        found
            .model
            .contains("`zero_grad(set_to_none=True)` launches none. Or capture")
    );
    let shown = [
        "copy or fill takes 3.82 µs",
        "10 of 11 kernels, copies and fills",
        "9 of 10 gaps end with a launch in `Optimizer.zero_grad#SGD.zero_grad`: 333 µs",
        "`aten::zero_`: 333 µs in 9 gaps",
    ];
    for (sentence, said) in found.reasoning.iter().zip(shown) {
        assert!(sentence.contains(said), "{sentence}");
    }
}

#[test]
fn what_is_compiled_is_not_to_be_compiled() {
    let advice = |op: &str| {
        let (metrics, findings) = analysed(&launch_bound_by(op, op, 11));
        let patterns = metrics["patterns_detected"].as_array().unwrap().iter();
        let mut short = patterns.filter(|one| one["pattern"] == "kernel_launch_overhead");
        let of_pattern = short.next().unwrap()["recommendation"].to_string();
        [findings[0].model.clone(), of_pattern]
    };
    for said in advice("aten::add") {
        assert!(said.contains("or compile it"), "{said}");
    }
    for said in advice("triton_poi_fused_add_0") {
        assert!(
            said.contains("in a GPU graph") && !said.contains("or compile it"),
            "{said}"
        );
    }
}

/// Between two launches the thread is for 800 of 970 µs in a region of compiled code, which is no
/// operator: 15 + 800 + 155 µs.
#[test]
fn regions_of_compiled_code_are_no_operators() {
    let profile = between(|trace| trace.op("Torch-Compiled Region: 0/0", 50..850));
    let (_, findings) = analysed(&profile);
    let found = &findings[0];
    assert_eq!(found.pattern, "host_work");
    assert!(
        found.reasoning.iter().any(|said| {
            said.replace('\u{202F}', " ")
                .contains("mostly in Python (82.1 % in the code around compiled kernels)")
        }),
        "{:?}",
        found.reasoning
    );
    assert!(
        found.model.contains("cpp_wrapper") && found.model.contains("reduce-overhead"),
        "{}",
        found.model
    );
    let (_, findings) = analysed(&between(|trace| trace));
    assert!(
        findings[0]
            .model
            .starts_with("take that work out of the loop")
    );
}

#[test]
fn pinned_memory_is_advised_where_copies_may_not_have_it() {
    let model = |copy: &str| {
        let profile = launched(item(), 4, 130.0)
            .kernel(1, "a", 20..100)
            .copy(2, copy, 101..103)
            .kernel(4, "b", 140..150)
            .profile();
        analysed(&profile).1[0].model.clone()
    };
    assert!(model("Memcpy DtoH (Device -> Pageable)").contains("pinned memory"));
    assert!(!model("Memcpy DtoH (Device -> Pinned)").contains("pinned memory"));
}

/// Gaps of 900 and 10 µs in a run of 1 140 µs: their number says nothing.
#[test]
fn one_long_gap_is_named_instead_of_a_number_of_gaps() {
    let timetable = launched(Timetable::new(), 1, 10.0);
    let timetable = launched(timetable, 2, 30.0);
    let profile = launched(timetable, 3, 45.0)
        .kernel(1, "a", 60..100)
        .kernel(2, "b", 1_000..1_100)
        .kernel(3, "c", 1_110..1_200)
        .profile();
    let (_, findings) = analysed(&profile);
    let queued = findings.iter().find(|found| found.pattern == "queued");
    let queued = queued.unwrap();
    let time = queued.issue.replace('\u{202F}', " ");
    assert!(
        time.contains("910 µs (79.8 % of the run) in 2 gaps, nearly all in one of 900 µs"),
        "{time}"
    );
    assert!(!queued.kernel.contains("fewer gaps"), "{}", queued.kernel);
}
