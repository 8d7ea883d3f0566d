//! Arguments that could not be read, and FLOP counts of the profiler that differ from the models'.

use std::collections::BTreeMap;

use super::Level;
use crate::base::format;
use crate::base::map::Map;
use crate::perf::{OpInput, element_bytes};
use crate::profile::Profile;
use crate::profile::operations::Operation;
use crate::profile::operations::perf_rows::Pass;
use crate::profile::operations::recorded_flops::recorded_flops;

/// Maximum number of items listed in a sentence.
const N_NAMED: usize = 5;
/// A larger difference between counts is reported.
const SAME_PERCENT: f64 = 1.0;

/// Sentences about the arguments of all operations, with their severity.
pub(super) fn lines(profile: &Profile) -> Vec<(Level, String)> {
    let linked = || profile.operations().iter().filter(|one| one.is_linked);
    let lines = [
        (Level::Warn, unread(profile, linked())),
        (Level::Warn, counted_otherwise(profile, linked())),
        (Level::Note, without_strides(profile, linked())),
    ];
    let lines = lines.into_iter();
    lines
        .filter_map(|(level, line)| Some((level, line?)))
        .collect()
}

/// Arguments that a model needs and cannot read, by operator: "convolution: stride of 3 calls".
fn unread<'a>(
    profile: &Profile,
    operations: impl Iterator<Item = &'a Operation>,
) -> Option<String> {
    let mut calls: BTreeMap<(String, String), u64> = BTreeMap::new();
    for operation in operations {
        let Some(what) = why_unread(profile, operation) else {
            continue;
        };
        let name = operation.short_name(profile).rsplit("::").next();
        let key = (name.unwrap_or_default().to_owned(), what);
        *calls.entry(key).or_default() += operation.n_calls();
    }
    let listed = calls.iter().map(|((name, what), n)| {
        format!(
            "{}: {what} of {}",
            quoted(name),
            format::counted(*n, "call")
        )
    });
    let listed = first_few(listed.collect(), "; ")?;
    Some(format!(
        "Arguments could not be read, so these calls have no FLOPs or no bytes: {listed}."
    ))
}

/// The arguments that keep the model of an operation from counting; `None` if it counts, or if the arguments are
/// readable.
fn why_unread(profile: &Profile, operation: &Operation) -> Option<String> {
    let binding = operation.first()?.binding?;
    let work = operation.modeled.as_ref().map(|modeled| modeled.work);
    if work.is_some_and(|work| work.bytes.is_some()) {
        return None;
    }
    let input = OpInput::of_call(&profile.trace, binding.call)?;
    let unknown = input.tensors().find(|tensor| {
        let is_typed = !tensor.dtype.is_empty() && tensor.n() > 0.0;
        is_typed && element_bytes(tensor.dtype).is_none()
    });
    if let Some(tensor) = unknown {
        return Some(format!("type {}", quoted(tensor.dtype)));
    }
    work.is_none().then(|| input.misread()).flatten()
}

/// Operations for which the profiler's own FLOP count differs.
fn counted_otherwise<'a>(
    profile: &Profile,
    operations: impl Iterator<Item = &'a Operation>,
) -> Option<String> {
    let mut differ: Map<&str, ([f64; 2], u64)> = Map::default();
    for operation in operations {
        let is_whole = operation.first().and_then(|call| call.binding);
        let is_whole = is_whole.is_some_and(|of| of.pass == Pass::Forward && of.shares == 1);
        let ours = operation.modeled.as_ref().filter(|_| is_whole);
        let Some(ours) = ours.map(|ours| ours.work.flops).filter(|ours| *ours > 0.0) else {
            continue;
        };
        let Some(theirs) = recorded_flops(profile, operation) else {
            continue;
        };
        if (ours - theirs).abs() * 100.0 <= SAME_PERCENT * theirs {
            continue;
        }
        let name = operation.short_name(profile);
        differ.entry(name).or_insert(([ours, theirs], 0)).1 += 1;
    }
    let n: u64 = differ.values().map(|(_, n)| n).sum();
    let listed = differ.iter().map(|(name, (counts, _))| {
        let [ours, theirs] = counts.map(format::flops);
        format!("{} (model {ours}, profiler {theirs})", quoted(name))
    });
    let listed = first_few(listed.collect(), ", ")?;
    Some(format!(
        "FLOPs of {} differ by more than {} from the profiler's own count: {listed}. Efficiencies rest on the models.",
        format::counted(n, "operation"),
        format::percent(SAME_PERCENT)
    ))
}

