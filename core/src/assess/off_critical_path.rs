//! GPU time that is off the critical path.
//!
//! ```text
//! CPU    [launch a]            [launch b]
//! GPU              [== a ==)              [== b ==)
//!                           ^^^ idle: b is launched only after a is over
//! ```
//!
//! If `a` were shorter, `b` would not start earlier: shortening it saves time only once kernels are launched early
//! enough. The same applies to everything that runs after the last such gap, or after the CPU last waited for the GPU:
//! a thread that waits continues earlier when kernels end earlier. A thread also waits in a call that lasts as long as
//! its kernel.

use std::cell::OnceCell;

use crate::base::interval::{Interval, sum};
use crate::base::sort::Arrange;
use crate::profile::Profile;
use crate::profile::gpu::gaps::Gap;
use crate::profile::gpu::timeline::GpuClass;
use crate::profile::launch::runtime_calls::blocking_calls;
use crate::profile::operations::perf_rows::PerfRow;
use crate::trace::EventId;

/// For each of [`Profile::operations`], the kernel time that is off the critical path.
pub(crate) fn off_critical_path_ns(profile: &Profile, gaps: &[Gap]) -> Vec<i64> {
    let off_critical_path = off_critical_path(profile, gaps);
    let is_off_critical_path = |start_ns: i64| {
        let next = off_critical_path.partition_point(|span| span.start_ns <= start_ns);
        let span = next.checked_sub(1).and_then(|at| off_critical_path.get(at));
        span.is_some_and(|span| start_ns < span.end_ns)
    };
    let operations = profile.operations().iter();
    operations
        .map(|operation| {
            let work = operation.activity(profile);
            let off_path = work.filter(|work| is_off_critical_path(work.span.start_ns));
            sum(off_path.map(|work| work.span.length()))
        })
        .collect()
}

/// When kernels and copies run that nothing waits for, in order.
fn off_critical_path(profile: &Profile, gaps: &[Gap]) -> Vec<Interval> {
    let trace = &profile.trace;
    let mut off_critical_path = Vec::new();
    let waits = OnceCell::new();
    let mut since_ns = i64::MIN;
    for gap in gaps {
        let after = gap.after.and_then(|id| profile.gpu.get(id));
        let Some(call) = after.and_then(|after| after.launched_by) else {
            continue;
        };
        // Launched before the previous activity ended, so it may have waited for that.
        if trace.events.ts_ns(call) < gap.span.start_ns {
            continue;
        }
        let waits = waits.get_or_init(|| self::waits(profile));
        let begun = waits.partition_point(|(start_ns, _)| *start_ns < gap.span.start_ns);
        let last = begun.checked_sub(1).and_then(|at| waits.get(at));
        let from_ns = last.map_or(since_ns, |(_, until_ns)| since_ns.max(*until_ns));
        if from_ns < gap.span.start_ns {
            off_critical_path.push(Interval::new(from_ns, gap.span.start_ns));
        }
        since_ns = gap.span.end_ns;
    }
    off_critical_path
}

/// When the CPU waited: sorted by start, each with the latest end of all waits so far.
fn waits(profile: &Profile) -> Vec<(i64, i64)> {
    let trace = &profile.trace;
    let span = |event: EventId| (trace.events.ts_ns(event), trace.events.end_ns(event));
    let mut waits: Vec<(i64, i64)> = blocking_calls(trace).map(span).collect();
    // Calls that return only after their copy is done.
    let copies = profile.gpu.all();
    let copies = copies.filter(|work| work.class == GpuClass::Memcpy);
    waits.extend(copies.filter_map(|copy| {
        let call = span(copy.launched_by?);
        (call.1 >= copy.span.end_ns).then_some(call)
    }));
    let calls = profile.operations().iter().flat_map(|one| &one.calls);
    waits.extend(calls.filter_map(|call| waits_for_kernel(profile, call)));
    waits.arrange();
    let mut latest_ns = i64::MIN;
    for (_, end_ns) in &mut waits {
        latest_ns = latest_ns.max(*end_ns);
        *end_ns = latest_ns;
    }
    waits
}

