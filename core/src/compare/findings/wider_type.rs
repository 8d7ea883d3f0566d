//! Work that the target does in a wider type than the reference.

use super::advice::autocast;
use super::rule::{Candidate, GapRule, GapTable, matched, times_of};
use super::savings::of_wider_type;
use crate::base::format;
use crate::base::interval::sum;
use crate::compare::comparison::Comparison;
use crate::compare::ops::Auxiliary;
use crate::compare::words;

pub(super) const TABLE: GapTable = GapTable {
    title: "Wider types",
    rules: &[GapRule {
        key: "wider_type",
        when: "operations compute in a wider type on the target and take longer for it",
        applies: |_, _| true,
        title: "Computes in {wide} what the reference computes in {narrow}",
        issue: "The target takes {time} on {names} in {wide}, the reference {reference} in {narrow}.",
        model: "Compute in {narrow} where its precision suffices{autocast}.",
        kernel: "A wider type moves more bytes and has slower units: no kernel makes up for that.",
        notes: &[
            "Operations of both traces that do the same as often, on as many dimensions, in another type: {operations}.",
            "Slower than the type alone explains: {slower_here} of them. Kernels for {wide} may run on slower units, or be tuned less.",
            "Slower than the type explains: {slower} of them. That part is in findings of its own.",
            "The reference spends {conversions} on type conversions that the target does not make; the saving is what is left.",
        ],
        saves: "what the target takes beyond the reference; on another GPU, as far as the type explains it",
    }],
    candidates: |comparison| Vec::from_iter(candidate(comparison)),
};

/// Operations that compute in a wider type and take longer because of it. On another GPU, time that the type does not
/// explain has its own finding.
fn candidate(comparison: &Comparison) -> Option<Candidate> {
    let all = comparison.operations.matched.iter().enumerate();
    let wider = all.filter(|(_, op)| op.wider_types().is_some() && of_wider_type(op) > 0);
    let rows: Vec<usize> = wider.map(|(at, _)| at).collect();
    let ops = matched(comparison, &rows);
    let types = ops.first()?.wider_types()?;
    let times = times_of(&ops);
    let mut words = vec![
        ("wide", types.target.clone()),
        ("narrow", types.reference.clone()),
        ("time", format::time_ns(times.target)),
        ("reference", format::time_ns(times.reference)),
        ("names", words::names(ops.iter().map(|op| op.name.as_str()))),
        ("autocast", autocast(&types.reference).to_owned()),
        ("operations", format::count(ops.len() as u64)),
    ];
    let slower = ops
        .iter()
        .filter(|op| op.judgment.verdict.is_slower_than_expected());
    let n_slower = slower.count() as u64;
    if n_slower > 0 {
        let word = match comparison.is_same_gpu {
            true => "slower_here",
            false => "slower",
        };
        words.push((word, format::count(n_slower)));
    }
    let saved_ns = sum(ops.iter().map(|op| of_wider_type(op)));
    // What the reference pays for its narrower type.
    let lone = comparison.operations.unmatched.reference.iter();
    let lone = lone.filter(|op| op.auxiliary == Some(Auxiliary::Conversion));
    let conversions_ns = comparison.scaled_work(sum(lone.map(|op| op.side.exclusive_ns)));
    let saved_ns = saved_ns.saturating_sub(conversions_ns);
    if saved_ns <= 0 {
        return None;
    }
    if conversions_ns > 0 {
        words.push(("conversions", format::time_ns(conversions_ns)));
    }
    Some(Candidate::of_operations(comparison, rows, saved_ns, words))
}

#[cfg(test)]
mod tests {
    use crate::compare::Gap;
    use crate::compare::testing::{H100, compared, run, savings};

    const BF16: &str = "c10::BFloat16";

    /// The findings for a GEMM in a type, with the given microseconds, on each side.
    fn gaps(reference: (&str, u32), target: (&str, u32)) -> Vec<Gap> {
        let [reference, target] = [reference, target].map(|(of_type, us)| {
            let args = format!(
                r#""Input Dims": [[4096, 4096], [4096, 4096]], "Input type": ["{of_type}", "{of_type}"]"#
            );
            run([("aten::mm", args.as_str(), "gemm", us)])
        });
        compared(&reference, &target, H100).gaps.ranked
    }

    #[test]
    fn a_wider_type_is_named_and_a_narrower_one_is_none() {
        let wider = gaps((BF16, 200), ("float", 400));
        assert_eq!(savings(&wider), [("wider_type", Some(200_000))]);
        assert_eq!(
            wider[0].title,
            "Computes in fp32 what the reference computes in bf16"
        );
        assert!(wider[0].model.contains("torch.autocast"));
        let narrower = gaps(("float", 400), (BF16, 500));
        assert!(narrower.iter().all(|gap| gap.pattern != "wider_type"));
    }

    #[test]
    fn what_the_reference_pays_for_its_type_is_not_saved() {
        let mm = |of_type: &str| {
            format!(
                r#""Input Dims": [[4096, 4096], [4096, 4096]], "Input type": ["{of_type}", "{of_type}"]"#
            )
        };
        let (narrow, wide) = (mm(BF16), mm("float"));
        let cast = r#""Input Dims": [[4096, 4096], [4096, 4096]], "Input type": ["c10::BFloat16", "float"]"#;
        let reference = run([
            ("aten::copy_", cast, "cast", 50),
            ("aten::mm", narrow.as_str(), "gemm", 200),
        ]);
        let target = run([("aten::mm", wide.as_str(), "gemm", 400)]);
        let ranked = compared(&reference, &target, H100).gaps.ranked;
        assert_eq!(savings(&ranked), [("wider_type", Some(150_000))]);
    }

    #[test]
    fn all_that_it_takes_on_the_same_gpu_is_due_to_the_type() {
        // Half the rate: 400 µs are expected, but the type is all that differs.
        let ranked = gaps((BF16, 200), ("float", 2_000));
        assert_eq!(savings(&ranked), [("wider_type", Some(1_800_000))]);
        let said = ranked[0].reasoning.join(" ");
        assert!(
            said.contains("Slower than the type alone explains: 1 of them."),
            "{said}"
        );
    }
}
