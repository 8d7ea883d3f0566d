//! One case for each formula, small enough to check by hand.

use super::{ComputeSpec, Modelled, OpInput, Unit, model, table};
use crate::category::KNOWN_OPS;
use crate::trace::{OpArgsText, TraceBuilder};

/// A call: name, shapes, types and values as JSON.
fn modelled(name: &str, dims: &str, types: &str, values: &str) -> Option<Modelled> {
    let kernels: &[&str] = &["CatArrayBatchedCopy<OpaqueType<2u>, unsigned int, 4, 128, 1>"];
    call(name, [dims, types, "", values], kernels)
}

fn call(
    name: &str,
    [dims, types, strides, concrete]: [&str; 4],
    kernels: &[&str],
) -> Option<Modelled> {
    let mut builder = TraceBuilder::default();
    let args = OpArgsText {
        dims,
        types,
        strides,
        concrete,
    };
    let id = builder.op_args(args);
    let trace = builder.finish();
    let input = OpInput {
        kernels,
        ..OpInput::new(&trace, name, trace.args.get(id)?)
    };
    (model(name)?.forward)(&input)
}

const HALF: &str = "c10::BFloat16";

/// Checks operations and bytes of a call whose tensors are all bf16. Shapes: `2x3, 3x4`; an empty
/// one stands for an argument that is no tensor, whose value is given.
#[track_caller]
fn check(name: &str, shapes: &str, values: &[&str], flops: f64, bytes: f64) {
    let shapes: Vec<&str> = shapes.split(", ").collect();
    let dims: Vec<String> = shapes
        .iter()
        .map(|shape| format!("[{}]", shape.replace('x', ",")))
        .collect();
    let types: Vec<&str> = shapes
        .iter()
        .map(|shape| if shape.is_empty() { "Scalar" } else { HALF })
        .collect();
    let mut all = vec![""; shapes.len().max(values.len())];
    let mut rest = values.iter();
    for (value, shape) in all
        .iter_mut()
        .zip(shapes.iter().chain(std::iter::repeat(&"")))
    {
        if shape.is_empty() {
            *value = rest.next().copied().unwrap_or_default();
        }
    }
    let json = |texts: &[&str]| serde_json::to_string(texts).unwrap();
    let dims = format!("[{}]", dims.join(","));
    let found = modelled(name, &dims, &json(&types), &json(&all)).map(|modelled| modelled.work);
    let found = found.map(|work| (work.flops, work.bytes));
    assert_eq!(found, Some((flops, Some(bytes))), "{name}");
}

#[test]
fn the_table_is_sorted_and_has_what_the_reference_has() {
    let names: Vec<&str> = table::MODELS.iter().map(|model| model.op).collect();
    assert!(names.windows(2).all(|pair| pair[0] < pair[1]));
    for model in table::MODELS {
        let known = KNOWN_OPS
            .iter()
            .any(|op| op.name == model.op && op.modelled);
        assert_eq!(known, model.is_reference, "{}", model.op);
    }
    let n_modelled = KNOWN_OPS.iter().filter(|op| op.modelled).count();
    let n_reference = table::MODELS
        .iter()
        .filter(|model| model.is_reference)
        .count();
    assert_eq!(n_modelled, n_reference);
}

#[test]
fn products_of_matrices() {
    // 2·2·3·4 operations; 6 + 12 + 8 elements.
    check("aten::mm", "2x3, 3x4", &[], 48.0, 52.0);
    // One more for each of 8 results, and a row of 4.
    check("aten::addmm", "4, 2x3, 3x4, , ", &["1", "1"], 56.0, 60.0);
    check("aten::bmm", "5x2x3, 5x3x4", &[], 5.0 * 48.0, 5.0 * 52.0);
    check(
        "aten::baddbmm",
        "5x2x4, 5x2x3, 5x3x4",
        &[],
        5.0 * 56.0,
        5.0 * 60.0,
    );
    // Ten rows over three groups: 2·10·4·5; 10·4 + 3·4·5 + 10·5 elements.
    check("aten::_grouped_mm", "10x4, 3x4x5", &[], 400.0, 300.0);
    check("aten::mv", "2x3, 3", &[], 12.0, 22.0);
}

