//! Charts as data, for the page and the documents.

use serde::{Deserialize, Serialize};

use super::overview::SplitKind;
use super::{Evaluation, Report};
use crate::base::format;
use crate::base::interval::{Interval, length, sum, union};
use crate::base::sort::Arrange;
use crate::hardware::roofline::peak_tflops;
use crate::hardware::{Basis, GpuSpec};
use crate::names::Family;
use crate::perf::ComputeSpec;
use crate::profile::Profile;
use crate::profile::gpu::timeline::GpuClass;
use crate::profile::operations::Operation;

/// The operations on the roofline of the chosen GPU.
#[derive(Debug, Clone)]
pub struct Roofline<'a> {
    /// The slope.
    pub memory: MemoryRoofline,
    /// The horizontal parts, highest first.
    pub ceilings: Vec<Ceiling>,
    /// The operations on it, longest first.
    pub marks: Vec<Mark<'a>>,
}

/// The sloping part of a roofline: the bandwidth of the memory.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MemoryRoofline {
    /// The bandwidth in GB/s.
    pub gbps: f64,
    /// Whether it is peak or achievable.
    pub basis: Basis,
}

impl MemoryRoofline {
    /// The slope in TB/s.
    pub fn tb_per_s(&self) -> f64 {
        self.gbps / 1e3
    }

    /// The bandwidth alone, for where there is little room.
    pub fn short(&self) -> String {
        format::bandwidth_gbps(self.gbps)
    }

    /// Name, basis and bandwidth.
    pub fn label(&self) -> String {
        format!("memory, {} {}", self.basis.label(), self.short())
    }
}

/// A horizontal part of a roofline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ceiling {
    /// The kinds of arithmetic with this rate: "matrix BF16", "vector BF16, FP32".
    pub name: String,
    /// The rate.
    pub tflops: f64,
    /// Whether the rate is peak or achievable.
    pub basis: Basis,
    /// The ridge point, where it meets the memory slope, in FLOPS/Byte.
    pub ridge: f64,
}

impl Ceiling {
    /// The rate alone, for where there is little room.
    pub fn short(&self) -> String {
        format::tflops(self.tflops)
    }

    /// The kinds of arithmetic, the basis and the rate.
    pub fn label(&self) -> String {
        format!("{}, {} {}", self.name, self.basis.label(), self.short())
    }
}

/// An operation on a roofline.
#[derive(Debug, Clone, Copy)]
pub struct Mark<'a> {
    /// Its position in [`Profile::operations`].
    pub row: usize,
    /// The operation itself.
    pub operation: &'a Operation,
    /// How it performs on the GPU.
    pub evaluation: &'a Evaluation,
    /// Its position.
    pub spot: Spot,
}

/// The position of an operation in the chart.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Spot {
    /// On both axes.
    Roofline {
        /// FLOPS/Byte.
        intensity: f64,
        /// The achieved rate.
        tflops_per_s: f64,
    },
    /// It has no arithmetic: only its bandwidth can be evaluated.
    Bandwidth {
        /// The achieved rate.
        tb_per_s: f64,
    },
}

/// The roofline; `None` without a GPU, or if no operation can be placed. Copies over the CPU link are left out: their
/// bandwidth is not the memory's.
pub fn roofline<'a>(profile: &'a Profile, report: &'a Report) -> Option<Roofline<'a>> {
    let gpu = report.options.gpu.as_deref()?;
    let mut specs: Vec<ComputeSpec> = Vec::new();
    let mut marks = Vec::new();
    let all = profile
        .operations()
        .iter()
        .zip(&report.evaluations)
        .enumerate();
    for (row, (operation, evaluation)) in all {
        if evaluation.is_over_link {
            continue;
        }
        let Some(spot) = spot(evaluation) else {
            continue;
        };
        let spec = evaluation.work.and_then(|work| work.compute);
        if let (Some(spec), Spot::Roofline { .. }) = (spec, spot)
            && !specs.contains(&spec)
        {
            specs.push(spec);
        }
        marks.push(Mark {
            row,
            operation,
            evaluation,
            spot,
        });
    }
    (!marks.is_empty()).then(|| Roofline {
        memory: MemoryRoofline {
            gbps: gpu.mem_bw_gbps,
            basis: gpu.mem_bw_basis,
        },
        ceilings: ceilings(&specs, gpu, report.options.basis),
        marks,
    })
}

/// The position of an operation; `None` if its work or its time is unknown.
pub fn spot(evaluation: &Evaluation) -> Option<Spot> {
    let intensity = evaluation.work?.flops_per_byte()?;
    let tb_per_s = evaluation.tb_per_s.filter(|rate| *rate > 0.0)?;
    let tflops_per_s = evaluation.tflops_per_s.filter(|rate| *rate > 0.0);
    Some(match tflops_per_s.filter(|_| intensity > 0.0) {
        Some(tflops_per_s) => Spot::Roofline {
            intensity,
            tflops_per_s,
        },
        None => Spot::Bandwidth { tb_per_s },
    })
}

