//! The arguments of a package's calls: names, values, and how tensors are filled.

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
        ("aten::addmm", "8, 4x2, 2x8, =1*2", "", "self:Tensor=[8]normal mat1:Tensor=[4,2]normal mat2:Tensor=[2,8]normal * beta:Scalar=1 alpha:Scalar=1"),
        ("aten::addmm", "8:float, 4x2:float, 2x8:float, =1*2, 4x8:float", "out", "self:Tensor=[8]normal mat1:Tensor=[4,2]normal mat2:Tensor=[2,8]normal * beta:Scalar=1 alpha:Scalar=1 out:Tensor=[4,8]-"),
        ("aten::div", "3x4:float, =64", "Scalar", "self:Tensor=[3,4]uniform other:Scalar=64"),
        // The dimensions of a sum are a list, of which none means all.
        ("aten::sum", "8x10:float, =[0], =True, _", "dim_IntList", "self:Tensor=[8,10]normal dim:int[]?=[0] keepdim:bool=true * dtype:ScalarType?=null"),
        // The sequences are not packed: the tensor of their starts is undefined.
        ("aten::_scaled_dot_product_flash_attention_backward", "1x2x8x4:float*5, 1x2x8:float, _*2, =8*2, =0., =True, 2:unsigned long, ():unsigned long, =0.5", "", "grad_out:Tensor=[1,2,8,4]normal query:Tensor=[1,2,8,4]normal key:Tensor=[1,2,8,4]normal value:Tensor=[1,2,8,4]normal out:Tensor=[1,2,8,4]normal logsumexp:Tensor=[1,2,8]uniform cum_seq_q:Tensor=null cum_seq_k:Tensor=null max_q:int=8 max_k:int=8 dropout_p:float=0.0 is_causal:bool=true philox_seed:Tensor=[2]randint8 philox_offset:Tensor=[]randint8 * scale:float?=0.5"),
        // Indices are less than the number of rows in the table.
        ("aten::embedding", "100x8:float, 2x5:long int, =0, =False*2", "", "weight:Tensor=[100,8]normal indices:Tensor=[2,5]randint100 padding_idx:int=0 scale_grad_by_freq:bool=false sparse:bool=false"),
        // The last dimension of three, as -1.
        ("aten::gather", "4x5x6:float, =-1, 4x5x2:long int, =False", "", "self:Tensor=[4,5,6]normal dim:int=-1 index:Tensor=[4,5,2]randint6 * sparse_grad:bool=false"),
        ("aten::copy_", "4:float, 4:c10::Half, =False", "", "self:Tensor=[4]- src:Tensor=[4]normal non_blocking:bool=false"),
        ("aten::cat", "[2x3 2x5], =1", "", "tensors:Tensor[]=[2,3]+[2,5] dim:int=1"),
        ("aten::masked_fill", "4:float, 4:bool, =-inf", "Scalar", r#"self:Tensor=[4]normal mask:Tensor=[4]bernoulli value:Scalar="-inf""#),
        // A convolution without a bias.
        ("aten::convolution", "1x3x8x8:float, 4x3x3x3:float, _, =[1, 1], =[0, 0], =[1, 1], =False, =[0, 0], =1", "", "input:Tensor=[1,3,8,8]normal weight:Tensor=[4,3,3,3]normal bias:Tensor?=null stride:int[]=[1,1] padding:int[]=[0,0] dilation:int[]=[1,1] transposed:bool=false output_padding:int[]=[0,0] groups:int=1"),
        ("aten::bernoulli", "64:float, _", "", "self:Tensor=[64]probability * generator:Generator?=null"),
        // An older PyTorch, whose gelu had no other arguments.
        ("aten::gelu", "4:float", "", "self:Tensor=[4]normal"),
    ];
    for (op, args, overload, expected) in cases {
        let entry = entry(op, args);
        assert_eq!(arguments(&entry), expected);
        assert_eq!(entry["overload"], overload, "{op}");
    }
}