#[test]
fn operands_of_different_types() {
    let int8 = modelled(
        "aten::_int_mm",
        "[[2,3],[3,4]]",
        r#"["signed char","signed char"]"#,
        r#"["",""]"#,
    )
    .unwrap()
    .work;
    // One byte for each of 18 operands, four for each of 8 results.
    assert_eq!((int8.flops, int8.bytes), (48.0, Some(50.0)));
    assert_eq!(int8.compute.map(ComputeSpec::label).unwrap(), "matrix_int8");
    let unknown = modelled(
        "aten::mm",
        "[[2,3],[3,4]]",
        r#"["c10::New","c10::New"]"#,
        "[]",
    )
    .unwrap()
    .work;
    assert_eq!((unknown.bytes, unknown.compute), (None, None));
}

#[test]
fn products_of_libraries() {
    // w is 4 × 3; results of two bytes.
    check(
        "aiter::gemm_a16w16",
        "2x3, 4x3, , ",
        &["", "15"],
        48.0,
        52.0,
    );
    check("aiter::gemm_a8w8_ck", "2x3, 4x3, 2, 4", &[], 48.0, 52.0);
    // Six bytes hold 2 × 6 numbers of four bits, 2·2·6·4 operations; 6 + 12 bytes of operands as
    // packed, a scale for each of 6 rows, 8 results of two bytes.
    check("aiter::gemm_a4w4", "2x3, 4x3", &[], 96.0, 40.0);
    // 5 rows go to 3 matrices of 2 × 4.
    check(
        "primus_turbo::grouped_gemm",
        "5x2, 3x2x4, 3",
        &[],
        80.0,
        2.0 * (10.0 + 24.0 + 20.0),
    );
    check(
        "primus_turbo::grouped_gemm_variable_k",
        "5x2, 5x4, 3",
        &[],
        80.0,
        2.0 * (30.0 + 24.0),
    );
}

#[test]
fn mixtures_of_experts() {
    // One token of 2 chooses one of 4 experts: three products of 2 × 3, and its result weighted.
    // Both ends, and three matrices of one expert.
    check(
        "pseudo_op::moe_aiter_fused_1stage",
        "1x2, 4x6x2, 4x2x3, 1x1",
        &[],
        38.0,
        2.0 * (4.0 + 18.0),
    );
    check(
        "aiter::moe_cktile2stages_gemm1_ck",
        "1x2, 4x6x2, 4x2x3, 1x1",
        &[],
        24.0,
        2.0 * (2.0 + 12.0 + 3.0),
    );
    check(
        "aiter::moe_cktile2stages_gemm2_ck",
        "1x2, 4x6x2, 4x2x3, 1x1",
        &[],
        12.0,
        2.0 * (3.0 + 6.0 + 2.0),
    );
    check("MoEDispatch", "8x4", &[], 0.0, 64.0);
}

#[test]
fn kernels_of_serving_engines() {
    // 8 + 4 numbers are turned, read and written.
    check(
        "sgl_kernel::rotary_embedding",
        "2, 2x4, 2x2, , 9x2",
        &["2"],
        36.0,
        48.0,
    );
    check(
        "sglang::store_cache",
        "2x4, 2x4, 9x4, 9x4, 2",
        &[],
        0.0,
        64.0,
    );
    check("_C_custom_ar::all_reduce", ", 2x4", &["1"], 0.0, 32.0);
    // A row of 8 in groups of 4: a byte each, two scales of four.
    check(
        "vllm::triton_per_token_group_quant_fp8",
        "1x8, ",
        &["4"],
        48.0,
        32.0,
    );
    // 8 results of two taps.
    check(
        "DaoAILab::_causal_conv1d_fwd_cpp",
        "1x2x4, 2x2, 2",
        &[],
        32.0,
        2.0 * (16.0 + 4.0 + 2.0),
    );
    // Two requests of 3 tokens each, all new: 2 · 2·4.5·(2 + 2); room for 7 keys, 6 in use.
    check(
        "aiter::mha_batch_prefill",
        "6x1x2, 99x1x2, 99x1x2, 3, 3, 7, , , , , , , ",
        &["3", "3", "0.", "1.", "0.", "False", "True"],
        72.0,
        2.0 * 4.0 * 12.0,
    );
}

