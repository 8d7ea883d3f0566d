//! Two small traces to compare, for tests.

use super::comparison::Comparison;
use super::gap::Gap;
use super::pair::Pair;
use super::side::Side;
use crate::profile::Profile;
use crate::report::{Report, ReportOptions};
use crate::testing::{Timetable, options_on};

/// Both traces on the same GPU.
pub(crate) const H100: Option<(&str, &str)> = Some(("H100", "H100"));

/// Calls one after another, each with one kernel: operator, arguments, kernel, microseconds.
pub(crate) fn run<'a>(
    calls: impl IntoIterator<Item = (&'a str, &'a str, &'a str, u32)>,
) -> Timetable {
    let mut end = 1_000;
    let calls = calls.into_iter();
    calls.fold(Timetable::new(), |table, (op, args, kernel, us)| {
        let start = end;
        end += us;
        table.call(op, args, kernel, start..end)
    })
}

/// Attention of 64 heads of 1024 × 1024 scores in three operations, each of this many microseconds.
pub(crate) fn unfused_attention(us: u32) -> [(&'static str, &'static str, &'static str, u32); 3] {
    const SCORES: &str = r#""Input Dims": [[64, 1024, 64], [64, 64, 1024]], "Input type": ["c10::Half", "c10::Half"]"#;
    const SOFTMAX: &str = r#""Input Dims": [[64, 1024, 1024], [], []], "Input type": ["c10::Half", "Scalar", "Scalar"]"#;
    const VALUES: &str = r#""Input Dims": [[64, 1024, 1024], [64, 1024, 64]], "Input type": ["c10::Half", "c10::Half"]"#;
    [
        ("aten::bmm", SCORES, "gemm", us),
        ("aten::_softmax", SOFTMAX, "softmax", us),
        ("aten::bmm", VALUES, "gemm", us),
    ]
}

pub(crate) fn compared(
    reference: &Timetable,
    target: &Timetable,
    gpus: Option<(&str, &str)>,
) -> Comparison {
    sides(reference, target, gpus, |sides| {
        Comparison::new(sides.reference, sides.target)
    })
}

/// The pattern of each finding, and its saving if the target takes as long as predicted.
pub(crate) fn savings(gaps: &[Gap]) -> Vec<(&'static str, Option<i64>)> {
    let savings = gaps.iter();
    savings
        .map(|gap| (gap.pattern, gap.saving.map(|saving| saving.matching_ns)))
        .collect()
}

/// Asserts that a text contains these words.
#[track_caller]
pub(crate) fn assert_contains(text: &str, words: &str) {
    assert!(text.contains(words), "{words}: {text}");
}

/// A pair from the two values.
pub(crate) fn pair<T>(reference: T, target: T) -> Pair<T> {
    Pair { reference, target }
}

/// Analyzes two timetables, each with its GPU (`""` for an unknown one), and passes them on as the two sides.
pub(crate) fn sides<T>(
    reference: &Timetable,
    target: &Timetable,
    gpus: Option<(&str, &str)>,
    then: impl FnOnce(Pair<Side>) -> T,
) -> T {
    profiles(&reference.profile(), &target.profile(), gpus, then)
}

/// The same for profiles.
pub(crate) fn profiles<T>(
    reference: &Profile,
    target: &Profile,
    gpus: Option<(&str, &str)>,
    then: impl FnOnce(Pair<Side>) -> T,
) -> T {
    let options = |gpu: Option<&str>| match gpu {
        None | Some("") => ReportOptions::default(),
        Some(gpu) => options_on(gpu),
    };
    let reports = Pair {
        reference: Report::new(reference, &options(gpus.map(|(gpu, _)| gpu))),
        target: Report::new(target, &options(gpus.map(|(_, gpu)| gpu))),
    };
    then(Pair {
        reference: Side::new("before", reference, &reports.reference),
        target: Side::new("after", target, &reports.target),
    })
}
