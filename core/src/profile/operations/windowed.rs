//! Distinguishes sliding-window attention from full attention.
//!
//! In some models all layers except every second or sixth one attend only to the most recent keys. Both kinds are calls
//! of the same operator with equal arguments, and the annotation of the step counts the keys of the full context. For
//! sliding-window calls that is too much, and no argument contains the window size. Within a step both kinds alternate
//! in a fixed pattern, with different kernels or different times; the sliding-window calls are the shorter ones.

use std::borrow::Cow;

use super::{CallKey, Operation};
use crate::base::map::Map;
use crate::base::sort::{Arrange, Arranged};
use crate::profile::Profile;
use crate::profile::operations::perf_rows::PerfRow;
use crate::trace::StringId;

/// A step with fewer layers does not show the pattern.
const LEAST_CALLS: usize = 6;

/// The pattern repeats after at most this many layers.
const LONGEST_TURN: usize = 8;

/// Full-attention calls take at least this many times as long.
const LEAST_RATIO: f64 = 1.3;

/// Splits the sliding-window calls off from operations that also have full-attention calls.
pub(super) fn split(profile: &Profile, operations: &mut [Operation]) -> Vec<Operation> {
    let mut windowed = Vec::new();
    for operation in operations {
        let binding = operation.calls.first().and_then(|call| call.binding);
        if !binding.is_some_and(|binding| binding.reads_annotation()) {
            continue;
        }
        let sees_window = seen_in_steps(profile, &operation.calls);
        if !sees_window.contains(&true) {
            continue;
        }
        windowed.push(Operation {
            sees_window: true,
            ..operation.split_off(profile, sees_window)
        });
    }
    windowed
}

/// An operation with all of its calls, as in the reference.
pub(crate) fn with_parts<'a>(profile: &'a Profile, operation: &'a Operation) -> Cow<'a, Operation> {
    let parts = operation.parts(profile);
    if parts.is_empty() {
        return Cow::Borrowed(operation);
    }
    let mut whole = operation.clone();
    let parts = parts
        .into_iter()
        .filter_map(|at| profile.operations().get(at));
    let calls = parts.flat_map(|part| part.calls.iter().cloned());
    whole.calls.extend(calls);
    whole.calls.arrange_by_key(|call| call.uid);
    whole.measure(profile);
    Cow::Owned(whole)
}

/// The positions of the parts of operations in [`Profile::operations`], by their common key.
struct PartsByKey(Map<CallKey, Vec<usize>>);

impl PartsByKey {
    fn new(profile: &Profile) -> PartsByKey {
        let mut parts: Map<CallKey, Vec<usize>> = Map::default();
        for (at, operation) in profile.operations().iter().enumerate() {
            if operation.is_part {
                parts.entry(operation.key).or_default().push(at);
            }
        }
        PartsByKey(parts)
    }
}

impl Operation {
    /// The positions of its parts, which are analyzed separately, in [`Profile::operations`].
    pub fn parts(&self, profile: &Profile) -> Vec<usize> {
        let all = profile.once(|| PartsByKey::new(profile));
        let own = all.0.get(&self.key).filter(|_| !self.is_part);
        own.cloned().unwrap_or_default()
    }
}

/// For each call, whether it is sliding-window attention, from the pattern in its step.
fn seen_in_steps(profile: &Profile, calls: &[PerfRow]) -> Vec<bool> {
    let start_ns = |call: &PerfRow| {
        let spans = profile.gpu.each(&call.work);
        spans.map(|work| work.span.start_ns).min()
    };
    let in_time = calls.iter().map(start_ns).zip(0..).arranged();
    let step = |at: usize| {
        let call = calls.get(at)?;
        let first = call.work.first().and_then(|id| profile.gpu.get(*id));
        let launched = first.map(|work| work.span);
        profile
            .batches()
            .around(&profile.trace, call.event, launched)
    };
    let steps: Vec<(Option<StringId>, usize)> =
        in_time.iter().map(|(_, at)| (step(*at), *at)).collect();
    let mut sees_window = vec![false; calls.len()];
    for of_step in steps.chunk_by(|(one, _), (next, _)| one == next) {
        let layers: Vec<&PerfRow> = of_step
            .iter()
            .filter_map(|(_, at)| calls.get(*at))
            .collect();
        let short = take_turns(profile, &layers).unwrap_or_default();
        for ((_, at), is_short) in of_step.iter().zip(short) {
            if let Some(slot) = sees_window.get_mut(*at) {
                *slot = is_short;
            }
        }
    }
    sees_window
}

/// Which layers of a step are the shorter ones; `None` unless two kinds alternate.
fn take_turns(profile: &Profile, layers: &[&PerfRow]) -> Option<Vec<bool>> {
    let times: Vec<i64> = layers.iter().map(|layer| layer.kernel_ns).collect();
    let is_short = (layers.len() >= LEAST_CALLS).then(|| by_kernels(profile, layers));
    in_turns(&times, is_short??)
}

/// The same, from the times of the layers alone.
pub(crate) fn shorter_in_turns(times: &[i64]) -> Option<Vec<bool>> {
    let is_short = (times.len() >= LEAST_CALLS).then(|| by_time(times));
    in_turns(times, is_short??)
}