/// Tensors with unknown strides.
fn without_strides<'a>(
    profile: &Profile,
    operations: impl Iterator<Item = &'a Operation>,
) -> Option<String> {
    let (mut n_without, mut n) = (0, 0);
    for operation in operations {
        let Some(input) = operation.arguments(profile) else {
            continue;
        };
        let mut strided = input
            .tensors()
            .filter(|tensor| tensor.shape.len() > 1)
            .peekable();
        if strided.peek().is_some() {
            n += operation.n_calls();
            if strided.any(|tensor| tensor.strides.is_none()) {
                n_without += operation.n_calls();
            }
        }
    }
    let whose = match n_without {
        0 => return None,
        _ if n_without == n => "Strides were not recorded".to_owned(),
        _ => format!(
            "Strides of {} were not recorded",
            format::counted(n_without, "call")
        ),
    };
    Some(format!("{whose}: their operands count as contiguous."))
}

/// A name from the trace in backticks, with its own backticks replaced.
fn quoted(name: &str) -> String {
    let name = format::middle_ellipsis(name, 60);
    format!("`{}`", name.replace('`', "'"))
}

/// The first few, and how many more there are; `None` if empty.
fn first_few(all: Vec<String>, between: &str) -> Option<String> {
    let n_more = all.len().saturating_sub(N_NAMED);
    let named = all.iter().take(N_NAMED).map(String::as_str);
    let named = named.collect::<Vec<&str>>().join(between);
    Some(match (all.is_empty(), n_more) {
        (true, _) => return None,
        (_, 0) => named,
        (_, n) => format!("{named} and {} more", format::count(n as u64)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Timetable;

    const CONV: &str = r#""Input Dims": [[1, 3, 64, 64], [8, 3, 3, 3], [], [], [], [], [], [], []], "Input type": ["float", "float", "", "ScalarList", "ScalarList", "ScalarList", "Scalar", "ScalarList", "Scalar"], "Input Strides": [[12288, 4096, 64, 1], [27, 9, 3, 1], [], [], [], [], [], [], []]"#;

    /// A convolution with these values, and more arguments of its event.
    fn lines_of(values: &str, more: &str) -> Vec<String> {
        let args = format!(r#"{CONV}, "Concrete Inputs": {values}{more}"#);
        let trace = Timetable::new().call("aten::convolution", &args, "implicit_gemm", 20..50);
        let lines = lines(&trace.profile()).into_iter();
        lines
            .map(|(_, line)| line.replace('\u{202F}', ""))
            .collect()
    }

    const READ: &str = r#"["", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"]"#;

    #[test]
    fn what_a_model_cannot_read_is_counted_by_operator_and_argument() {
        for (from, to, expected) in [
            (
                r#""[2, 2]""#,
                r#""[2, x]""#,
                "`convolution`: stride of 1 call",
            ),
            (
                r#""False""#,
                r#""maybe""#,
                "`convolution`: transposed of 1 call",
            ),
            (r#""1"]"#, r#""one"]"#, "`convolution`: groups of 1 call"),
        ] {
            let lines = lines_of(&READ.replacen(from, to, 1), "");
            let sentence =
                "Arguments could not be read, so these calls have no FLOPs or no bytes: ";
            assert_eq!(lines, [format!("{sentence}{expected}.")], "{to}");
        }
        for same in ["(2,2)", "2, 2", "[2,2]", "2", " ( 2, 2 ) "] {
            let lines = lines_of(&READ.replacen("[2, 2]", same, 1), "");
            assert_eq!(lines, Vec::<String>::new(), "{same}");
        }
    }

    #[test]
    fn a_type_that_nobody_knows_is_reported() {
        let args = r#""Input Dims": [[64, 32], [32, 64]], "Input type": ["Float7", "Float7"], "Input Strides": [[32, 1], [64, 1]]"#;
        let trace = Timetable::new().call("aten::mm", args, "gemm", 20..50);
        let [(_, line)] = &lines(&trace.profile())[..] else {
            panic!("one line");
        };
        assert!(line.contains("`mm`: type `Float7` of 1 call"), "{line}");
    }

    #[test]
    fn the_profiler_s_own_count_is_compared() {
        // 2 · 27 · 8 · 32² = 442 368.
        assert_eq!(lines_of(READ, r#", "flops": 442368"#), Vec::<String>::new());
        let lines = lines_of(READ, r#", "flops": 884736"#);
        let expected = "FLOPs of 1 operation differ by more than 1.0 % from the profiler's own count: `aten::convolution` (model 442 kFLOP, profiler 885 kFLOP). Efficiencies rest on the models.";
        assert_eq!(lines, [expected]);
    }

    #[test]
    fn unknown_strides_count_as_contiguous_and_are_reported() {
        let args = r#""Input Dims": [[64, 32], [32, 64]], "Input type": ["float", "float"]"#;
        let trace = Timetable::new().call("aten::mm", args, "gemm", 20..50);
        let expected = "Strides were not recorded: their operands count as contiguous.";
        assert_eq!(
            lines(&trace.profile()),
            [(Level::Note, expected.to_owned())]
        );
    }
}
