//! Kernels that are slower in one part of a run, all by about the same factor: clocks that fall or rise, or something
//! else on the same GPU.
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
use crate::base::sort::Arranged;
use crate::base::stats::median_ns;
use crate::names::Family;
use crate::profile::Profile;
use crate::profile::operations::Operation;

/// An operation needs at least this many slow calls, and as many others.
const LEAST_CALLS: usize = 3;

/// Times vary by less than this factor in a steady run.
const LEAST_FACTOR: f64 = 1.1;

/// Factors of operations agree if they differ by at most this fraction.
const TOLERANCE: f64 = 0.1;

/// At least this share of the compared time must change by the same factor.
const MOST: f64 = 0.75;

/// At least this share of all computation time must be compared.
const LEAST_COMPARED: f64 = 0.3;

/// At least this share of calls must be on the right side of the midpoint between fast and slow.
const CLEAR: f64 = 0.8;

/// A part with a later start and an end is chosen if this larger share is on the right side.
const CLEARER: f64 = 0.05;

/// An operation some of whose calls are slower.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Slowed {
    /// Its position in [`Profile::operations`].
    pub(crate) operation: usize,
    /// The medians of the fast calls and of the slow ones.
    pub(crate) fast_ns: i64,
    pub(crate) slow_ns: i64,
    /// Total time of the slow calls beyond the median of the fast ones.
    pub(crate) excess_ns: i64,
}

/// What is slower, and when.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Slowdown {
    /// When the slow calls start.
    pub(crate) slow: Part,
    /// How many times as long the slow calls take.
    pub(crate) factor: f64,
    /// In the order of the operations.
    pub(crate) operations: Vec<Slowed>,
}

/// A part of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    /// When its first call starts; `None` for the start of the run.
    pub(crate) from_ns: Option<i64>,
    /// When the first call after it starts; `None` for the end of the run.
    pub(crate) until_ns: Option<i64>,
}

impl Part {
    fn holds(&self, start_ns: i64) -> bool {
        self.from_ns.is_none_or(|from_ns| start_ns >= from_ns)
            && self.until_ns.is_none_or(|until_ns| start_ns < until_ns)
    }
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
            Slowdown::new(&series.collect::<Vec<Series>>(), all_ns)
        })
    }

    /// The clearest slowdown in a run with this much computation time in total: to its end, from its start, or in between.
    fn new(series: &[Series], all_ns: i64) -> Option<Slowdown> {
        let points = points(series);
        let to_end = moment(&points, |rise| rise).map(|at| (Some(at), None));
        let from_start = moment(&points, |rise| -rise).map(|at| (None, Some(at)));
        let between = slowest_part(&points).map(|(from, until)| (Some(from), Some(until)));
        let parts = [to_end, from_start, between].into_iter().flatten();
        let found = parts.filter_map(|(from_ns, until_ns)| {
            Slowdown::in_part(series, all_ns, Part { from_ns, until_ns })
        });
        let best = found.reduce(|best, other| match other.0 > best.0 + CLEARER {
            true => other,
            false => best,
        });
        best.map(|(_, slowdown)| slowdown)
    }

    /// The slowdown of an operation.
    pub(crate) fn of_operation(&self, at: usize) -> Option<&Slowed> {
        self.operations.iter().find(|slowed| slowed.operation == at)
    }

    /// The slowdown if its slow calls are those of this part, and how clear it is.
    fn in_part(series: &[Series], all_ns: i64, slow: Part) -> Option<(f64, Slowdown)> {
        let splits = series.iter();
        let splits: Vec<(&Series, Split)> = splits
            .filter_map(|one| Some((one, one.split(slow)?)))
            .collect();
        let compared = splits.iter().filter(|(one, _)| one.is_compared);
        let factors = compared
            .map(|(one, split)| (split.factor(), one.time_ns()))
            .arranged_by(|a, b| a.0.total_cmp(&b.0));
        let compared_ns = sum(factors.iter().map(|(_, ns)| *ns));
        let factor = middle(&factors, compared_ns)?;
        let agree = |of: f64| (of / factor - 1.0).abs() <= TOLERANCE;
        let agreeing = factors.iter().filter(|(of, _)| agree(*of));
        let agreeing_ns = sum(agreeing.map(|(_, ns)| *ns)) as f64;
        let is_one = factor >= LEAST_FACTOR
            && agreeing_ns >= compared_ns as f64 * MOST
            && compared_ns as f64 >= all_ns as f64 * LEAST_COMPARED;
        let clear = Some(clear_share(series, slow)).filter(|clear| is_one && *clear >= CLEAR)?;
        let slowed = splits.iter().filter_map(|(one, split)| {
            let above = split.slow.iter().map(|ns| (ns - split.fast_ns).max(0));
            agree(split.factor()).then(|| Slowed {
                operation: one.operation,
                fast_ns: split.fast_ns,
                slow_ns: split.slow_ns,
                excess_ns: sum(above),
            })
        });
        let operations = slowed.collect();
        let slowdown = Slowdown {
            slow,
            factor,
            operations,
        };
        Some((clear, slowdown))
    }
}

