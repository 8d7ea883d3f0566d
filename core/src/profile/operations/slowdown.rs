//! Kernels that become slower in the middle of a run, or faster, all by about the same factor: clocks that fall or rise,
//! or something else on the same GPU.
//!
//! ```text
//! GEMM     100 100 100 100 145 145 145 145
//! GELU     20  20  20  20  29  29  29  29      ×1.45 from the fifth call on
//! ```
//!
//! Compares only calls with the same arguments, and only work that depends on nothing but its arguments.

use std::f64::consts::LN_2;
use std::sync::Arc;

use super::slow_calls::{Communication, by_start};
use crate::base::interval::sum;
use crate::base::sort::{Arrange, Arranged};
use crate::base::stats::median_ns;
use crate::names::Family;
use crate::profile::Profile;
use crate::profile::operations::Operation;

/// An operation needs at least this many calls on each side of the moment.
const LEAST_CALLS: usize = 3;

/// Times vary by less than this factor in a steady run.
const LEAST_FACTOR: f64 = 1.1;

/// Factors of operations agree if they differ by at most this fraction.
const TOLERANCE: f64 = 0.1;

/// At least this share of the compared time must change by the same factor.
const MOST: f64 = 0.75;

/// At least this share of all computation time must be compared.
const LEAST_COMPARED: f64 = 0.3;

/// At least this share of calls must be on the right side of the midpoint between before and after.
const CLEAR: f64 = 0.8;

/// An operation whose calls become slower, or faster.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Slowed {
    /// Its position in [`Profile::operations`].
    pub(crate) operation: usize,
    /// The medians before and after the moment.
    pub(crate) before_ns: i64,
    pub(crate) after_ns: i64,
    /// Total time of the slow calls beyond the median of the fast ones.
    pub(crate) excess_ns: i64,
}

/// What becomes slower or faster, and when.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Slowdown {
    /// When the first call runs at the other speed.
    pub(crate) since_ns: i64,
    /// How many times as long the slow calls take.
    pub(crate) factor: f64,
    /// The slow calls are those before.
    pub(crate) is_at_start: bool,
    /// In the order of the operations.
    pub(crate) operations: Vec<Slowed>,
}

/// The calls of an operation in time order: start and kernel time.
struct Series {
    operation: usize,
    calls: Vec<(i64, i64)>,
    median_ns: i64,
    /// Its time depends only on its arguments.
    is_compared: bool,
}

impl Slowdown {
    pub(crate) fn of(profile: &Profile) -> Arc<Option<Slowdown>> {
        profile.once(|| {
            let operations = profile.operations().iter().enumerate();
            let series = operations.filter_map(|(at, one)| Series::of(profile, at, one));
            let computing = profile.operations().iter();
            let computing = computing.filter(|one| one.family.computes());
            let all_ns = sum(computing.map(|one| one.kernel_ns));
            Slowdown::either(series.collect(), all_ns)
        })
    }

    /// The slowdown, or else the opposite: a slowdown in reversed time.
    fn either(series: Vec<Series>, all_ns: i64) -> Option<Slowdown> {
        if let Some(slower) = Slowdown::new(&series, all_ns) {
            return Some(slower);
        }
        let series: Vec<Series> = series.into_iter().map(Series::reversed).collect();
        let faster = Slowdown::new(&series, all_ns)?;
        let operations = faster.operations.into_iter().map(|one| Slowed {
            before_ns: one.after_ns,
            after_ns: one.before_ns,
            ..one
        });
        // The last slow call; fast ones follow it.
        let last_ns = faster.since_ns.saturating_neg();
        let calls = series.iter().flat_map(|one| &one.calls);
        let starts = calls.map(|(start_ns, _)| start_ns.saturating_neg());
        Some(Slowdown {
            since_ns: starts.filter(|ns| *ns > last_ns).min().unwrap_or(last_ns),
            is_at_start: true,
            operations: operations.collect(),
            ..faster
        })
    }

    /// The slowdown of an operation.
    pub(crate) fn of_operation(&self, at: usize) -> Option<&Slowed> {
        self.operations.iter().find(|slowed| slowed.operation == at)
    }

