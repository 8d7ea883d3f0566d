//! From a trace to the calls of its package.

use serde_json::{Value, json};

use super::*;
use crate::import::import;
use crate::profile::Profile;
use crate::report::{Report, ReportOptions};
use crate::testing::{Timetable, options_on};

/// One operator that takes a millisecond.
fn profile(op: &str, args: &str) -> Profile {
    Timetable::new()
        .op(op, 0..10)
        .args(args)
        .launch(1, 1..2)
        .kernel(1, "kernel", 100..1_100)
        .profile()
}

fn package(op: &str, args: &str) -> Package {
    let profile = profile(op, args);
    let report = Report::new(&profile, &ReportOptions::default());
    Package::new(&profile, &report)
}

fn entry(op: &str, args: &str) -> Value {
    let package = package(op, args);
    assert_eq!(package.left_out, [], "{op}");
    let entries: Vec<Value> = serde_json::from_slice(&package.ir()).unwrap();
    assert_eq!(entries.len(), 1, "{op}");
    entries[0].clone()
}

/// The arguments as "name:type=value", keywords after a star; a tensor as its shape and filling.
fn arguments(entry: &Value) -> String {
    let of = |key: &str| {
        let all = entry["replay_ir"][key].as_array().unwrap().clone();
        all.into_iter().map(|argument| {
            let value = match &argument["value"] {
                Value::Object(tensor) => format!(
                    "{}{}{}",
                    tensor["shape"],
                    tensor["init"].as_str().unwrap_or("-"),
                    tensor.get("high").map_or(String::new(), Value::to_string)
                ),
                Value::Array(list) if list.iter().any(Value::is_object) => {
                    let shapes: Vec<String> =
                        list.iter().map(|one| one["shape"].to_string()).collect();
                    shapes.join("+")
                }
                other => other.to_string(),
            };
            let name = argument["arg_name"].as_str().unwrap();
            format!("{name}:{}={value}", argument["arg_type"].as_str().unwrap())
        })
    };
    let keywords: Vec<String> = of("list_kwargs").collect();
    let mut all: Vec<String> = of("list_pos_args").collect();
    if !keywords.is_empty() {
        all.push("*".to_owned());
    }
    all.extend(keywords);
    all.join(" ")
}