#[test]
fn annotations_tell_how_long_requests_are() {
    let mut builder = TraceBuilder::default();
    let id = builder.op_args(OpArgsText {
        dims: "[[3,2,4],[3,1,4],[3,1,4]]",
        types: r#"["c10::Half","c10::Half","c10::Half"]"#,
        ..OpArgsText::default()
    });
    let trace = builder.finish();
    let name = "vllm::unified_attention_with_output";
    let mut input = OpInput::new(&trace, name, trace.args.get(id).unwrap());
    let forward = model(name).unwrap().forward;
    assert_eq!(forward(&input), None);
    // Two new tokens of one request, one token of a request that has 5 keys.
    input.annotation = Some("execute_3_context_1(sq2sk2sqsq4sqsk4)_generation_1(sq1sk5sqsq1sqsk5)");
    let work = forward(&input).unwrap().work;
    // 2·(4 + 4)·(2·4 − 4 + 2·5); new: 3·(2 + 1)·8, in the cache: 4·8 numbers.
    assert_eq!((work.flops, work.bytes), (224.0, Some(208.0)));
}

#[test]
fn the_reference_s_parameters_of_a_product() {
    let args = [
        "[[141,512],[512,64]]",
        r#"["c10::BFloat16","c10::BFloat16"]"#,
        "[[512,1],[1,512]]",
        r#"["",""]"#,
    ];
    let params = call("aten::mm", args, &["Cijk_Alik_Bljk_BBS"])
        .unwrap()
        .params;
    assert_eq!(
        super::python_dict(&params),
        "{'M': 141, 'N': 64, 'K': 512, 'bias': False, 'stride_A': (512, 1), 'stride_B': (1, 512), \
         'dtype_A_B': ('c10::BFloat16', 'c10::BFloat16'), 'B': 1, 'transpose': (True, False)}"
    );
}

#[test]
fn element_wise() {
    check("aten::silu", "2x5", &[], 10.0, 40.0);
    // 10 and 5 elements in, 10 out.
    check("aten::mul", "2x5, 5", &[], 10.0, 50.0);
    // A number counts four bytes.
    check("aten::div", "2x5, ", &["49"], 10.0, 44.0);
    check("aten::sub", "2x5, 2x5, ", &["1"], 10.0, 60.0);
    check("aten::where", "2x5, 2x5, 2x5", &[], 10.0, 80.0);
    // A flag for each result.
    check("aten::eq", "2x5, ", &["0"], 10.0, 30.0);
    check("aten::masked_fill_", "2x5, 2x5, ", &["0"], 10.0, 60.0);
    check("aten::fill_", "2x5, ", &["0"], 0.0, 20.0);
    // 20 results from 10 elements.
    check("aten::upsample_nearest1d", "1x2x5, ", &["[10]"], 20.0, 60.0);
    check(
        "aten::replication_pad1d",
        "1x2x5, ",
        &["[1, 2]"],
        16.0,
        52.0,
    );
    // Half of the input is the gate.
    check("_C::silu_and_mul", "2x5, 2x10", &[], 50.0, 60.0);
    // 0, 2, 4, 6, 8.
    check("aten::arange", ", , , 0", &["0", "10", "2"], 5.0, 10.0);
}

#[test]
fn copies_take_the_sizes_of_both_types() {
    let copy = modelled(
        "aten::copy_",
        "[[8],[8],[]]",
        r#"["float","bool","Scalar"]"#,
        r#"["","","False"]"#,
    );
    assert_eq!(copy.unwrap().work.bytes, Some(8.0 * 4.0 + 8.0));
}

