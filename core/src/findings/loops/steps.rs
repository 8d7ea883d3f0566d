//! Python loops over the slices of a tensor: the time steps of a recurrent or state-space layer, one after the other.
//!
//! ```text
//! CPU   [select 0][mul][add][bmm] [select 1][mul][add][bmm] [select 2] …
//! ```
//!
//! Each step takes its slice with `x[:, i]`, which calls `aten::select` with an index that grows by one.

use std::sync::Arc;

use crate::base::interval::{Interval, union};
use crate::base::map::Map;
use crate::base::sort::{Arrange, Arranged};
use crate::findings::prelude::*;
use crate::names::words::holds;
use crate::profile::Profile;
use crate::trace::{Category, EventId, ShapeId, TrackId};

/// What takes a slice, with tensor, dimension and index.
const TAKES_SLICE: &str = "aten::select";

/// Shorter loops, over heads, experts or layers, are left to other findings.
const LEAST_STEPS: u64 = 32;

/// The loops over slices of a run.
#[derive(Debug, Default)]
pub(crate) struct StepLoops {
    /// The one with the most steps.
    longest: Option<StepLoop>,
    n_loops: u64,
    n_steps: u64,
    /// The number of kernels launched in these loops, and that of the run.
    n_kernels: u64,
    n_all: u64,
    /// Whether a module of a selective state-space model takes the steps.
    pub(crate) is_mamba: bool,
}

/// One loop: calls that take slice after slice of tensors with one shape.
#[derive(Debug, Clone, Copy)]
struct StepLoop {
    shape: ShapeId,
    dimension: i64,
    n_steps: u64,
    first: EventId,
    track: TrackId,
    span: Interval,
    /// The last index, and by how much it grew: backward passes count down.
    index: i64,
    by: i64,
}

impl StepLoop {
    /// Whether a call with this index continues it: with the next slice, or with the same slice of another tensor.
    fn is_continued_by(&self, index: i64) -> bool {
        let by = index - self.index;
        by == 0 || by == self.by || (self.n_steps == 1 && by.abs() == 1)
    }

    fn add(&mut self, index: i64, end_ns: i64) {
        let by = index.saturating_sub(self.index);
        if by != 0 {
            (self.by, self.index) = (by, index);
            self.n_steps += 1;
        }
        self.span.end_ns = end_ns;
    }
}

/// The start of advice for many short kernels, most of which are launched in loops; else empty.
pub(crate) fn advice_for_short(input: &Input) -> String {
    match StepLoops::of(input).are_most() {
        true => "take all steps of the loop that launches most of these kernels in one call (a scan, a recurrent layer, a batched operation); else ".to_owned(),
        false => String::new(),
    }
}

impl StepLoops {
    pub(crate) fn of(input: &Input) -> Arc<StepLoops> {
        input.profile.once(|| step_loops(input.profile))
    }

    /// Whether most kernels of the run are in such loops.
    pub(crate) fn are_most(&self) -> bool {
        self.n_kernels * 2 > self.n_all && self.n_kernels >= self.n_steps
    }

    /// "256 steps along dimension 2 of 2×2048×256×16, 8 times", for a sentence.
    pub(crate) fn text(&self, profile: &Profile) -> String {
        let Some(longest) = self.longest else {
            return String::new();
        };
        let sizes = profile.trace.args.shape(longest.shape).iter();
        let sizes: Vec<String> = sizes.map(i64::to_string).collect();
        let times = match self.n_loops {
            1 => String::new(),
            n => format!(", {} in all", format::counted(n, "loop")),
        };
        format!(
            "{} along dimension {} of {}{times}",
            format::counted(longest.n_steps, "step"),
            longest.dimension,
            sizes.join("×")
        )
    }

    /// Kernels of a step, rounded.
    pub(crate) fn kernels_per_step(&self) -> u64 {
        (self.n_kernels + self.n_steps / 2) / self.n_steps.max(1)
    }
}

fn step_loops(profile: &Profile) -> StepLoops {
    let found = loops(profile);
    let mut all = StepLoops {
        n_all: profile.gpu.all().count() as u64,
        ..StepLoops::default()
    };
    // Several tensors are sliced in one loop.
    let mut by_track: Map<TrackId, Vec<Interval>> = Map::default();
    for one in &found {
        by_track.entry(one.track).or_default().push(one.span);
    }
    for spans in by_track.values_mut() {
        *spans = union(std::mem::take(spans));
    }
    for (track, spans) in by_track.iter() {
        let before =
            |ns: i64| found.partition_point(|one| (one.track, one.span.start_ns) < (*track, ns));
        for span in spans {
            let inside = found.get(before(span.start_ns)..before(span.end_ns));
            let n_steps = inside.unwrap_or_default().iter().map(|one| one.n_steps);
            all.n_loops += 1;
            all.n_steps += n_steps.max().unwrap_or(0);
        }
    }
    all.longest = found
        .iter()
        .copied()
        .max_by_key(|one| (one.n_steps, std::cmp::Reverse(one.first)));
    let events = &profile.trace.events;
    for call in profile.gpu.all().filter_map(|work| work.launched_by) {
        let spans = by_track.get(&events.track(call));
        let at_ns = events.ts_ns(call);
        let is_inside = spans.is_some_and(|spans| {
            let after = spans.partition_point(|span| span.start_ns <= at_ns);
            let last = after.checked_sub(1).and_then(|last| spans.get(last));
            last.is_some_and(|span| at_ns < span.end_ns)
        });
        all.n_kernels += u64::from(is_inside);
    }
    all.is_mamba = all
        .longest
        .is_some_and(|one| is_in_mamba(profile, one.first));
    all
}

