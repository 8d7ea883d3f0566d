//! Runs of 1 ms on the CPU alone.

use crate::findings::samples::{assert_contains, only, patterns};
use crate::findings::{Outcome, Status};
use crate::testing::Timetable;

fn outcome(timetable: Timetable) -> Outcome {
    let report = timetable.report();
    report.analyses.outcome("cpu_time").unwrap().clone()
}

fn high_ns(outcome: &Outcome, pattern: &str) -> Option<i64> {
    only(outcome, pattern).impact.map(|impact| impact.high_ns)
}

/// A healthy step: forward, backward, and a step of the optimizer in one operator.
fn step() -> Timetable {
    Timetable::new()
        .frame("train.py(10): train", 0..1000)
        .op("aten::linear", 10..400)
        .op("aten::addmm", 12..398)
        .op(
            "autograd::engine::evaluate_function: AddmmBackward0",
            410..900,
        )
        .annotation("Optimizer.step#AdamW.step", 905..990)
        .op("aten::_fused_adamw_", 906..988)
}

#[test]
fn a_run_of_long_operators_has_no_finding() {
    let outcome = outcome(step());
    assert_eq!(patterns(&outcome), [""; 0]);
    assert_eq!(outcome.status, Status::Done);
    let ms = |key: &str| outcome.get(key).map(|value| value.text());
    assert_eq!(ms("run_time").as_deref(), Some("1.00 ms"));
    assert_eq!(ms("operators_time").as_deref(), Some("880 µs"));
    assert_eq!(ms("optimizer_time").as_deref(), Some("85.0 µs"));
}

#[test]
fn a_run_with_a_gpu_is_not_analyzed() {
    let with_kernel = Timetable::new().work("aten::mm", "gemm", 20..30);
    let launching = step().runtime("cudaLaunchKernel", 1, 20..30);
    for timetable in [with_kernel, launching] {
        assert_eq!(outcome(timetable).status, Status::NoData);
    }
}

/// 300 of 1 000 µs, of which a function of the program takes 200.
#[test]
fn data_loading_takes_what_is_inside() {
    let run = Timetable::new()
        .frame("train.py(10): train", 0..1000)
        .annotation(
            "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
            0..300,
        )
        .frame("torch/utils/data/dataloader.py(701): __next__", 2..298)
        .frame("data.py(30): __getitem__", 50..250)
        .op("aten::upsample_bilinear2d", 60..70)
        .op("aten::mm", 300..990);
    let outcome = outcome(run);
    let finding = only(&outcome, "cpu_data_loading");
    assert_contains(
        &finding.issue,
        &[
            "300 µs (30.0 %",
            "200 µs of it in `__getitem__` in `data.py:30`",
        ],
    );
    assert_contains(&finding.model, &["num_workers=4"]);
    assert_eq!(high_ns(&outcome, "cpu_data_loading"), Some(300_000));
}

/// Without Python frames, PyTorch's range still shows it. The rest of the time outside of operators has no name.
#[test]
fn ranges_show_data_loading_without_frames() {
    let run = Timetable::new()
        .op("aten::mm", 0..300)
        .annotation(
            "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
            300..500,
        )
        .op("aten::mm", 700..1000);
    let outcome = outcome(run);
    assert_eq!(patterns(&outcome), ["cpu_data_loading", "cpu_outside"]);
    assert_eq!(outcome.findings[0].time_ns, 200_000);
    assert_contains(&outcome.findings[0].issue, &["waits for data"]);
    assert_eq!(outcome.findings[1].time_ns, 200_000);
    assert_eq!(outcome.findings[1].impact, None);
}