#[test]
fn arguments_get_the_names_of_the_overload_that_fits() {
    let cases = [
        (
            "aten::addmm",
            r#""Input Dims": [[8], [4, 2], [2, 8], [], []], "Input type": ["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "Scalar", "Scalar"], "Concrete Inputs": ["", "", "", "1", "1"]"#,
            "",
            "self:Tensor=[8]normal mat1:Tensor=[4,2]normal mat2:Tensor=[2,8]normal * beta:Scalar=1 alpha:Scalar=1",
        ),
        (
            "aten::addmm",
            r#""Input Dims": [[8], [4, 2], [2, 8], [], [], [4, 8]], "Input type": ["float", "float", "float", "Scalar", "Scalar", "float"], "Concrete Inputs": ["", "", "", "1", "1", ""]"#,
            "out",
            "self:Tensor=[8]normal mat1:Tensor=[4,2]normal mat2:Tensor=[2,8]normal * beta:Scalar=1 alpha:Scalar=1 out:Tensor=[4,8]-",
        ),
        (
            "aten::div",
            r#""Input Dims": [[3, 4], []], "Input type": ["float", "Scalar"], "Concrete Inputs": ["", "64"]"#,
            "Scalar",
            "self:Tensor=[3,4]uniform other:Scalar=64",
        ),
        // The dimensions of a sum are a list, of which none means all.
        (
            "aten::sum",
            r#""Input Dims": [[8, 10], [], [], []], "Input type": ["float", "ScalarList", "Scalar", ""], "Concrete Inputs": ["", "[0]", "True", ""]"#,
            "dim_IntList",
            "self:Tensor=[8,10]normal dim:int[]?=[0] keepdim:bool=true * dtype:ScalarType?=null",
        ),
        // The sequences are not packed: where they start is a tensor that is not defined.
        (
            "aten::_scaled_dot_product_flash_attention_backward",
            r#""Input Dims": [[1, 2, 8, 4], [1, 2, 8, 4], [1, 2, 8, 4], [1, 2, 8, 4], [1, 2, 8, 4], [1, 2, 8], [], [], [], [], [], [], [2], [], []], "Input type": ["float", "float", "float", "float", "float", "float", "", "", "Scalar", "Scalar", "Scalar", "Scalar", "unsigned long", "unsigned long", "Scalar"], "Concrete Inputs": ["", "", "", "", "", "", "", "", "8", "8", "0.", "True", "", "", "0.5"]"#,
            "",
            "grad_out:Tensor=[1,2,8,4]normal query:Tensor=[1,2,8,4]normal key:Tensor=[1,2,8,4]normal value:Tensor=[1,2,8,4]normal out:Tensor=[1,2,8,4]normal logsumexp:Tensor=[1,2,8]uniform cum_seq_q:Tensor=null cum_seq_k:Tensor=null max_q:int=8 max_k:int=8 dropout_p:float=0.0 is_causal:bool=true philox_seed:Tensor=[2]randint8 philox_offset:Tensor=[]randint8 * scale:float?=0.5",
        ),
        // Indices stay below the rows of the table.
        (
            "aten::embedding",
            r#""Input Dims": [[100, 8], [2, 5], [], [], []], "Input type": ["float", "long int", "Scalar", "Scalar", "Scalar"], "Concrete Inputs": ["", "", "0", "False", "False"]"#,
            "",
            "weight:Tensor=[100,8]normal indices:Tensor=[2,5]randint100 padding_idx:int=0 scale_grad_by_freq:bool=false sparse:bool=false",
        ),
        // The last dimension of three, as -1.
        (
            "aten::gather",
            r#""Input Dims": [[4, 5, 6], [], [4, 5, 2], []], "Input type": ["float", "Scalar", "long int", "Scalar"], "Concrete Inputs": ["", "-1", "", "False"]"#,
            "",
            "self:Tensor=[4,5,6]normal dim:int=-1 index:Tensor=[4,5,2]randint6 * sparse_grad:bool=false",
        ),
        (
            "aten::copy_",
            r#""Input Dims": [[4], [4], []], "Input type": ["float", "c10::Half", "Scalar"], "Concrete Inputs": ["", "", "False"]"#,
            "",
            "self:Tensor=[4]- src:Tensor=[4]normal non_blocking:bool=false",
        ),
        (
            "aten::cat",
            r#""Input Dims": [[[2, 3], [2, 5]], []], "Input type": ["TensorList", "Scalar"], "Concrete Inputs": ["", "1"]"#,
            "",
            "tensors:Tensor[]=[2,3]+[2,5] dim:int=1",
        ),
        (
            "aten::masked_fill",
            r#""Input Dims": [[4], [4], []], "Input type": ["float", "bool", "Scalar"], "Concrete Inputs": ["", "", "-inf"]"#,
            "Scalar",
            r#"self:Tensor=[4]normal mask:Tensor=[4]bernoulli value:Scalar="-inf""#,
        ),
        // A convolution without a bias.
        (
            "aten::convolution",
            r#""Input Dims": [[1, 3, 8, 8], [4, 3, 3, 3], [], [], [], [], [], [], []], "Input type": ["float", "float", "", "ScalarList", "ScalarList", "ScalarList", "Scalar", "ScalarList", "Scalar"], "Concrete Inputs": ["", "", "", "[1, 1]", "[0, 0]", "[1, 1]", "False", "[0, 0]", "1"]"#,
            "",
            "input:Tensor=[1,3,8,8]normal weight:Tensor=[4,3,3,3]normal bias:Tensor?=null stride:int[]=[1,1] padding:int[]=[0,0] dilation:int[]=[1,1] transposed:bool=false output_padding:int[]=[0,0] groups:int=1",
        ),
        (
            "aten::bernoulli",
            r#""Input Dims": [[64], []], "Input type": ["float", ""], "Concrete Inputs": ["", ""]"#,
            "",
            "self:Tensor=[64]probability * generator:Generator?=null",
        ),
        // An older PyTorch, whose gelu took nothing else.
        (
            "aten::gelu",
            r#""Input Dims": [[4]], "Input type": ["float"]"#,
            "",
            "self:Tensor=[4]normal",
        ),
    ];
    for (op, args, overload, expected) in cases {
        let entry = entry(op, args);
        assert_eq!(arguments(&entry), expected);
        assert_eq!(entry["overload"], overload, "{op}");
    }
}

