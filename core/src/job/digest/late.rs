//! What the CPU did while a launch was late.

use std::cmp::Reverse;

use super::own_time::Gap;
use crate::base::group::{grouped, summed};
use crate::base::interval::{Interval, sum};
use crate::base::map::Map;
use crate::base::sort::{Arrange, Arranged, FirstMax};
use crate::names::cpu_activity::CpuActivity;
use crate::names::frames::Frame;
use crate::profile::Profile;
use crate::profile::cpu::activity::CpuActivities;
use crate::trace::{Category, EventId, TrackId};

/// The cause of a launch is not looked up if it is late by less than this.
const LEAST_NS: i64 = 50_000;

/// The causes of this many gaps, the longest ones, are looked up.
const MOST_GAPS: usize = 32;

/// What the CPU did while a launch was late.
pub(super) struct Late {
    activities: CpuActivities,
    threads: Map<TrackId, Vec<Call>>,
    /// Time and thread of each launch.
    launches: Vec<(i64, TrackId)>,
}

/// What a thread runs: an operator, a runtime call, or a Python frame.
#[derive(Debug, Clone, Copy)]
struct Call {
    span: Interval,
    event: EventId,
    /// The call around it, as an index into those of its thread.
    around: Option<u32>,
}

impl Late {
    pub(super) fn new(profile: &Profile) -> Late {
        let events = &profile.trace.events;
        let launches = (profile.gpu.all())
            .filter_map(|work| Some((work.launched_by?, work.span.start_ns)))
            .map(|(call, start_ns)| (events.end_ns(call).min(start_ns), events.track(call)))
            .arranged();
        let mut threads: Map<TrackId, Vec<Call>> = Map::default();
        let is_call = |of: Category| {
            matches!(of, Category::CpuOp | Category::PythonFunction) || of.is_runtime()
        };
        for event in events.of_category(is_call) {
            let span = events.span(event);
            if span.length() >= LEAST_NS / 2 {
                threads.entry(events.track(event)).or_default().push(Call {
                    span,
                    event,
                    around: None,
                });
            }
        }
        threads.values_mut().for_each(|calls| nest(calls));
        Late {
            activities: CpuActivities::new(profile),
            threads,
            launches,
        }
    }

    /// What the CPU did for at least half of a late time, which is that of these gaps; empty if nothing did. What it did in
    /// one of many gaps is not why launches are late in the others.
    pub(super) fn cause_of_all(&self, profile: &Profile, gaps: &[Gap], late_ns: i64) -> String {
        let mut longest = gaps.to_vec();
        longest.arrange_by_largest(|gap| gap.late().length());
        longest.truncate(MOST_GAPS);
        let causes = longest.iter().map(|gap| {
            let ns = gap.late().length().min(late_ns);
            (self.cause(profile, *gap), ns)
        });
        let causes = summed(causes.filter(|(cause, _)| !cause.is_empty()));
        let most = causes.into_iter().first_max_by_key(|(_, ns)| *ns);
        let most = most.filter(|(_, ns)| ns.saturating_mul(2) >= late_ns);
        most.map(|(cause, _)| cause).unwrap_or_default()
    }

