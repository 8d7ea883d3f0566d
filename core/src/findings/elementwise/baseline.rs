//! The memory bandwidth achieved in this run, as shown by the simplest operations of the trace.
//!
//! A kernel that only reads and writes elements one by one is as fast as the memory allows, once it moves enough. So
//! other memory-bound work is compared with large additions, multiplications, copies and fills. Copies that change a
//! layout are excluded: they are limited by more than the memory.

use crate::assess::Evaluation;
use crate::base::format;
use crate::base::sort::Arrange;
use crate::base::value::Value;
use crate::findings::Input;
use crate::findings::engine::outcome::{Outcome, weighted};
use crate::names::Family;
use crate::names::elementwise::ElementwiseKind;
use crate::profile::operations::Operation;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::findings) struct Simple {
    pub(in crate::findings) operation: usize,
    /// Bytes that a call moves.
    pub(in crate::findings) bytes: f64,
    /// The bandwidth that its calls reach, in GB/s.
    pub(in crate::findings) gbps: f64,
    time_ns: i64,
    is_large: bool,
}

/// The bandwidth that the element-wise operations of a trace reach.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::findings) struct Baseline {
    /// Mean of the large simple operations, weighted by their time, in GB/s; `None` without any.
    pub(in crate::findings) mean_gbps: Option<f64>,
    /// The large simple operation at the 90th percentile: the demonstrated memory bandwidth.
    pub(in crate::findings) demonstrated: Option<Simple>,
    pub(in crate::findings) n_large: u64,
    /// Mean of all rows named `aten::add_`, `aten::mul` and `aten::copy_`, small ones included.
    pub(in crate::findings) plain_mean_gbps: Option<f64>,
    /// The peak memory bandwidth of the chosen GPU, in GB/s.
    pub(in crate::findings) peak_gbps: Option<f64>,
    /// All element-wise operations of known bandwidth, large or small.
    all: Vec<Simple>,
}

const PLAIN: [&str; 3] = ["aten::add_", "aten::mul", "aten::copy_"];

impl Baseline {
    pub(in crate::findings) fn of(input: &Input) -> Baseline {
        let strings = &input.profile.trace.strings;
        let mut baseline = Baseline {
            peak_gbps: input.gpu().map(|gpu| gpu.mem_bw_gbps),
            ..Baseline::default()
        };
        let mut plain = Vec::new();
        let mut large = Vec::new();
        for (at, operation, evaluation) in input.operations() {
            let Some(simple) = simple(input, at, operation, evaluation) else {
                continue;
            };
            let name = strings.get(operation.key.name);
            if PLAIN.contains(&name) {
                plain.push((simple.gbps, 1));
            }
            let is_anomaly = evaluation.is_anomaly;
            if operation.family != Family::Elementwise || is_anomaly {
                continue;
            }
            let kind = ElementwiseKind::of(input.profile, operation);
            if matches!(kind, ElementwiseKind::Baseline | ElementwiseKind::Cast) && simple.is_large
            {
                large.push(simple);
            }
            if kind != ElementwiseKind::Layout {
                baseline.all.push(simple);
            }
        }
        baseline.plain_mean_gbps = weighted(plain.into_iter());
        baseline.mean_gbps = weighted(large.iter().map(|one| (one.gbps, one.time_ns)));
        baseline.n_large = large.len() as u64;
        large.arrange_by(|a, b| {
            a.gbps
                .total_cmp(&b.gbps)
                .then(b.operation.cmp(&a.operation))
        });
        // The smallest value that at least 90 % of all do not exceed.
        let rank = (large.len() * 9).div_ceil(10);
        baseline.demonstrated = rank.checked_sub(1).and_then(|at| large.get(at).copied());
        baseline
    }

    /// A bandwidth as a percentage of the peak.
    pub(in crate::findings) fn percent(&self, gbps: f64) -> Option<f64> {
        let peak = self.peak_gbps.filter(|peak| *peak > 0.0)?;
        Some(gbps / peak * 100.0)
    }

    /// A sentence about what large simple operations reach; empty without any.
    pub(in crate::findings) fn sentence(&self) -> String {
        self.demonstrated.map_or(String::new(), |best| {
            format!(
                "Large simple operations of this trace reach {}{}.",
                format::bandwidth_gbps(best.gbps),
                self.share(best.gbps)
            )
        })
    }

    /// ", 76 % of the memory bandwidth".
    pub(in crate::findings) fn share(&self, gbps: f64) -> String {
        self.percent(gbps).map_or(String::new(), |percent| {
            format!(", {} of the memory bandwidth", format::percent(percent))
        })
    }