#[test]
fn a_checkpoint_is_named_by_its_function() {
    let run = Timetable::new()
        .frame("train.py(10): train", 0..1000)
        .op("aten::mm", 0..600)
        .frame("torch/serialization.py(943): save", 600..1000)
        .op("aten::copy_", 700..800);
    let outcome = outcome(run);
    let finding = only(&outcome, "cpu_checkpointing");
    assert_contains(
        &finding.title,
        &["400 µs of 1.00 ms", "`save` in `serialization.py:943`"],
    );
    assert_eq!(finding.time_ns, 400_000);
}

/// What functions of libraries take belongs to the program's function that calls them.
#[test]
fn python_outside_of_operators_belongs_to_a_function() {
    let run = Timetable::new()
        .frame("train.py(10): train", 0..1000)
        .op("aten::mm", 0..500)
        .frame("metrics.py(5): confusion", 500..950)
        .frame("collections/__init__.py(600): update", 600..900);
    let outcome = outcome(run);
    let finding = only(&outcome, "cpu_function");
    let said = [
        "`confusion` in `metrics.py:5`",
        "450 µs",
        "300 µs of it in `update`",
    ];
    assert_contains(&finding.issue, &said);
}

/// 200 operators of 2 µs with 3 µs between them.
#[test]
fn many_short_operators_are_one_finding() {
    let run = (0..200).fold(
        Timetable::new().frame("cell.py(5): forward", 0..1000),
        |run, nth| run.op("aten::addmm", nth * 5..nth * 5 + 2),
    );
    let outcome = outcome(run);
    let finding = only(&outcome, "cpu_small_operators");
    assert_contains(
        &finding.issue,
        &["200 operators, 2.00 µs each", "600 µs of Python"],
    );
    assert_eq!(finding.time_ns, 1_000_000);
}

#[test]
fn an_optimizer_with_a_fused_step_should_use_it() {
    let run = |class: &str| {
        Timetable::new()
            .frame("train.py(10): train", 0..1000)
            .op("aten::mm", 0..700)
            .annotation(&format!("Optimizer.step#{class}.step"), 700..1000)
            .op("aten::mul_", 710..850)
            .op("aten::addcdiv_", 850..990)
    };
    // 11 of 18 values are no longer read or written.
    let adam = outcome(run("Adam"));
    assert_eq!(high_ns(&adam, "cpu_optimizer"), Some(183_333));
    assert_eq!(patterns(&outcome(run("RAdam"))), [""; 0]);
}

/// Python numbers are FP64, too, but no tensors.
#[test]
fn operators_on_fp64_tensors_take_twice_as_long() {
    let run = |args: &str| {
        let run = Timetable::new().frame("train.py(10): train", 0..1000);
        run.op("aten::mm", 0..1000).args(args)
    };
    let double = outcome(run("512x512:double, 512x512:double"));
    assert_eq!(high_ns(&double, "cpu_fp64"), Some(500_000));
    let number = outcome(run("512x512:float, ():double"));
    assert_eq!(patterns(&number), [""; 0]);
}

#[test]
fn attention_without_a_fused_operator() {
    let run = Timetable::new()
        .frame("train.py(10): train", 0..1000)
        .op("aten::scaled_dot_product_attention", 0..900)
        .op("aten::_scaled_dot_product_attention_math", 10..890)
        .op("aten::matmul", 20..500);
    assert_eq!(only(&outcome(run), "cpu_math_attention").time_ns, 880_000);
}

#[test]
fn compilation_after_the_first_step_is_repeated() {
    let run = |at: f64| {
        Timetable::new()
            .annotation("ProfilerStep#0", 0..500)
            .annotation("ProfilerStep#1", 500..1000)
            .frame("train.py(10): train", 0..1000)
            .op("aten::mm", 0.0..at)
            .frame(
                "torch/_dynamo/convert_frame.py(666): _compile",
                at..at + 300.0,
            )
            .op("aten::mm", at + 300.0..1000.0)
    };
    assert_eq!(patterns(&outcome(run(150.0)))[0], "cpu_warm_up");
    assert_eq!(patterns(&outcome(run(550.0)))[0], "cpu_recompilation");
}
