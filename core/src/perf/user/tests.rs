use std::sync::Arc;

use super::*;
use crate::report::sheet::{Cell, Column};
use crate::report::{Report, ReportOptions};
use crate::testing::Timetable;
use crate::trace::{OpArgsText, TraceBuilder};

const MLP: &str = r#"
# Two products and an activation in one kernel.
[[model]]
op = "my_lib::fused_mlp"
let = [
    "tokens = in0.n / in0[-1]",
    "hidden = in0[-1]",
    "inner = in1[0]",
]
flops = "4*tokens*hidden*inner + 8*tokens*inner"
bytes = "2*in0.bytes + in1.bytes + in2.bytes"
compute = "matrix"
precision = "in0"

[[model]]
op = "my_lib::gather_*"
flops = "0"
bytes = "2*in1.n*in0[-1]*in0.size + in1.bytes"
compute = "none"

[[model]]
op = "my_lib::gather_scaled*"
flops = "in1.n*in0[-1]"
bytes = "in3"
precision = "fp32"
"#;

fn work(models: &UserModels, name: &str) -> Option<Option<(f64, Option<f64>, String)>> {
    let mut builder = TraceBuilder::default();
    let (id, _) = builder.op_args(OpArgsText {
        dims: "[[2,3,4],[8,4],[4,8]]",
        types: r#"["c10::BFloat16","c10::BFloat16","c10::BFloat16"]"#,
        ..OpArgsText::default()
    });
    let trace = builder.finish();
    let input = OpInput::new(&trace, name, trace.args.get(id).unwrap());
    let spec = |work: Work| work.compute.map_or(String::new(), ComputeSpec::label);
    let work = models.work(&input)?;
    Some(work.map(|work| (work.flops, work.bytes, spec(work))))
}

#[test]
fn models_count_calls() {
    let models = UserModels::parse(MLP).unwrap();
    assert_eq!(models.len(), 3);
    // Six tokens of 4, inner width 8: 4·6·4·8 + 8·6·8; 2·48 + 64 + 64 bytes.
    let mlp = Some(Some((1152.0, Some(224.0), "matrix_bf16".to_owned())));
    assert_eq!(work(&models, "my_lib::fused_mlp"), mlp);
    // 32 indices of two bytes; rows of 4.
    let gather = Some(Some((0.0, Some(576.0), String::new())));
    assert_eq!(work(&models, "my_lib::gather_rows"), gather);
    // The longer prefix takes precedence; bytes depend on an argument that was not recorded.
    let scaled = Some(Some((128.0, None, "vector_fp32".to_owned())));
    assert_eq!(work(&models, "my_lib::gather_scaled_rows"), scaled);
    assert_eq!(work(&models, "aten::mm"), None);
}

#[test]
fn mistakes_name_line_and_symbol() {
    // A line after a complete model, and the error for it.
    let with = |line: &str| {
        let text = format!("[[model]]\nop = \"a\"\nflops = \"1\"\nbytes = \"1\"\n{line}\n");
        UserModels::parse(&text).unwrap_err()
    };
    let cases = r#"
        let = ["m = in0[0]", "k = n + m"] | `k` uses `n`, which is neither an argument (`in0`, `in1` …) nor a `let` before it
        let = ["in0 = 3"] | `let` gives `in0`: a name of its own, of letters, digits and `_`, that is no `in0`
        let = ["m"] | `let` is `m`: a name, `=`, a value
        compute = "tensor" | `compute` is `tensor`: matrix, vector or none
        op = "b" | duplicate key
        flop = "1" | unknown field `flop`, expected one of `op`, `let`, `flops`, `bytes`, `compute`, `precision`
    "#;
    for case in cases.trim().lines() {
        let (line, expected) = case.trim().split_once(" | ").unwrap();
        assert_eq!(with(line).to_string(), format!("line 5: {expected}"));
    }
    // Whole files, with `;` between lines.
    let cases = r#"
        [[model]]; op = "a"; flops = "2*hidden"; bytes = "1" | line 3: `flops` uses `hidden`, which is neither an argument (`in0`, `in1` …) nor a `let` before it
        [[model]]; op = "*"; flops = "1"; bytes = "1" | line 2: `op` is `*`: a name, or its beginning and one `*`
        [[model]]; op = 3 | line 2: invalid type: integer `3`, expected a string
        [[model]]; op = "a"; flops = "1"; bytes = "1"; [[model]]; op = "a"; flops = "1"; bytes = "1" | line 6: `a` has a model already, in line 2
    "#;
    for case in cases.trim().lines() {
        let (file, expected) = case.trim().split_once(" | ").unwrap();
        let error = UserModels::parse(&file.replace("; ", "\n")).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    let error = UserModels::parse("").unwrap_err();
    assert_eq!(error.to_string(), "the file has no [[model]]");
    let error = with("precision = \"fp5\"");
    assert_eq!(error.line, Some(5));
    assert!(
        error
            .sentence
            .starts_with("`precision` is `fp5`: an argument (`in0`), or one of ")
    );
    let error = UserModels::parse(&" ".repeat(MAX_FILE_BYTES + 1)).unwrap_err();
    assert_eq!(error.line, None);
}

#[test]
fn a_model_goes_before_the_built_in_one_everywhere() {
    let mm = r#""Input Dims": [[8, 4], [4, 2]], "Input type": ["float", "float"], "Concrete Inputs": ["", ""]"#;
    let profile = Timetable::new()
        .call("aten::mm", mm, "gemm", 100..130)
        .call("my_lib::op", mm, "mine", 140..150)
        .profile();
    let models = r#"
        [[model]]
        op = "aten::mm"
        flops = "1e9"
        bytes = "2*1048576"
        [[model]]
        op = "my_lib::*"
        flops = "2e9"
        bytes = "in7.bytes"
    "#;
    let built_in = Report::new(&profile, &ReportOptions::default());
    let own = ReportOptions {
        perf_models: Some(Arc::new(UserModels::parse(models).unwrap())),
        ..ReportOptions::default()
    };
    let own = Report::new(&profile, &own);
    let cells = |report: &Report, sheet: &str, columns: [&str; 2]| -> Vec<Vec<Cell>> {
        let sheet = report.sheet(&profile, sheet).unwrap();
        let at = columns.map(|label| {
            let is_named = |column: &Column| column.label == label;
            sheet.columns.iter().position(is_named).unwrap()
        });
        let row = |row: &Vec<Cell>| at.iter().map(|at| row[*at].clone()).collect();
        sheet.rows.iter().map(row).collect()
    };
    let unified = ["GFLOPS", "Data Moved (MB)"];
    let family = ["GFLOPS_first", "Data Moved (MB)_first"];
    let (one, two) = (Cell::Float(1.0), Cell::Float(2.0));
    assert_eq!(
        cells(&own, "unified_perf_summary", unified),
        [
            [one.clone(), two.clone()],
            // Its bytes depend on an argument that was not recorded.
            [two.clone(), Cell::Empty],
        ]
    );
    assert_eq!(cells(&own, "GEMM", family), [[one, two]]);
    // The same rows as without them.
    let n_rows = |report: &Report| cells(report, "unified_perf_summary", unified).len();
    assert_eq!(n_rows(&own), n_rows(&built_in));
}

#[test]
fn the_examples_of_the_documentation_are_read() {
    let text = include_str!("../../../../docs/perf-models.md");
    let examples: Vec<&str> = text
        .split("```toml\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap())
        .collect();
    assert_eq!(examples.len(), 2);
    for example in examples {
        assert_eq!(UserModels::parse(example).map(|models| models.len()), Ok(1));
    }
}