    pub(in crate::findings) fn facts(&self, outcome: &mut Outcome) {
        let [mean, best, plain] = [
            self.mean_gbps,
            self.demonstrated.map(|one| one.gbps),
            self.plain_mean_gbps,
        ];
        #[rustfmt::skip]
        let facts = [
            ("baseline_bandwidth", "Baseline: large simple operations, by time", "baseline_efficiency", "Baseline, % of memory bandwidth", mean),
            ("demonstrated_bandwidth", "Demonstrated bandwidth (90th percentile of them)", "demonstrated_efficiency", "Demonstrated, % of memory bandwidth", best),
            ("plain_mean_bandwidth", "Plain mean of aten::add_, aten::mul and aten::copy_, small ones included", "plain_mean_efficiency", "Plain mean, % of memory bandwidth", plain),
        ];
        for (rate, rate_label, share, share_label, gbps) in facts {
            let percent = gbps.and_then(|gbps| self.percent(gbps));
            outcome.fact(rate, rate_label, gbps.map_or(Value::NO_GBPS, Value::GbPerS));
            outcome.fact(share, share_label, Value::percent(percent));
        }
    }

    /// What an operation that moves `bytes` is compared with: the demonstrated bandwidth, or else the fastest
    /// element-wise operation that moves half to twice as much.
    pub(in crate::findings) fn yardstick(&self, bytes: f64) -> Option<Simple> {
        self.demonstrated.or_else(|| {
            let alike = self
                .all
                .iter()
                .filter(|one| one.bytes >= bytes / 2.0 && one.bytes <= bytes * 2.0);
            alike.copied().max_by(|a, b| a.gbps.total_cmp(&b.gbps))
        })
    }
}

fn simple(
    input: &Input,
    at: usize,
    operation: &Operation,
    evaluation: &Evaluation,
) -> Option<Simple> {
    let thresholds = &input.options.thresholds;
    let bytes = evaluation.work?.bytes.filter(|bytes| *bytes > 0.0)?;
    let gbps = evaluation.tb_per_s? * 1e3;
    let mean_us = operation.kernel_ns as f64 / 1e3 / operation.n_calls().max(1) as f64;
    Some(Simple {
        operation: at,
        bytes,
        gbps,
        time_ns: operation.kernel_ns,
        is_large: mean_us >= thresholds.baseline_us
            && bytes >= thresholds.baseline_mib * 1024.0 * 1024.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::samples::Calls;
    use crate::report::Report;
    use crate::testing::options_on;

    /// In-place additions of `n` single-precision elements: 12 · n bytes in the given time.
    fn baseline(calls: &[(&str, u64, u32)]) -> Baseline {
        let kernel = "void at::native::vectorized_elementwise_kernel<4>";
        let all = calls.iter().fold(Calls::new(), |all, (op, n, us)| {
            all.call(op, &format!("{n}:float*2, _:Scalar"), kernel, *us)
        });
        let profile = all.profile();
        let report = Report::new(&profile, &options_on("MI300X"));
        Baseline::of(&report.analysis_input(&profile))
    }

    fn near(value: Option<f64>, expected: f64) -> bool {
        value.is_some_and(|value| (value - expected).abs() < 1e-4 * expected)
    }

    #[test]
    fn large_simple_operations_count_by_their_time() {
        // 1.2 GB in 300 µs are 4 000 GB/s, 1.2 GB in 600 µs 2 000 GB/s; 12 MB are too little.
        let baseline = baseline(&[
            ("aten::add_", 100_000_000, 300),
            ("aten::add_", 100_000_001, 600),
            ("aten::add_", 1_000_000, 100),
        ]);
        assert!(near(baseline.mean_gbps, 8000.0 / 3.0), "{baseline:?}");
        assert!(near(baseline.demonstrated.map(|one| one.gbps), 4000.0));
        assert!(near(
            baseline
                .demonstrated
                .and_then(|one| baseline.percent(one.gbps)),
            4000.0 / 53.0
        ));
        // All three with the same weight: 4 000, 2 000 and 120 GB/s.
        assert!(near(baseline.plain_mean_gbps, 2040.0), "{baseline:?}");
    }

    #[test]
    fn without_large_operations_those_of_like_size_are_the_yardstick() {
        let baseline = baseline(&[
            ("aten::add_", 1_000_000, 100),
            ("aten::sub_", 1_000_001, 10),
            ("aten::sub_", 100_000, 5),
        ]);
        assert_eq!((baseline.mean_gbps, baseline.demonstrated), (None, None));
        let found = |bytes| baseline.yardstick(bytes).map(|one| one.gbps.round());
        // For 12 MB: 120 GB/s in 100 µs, 1 200 GB/s in 10 µs.
        assert_eq!(found(10e6), Some(1200.0));
        assert_eq!(found(100e6), None);
    }
}
