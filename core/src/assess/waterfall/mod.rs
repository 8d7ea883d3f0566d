//! The gap waterfall: from the roofline time of an operation to its measured time, cause by cause.
//!
//! ```text
//! roofline ─tile padding→ ─wave quantization→ … ─helper kernels→ … ─unexplained→ measured
//! ```
//!
//! A factor multiplies the roofline time of the arithmetic or of the memory traffic, and the longer of both is taken
//! again: the step is the increase. Measured times (helper kernels, a warm-up, calls that take longer than others) are
//! subtracted from the gap first, because they are no estimates; times from factors are limited to what is left. So the
//! parts add up to the measured time to the nanosecond.
//!
//! Facts name causes of the rest that have no factor: see [`Fact`].

mod fact;
mod factors;
mod facts;
mod fastest;
#[cfg(test)]
mod tests;
mod text;

use super::{Evaluation, Input};
use crate::base::labels::labeled;
use crate::base::sort::Arrange;
use crate::hardware::roofline::Bound;
use crate::names::HelperKind;
use crate::profile::operations::Operation;
use crate::profile::operations::measured::{Helper, Measured, MeasuredOperations};

pub use fact::Fact;
use factors::{Factor, factors};
pub use text::{StepLine, step_lines};

/// The time that launching a kernel takes.
const LAUNCH_NS: i64 = 2_000;

/// A smaller factor that adds no time is not listed.
const LEAST_FACTOR: f64 = 1.05;

labeled! {
    /// Why an operation takes longer than its roofline time.
    pub enum Cause {
        /// It runs on units that are slower than others that support its type.
        SlowerUnit => "Slower units" as "slower_unit",
        /// Tiles extend beyond the result.
        TilePadding => "Tile padding" as "tile_padding",
        /// The last wave of workgroups does not fill the GPU.
        WaveQuantization => "Wave quantization" as "wave_quantization",
        /// A dimension is padded to the next larger one that the kernel is built for.
        PaddedDimension => "Padded dimension" as "padded_dimension",
        /// A second kernel reads the operands of a norm's gradient again.
        ReadAgain => "Operands read again" as "operands_read_again",
        /// No other kernel of this trace moves this few bytes faster.
        SmallSize => "Bandwidth at this size" as "bandwidth_at_this_size",
        /// Kernels in addition to the one that does the work.
        Helpers => "Helper kernels" as "helper_kernels",
        /// How much longer than the others the first call takes.
        WarmUp => "Warm-up" as "warm_up",
        /// How much longer than the median calls take.
        Spread => "Spread of calls" as "spread",
        /// Kernels about as short as their launch.
        LaunchScale => "Launch scale" as "launch_scale",
        /// The rest.
        Unexplained => "Unexplained" as "unexplained",
    }
}

impl Cause {
    /// Whether its time was measured, rather than inferred from sizes.
    pub fn is_measured(self) -> bool {
        matches!(self, Cause::Helpers | Cause::WarmUp | Cause::Spread)
    }
}

/// One part of the gap.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// The cause.
    pub cause: Cause,
    /// The factor on the roofline time of the arithmetic, or of the memory traffic; for measured times, the factor on
    /// the time before it. At least 1.
    pub factor: f64,
    /// What it adds to the time of all calls: zero if the other of arithmetic and memory still takes longer.
    pub ns: i64,
    /// The sizes that it follows from.
    pub detail: Detail,
}

/// The sizes that a step follows from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Detail {
    /// Nothing besides its time.
    None,
    /// A result in tiles.
    Tile {
        /// Rows and columns of one result.
        result: (u64, u64),
        /// The tile.
        tile: (u64, u64),
    },
    /// Workgroups over the compute units.
    Waves {
        /// Output tiles; `None` if the kernel's name does not contain the tile.
        tiles: Option<u64>,
        /// Workgroups: as many as tiles, or more if the sum over K is split.
        workgroups: u64,
        /// Compute units.
        units: u32,
    },
    /// A dimension that is rounded up.
    Padded {
        /// Which: "head dimension", "K".
        dimension: &'static str,
        /// Its size.
        size: u64,
        /// The padded size.
        padded: u64,
    },
    /// What the fastest other operation of about this size reaches.
    Bandwidth {
        /// Its bandwidth relative to that of the GPU, in percent.
        percent: f64,
        /// The time in which it would move as many bytes.
        least_ns: i64,
    },
    /// The longest kind of helper kernels.
    Helper {
        /// What they are for.
        kind: HelperKind,
        /// How many run.
        n: u64,
        /// How many other kinds there are.
        n_other_kinds: usize,
    },
    /// Calls.
    Calls {
        /// The median call.
        median_ns: i64,
        /// The longest call, or the first.
        longest_ns: i64,
    },
}

/// From the roofline time to the measured time of an operation.
#[derive(Debug, Clone, PartialEq)]
pub struct Waterfall {
    /// The roofline time of all calls; for calls faster than their roofline, the measured time.
    pub roofline_ns: i64,
    /// In the order of [`Cause`]; steps that add no time are included only if their factor is large enough.
    pub steps: Vec<Step>,
    /// The measured time of all calls.
    pub measured_ns: i64,
    /// Causes of what is unexplained that have no factor, most certain first.
    pub facts: Vec<Fact>,
}