/// Three sequences of seven queries and nine keys in all, and four groups that share the rows.
#[test]
fn packed_sequences_and_groups_are_as_long_as_what_they_share() {
    let half = "\"c10::BFloat16\"";
    let three = [half; 3].join(", ");
    let cases = [
        (
            "aten::_efficient_attention_forward",
            format!(
                r#""Input Dims": [[1, 7, 2, 8], [1, 9, 2, 8], [1, 9, 2, 8], [], [4], [4], [], [], [], [], []], "Input type": [{three}, "", "int", "int", "Scalar", "Scalar", "Scalar", "Scalar", "Scalar"], "Concrete Inputs": ["", "", "", "", "", "", "3", "3", "0.", "0", "False"]"#
            ),
            ["[4]cumulative7", "[4]cumulative9"],
        ),
        (
            "flash_attn::_flash_attn_varlen_forward",
            format!(
                r#""Input Dims": [[7, 2, 8], [9, 2, 8], [9, 2, 8], [4], [4]], "Input type": [{three}, "int", "int"]"#
            ),
            ["[4]cumulative7", "[4]cumulative9"],
        ),
        // The gradient of the result stands first; as many lengths as sequences are no starts.
        (
            "flash_attn::_flash_attn_varlen_backward",
            format!(
                r#""Input Dims": [[7, 2, 8], [7, 2, 8], [9, 2, 8], [4], [3]], "Input type": [{three}, "int", "int"]"#
            ),
            ["[4]cumulative7", "[3]randint1"],
        ),
        (
            "aten::_grouped_mm",
            format!(
                r#""Input Dims": [[64, 8], [4, 8, 16], [4], [], []], "Input type": [{half}, {half}, "int", "", ""]"#
            ),
            ["[4]group_ends64", "null"],
        ),
    ];
    for (op, args, expected) in cases {
        let written = arguments(&entry(op, &args));
        let values: Vec<&str> = written
            .split(' ')
            .filter_map(|argument| argument.split_once('='))
            .map(|(_, value)| value)
            .collect();
        for value in expected {
            assert!(values.contains(&value), "{op}: {written}");
        }
    }
}

#[test]
fn what_is_not_in_the_table_is_guessed() {
    let entry = entry(
        "vllm::rms_norm",
        r#""Input Dims": [[4, 8], [8], [], [], [16]], "Input type": ["c10::BFloat16", "c10::BFloat16", "Scalar", "", "long int"], "Concrete Inputs": ["", "", "1e-06", "", ""]"#,
    );
    assert_eq!(
        arguments(&entry),
        "arg0:Tensor=[4,8]normal arg1:Tensor=[8]normal arg2:float=1e-6 arg3:None=null arg4:Tensor=[16]randint1"
    );
    assert_eq!(entry["overload"], Value::Null);
    assert!(entry["notes"][0].as_str().unwrap().contains("--import"));
}

#[test]
fn factors_without_a_value_are_taken_as_their_defaults_and_said() {
    let entry = entry(
        "aten::addmm",
        r#""Input Dims": [[8], [4, 2], [2, 8], [], []], "Input type": ["float", "float", "float", "Scalar", "Scalar"]"#,
    );
    assert!(arguments(&entry).ends_with("* beta:Scalar=1 alpha:Scalar=1"));
    assert_eq!(
        entry["notes"],
        json!([
            "The value of beta is not recorded: its default 1 is taken.",
            "The value of alpha is not recorded: its default 1 is taken.",
        ])
    );
}

