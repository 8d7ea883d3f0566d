//! The code that keeps the GPU idle: placed in a gap of 980 µs, found with its name and its size.

use super::*;

const FRAME: &str = "python_function";
const OP: &str = "cpu_op";
const CALL: &str = "cuda_runtime";

/// Code that runs from 100 to 700 µs, and its display name; the gap lasts from 30 to 1 010 µs.
#[test]
fn what_runs_in_a_gap_is_named_with_its_size() {
    #[rustfmt::skip]
    let cases = [
        (OP, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "data_loading", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"),
        (FRAME, "torch/utils/data/_utils/collate.py(398): default_collate", "data_loading", "`default_collate` in `collate.py:398`"),
        (FRAME, "PIL/Image.py(2250): resize", "preprocessing", "`resize` in `Image.py:2250`"),
        (FRAME, "transformers/tokenization_utils_base.py(2855): __call__", "tokenization", "`__call__` in `tokenization_utils_base.py:2855`"),
        (FRAME, "inspect.py(3346): signature", "reflection", "`signature` in `inspect.py:3346`"),
        (OP, "TorchDynamo Cache Lookup", "guards", "`TorchDynamo Cache Lookup`"),
        (OP, "torch.distributed.ddp.reducer::search_unused_parameters", "unused_parameters", "search for unused parameters"),
        (FRAME, "<built-in function collect>", "garbage_collection", "`collect`"),
        (CALL, "cudaMalloc", "memory_allocation", "`cudaMalloc`"),
        (CALL, "hipHostMalloc", "memory_allocation", "`hipHostMalloc`"),
        (FRAME, "<built-in method acquire of _thread.lock object at 0x7f3c>", "waiting", "`_thread.lock.acquire`"),
        (FRAME, "<built-in method load of _pickle.Unpickler object at 0x7f3c>", "serialization", "`_pickle.Unpickler.load`"),
        (FRAME, "logging/__init__.py(1467): info", "logging", "`info` in `__init__.py:1467`"),
        (FRAME, "torch/serialization.py(943): save", "checkpointing", "`save` in `serialization.py:943`"),
        (FRAME, "<built-in method read of _io.BufferedReader object at 0x7f3c>", "file_access", "`_io.BufferedReader.read`"),
        (FRAME, "/home/me/schedule.py(12): next_batch", "cpu_function", "`next_batch` in `schedule.py:12`"),
        (OP, "aten::_fused_adamw_", "cpu_function", "`aten::_fused_adamw_`"),
        ("user_annotation", "build the mask", "cpu_function", "`build the mask`"),
    ];
    for (category, name, pattern, place) in cases {
        let profile = between(|trace| trace.on_host(category, name, 100..700));
        let found = found(&profile, pattern);
        is_about(&found, 600);
        assert_contains(&found.title, &["600 of 980 µs of idle time: ", place]);
        assert_eq!(
            found.impact.map(|impact| impact.high_ns),
            Some(found.time_ns),
            "{name}"
        );
    }
}

/// A gap of 980 µs in which logging runs from `from` to 990 µs.
#[test]
fn code_that_is_nearly_all_of_a_large_cause_stands_for_it() {
    let found = |from: u32, run_us: u32| {
        let info = "logging/__init__.py(1467): info";
        let trace = first(20..30).on_host(FRAME, info, from..990);
        let profile = launched(trace, 1_000.0, 1_010..run_us).profile();
        let findings = analyzed(&profile).1.into_iter();
        findings.map(|one| one.pattern).collect::<Vec<_>>()
    };
    // 5.2 % of the run, 4.7 or 2.1 % of it in logging; then 4 %.
    assert_eq!(found(100, 19_000), ["logging"]);
    assert_eq!(found(590, 19_000), ["host_work"]);
    assert_eq!(found(100, 25_000), [""; 0]);
}

/// Another thread runs Python code for the whole gap, or waits.
#[test]
fn python_code_of_another_thread_is_named() {
    let with = |other: &str| {
        let profile = between(|trace| {
            let own = trace.frame("train.py(50): train_step", 40..1_000);
            own.thread(9).frame(other, 30..1_000).thread(1)
        });
        found(&profile, "cpu_function").reasoning.concat()
    };
    let busy = with("dataset.py(77): tokenize_all");
    assert_contains(
        &busy,
        &["another thread of the process runs `tokenize_all` in `dataset.py:77`"],
    );
    assert!(!with("threading.py(355): wait").contains("another thread"));
}

/// A copy of 20 µs to the CPU before 900 µs of work on it, and one of 30 µs back.
#[test]
fn copies_around_code_are_its_own() {
    let serves = |frame: &str| {
        let trace = first(20..30).launched("Memcpy DtoH (Device -> Pageable)", 12..13, 30..50);
        let trace = trace.frame(frame, 60..960);
        let profile = trace
            .launched("Memcpy HtoD (Pageable -> Device)", 960..965, 970..1_000)
            .profile();
        analyzed(&profile).1.remove(0)
    };
    let code = serves("sampler.py(20): sample");
    assert_eq!(code.pattern, "cpu_function");
    let both = [("high_d2h_memcpy", 20_000), ("high_h2d_memcpy", 30_000)];
    assert_eq!(code.includes, both);
    // What is loaded has to be copied anyway.
    let loading = serves("torch/utils/data/dataloader.py(701): __next__");
    assert_eq!(
        (loading.pattern, loading.includes),
        ("data_loading", vec![])
    );
}

/// Kernels every 40 µs for 440 µs, and a thread that runs Python code, or waits, for the first part of it.
#[test]
fn python_code_of_another_thread_makes_launches_late() {
    let with = |other: &str, until: u32| {
        let trace = late(Timetable::new(), "aten::add", "add_kernel", 11);
        let base = trace
            .thread(9)
            .frame("threading.py(1030): _bootstrap", 0..450);
        main_finding(&base.frame(other, 0..until).profile())
    };
    const ENCODE: &str = "writer.py(44): encode";
    let busy = with(ENCODE, 400);
    assert_eq!(busy.pattern, "launch_bound");
    let meanwhile = "; meanwhile another thread of the process runs `encode` in `writer.py:44`.";
    assert_contains(&busy.issue, &[meanwhile]);
    reasons(&busy, &["in a process of its own"]);
    // A thread that waits, or is inside of a library, lets others run.
    for other in [
        "threading.py(355): wait",
        "<built-in method read of _io.FileIO>",
    ] {
        let issue = with(other, 400).issue;
        assert_contains_none(&issue, &["another thread"]);
    }
}

/// Workers take over all parts of loading. A range is around the functions, of which only those inside belong to it.
#[test]
fn the_parts_of_loading_are_one_finding() {
    let next = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
    let loading = |parts: [&str; 2]| {
        let profile = between(|trace| {
            let trace = trace.on_host(FRAME, "train.py(3): main", 35..1_000);
            let trace = trace.on_host("user_annotation", next, 100..900);
            let trace = trace.on_host(FRAME, parts[0], 100..600);
            trace.on_host(FRAME, parts[1], 600..900)
        });
        let findings = analyzed(&profile).1.into_iter();
        let all: Vec<Finding> = findings
            .filter(|one| one.pattern == "data_loading")
            .collect();
        let [found] = all.as_slice() else {
            panic!("{all:#?}");
        };
        is_about(found, 800);
        found.title.clone()
    };
    let own = ["data.py(9): __getitem__", "data.py(30): pad"];
    let titled =
        "800 of 980 µs of idle time: `__getitem__` in `data.py:9` and `pad` in `data.py:30`";
    assert_eq!(loading(own), titled);
    let framework = ["torch/utils/data/a.py(1): b", "torch/utils/data/a.py(2): c"];
    assert_eq!(
        loading(framework),
        format!("800 of 980 µs of idle time: `{next}` in `train.py:3`")
    );
}

/// Preprocessing has one remedy, whichever part takes long; `.item()` reads through another operator.
#[test]
fn code_with_one_remedy_is_one_finding() {
    let found = |parts: [(&str, &str); 2]| {
        let profile = between(|trace| {
            let trace = trace.frame("serve.py(31): handle", 35..1_000);
            let [(category, one), (other_category, other)] = parts;
            let trace = trace.on_host(category, one, 100..600);
            trace.on_host(other_category, other, 600..900)
        });
        let findings = analyzed(&profile).1.into_iter();
        let titles = findings.map(|one| one.title);
        titles
            .filter(|title| title.starts_with("800 of 980 µs"))
            .collect::<Vec<_>>()
    };
    let images = [
        (FRAME, "PIL/ImageFile.py(200): load"),
        (FRAME, "PIL/Image.py(2200): resize"),
    ];
    let titled =
        "800 of 980 µs of idle time: `load` in `ImageFile.py:200` and `resize` in `Image.py:2200`";
    assert_eq!(found(images), [titled]);
    let reads = [(OP, "aten::item"), (OP, "aten::_local_scalar_dense")];
    let titled = "800 of 980 µs of idle time: `aten::item` in `serve.py:31`";
    assert_eq!(found(reads), [titled]);
}

/// Three functions one after the other, none of which takes half of the gap.
#[test]
fn functions_one_after_the_other_are_each_named() {
    let profile = between(|trace| {
        trace
            .frame("engine/core.py(260): update_from_output", 40..240)
            .frame("engine/detokenizer.py(80): update", 250..650)
            .frame("sched/scheduler.py(180): schedule", 660..960)
    });
    let (_, findings) = analyzed(&profile);
    let functions = findings.iter().filter(|one| one.pattern == "cpu_function");
    let titles: Vec<&str> = functions.map(|one| one.title.as_str()).collect();
    assert_eq!(
        titles,
        [
            "400 of 980 µs of idle time: `update` in `detokenizer.py:80`",
            "300 of 980 µs of idle time: `schedule` in `scheduler.py:180`",
            "200 of 980 µs of idle time: `update_from_output` in `core.py:260`",
        ]
    );
}

/// ```text
/// µs      1    30        100               880  900     1 000
/// main    [_engine_run_backward ===============)        [aten::add_)
/// engine  [launch)       [== quantize ======)
/// GPU      [==)                                                [==)
/// ```
#[test]
fn code_of_the_backward_pass_is_named_and_not_the_wait_for_it() {
    let profile = Timetable::new()
        .frame("train.py(10): train_step", 0..1_200)
        .frame(
            "torch/autograd/graph.py(1100): _engine_run_backward",
            1..900,
        )
        .op("aten::add_", 1_000..1_010)
        .launched("kernel", 1_001..1_002, 1_010..1_100)
        .thread(2)
        .op("autograd::engine::evaluate_function: MmBackward0", 2..20)
        .launched("kernel", 5..6, 10..30)
        .frame("trainer/hooks.py(31): quantize", 100..880)
        .profile();
    let found = found(&profile, "cpu_function");
    is_about(&found, 780);
    assert_contains(&found.title, &["`quantize` in `hooks.py:31`"]);
}

/// ```text
/// µs    100  150                      650  700
/// CPU   [_SingleProcessDataLoaderIter.__next__)
///            [resize (image_processing_owlv2.py))
///            [== zoom (scipy) ===========)
/// ```
#[test]
fn the_function_below_the_data_loader_is_named() {
    let profile = between(|trace| {
        trace
            .op(
                "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                100..700,
            )
            .frame(
                "transformers/models/owlv2/image_processing_owlv2.py(301): resize",
                150..650,
            )
            .frame("scipy/ndimage/_interpolation.py(700): zoom", 155..645)
    });
    let found = found(&profile, "data_loading");
    is_about(&found, 600);
    let place = "`resize` in `image_processing_owlv2.py:301` (scipy)";
    assert_contains(&found.title, &[place]);
    assert_contains(
        &found.model,
        &["num_workers=4", "move what `resize` does to the GPU"],
    );
    // With worker processes, there are too few of them.
    let profile = between(|trace| {
        let loader = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";
        let trace = trace.op(loader, 100..700);
        trace.frame(
            "<built-in method poll of select.poll object at 0x1>",
            110..690,
        )
    });
    let found = self::found(&profile, "data_loading");
    is_about(&found, 600);
    assert_contains(&found.model, &["more workers"]);
    // The loader's own work has no name that could be advised about.
    assert_contains_none(&found.model, &["__next__", "to the GPU"]);
}

/// ```text
/// µs    100                500        600          900
/// CPU   [empty_cache       )          [cudaMalloc  )
///         [cudaFree)
/// ```
#[test]
fn allocation_and_release_are_one_finding() {
    let profile = between(|trace| {
        let trace = trace.frame("train.py(40): train_step", 20..1_010);
        let trace = trace.frame("torch/cuda/memory.py(170): empty_cache", 100..500);
        let trace = trace.on_host(CALL, "cudaFree", 110..490);
        trace.on_host(CALL, "cudaMalloc", 600..900)
    });
    let (_, findings) = analyzed(&profile);
    let all = findings.iter();
    let all: Vec<&Finding> = all
        .filter(|one| one.pattern == "memory_allocation")
        .collect();
    let [found] = all.as_slice() else {
        panic!("{findings:#?}");
    };
    is_about(found, 700);
    assert_contains(&found.title, &["700 of 980 µs", "`cudaMalloc`"]);
    assert_contains(&found.issue, &["`cudaMalloc` in `train.py:40`"]);
    assert_eq!(found.events.len(), 2);
}

/// No single call is half of the gap, but together they are.
#[test]
fn calls_of_one_function_count_together() {
    let profile = between(|trace| {
        let trace = trace.frame("/home/me/data.py(5): collect", 100..900);
        (0..8).fold(trace, |trace, nth| {
            let at = 100 + 100 * nth;
            trace.frame("/home/me/data.py(40): crop", at..at + 80)
        })
    });
    let found = found(&profile, "cpu_function");
    is_about(&found, 640);
    assert_contains(&found.title, &["`crop` in `data.py:40`"]);
    let caller = "`crop` in `data.py:40` (called by `collect` in `data.py:5`)";
    assert_contains(&found.issue, &[caller]);
}

/// Two kinds of code in one gap: each has its own time, and the rest belongs to the enclosing function.
#[test]
fn parts_of_a_gap_sum_up_to_it() {
    let profile = between(|trace| {
        trace
            .frame("/home/me/train.py(30): step", 20..1_010)
            .frame("inspect.py(3346): signature", 100..300)
            .frame("<built-in function collect>", 400..800)
    });
    is_about(&found(&profile, "reflection"), 200);
    is_about(&found(&profile, "garbage_collection"), 400);
    let rest = found(&profile, "cpu_function");
    is_about(&rest, 380);
    assert_contains(&rest.title, &["`step` in `train.py:30`"]);
    let (metrics, _) = analyzed(&profile);
    let gaps = &metrics["gap_analysis"];
    assert_eq!(gaps["known_code_idle_ms"], gaps["late_launch_idle_ms"]);
    let rows = gaps["by_code"].as_array().unwrap().iter();
    let sum_ms: f64 = rows.filter_map(|row| row["idle_time_ms"].as_f64()).sum();
    assert!((sum_ms - 0.98).abs() < 1e-9, "{sum_ms}");
}

#[test]
fn a_value_that_is_read_is_named_where_it_is_read() {
    let profile = after_item(
        item().frame("<built-in method item of Tensor object at 0x1>", 19..111),
        D2H,
    );
    let found = found(&profile, "read_back");
    is_about(&found, 37);
    assert_contains(&found.issue, &["`Tensor.item` in `train.py:30`"]);
}

/// Without the wait, the launch would be earlier by 13 µs; the GPU would still be idle for the other 27.
#[test]
fn a_wait_saves_at_most_its_own_duration() {
    let profile = waited(10.0, 65);
    is_about(&found(&profile, "read_back"), 13);
    is_about(&found(&profile, "launch_bound"), 27);
}

#[test]
fn checks_of_anomaly_detection_are_one_finding() {
    let checked = |engine: &str, check: &str| {
        let trace = item().op(engine, 18.2..112.0);
        after_item(trace.op(check, 18.5..19.5), D2H)
    };
    let engine = "autograd::engine::evaluate_function: MmBackward0";
    let check = found(&checked(engine, "aten::isnan"), "anomaly_detection");
    is_about(&check, 37);
    assert_contains(&check.model, &["switch anomaly detection off"]);
    // A custom backward function that reads a value; a check for NaN of the program's own.
    for own in [
        checked(engine, "aten::sum"),
        checked("my::check", "aten::isnan"),
    ] {
        found(&own, "read_back");
    }
}

/// Kernels that are loaded during a gap, and a function whose first call takes ten times as long as the others: time
/// that a warm run does not have.
#[test]
fn cold_starts_are_put_apart_and_save_nothing() {
    let loading = between(|trace| trace.on_host("overhead", "Lazy Function Loading", 100..700));
    let cold = found(&loading, "start_up");
    assert_eq!((cold.time_ns, cold.impact), (980_000, None));
    let named = |profile: &Profile, pattern: &str| {
        let (_, findings) = analyzed(profile);
        findings.iter().any(|found| found.pattern == pattern)
    };
    assert!(!named(&loading, "host_work") && !named(&loading, "cpu_function"));
    let first_call = |first_us: u32, kernel: &'static str| {
        let trace = launched(Timetable::new(), 10.0, 20..30);
        [first_us, 40, 40]
            .into_iter()
            .fold((trace, 40), |(trace, at), us| {
                let trace = trace.op("my::norm", at..at + us);
                let at = at + us;
                let trace = trace.launched(kernel, at - 10..at - 5, at..at + 4);
                (trace, at + 10)
            })
            .0
            .profile()
    };
    let cold = found(&first_call(900, "norm"), "start_up");
    is_about(&cold, 910);
    // The kernel was used before, or the first call is like the others.
    assert!(!named(&first_call(900, "add_kernel"), "start_up"));
    // Before a kernel that was used before, something else is set up that takes far longer.
    assert!(named(&first_call(9_000, "add_kernel"), "start_up"));
    assert!(!named(&first_call(45, "norm"), "start_up"));
}

