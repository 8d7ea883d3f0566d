//! What a call of a package gets: names, values, and what tensors are filled with.

use serde_json::{Value, json};

use super::{entries, entry, packed};
use crate::testing::Timetable;

/// The arguments as "name:type=value", keywords after a star; a tensor as its shape and filling.
fn arguments(entry: &Value) -> String {
    let argument = |argument: &Value| {
        let value = match &argument["value"] {
            Value::Object(tensor) => {
                let filled = tensor["init"].as_str().unwrap_or("-");
                let high = tensor.get("high").map_or(String::new(), Value::to_string);
                format!("{}{filled}{high}", tensor["shape"])
            }
            Value::Array(list) if list.iter().any(Value::is_object) => {
                let shapes = list.iter().map(|one| one["shape"].to_string());
                shapes.collect::<Vec<_>>().join("+")
            }
            other => other.to_string(),
        };
        let [name, of] = ["arg_name", "arg_type"].map(|key| argument[key].as_str().unwrap());
        format!("{name}:{of}={value}")
    };
    let lists = ["list_pos_args", "list_kwargs"].map(|key| &entry["replay_ir"][key]);
    let lists = lists.map(|list| list.as_array().unwrap().iter().map(argument));
    let [mut all, keywords] = lists.map(|list| list.collect::<Vec<String>>());
    if !keywords.is_empty() {
        all.push("*".to_owned());
    }
    all.extend(keywords);
    all.join(" ")
}