/// The calls of an operation, by whether they are in the slow part.
struct Split {
    fast: Vec<i64>,
    slow: Vec<i64>,
    /// Their medians.
    fast_ns: i64,
    slow_ns: i64,
}

impl Split {
    fn factor(&self) -> f64 {
        self.slow_ns as f64 / self.fast_ns.max(1) as f64
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

    fn time_ns(&self) -> i64 {
        sum(self.calls.iter().map(|(_, ns)| *ns))
    }

    fn split(&self, slow: Part) -> Option<Split> {
        let times = |is_slow: bool| -> Vec<i64> {
            let calls = self.calls.iter();
            let calls = calls.filter(|(start_ns, _)| slow.holds(*start_ns) == is_slow);
            calls.map(|(_, ns)| *ns).collect()
        };
        let (fast, slow) = (times(false), times(true));
        let are_enough = fast.len() >= LEAST_CALLS && slow.len() >= LEAST_CALLS;
        are_enough.then_some(())?;
        Some(Split {
            fast_ns: median_ns(fast.clone())?,
            slow_ns: median_ns(slow.clone())?,
            fast,
            slow,
        })
    }
}

/// A call: its start, the logarithm of its time relative to the median of its operation, and that median.
type Point = (i64, f64, f64);

/// All compared calls in time order.
fn points(series: &[Series]) -> Vec<Point> {
    let compared = series.iter().filter(|one| one.is_compared);
    let points = compared.flat_map(|one| {
        let median_ns = one.median_ns.max(1) as f64;
        one.calls.iter().map(move |(start_ns, ns)| {
            // A single slow call counts for at most a factor of two.
            let times = (*ns as f64 / median_ns).ln().clamp(-LN_2, LN_2);
            (*start_ns, times, median_ns)
        })
    });
    points.arranged_by(|a, b| a.0.cmp(&b.0))
}

/// The moment that best separates calls whose times rise there, or fall. Calls are weighted by the medians of their
/// operations.
fn moment(points: &[Point], wanted: fn(f64) -> f64) -> Option<i64> {
    let weigh = |sums: (f64, f64), point: &Point| (sums.0 + point.2, sums.1 + point.1 * point.2);
    let (all, all_times) = points.iter().fold((0.0, 0.0), weigh);
    let mut best: Option<(f64, i64)> = None;
    let mut before = (0.0, 0.0);
    for pair in points.windows(2) {
        let [point, next] = pair else { continue };
        before = weigh(before, point);
        let after = (all - before.0, all_times - before.1);
        let rise = wanted(after.1 / after.0 - before.1 / before.0);
        let contrast = before.0 * after.0 * rise * rise;
        if rise > 0.0 && best.is_none_or(|(most, _)| contrast > most) {
            best = Some((contrast, next.0));
        }
    }
    best.map(|(_, since_ns)| since_ns)
}

/// The part, up to the call that follows it, whose calls are the most above the medians in all; what a steady run varies
/// by does not count. `None` if no call follows it.
fn slowest_part(points: &[Point]) -> Option<(i64, i64)> {
    let varies = LEAST_FACTOR.ln() / 2.0;
    let mut best: Option<(f64, i64, i64)> = None;
    let (mut above, mut from_ns) = (0.0, 0_i64);
    for pair in points.windows(2) {
        let [(start_ns, times, weight), next] = pair else {
            continue;
        };
        if above <= 0.0 {
            (above, from_ns) = (0.0, *start_ns);
        }
        above += (times - varies) * weight;
        if above > best.map_or(0.0, |best| best.0) {
            best = Some((above, from_ns, next.0));
        }
    }
    best.map(|(_, from_ns, until_ns)| (from_ns, until_ns))
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

/// The share of the fast calls that are faster than the midpoint between fast and slow, or of the slow ones that are
/// slower: whichever is less.
fn clear_share(series: &[Series], slow: Part) -> f64 {
    let (mut clear_ns, mut all_ns) = ([0_i64; 2], [0_i64; 2]);
    for one in series.iter().filter(|one| one.is_compared) {
        let Some(split) = one.split(slow) else {
            continue;
        };
        let line_ns = split.fast_ns.midpoint(split.slow_ns);
        for (side, calls) in [&split.fast, &split.slow].into_iter().enumerate() {
            let is_clear = |ns: &&i64| (side == 0) == (**ns < line_ns);
            clear_ns[side] += sum(calls.iter().filter(is_clear).copied());
            all_ns[side] += sum(calls.iter().copied());
        }
    }
    let sides = clear_ns.iter().zip(&all_ns);
    let shares = sides.map(|(clear, all)| *clear as f64 / (*all).max(1) as f64);
    shares.fold(1.0, f64::min)
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
        Slowdown::new(&[series(0, gemm), series(1, add)], all_ns)
    }

    fn part(from_ns: Option<i64>, until_ns: Option<i64>) -> Part {
        Part { from_ns, until_ns }
    }

    #[test]
    fn what_becomes_slower_by_one_factor_from_one_moment_on() {
        let gemm = [100, 100, 100, 100, 145, 145, 145, 145, 145, 145];
        let add = [20, 20, 20, 20, 29, 29, 29, 29, 29, 29];
        let found = slowdown(&gemm, &add).unwrap();
        assert_eq!((found.slow, found.factor), (part(Some(4_000), None), 1.45));
        let excess: Vec<i64> = found.operations.iter().map(|one| one.excess_ns).collect();
        // 6 · 45 and 6 · 9.
        assert_eq!(excess, [270, 54]);
        // A gradual slowdown from ×1.0 to ×1.25: calls in the second half take ×1.13 as long as in the first.
        let slower: Vec<i64> = (0..10).map(|at| 1_000 + at * 28).collect();
        let found = slowdown(&slower, &[]).unwrap();
        assert_eq!(
            (found.slow, (found.factor * 100.0).round()),
            (part(Some(5_000), None), 113.0)
        );
    }

    #[test]
    fn what_becomes_faster_by_one_factor() {
        let gemm = [145, 145, 145, 145, 100, 100, 100, 100, 100, 100];
        let add = [29, 29, 29, 29, 20, 20, 20, 20, 20, 20];
        let found = slowdown(&gemm, &add).unwrap();
        assert_eq!((found.slow, found.factor), (part(None, Some(4_000)), 1.45));
        let [gemm, add] = &found.operations[..] else {
            panic!("two operations");
        };
        // 4 · 45 and 4 · 9.
        assert_eq!(
            (gemm.fast_ns, gemm.slow_ns, gemm.excess_ns),
            (100, 145, 180)
        );
        assert_eq!(add.excess_ns, 36);
    }

    #[test]
    fn what_is_slower_in_between() {
        let gemm = [100, 100, 100, 100, 200, 200, 200, 200, 100, 100, 100, 100];
        let add = gemm.map(|ns| ns / 5);
        let found = slowdown(&gemm, &add).unwrap();
        let between = part(Some(4_000), Some(8_000));
        assert_eq!((found.slow, found.factor), (between, 2.0));
        let excess: Vec<i64> = found.operations.iter().map(|one| one.excess_ns).collect();
        assert_eq!(excess, [400, 80]);
        // The other one is as fast as always.
        assert_eq!(slowdown(&gemm, &[100; 12]), None);
        // Two calls are too few.
        let short = [100, 100, 100, 100, 200, 200, 100, 100, 100, 100];
        assert_eq!(slowdown(&short, &short), None);
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