    /// What the launching thread did for most of the late part of a gap; empty if no recorded event covers most of it.
    fn cause(&self, profile: &Profile, gap: Gap) -> String {
        let late = gap.late();
        let Some(launched_ns) = gap.launched_ns.filter(|_| late.length() >= LEAST_NS) else {
            return String::new();
        };
        let at = self.launches.partition_point(|(ns, _)| *ns < launched_ns);
        let Some((_, track)) = self.launches.get(at) else {
            return String::new();
        };
        if let Some(activity) = self.activities.most_of(*track, late, late.length() / 2) {
            return activity.label().to_owned();
        }
        let of_thread = self.threads.get(track).map_or(&[][..], Vec::as_slice);
        let mut calls = most_of(of_thread, late);
        let name = |call: &Call| profile.trace.name(call.event);
        let is_frame =
            |call: &Call| profile.trace.events.category(call.event) == Category::PythonFunction;
        if calls.first().is_none_or(is_frame) {
            let repeated = repeated(of_thread, late, |call| name(call));
            calls.splice(0..0, repeated);
        }
        // The innermost call is the most specific, unless the purpose of one around it is known that is over before the
        // launch.
        let Some(first) = calls.first() else {
            return String::new();
        };
        // Writing a checkpoint launches copies itself.
        let mut around = calls
            .iter()
            .filter_map(|call| CpuActivity::of_name(name(call)));
        if around.any(|activity| activity == CpuActivity::Checkpointing) {
            return CpuActivity::Checkpointing.label().to_owned();
        }
        if !is_frame(first) {
            // An operator that frees memory again and again to allocate some.
            let repeated = repeated(of_thread, late, |call| name(call));
            let activity = repeated.and_then(|call| {
                let category = profile.trace.events.category(call.event);
                CpuActivity::of_span(category, name(&call))
            });
            return match activity {
                Some(activity) => activity.label().to_owned(),
                None => name(first).to_owned(),
            };
        }
        let over = calls
            .iter()
            .rev()
            .filter(|call| call.span.end_ns <= late.end_ns);
        let known = over
            .filter_map(|call| CpuActivity::of_name(name(call)))
            .next();
        match (known, Frame::of(name(first))) {
            (Some(activity), _) => activity.label().to_owned(),
            (None, Some(frame)) => format!("{} ({}:{})", frame.function, frame.file(), frame.line),
            (None, None) => name(first).to_owned(),
        }
    }
}

/// Sorts the calls of a thread and finds the one around each.
fn nest(calls: &mut [Call]) {
    calls.arrange_by_key(|call| (call.span.start_ns, Reverse(call.span.end_ns), call.event));
    let mut open: Vec<(u32, i64)> = Vec::new();
    for (call, at) in calls.iter_mut().zip(0_u32..) {
        while open
            .last()
            .is_some_and(|(_, end_ns)| *end_ns < call.span.end_ns)
        {
            open.pop();
        }
        call.around = open.last().map(|(around, _)| *around);
        open.push((at, call.span.end_ns));
    }
}

/// The calls that cover more than half of a time, innermost first: each of them contains its middle.
fn most_of(calls: &[Call], time: Interval) -> Vec<Call> {
    let middle_ns = time.start_ns.midpoint(time.end_ns);
    let started = calls.partition_point(|call| call.span.start_ns <= middle_ns);
    let mut next = started.checked_sub(1);
    let mut found = Vec::new();
    while let Some(call) = next.and_then(|at| calls.get(at)) {
        if call.span.overlap(time).map_or(0, Interval::length) > time.length() / 2 {
            found.push(*call);
        }
        next = call.around.map(|at| at as usize);
    }
    found
}

/// The first of several calls of one name that cover more than half of a time together, each of them a part of it: of the
/// names with the fewest time, as inner calls are the most specific.
fn repeated<'a>(calls: &[Call], time: Interval, name: impl Fn(&Call) -> &'a str) -> Option<Call> {
    let started = calls.partition_point(|call| call.span.start_ns < time.start_ns);
    let inside = calls.get(started..)?.iter();
    let inside = inside.take_while(|call| call.span.start_ns < time.end_ns);
    let inside = inside.filter(|call| call.span.end_ns <= time.end_ns);
    // Calls of a name inside one another count once.
    let mut until: Map<&str, i64> = Map::default();
    let outer = inside.filter(|call| {
        let end_ns = until.entry(name(call)).or_insert(i64::MIN);
        let is_outer = call.span.start_ns >= *end_ns;
        *end_ns = call.span.end_ns.max(*end_ns);
        is_outer
    });
    let named = outer.map(|call| (name(call), *call));
    let all: Vec<(&str, Vec<Call>)> = grouped(named, Vec::push);
    let total_ns = |calls: &[Call]| sum(calls.iter().map(|call| call.span.length()));
    let most = all
        .iter()
        .filter(|(_, calls)| calls.len() > 1 && total_ns(calls) > time.length() / 2);
    let (_, calls) = most.min_by_key(|(name, calls)| (total_ns(calls), *name))?;
    calls.first().copied()
}

#[cfg(test)]
mod tests {
    use crate::import::import;
    use crate::job::digest::{Digest, SourceFile};
    use crate::profile::Profile;