/// Three similar gaps after kernels of different length have one cause.
#[test]
fn gaps_that_are_alike_have_one_cause() {
    let mut trace = Timetable::new();
    let mut at = 0;
    for (nth, runs) in [900, 30, 30, 30].into_iter().enumerate() {
        let launch = if nth == 0 { 10 } else { at - 40 };
        trace = trace.op("aten::mul_", launch - 5..launch + 8);
        trace = trace.launched("mul_kernel", launch..launch + 5, at + 20..at + 20 + runs);
        at += 20 + runs + 300;
    }
    let (metrics, _) = analyzed(&trace.profile());
    let causes = metrics["gap_analysis"]["by_cause"].as_object().unwrap();
    let names: Vec<&String> = causes.keys().collect();
    assert_eq!(names, ["launch_bound"]);
    assert_eq!(causes["launch_bound"]["count"], 3);
}

/// A launch-bound run has one remedy; the functions are its evidence.
#[test]
fn functions_that_launch_are_evidence_of_one_finding() {
    let trace = (0..20).fold(Timetable::new(), |trace, nth| {
        let at = 10 + 40 * nth;
        let trace = trace.frame("/home/me/model.py(7): forward", at - 30..at + 9);
        let trace = trace.op("aten::add", at - 5..at + 8);
        trace.launched("add_kernel", at..at + 5, at + 8..at + 11)
    });
    let (_, findings) = analyzed(&trace.profile());
    let [found] = findings.as_slice() else {
        panic!("{findings:#?}");
    };
    assert_eq!(found.pattern, "launch_bound");
    reasons(found, &["The CPU is in `forward` in `model.py:7` for "]);
    assert_eq!(
        found.tables[0].rows[0][0],
        Value::Quoted("forward".to_owned())
    );
}