#[test]
fn reductions_keep_what_is_not_reduced() {
    check(
        "aten::mean",
        "16x559x1024, , ",
        &["[-1]", "True"],
        9_158_656.0,
        2.0 * (9_158_656.0 + 8944.0),
    );
    check("aten::sum", "2x5", &[], 10.0, 22.0);
    // Four rows: a value and an index of 8 bytes each.
    check(
        "aten::max",
        "4x8, , ",
        &["-1", "False"],
        32.0,
        64.0 + 4.0 * 10.0,
    );
    check("aten::max", "4x8, 4x8", &[], 32.0, 192.0);
    check(
        "aten::argmax",
        "4x8, , ",
        &["-1", "False"],
        32.0,
        64.0 + 32.0,
    );
    check("aten::cumsum", "4x8, ", &["0"], 32.0, 128.0);
    check("aten::norm", "4x8, , ", &["2", "[0]"], 32.0, 64.0 + 16.0);
    // Whole numbers are summed up in 64 bits.
    let sum = modelled("aten::sum", "[[8]]", r#"["int"]"#, r#"[""]"#)
        .unwrap()
        .work;
    assert_eq!(sum.bytes, Some(8.0 * 4.0 + 8.0));
}

#[test]
fn reductions_keep_the_reference_s_view_in_the_parameters() {
    let mean = modelled(
        "aten::mean",
        "[[2,3],[],[]]",
        r#"["float","ScalarList","Scalar"]"#,
        r#"["","[-1]","True"]"#,
    );
    let params = super::python_dict(&mean.unwrap().params);
    assert_eq!(
        params,
        "{'num_input_elems': 6, 'num_output_elems': 1, 'dtype_in_out': ('float', None), 'reduce_type': 'mean'}"
    );
}

#[test]
fn norms() {
    // n = 40, C = 4: 6·4 + 5·40; 2·40 + 6·4 elements.
    check("aten::layer_norm", "10x4, , 4, 4", &["[4]"], 224.0, 208.0);
    check(
        "aten::batch_norm",
        "10x4, 4, 4, 4, 4, ",
        &["True"],
        224.0,
        208.0,
    );
    // Statistics are given: 6·4 + 2·40; 2·40 + 4·4 elements.
    check(
        "aten::batch_norm",
        "10x4, 4, 4, 4, 4, ",
        &["False"],
        104.0,
        192.0,
    );
    // Ten rows of 2·4 + 2, and 2·40; 2·40 + 4 elements.
    check("aten::_fused_rms_norm", "10x4, , 4", &["[4]"], 180.0, 168.0);
    check("aiter::rmsnorm", "10x4, 10x4, 4, ", &["1e-6"], 180.0, 168.0);
    // The residual: an addition each, read and written.
    check(
        "aiter::add_rmsnorm",
        "10x4, 10x4, 10x4, 10x4, 4, ",
        &["1e-6"],
        220.0,
        328.0,
    );
    // 4·40 + 5·40; 3·40 + 4·4 elements.
    check(
        "aten::native_layer_norm_backward",
        "10x4, 10x4, , 10x1, 10x1, 4, 4, ",
        &["[4]", "[True, True, True]"],
        360.0,
        272.0,
    );
}

#[test]
fn batch_norm_counts_what_is_there() {
    // n = 40, C = 4, neither scale nor shift: 2·40 + 4·4 elements.
    check(
        "aten::batch_norm",
        "10x4, , , 4, 4, ",
        &["", "", "True"],
        224.0,
        192.0,
    );
    // Backward, with scale: 4·40 + 5·40; 3·40 + 4·4 elements.
    check(
        "aten::cudnn_batch_norm_backward",
        "10x4, 10x4, 4, 4, 4, 4, 4, , ",
        &["1e-5"],
        360.0,
        272.0,
    );
    // Neither scale nor its gradient: 3·40 + 4 elements.
    let values = ["", "", "", "", "", "True", "1e-5", "[True, False, False]"];
    check(
        "aten::native_batch_norm_backward",
        "10x4, 10x4, , , , , , , , ",
        &values,
        360.0,
        248.0,
    );
}

#[test]
fn softmax() {
    check("aten::_softmax", "2x5, , ", &["-1", "False"], 50.0, 40.0);
    check("aten::_softmax", "2x5, , ", &["-1", "True"], 50.0, 60.0);
    check(
        "aten::_softmax_backward_data",
        "2x5, 2x5, , ",
        &["-1", "15"],
        40.0,
        60.0,
    );
}

#[test]
fn convolution() {
    let settings = |transposed| ["", "[2]", "[1]", "[1]", transposed, "[0]", "1"];
    // (8 + 2 − 3) / 2 + 1 = 4 results of 2·(2·3) each, for 5 channels; 16 + 30 + 20 elements.
    check(
        "aten::convolution",
        "1x2x8, 5x2x3, , , , , , , ",
        &settings("False"),
        240.0,
        132.0,
    );
    // The bias: 20 operations, 5 elements.
    check(
        "aten::convolution",
        "1x2x8, 5x2x3, 5, , , , , , ",
        &settings("False")[1..],
        260.0,
        142.0,
    );
    // (8 − 1)·2 − 2 + 2 + 1 = 15 results; each of 16 inputs reaches 5·3 of them.
    check(
        "aten::convolution",
        "1x2x8, 2x5x3, , , , , , , ",
        &settings("True"),
        480.0,
        2.0 * (16.0 + 30.0 + 75.0),
    );
    // Two groups: a filter sees one of the two channels.
    check(
        "aten::convolution",
        "1x2x8, 4x1x3, , , , , , , ",
        &["", "[2]", "[1]", "[1]", "False", "[0]", "2"],
        96.0,
        2.0 * (16.0 + 12.0 + 16.0),
    );
}

#[test]
fn a_transposed_convolution_has_its_groups_channels() {
    let values = ["", "[1]", "[0]", "[1]", "True", "[0]", "2"];
    // Four channels in two groups, three out of each: 4 + 2 results of 6 channels; each of 16
    // inputs reaches 3·3 of them.
    let bytes = 2.0 * (16.0 + 36.0 + 36.0);
    check(
        "aten::convolution",
        "1x4x4, 4x3x3, , , , , , , ",
        &values,
        288.0,
        bytes,
    );
}

#[test]
fn gradients_of_a_convolution_that_are_asked_for() {
    let values = |mask| ["[5]", "[2]", "[1]", "[1]", "False", "[0]", "1", mask];
    let shapes = "1x5x4, 1x2x8, 5x2x3, , , , , , , , ";
    check(
        "aten::convolution_backward",
        shapes,
        &values("[True, True, False]"),
        480.0,
        264.0,
    );
    check(
        "aten::convolution_backward",
        shapes,
        &values("[False, True, False]"),
        240.0,
        132.0,
    );
    // The bias: 20 gradients added up to 5.
    check(
        "aten::convolution_backward",
        shapes,
        &values("[False, False, True]"),
        20.0,
        50.0,
    );
}

#[test]
fn attention() {
    let flash = "aten::_scaled_dot_product_flash_attention";
    // One head, 4 queries, 4 keys of 8: 2·16·(8 + 8); 4·4·8 elements.
    check(
        flash,
        "1x1x4x8, 1x1x4x8, 1x1x4x8, , ",
        &["0.", "False"],
        512.0,
        256.0,
    );
    check(
        flash,
        "1x1x4x8, 1x1x4x8, 1x1x4x8, , ",
        &["0.", "True"],
        256.0,
        256.0,
    );
    // Two query heads share a key head.
    check(
        flash,
        "1x2x4x8, 1x1x4x8, 1x1x4x8, , ",
        &["0.", "False"],
        1024.0,
        384.0,
    );
    let efficient = "aten::_scaled_dot_product_efficient_attention";
    // A bias of 16 elements is read.
    check(
        efficient,
        "1x1x4x8, 1x1x4x8, 1x1x4x8, 1x1x4x4, , , ",
        &["True", "0.", "False"],
        512.0,
        288.0,
    );
    // Heads after positions. One query sees all five keys.
    check(
        "FlashAttnFunc",
        "1x1x1x8, 1x5x1x8, 1x5x1x8, , , ",
        &["0.", "1.", "True"],
        160.0,
        192.0,
    );
    // Three queries of five keys: 3 + 4 + 5 scores.
    check(
        "FlashAttnFunc",
        "1x3x1x8, 1x5x1x8, 1x5x1x8, , , ",
        &["0.", "1.", "True"],
        12.0 * 32.0,
        256.0,
    );
    // Packed: the longest sequence of 3, two more share 4: 2·16·(9 + 2·4).
    check(
        "flash_attn::_flash_attn_varlen_forward",
        "7x1x8, 7x1x8, 7x1x8, 4, 4, , , , , ",
        &["3", "3", "0.", "1.", "False"],
        544.0,
        448.0,
    );
}

#[test]
fn attention_backward() {
    // Five products of 2·16·8; Q, K, V and their gradients, and dO: 7 · 32 elements.
    let shapes = "1x4x1x8, 1x4x1x8, 1x4x1x8, 1x4x1x8, , , , , , , ";
    let values = ["", "", "", "", "0.", "1.", "False"];
    check(
        "flash_attn::_flash_attn_backward",
        shapes,
        &values,
        1280.0,
        448.0,
    );
    // Two query heads share a key head: twice the products, and the gradients of 4 keys added.
    let shared = "1x4x2x8, 1x4x2x8, 1x4x1x8, 1x4x1x8, , , , , , , ";
    check(
        "flash_attn::_flash_attn_backward",
        shared,
        &values,
        2624.0,
        2.0 * 320.0,
    );
    // The reference takes dO for Q here.
    let values = ["", "", "", "", "", "", "0.", "1.", "False"];
    let shapes = "1x4x1x8, 1x4x1x8, 1x4x1x8, 1x4x1x8, , , , , , , , , ";
    check(
        "aiter::_flash_attn_backward",
        shapes,
        &values,
        1280.0,
        448.0,
    );
}

#[test]
fn attention_counts_the_true_size_of_elements() {
    let types = format!("[{}]", [r#""float""#; 5].join(","));
    let shapes = "[[1,1,4,8],[1,1,4,8],[1,1,4,8],[],[]]";
    let flash = modelled(
        "aten::_scaled_dot_product_flash_attention",
        shapes,
        &types,
        r#"["","","","0.","False"]"#,
    );
    assert_eq!(flash.unwrap().work.bytes, Some(512.0));
    let aiter = modelled(
        "aiter::mha_fwd",
        "[[1,4,1,8],[1,4,1,8],[1,4,1,8]]",
        r#"["c10::Half","c10::Half","c10::Half"]"#,
        "[]",
    );
    let spec = aiter.unwrap().work.compute.map(ComputeSpec::label);
    assert_eq!(spec.as_deref(), Some("matrix_fp16"));
}

#[test]
fn picking_and_joining() {
    // Three rows of 4: read, written; three indices, here of two bytes.
    check("aten::embedding", "100x4, 3", &[], 0.0, 54.0);
    check("aten::index_select", "100x4, , 3", &["0"], 0.0, 54.0);
    check("aten::gather", "100x4, , 3x4", &["0"], 0.0, 72.0);
    let cat = modelled(
        "aten::cat",
        "[[[2,4],[3,4]],[]]",
        r#"["TensorList","Scalar"]"#,
        r#"["","0"]"#,
    );
    // 20 elements read and written; the kernel's name says two bytes.
    assert_eq!(cat.unwrap().work.bytes, Some(80.0));
    let unknown = call(
        "aten::cat",
        ["[[[2,4],[3,4]],[]]", r#"["TensorList","Scalar"]"#, "", "[]"],
        &["k"],
    );
    assert_eq!(unknown.unwrap().work.bytes, None);
}

#[test]
fn pooling_sorting_losses() {
    // Two by two over 4 × 4: 4 results of 4 each; 16 in, 4 out with places.
    check(
        "aten::max_pool2d_with_indices",
        "1x1x4x4, , ",
        &["[2, 2]", "[2, 2]"],
        16.0,
        32.0 + 40.0,
    );
    check(
        "aten::avg_pool2d",
        "1x1x4x4, , ",
        &["[2, 2]", "[]"],
        16.0,
        40.0,
    );
    check(
        "aten::_adaptive_avg_pool2d",
        "1x1x4x4, ",
        &["[1, 1]"],
        16.0,
        34.0,
    );
    // log₂ 8 = 3 comparisons each.
    check(
        "aten::sort",
        "2x8, , ",
        &["-1", "False"],
        48.0,
        64.0 + 128.0,
    );
    check("aten::topk", "2x8, , ", &["3", "-1"], 16.0, 32.0 + 60.0);
    check("aten::mse_loss", "2x5, 2x5, ", &["1"], 30.0, 40.0);
    check("CrossEntropyFunction", "2x5, 2", &[], 50.0, 44.0);
}

#[test]
fn optimizers_walk_lists() {
    let adam = modelled(
        "aten::_fused_adamw_",
        "[[[10],[2,3]],[[10],[2,3]]]",
        r#"["TensorList","TensorList"]"#,
        r#"["",""]"#,
    );
    let adam = adam.unwrap().work;
    // 16 parameters of two bytes, seven passes.
    assert_eq!((adam.flops, adam.bytes), (192.0, Some(224.0)));
    let unrecorded = modelled(
        "aten::_foreach_add_",
        "[[],[]]",
        r#"["TensorList","TensorList"]"#,
        r#"["",""]"#,
    );
    assert_eq!(unrecorded, None);
}

#[test]
fn compiled_kernels() {
    // 8 points; mul 1, silu 4; two tensors.
    check(
        "triton_poi_fused_mul_silu_3",
        "2x4, 8, ",
        &["8"],
        40.0,
        32.0,
    );
    // The loops are 2 × 4; of the larger tensor only as many elements as points are read.
    check(
        "triton_poi_fused_add_0",
        "2x4, 100, , ",
        &["2", "4"],
        8.0,
        32.0,
    );
    // The bias and GELU of a product, in place: 8 elements read and written, 4 of the bias.
    check(
        "triton_poi_fused_addmm_gelu_2",
        "2x4, 4, ",
        &["8"],
        64.0,
        40.0,
    );
    // A size of a dynamic shape before the loops: 16 points are all there are.
    check(
        "triton_red_fused_mean_1",
        "4x4, 4, , , ",
        &["64", "4", "4"],
        16.0,
        40.0,
    );
    let single = modelled(
        "triton_poi_fused_add_0",
        "[[8],[]]",
        r#"["float","Scalar"]"#,
        r#"["","8"]"#,
    )
    .unwrap()
    .work;
    assert_eq!(single.bytes, Some(32.0));
    assert_eq!(single.compute.map(|spec| spec.unit), Some(Unit::Vector));
}

#[test]
fn what_is_not_recorded_has_no_work() {
    for dims in ["", "[]", "[[]]", "[[[2],[3]]]", "[[-1,-2],[3]]"] {
        for model in table::MODELS.iter().chain(table::PREFIX_MODELS) {
            let found = modelled(model.op, dims, "[]", "[]");
            let bytes = found.and_then(|modelled| modelled.work.bytes);
            assert!(bytes.is_none_or(|bytes| bytes >= 0.0), "{}", model.op);
        }
    }
    assert_eq!(modelled("aten::mm", "[[2,3]]", "[]", "[]"), None);
}