/// Three sequences of seven queries and nine keys in total, and four groups that share the rows.
#[test]
fn packed_sequences_and_groups_are_as_long_as_what_they_share() {
    #[rustfmt::skip]
    let cases = [
        ("aten::_efficient_attention_forward", "1x7x2x8, 1x9x2x8*2, _, 4:int*2, =3*2, =0., =0, =False", ["[4]cumulative7", "[4]cumulative9"]),
        ("flash_attn::_flash_attn_varlen_forward", "7x2x8, 9x2x8*2, 4:int*2", ["[4]cumulative7", "[4]cumulative9"]),
        // The gradient of the result comes first; a tensor with one length per sequence is not a list of starts.
        ("flash_attn::_flash_attn_varlen_backward", "7x2x8*2, 9x2x8, 4:int, 3:int", ["[4]cumulative7", "[3]randint1"]),
        ("aten::_grouped_mm", "64x8, 4x8x16, 4:int, _*2", ["[4]group_ends64", "null"]),
    ];
    for (op, args, expected) in cases {
        let written = arguments(&entry(op, args));
        let mut values = written.split(' ').filter_map(|one| one.split_once('='));
        for expected in expected {
            // In order.
            let is_there = values.any(|(_, value)| value == expected);
            assert!(is_there, "{op}: no {expected} in {written}");
        }
    }
}

#[test]
fn what_is_not_in_the_table_is_guessed() {
    let entry = entry("vllm::rms_norm", "4x8, 8, =1e-06, _, 16:long int");
    let guessed = "arg0:Tensor=[4,8]normal arg1:Tensor=[8]normal arg2:float=1e-6 arg3:None=null arg4:Tensor=[16]randint1";
    assert_eq!(arguments(&entry), guessed);
    assert_eq!(entry["overload"], Value::Null);
    assert!(entry["notes"][0].as_str().unwrap().contains("--import"));
}

#[test]
fn factors_without_a_value_are_taken_as_their_defaults_and_said() {
    let entry = entry("aten::addmm", "8:float, 4x2:float, 2x8:float, _:Scalar*2");
    assert!(arguments(&entry).ends_with("* beta:Scalar=1 alpha:Scalar=1"));
    let said = ["beta", "alpha"]
        .map(|name| format!("The value of {name} was not recorded; its default 1 is used."));
    assert_eq!(entry["notes"], json!(said));
}

#[test]
fn lists_are_filled_as_their_types_want_it() {
    // Parameters, an empty list, and the counters of steps.
    let adam = entry("aten::_fused_adamw_", "[8x8 8], [], [() ()], =0.001");
    let values: Vec<&Value> = adam["replay_ir"]["list_pos_args"]
        .as_array()
        .unwrap()
        .iter()
        .map(|argument| &argument["value"])
        .collect();
    assert_eq!(values[1], &json!([]));
    assert_eq!(values[2][0]["dtype"], "float");
    assert_eq!(values[2][0]["init"], "uniform");
    // The most common type of the trace is used for lists: integers are not filled with normally distributed values.
    let sort = "64:long int, =-1, =False";
    let cat = "[2x3 2x5], =1";
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
        "4x2@2x1:c10::Float8_e4m3fn, 2x8@1x2:c10::Float8_e4m3fn",
    );
    assert_eq!(
        entry["replay_ir"]["list_pos_args"][1]["value"],
        json!({ "shape": [2, 8], "dtype": "c10::Float8_e4m3fn", "strides": [1, 2], "init": "normal" })
    );
}

/// Indices are within the table; bags share the indices; experts and cache slots are those of the call.
#[test]
fn indices_lie_within_what_they_point_at() {
    #[rustfmt::skip]
    let cases = [
        ("aten::_embedding_bag", "1000x64:float, 4096:long int, 64:long int, =False, =0, =False, _, =False, =-1", ["[4096]randint1000", "[64]cumulative4096"]),
        ("aten::index_copy_", "8x512x64:float, =1, 3:long int, 8x3x64:float", ["[3]randint512", "[8,3,64]normal"]),
        ("aten::take", "8x16:float, 3:long int", ["[3]randint128", "[8,16]normal"]),
        ("vllm::outplace_fused_experts", "4x64, 16x128x64, 16x64x64, 4x2:float, 4x2:int", ["[4,2]randint16", "[4,2]normal"]),
        ("_C_cache_ops::reshape_and_cache_flash", "4x2x8:float*2, 10x16x2x8:float*2, 4:long int", ["[4]randint160", "[4,2,8]normal"]),
    ];
    for (op, args, expected) in cases {
        let entry = entry(op, args);
        let written = arguments(&entry);
        for value in expected {
            assert!(written.contains(value), "{op}: {written}");
        }
        assert!(!entry.to_string().contains("filled with 0"), "{op}");
    }
    let unknown = entry("my::pick", "8x16:float, 3:long int");
    assert!(unknown.to_string().contains("filled with 0"), "{unknown}");
}
