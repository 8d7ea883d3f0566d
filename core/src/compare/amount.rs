//! How much work each trace covers: a trace of three steps has three times the idle time of a single step without being
//! slower.

use super::ops::Operations;
use super::pair::Pair;
use super::side::Side;
use super::words;
use crate::base::format;
use crate::base::interval::{percent_or_zero, sum};
use crate::base::sort::Arranged;
use crate::names::batch::Phase;
use crate::profile::serving::ServingStep;
use crate::profile::window;
use crate::trace::annotations::step_number;

/// Operations with less than this share of the matched kernel time of both traces are ignored when estimating how much
/// work a trace covers.
const LEAST_PERCENT: f64 = 1.0;
/// If the matched operations have less than this share of the target's kernel time, calls are not used either.
const LEAST_MATCHED_PERCENT: f64 = 10.0;
/// Ratios of calls that differ by less are the same.
const SAME: f64 = 0.01;

/// How much of the same work the target does, relative to the reference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Amount {
    /// Target over reference: 1 if both do the same amount, or if it is unknown.
    pub ratio: f64,
    /// What it is derived from.
    pub by: AmountBy,
    /// Whether an operation whose call ratio is higher than this is really called too often, as opposed to `ratio`
    /// being off.
    pub(crate) is_certain: bool,
}

/// What the ratio of work is derived from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AmountBy {
    /// The steps of the profiler in each trace, or of a serving engine.
    Steps(Pair<u64>),
    /// The calls of operations in both traces: the median of their ratios.
    Calls,
    /// Nothing.
    Nothing,
}

impl Amount {
    /// The ratio is never certain if calls are missing.
    pub(crate) fn new(sides: Pair<Side>, operations: &Operations, misses_calls: bool) -> Amount {
        let amount = |ratio, by, is_certain: bool| Amount {
            ratio,
            by,
            is_certain: is_certain && !misses_calls,
        };
        let of_profiler = sides.map(|side| n_steps(&side));
        let steps = match of_profiler.reference > 0 && of_profiler.target > 0 {
            true => of_profiler,
            false => sides.map(|side| n_generating(&side)),
        };
        if steps.reference > 0 && steps.target > 0 {
            let ratio = steps.target as f64 / steps.reference as f64;
            return amount(ratio, AmountBy::Steps(steps), true);
        }
        let ratios = ratios_of_calls(operations);
        let Some(&ratio) = ratios.get(ratios.len().saturating_sub(1) / 2) else {
            return amount(1.0, AmountBy::Nothing, false);
        };
        let is_alike = |other: &&f64| (**other / ratio - 1.0).abs() <= SAME;
        let n_alike = ratios.iter().filter(is_alike).count();
        let is_certain = n_alike >= 2 && n_alike * 2 >= ratios.len();
        amount(ratio, AmountBy::Calls, is_certain)
    }

    /// Whether both do the same amount of work.
    pub fn is_same(&self) -> bool {
        (self.ratio - 1.0).abs() < 1e-9
    }

    /// A time of the reference, scaled to the target's amount of work.
    pub(crate) fn scaled(&self, reference_ns: i64) -> i64 {
        (reference_ns as f64 * self.ratio).round() as i64
    }

    /// Idle time of the reference, scaled to the target's amount of work: there is one gap less than there are GPU
    /// activities.
    pub(crate) fn scaled_idle(&self, idle_ns: i64, n_pieces: u64) -> i64 {
        let gaps = |pieces: f64| (pieces - 1.0).max(1.0);
        let pieces = n_pieces as f64;
        (idle_ns as f64 * gaps(pieces * self.ratio) / gaps(pieces)).round() as i64
    }

    /// "5 steps more (6 against 1)", if both traces tell their steps and one has more of them.
    pub(crate) fn more_steps(&self) -> Option<String> {
        let AmountBy::Steps(Pair { reference, target }) = self.by else {
            return None;
        };
        let is_more = match target.cmp(&reference) {
            std::cmp::Ordering::Equal => return None,
            order => order.is_gt(),
        };
        let steps = format::counted(target.abs_diff(reference), "step");
        let (target, reference) = (format::count(target), format::count(reference));
        let more = if is_more { "more" } else { "fewer" };
        let (n, noun) = steps.split_once(' ').unwrap_or((&steps, "steps"));
        Some(format!("{n} {more} {noun} ({target} against {reference})"))
    }

    /// "3.00× as much (3 steps against 1)".
    pub(crate) fn text(&self) -> String {
        let times = words::times(self.ratio);
        match self.by {
            AmountBy::Steps(steps) => format!(
                "{times} as much ({} against {})",
                format::counted(steps.target, "step"),
                format::count(steps.reference)
            ),
            AmountBy::Calls => format!("{times} as much by its calls"),
            AmountBy::Nothing => times,
        }
    }
}

