//! Collectives of a trace without GPU activity: the ranges in which a thread calls them.
//!
//! Gloo writes no record of its collectives. Only the call is known, `c10d::allreduce_`, on the thread that made it:
//! the main thread for a broadcast, the autograd thread for gradients. Work is what the operators of these threads do
//! in between.

use super::own_time::{Activity, before};
use super::steps::Steps;
use super::work::operators;
use super::{Collective, Found};
use crate::base::interval::Interval;
use crate::base::map::Set;
use crate::base::sort::Arranged;
use crate::profile::Profile;
use crate::trace::{Category, Dims, EventId, Trace, event_args};

/// Prefix of operators of `torch.distributed`.
const OF_DISTRIBUTED: &str = "c10d::";

/// Prefix of Gloo's ranges.
const OF_GLOO: &str = "gloo:";

pub(super) fn find(profile: &Profile, steps: &Steps, texts: &mut Set<String>) -> Found {
    let trace = &profile.trace;
    let events = &trace.events;
    let is_named = |name: &str| name.starts_with(OF_DISTRIBUTED);
    let calls = trace.named(|of| of == Category::CpuOp, is_named);
    let calls = calls.arranged_by_key(|call| (events.span(*call), *call));
    let threads = calls.iter().map(|call| events.track(*call)).distinct();
    let spans = ends(trace, &calls);
    let work = operators(profile).map(|(_, op)| op);
    let work = work.filter(|op| threads.binary_search(&events.track(*op)).is_ok());
    let work: Vec<Interval> = work.map(|op| events.span(op)).collect();
    let ran = work
        .iter()
        .chain(&spans)
        .map(|span| (*span, None))
        .collect();
    let activity = Activity::new(work, Vec::new(), ran, None);
    let before = before(&spans);
    let rows = calls.iter().zip(&spans).zip(&before);
    let rows = rows.map(|((call, span), before)| {
        let step = steps.at(span.start_ns);
        let last = before.and_then(|at| spans.get(at as usize));
        let own = steps.time_before(*span, last, step);
        let own = own.map(|own| activity.split(own).0);
        let elements = elements(trace, *call);
        Collective {
            kernel: texts.id(trace.name(*call)),
            given: elements,
            got: elements,
            seq: event_args::number(trace, *call, "Seq").map(|seq| seq as u64),
            step,
            span: *span,
            before: *before,
            own,
            exposed_ns: span.length() - activity.work_within(*span),
            ..Collective::default()
        }
    });
    Found {
        rows: rows.collect(),
        groups: Vec::new(),
        unfinished: Vec::new(),
        activity,
    }
}

/// When calls end. If there is one range of the library for each call, the ends of these ranges, which run on the
/// library's own threads until the other ranks have answered; otherwise the ends of the calls.
fn ends(trace: &Trace, calls: &[EventId]) -> Vec<Interval> {
    let events = &trace.events;
    let is_range = |of| of == Category::UserAnnotation;
    let ranges = trace.named(is_range, |name| name.starts_with(OF_GLOO));
    let ranges = ranges.map(|range| events.span(range)).arranged();
    let own = calls.iter().map(|call| events.span(*call));
    match ranges.len() == calls.len() {
        true => own
            .zip(ranges)
            .map(|(call, range)| call.hull(range))
            .collect(),
        false => own.collect(),
    }
}

/// Number of elements of the largest tensor of a call.
fn elements(trace: &Trace, call: EventId) -> Option<u64> {
    let args = trace.args.get(trace.events.op_args(call)?)?;
    let tensors = args.dims.as_deref()?.iter().map(Dims::shapes);
    let sizes = tensors.map(|tensors| {
        let sizes = tensors.iter().map(|id| trace.args.shape(*id));
        let sizes = sizes.filter(|sizes| !sizes.is_empty());
        let n = sizes.map(|sizes| {
            sizes
                .iter()
                .fold(1_u64, |n, of| n.saturating_mul((*of).max(0) as u64))
        });
        n.fold(0, u64::saturating_add)
    });
    sizes.max().filter(|n| *n > 0)
}

#[cfg(test)]
mod tests {
    use crate::import::import;
    use crate::job::digest::{Digest, OwnTime, SourceFile};
    use crate::profile::Profile;

    /// ```text
    /// µs              0         100       200       300  350
    /// main thread     [broadcast)
    /// autograd                            [mm      )[all-reduce)
    /// data loader               [stack            )
    /// ```
    #[test]
    fn work_on_every_thread_that_calls_a_collective_counts() {
        let text = r#"{"traceEvents": [
            {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 1, "tid": 1, "ts": 0, "dur": 1000},
            {"ph": "X", "cat": "cpu_op", "name": "c10d::broadcast_", "pid": 1, "tid": 1, "ts": 0, "dur": 100},
            {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 2, "ts": 200, "dur": 100},
            {"ph": "X", "cat": "cpu_op", "name": "c10d::allreduce_", "pid": 1, "tid": 2, "ts": 300, "dur": 50},
            {"ph": "X", "cat": "cpu_op", "name": "aten::stack", "pid": 1, "tid": 3, "ts": 100, "dur": 180}
        ]}"#;
        let profile = Profile::new(import(text.as_bytes()).unwrap());
        let digest = Digest::new(&profile, SourceFile::default());
        let own = OwnTime {
            total_ns: 200_000,
            work_ns: 100_000,
            ..OwnTime::default()
        };
        assert_eq!(digest.collectives[1].own, Some(own));
    }
}