#[test]
fn lists_are_filled_as_their_types_want_it() {
    // Parameters, an empty list, and the counters of steps.
    let adam = entry(
        "aten::_fused_adamw_",
        r#""Input Dims": [[[8, 8], [8]], [], [[], []], []], "Input type": ["TensorList", "TensorList", "TensorList", "Scalar"], "Concrete Inputs": ["", "", "", "0.001"]"#,
    );
    let values: Vec<&Value> = adam["replay_ir"]["list_pos_args"]
        .as_array()
        .unwrap()
        .iter()
        .map(|argument| &argument["value"])
        .collect();
    assert_eq!(values[1], &json!([]));
    assert_eq!(values[2][0]["dtype"], "float");
    assert_eq!(values[2][0]["init"], "uniform");
    // The commonest type of the trace is that of lists: whole numbers are no normal ones.
    let profile = Timetable::new()
        .op("aten::sort", 0..10)
        .args(r#""Input Dims": [[64], [], []], "Input type": ["long int", "Scalar", "Scalar"], "Concrete Inputs": ["", "-1", "False"]"#)
        .launch(1, 1..2)
        .op("aten::cat", 20..30)
        .args(r#""Input Dims": [[[2, 3], [2, 5]], []], "Input type": ["TensorList", "Scalar"], "Concrete Inputs": ["", "1"]"#)
        .launch(2, 21..22)
        .kernel(1, "sort", 100..1_100)
        .kernel(2, "cat", 1_100..2_000)
        .profile();
    let report = Report::new(&profile, &ReportOptions::default());
    let package = Package::new(&profile, &report);
    let entries: Vec<Value> = serde_json::from_slice(&package.ir()).unwrap();
    let cat = &entries[1]["replay_ir"]["list_pos_args"][0]["value"];
    assert_eq!(cat[0]["dtype"], "long int");
    assert_eq!(cat[0]["init"], "randint");
}

#[test]
fn strides_and_types_are_kept() {
    let entry = entry(
        "aten::mm",
        r#""Input Dims": [[4, 2], [2, 8]], "Input type": ["c10::Float8_e4m3fn", "c10::Float8_e4m3fn"], "Input Strides": [[2, 1], [1, 2]]"#,
    );
    assert_eq!(
        entry["replay_ir"]["list_pos_args"][1]["value"],
        json!({ "shape": [2, 8], "dtype": "c10::Float8_e4m3fn", "strides": [1, 2], "init": "normal" })
    );
}

#[test]
fn what_cannot_be_rebuilt_has_a_reason() {
    let tensor = r#""Input Dims": [[4, 2]], "Input type": ["float"]"#;
    let cases = [
        ("aten::mm", "", Reason::NoArguments),
        ("triton_poi_fused_add_0", tensor, Reason::Generated),
        ("ViewBackward0", tensor, Reason::Autograd),
        (
            "autograd::engine::evaluate_function: MmBackward0",
            tensor,
            Reason::Autograd,
        ),
        ("c10d::allreduce_", tensor, Reason::Collective),
        ("a b::c", tensor, Reason::NoOperator),
        ("forward", tensor, Reason::NoOperator),
        (
            "aten::cat",
            r#""Input Dims": [[], []], "Input type": ["TensorList", "Scalar"], "Concrete Inputs": ["", "0"]"#,
            Reason::TensorList,
        ),
        (
            "aten::index",
            r#""Input Dims": [[4, 2], []], "Input type": ["float", ""], "Concrete Inputs": ["", ""]"#,
            Reason::TensorList,
        ),
        (
            "aten::einsum",
            r#""Input Dims": [[], [[4, 2], [2, 4]], []], "Input type": ["", "TensorList", ""], "Concrete Inputs": ["", "", ""]"#,
            Reason::Value(Some("equation")),
        ),
        // Texts are not recorded.
        (
            "aten::scatter_reduce_",
            r#""Input Dims": [[4, 2], [], [4, 2], [4, 2], [], []], "Input type": ["float", "Scalar", "long int", "float", "", "Scalar"], "Concrete Inputs": ["", "0", "", "", "", "True"]"#,
            Reason::Value(Some("reduce")),
        ),
        (
            "aten::conv1d",
            r#""Input Dims": [[1, 3, 8], [4, 3, 3], [], [], [], [], []], "Input type": ["float", "float", "", "ScalarList", "", "ScalarList", "Scalar"], "Concrete Inputs": ["", "", "", "[1]", "", "[1]", "1"]"#,
            Reason::Value(Some("padding")),
        ),
        // PyTorch 2.0 and older record no values: those that make another computation are missed.
        (
            "aten::sum",
            r#""Input Dims": [[8, 16], [], [], []], "Input type": ["float", "ScalarList", "Scalar", ""]"#,
            Reason::Value(Some("dim")),
        ),
        (
            "aten::cat",
            r#""Input Dims": [[[2, 3], [2, 5]], []], "Input type": ["TensorList", "Scalar"]"#,
            Reason::Value(Some("dim")),
        ),
        (
            "vllm::rms_norm",
            r#""Input Dims": [[4, 8], []], "Input type": ["float", "Scalar"]"#,
            Reason::Value(None),
        ),
    ];
    for (op, args, reason) in cases {
        let package = package(op, args);
        assert_eq!(package.entries.len(), 0, "{op}");
        let reasons: Vec<Reason> = package.left_out.iter().map(|left| left.reason).collect();
        assert_eq!(reasons, [reason], "{op}");
        assert!(package.readme().contains(&reason.label()), "{op}");
        assert_eq!(package.ir(), b"[]\n");
    }
}

/// PyTorch 2.0 records no dimension to join along: large and slow as it is, there is nothing to run.
#[test]
fn what_cannot_be_rebuilt_is_not_recommended() {
    let profile = Timetable::new()
        .op("aten::cat", 0..10)
        .args(r#""Input Dims": [[[4096, 4096], [4096, 4096]], []], "Input type": ["TensorList", "Scalar"]"#)
        .launch(1, 1..2)
        .kernel(
            1,
            "void at::native::(anonymous namespace)::CatArrayBatchedCopy<at::native::(anonymous namespace)::OpaqueType<2u>, unsigned int, 2, 128, 1>",
            100..1_100,
        )
        .profile();
    let report = Report::new(&profile, &options_on("H100"));
    let candidates = candidates(&profile, &report);
    assert!(candidates[0].is_recommended, "{candidates:?}");
    let findings = &report.analyses.findings.ranked;
    assert!(!findings.is_empty());
    for one in findings {
        assert_eq!(one.finding.replay, None);
        assert!(!one.finding.kernel.contains("reproducer"), "{one:?}");
    }
    let fair = crate::output::document::markdown(&crate::output::documents::single::fair(
        &profile, &report,
    ));
    let left = "too little to rebuild these:\n\n- `aten::cat` (100 % of compute";
    assert!(fair.replace('\u{202F}', " ").contains(left), "{fair}");
}

/// 4096³ · 2 operations at 708 TFLOPS take 194 µs: a call of 1 ms reaches 19 % of the roof, one of
/// 250 µs 78 %.
fn two_products() -> (Profile, Report) {
    let dims = r#""Input Dims": [[4096, 4096], [4096, 4096]], "Input type": ["c10::BFloat16", "c10::BFloat16"]"#;
    let other =
        r#""Input Dims": [[4096, 4096], [4096, 4096]], "Input type": ["c10::Half", "c10::Half"]"#;
    let profile = Timetable::new()
        .op("aten::mm", 0..10)
        .args(other)
        .launch(1, 1..2)
        .op("aten::mm", 20..30)
        .args(dims)
        .launch(2, 21..22)
        .op("aten::relu", 40..50)
        .args(r#""Input Dims": [[8]], "Input type": ["float"]"#)
        .launch(3, 41..42)
        .kernel(1, "gemm", 100..350)
        .kernel(2, "gemm", 400..1_400)
        .kernel(3, "relu", 1_400..1_402)
        .profile();
    let report = Report::new(&profile, &options_on("MI300X"));
    (profile, report)
}

#[test]
fn large_and_slow_is_recommended_and_large_alone_is_offered() {
    let (profile, report) = two_products();
    let chosen: Vec<(usize, bool, String)> = candidates(&profile, &report)
        .into_iter()
        .map(|chosen| {
            let reason = chosen.reason.replace('\u{202F}', " ");
            (chosen.operation, chosen.is_recommended, reason)
        })
        .collect();
    assert_eq!(
        chosen,
        [
            (
                0,
                true,
                "79.9 % of compute at 19.4 % of roofline".to_owned()
            ),
            (1, false, "20.0 % of compute".to_owned()),
        ]
    );
    let entries: Vec<Value> =
        serde_json::from_slice(&Package::new(&profile, &report).ir()).unwrap();
    assert_eq!(entries[0]["roof"]["bound"], "compute");
    assert_eq!(entries[0]["work"]["flops"], 2.0 * 4096_f64.powi(3));
    assert_eq!(entries[0]["trace"]["mean_us"], 1000.0);
    // Any other can be asked for.
    let small = Package::of_operation(&profile, &report, 2);
    assert_eq!(small.entries[0].name, "aten::relu");
    assert_eq!(Package::of_operation(&profile, &report, 3).entries, []);
}

#[test]
fn the_same_report_gives_the_same_bytes_and_a_readable_archive() {
    let (profile, report) = two_products();
    let zip = Package::new(&profile, &report).zip().unwrap();
    let (profile, report) = two_products();
    assert_eq!(Package::new(&profile, &report).zip().unwrap(), zip);
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(zip)).unwrap();
    let names: Vec<String> = archive
        .file_names()
        .map(|name| name.unwrap().into_owned())
        .collect();
    assert_eq!(names, ["README.md", "batched_replay.py", "replay_ir.json"]);
    let mut text = String::new();
    let mut file = archive.by_name("replay_ir.json").unwrap();
    std::io::Read::read_to_string(&mut file, &mut text).unwrap();
    assert!(serde_json::from_str::<Value>(&text).is_ok());
}

#[test]
fn names_of_modules_stay_out() {
    let trace = Timetable::new()
        .frame("nn.Module: SecretModel_0", 0..100)
        .frame("/home/me/secret.py(7): forward", 1..99)
        .op("aten::mm", 10..90)
        .args(r#""Input Dims": [[4, 2], [2, 8]], "Input type": ["float", "float"]"#)
        .launch(1, 20..21)
        .kernel(1, "gemm", 100..1_100)
        .json();
    let profile = Profile::new(import(trace.as_bytes()).unwrap());
    let report = Report::new(&profile, &ReportOptions::default());
    let package = Package::new(&profile, &report);
    assert_eq!(package.entries.len(), 1);
    let text = String::from_utf8(package.ir()).unwrap() + &package.readme();
    assert!(!text.to_lowercase().contains("secret"), "{text}");
}

/// What is looked up lies within the table; bags share the indices; experts and places of a cache are
/// those of the call.
#[test]
fn indices_lie_within_what_they_point_at() {
    let cases = [
        (
            "aten::_embedding_bag",
            r#""Input Dims": [[1000, 64], [4096], [64], [], [], [], [], [], []], "Input type": ["float", "long int", "long int", "Scalar", "Scalar", "Scalar", "", "Scalar", "Scalar"], "Concrete Inputs": ["", "", "", "False", "0", "False", "", "False", "-1"]"#,
            ["[4096]randint1000", "[64]cumulative4096"],
        ),
        (
            "aten::index_copy_",
            r#""Input Dims": [[8, 512, 64], [], [3], [8, 3, 64]], "Input type": ["float", "Scalar", "long int", "float"], "Concrete Inputs": ["", "1", "", ""]"#,
            ["[3]randint512", "[8,3,64]normal"],
        ),
        (
            "aten::take",
            r#""Input Dims": [[8, 16], [3]], "Input type": ["float", "long int"]"#,
            ["[3]randint128", "[8,16]normal"],
        ),
        (
            "vllm::outplace_fused_experts",
            r#""Input Dims": [[4, 64], [16, 128, 64], [16, 64, 64], [4, 2], [4, 2]], "Input type": ["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "float", "int"]"#,
            ["[4,2]randint16", "[4,2]normal"],
        ),
        (
            "_C_cache_ops::reshape_and_cache_flash",
            r#""Input Dims": [[4, 2, 8], [4, 2, 8], [10, 16, 2, 8], [10, 16, 2, 8], [4]], "Input type": ["float", "float", "float", "float", "long int"]"#,
            ["[4]randint160", "[4,2,8]normal"],
        ),
    ];
    for (op, args, expected) in cases {
        let entry = entry(op, args);
        let written = arguments(&entry);
        for value in expected {
            assert!(written.contains(value), "{op}: {written}");
        }
        assert!(!entry.to_string().contains("taken as 0"), "{op}");
    }
    let unknown = entry(
        "my::pick",
        r#""Input Dims": [[8, 16], [3]], "Input type": ["float", "long int"]"#,
    );
    assert!(unknown.to_string().contains("taken as 0"), "{unknown}");
}