/// What runs after the last kernel or before the first is not in a gap.
#[test]
fn what_runs_outside_of_the_run_is_no_evidence() {
    let around = |trace: Timetable| {
        trace
            .frame("/home/me/setup.py(1): build", 0..8)
            .frame("/home/me/setup.py(9): finish", 1_100..9_000)
    };
    let (metrics, _) = analyzed(&between(around));
    let rows = metrics["gap_analysis"]["by_code"].to_string();
    assert!(!rows.contains("setup.py"), "{rows}");
}

/// `all_gather_object` waits for other ranks, except while it unpickles what they sent.
#[test]
fn objects_that_are_unpickled_are_no_waiting() {
    const GATHER: &str = "torch/distributed/distributed_c10d.py(2900): all_gather_object";
    let gather = |trace: Timetable| trace.frame(GATHER, 100..700);
    let unpickled = between(|trace| {
        gather(trace)
            .frame(
                "torch/distributed/distributed_c10d.py(2830): _tensor_to_object",
                110..690,
            )
            .frame(
                "<built-in method load of _pickle.Unpickler object at 0x7f3c>",
                120..680,
            )
    });
    let found_in = found(&unpickled, "serialization");
    is_about(&found_in, 580);
    assert_contains(&found_in.model, &["send tensors instead of objects"]);
    is_about(&found(&between(gather), "waiting"), 600);
}

