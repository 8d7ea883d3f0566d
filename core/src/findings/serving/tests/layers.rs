//! What runs in each layer: attention with a window, adapters.

use super::*;

/// Ten layers with a GEMM of 50 µs and two kernels of an adapter, 6 µs each.
#[test]
fn adapters_beside_the_gemms_are_reported() {
    let adapter = [("_lora_shrink_kernel", 6.0), ("_lora_expand_kernel", 6.0)];
    let with = |n: usize| {
        let layer = [&[(GEMM, 50.0)], &adapter[..n]].concat();
        figures(&replay(DECODE, &layers(10, &layer)), "adapters")
    };
    assert_eq!(with(2), Some((120, Some(120))));
    assert_eq!(with(0), None);
}

/// Layers of attention, 10 µs with a window, 40 µs without; with a GEMM before each.
#[test]
fn sliding_and_full_layers_are_distinguished() {
    const WINDOW: &str = "kernel_unified_attention_2d";
    const FULL: &str = "kernel_unified_attention_3d";
    let with = |layers: &[&'static str]| {
        let kernels = layers.iter().flat_map(|attention| {
            let us = if *attention == WINDOW { 10.0 } else { 40.0 };
            [(GEMM, 50.0), (*attention, us)]
        });
        replay(DECODE, &kernels.collect::<Kernels>())
    };
    let key = "sliding_window_layers";
    let second = with(&[WINDOW, FULL].repeat(4));
    assert_eq!(figures(&second, key), Some((200, None)));
    assert_contains(
        &issue(&second, key),
        &[
            "Every second layer sees a sliding window, the first layer does",
            "4 sliding layers take 40.0 µs",
            "4 full layers 160 µs",
        ],
    );
    let sixth = [WINDOW, WINDOW, WINDOW, FULL].repeat(2);
    assert_contains(
        &issue(&with(&sixth), key),
        &["One layer of 4 sees the full context"],
    );
    // All of one kind, no repeating pattern, too few layers.
    for other in [
        vec![WINDOW; 8],
        [vec![WINDOW; 3], vec![FULL; 5]].concat(),
        vec![WINDOW, FULL, WINDOW, FULL],
    ] {
        assert_eq!(figures(&with(&other), key), None, "{other:?}");
    }
}