#[test]
fn arguments_get_the_names_of_the_overload_that_fits() {
    #[rustfmt::skip]
    let cases = [
        ("aten::addmm", r#""Input Dims": [[8], [4, 2], [2, 8], [], []], "Input type": ["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "Scalar", "Scalar"], "Concrete Inputs": ["", "", "", "1", "1"]"#, "", "self:Tensor=[8]normal mat1:Tensor=[4,2]normal mat2:Tensor=[2,8]normal * beta:Scalar=1 alpha:Scalar=1"),
        ("aten::addmm", r#""Input Dims": [[8], [4, 2], [2, 8], [], [], [4, 8]], "Input type": ["float", "float", "float", "Scalar", "Scalar", "float"], "Concrete Inputs": ["", "", "", "1", "1", ""]"#, "out", "self:Tensor=[8]normal mat1:Tensor=[4,2]normal mat2:Tensor=[2,8]normal * beta:Scalar=1 alpha:Scalar=1 out:Tensor=[4,8]-"),
        ("aten::div", r#""Input Dims": [[3, 4], []], "Input type": ["float", "Scalar"], "Concrete Inputs": ["", "64"]"#, "Scalar", "self:Tensor=[3,4]uniform other:Scalar=64"),
        // The dimensions of a sum are a list, of which none means all.
        ("aten::sum", r#""Input Dims": [[8, 10], [], [], []], "Input type": ["float", "ScalarList", "Scalar", ""], "Concrete Inputs": ["", "[0]", "True", ""]"#, "dim_IntList", "self:Tensor=[8,10]normal dim:int[]?=[0] keepdim:bool=true * dtype:ScalarType?=null"),
        // The sequences are not packed: where they start is a tensor that is not defined.
        ("aten::_scaled_dot_product_flash_attention_backward", r#""Input Dims": [[1, 2, 8, 4], [1, 2, 8, 4], [1, 2, 8, 4], [1, 2, 8, 4], [1, 2, 8, 4], [1, 2, 8], [], [], [], [], [], [], [2], [], []], "Input type": ["float", "float", "float", "float", "float", "float", "", "", "Scalar", "Scalar", "Scalar", "Scalar", "unsigned long", "unsigned long", "Scalar"], "Concrete Inputs": ["", "", "", "", "", "", "", "", "8", "8", "0.", "True", "", "", "0.5"]"#, "", "grad_out:Tensor=[1,2,8,4]normal query:Tensor=[1,2,8,4]normal key:Tensor=[1,2,8,4]normal value:Tensor=[1,2,8,4]normal out:Tensor=[1,2,8,4]normal logsumexp:Tensor=[1,2,8]uniform cum_seq_q:Tensor=null cum_seq_k:Tensor=null max_q:int=8 max_k:int=8 dropout_p:float=0.0 is_causal:bool=true philox_seed:Tensor=[2]randint8 philox_offset:Tensor=[]randint8 * scale:float?=0.5"),
        // Indices stay below the rows of the table.
        ("aten::embedding", r#""Input Dims": [[100, 8], [2, 5], [], [], []], "Input type": ["float", "long int", "Scalar", "Scalar", "Scalar"], "Concrete Inputs": ["", "", "0", "False", "False"]"#, "", "weight:Tensor=[100,8]normal indices:Tensor=[2,5]randint100 padding_idx:int=0 scale_grad_by_freq:bool=false sparse:bool=false"),
        // The last dimension of three, as -1.
        ("aten::gather", r#""Input Dims": [[4, 5, 6], [], [4, 5, 2], []], "Input type": ["float", "Scalar", "long int", "Scalar"], "Concrete Inputs": ["", "-1", "", "False"]"#, "", "self:Tensor=[4,5,6]normal dim:int=-1 index:Tensor=[4,5,2]randint6 * sparse_grad:bool=false"),
        ("aten::copy_", r#""Input Dims": [[4], [4], []], "Input type": ["float", "c10::Half", "Scalar"], "Concrete Inputs": ["", "", "False"]"#, "", "self:Tensor=[4]- src:Tensor=[4]normal non_blocking:bool=false"),
        ("aten::cat", r#""Input Dims": [[[2, 3], [2, 5]], []], "Input type": ["TensorList", "Scalar"], "Concrete Inputs": ["", "1"]"#, "", "tensors:Tensor[]=[2,3]+[2,5] dim:int=1"),
        ("aten::masked_fill", r#""Input Dims": [[4], [4], []], "Input type": ["float", "bool", "Scalar"], "Concrete Inputs": ["", "", "-inf"]"#, "Scalar", r#"self:Tensor=[4]normal mask:Tensor=[4]bernoulli value:Scalar="-inf""#),
        // A convolution without a bias.
        ("aten::convolution", r#""Input Dims": [[1, 3, 8, 8], [4, 3, 3, 3], [], [], [], [], [], [], []], "Input type": ["float", "float", "", "ScalarList", "ScalarList", "ScalarList", "Scalar", "ScalarList", "Scalar"], "Concrete Inputs": ["", "", "", "[1, 1]", "[0, 0]", "[1, 1]", "False", "[0, 0]", "1"]"#, "", "input:Tensor=[1,3,8,8]normal weight:Tensor=[4,3,3,3]normal bias:Tensor?=null stride:int[]=[1,1] padding:int[]=[0,0] dilation:int[]=[1,1] transposed:bool=false output_padding:int[]=[0,0] groups:int=1"),
        ("aten::bernoulli", r#""Input Dims": [[64], []], "Input type": ["float", ""], "Concrete Inputs": ["", ""]"#, "", "self:Tensor=[64]probability * generator:Generator?=null"),
        // An older PyTorch, whose gelu took nothing else.
        ("aten::gelu", r#""Input Dims": [[4]], "Input type": ["float"]"#, "", "self:Tensor=[4]normal"),
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
    #[rustfmt::skip]
    let cases = [
        ("aten::_efficient_attention_forward", format!(r#""Input Dims": [[1, 7, 2, 8], [1, 9, 2, 8], [1, 9, 2, 8], [], [4], [4], [], [], [], [], []], "Input type": [{three}, "", "int", "int", "Scalar", "Scalar", "Scalar", "Scalar", "Scalar"], "Concrete Inputs": ["", "", "", "", "", "", "3", "3", "0.", "0", "False"]"#), ["[4]cumulative7", "[4]cumulative9"]),
        ("flash_attn::_flash_attn_varlen_forward", format!(r#""Input Dims": [[7, 2, 8], [9, 2, 8], [9, 2, 8], [4], [4]], "Input type": [{three}, "int", "int"]"#), ["[4]cumulative7", "[4]cumulative9"]),
        // The gradient of the result stands first; as many lengths as sequences are no starts.
        ("flash_attn::_flash_attn_varlen_backward", format!(r#""Input Dims": [[7, 2, 8], [7, 2, 8], [9, 2, 8], [4], [3]], "Input type": [{three}, "int", "int"]"#), ["[4]cumulative7", "[3]randint1"]),
        ("aten::_grouped_mm", format!(r#""Input Dims": [[64, 8], [4, 8, 16], [4], [], []], "Input type": [{half}, {half}, "int", "", ""]"#), ["[4]group_ends64", "null"]),
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
    let sort = r#""Input Dims": [[64], [], []], "Input type": ["long int", "Scalar", "Scalar"], "Concrete Inputs": ["", "-1", "False"]"#;
    let cat = r#""Input Dims": [[[2, 3], [2, 5]], []], "Input type": ["TensorList", "Scalar"], "Concrete Inputs": ["", "1"]"#;
    let both = Timetable::new()
        .call("aten::sort", sort, "sort", 100..1_100)
        .call("aten::cat", cat, "cat", 1_100..2_000);
    let cat = &entries(&packed(both))[1]["replay_ir"]["list_pos_args"][0]["value"];
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

/// What is looked up lies within the table; bags share the indices; experts and places of a cache are
/// those of the call.
#[test]
fn indices_lie_within_what_they_point_at() {
    #[rustfmt::skip]
    let cases = [
        ("aten::_embedding_bag", r#""Input Dims": [[1000, 64], [4096], [64], [], [], [], [], [], []], "Input type": ["float", "long int", "long int", "Scalar", "Scalar", "Scalar", "", "Scalar", "Scalar"], "Concrete Inputs": ["", "", "", "False", "0", "False", "", "False", "-1"]"#, ["[4096]randint1000", "[64]cumulative4096"]),
        ("aten::index_copy_", r#""Input Dims": [[8, 512, 64], [], [3], [8, 3, 64]], "Input type": ["float", "Scalar", "long int", "float"], "Concrete Inputs": ["", "1", "", ""]"#, ["[3]randint512", "[8,3,64]normal"]),
        ("aten::take", r#""Input Dims": [[8, 16], [3]], "Input type": ["float", "long int"]"#, ["[3]randint128", "[8,16]normal"]),
        ("vllm::outplace_fused_experts", r#""Input Dims": [[4, 64], [16, 128, 64], [16, 64, 64], [4, 2], [4, 2]], "Input type": ["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "float", "int"]"#, ["[4,2]randint16", "[4,2]normal"]),
        ("_C_cache_ops::reshape_and_cache_flash", r#""Input Dims": [[4, 2, 8], [4, 2, 8], [10, 16, 2, 8], [10, 16, 2, 8], [4]], "Input type": ["float", "float", "float", "float", "long int"]"#, ["[4]randint160", "[4,2,8]normal"]),
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
