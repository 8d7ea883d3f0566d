//! The figures of both GPUs side by side, and the time ratios derived from them.

use super::expected::Judge;
use super::ops::Operations;
use super::pair::Pair;
use super::properties::TraceProperties;
use crate::hardware::Basis;
use crate::hardware::roofline::peak_tflops;
use crate::perf::ComputeSpec;

/// A figure of both GPUs.
#[derive(Debug, Clone, PartialEq)]
pub struct HardwareRatio {
    /// The memory bandwidth, or the rate of some units in a precision.
    pub figure: Figure,
    /// The value for each GPU (GB/s for memory, TFLOPS for arithmetic) and its basis. Both are peaks if only one GPU
    /// has an achievable figure.
    pub values: Pair<(f64, Basis)>,
    /// The same with achievable figures wherever they are known.
    pub achievable: Pair<(f64, Basis)>,
    /// The time ratio for work that it bounds on both GPUs: reference ÷ target.
    pub ratio: f64,
    /// The same from peaks alone; `None` if a peak is unknown.
    pub peak_ratio: Option<f64>,
}

/// A figure of a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figure {
    /// Memory bandwidth.
    Memory,
    /// Arithmetic.
    Compute(ComputeSpec),
}

impl Figure {
    /// The label shown to users.
    pub fn label(self) -> String {
        match self {
            Figure::Memory => "Memory bandwidth".to_owned(),
            Figure::Compute(spec) => {
                format!("{} {}", spec.precision.label(), spec.unit.label())
            }
        }
    }
}

impl HardwareRatio {
    /// Whether an achievable figure is known for only one GPU.
    pub fn is_mixed(&self) -> bool {
        is_mixed(&self.achievable)
    }
}

fn is_mixed(values: &Pair<(f64, Basis)>) -> bool {
    values.reference.1 != values.target.1
}

/// The figures used for the operations of two traces: the memory, then arithmetic in the order of the longest operation
/// that needs it. Empty unless both GPUs are known.
pub(crate) fn ratios(
    sides: &Pair<TraceProperties>,
    operations: &Operations,
    judge: &Judge,
) -> Vec<HardwareRatio> {
    let gpus = sides.as_ref().map(|side| side.gpu.as_deref());
    let Some(gpus) = gpus.both() else {
        return Vec::new();
    };
    let memory = gpus.map(|gpu| (gpu.mem_bw_gbps, gpu.mem_bw_basis));
    let of = |values: Pair<(f64, Basis)>| values.reference.0 / values.target.0;
    let mut ratios = vec![HardwareRatio {
        figure: Figure::Memory,
        values: memory,
        achievable: memory,
        ratio: of(memory),
        peak_ratio: Some(of(memory)),
    }];
    let mut specs: Vec<ComputeSpec> = Vec::new();
    for op in &operations.matched {
        let work = op.judgment.work.filter(|work| work.flops > 0.0);
        if let Some(spec) = work.and_then(|work| work.compute)
            && !specs.contains(&spec)
        {
            specs.push(spec);
        }
    }
    for spec in specs {
        let values = |basis| gpus.map(|gpu| peak_tflops(spec, gpu, basis)).both();
        let (Some(chosen), Some(achievable)) = (values(judge.basis), values(Basis::Achievable))
        else {
            continue;
        };
        let peaks = values(Basis::Peak)
            .filter(|values| values.reference.1 == Basis::Peak && values.target.1 == Basis::Peak);
        let own = peaks.filter(|_| is_mixed(&chosen)).unwrap_or(chosen);
        ratios.push(HardwareRatio {
            figure: Figure::Compute(spec),
            values: own,
            achievable,
            ratio: of(own),
            peak_ratio: peaks.map(of),
        });
    }
    ratios
}