/// The horizontal parts of the roofline, highest first. Kinds of arithmetic with the same rate are merged: "vector
/// BF16, FP32".
fn ceilings(specs: &[ComputeSpec], gpu: &GpuSpec, basis: Basis) -> Vec<Ceiling> {
    let mut parts: Vec<Ceiling> = Vec::new();
    let mut last_unit = None;
    let mut specs = specs.to_vec();
    specs.arrange_by_key(|spec| spec.label());
    for spec in &specs {
        let Some((tflops, basis)) = peak_tflops(*spec, gpu, basis) else {
            continue;
        };
        let name = format!("{} {}", spec.unit.label(), spec.precision.label());
        let same = parts
            .iter_mut()
            .find(|known| known.tflops.total_cmp(&tflops).is_eq() && known.basis == basis);
        match same {
            Some(known) if last_unit == Some(spec.unit) => {
                known
                    .name
                    .push_str(&format!(", {}", spec.precision.label()));
            }
            Some(known) => known.name.push_str(&format!(", {name}")),
            None => parts.push(Ceiling {
                name,
                tflops,
                basis,
                ridge: tflops * 1e3 / gpu.mem_bw_gbps,
            }),
        }
        last_unit = Some(spec.unit);
    }
    parts.arrange_by(|one, other| other.tflops.total_cmp(&one.tflops));
    parts
}

/// A segment of the bar that shows the run.
#[derive(Debug, Clone, PartialEq)]
pub struct Share {
    /// The kind of work; `None` for GPU idle time.
    pub family: Option<Family>,
    /// Its time, including time when other kinds run concurrently.
    pub ns: i64,
    /// Its fraction of the bar: kinds that run concurrently share the busy time.
    pub of_bar: f64,
}

/// The run as one bar: kinds of work by share, then idle time; empty without GPU activity.
pub fn breakdown(report: &Report) -> Vec<Share> {
    let overview = &report.overview;
    let total_ns = overview.total_ns.filter(|ns| *ns > 0);
    let Some((total_ns, busy_ns)) = total_ns.zip(overview.busy_ns) else {
        return Vec::new();
    };
    let all_ns = sum(overview.families.iter().map(|family| family.ns));
    let families = overview.families.iter().map(|family| Share {
        family: Some(family.family),
        ns: family.ns,
        of_bar: family.ns as f64 / all_ns.max(1) as f64 * busy_ns as f64 / total_ns as f64,
    });
    let idle = overview.split.iter();
    let idle = idle.filter(|part| part.kind == SplitKind::Idle && part.ns > 0);
    let idle = idle.map(|idle| Share {
        family: None,
        ns: idle.ns,
        of_bar: idle.ns as f64 / total_ns as f64,
    });
    families.chain(idle).collect()
}

/// The run from left to right in `n` slices: for each class of GPU activity, the fraction of each slice in which it
/// runs.
pub fn strip(profile: &Profile, report: &Report, n: usize) -> Vec<(GpuClass, Vec<f64>)> {
    let whole = report.timelines.whole.as_ref();
    let Some(whole) = whole.filter(|whole| whole.total_ns() > 0) else {
        return Vec::new();
    };
    let classes = [
        GpuClass::Computation,
        GpuClass::Communication,
        GpuClass::Memcpy,
    ];
    let rows = classes.into_iter().filter_map(|class| {
        let work = profile.gpu.all().filter(|work| work.class == class);
        let spans = union(work.map(|work| work.span).collect());
        let is_there = length(&spans) > 0;
        is_there.then(|| {
            (
                class,
                shares(&spans, whole.span.start_ns, whole.total_ns(), n),
            )
        })
    });
    rows.collect()
}

/// The fraction of each slice that disjoint spans cover.
fn shares(spans: &[Interval], start_ns: i64, total_ns: i64, n: usize) -> Vec<f64> {
    let mut shares = vec![0.0; n];
    let slice_ns = total_ns as f64 / n as f64;
    for span in spans {
        let from = (span.start_ns.saturating_sub(start_ns)) as f64 / slice_ns;
        let to = (span.end_ns.saturating_sub(start_ns)) as f64 / slice_ns;
        let (first, last) = (from.max(0.0) as usize, (to.max(0.0) as usize).min(n - 1));
        for (at, share) in shares.iter_mut().enumerate().take(last + 1).skip(first) {
            let covered = to.min((at + 1) as f64) - from.max(at as f64);
            *share = f64::min(*share + covered.max(0.0), 1.0);
        }
    }
    shares
}

/// The title of a mark: the name of its operation and its time.
pub(crate) fn mark_title(profile: &Profile, mark: &Mark) -> String {
    let name = format::middle_ellipsis(mark.operation.short_name(profile), 60);
    format!("{name}: {}", format::time_ns(mark.operation.kernel_ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hardware::{Precision, find};
    use crate::perf::Unit;

    #[test]
    fn a_slice_is_as_high_as_it_is_covered() {
        let spans = [Interval::new(0, 15), Interval::new(30, 40)];
        assert_eq!(shares(&spans, 0, 40, 4), [1.0, 0.5, 0.0, 1.0]);
    }

    #[test]
    fn kinds_of_arithmetic_of_one_rate_are_one_ceiling() {
        let spec = |unit, precision| ComputeSpec { unit, precision };
        let specs = [
            spec(Unit::Vector, Precision::Fp32),
            spec(Unit::Matrix, Precision::Bf16),
            spec(Unit::Vector, Precision::Bf16),
        ];
        let ceilings = ceilings(&specs, find("MI300X").unwrap(), Basis::Achievable);
        let labels: Vec<String> = ceilings.iter().map(Ceiling::label).collect();
        assert_eq!(
            labels,
            [
                "matrix BF16, achievable 708 TFLOPS",
                "vector BF16, FP32, peak 163 TFLOPS"
            ]
        );
        assert!((ceilings[0].ridge - 708.0 / 5.3).abs() < 1e-9);
    }
}
