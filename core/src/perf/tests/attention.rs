//! Attention.

use super::{call, check, counted, modelled};
use crate::perf::ComputeSpec;
use crate::perf::Param;

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
    let one = "1x4x1x8";
    let shapes =
        format!("{one}, {one}, {one}, {one}, {one}, 1x1x4:float, {one}, {one}, {one}, , , ");
    let name = "flash_attn::_flash_attn_backward";
    check(name, &shapes, &["0.", "1.", "False"], 1280.0, 448.0);
    // A mask leaves half of the products. The scale is no flag.
    check(name, &shapes, &["0.", "1.", "True"], 640.0, 448.0);
    // Two query heads share a key head: twice the products, and the gradients of 4 keys added.
    let (two, lse) = ("1x4x2x8", "1x2x4:float");
    let shared = format!("{two}, {two}, {one}, {one}, {two}, {lse}, {two}, {one}, {one}, , , ");
    check(name, &shared, &["0.", "1.", "False"], 2624.0, 2.0 * 320.0);
    // The reference's view reads other places, and takes a mask for granted.
    let params = counted(name, &shapes, &["0.", "1.", "False"])
        .unwrap()
        .params;
    assert!(params.contains(&("causal", Param::Flag(true))));
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
fn attention_below_what_the_reference_knows() {
    // Positions before heads; the mask is a number.
    let name = "aten::_efficient_attention_forward";
    let shapes = "1x4x1x8, 1x4x1x8, 1x4x1x8, , , , , , , , ";
    check(
        name,
        shapes,
        &["", "", "", "", "", "0.", "0", "False"],
        512.0,
        256.0,
    );
    check(
        name,
        shapes,
        &["", "", "", "", "", "0.", "1", "False"],
        256.0,
        256.0,
    );
    let shapes = "1x4x1x8, 1x4x1x8, 1x4x1x8, 1x4x1x8, , , , , , , , , , , ";
    let values = ["", "", "", "", "", "", "", "0.", "", "", "0", "False"];
    // dV, dP, dQ, dK and the scores anew: five products of 2·16·8; 7 · 32 elements.
    let backward = "aten::_efficient_attention_backward";
    check(backward, shapes, &values, 1280.0, 448.0);
    let shapes = "1x4x1x8, 1x4x1x8, 1x4x1x8, 1x4x1x8, , , , , , , , ";
    let values = ["", "", "", "", "4", "4", "0.", "False"];
    check(
        "aten::_flash_attention_backward",
        shapes,
        &values,
        1280.0,
        448.0,
    );
    // Packed, as `_flash_attn_varlen_forward`.
    let packed = "7x1x8, 7x1x8, 7x1x8, 4, 4, , , , ";
    let values = ["3", "3", "0.", "False"];
    check(
        "aten::_flash_attention_forward",
        packed,
        &values,
        544.0,
        448.0,
    );
    let packed = "7x1x8, 7x1x8, 7x1x8, 4, 4, , , , , ";
    let values = ["3", "3", "0.", "1.", "False"];
    check("FlashAttnVarlenFunc", packed, &values, 544.0, 448.0);
    let shapes = "1x1x4x8, 1x1x4x8, 1x1x4x8, , , , , , , , ";
    let values = ["", "", "", "4", "4", "False", "0.", "True"];
    check(
        "aten::_cudnn_attention_forward",
        shapes,
        &values,
        256.0,
        256.0,
    );
}

#[test]
fn attention_before_it_took_a_bias() {
    let name = "aten::_scaled_dot_product_efficient_attention";
    let shapes = "1x1x4x8, 1x1x4x8, 1x1x4x8, , , ";
    // Whether sums are wanted, and whether there is a mask.
    check(name, shapes, &["True", "False"], 512.0, 256.0);
    check(name, shapes, &["False", "True"], 256.0, 256.0);
    // Dropout, and whether there is a mask.
    let cudnn = "aten::_scaled_dot_product_cudnn_attention";
    check(cudnn, shapes, &["0.", "True", "False"], 256.0, 256.0);
    // The sums stand before the mask. Five products of 2·8·8; 7 · 32 elements.
    let backward = "aten::_scaled_dot_product_efficient_attention_backward";
    let shapes = "1x1x4x8, 1x1x4x8, 1x1x4x8, 1x1x4x8, 1x1x4x8, 1x1x4:float, , ";
    check(backward, shapes, &["True", "False"], 640.0, 448.0);
}

