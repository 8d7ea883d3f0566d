//! What to do about slow calls of an operation, by when they occur.

use crate::assess::waterfall::Cause;
use crate::findings::prelude::*;
use crate::profile::operations::measured::MeasuredOperations;
use crate::profile::operations::slow_calls::SlowCalls;

/// The advice of a rule about calls that differ, to be filled in with [`words`]; the argument is what to do if the
/// first calls are the slow ones.
macro_rules! advice {
    ($first:literal) => {
        concat!(
            "{first?",
            $first,
            ": the slow calls are the first ones.|}",
            "{other?keep the choice of the kernel the same for all calls: the slow ones run another kernel for the same sizes and strides. Look for what differs (addresses of views that are less aligned, settings such as a deterministic mode that change meanwhile, the workspace of another stream), and let the library tune once and keep its choice.|}",
            "{last?check for clock throttling (power or temperature limits) and for other processes on the GPU: the slow calls are the last ones.|}",
            "{beside?the slow calls run beside communication, which takes compute units and memory bandwidth from them: overlap it with operations that need less of both, or limit it to fewer compute units, as long as it stays overlapped.|}",
            "{anywhere?look for what runs beside the slow calls (copies, other streams, other processes), for clocks that vary, and for data that differs.|}",
        )
    };
}
pub(super) use advice;

pub(super) const FASTER_ELSEWHERE: &str = "nothing to tune: {other?the kernel of the fast calls does the same|other calls of the same kernel are faster}.";

impl<S: Subject> Rule<S> {
    /// Calls that take longer than the median of their operation. For struct update syntax.
    pub(super) const CALLS_DIFFER: Rule<S> = Rule {
        key: "calls_differ",
        title: "Some calls take far longer than others",
        model: advice!("warm up before recording"),
        kernel: FASTER_ELSEWHERE,
        words: |group| words(group.input, &group.rows),
        saves: Saves::Steps(&[Cause::Spread]),
        has_reproducer: false,
        ..Rule::BASE
    };
}

/// The words for the slow calls of some operations, decided by the longest operation.
pub(super) fn words(input: &Input, rows: &[&Row]) -> Words {
    let slow = rows.first().map(|row| of(input, row.operation));
    let holds_if = |word, of| holds(word, slow == Some(of));
    vec![
        holds_if("first", SlowCalls::First),
        holds_if("other", SlowCalls::OtherKernel),
        holds_if("last", SlowCalls::Last),
        holds_if("beside", SlowCalls::BesideCommunication),
        holds_if("anywhere", SlowCalls::Anywhere),
    ]
}

fn of(input: &Input, at: usize) -> SlowCalls {
    let profile = input.profile;
    let measured = MeasuredOperations::of(profile);
    let spread = measured.get(profile, at).map(|measured| measured.spread);
    // The warm-up is longer than all other excess together.
    match spread.is_some_and(|spread| spread.warm_up_ns > spread.above_median_ns) {
        true => SlowCalls::First,
        false => SlowCalls::of(profile, input.operation(at)),
    }
}