/// A factorization waits inside of a library: no copies of the program's own that could be pinned.
#[test]
fn a_library_that_waits_gets_no_advice_about_copies() {
    let waiting = |op: &str| {
        let trace = launched(Timetable::new().without_flows(), 10.0, 20..100)
            .op(op, 20..110)
            .runtime("cudaMemcpyAsync", 2, 22..25)
            .runtime("cudaStreamSynchronize", 3, 26..107);
        found(&after_item(trace, D2H), "gpu_synchronization")
    };
    let eigh = waiting("aten::_linalg_eigh");
    assert_contains(&eigh.issue, &["The library that `aten::_linalg_eigh`"]);
    assert_contains_none(&eigh.model, &["pin_memory"]);
    assert_contains(
        &waiting("torchvision::nms").model,
        &["`torchvision.ops.batched_nms`"],
    );
    assert_contains(&waiting("my::wait").model, &["pin_memory"]);
}

/// Where a size is awaited says how to do without it.
#[test]
fn what_asks_for_a_size_decides_the_advice() {
    let asked_in = |frame: &str| {
        let trace = launched(Timetable::new().without_flows(), 10.0, 20..100)
            .frame(frame, 0..300)
            .op("aten::nonzero", 20..110)
            .runtime("cudaMemcpyAsync", 2, 22..25)
            .runtime("cudaStreamSynchronize", 3, 26..107);
        found(&after_item(trace, D2H), "dynamic_shape").model
    };
    let outliers = asked_in("bitsandbytes/autograd/_functions.py(320): forward");
    assert_contains(&outliers, &["`llm_int8_threshold=0.0`"]);
    let experts = asked_in("nn.Module: MixtralSparseMoeBlock_0");
    assert_contains(&experts, &["`torch._grouped_mm`"]);
    let other = asked_in("model.py(12): forward");
    assert_contains(&other, &["`torch.nonzero_static(size=…)`"]);
}

