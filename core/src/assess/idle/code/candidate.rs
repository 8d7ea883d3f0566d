//! The calls of one function in and around a gap, and the activity that those around them identify.

use super::Code;
use crate::base::interval::{Interval, difference, length};
use crate::names::cpu_activity::CpuActivity;
use crate::trace::EventId;

/// The calls of one function, or of other spans with one name, in and around a gap.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    /// The longest.
    pub(super) event: EventId,
    pub(super) longest_ns: i64,
    /// When they ran, without overlaps.
    pub(super) spans: Vec<Interval>,
    pub(super) activity: Option<CpuActivity>,
}

impl Candidate {
    /// How much of a time they cover.
    pub(super) fn covers(&self, time: &[Interval]) -> i64 {
        if let ([span], [time]) = (self.spans.as_slice(), time) {
            return covered(*span, *time);
        }
        length(time) - length(&difference(time, &self.spans))
    }

    /// Whether it lies within another one.
    pub(super) fn is_inside(&self, outer: &Candidate) -> bool {
        self.event == outer.event || difference(&self.spans, &outer.spans).is_empty()
    }

    pub(super) fn to_code(&self, activity: Option<CpuActivity>) -> Code {
        Code {
            event: self.event,
            within: self.event,
            activity,
        }
    }
}

/// The activity of a span, from the names around it: the nearest one that identifies an activity, except that waiting
/// for data or reading files within data loading is data loading, and pickling within a checkpoint the checkpoint. Also
/// returns the span that identifies it.
pub(super) fn identify<'c>(
    deepest: &Candidate,
    outer: &'c Candidate,
    within: &[&'c Candidate],
) -> (&'c Candidate, Code) {
    let around = |one: &&&Candidate| one.activity.is_some() && deepest.is_inside(one);
    let nearest = within.iter().find(around).map_or(outer, |one| *one);
    let goes_with = |inner: CpuActivity| {
        use CpuActivity::*;
        match outer.activity {
            Some(DataLoading) => matches!(
                inner,
                Waiting
                    | FileAccess
                    | Preprocessing
                    | Tokenization
                    | Reflection
                    | Serialization
                    | Logging
            ),
            Some(Checkpointing) => inner == Serialization,
            _ => false,
        }
    };
    let own = nearest.activity.filter(|activity| !goes_with(*activity));
    let identifying = match own {
        // Of several nested spans with the same activity, the outermost.
        Some(activity) if own != outer.activity => {
            let same = |one: &&&Candidate| around(one) && one.activity == Some(activity);
            within.iter().rev().find(same).map_or(nearest, |one| *one)
        }
        _ => outer,
    };
    let code = Code {
        event: deepest.event,
        within: identifying.event,
        activity: identifying.activity,
    };
    (identifying, code)
}

pub(super) fn covered(span: Interval, time: Interval) -> i64 {
    span.overlap(time).map_or(0, Interval::length)
}