fn in_turns(times: &[i64], is_short: Vec<bool>) -> Option<Vec<bool>> {
    let mean_ns = |short: bool| {
        let of_kind = times.iter().zip(&is_short);
        let times = of_kind.filter(|(_, is_short)| **is_short == short);
        let times: Vec<i64> = times.map(|(ns, _)| *ns).collect();
        let n = times.len();
        (n > 0).then(|| times.into_iter().sum::<i64>() as f64 / n as f64)
    };
    let ratio = mean_ns(false)? / mean_ns(true)?;
    let mut turns = 2..=LONGEST_TURN.min(times.len() / 2);
    let take_turns = turns.any(|turn| {
        let mut pairs = is_short.iter().zip(is_short.iter().skip(turn));
        pairs.all(|(one, next)| one == next)
    });
    (ratio > LEAST_RATIO && take_turns).then_some(is_short)
}

/// The layers with the faster of two sets of kernels; decided by time if all run the same kernels.
fn by_kernels(profile: &Profile, layers: &[&PerfRow]) -> Option<Vec<bool>> {
    let names = |layer: &&PerfRow| {
        let work = profile.gpu.each(&layer.work);
        work.map(|work| work.name).distinct()
    };
    let kinds: Vec<Vec<StringId>> = layers.iter().map(names).collect();
    let first = kinds.first()?;
    let Some(second) = kinds.iter().find(|kind| *kind != first) else {
        let times: Vec<i64> = layers.iter().map(|layer| layer.kernel_ns).collect();
        return by_time(&times);
    };
    if kinds.iter().any(|kind| kind != first && kind != second) {
        return None;
    }
    let all_ns = |wanted: &Vec<StringId>| {
        let of_kind = layers
            .iter()
            .zip(&kinds)
            .filter(|(_, kind)| *kind == wanted);
        let times: Vec<f64> = of_kind.map(|(layer, _)| layer.kernel_ns as f64).collect();
        times.iter().sum::<f64>() / times.len() as f64
    };
    let short = match all_ns(first) < all_ns(second) {
        true => first,
        false => second,
    };
    Some(kinds.iter().map(|kind| kind == short).collect())
}

/// The layers below the widest gap in the sorted times.
fn by_time(times: &[i64]) -> Option<Vec<bool>> {
    let mut sorted = times.to_vec();
    sorted.arrange();
    let ratio = |two: &[i64]| match two {
        [short, long] if *short > 0 => *long as f64 / *short as f64,
        _ => 0.0,
    };
    let widest = sorted
        .windows(2)
        .max_by(|one, other| ratio(one).total_cmp(&ratio(other)))?;
    let least_long = *widest.get(1)?;
    (ratio(widest) > LEAST_RATIO).then(|| times.iter().map(|ns| *ns < least_long).collect())
}

#[cfg(test)]
mod tests {
    use crate::testing::Timetable;

    const OP: &str = "vllm::unified_attention_with_output";

    /// The layers of a step that decodes three requests: kernels and times in microseconds.
    fn layers(layers: &[(&str, u32)]) -> Vec<(usize, i64, bool)> {
        let heads = r#""Input Dims": [[3, 2, 4], [3, 1, 4], [3, 1, 4]], "Input type": ["c10::Half", "c10::Half", "c10::Half"]"#;
        let step = "execute_3_context_0(sq0sk0sqsq0sqsk0)_generation_3(sq3sk9sqsq3sqsk9)";
        let mut timetable = Timetable::new().annotation(step, 0..400);
        let mut gpu_us = 1000;
        for (at, (kernel, us)) in (0_u32..).zip(layers) {
            let host = at * 20 + 1;
            timetable = timetable.op(OP, host..host + 15).args(heads).launched(
                kernel,
                host + 1..host + 2,
                gpu_us..gpu_us + us,
            );
            gpu_us += us;
        }
        let profile = timetable.profile();
        let all = profile.operations().iter();
        all.map(|one| (one.calls.len(), one.kernel_ns / 1000, one.sees_window))
            .collect()
    }

    #[test]
    fn layers_that_take_turns_are_two_operations() {
        let (all, window) = (("attn_3d", 40), ("attn_2d", 10));
        let every_second = [window, all].repeat(4);
        assert_eq!(layers(&every_second), [(4, 160, false), (4, 40, true)]);
        // As in models where every sixth layer has full attention.
        let every_sixth = [window, window, window, window, window, all].repeat(2);
        assert_eq!(layers(&every_sixth), [(2, 80, false), (10, 100, true)]);
        // The same kernel with two different times.
        let by_time = [("attn", 10), ("attn", 14)].repeat(4);
        assert_eq!(layers(&by_time), [(4, 56, false), (4, 40, true)]);
    }

    #[test]
    fn other_differences_are_none_of_windows() {
        let cases: &[&[(&str, u32)]] = &[
            // A slow first layer.
            &[
                ("attn", 90),
                ("attn", 10),
                ("attn", 10),
                ("attn", 10),
                ("attn", 10),
                ("attn", 10),
            ],
            // Too little difference.
            &[
                ("a", 10),
                ("b", 12),
                ("a", 10),
                ("b", 12),
                ("a", 10),
                ("b", 12),
            ],
            // Too few layers.
            &[("a", 10), ("b", 40), ("a", 10), ("b", 40)],
            // Three kinds.
            &[
                ("a", 10),
                ("b", 20),
                ("c", 40),
                ("a", 10),
                ("b", 20),
                ("c", 40),
            ],
        ];
        for case in cases {
            assert_eq!(layers(case).len(), 1, "{case:?}");
        }
    }
}