/// All loops with enough steps, by thread and start.
fn loops(profile: &Profile) -> Vec<StepLoop> {
    let trace = &profile.trace;
    let events = &trace.events;
    let calls = trace.named(|of| of == Category::CpuOp, |name| name == TAKES_SLICE);
    let calls = calls.arranged_by_key(|call| (events.ts_ns(*call), *call));
    let mut open: Map<(TrackId, ShapeId, i64), StepLoop> = Map::default();
    let mut done = Vec::new();
    for call in calls {
        let Some((shape, dimension, index)) = slice(profile, call) else {
            continue;
        };
        let (track, span) = (events.track(call), events.span(call));
        let begun = StepLoop {
            shape,
            dimension,
            n_steps: 1,
            first: call,
            track,
            span,
            index,
            by: 0,
        };
        let one = open.entry((track, shape, dimension)).or_insert(begun);
        if one.is_continued_by(index) {
            one.add(index, span.end_ns);
        } else {
            done.push(std::mem::replace(one, begun));
        }
    }
    done.extend(open.into_values());
    done.retain(|one| one.n_steps >= LEAST_STEPS);
    done.arrange_by_key(|one| (one.track, one.span.start_ns, one.first));
    done
}

/// The shape that a call takes a slice of, the dimension, and the index.
fn slice(profile: &Profile, call: EventId) -> Option<(ShapeId, i64, i64)> {
    let trace = &profile.trace;
    let args = trace.args.get(trace.events.op_args(call)?)?;
    let shape = *args.dims.as_deref()?.first()?.shapes().first()?;
    let concrete = args.concrete.as_deref()?;
    let number =
        |at: usize| -> Option<i64> { trace.strings.get(*concrete.get(at)?).trim().parse().ok() };
    Some((shape, number(1)?, number(2)?))
}

fn is_in_mamba(profile: &Profile, call: EventId) -> bool {
    let mut names = profile.full_tree().names_around(&profile.trace, call);
    names.any(|name| holds(name, &["mamba"]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::samples::assert_contains;
    use crate::testing::Timetable;

    /// Launched late: in each step a slice is taken, and two short kernels run.
    fn run(n_steps: u32, index: impl Fn(u32) -> u32) -> Timetable {
        (0..n_steps).fold(Timetable::new(), |table, step| {
            let at = 100 * step;
            let args = format!("64x200x128:float, =1, ={}", index(step));
            let table = table.op("aten::select", at..at + 5).args(&args);
            let table = table.op("aten::mul", at + 10..at + 20);
            let table = table.launched("mul", at + 11..at + 12, at + 14..at + 17);
            let table = table.op("aten::add", at + 50..at + 60);
            table.launched("add", at + 51..at + 52, at + 54..at + 57)
        })
    }

    fn of(table: &Timetable) -> StepLoops {
        step_loops(&table.profile())
    }

    #[test]
    fn slice_after_slice_is_a_loop() {
        let found = of(&run(200, |step| step));
        assert_eq!((found.n_loops, found.n_steps), (1, 200));
        // The kernels of the last step follow its slice.
        assert_eq!((found.n_kernels, found.kernels_per_step()), (398, 2));
        assert!(found.are_most());
        let backward = of(&run(200, |step| 199 - step));
        assert_eq!(backward.n_steps, 200);
        // The same slice of each step, or too few.
        assert_eq!(of(&run(200, |_| 0)).n_loops, 0);
        assert_eq!(of(&run(20, |step| step)).n_loops, 0);
        assert_eq!(of(&run(200, |step| step % 20)).n_loops, 0);
    }

    #[test]
    fn late_launches_in_a_loop_are_about_the_loop() {
        let report = run(200, |step| step).report();
        let outcome = report.analyses.outcome("cpu_idle").unwrap();
        let keys = outcome.findings.iter().map(|one| one.pattern);
        assert_eq!(keys.collect::<Vec<_>>(), ["step_loop"]);
        let found = &outcome.findings[0];
        assert_contains(
            &found.issue,
            &["200 steps along dimension 1 of 64×200×128", "2 kernels"],
        );
        let others = run(200, |_| 0).report();
        let outcome = others.analyses.outcome("cpu_idle").unwrap();
        assert_eq!(outcome.findings[0].pattern, "launch_bound");
    }
}
