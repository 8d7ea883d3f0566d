//! Memory over time, as chart data.

use serde::{Deserialize, Serialize};

use crate::base::format;
use crate::base::interval::Interval;
use crate::profile::Profile;
use crate::profile::memory::steps::StepMemory;
use crate::profile::memory::{DeviceMemory, Point};
use crate::profile::window::{begin_ns, recorded_span};

/// Resolution of the time axis; if several reports fall into one unit, the maximum is drawn.
const WIDTHS: i64 = 1000;
/// Maximum number of steps marked.
const MOST_STEPS: usize = 60;
/// Maximum number of ticks on the axis.
const MOST_TICKS: i64 = 8;

/// Memory in use and reserved over time, as a step curve.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MemoryChart {
    /// In time order.
    pub points: Vec<ChartPoint>,
    /// The value at full height.
    pub top: String,
    /// Whether anything is reserved; the CPU allocator reserves nothing.
    pub has_reserved: bool,
    /// The steps and their positions.
    pub steps: Vec<ChartSpan>,
    /// Position of the peak, from 0 to 1000, and its description.
    pub peak: (f64, String),
    /// Ticks on the axis: position, from 0 to 1000, and time since the start of the trace.
    pub ticks: Vec<(f64, String)>,
}

/// The memory in use and reserved from this point on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct ChartPoint {
    /// Position on the time axis, from 0 to 1000.
    pub at: f64,
    /// In use, in percent of the full height.
    pub allocated: f64,
    /// Reserved, in percent of the full height.
    pub reserved: f64,
}

/// A step.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ChartSpan {
    /// Its name.
    pub name: String,
    /// Its start, from 0 to 1000.
    pub from: f64,
    /// Its end, from 0 to 1000.
    pub to: f64,
}

/// Round times for the ticks of an axis: multiples of 1, 2 or 5 times a power of ten.
fn round_times(start_ns: i64, length_ns: i64) -> impl Iterator<Item = i64> {
    let least = (length_ns / MOST_TICKS).max(1);
    let power = 10_i64.pow(least.ilog10());
    let steps = [1, 2, 5].map(|n| power.saturating_mul(n)).into_iter();
    let step = steps.clone().find(|step| *step >= least);
    let step = step.unwrap_or(power.saturating_mul(10));
    let first = start_ns.div_euclid(step) + i64::from(start_ns.rem_euclid(step) > 0);
    let last = start_ns.saturating_add(length_ns).div_euclid(step);
    (first..=last).map(move |n| n.saturating_mul(step))
}

/// The time range of the axis: the whole recording, or the window.
pub(super) fn axis(profile: &Profile, device: &DeviceMemory) -> Interval {
    let recorded = recorded_span(&profile.trace);
    let own = device.curve.first().zip(device.curve.last());
    let own = own.map(|(first, last)| Interval::new(first.ts_ns, last.ts_ns));
    let window = profile.window.as_ref().map(|of| of.window.cpu_span());
    let shown = window.or(recorded);
    // Threads that only allocate may continue after everything else.
    let all = shown.into_iter().chain(own);
    all.reduce(Interval::hull).unwrap_or_default()
}

/// The curve: at each width of the chart the most that was in use and reserved, and what was left of it at the end.
fn points(
    device: &DeviceMemory,
    axis: Interval,
    most: u64,
    at: impl Fn(i64) -> f64,
) -> Vec<ChartPoint> {
    let percent = |bytes: u64| bytes as f64 / most as f64 * 100.0;
    let point = |at: f64, allocated: u64, reserved: u64| ChartPoint {
        at,
        allocated: percent(allocated),
        reserved: percent(reserved),
    };
    let start = device.at(axis.start_ns.saturating_sub(1));
    let mut points = vec![point(0.0, start.allocated, start.reserved)];
    let is_few = device.curve.len() <= WIDTHS as usize;
    let mut last = start;
    let width = |one: &Point| at(one.ts_ns) as i64;
    let groups = device
        .curve
        .chunk_by(|one, next| !is_few && width(one) == width(next));
    for group in groups {
        let (Some(first), Some(end)) = (group.first(), group.last()) else {
            continue;
        };
        let most = |of: fn(&Point) -> u64| group.iter().map(of).max().unwrap_or(0);
        let (allocated, reserved) = (most(|one| one.allocated), most(|one| one.reserved));
        points.push(point(at(first.ts_ns), allocated, reserved));
        if (allocated, reserved) != (end.allocated, end.reserved) {
            points.push(point(at(end.ts_ns), end.allocated, end.reserved));
        }
        last = *end;
    }
    points.push(point(WIDTHS as f64, last.allocated, last.reserved));
    points
}

impl MemoryChart {
    pub(super) fn new(
        profile: &Profile,
        device: &DeviceMemory,
        steps: &[StepMemory],
        axis: Interval,
    ) -> MemoryChart {
        let length = axis.length().max(1) as f64;
        let at = |ns: i64| {
            let share = ns.saturating_sub(axis.start_ns) as f64 / length;
            (share * WIDTHS as f64).clamp(0.0, WIDTHS as f64)
        };
        let most = device.most_reserved.max(device.peak.allocated).max(1);
        let begin_ns = begin_ns(&profile.trace);
        let time = |ns: i64| format::time_ns(ns.saturating_sub(begin_ns));
        let ticks = round_times(axis.start_ns.saturating_sub(begin_ns), axis.length()).map(|ns| {
            let ns = ns.saturating_add(begin_ns);
            (at(ns), time(ns))
        });
        let marks = steps.iter().take(MOST_STEPS).map(|step| ChartSpan {
            name: step.name.clone(),
            from: at(step.span.start_ns),
            to: at(step.span.end_ns),
        });
        MemoryChart {
            points: points(device, axis, most, at),
            top: format::bytes(most),
            has_reserved: device.most_reserved > 0,
            steps: marks.collect(),
            peak: (
                at(device.peak.ts_ns),
                format!(
                    "{} in use at {}",
                    format::bytes(device.peak.allocated),
                    time(device.peak.ts_ns)
                ),
            ),
            ticks: ticks.collect(),
        }
    }
}