#[test]
fn windows_leave_the_keys_near_a_query() {
    // Four queries see themselves and one key before: 4·2 − 1 scores.
    let q = "1x4x1x8";
    let name = "flash_attn::_flash_attn_forward";
    let shapes = format!("{q}, {q}, {q}, , , , , ");
    let window = ["0.", "1.", "True", "1", "0"];
    check(name, &shapes, &window, 7.0 * 32.0, 256.0);
    check(
        name,
        &shapes,
        &["0.", "1.", "True", "-1", "-1"],
        256.0,
        256.0,
    );
    // On both sides, without a mask: one more for each but the last.
    let both = ["0.", "1.", "False", "1", "1"];
    check(name, &shapes, &both, 10.0 * 32.0, 256.0);
    // The number behind the mask is no window where the function is recorded in place of the op.
    let function = ["0.", "1.", "False", "0"];
    let shapes = format!("{q}, {q}, {q}, , , , ");
    check("FlashAttnFunc", &shapes, &function, 512.0, 256.0);
    // Each of the packed sequences: three, two and two queries.
    let packed = "7x1x8, 7x1x8, 7x1x8, 4, 4, , , , , , , ";
    let values = ["3", "3", "0.", "1.", "False", "0", "0"];
    let name = "flash_attn::_flash_attn_varlen_forward";
    check(name, packed, &values, 7.0 * 32.0, 448.0);
    // Memory-efficient attention counts the key of the query too.
    let efficient = format!("{q}, {q}, {q}{}", ", ".repeat(11));
    let values = ["", "", "", "4", "4", "0.", "1", "False", "1.", "", "2"];
    let name = "aten::_efficient_attention_forward";
    check(name, &efficient, &values, 7.0 * 32.0, 256.0);
    // Backward: five products of 2·7·8.
    let shapes = format!("{q}, {q}, {q}, {q}, {q}, 1x1x4:float, {q}, {q}, {q}, , , , , ");
    let name = "flash_attn::_flash_attn_backward";
    check(name, &shapes, &window, 560.0, 448.0);
}

#[test]
fn sequences_in_a_batch_of_one() {
    // The longest of 3, two more share 4: 2·16·(9 + 2·4), of a batch with 7 positions.
    let q = "1x7x1x8";
    let name = "aten::_efficient_attention_forward";
    let shapes = format!("{q}, {q}, {q}, , 4:int, 4:int, , , , , ");
    let values = ["", "3", "3", "0.", "0", "False"];
    check(name, &shapes, &values, 544.0, 448.0);
    // Without the longest nothing is known.
    let values = ["", "", "", "0.", "0", "False"];
    assert_eq!(counted(name, &shapes, &values), None);
    // A mask for each: 2·16·(9/2 + 2·4/2).
    let values = ["", "3", "3", "0.", "1", "False"];
    check(name, &shapes, &values, 272.0, 448.0);
    // Before the longest of the keys was told, and as xFormers has it.
    let shapes = format!("{q}, {q}, {q}, , 4:int, 4:int, , , , ");
    check(name, &shapes, &["", "3", "0.", "0", "False"], 544.0, 448.0);
    let cutlass = "xformers::efficient_attention_forward_cutlass";
    check(
        cutlass,
        &shapes,
        &["", "3", "0.", "False", "0"],
        544.0,
        448.0,
    );
    // Padded keys, of which some are in use.
    let padded = format!("{q}, {q}, {q}, , 4:int, 4:int, , , , , , 3:int");
    let values = ["", "3", "0.", "False", "2", "1."];
    assert_eq!(counted(cutlass, &padded, &values), None);
    // Five products of 2·8·(9 + 2·4), not two; 7 · 56 elements.
    let backward = "aten::_efficient_attention_backward";
    let shapes = format!("{q}, {q}, {q}, {q}, , {q}, 4:int, 4:int, , , 1x1x7:float, , , , , ");
    let values = ["", "3", "3", "0.", "", "", "0", "False"];
    check(backward, &shapes, &values, 1360.0, 784.0);
    let cudnn = "aten::_cudnn_attention_forward";
    let shapes = "7x1x8, 7x1x8, 7x1x8, , 4:int, 4:int, , , , , ";
    let values = ["", "3", "3", "False", "0.", "False"];
    check(cudnn, shapes, &values, 544.0, 448.0);
}