    /// A step whose CPU is in some Python frames, each with start and length in µs, before it launches an all-reduce at
    /// 600 µs.
    fn late_by(frames: &[(&str, u32, u32)]) -> String {
        late_by_with("", frames)
    }

    fn late_by_with(others: &str, frames: &[(&str, u32, u32)]) -> String {
        let frames = frames.iter().map(|(name, at, dur)| {
            format!(
                r#"{{"ph": "X", "cat": "python_function", "name": "{name}", "pid": 1, "tid": 1, "ts": {at}, "dur": {dur}}},"#
            )
        });
        let text = format!(
            r#"{{"traceEvents": [{}{others}
            {{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 1, "tid": 1, "ts": 0, "dur": 1000}},
            {{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 600, "dur": 5, "args": {{"correlation": 2}}}},
            {{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "pid": 0, "tid": 9, "ts": 620, "dur": 50, "args": {{"correlation": 2, "stream": 9}}}}
            ]}}"#,
            frames.collect::<String>()
        );
        let profile = Profile::new(import(text.as_bytes()).unwrap());
        let digest = Digest::new(&profile, SourceFile::default());
        digest.text(digest.collectives[0].late_by).to_owned()
    }

    /// The same with three more kernels, launched at 150, 300 and 450 µs, each of which ends before the next launch.
    fn late_by_before_several(frames: &[(&str, u32, u32)]) -> String {
        let kernels = [150, 300, 450].map(|at| {
            format!(
                r#"{{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": {at}, "dur": 5, "args": {{"correlation": {at}}}}},
                {{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": {}, "dur": 10, "args": {{"correlation": {at}, "stream": 7}}}},"#,
                at + 6
            )
        });
        late_by_with(&kernels.concat(), frames)
    }

    #[test]
    fn what_the_cpu_does_in_most_of_several_gaps_is_the_cause() {
        // About 140 µs before each of four launches, of which loading takes those before the first.
        let load = ("<built-in method next of DataLoader>", 5, 140);
        let train = |at| ("train.py(9): prepare", at, 130);
        let others = [train(170), train(320), train(470)];
        let all = [others.as_slice(), &[load]].concat();
        assert_eq!(late_by_before_several(&all), "prepare (train.py:9)");
        assert_eq!(late_by_before_several(&[load]), "");
        // A checkpoint is written in between copies that it launches itself.
        let save = ("torch/serialization.py(943): save", 3, 650);
        assert_eq!(late_by_before_several(&[save]), "Checkpointing");
    }

    #[test]
    fn an_operator_that_frees_memory_again_and_again_is_at_allocation() {
        let call = |category: &str, name: &str, at: u32, dur: u32| {
            format!(
                r#"{{"ph": "X", "cat": "{category}", "name": "{name}", "pid": 1, "tid": 1, "ts": {at}, "dur": {dur}}},"#
            )
        };
        let frees = [20, 160, 300, 440].map(|at| call("cuda_runtime", "cudaFree", at, 120));
        let empty = call("cpu_op", "aten::empty", 10, 580);
        assert_eq!(
            late_by_with(&(empty.clone() + &frees.concat()), &[]),
            "Memory allocation"
        );
        assert_eq!(late_by_with(&empty, &[]), "aten::empty");
    }

    #[test]
    fn the_function_that_the_cpu_is_in_is_named() {
        let train = ("train.py(9): train", 0, 1000);
        assert_eq!(late_by(&[train]), "train (train.py:9)");
        let validate = ("lib/eval.py(30): validate", 20, 560);
        assert_eq!(late_by(&[train, validate]), "validate (eval.py:30)");
        // Its purpose is known, and tells more than the function inside.
        let save = ("torch/serialization.py(943): save", 30, 550);
        let write = ("torch/storage.py(12): _write_file", 40, 530);
        assert_eq!(late_by(&[train, save, write]), "Checkpointing");
        // One that is called again and again takes most of it, inside one that is over only after the launch.
        let log = |at| ("log.py(5): write", at, 100);
        assert_eq!(
            late_by(&[train, log(20), log(150), log(280), log(410)]),
            "write (log.py:5)"
        );
        // No function takes half of the time.
        assert_eq!(
            late_by(&[("a.py(1): a", 10, 250), ("b.py(1): b", 270, 250)]),
            ""
        );
    }
}