/// What logs or saves reads values for that: waiting for them is part of it.
#[test]
fn reads_of_a_logger_belong_to_it() {
    let read_in = |frame: &str, pattern: &str| {
        let read = item().frame(frame, 18.2..112.0);
        found(&after_item(read, D2H), pattern)
    };
    let logged = read_in(
        "wandb/integration/torch/wandb_torch.py(120): log_tensor_stats",
        "logging",
    );
    assert_contains(
        &logged.title,
        &["`log_tensor_stats` in `wandb_torch.py:120`"],
    );
    read_in("torch/serialization.py(943): save", "checkpointing");
    read_in("stats.py(12): mean_of", "read_back");
}

/// A gradient scaler reads whether gradients overflowed.
#[test]
fn a_gradient_scaler_is_told_from_other_reads() {
    let read_in = |file: &str| {
        let frame = format!("torch/amp/{file}(334): _maybe_opt_step");
        found(
            &after_item(item().frame(&frame, 18.2..112.0), D2H),
            "read_back",
        )
    };
    assert_contains(
        &read_in("grad_scaler.py").model,
        &["BF16, which needs no scaler"],
    );
    assert_contains(&read_in("other.py").model, &["keep the value on the GPU"]);
}

#[test]
fn copies_from_pageable_memory_are_named_as_the_wait() {
    let copied = |copy: &str| {
        let trace = launched(Timetable::new().without_flows(), 10.0, 20..100)
            .op("aten::copy_", 20..110)
            .runtime("cudaMemcpyAsync", 2, 22..25)
            .runtime("cudaStreamSynchronize", 3, 26..107);
        found(&after_item(trace, copy), "gpu_synchronization")
    };
    let pageable = copied("Memcpy HtoD (Pageable -> Device)");
    assert_contains(&pageable.title, &["copies in `aten::copy_`"]);
    assert_contains(&pageable.model, &["join many small values"]);
    assert_contains_none(
        &copied("Memcpy HtoD (Pinned -> Device)").title,
        &["copies in"],
    );
}

/// A loader from 100 to 700 µs of a gap until 1 010 µs: what follows is short, so it is called launch-bound.
#[test]
fn only_the_time_in_which_data_is_loaded_waits_for_data() {
    let profile = between(|trace| {
        trace
            .op(
                "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                100..700,
            )
            .frame("train.py(20): log_metrics", 700..1_000)
    });
    let report = Report::new(&profile, &ReportOptions::default());
    let idle = Idle::once(&report.analysis_input(&profile)).unwrap();
    assert_eq!(idle.of(IdleCause::DataLoading).ns, 600_000);
    assert_eq!(idle.of(IdleCause::LaunchBound).ns, 380_000);
}
