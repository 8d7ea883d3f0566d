//! What runs in each layer: attention with a window, adapters, a cold start.

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

/// Layers of 100 µs, the first one of 500; the profiler reports that kernels are loaded for 200 µs of it.
#[test]
fn a_first_layer_that_starts_cold() {
    let with = |first_us: u32, n: u32| {
        let mut table = Timetable::new().annotation(DECODE, 0..5_000);
        for at in 0..n {
            // The second attention starts later by the additional time of the first layer.
            let start = 1_000 + at * 100 + if at > 0 { first_us - 100 } else { 0 };
            let op = table.op("my::attention", start - 50..start - 10);
            table = op.launched(ATTENTION, start - 40..start - 30, start..start + 50);
        }
        table
            .process(1)
            .on_host("overhead", "Lazy Function Loading", 1_000..1_200)
    };
    let cold = with(500, 10);
    assert_eq!(figures(&cold, "cold_first_layer"), Some((400, None)));
    assert_contains(
        &issue(&cold, "cold_first_layer"),
        &["400 µs more", "200 µs of it"],
    );
    assert_eq!(figures(&with(200, 10), "cold_first_layer"), None);
    let training = with(500, 10).annotation("Optimizer.step#AdamW.step", 4_000..5_000);
    assert_eq!(figures(&training, "cold_first_layer"), None);
    assert_eq!(figures(&with(500, 4), "cold_first_layer"), None);
}

/// In each of two steps, the first of ten layers takes 500 µs and the others 100: it waits for something in each.
#[test]
fn a_first_layer_that_is_slow_in_each_step_does_not_start_cold() {
    let starts = |first_us: [u32; 2]| {
        let mut table = Timetable::new();
        for (step, first_us) in (0..).zip(first_us) {
            let at = step * 10_000;
            table = table.annotation(DECODE, at..at + 5_000);
            for layer in 0..10 {
                let start = at + 1_000 + layer * 100 + if layer > 0 { first_us - 100 } else { 0 };
                let op = table.op("my::attention", start - 50..start - 10);
                table = op.launched(ATTENTION, start - 40..start - 30, start..start + 50);
            }
        }
        figures(&table, "cold_first_layer")
    };
    assert_eq!(starts([500, 100]), Some((400, None)));
    assert_eq!(starts([500, 500]), None);
}