impl Waterfall {
    /// Workgroups and compute units, if some of these have no work.
    pub(crate) fn few_workgroups(&self) -> Option<(u64, u32)> {
        self.facts.iter().find_map(|fact| match fact {
            Fact::FewWorkgroups { workgroups, units } => Some((*workgroups, *units)),
            _ => None,
        })
    }

    /// The waterfall of the operation with this index; `None` if its roofline is unknown.
    pub fn of(input: &Input, at: usize) -> Option<Waterfall> {
        let profile = input.profile;
        let operation = profile.operations().get(at)?;
        let evaluation = input.evaluations.get(at)?;
        if operation.is_tuning() {
            return None;
        }
        let all = MeasuredOperations::of(profile);
        let measured = all.get(profile, at)?;
        Waterfall::new(input, at, operation, evaluation, measured)
    }

    fn new(
        input: &Input,
        at: usize,
        operation: &Operation,
        evaluation: &Evaluation,
        measured: &Measured,
    ) -> Option<Waterfall> {
        let roofline = evaluation.roofline?;
        let n_calls = operation.calls.len() as f64;
        let all_ns = |us: f64| (us * 1e3 * n_calls).round() as i64;
        let measured_ns = operation.kernel_ns;
        let roofline_ns = all_ns(roofline.time_us).clamp(0, measured_ns);
        let mut parts = Parts {
            left_ns: measured_ns - roofline_ns,
            steps: Vec::new(),
        };
        parts.take_measured(measured);
        let factors = factors(input, at, operation, evaluation, measured);
        let (mut compute_us, mut memory_us) =
            (roofline.compute_us.unwrap_or(0.0), roofline.memory_us);
        for Factor {
            cause,
            of,
            factor,
            detail,
        } in factors
        {
            let before_us = compute_us.max(memory_us);
            match of {
                Bound::Compute => compute_us *= factor,
                Bound::Memory => memory_us *= factor,
            }
            let ns = all_ns(compute_us.max(memory_us) - before_us);
            parts.add(cause, Some(factor), ns, detail);
        }
        parts.take(
            Cause::LaunchScale,
            measured.n_short as i64 * LAUNCH_NS,
            Detail::None,
        );
        parts.take(Cause::Unexplained, parts.left_ns, Detail::None);
        Some(Waterfall {
            roofline_ns,
            steps: parts.in_order(roofline_ns),
            measured_ns,
            facts: facts::facts(input, operation, evaluation, measured),
        })
    }

    /// The time of a cause; zero if it does not occur.
    pub fn ns(&self, cause: Cause) -> i64 {
        self.step(cause).map_or(0, |step| step.ns)
    }

    /// The step of a cause.
    pub fn step(&self, cause: Cause) -> Option<&Step> {
        self.steps.iter().find(|step| step.cause == cause)
    }

    /// The roofline time divided by the measured time, in percent: weighted by time, so that it adds up over
    /// operations. `None` without a measured time.
    pub fn roofline_percent(&self) -> Option<f64> {
        (self.measured_ns > 0).then(|| self.roofline_ns as f64 / self.measured_ns as f64 * 100.0)
    }

    /// The longest step with a known cause, other than `but`.
    pub fn largest(&self, but: Option<Cause>) -> Option<&Step> {
        let steps = self.steps.iter();
        let named =
            steps.filter(|step| step.cause != Cause::Unexplained && Some(step.cause) != but);
        named.max_by_key(|step| (step.ns, std::cmp::Reverse(step.cause)))
    }
}

/// The gap while it is split into steps.
struct Parts {
    left_ns: i64,
    steps: Vec<(Option<f64>, Cause, i64, Detail)>,
}

impl Parts {
    /// Adds a step whose factor is relative to the time before it.
    fn take(&mut self, cause: Cause, ns: i64, detail: Detail) {
        self.add(cause, None, ns, detail);
    }

    fn add(&mut self, cause: Cause, factor: Option<f64>, ns: i64, detail: Detail) {
        let ns = ns.clamp(0, self.left_ns);
        if ns > 0 || factor.is_some_and(|factor| factor >= LEAST_FACTOR) {
            self.left_ns -= ns;
            self.steps.push((factor, cause, ns, detail));
        }
    }

    fn take_measured(&mut self, measured: &Measured) {
        let spread = &measured.spread;
        if let [Helper { kind, n, .. }, others @ ..] = &measured.helpers[..] {
            let detail = Detail::Helper {
                kind: *kind,
                n: *n,
                n_other_kinds: others.len(),
            };
            self.take(Cause::Helpers, measured.helper_ns(), detail);
        }
        let calls = |longest_ns| Detail::Calls {
            median_ns: spread.median_ns,
            longest_ns,
        };
        let first_ns = spread.median_ns + spread.warm_up_ns;
        self.take(Cause::WarmUp, spread.warm_up_ns, calls(first_ns));
        self.take(Cause::Spread, spread.above_median_ns, calls(spread.max_ns));
    }

    fn in_order(mut self, roofline_ns: i64) -> Vec<Step> {
        self.steps.arrange_by_key(|(_, cause, ..)| *cause);
        let mut before_ns = roofline_ns;
        let steps = self.steps.into_iter().map(|(factor, cause, ns, detail)| {
            let after_ns = before_ns.saturating_add(ns);
            let growth = after_ns as f64 / before_ns.max(1) as f64;
            before_ns = after_ns;
            Step {
                cause,
                factor: factor.unwrap_or(growth),
                ns,
                detail,
            }
        });
        steps.collect()
    }
}
