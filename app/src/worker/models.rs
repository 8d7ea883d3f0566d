//! The user's own performance models: what they do in the open trace.

use dormer_core::base::interval::sum;
use dormer_core::perf::UserModels;
use dormer_core::{Profile, base::format};

use crate::protocol::{CheckedModels, ModelUse};

#[derive(Clone, Copy, Default)]
struct Use {
    n_operations: u64,
    ns: i64,
    /// Operations that lack an argument needed by an expression.
    n_unknown: u64,
}

/// Parses a file of models and says for which operations they count FLOPs and bytes.
pub(super) fn check(text: &str, profile: &Profile) -> Result<CheckedModels, String> {
    let models = UserModels::parse(text).map_err(|error| error.to_string())?;
    let mut uses = vec![Use::default(); models.len()];
    let operations = profile.operations().iter();
    for operation in operations {
        let name = operation.name(profile);
        let Some(model) = models.position(&name).and_then(|at| uses.get_mut(at)) else {
            continue;
        };
        let work = models.work_of(&profile.trace, &name, operation.key.args);
        model.n_operations += 1;
        model.ns = model.ns.saturating_add(operation.kernel_ns);
        model.n_unknown += u64::from(work.flatten().is_none());
    }
    let used = models.ops().zip(&uses);
    Ok(CheckedModels {
        sentence: sentence(&uses),
        models: used.map(|(op, used)| model_use(op, used)).collect(),
    })
}

fn sentence(uses: &[Use]) -> String {
    match uses.iter().map(|used| used.n_operations).sum::<u64>() {
        0 => "No operation in this trace matches a model in this file.".to_owned(),
        n => format!(
            "They model {}, {} of GPU time.",
            format::counted(n, "operation"),
            format::time_ns(sum(uses.iter().map(|used| used.ns)))
        ),
    }
}

fn model_use(op: String, used: &Use) -> ModelUse {
    let note = match used.n_unknown {
        0 => None,
        n if n == used.n_operations => Some("a required argument was not recorded".to_owned()),
        n => Some(format!(
            "a required argument was not recorded for {} of them",
            format::count(n)
        )),
    };
    ModelUse {
        op,
        operations: format::count(used.n_operations),
        time: match used.n_operations {
            0 => String::new(),
            _ => format::time_ns(used.ns),
        },
        note,
    }
}

#[cfg(test)]
mod tests {
    use dormer_core::testing::Timetable;

    use super::*;

    /// A GEMM of 30 µs with shapes, and two ops of one library of 10 and 20 µs without.
    fn profile() -> Profile {
        let mm = r#""Input Dims": [[64, 64], [64, 64]], "Input type": ["float", "float"]"#;
        Timetable::new()
            .call("aten::mm", mm, "gemm", 100..130)
            .work("my_lib::gather", "gather", 140..150)
            .work("my_lib::scatter", "scatter", 160..180)
            .profile()
    }

    fn check_text(text: &str) -> Result<CheckedModels, String> {
        check(text, &profile())
    }

    #[test]
    fn it_is_said_what_each_model_counts() {
        let text = r#"
            [[model]]
            op = "aten::mm"
            flops = "2*in0.n*in1[1]"
            bytes = "3*in0.bytes"
            [[model]]
            op = "my_lib::*"
            flops = "in0.n"
            bytes = "8"
            [[model]]
            op = "aten::bmm"
            flops = "1"
            bytes = "1"
            "#;
        let checked = check_text(text).unwrap();
        assert_eq!(
            checked.sentence,
            "They model 3 operations, 60.0 µs of GPU time."
        );
        let lines = checked.models.iter().map(|of| {
            let note = of.note.is_some();
            format!("{}: {}, {}, {note}", of.op, of.operations, of.time)
        });
        // Shapes of the library's ops were not recorded.
        let expected = [
            "aten::mm: 1, 30.0 µs, false",
            "my_lib::*: 2, 30.0 µs, true",
            "aten::bmm: 0, , false",
        ];
        assert_eq!(lines.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_mistake_is_said_with_its_line_and_symbol() {
        let checked =
            check_text("[[model]]\nop = \"aten::mm\"\nflops = \"2*hiden\"\nbytes = \"1\"\n");
        let error = checked.unwrap_err();
        assert!(error.starts_with("line 3: `flops` uses `hiden`"), "{error}");
    }

    #[test]
    fn a_file_may_fit_another_trace() {
        let checked = check_text("[[model]]\nop = \"x::y\"\nflops = \"1\"\nbytes = \"1\"\n");
        assert_eq!(
            checked.unwrap().sentence,
            "No operation in this trace matches a model in this file."
        );
    }
}
