//! Texts and advice of findings about idle time.

use super::*;
use crate::testing::options_on;

#[test]
fn a_thread_that_waited_for_the_gpu() {
    let profile = after_item(item(), D2H);
    let (metrics, findings) = analyzed(&profile);
    assert_eq!(longest(&profile), ("synchronization".to_owned(), 37.0));
    assert_eq!(metrics["gap_analysis"]["sync_point_count"], 1);
    assert_eq!(findings[0].pattern, "read_back");
    let said = "The longest gap, 37.0 µs, follows `cudaStreamSynchronize` in `train.py(30): step`.";
    reasons(&findings[0], &[said]);
    let row = &findings[0].tables[1].rows[0];
    assert_eq!(row[9], Value::Quoted("cudaStreamSynchronize".to_owned()));
    assert_eq!(row[11], Value::Quoted("train.py(30): step".to_owned()));
}

/// The end of a gap is known even without operators if it is a late graph launch.
#[test]
fn a_graph_that_is_launched_late_is_launched_late() {
    let profile = Timetable::new()
        .runtime("cudaGraphLaunch", 7, 10..20)
        .runtime("cudaGraphLaunch", 8, 100..110)
        .kernel(7, "a", 40..50)
        .kernel(8, "b", 130..140)
        .profile();
    assert_eq!(longest(&profile), ("launch_bound".to_owned(), 80.0));
    let advice = "capture larger parts in one graph";
    assert_contains(&main_finding(&profile).model, &[advice]);
}