    /// Finds the slowdown in a run with this much computation time in total.
    fn new(series: &[Series], all_ns: i64) -> Option<Slowdown> {
        let since_ns = moment(series)?;
        let compared = series.iter().filter(|one| one.is_compared);
        let compared = compared.filter_map(|one| Some((one.split(since_ns)?, one.time_ns())));
        let factors = compared
            .map(|(split, ns)| (split.factor(), ns))
            .arranged_by(|a, b| a.0.total_cmp(&b.0));
        let compared_ns = sum(factors.iter().map(|(_, ns)| *ns));
        let factor = middle(&factors, compared_ns)?;
        let agree = |of: f64| (of / factor - 1.0).abs() <= TOLERANCE;
        let agreeing = factors.iter().filter(|(of, _)| agree(*of));
        let agreeing_ns = sum(agreeing.map(|(_, ns)| *ns)) as f64;
        let is_one = factor >= LEAST_FACTOR
            && agreeing_ns >= compared_ns as f64 * MOST
            && compared_ns as f64 >= all_ns as f64 * LEAST_COMPARED;
        if !is_one || !is_clear(series, since_ns) {
            return None;
        }
        let slowed = series.iter().filter_map(|one| {
            let split = one.split(since_ns)?;
            let above = split.after.iter().map(|ns| (ns - split.before_ns).max(0));
            agree(split.factor()).then(|| Slowed {
                operation: one.operation,
                before_ns: split.before_ns,
                after_ns: split.after_ns,
                excess_ns: sum(above),
            })
        });
        Some(Slowdown {
            since_ns,
            factor,
            is_at_start: false,
            operations: slowed.collect(),
        })
    }
}

/// The calls of an operation before and after a moment.
struct Split {
    before: Vec<i64>,
    after: Vec<i64>,
    /// Their medians.
    before_ns: i64,
    after_ns: i64,
}

impl Split {
    fn factor(&self) -> f64 {
        self.after_ns as f64 / self.before_ns.max(1) as f64
    }
}

impl Series {
    /// `None` if there are too few calls or the shapes are unknown. Leaves out calls that run concurrently with
    /// communication, because that slows them down, too.
    fn of(profile: &Profile, at: usize, operation: &Operation) -> Option<Series> {
        let has_shapes = !operation.dims(profile).is_empty() && !operation.is_in_graph(profile);
        if !operation.family.computes() || !has_shapes || operation.is_tuning() {
            return None;
        }
        let communication = Communication::of(profile);
        let calls = by_start(profile, operation).into_iter();
        let calls = calls.filter(|(_, call)| !communication.overlaps(profile, call));
        let calls: Vec<(i64, i64)> = calls
            .map(|(start_ns, call)| (start_ns, call.kernel_ns))
            .filter(|(_, ns)| *ns > 0)
            .collect();
        // The amount of work in attention and MoE layers depends on values: sequence lengths, tokens per expert.
        let depends_on_values = matches!(operation.family, Family::Attention | Family::Moe);
        (calls.len() >= 2 * LEAST_CALLS).then(|| Series {
            operation: at,
            median_ns: median_ns(calls.iter().map(|(_, ns)| *ns).collect()).unwrap_or(0),
            is_compared: !depends_on_values,
            calls,
        })
    }

    /// The same calls with time running backwards.
    fn reversed(mut self) -> Series {
        self.calls.reverse();
        for (start_ns, _) in &mut self.calls {
            *start_ns = start_ns.saturating_neg();
        }
        self
    }

    fn time_ns(&self) -> i64 {
        sum(self.calls.iter().map(|(_, ns)| *ns))
    }

    fn split(&self, since_ns: i64) -> Option<Split> {
        let at = self
            .calls
            .partition_point(|(start_ns, _)| *start_ns < since_ns);
        let (before, after) = self.calls.split_at_checked(at)?;
        let times =
            |calls: &[(i64, i64)]| -> Vec<i64> { calls.iter().map(|call| call.1).collect() };
        let (before, after) = (times(before), times(after));
        let are_enough = before.len() >= LEAST_CALLS && after.len() >= LEAST_CALLS;
        are_enough.then_some(())?;
        Some(Split {
            before_ns: median_ns(before.clone())?,
            after_ns: median_ns(after.clone())?,
            before,
            after,
        })
    }
}

/// The moment that best separates faster calls from slower ones, over all compared calls. Each call counts relative to
/// the median of its operation and is weighted by that median.
fn moment(series: &[Series]) -> Option<i64> {
    let mut points: Vec<(i64, f64, f64)> = Vec::new();
    for one in series.iter().filter(|one| one.is_compared) {
        let median_ns = one.median_ns.max(1) as f64;
        points.extend(one.calls.iter().map(|(start_ns, ns)| {
            // A single slow call counts for at most a factor of two.
            let times = (*ns as f64 / median_ns).ln().clamp(-LN_2, LN_2);
            (*start_ns, times, median_ns)
        }));
    }
    points.arrange_by(|a, b| a.0.cmp(&b.0));
    let weigh =
        |sums: (f64, f64), point: &(i64, f64, f64)| (sums.0 + point.2, sums.1 + point.1 * point.2);
    let (all, all_times) = points.iter().fold((0.0, 0.0), weigh);
    let mut best: Option<(f64, i64)> = None;
    let mut before = (0.0, 0.0);
    for pair in points.windows(2) {
        let [point, next] = pair else { continue };
        before = weigh(before, point);
        let after = (all - before.0, all_times - before.1);
        let rise = after.1 / after.0 - before.1 / before.0;
        let contrast = before.0 * after.0 * rise * rise;
        if rise > 0.0 && best.is_none_or(|(most, _)| contrast > most) {
            best = Some((contrast, next.0));
        }
    }
    best.map(|(_, since_ns)| since_ns)
}

