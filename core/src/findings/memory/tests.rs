use super::*;
use crate::assess::ReportOptions;
use crate::profile::Profile;
use crate::report::Report;
use crate::testing::Timetable;

const MB: i64 = 1_000_000;
const GB: i64 = 1_000_000_000;

/// The findings about memory: key, bytes, and whether time is saved.
fn found(timetable: &Timetable) -> Vec<(&'static str, Option<u64>, bool)> {
    let report = timetable.report();
    let outcome = report.analyses.outcome("memory").unwrap();
    let findings = outcome.findings.iter();
    findings
        .map(|one| (one.pattern, one.memory_bytes, one.impact.is_some()))
        .collect()
}

fn report(timetable: &Timetable) -> Report {
    timetable.report()
}

#[test]
fn a_trace_without_memory_has_nothing_to_say() {
    let report = report(&Timetable::new().work("aten::mm", "gemm", 0..10));
    let outcome = report.analyses.outcome("memory").unwrap();
    assert_eq!(
        (outcome.status, outcome.findings.len()),
        (Status::NoData, 0)
    );
}

/// 8 GB are reserved: with 5 GB in use, 3 GB (37.5 %) are unused; with 7 GB, 12.5 %.
#[test]
fn much_that_is_reserved_and_not_in_use_is_a_finding() {
    let peak = |bytes: i64| Timetable::new().memory(bytes - MB, 8 * GB).block(1, MB, 10);
    let expected = ("memory_fragmentation", Some(3_000_000_000), false);
    assert_eq!(found(&peak(5 * GB)), [expected]);
    assert_eq!(found(&peak(7 * GB)), []);
    // 40 % of 100 MB is too little for a finding.
    assert_eq!(
        found(&Timetable::new().memory(59 * MB, 100 * MB).block(1, MB, 10)),
        []
    );
}

/// Three steps with one kernel each.
fn steps(timetable: Timetable) -> Timetable {
    (0..3_u32).fold(timetable, |timetable, step| {
        let start = step * 1000;
        timetable
            .annotation(&format!("ProfilerStep#{step}"), start..start + 1000)
            .op("aten::mm", start..start + 900)
            .launched("gemm", start + 1..start + 2, start + 10..start + 110)
    })
}

#[test]
fn steps_that_each_end_with_more_are_a_leak() {
    let left = |by: [i64; 3]| {
        let mut timetable = steps(Timetable::new().memory(GB, GB));
        for (step, bytes) in (0_u64..).zip(by) {
            let at = step as f64 * 1000.0 + 500.0;
            timetable = timetable.block(step + 1, bytes, at);
        }
        found(&timetable)
    };
    assert_eq!(
        left([MB, 20 * MB, 30 * MB]),
        [("memory_growth", Some(50_000_000), false)]
    );
    // The last step adds 0.5 %.
    assert_eq!(left([MB, 20 * MB, 5 * MB]), []);
}

/// Half of the peak of 200 MB, held by the operator that calls the allocating one.
#[test]
fn one_operator_that_holds_much_has_the_remedy_that_its_name_proves() {
    let held_by = |around: &str, op: &str| {
        let timetable = Timetable::new()
            .memory(100 * MB, 210 * MB)
            .op(around, 0..100)
            .op(op, 10..90)
            .op("aten::empty", 20..30)
            .block(1, 100 * MB, 25);
        found(&timetable)[0].0
    };
    let cases = [
        (
            "aten::_scaled_dot_product_attention_math",
            "aten::bmm",
            "memory_peak_scores",
        ),
        (
            "aten::cross_entropy_loss",
            "aten::_log_softmax",
            "memory_peak_loss",
        ),
        (
            "torch::autograd::AccumulateGrad",
            "aten::clone",
            "memory_peak_gradients",
        ),
        ("model", "aten::cat", "memory_peak_concatenation"),
        ("model", "aten::_softmax", "memory_peak_operator"),
    ];
    for (around, op, key) in cases {
        assert_eq!(held_by(around, op), key, "{around} {op}");
    }
}