#[test]
fn keys_of_a_cache_are_not_counted() {
    let name = "flash_attn_3::fwd";
    let empty = |n: usize| ", ".repeat(n);
    // 24 arguments before the flag; eleven, or fourteen, before what tells of a cache.
    let values = |n: usize| [vec![""; n], vec!["True"]].concat();
    let dense = format!("1x4x1x8, 1x4x1x8, 1x4x1x8{}", empty(22));
    check(name, &dense, &values(21), 256.0, 256.0);
    let used = format!("2x1x1x8, 2x9x1x8, 2x9x1x8{}2:int{}", empty(9), empty(13));
    assert_eq!(counted(name, &used, &values(20)), None);
    let paged = format!(
        "2x1x1x8, 5x16x1x8, 5x16x1x8{}2x3:int{}",
        empty(12),
        empty(10)
    );
    assert_eq!(counted(name, &paged, &values(20)), None);
    // Packed, as `_flash_attn_varlen_forward`: the longest of 3, two more of 2.
    let packed = format!("7x1x8, 7x1x8, 7x1x8{}4:int, 4:int{}", empty(5), empty(16));
    let mut lengths = vec![""; 20];
    lengths[7..9].fill("3");
    lengths[19] = "False";
    check(name, &packed, &lengths, 544.0, 448.0);
}

#[test]
fn attention_of_libraries() {
    check(
        "FlashAttnQKVPackedFunc",
        "1x4x3x1x8, , , ",
        &["0.", "1.", "False"],
        512.0,
        256.0,
    );
    let shapes = "1x4x1x8, 1x4x1x8, 1x4x1x8, , , , , , , , ";
    let values = ["", "", "", "4", "0.", "True", "2", "1."];
    let name = "xformers::efficient_attention_forward_cutlass";
    check(name, shapes, &values, 256.0, 256.0);
    // Positions before the batch: three queries, two samples, one head of 8, a causal mask.
    let shapes = ", 3x2x1x8, 3x2x1x8, 3x2x1x8, , ";
    let values = ["True", "sbhd_sbhd_sbhd", "causal"];
    check(
        "FusedAttnFunc",
        shapes,
        &values,
        2.0 * 2.0 * 4.5 * 16.0,
        2.0 * 4.0 * 48.0,
    );
    // vLLM, keys not in pages; in pages their lengths are not known.
    let values = ["", "", "", "", "3", "3", "0.", "1.", "False", "False"];
    let shapes = "7x1x8, 7x1x8, 7x1x8, 7x1x8, 4, 4, , , , , , , , , , ";
    check("_vllm_fa2_C::varlen_fwd", shapes, &values, 544.0, 448.0);
    let paged = "7x1x8, 9x16x1x8, 9x16x1x8, 7x1x8, 4, 4, , , 3x2, , , , , , , ";
    assert_eq!(
        counted("_vllm_fa2_C::varlen_fwd", paged, &values[1..]),
        None
    );
}

/// Three queries of five keys: flash attention sees 3 + 4 + 5 of the scores, the others 1 + 2 + 3.
#[test]
fn each_library_begins_its_mask_in_its_own_corner() {
    let shapes = "1x1x3x8, 1x1x5x8, 1x1x5x8, , ";
    let flash = "aten::_scaled_dot_product_flash_attention";
    check(flash, shapes, &["0.", "True"], 12.0 * 32.0, 256.0);
    let below = "1x3x1x8, 1x5x1x8, 1x5x1x8, , , , , , ";
    let values = ["", "", "3", "5", "0.", "True"];
    let name = "aten::_flash_attention_forward";
    check(name, below, &values, 12.0 * 32.0, 256.0);
    let shapes = "1x1x3x8, 1x1x5x8, 1x1x5x8, , , , ";
    let efficient = "aten::_scaled_dot_product_efficient_attention";
    let values = ["", "False", "0.", "True"];
    check(efficient, shapes, &values, 6.0 * 32.0, 256.0);
    let overrideable = "aten::_scaled_dot_product_fused_attention_overrideable";
    let values = ["", "0.", "True", "False"];
    check(overrideable, shapes, &values, 6.0 * 32.0, 256.0);
}

#[test]
fn a_mask_that_nothing_tells_of_leaves_the_work_unknown() {
    let dims = "[[1,1,4,8],[1,1,4,8],[1,1,4,8],[],[]]";
    let types = r#"["float","float","float","Scalar","Scalar"]"#;
    let name = "aten::_scaled_dot_product_flash_attention";
    assert_eq!(modelled(name, dims, types, ""), None);
}