/// The weighted median of sorted values.
fn middle(values: &[(f64, i64)], weight: i64) -> Option<f64> {
    let mut passed = 0_i64;
    let mut values = values.iter();
    let found = values.find(|(_, of_it)| {
        passed = passed.saturating_add(*of_it);
        passed >= weight / 2
    });
    found.map(|(value, _)| *value)
}

/// Whether nearly all calls before are faster, and nearly all after are slower, than the midpoint between both.
fn is_clear(series: &[Series], since_ns: i64) -> bool {
    let (mut clear_ns, mut all_ns) = ([0_i64; 2], [0_i64; 2]);
    for one in series.iter().filter(|one| one.is_compared) {
        let Some(split) = one.split(since_ns) else {
            continue;
        };
        let line_ns = split.before_ns.midpoint(split.after_ns);
        for (side, calls) in [&split.before, &split.after].into_iter().enumerate() {
            let is_clear = |ns: &&i64| (side == 0) == (**ns < line_ns);
            clear_ns[side] += sum(calls.iter().filter(is_clear).copied());
            all_ns[side] += sum(calls.iter().copied());
        }
    }
    let mut sides = clear_ns.iter().zip(&all_ns);
    sides.all(|(clear, all)| *clear as f64 >= *all as f64 * CLEAR)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two alternating operations, a GEMM and an addition, with these call times in nanoseconds.
    fn slowdown(gemm: &[i64], add: &[i64]) -> Option<Slowdown> {
        let series = |operation: usize, times: &[i64]| Series {
            operation,
            calls: times
                .iter()
                .zip(0_i64..)
                .map(|(ns, at)| (at * 1_000 + operation as i64, *ns))
                .collect(),
            median_ns: median_ns(times.to_vec()).unwrap_or(0),
            is_compared: true,
        };
        let all_ns = sum(gemm.iter().chain(add).copied());
        Slowdown::either(vec![series(0, gemm), series(1, add)], all_ns)
    }

    #[test]
    fn what_becomes_slower_by_one_factor_from_one_moment_on() {
        let gemm = [100, 100, 100, 100, 145, 145, 145, 145, 145, 145];
        let add = [20, 20, 20, 20, 29, 29, 29, 29, 29, 29];
        let found = slowdown(&gemm, &add).unwrap();
        assert_eq!((found.since_ns, found.factor), (4_000, 1.45));
        let excess: Vec<i64> = found.operations.iter().map(|one| one.excess_ns).collect();
        // 6 · 45 and 6 · 9.
        assert_eq!(excess, [270, 54]);
        // A gradual slowdown from ×1.0 to ×1.25: calls in the second half take ×1.13 as long as in the first.
        let slower: Vec<i64> = (0..10).map(|at| 1_000 + at * 28).collect();
        let found = slowdown(&slower, &[]).unwrap();
        assert_eq!(
            (found.since_ns, (found.factor * 100.0).round()),
            (5_000, 113.0)
        );
    }

    #[test]
    fn what_becomes_faster_by_one_factor() {
        let gemm = [145, 145, 145, 145, 100, 100, 100, 100, 100, 100];
        let add = [29, 29, 29, 29, 20, 20, 20, 20, 20, 20];
        let found = slowdown(&gemm, &add).unwrap();
        assert_eq!((found.since_ns, found.factor), (4_000, 1.45));
        assert!(found.is_at_start);
        let [gemm, add] = &found.operations[..] else {
            panic!("two operations");
        };
        // 4 · 45 and 4 · 9.
        assert_eq!(
            (gemm.before_ns, gemm.after_ns, gemm.excess_ns),
            (145, 100, 180)
        );
        assert_eq!(add.excess_ns, 36);
    }

    #[test]
    fn what_else_makes_calls_slow_is_no_slowdown() {
        let steady = [100; 10];
        let slower = [100, 100, 100, 100, 145, 145, 145, 145, 145, 145];
        let by_turns = [100, 145, 100, 145, 100, 145, 100, 145, 100, 145];
        #[rustfmt::skip]
        let cases: &[(&str, &[i64], &[i64])] = &[
            ("steady", &steady, &steady),
            ("another one is steady", &slower, &steady),
            ("by turns", &by_turns, &by_turns),
            ("two slow calls at the start", &[145, 145, 100, 100, 100, 100, 100, 100, 100, 100], &steady),
            ("faster and slower", &slower, &[145, 145, 145, 145, 100, 100, 100, 100, 100, 100]),
            ("one slow call at the end", &[100, 100, 100, 100, 100, 100, 100, 100, 100, 900], &steady),
            ("too few calls", &[100, 100, 145, 145], &[]),
        ];
        for (case, gemm, add) in cases {
            assert_eq!(slowdown(gemm, add), None, "{case}");
        }
    }
}