/// The number of profiler steps in a trace, or in the part of it that is compared.
fn n_steps(side: &Side) -> u64 {
    let is_step = |name: &str| step_number(name).is_some();
    let window = side.profile.window.as_ref();
    // A window of a single GPU covers all steps.
    match window.filter(|of| of.window.device.is_none()) {
        Some(of) => u64::from(of.window.step.as_deref().is_some_and(is_step)),
        None => {
            let steps = window::steps(&side.profile.trace);
            steps.iter().filter(|step| is_step(&step.name)).count() as u64
        }
    }
}

/// The number of steps of a serving engine, if each generates a token for some of its requests; else 0. Those that
/// compute the context of others beside that do more work, in calls of other sizes.
fn n_generating(side: &Side) -> u64 {
    let steps = side.profile.serving().map(|serving| &serving.steps);
    let phases = steps.into_iter().flatten().map(ServingStep::phase);
    let phases: Vec<Option<Phase>> = phases.filter(|phase| *phase != Some(Phase::Idle)).collect();
    let generates = |phase: &Option<Phase>| matches!(phase, Some(Phase::Decode | Phase::Mixed));
    match phases.iter().all(generates) {
        true => phases.len() as u64,
        false => 0,
    }
}

/// For each operation that counts, how many times as often the target calls it, in ascending order.
fn ratios_of_calls(operations: &Operations) -> Vec<f64> {
    let ops = operations.matched.iter();
    let all = ops.map(|op| op.times()).fold(Pair::default(), Pair::plus);
    let unmatched = operations.unmatched.target.iter().map(|op| op.side.time_ns);
    let whole = all.target.saturating_add(sum(unmatched));
    if percent_or_zero(all.target, whole) < LEAST_MATCHED_PERCENT {
        return Vec::new();
    }
    let counts = |times: Pair<i64>| {
        percent_or_zero(times.reference, all.reference) >= LEAST_PERCENT
            || percent_or_zero(times.target, all.target) >= LEAST_PERCENT
    };
    let ops = operations.matched.iter().filter(|op| counts(op.times()));
    let ratios = ops.filter_map(|op| {
        let Pair { reference, target } = op.calls();
        (reference > 0).then(|| target as f64 / reference as f64)
    });
    ratios.arranged_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{compared, pair, run};
    use super::*;
    use crate::testing::Timetable;

    /// Calls of three operators, this many of each, one after another.
    fn calls(numbers: [usize; 3]) -> Timetable {
        let ops = ["aten::mm", "aten::add", "aten::_softmax"].into_iter();
        let calls = ops.zip(numbers);
        run(calls.flat_map(|(op, n)| std::iter::repeat_n((op, "", "kernel", 50), n)))
    }

    fn amount(reference: &Timetable, target: &Timetable) -> Amount {
        compared(reference, target, None).amount
    }

    #[test]
    fn the_calls_of_most_operations_decide() {
        for (reference, target, ratio, is_certain) in [
            ([4, 4, 4], [4, 4, 4], 1.0, true),
            ([4, 4, 4], [12, 12, 12], 3.0, true),
            ([4, 4, 4], [8, 4, 4], 1.0, true),
            ([4, 4, 4], [8, 4, 12], 2.0, false),
            ([4, 0, 0], [8, 0, 0], 2.0, false),
        ] {
            let amount = amount(&calls(reference), &calls(target));
            assert_eq!(amount.by, AmountBy::Calls);
            assert!((amount.ratio - ratio).abs() < 1e-12, "{target:?}");
            assert_eq!(amount.is_certain, is_certain, "{target:?}");
        }
        let none = amount(&calls([0, 0, 0]), &calls([1, 0, 0]));
        assert_eq!(none.by, AmountBy::Nothing);
        // Nor does an operation with 1 % of the time count: 50 µs compared with 5 ms.
        let other = calls([2, 0, 0]).work("my::other", "other", 2_000..7_000);
        assert_eq!(amount(&calls([1, 0, 0]), &other).by, AmountBy::Nothing);
    }

    #[test]
    fn steps_are_preferred_to_calls() {
        let steps = |n: u32| {
            (0..n).fold(calls([4, 4, 4]), |table, step| {
                let name = format!("ProfilerStep#{step}");
                table.annotation(&name, step * 200..step * 200 + 199)
            })
        };
        let parts = compared(&steps(1), &steps(3), None).parts;
        let waterfall = parts.waterfall(3);
        assert_eq!(waterfall[0].label, "2 more steps (3 against 1)");
        let last = waterfall.last().map(|step| step.to_ns);
        assert_eq!(last, Some(parts.total.target));
        let amount = amount(&steps(1), &steps(3));
        assert_eq!(amount.by, AmountBy::Steps(pair(1, 3)));
        assert_eq!(amount.text(), "3.00× as much (3 steps against 1)");
        assert_eq!(amount.scaled(100), 300);
        // 4 activities have 3 gaps, 12 have 11.
        assert_eq!(amount.scaled_idle(300, 4), 1_100);
    }
}
