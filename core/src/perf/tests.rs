//! One case for each formula, small enough to check by hand.
//!
//! The texts in `tests/` contain them, one file per family and one line per case: see [`Call`] and [`check`] for the
//! format. Headings are the names used in `docs/differences.md`.

use std::fs;
use std::path::Path;

use super::models::table;
use super::{ComputeSpec, Modeled, OpInput, Param, UserModels, Work, model, python_dict};
use crate::names::known_ops;
use crate::testing::Arguments;
use crate::trace::{OpArgsText, TraceBuilder};

/// A call, written `aten::addmm(4, 2x3@1x2, 3x4:float, _, =1, [10 2x3]) by KERNEL in ANNOTATION`.
///
/// The arguments are parsed by [`Arguments::read`]. Most calls lack the last two parts.
struct Call<'a> {
    name: &'a str,
    args: Arguments,
    kernel: &'a str,
    annotation: Option<&'a str>,
}

impl<'a> Call<'a> {
    fn read(text: &'a str) -> Call<'a> {
        let (text, annotation) = match text.split_once(") in ") {
            Some((text, annotation)) => (text, Some(annotation)),
            None => (text.strip_suffix(')').unwrap_or(text), None),
        };
        let cat = "CatArrayBatchedCopy<OpaqueType<2u>, unsigned int, 4, 128, 1>";
        let (text, kernel) = text.split_once(") by ").unwrap_or((text, cat));
        let (name, list) = text.split_once('(').unwrap_or((text, ""));
        Call {
            name,
            args: Arguments::read(list),
            kernel,
            annotation,
        }
    }

    fn input<T>(&self, then: impl FnOnce(&OpInput) -> T) -> T {
        let mut builder = TraceBuilder::default();
        let (id, _) = builder.op_args(OpArgsText {
            dims: &self.args.dims,
            types: &self.args.types,
            strides: &self.args.strides,
            concrete: &self.args.values,
        });
        let trace = builder.finish();
        then(&OpInput {
            kernels: &[self.kernel],
            annotation: self.annotation,
            ..OpInput::new(&trace, self.name, trace.args.get(id).unwrap())
        })
    }
}

/// The result of an op's model for a call.
fn counted(call: &str) -> Option<Modeled> {
    let call = Call::read(call);
    call.input(model(call.name)?.forward)
}

/// The same without recorded values.
fn without_values(call: &str) -> Option<Modeled> {
    let mut call = Call::read(call);
    call.args.values.clear();
    call.input(model(call.name)?.forward)
}

/// Checks a case: a call, `->`, its operations and bytes as expressions of user models (`?` if unknown), and the units
/// if they matter. `none` is a call without work.
fn check(case: &str) -> Result<(), String> {
    let (call, expected) = case.rsplit_once(" -> ").ok_or("no `->`")?;
    let op = Call::read(call).name;
    model(op).ok_or("no model of this name")?;
    let found = counted(call).map(|modeled| modeled.work);
    let (flops, bytes, unit) = match expected.split(" | ").collect::<Vec<_>>()[..] {
        ["none"] if found.is_none() => return Ok(()),
        [flops, bytes] => (flops, bytes, None),
        [flops, bytes, unit] => (flops, bytes, Some(unit)),
        _ => return Err(format!("{found:?}")),
    };
    let bytes = bytes.replace('?', "in99");
    let same = format!("[[model]]\nop = '{op}'\nflops = '{flops}'\nbytes = '{bytes}'");
    let same = UserModels::parse(&same).map_err(|error| error.to_string())?;
    let expected = Call::read(call).input(|input| same.work(input).flatten());
    let figures = |work: Option<Work>| work.map(|work| (work.flops, work.bytes));
    let spec = found.and_then(|work| work.compute).map(ComputeSpec::label);
    let is_unit = unit.is_none_or(|unit| spec.as_deref().unwrap_or("none") == unit);
    match is_unit && figures(found) == figures(expected) {
        true => Ok(()),
        false => Err(format!("{found:?} {spec:?}")),
    }
}

#[test]
fn every_formula_counts_as_by_hand() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/perf/tests");
    let mut wrong = Vec::new();
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let lines = (1..).zip(text.lines());
        for (line, case) in lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
            if let Err(why) = check(case) {
                wrong.push(format!("{}:{line}: {why} in {case}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_case_that_says_nothing_fails() {
    for case in [
        "aten::mm(2x3, 3x4)",
        "aten::mm(2x3, 3x4) -> none",
        "aten::mm(2x3, 3x4) -> 48",
        "aten::mm(2x3, 3x4) -> 48 | 2*(6 + 12",
        "aten::mm(2x3, 3x4) -> 49 | 52",
        "aten::mm(2x3, 3x4) -> 48 | 52 | matrix_fp4",
        "aten::mn(2x3, 3x4) -> none",
    ] {
        assert!(check(case).is_err(), "{case}");
    }
    assert_eq!(check("aten::mm(2x3, 3x4) -> 48 | 52 | matrix_bf16"), Ok(()));
}

/// TraceLens leaves out the diagonal of context: 2 · (4 + 4) · (2·144 − 80 + 2·30).
#[test]
fn sheets_keep_the_reference_s_count_of_packed_attention() {
    let call = "vllm::unified_attention_with_output(14x2x4:c10::Half, 14x1x4:c10::Half*2) in execute_14_context_2(sq12sk20sqsq80sqsk144)_generation_2(sq2sk30sqsq2sqsk30)";
    let modeled = counted(call).unwrap();
    let in_sheets = |flops| {
        modeled
            .in_sheets(Work {
                flops,
                ..modeled.work
            })
            .flops
    };
    assert_eq!((modeled.work.flops, in_sheets(4480.0)), (4480.0, 4288.0));
    // Work from a user's model is unchanged.
    assert_eq!((in_sheets(1.0), in_sheets(2.0)), (1.0, 2.0));
}

/// A row that is repeated by a stride of zero is read once; TraceLens reads all of it.
#[test]
fn sheets_keep_the_reference_s_bytes_of_repeated_elements() {
    let repeated = [
        ("aten::copy_(4x8:float, 4x8@0x1:float)", 128.0 + 32.0, 256.0),
        (
            "aten::add(4x8:float, 4x8@0x1:float, =1)",
            256.0 + 32.0,
            384.0,
        ),
    ];
    for (call, own, theirs) in repeated {
        let modeled = counted(call).unwrap();
        assert_eq!(modeled.work.bytes, Some(own), "{call}");
        let in_sheets = modeled.in_sheets(modeled.work);
        assert_eq!(in_sheets.bytes, Some(theirs), "{call}");
    }
}

/// TraceLens assumes an attention mask; its K counts elements of packed weights, and bytes of packed pairs.
#[test]
fn parameters_are_read_as_the_reference_reads_them() {
    #[rustfmt::skip]
    let cases = [
        ("flash_attn::_flash_attn_backward(1x4x1x8*5, 1x1x4:float, 1x4x1x8*3, =0., =1., =False)", "causal", Param::Flag(true)),
        ("sglang_profiler::fused_moe_triton_kernels_invoke_fused_moe_kernel(3x8, 4x5x4:unsigned char, _*6, 3x1:int)", "K", Param::Int(4.0)),
        ("aten::_scaled_mm(2x3:c10::Float4_e2m1fn_x2, 3x4:c10::Float4_e2m1fn_x2, 1:float, 1:float, _*3)", "K", Param::Int(3.0)),
    ];
    for (call, name, value) in cases {
        let params = counted(call).unwrap().params;
        assert!(params.contains(&(name, value)), "{call}");
    }
}

#[test]
fn parameters_are_written_as_the_reference_writes_them() {
    #[rustfmt::skip]
    let cases = [
        ("aten::mm(141x512@512x1, 512x64@1x512) by Cijk_Alik_Bljk_BBS",
         "{'M': 141, 'N': 64, 'K': 512, 'bias': False, 'stride_A': (512, 1), 'stride_B': (1, 512), 'dtype_A_B': ('c10::BFloat16', 'c10::BFloat16'), 'B': 1, 'transpose': (True, False)}"),
        ("aten::mean(2x3:float, =[-1], =True)",
         "{'num_input_elems': 6, 'num_output_elems': 1, 'dtype_in_out': ('float', None), 'reduce_type': 'mean'}"),
    ];
    for (call, expected) in cases {
        assert_eq!(python_dict(&counted(call).unwrap().params), expected);
    }
}

#[test]
fn what_values_would_tell_is_unknown_without_them() {
    for call in [
        "aten::_scaled_dot_product_flash_attention(1x1x4x8:float*3, _*2)",
        "aten::convolution(1x2x8, 5x2x3, _)",
    ] {
        assert_eq!(without_values(call), None);
    }
}

#[test]
fn many_tokens_choose_no_more_experts_than_there_are() {
    for tokens in [2047_u32, 2048] {
        let call = |all: &str| {
            let ids = format!("{tokens}x8:float, {tokens}x8:int");
            counted(&format!(
                "vllm::outplace_fused_experts({tokens}x2, 2x6x2, 2x2x3, {ids}, {all})"
            ))
        };
        assert!(call("_").is_none());
        let bytes = call("=256").and_then(|modeled| modeled.work.bytes);
        let all = 2.0 * (2.0 * 2.0 * f64::from(tokens) + 36.0);
        assert!(
            bytes.is_some_and(|bytes| (bytes - all).abs() < 1e-6),
            "{bytes:?}"
        );
    }
}

#[test]
fn the_table_names_each_op_once_and_has_what_the_reference_has() {
    let names: Vec<&str> = table::models().map(|model| model.op).collect();
    for pair in names.windows(2) {
        assert!(pair[0] < pair[1], "{} is listed twice", pair[1]);
    }
    for model in table::models() {
        let known = known_ops().any(|op| op.name == model.op && op.modeled);
        assert_eq!(known, model.is_reference, "{}", model.op);
    }
    let n_modeled = known_ops().filter(|op| op.modeled).count();
    let n_reference = table::models().filter(|model| model.is_reference).count();
    assert_eq!(n_modeled, n_reference);
}

#[test]
fn what_is_not_recorded_has_no_work() {
    for dims in ["", "[]", "[[]]", "[[[2],[3]]]", "[[-1,-2],[3]]"] {
        for model in table::models().chain(table::prefix_models()) {
            let mut call = Call::read(model.op);
            call.args.dims = dims.to_owned();
            let bytes = call
                .input(model.forward)
                .and_then(|modeled| modeled.work.bytes);
            assert!(bytes.is_none_or(|bytes| bytes >= 0.0), "{}", model.op);
        }
    }
    assert_eq!(check("aten::mm(2x3) -> none"), Ok(()));
}
