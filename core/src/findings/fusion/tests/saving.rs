//! The projected time of one kernel.

use super::*;
use crate::findings::fusion::saving::outer_bytes;
use crate::findings::fusion::steps::Operator;
use crate::profile::operations::dataflow::Shape;
use crate::profile::operations::streams::StreamCall;

fn megabyte() -> Shape {
    Shape {
        sizes: vec![1000, 250],
        bytes: 1e6,
        element_bytes: Some(4.0),
    }
}

/// A step that reads `n_taken` tensors of a megabyte and writes one.
fn operator(name: &str, n_taken: usize, compute_us: f64) -> Operator {
    Operator {
        role: StepRole::Fusable,
        name: name.to_owned(),
        takes: vec![megabyte(); n_taken],
        gives: Some(megabyte()),
        has_shapes: true,
        is_double: false,
        compute_us: Some(compute_us),
    }
}

/// Bytes and arithmetic, computed by hand: two kernels of 10 µs; 2 MB from outside at 1 TB/s take 2 µs, 0.001 GFLOP at
/// 1 TFLOPS take 1 µs; 2 + 0.15 · 1 = 2.15 µs, so 17.85 µs are saved.
#[test]
fn the_projection_of_a_chain() {
    let mut options = options_on("MI300X");
    let gpu = options.gpu.as_mut().map(std::sync::Arc::make_mut);
    gpu.unwrap().mem_bw_gbps = 1000.0;
    let profile = run(Calls::new(), &RMS_NORM).profile();
    let report = Report::new(&profile, &options);
    let input = report.analysis_input(&profile);
    let operator = &operator("relu", 1, 0.5);
    let step = &StreamCall {
        operation: 0,
        event: EventId(0),
        ns: 10_000,
        n_kernels: 1,
    };
    let saved = |least_ns| {
        let projection = Projection {
            is_training: false,
            least_ns,
            ..Projection::new(&input)
        };
        let both = [ChainStep { step, operator }; 2];
        projection
            .saving(ChainKind::Elementwise, None, &both)
            .unwrap()
    };
    assert_eq!(saved(0).high_ns, 17_850);
    // 2.15 µs / 0.75 is 2.867 µs.
    assert_eq!(saved(0).low_ns, 20_000 - 2_867);
    // One kernel remains, which takes the minimum time.
    assert_eq!(saved(2_500).high_ns, 17_500);
    assert_eq!(saved(2_500).low_ns, 20_000 - 2_867);
    // The shortest kernel of the trace takes 2 µs.
    assert_eq!(Projection::new(&input).least_ns, 2_000);
}

/// Twenty norms on each GPU, each step concurrently on all of them, on stream 7 of each.
fn norms_on(n_gpus: u32) -> Outcome {
    let mut calls = Calls::new();
    for instance in 0..20 {
        let name = format!("LlamaRMSNorm_{instance}");
        for gpu in 0..n_gpus {
            let on_gpu = calls.on_gpu(gpu, f64::from(100_000 + instance * 74));
            calls = on_gpu.module(&name, |calls| run(calls, &RMS_NORM));
        }
    }
    outcome(&calls)
}

#[test]
fn streams_of_two_gpus_are_not_mixed() {
    let (one, two) = (norms_on(1), norms_on(2));
    let instances = |outcome: &Outcome| outcome.tables[0].rows[0][3].clone();
    assert_eq!(instances(&one), Value::Count(20));
    assert_eq!(instances(&two), Value::Count(40));
    let (one, two) = (&one.findings[0], &two.findings[0]);
    assert_eq!((one.pattern, two.pattern), ("rms_norm", "rms_norm"));
    // 20 · 74 µs on each, concurrently: fusing both saves as much of the run as fusing one on a single GPU.
    assert_eq!((one.time_ns, two.time_ns), (1_480_000, 2_960_000));
    let mid = |finding: &Finding| finding.impact.unwrap().mid_ns;
    assert!(mid(one).abs_diff(mid(two)) <= 1);
    assert_contains(&one.issue, &["fused they would take"]);
    assert_contains(&two.issue, &["fused the run would take"]);
}

/// What a chain has to read and write: an addition of two tensors, then a norm.
#[test]
fn what_comes_from_outside_is_read() {
    use ChainKind::{BiasActivation, Elementwise, NormEpilogue, ResidualNorm, RmsNorm};
    let [add, relu, mul] =
        [("add", 2), ("relu", 1), ("mul", 2)].map(|(name, n)| operator(name, n, 0.0));
    let given = megabyte();
    let cases: [(_, _, &[&Operator], _); 5] = [
        // Both addends, and the result; the sum in between stays on the chip.
        (BiasActivation, None, &[&add, &relu], 3.0),
        // Both addends, the sum for the next block, and the normalized result.
        (ResidualNorm, None, &[&add, &relu], 4.0),
        // The output of a step is consumed once: the other factor comes from outside.
        (Elementwise, None, &[&relu, &mul], 3.0),
        // After a norm, which writes the result in any case: only the residual.
        (NormEpilogue, Some(&given), &[&add, &relu], 1.0),
        // In the formula of a norm, the input occurs twice and is read once.
        (RmsNorm, None, &[&relu, &relu, &mul], 2.0),
    ];
    for (kind, anchor, steps, megabytes) in cases {
        let bytes = outer_bytes(kind, anchor, steps);
        assert_eq!((bytes / 1e6).round() as u64, megabytes as u64, "{kind:?}");
    }
}