/// The third version has the scale where the second has dropout, and the mask behind it.
#[test]
fn both_forms_of_flash_attention_s_function() {
    let shapes = "1x4x1x8, 1x4x1x8, 1x4x1x8, , , ";
    check("FlashAttnFunc", shapes, &["0.", "1.", "True"], 256.0, 256.0);
    check("FlashAttnFunc", shapes, &["1.", "True", ""], 256.0, 256.0);
    check("FlashAttnFunc", shapes, &["1.", "False", ""], 512.0, 256.0);
    // Packed: the longest sequence of 3, two more share 4: 2·16·(9 + 2·4), half of it under a mask.
    let packed = "7x1x8, 7x1x8, 7x1x8, 4, 4, , , , , , ";
    let values = ["", "", "3", "3", "1.", "True"];
    check("FlashAttnVarlenFunc", packed, &values, 272.0, 448.0);
}

#[test]
fn backward_passes_of_libraries() {
    // Five products of 2·16·8, half of them under a mask; 7 · 32 elements.
    let q = "1x4x1x8";
    let empty = |n: usize| ", ".repeat(n);
    let shapes = format!(
        "{q}, {q}, {q}, {q}, {q}, 1x1x4:float, {q}, {q}, {q}{}",
        empty(9)
    );
    let values = ["", "", "", "", "", "", "1.", "True", "-1", "-1"];
    check("flash_attn_3::bwd", &shapes, &values, 640.0, 448.0);
    let shapes = format!(", {q}, {q}, {q}, {q}, {q}, 1x1x4:float{}", empty(8));
    let values = ["False", "", "", "4", "4", "0.", "1.", "False", "-1"];
    check("xformers_flash::flash_bwd", &shapes, &values, 1280.0, 448.0);
    let name = "xformers::efficient_attention_backward_cutlass";
    let shapes = format!("{q}, {q}, {q}, {q}, , , , , , 1x1x4:float, {q}{}", empty(7));
    let values = ["", "", "", "4", "4", "0.", "0", "0", "1", "1.", "1", ""];
    check(name, &shapes, &values, 640.0, 448.0);
    // Packed: the longest sequence of 3, two more share 4.
    let packed = "7x1x8, 7x1x8, 7x1x8, 4:int, 4:int, , , , , , , , ";
    let values = ["", "3", "3", "0.", "1.", "False", "-1", "-1"];
    check("xformers_flash::flash_fwd", packed, &values, 544.0, 448.0);
}

/// A bias of 16 numbers is read; its gradient is written where it is asked for.
#[test]
fn the_gradient_of_a_bias() {
    let name = "aten::_scaled_dot_product_efficient_attention_backward";
    let q = "1x1x4x8";
    let shapes = format!("{q}, {q}, {q}, {q}, 1x1x4x4, {q}, 1x1x4:float, , , , , ");
    let values = |gradients| ["", "", "0.", gradients, "False"];
    let without = values("[True, True, True, False]");
    check(name, &shapes, &without, 1280.0, 448.0 + 32.0);
    let with = values("[True, True, True, True]");
    check(name, &shapes, &with, 1280.0, 448.0 + 64.0);
}

#[test]
fn results_of_eight_bits_and_repeated_keys() {
    // Three operands of a byte, and a result of two.
    let fp8 = "c10::Float8_e4m3fn";
    let q = format!("1x4x1x8:{fp8}");
    let shapes = format!("{q}, {q}, {q}, , , ");
    let values = ["0.", "1.", "False"];
    check("FlashAttnFunc", &shapes, &values, 512.0, 96.0 + 64.0);
    // Four heads of keys are one in memory: 4·4·8 + 2·4·8 + 4·4·8 elements.
    let args = [
        "[[1,4,4,8],[1,4,4,8],[1,4,4,8],[],[]]",
        r#"["float","float","float","Scalar","Scalar"]"#,
        "[[128,32,8,1],[32,0,8,1],[32,0,8,1],[],[]]",
        r#"["","","","0.","False"]"#,
    ];
    let name = "aten::_scaled_dot_product_flash_attention";
    let work = call(name, args, &[]).unwrap().work;
    assert_eq!(work.bytes, Some(4.0 * (128.0 + 64.0 + 128.0)));
}