/// A call that returns only after its last kernel, and lasts about as long as that kernel: it most likely waits for it,
/// though no call of the runtime that waits was recorded.
fn waits_for_kernel(profile: &Profile, call: &PerfRow) -> Option<(i64, i64)> {
    /// A call may take as long as a shorter kernel by chance.
    const LEAST_NS: i64 = 100_000;
    let events = &profile.trace.events;
    let work = profile.gpu.each(&call.work);
    let last = work.max_by_key(|work| (work.span.end_ns, work.event))?;
    let (from_ns, until_ns) = (events.end_ns(last.launched_by?), events.end_ns(call.event));
    let is_most = last.span.length().saturating_mul(2) >= until_ns.saturating_sub(from_ns);
    let waits = last.span.length() >= LEAST_NS && until_ns >= last.span.end_ns && is_most;
    waits.then_some((from_ns, until_ns))
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::*;
    use crate::profile::gpu::timelines::Timelines;
    use crate::testing::Timetable;

    fn held_us(timetable: &Timetable) -> Vec<(String, i64)> {
        let profile = timetable.profile();
        let timelines = Timelines::of(&profile);
        let off_critical_path = off_critical_path_ns(&profile, &timelines.gaps);
        let operations = profile.operations().iter().zip(off_critical_path);
        let mut rows: Vec<(String, i64)> = operations
            .map(|(operation, ns)| (operation.short_name(&profile).to_owned(), ns / 1000))
            .collect();
        rows.sort();
        rows
    }

    /// ```text
    /// µs     0        50        100       150       200
    /// CPU    [ab]                    [cd]
    /// GPU       [= a =)[= b =)           [= c =)[= d =)
    /// ```
    ///
    /// `c` is launched after `b` is over: `a` and `b` save nothing. Nothing follows `d`.
    fn late() -> Timetable {
        two(0, 65..100)
            .op("c", 130..140)
            .launched("k3", 131..132, 150..170)
            .op("d", 140..150)
            .launched("k4", 141..142, 170..200)
    }

    /// `a` runs from 20 to 60 µs, `b` later; they are launched from `at` µs on.
    fn two(at: u32, b: Range<u32>) -> Timetable {
        Timetable::new()
            .op("a", at..at + 10)
            .launched("k1", at + 1..at + 2, 20..60)
            .op("b", at + 10..at + 20)
            .launched("k2", at + 11..at + 12, b)
    }

    fn rows(off_critical_path: [(&str, i64); 4]) -> Vec<(String, i64)> {
        off_critical_path
            .map(|(name, us)| (name.to_owned(), us))
            .to_vec()
    }

    #[test]
    fn what_ends_before_the_next_launch_saves_nothing() {
        assert_eq!(
            held_us(&late()),
            rows([("a", 40), ("b", 35), ("c", 0), ("d", 0)])
        );
    }

    #[test]
    fn a_thread_that_waits_goes_on_earlier() {
        // The CPU waits for everything, then only for the first kernel, then after everything is over.
        let cases = [(50..101, 0, 0), (50..61, 0, 35), (110..115, 40, 35)];
        for (wait, a, b) in cases {
            let waited = late().runtime("cudaStreamSynchronize", 90, wait.clone());
            let expected = rows([("a", a), ("b", b), ("c", 0), ("d", 0)]);
            assert_eq!(held_us(&waited), expected, "{wait:?}");
        }
    }

    #[test]
    fn an_operator_as_long_as_its_kernel_waits_for_it() {
        let a_us = |operator: u32, kernel: u32| {
            let timetable = Timetable::new()
                .op("a", 0..operator)
                .launched("k1", 1..2, 20..20 + kernel)
                .op("b", 600..610)
                .launched("k2", 601..602, 620..640);
            held_us(&timetable).first().map(|(_, us)| *us)
        };
        assert_eq!(a_us(260, 200), Some(0));
        // It returns before its kernel ends, does much else, or is as short as many operators.
        assert_eq!(a_us(210, 200), Some(200));
        assert_eq!(a_us(580, 200), Some(200));
        assert_eq!(a_us(80, 50), Some(50));
    }

    #[test]
    fn work_that_is_launched_in_time_holds_nothing() {
        // The GPU clock is 5 ms behind: shifted, each kernel starts after its launch.
        let early = two(5_000, 65..100);
        let none = [("a".to_owned(), 0), ("b".to_owned(), 0)];
        for timetable in [early, two(0, 90..100)] {
            assert_eq!(held_us(&timetable), none);
        }
    }
}
