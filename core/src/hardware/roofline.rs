//! The minimum time that work can take on a GPU, and what limits it.
//!
//! Work that does F operations on B bytes needs at least F / (operations per second) in the compute units and B /
//! (bytes per second) for memory. Both overlap, so the longer of the two is the roofline. A kernel cannot be faster,
//! except by as much as the figures are inaccurate.

use super::{ComputeSpec, Unit, Work};
use crate::base::labels::labeled;
use crate::hardware::{Basis, GpuSpec};

labeled! {
    /// What limits the work, spelled as in TraceLens.
    pub enum Bound {
        /// The compute units.
        Compute => "COMPUTE_BOUND",
        /// The memory.
        Memory => "MEMORY_BOUND",
    }
}

/// The roofline of some work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Roofline {
    /// The minimum time.
    pub time_us: f64,
    /// What limits it.
    pub bound: Bound,
    /// The minimum time of the arithmetic; `None` if nothing is computed or no peak is known.
    pub compute_us: Option<f64>,
    /// The minimum time of the memory traffic.
    pub memory_us: f64,
    /// Whether the deciding figure is a peak or an achievable one: that of the compute units if they are the bound,
    /// else that of the memory.
    pub basis: Basis,
}

/// The roofline of work on a GPU.
///
/// `None` if bytes are unknown, or if the GPU has no figure for the matrix units that the work needs. Work without
/// operations, and arithmetic without a peak, such as on 64-bit integers, is bound by memory alone.
pub fn roofline(work: &Work, gpu: &GpuSpec, basis: Basis) -> Option<Roofline> {
    let bytes = work.bytes.filter(|bytes| *bytes > 0.0)?;
    let memory_us = bytes / (gpu.mem_bw_gbps * 1e9) * 1e6;
    let peak = work
        .compute
        .filter(|_| work.flops > 0.0)
        .map(|spec| peak_tflops(spec, gpu, basis));
    let needs_matrix = work
        .compute
        .is_some_and(|spec| spec.unit == Unit::Matrix && work.flops > 0.0);
    let peak = match peak.flatten() {
        None if needs_matrix => return None,
        peak => peak,
    };
    let compute_us = peak.map(|(tflops, _)| work.flops / (tflops * 1e12) * 1e6);
    let (bound, basis) = match (compute_us, peak) {
        (Some(compute_us), Some((_, basis))) if compute_us >= memory_us => (Bound::Compute, basis),
        _ => (Bound::Memory, gpu.mem_bw_basis),
    };
    Some(Roofline {
        time_us: compute_us.unwrap_or(0.0).max(memory_us),
        bound,
        compute_us,
        memory_us,
        basis,
    })
}

/// The arithmetic rate for a compute spec and its basis. Without a published achievable rate, the peak is used.
pub fn peak_tflops(spec: ComputeSpec, gpu: &GpuSpec, basis: Basis) -> Option<(f64, Basis)> {
    let figure = match spec.unit {
        Unit::Matrix => gpu.matrix_rate(spec.precision, basis),
        Unit::Vector => gpu.vector_rate(spec.precision, basis),
    }?;
    (figure.tflops > 0.0).then_some((figure.tflops, figure.basis))
}

/// How far a measured time is from the roofline, in percent: 100 is as fast as the hardware allows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Achieved {
    /// The roofline's time divided by the measured time.
    pub percent_of_roofline: f64,
    /// The share of the arithmetic peak; `None` where there is none.
    pub compute_percent: Option<f64>,
    /// The share of the memory bandwidth.
    pub bandwidth_percent: f64,
}

/// Compares a measured time with the roofline; `None` for a time of zero.
pub fn achieved(roofline: &Roofline, measured_us: f64) -> Option<Achieved> {
    let percent = |us: f64| us / measured_us * 100.0;
    (measured_us > 0.0).then(|| Achieved {
        percent_of_roofline: percent(roofline.time_us),
        compute_percent: roofline.compute_us.map(percent),
        bandwidth_percent: percent(roofline.memory_us),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hardware::{Precision, find};

    fn work(flops: f64, bytes: f64, unit: Unit) -> Work {
        Work {
            flops,
            bytes: Some(bytes),
            compute: Some(ComputeSpec {
                unit,
                precision: Precision::Bf16,
            }),
        }
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9 * b.abs()
    }

    #[test]
    fn the_slower_of_arithmetic_and_memory_is_the_roof() {
        let gpu = find("MI300X").unwrap();
        // 5.3 GB at 5.3 TB/s take 1 ms; 708 GFLOP at 708 TFLOPS take 1 ms too.
        let memory = roofline(&work(1e9, 5.3e9, Unit::Matrix), gpu, Basis::Achievable).unwrap();
        assert_eq!((memory.bound, memory.basis), (Bound::Memory, Basis::Peak));
        assert!(near(memory.time_us, 1000.0), "{memory:?}");
        let compute = roofline(&work(1416e9, 5.3e9, Unit::Matrix), gpu, Basis::Achievable).unwrap();
        let by_compute = (Bound::Compute, Basis::Achievable);
        assert_eq!((compute.bound, compute.basis), by_compute);
        assert!(near(compute.time_us, 2000.0), "{compute:?}");
        // At the printed peak the arithmetic takes little longer than the memory traffic.
        let peak = roofline(&work(1416e9, 5.3e9, Unit::Matrix), gpu, Basis::Peak).unwrap();
        assert!(near(peak.time_us, 1416.0 / 1307.4 * 1000.0), "{peak:?}");
    }

    #[test]
    fn both_shares_are_told() {
        let gpu = find("MI300X").unwrap();
        let roofline = roofline(&work(354e9, 5.3e9, Unit::Matrix), gpu, Basis::Achievable).unwrap();
        let achieved = achieved(&roofline, 2000.0).unwrap();
        assert!(near(achieved.percent_of_roofline, 50.0));
        assert!(near(achieved.bandwidth_percent, 50.0));
        assert!(near(achieved.compute_percent.unwrap(), 25.0));
        assert_eq!(super::achieved(&roofline, 0.0), None);
    }

    #[test]
    fn what_is_not_known_has_no_roof() {
        let gpu = find("H100").unwrap();
        let unknown = Work {
            bytes: None,
            ..work(1.0, 1.0, Unit::Vector)
        };
        assert_eq!(roofline(&unknown, gpu, Basis::Peak), None);
        // FP4 GEMMs on a GPU without that mode.
        let fp4 = Work {
            compute: Some(ComputeSpec {
                unit: Unit::Matrix,
                precision: Precision::Fp4,
            }),
            ..work(1e9, 1e6, Unit::Matrix)
        };
        assert_eq!(roofline(&fp4, gpu, Basis::Peak), None);
    }

    #[test]
    fn a_copy_is_bound_by_the_memory() {
        let gpu = find("H100").unwrap();
        let copy = Work {
            flops: 0.0,
            bytes: Some(3.35e9),
            compute: None,
        };
        let roofline = roofline(&copy, gpu, Basis::Peak).unwrap();
        assert_eq!((roofline.bound, roofline.compute_us), (Bound::Memory, None));
        assert!(near(roofline.time_us, 1000.0));
    }
}
