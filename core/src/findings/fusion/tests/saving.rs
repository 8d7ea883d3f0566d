//! What one kernel would take.

use super::*;
use crate::findings::fusion::saving::outer_bytes;
use crate::profile::dataflow::Shape;

/// Bytes and arithmetic, worked by hand: two kernels of 10 µs, 2 MB from outside at 1 TB/s are
/// 2 µs, 0.001 GFLOP at 1 TFLOPS are 1 µs; 2 + 0.15 · 1 = 2.15 µs, so 17.85 µs are saved.
#[test]
fn the_projection_of_a_chain() {
    use crate::hardware::GpuSpec;
    use crate::report::ReportOptions;
    let mut gpu: GpuSpec = crate::hardware::find("MI300X").unwrap().clone();
    gpu.mem_bw_gbps = 1000.0;
    let options = ReportOptions {
        gpu: Some(std::sync::Arc::new(gpu)),
        ..ReportOptions::default()
    };
    let profile = Calls::new().calls(&RMS_NORM).profile();
    let report = Report::new(&profile, &options);
    let input = report.analysis_input(&profile);
    let megabyte = || Shape {
        sizes: vec![1000, 250],
        bytes: 1e6,
    };
    let kind = || Operator {
        role: StepRole::Fusable,
        name: "relu".to_owned(),
        takes: vec![megabyte()],
        gives: Some(megabyte()),
        compute_us: Some(0.5),
    };
    let step = |operation| Step {
        operation,
        event: crate::trace::EventId(0),
        ns: 10_000,
        n_kernels: 1,
    };
    let kinds = [kind(), kind()];
    let (first, second) = (step(0), step(1));
    let both = [&first, &second];
    let saved = |anchor, least_ns| {
        let projection = Projection {
            is_training: false,
            least_ns,
            ..Projection::new(&input, &kinds)
        };
        let saving = projection.saving(ChainKind::Elementwise, anchor, &both);
        saving.unwrap()
    };
    assert_eq!(saved(None, 0).high_ns, 17_850);
    // 2.15 µs / 0.75 are 2.867 µs.
    assert_eq!(saved(None, 0).low_ns, 20_000 - 2_867);
    // One kernel is left, which is no shorter than others are.
    assert_eq!(saved(None, 2_500).high_ns, 17_500);
    assert_eq!(saved(None, 2_500).low_ns, 20_000 - 2_867);
    // The shortest kernel of the trace takes 2 µs.
    assert_eq!(Projection::new(&input, &kinds).least_ns, 2_000);
}

/// Twenty norms on each GPU, each step on all of them at once, on stream 7 of each.
fn norms_on(n_gpus: u32) -> Profile {
    let mut table = Timetable::new();
    let (mut id, mut host) = (0, 0);
    for instance in 0..20 {
        for gpu in 0..n_gpus {
            let end = host + 10 * RMS_NORM.len() as u32 + 2;
            table = table
                .gpu(gpu)
                .frame(&format!("nn.Module: LlamaRMSNorm_{instance}"), host..end);
            let mut gpu_us = 100_000 + instance * 74;
            for (nth, (op, dims, types, values, us)) in (0..).zip(RMS_NORM) {
                let at = host + 1 + nth * 10;
                id += 1;
                table = table
                    .op(op, at..at + 9)
                    .args(&format!(
                        r#""Input Dims": {dims}, "Input type": {types}, "Concrete Inputs": {values}"#
                    ))
                    .launch(id, at + 1..at + 2)
                    .kernel(id, &format!("{op}_kernel"), gpu_us..gpu_us + us);
                gpu_us += us;
            }
            host = end + 1;
        }
    }
    table.profile()
}

#[test]
fn streams_of_two_gpus_are_not_mixed() {
    let (one, two) = (outcome(&norms_on(1)), outcome(&norms_on(2)));
    let instances = |outcome: &Outcome| outcome.tables[0].rows[0][3].clone();
    assert_eq!(instances(&one), Value::Count(20));
    assert_eq!(instances(&two), Value::Count(40));
    let (one, two) = (&one.findings[0], &two.findings[0]);
    assert_eq!((one.pattern, two.pattern), ("rms_norm", "rms_norm"));
    // 20 · 74 µs on each, at once: fused, both together win of the run what one of them wins.
    assert_eq!((one.time_ns, two.time_ns), (1_480_000, 2_960_000));
    let mid = |finding: &Finding| finding.impact.unwrap().mid_ns;
    assert!(mid(one).abs_diff(mid(two)) <= 1);
    assert!(one.issue.contains("fused they would take"));
    assert!(two.issue.contains("fused the run would take"));
}

/// What a chain has to read and write: an addition of two tensors, then a norm.
#[test]
fn what_comes_from_outside_is_read() {
    let megabyte = || Shape {
        sizes: vec![1000, 250],
        bytes: 1e6,
    };
    let kind = |name: &str, n_taken: usize| Operator {
        role: StepRole::Fusable,
        name: name.to_owned(),
        takes: vec![megabyte(); n_taken],
        gives: Some(megabyte()),
        compute_us: Some(0.0),
    };
    let (add, relu, mul) = (kind("add", 2), kind("relu", 1), kind("mul", 2));
    let megabytes = |pattern, anchor, steps: &[&Operator]| {
        (outer_bytes(pattern, anchor, steps) / 1e6).round() as u64
    };
    // Both addends, and the result; the sum in between stays on the chip.
    assert_eq!(
        megabytes(ChainKind::BiasActivation, None, &[&add, &relu]),
        3
    );
    // Both addends, the sum for the next block, and the normalised result.
    assert_eq!(megabytes(ChainKind::ResidualNorm, None, &[&add, &relu]), 4);
    // A tensor that a step gives is taken once: the other factor comes from outside.
    assert_eq!(megabytes(ChainKind::Elementwise, None, &[&relu, &mul]), 3);
    // Behind a norm, which writes the result anyway: only the residual.
    let given = megabyte();
    assert_eq!(
        megabytes(ChainKind::NormEpilogue, Some(&given), &[&add, &relu]),
        1
    );
    // In the formula of a norm the input stands twice and is read once.
    assert_eq!(
        megabytes(ChainKind::RmsNorm, None, &[&relu, &relu, &mul]),
        2
    );
}
