use super::*;
use crate::testing::Timetable;

const NCCL: &str = "ncclDevKernel_AllReduce";

fn overview(timetable: Timetable) -> Overview {
    timetable.report().overview
}

#[test]
fn the_headline_is_the_answer() {
    let overview = overview(
        Timetable::new()
            .work("aten::mm", "sm90_xmma_gemm_bf16", 20..50)
            .work("aten::relu", "vectorized_elementwise_kernel", 60..70),
    );
    assert_eq!(
        overview.headline,
        "The GPU is busy 80.0 % of 50.0 µs; GEMM takes 75.0 % of the busy time."
    );
    assert_eq!(overview.busy_ns, Some(40_000));
}

#[test]
fn a_gpu_that_mostly_waits_is_said_to_be_idle() {
    let overview = overview(Timetable::new().work("aten::mm", "gemm", 0..10).work(
        "aten::mm",
        "gemm",
        90..100,
    ));
    assert_eq!(
        overview.headline,
        "The GPU is idle 80.0 % of 100 µs; while it is busy, GEMM takes 100 % of the time."
    );
}

#[test]
fn waiting_for_others_is_said() {
    let overview = overview(
        Timetable::new()
            .work("aten::mm", "gemm", 100..150)
            .stream(9)
            .work("c10d::allreduce_", NCCL, 140..180)
            .work("aten::copy_", "Memcpy HtoD (Pinned -> Device)", 180..200),
    );
    assert_eq!(
        overview.headline,
        "The GPU is busy 100 % of 100 µs; GEMM takes 50.0 % of the busy time. \
         Exposed communication takes 30.0 % of the run. \
         Exposed memory copies take 20.0 % of the run."
    );
    let split: Vec<(SplitKind, i64)> = overview
        .split
        .iter()
        .map(|part| (part.kind, part.ns))
        .collect();
    assert_eq!(
        split,
        [
            (SplitKind::Computation, 50_000),
            (SplitKind::ExposedCommunication, 30_000),
            (SplitKind::ExposedCopies, 20_000),
            (SplitKind::Idle, 0),
        ]
    );
}

/// ```text
/// µs     100       150       200
/// GPU 0  [== gemm =)[=== nccl )
/// GPU 1  [=== nccl )[== gemm =)
/// ```
#[test]
fn of_several_gpus_each_is_judged_for_itself() {
    let overview = overview(
        Timetable::new()
            .work("aten::mm", "gemm", 100..150)
            .work("c10d::allreduce_", NCCL, 150..180)
            .gpu(1)
            .work("c10d::allreduce_", NCCL, 120..150)
            .work("aten::mm", "gemm", 150..200),
    );
    assert_eq!(
        overview.headline,
        "The 2 GPUs taken together are busy 100 % of 100 µs; GEMM takes 100 % of the busy time. \
         GPU 0 is busy 80.0 %, GPU 1 80.0 %. \
         Exposed communication takes 30.0 % of the run on average per GPU."
    );
    let fact = |label: &str| {
        let facts = overview.facts.iter();
        let mut values = facts.filter(|(of, _)| of == label).map(|(_, value)| value);
        values.next().map(String::as_str)
    };
    assert_eq!(fact("Any GPU busy"), Some("100 µs"));
    assert_eq!(fact("Busy time per GPU (average)"), Some("80.0 µs"));
}

#[test]
fn without_gpu_activity_the_host_is_shown() {
    let overview = overview(
        Timetable::new()
            .op("aten::linear", 0..100)
            .op("aten::mm", 10..90)
            .op("aten::relu", 100..120),
    );
    assert_eq!(
        overview.headline,
        "No GPU activity was recorded; on the CPU, GEMM takes 83.3 % of 120 µs in operators."
    );
    assert_eq!(overview.measure, Measure::Cpu);
    assert_eq!((overview.total_ns, overview.busy_ns), (None, None));
    assert!(overview.split.is_empty() && overview.kernels.is_empty());
}

#[test]
fn an_empty_trace_says_so() {
    assert_eq!(
        overview(Timetable::new()).headline,
        "Neither GPU activity nor PyTorch operators were recorded."
    );
}

/// What no family is known of takes most of the time: the largest known family is not what takes it.
#[test]
fn other_work_is_not_passed_over_in_the_headline() {
    let headline = |other_us: u32| {
        let report = Timetable::new()
            .work("aten::mm", "gemm", 0..100)
            .work("my::op", "my_kernel", 100..100 + other_us)
            .report();
        report.overview.headline
    };
    assert!(headline(50).ends_with("; GEMM takes 66.7 % of the busy time."));
    assert!(headline(200).ends_with("; other work takes 66.7 % of the busy time."));
}