/// 210 MB of 1 GB, and of 80 GB, where nobody needs more memory.
#[test]
fn little_of_the_memory_is_no_finding() {
    let keys = |total: u64| {
        let timetable = Timetable::new()
            .memory(100 * MB, 210 * MB)
            .op("aten::cat", 10..90)
            .block(1, 100 * MB, 25);
        let device = format!(r#"{{"deviceProperties": [{{"id": 0, "totalGlobalMem": {total}}}], "#);
        let json = timetable.json().replacen('{', &device, 1);
        let imported = crate::import::import(json.as_bytes()).unwrap();
        let report = Report::new(&Profile::new(imported), &ReportOptions::default());
        let outcome = report.analyses.outcome("memory").unwrap();
        let keys = outcome.findings.iter().map(|one| one.pattern);
        keys.collect::<Vec<_>>()
    };
    assert_eq!(keys(1_000_000_000), ["memory_peak_concatenation"]);
    assert_eq!(keys(80_000_000_000), [""; 0]);
}

/// One finding for all GPUs: about the one with the most memory; the others are named.
#[test]
fn the_same_on_several_gpus_is_reported_once() {
    let on = |timetable: Timetable, gpu: u32, bytes: i64, at: u32| {
        let at = at..at + 100;
        timetable
            .gpu(gpu)
            .memory(0, 0)
            .op("aten::cat", at.clone())
            .block(1, bytes, f64::from(at.start) + 25.0)
    };
    let timetable = on(Timetable::new(), 0, 100 * MB, 0);
    let timetable = on(timetable, 1, 300 * MB, 100);
    let timetable = on(timetable, 2, 200 * MB, 200);
    let report = report(&timetable);
    let outcome = report.analyses.outcome("memory").unwrap();
    let [one] = outcome.findings.as_slice() else {
        panic!("{:?}", outcome.findings);
    };
    assert_eq!(one.memory_bytes, Some(300_000_000));
    assert!(one.issue.contains("GPU 1"), "{}", one.issue);
    let others = "The same was found on GPU 0 (100 MB), GPU 2 (200 MB).";
    let said = one.reasoning.join(" ").replace('\u{a0}', " ");
    assert!(said.contains(others), "{said}");
}

#[test]
fn a_softmax_in_an_attention_module_is_one_of_scores() {
    let timetable = Timetable::new()
        .memory(100 * MB, 210 * MB)
        .frame("nn.Module: BertSelfAttention_3", 0..100)
        .op("aten::_softmax", 10..90)
        .block(1, 100 * MB, 25);
    let expected = ("memory_peak_scores", Some(100_000_000), false);
    assert_eq!(found(&timetable), [expected]);
}

/// 200 blocks of 100 MB for 10 µs each add up to 20 GB, 20 times the peak.
#[test]
fn large_blocks_that_come_and_go_are_churn() {
    let mut timetable = Timetable::new()
        .memory(900 * MB, GB)
        .op("aten::mul", 0..10_000);
    for at in 0..200_u32 {
        let us = f64::from(at) * 20.0;
        timetable = timetable
            .block(7, 100 * MB, us)
            .block(7, -100 * MB, us + 10.0);
    }
    assert_eq!(
        found(&timetable),
        [("memory_churn", Some(100_000_000), false)]
    );
}

#[test]
fn an_allocation_that_failed_comes_first() {
    let failed = r#"{"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[OutOfMemory]", "pid": 100, "tid": 1, "ts": 9, "args": {"Device Type": 1, "Device Id": 0, "Bytes": 4096, "Total Allocated": 1, "Total Reserved": 2}}"#;
    let timetable = Timetable::new().memory(GB, GB).block(1, MB, 1).raw(failed);
    let report = report(&timetable);
    let first = &report.analyses.findings.ranked[0].finding;
    assert_eq!(
        (first.pattern, first.priority),
        ("out_of_memory", Priority::High)
    );
    assert_eq!(first.memory_bytes, Some(4096));
}

/// In the second step the GPU is idle while memory is allocated for 100 µs; in the first that is expected.
#[test]
fn taking_memory_from_the_driver_in_later_steps_costs_time() {
    let taking = |at: u32| {
        let timetable = steps(Timetable::new().memory(GB, GB)).block(5, MB, 5);
        let timetable = timetable.runtime("cudaMalloc", 9, at..at + 100).block(
            1,
            50 * MB,
            f64::from(at) + 150.0,
        );
        report(&timetable)
    };
    let outcome = |report: &Report| report.analyses.outcome("memory").unwrap().findings.clone();
    assert_eq!(outcome(&taking(500)).len(), 0);
    let later = outcome(&taking(1500));
    assert_eq!(later.len(), 1);
    let one = &later[0];
    assert_eq!((one.pattern, one.time_ns), ("allocator_calls", 100_000));
    assert_eq!(one.impact, Some(Impact::at_most(100_000)));
    assert_eq!(one.memory_bytes, Some(50_000_000));
    let sentences = [std::slice::from_ref(&one.issue), &one.reasoning].concat();
    let sentences = sentences.join(" ");
    assert!(!sentences.contains(['{', '|', '}']), "{sentences}");
}

#[test]
fn totals_that_do_not_agree_are_said() {
    let timetable = Timetable::new()
        .block(1, MB, 1)
        .memory(9 * MB, 9 * MB)
        .block(2, MB, 2);
    let report = report(&timetable);
    let outcome = report.analyses.outcome("memory").unwrap();
    assert_eq!(outcome.notes.len(), 1);
    assert_eq!(outcome.get("peak"), Some(&Value::Bytes(10_000_000)));
}