#[test]
fn a_wait_outside_of_operators_is_a_call_of_the_programs() {
    let waited = first(20..100).runtime("cudaDeviceSynchronize", 3, 20..102);
    let json = launched(waited, 130.0, 140..150).json();
    for (vendor, module) in [("", "cuda"), ("Intel(R) Corporation", "xpu")] {
        let device = format!(r#"{{"deviceProperties": [{{"vendor": "{vendor}"}}], "#);
        let json = json.replacen('{', &device, 1);
        let profile = Profile::new(crate::import::import(json.as_bytes()).unwrap());
        let advice = format!("take `torch.{module}.synchronize()`");
        let found = main_finding(&profile);
        assert!(found.model.starts_with(&advice), "{}", found.model);
    }
}

#[test]
fn what_the_cpu_works_in_is_named() {
    let found = main_finding(&between(|trace| trace.op("aten::_fused_adamw_", 100..900)));
    assert_eq!(found.pattern, "cpu_function");
    assert_contains(&found.title, &["`aten::_fused_adamw_`"]);
    assert_contains(&found.issue, &["800 µs (80.0 % of the run) in 1 gap"]);
    // After a wait, the wait could be removed instead.
    let waited =
        first(20..1_000)
            .op("aten::item", 20..1_010)
            .runtime("cudaStreamSynchronize", 3, 26..1_007);
    let found = main_finding(&second(waited, 2_000.0, 2_010..2_020));
    assert_eq!(found.pattern, "host_work");
    assert!(found.model.contains("Or remove the wait before it"));
}

/// Fills count as short kernels, and the range of the optimizer is named.
#[test]
fn what_is_launched_late_is_named() {
    let step = Timetable::new().annotation("Optimizer.zero_grad#SGD.zero_grad", 0..400);
    let fills = late(step, "aten::zero_", "Memset (Device)", 10);
    let found = main_finding(&second(fills, 410.0, 418..430));
    let advice = "`zero_grad(set_to_none=True)`, which launches no kernels. Or capture";
    assert_contains(&found.model, &[advice]);
    let shown = [
        "copy or fill takes 3.82 µs",
        "10 of 11 kernels, copies and fills",
        "9 of 10 gaps end with a launch in `Optimizer.zero_grad#SGD.zero_grad`: 333 µs",
        "`aten::zero_`: 333 µs in 9 gaps",
    ];
    reasons(&found, &shown);
    let most = ", 333 µs of it in `Optimizer.zero_grad#SGD.zero_grad`.";
    assert_contains(&found.issue, &[most]);
}

/// Kernels of 3 µs, launched every 40 µs: by operators, and by the code between them.
#[test]
fn the_function_that_launches_late_is_named() {
    let frame = Timetable::new().frame("ema.py(20): update", 0..400);
    let found = main_finding(&second(
        late(frame, "aten::mul_", "mul", 10),
        410.0,
        418..430,
    ));
    let most = ", 352 µs of it in `update` in `ema.py:20`.";
    assert_contains(&found.issue, &[most]);
}

#[test]
fn what_is_compiled_is_not_to_be_compiled() {
    let advice = |op: &str| {
        let (metrics, findings) = analyzed(&launch_bound_by(op, op, 11));
        let patterns = metrics["patterns_detected"].as_array().unwrap().iter();
        let mut short = patterns.filter(|one| one["pattern"] == "kernel_launch_overhead");
        let of_pattern = short.next().unwrap()["recommendation"].to_string();
        [findings[0].model.clone(), of_pattern]
    };
    for said in advice("aten::add") {
        assert_contains(&said, &["or compile it"]);
    }
    for said in advice("triton_poi_fused_add_0") {
        assert_contains(&said, &["in a GPU graph"]);
        assert_contains_none(&said, &["or compile it"]);
    }
}

/// Between two launches the thread spends 800 of 970 µs in a compiled region, which is not an operator: 15 + 800 + 155
/// µs.
#[test]
fn regions_of_compiled_code_are_no_operators() {
    let found = main_finding(&between(|trace| {
        trace.op("Torch-Compiled Region: 0/0", 50..850)
    }));
    assert_eq!(found.pattern, "host_work");
    let said = "mostly in Python (82.1 % in the code around compiled kernels)";
    reasons(&found, &[said]);
    assert_contains(&found.model, &["cpp_wrapper", "reduce-overhead"]);
    let other = main_finding(&between(|trace| trace)).model;
    assert!(other.starts_with("take that work out of the loop"));
}

/// Two steps that enter compiled code every 50 µs: 40 µs pass before the first launch, 1 µs before the second.
#[test]
fn graph_breaks_are_what_the_gpu_waits_for() {
    let entering = |n: u32| {
        let step = |trace: Timetable, nth: u32| {
            let from = nth * n * 50;
            let steps = trace.annotation(&format!("ProfilerStep#{nth}"), from..from + n * 50);
            (0..n).fold(steps, |trace, part| {
                let (at, region) = (from + part * 50, format!("Torch-Compiled Region: {part}/0"));
                let trace = trace.op(&region, at + 12..at + 48);
                let trace = trace.launched("triton_poi_0", at + 20..at + 24, at + 26..at + 30);
                trace.launched("triton_poi_1", at + 26..at + 28, at + 31..at + 36)
            })
        };
        main_finding(&(0..2).fold(Timetable::new(), step).profile())
    };
    let broken = entering(5);
    assert_eq!(broken.pattern, "graph_breaks");
    assert_contains(&broken.issue, &["A step enters 5 compiled regions"]);
    assert_contains(
        &broken.model,
        &["`TORCH_LOGS=graph_breaks`", "reduce-overhead"],
    );
    assert_eq!(entering(2).pattern, "launch_bound");
}

/// A step that enters 5 compiled regions, with 40 µs before each, and launches 60 kernels with 10 µs before each.
#[test]
fn graph_breaks_are_told_from_other_late_launches() {
    let found = |n_others: u32| {
        let trace = Timetable::new().annotation("ProfilerStep#0", 0..250 + n_others * 12);
        let trace = (0..5).fold(trace, |trace, part| {
            let (at, region) = (part * 50, format!("Torch-Compiled Region: {part}/0"));
            let trace = trace.op(&region, at + 12..at + 48);
            trace.launched("triton_poi_0", at + 38..at + 40, at + 42..at + 46)
        });
        let trace = (0..n_others).fold(trace, |trace, nth| {
            let at = 250 + nth * 12;
            let trace = trace.op("aten::add", at..at + 11);
            trace.launched("add_kernel", at + 6..at + 8, at + 9..at + 11)
        });
        let findings = analyzed(&trace.profile()).1;
        let found = findings
            .iter()
            .map(|one| (one.pattern, one.time_ns / 1_000));
        found.collect::<Vec<_>>()
    };
    let both = found(60);
    let [of_regions, others] = ["graph_breaks", "launch_bound"].map(|pattern| {
        let found = both.iter().find(|one| one.0 == pattern);
        found.map(|one| one.1)
    });
    assert_eq!((of_regions, others), (Some(184), Some(603)), "{both:?}");
    assert_eq!(found(2).first().map(|one| one.0), Some("graph_breaks"));
}

#[test]
fn pinned_memory_is_advised_where_copies_may_not_have_it() {
    let model = |copy| main_finding(&after_item(item(), copy)).model;
    assert!(model("Memcpy DtoH (Device -> Pageable)").contains("pinned memory"));
    assert!(!model(D2H).contains("pinned memory"));
}

/// Gaps of 900 and 10 µs in a run of 1 140 µs: their number is misleading.
#[test]
fn one_long_gap_is_named_instead_of_a_number_of_gaps() {
    let two = launched(first(60..100), 30.0, 1_000..1_100);
    let (_, findings) = analyzed(&second(two, 45.0, 1_110..1_200));
    let queued = findings.iter().find(|found| found.pattern == "queued");
    let queued = queued.unwrap();
    let time = "910 µs (79.8 % of the run) in 2 gaps, nearly all in one of 900 µs";
    assert_contains(&queued.issue, &[time]);
    assert_contains_none(&queued.kernel, &["fewer gaps"]);
    // All kernels run on one stream.
    assert_contains(&queued.model, &["other processes on the GPU"]);
    assert_contains_none(&queued.model, &["other streams"]);
}

/// Each vendor's runtime has its own switches.
#[test]
fn a_cold_start_names_the_switch_of_the_runtime() {
    let loading = between(|trace| trace.runtime("hipModuleLoadData", 9, 100..700));
    let kernel = |gpu: &str| {
        let report = Report::new(&loading, &options_on(gpu));
        let findings = &report.analyses.outcome("cpu_idle").unwrap().findings;
        let cold = findings.iter().find(|one| one.pattern == "start_up");
        cold.unwrap().kernel.clone()
    };
    assert_contains(&kernel("H100"), &["CUDA_MODULE_LOADING"]);
    assert_contains_none(&kernel("MI300X"), &["CUDA"]);
}

/// Without a known GPU, the runtime's calls tell the vendor.
#[test]
fn a_cold_start_on_an_unknown_gpu_names_no_switch_of_another_runtime() {
    let kernel = |runtime: &str| {
        let call = |what: &str| format!("{runtime}{what}");
        let launched = |trace: Timetable, id: u32, at: u32| {
            trace
                .op("aten::add", at - 5..at + 8)
                .runtime(&call("LaunchKernel"), id, at..at + 5)
                .kernel(id, "add_kernel", at + 10..at + 20)
        };
        let trace = launched(Timetable::new(), 1, 10);
        let trace = trace.runtime(&call("ModuleLoadData"), 9, 100..700);
        let cold = found(&launched(trace, 2, 1_000).profile(), "start_up");
        cold.kernel
    };
    assert_contains(&kernel("cu"), &["CUDA_MODULE_LOADING"]);
    assert_contains_none(&kernel("hip"), &["CUDA"]);
}

/// PyTorch numbers operations while gradients are enabled, and counts those that autograd records.
#[test]
fn evaluation_with_autograd_is_advised_to_switch_it_off() {
    const ADVICE: &str = "`torch.inference_mode()`";
    let steps = |n_steps: u32, counts: bool| {
        (0..n_steps).fold(Timetable::new(), |all, step| {
            let from = step * 1_000;
            let all = all.annotation(&format!("ProfilerStep#{step}"), from..from + 999);
            (0..24).fold(all, |all, nth| {
                let at = from + 10 + 40 * nth;
                let number = 24 * step + if counts { nth } else { 0 };
                let op = all.op("aten::add", at - 5..at + 8);
                let op = op.args(&format!(r#""Sequence number": {number}"#));
                op.launched("add_kernel", at..at + 5, at + 8..at + 11)
            })
        })
    };
    let found = main_finding(&steps(2, true).profile());
    assert_eq!(found.pattern, "launch_bound");
    assert_contains(&found.model, &[ADVICE, "Then capture the steady part"]);
    let backward = "autograd::engine::evaluate_function: AddBackward0";
    let trained = steps(2, true).op(backward, 1_985..1_990);
    for silent in [trained, steps(1, true), steps(2, false)] {
        assert_contains_none(&main_finding(&silent.profile()).model, &[ADVICE]);
    }
}

/// Kernels of 10 µs that are queued one after another, 1 µs apart.
#[test]
fn the_gap_that_each_kernel_leaves_may_stay() {
    // One of the gaps, in the middle, is longer by so many microseconds.
    let run_with = |op: &str, longer_us: u32| {
        let table = (0..200).fold(Timetable::new(), |table, at| {
            let later_us = if at < 100 { 0 } else { longer_us };
            let (call, start) = (4 * at, 1_000 + 11 * at + later_us);
            let table = table.op(op, call..call + 3);
            table.launched(op, call + 1..call + 2, start..start + 10)
        });
        let (_, findings) = analyzed(&table.profile());
        let queued = findings.into_iter().find(|one| one.pattern == "queued");
        queued.unwrap()
    };
    let run = |op: &str| run_with(op, 0);
    let eager = run("aten::mul");
    assert_eq!(eager.title, "Short kernels leave short gaps");
    // A single longer gap is no reason to look for what delays kernels; most of the time in one is.
    assert_eq!(run_with("aten::mul", 5).title, eager.title);
    assert_eq!(
        run_with("aten::mul", 900).title,
        "Queued kernels start late"
    );
    let impact = eager.impact.unwrap();
    assert_eq!((impact.low_ns, impact.high_ns), (0, 199_000));
    assert_contains(&eager.model, &["compile or fuse"]);
    let compiled = run("triton_poi_fused_mul_0");
    assert_contains(&compiled.model, &["replay the compiled code as GPU graphs"]);
}
