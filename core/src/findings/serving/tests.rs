//! Findings about steps and replays, each in a small trace.

mod layers;
mod slow_steps;

use super::super::samples::assert_contains;
use super::*;
use crate::names::gemm::is_split_sum;
use crate::report::Report;
use crate::report::cards::{asides, without_time};
use crate::testing::{Timetable, options_on};

const GEMM: &str = "Cijk_Alik_Bljk_BBS_BH_MT32x32x256";
const ATTENTION: &str = "flash_fwd_kernel";
/// A step of vLLM in which 32 requests grow by one token each.
const DECODE: &str =
    "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk3200sqsq32sqsk3200)";

/// Kernels with their times in microseconds.
type Kernels<'a> = Vec<(&'a str, f64)>;

/// `n` layers with the same kernels.
fn layers<'a>(n: usize, kernels: &[(&'a str, f64)]) -> Kernels<'a> {
    kernels.repeat(n)
}

/// A step with one graph launch of 10 µs, whose kernels follow one another.
fn replay(name: &str, kernels: &[(&str, f64)]) -> Timetable {
    let table = Timetable::new().annotation(name, 0..100);
    replays(
        table.runtime("cudaGraphLaunch", 1, 10..20),
        1,
        1_000.0,
        kernels,
    )
}

fn replays(table: Timetable, id: u32, start_us: f64, kernels: &[(&str, f64)]) -> Timetable {
    let mut at = start_us;
    kernels.iter().fold(table, |table, (kernel, us)| {
        let start = at;
        at += us;
        table.kernel(id, kernel, start..at)
    })
}

fn outcome(table: &Timetable) -> Outcome {
    let profile = table.profile();
    let report = Report::new(&profile, &options_on("MI300X"));
    report.analyses.outcome("serving").unwrap().clone()
}

/// The time and the upper end of the saving of the finding with this key, in microseconds.
fn figures(table: &Timetable, key: &str) -> Option<(i64, Option<i64>)> {
    let outcome = outcome(table);
    let finding = outcome.findings.iter().find(|one| one.pattern == key)?;
    let most = finding.impact.map(|impact| impact.high_ns / 1_000);
    Some((finding.time_ns / 1_000, most))
}

fn issue(table: &Timetable, key: &str) -> String {
    let outcome = outcome(table);
    let finding = outcome.findings.iter().find(|one| one.pattern == key);
    finding.unwrap().issue.clone()
}

/// Kernels that prepare queries and keys, 4 µs each.
const PREPARATION: [(&str, f64); 5] = [
    ("copy_kernel", 4.0),
    ("rms_norm_kernel", 4.0),
    ("my_copy_kernel", 4.0),
    ("rotary_embedding_kernel", 4.0),
    ("reshape_and_cache_flash_kernel", 4.0),
];

fn with_preparation(n_layers: usize, n_kernels: usize) -> Timetable {
    let around = [(GEMM, 50.0), (ATTENTION, 30.0)];
    let layer = [&around[..1], &PREPARATION[..n_kernels], &around[1..]].concat();
    replay(DECODE, &layers(n_layers, &layer))
}

/// Seven kernels with a minimum of 4 µs in each of ten layers of 100 µs: 280 µs of 1 000. Four of five short ones could
/// be merged with the preceding one.
#[test]
fn each_kernel_of_a_replay_has_a_fixed_cost() {
    let table = with_preparation(10, 5);
    assert_eq!(figures(&table, "fixed_kernel_cost"), Some((280, Some(160))));
    let said = [
        "at least 4.00 µs",
        "70 kernels",
        "up to 280 µs for 70 kernels, 28.0 % of the replays",
    ];
    assert_contains(&issue(&table, "fixed_kernel_cost"), &said);
    // Kernels of alternately 100 and 4 µs: no short one follows another, so none can be merged.
    let long = layers(10, &[(GEMM, 100.0), (ATTENTION, 4.0)]);
    let few = replay(DECODE, &long);
    assert_eq!(figures(&few, "fixed_kernel_cost"), None);
    // The shortest take 40 µs, which is their work.
    let work = layers(
        10,
        &[
            (GEMM, 100.0),
            (ATTENTION, 80.0),
            ("mul", 40.0),
            ("add", 40.0),
        ],
    );
    assert_eq!(figures(&replay(DECODE, &work), "fixed_kernel_cost"), None);
    // Kernels that are launched one by one.
    let mut eager = Timetable::new();
    for at in 0..30 {
        eager = eager.work("aten::mul", "mul_kernel", 3_000 + at * 4..3_004 + at * 4);
    }
    assert_eq!(
        figures(&eager.annotation(DECODE, 0..2_000), "fixed_kernel_cost"),
        None
    );
}

/// Five kernels before the attention of each of ten layers: 200 µs, of which ten kernels remain.
#[test]
fn short_kernels_before_attention_are_a_chain() {
    let key = "attention_preparation_chain";
    assert_eq!(
        figures(&with_preparation(10, 5), key),
        Some((200, Some(160)))
    );
    let names = ["5 short kernels", "4.00 µs"];
    let found = outcome(&with_preparation(10, 5));
    let finding = found
        .findings
        .iter()
        .find(|one| one.pattern == key)
        .unwrap();
    assert_contains(&finding.title, &names[..1]);
    assert_contains(&finding.kernel, &names[1..]);
    // Three are not a chain, and a chain that occurs twice does not belong to layers.
    assert_eq!(figures(&with_preparation(10, 3), key), None);
    assert_eq!(figures(&with_preparation(2, 5), key), None);
}

/// The same between GEMMs; kernels of 13 µs are more than three times as long as the shortest.
#[test]
fn short_kernels_between_gemms_are_a_chain() {
    let between = |us: f64| {
        let short = [
            ("a_kernel", us),
            ("b_kernel", us),
            ("c_kernel", us),
            ("d_kernel", us),
        ];
        let layer = [
            &[(GEMM, 50.0), ("e_kernel", 4.0)],
            &short[..],
            &[(GEMM, 50.0)],
        ]
        .concat();
        figures(&replay(DECODE, &layers(10, &layer)), "short_kernel_chain")
    };
    assert_eq!(between(5.0), Some((240, Some(200))));
    assert_eq!(between(13.0), None);
}

/// Router, padding, top-k and sorting, in one chain with the kernel that sums up the results of the experts.
#[test]
fn routing_of_tokens_is_a_chain_of_its_own() {
    let layer = [
        (GEMM, 50.0),
        ("rms_norm_kernel", 4.0),
        (GEMM, 8.0),
        ("triton_poi_fused_constant_pad_nd_moe_forward_0", 4.0),
        ("_topk_forward", 4.0),
        ("_combined_routing_memset", 4.0),
        ("_combined_routing_compute", 4.0),
        ("fused_moe_kernel", 100.0),
        ("_finalize_matmul_scatter_bf16", 6.0),
    ];
    let table = replay(DECODE, &layers(8, &layer));
    // 30 µs in each of eight layers.
    assert_eq!(figures(&table, "moe_routing_chain"), Some((240, Some(208))));
    assert_eq!(figures(&table, "short_kernel_chain"), None);
    assert!(!is_split_sum(GEMM));
}

/// Three fills of 4 µs in each of ten layers, 120 of 920 µs.
#[test]
fn kernels_as_short_as_any_several_times_in_each_layer() {
    let with = |n: usize, us: f64, kernel: &'static str| {
        let short = vec![(kernel, us); n];
        let layer = [
            &[(GEMM, 50.0), ("x_kernel", 4.0)],
            &short[..],
            &[(ATTENTION, 26.0)],
        ]
        .concat();
        let table = replay(DECODE, &layers(10, &layer));
        (
            figures(&table, "one_element_kernels"),
            figures(&table, "attention_preparation_chain").is_some(),
        )
    };
    const FILL: &str = "triton_poi_fused__to_copy_div_zeros_0";
    assert_eq!(with(3, 4.0, FILL), (Some((120, Some(120))), false));
    // Once in each layer, far longer than the shortest, or not element-wise.
    assert_eq!(with(1, 4.0, FILL).0, None);
    assert_eq!(with(3, 8.0, FILL).0, None);
    assert_eq!(with(3, 4.0, "rms_norm_kernel"), (None, true));
    // Norms and quantization depend on the data of their layer.
    for of_layer in [
        "triton_red_fused_add_mean_rsqrt_0",
        "per_token_quant_kernel",
    ] {
        assert_eq!(with(3, 4.0, of_layer).0, None, "{of_layer}");
    }
}

/// Quantization of 60 µs before each attention of 40.
#[test]
fn preparation_that_takes_longer_than_attention_is_reported() {
    let with = |quantize: &'static str, us: f64, attention: &'static str| {
        let layer = [
            (GEMM, 50.0),
            ("rope_kernel", 20.0),
            (quantize, us),
            (attention, 40.0),
        ];
        figures(&replay(DECODE, &layers(10, &layer)), "costly_quantization")
    };
    assert_eq!(
        with("sage_quant_kernel", 40.0, "sage_fwd"),
        Some((1_000, None))
    );
    assert_eq!(with("sage_quant_kernel", 10.0, "sage_fwd"), None);
    assert_eq!(with("my_kernel", 40.0, "sage_fwd"), None);
    // Kernels for a KV cache quantize for the cache.
    assert_eq!(
        with("sage_quant_kernel", 40.0, "kernel_unified_attention_2d"),
        None
    );
}

/// 117 requests in a graph for 128: 8.6 % of the rows are empty.
#[test]
fn graphs_for_more_requests_than_a_step_has() {
    let step = |name: &str| replay(name, &layers(10, &[(GEMM, 50.0)]));
    let padded = step("decode[bs=117/128 tok=117 d=117]");
    assert_eq!(figures(&padded, "graph_padding"), Some((500, None)));
    assert_contains(
        &issue(&padded, "graph_padding"),
        &["117 of 128", "8.6 % of the rows"],
    );
    for full in [
        "decode[bs=127/128 tok=127 d=127]",
        "decode[bs=128 tok=128 d=128]",
    ] {
        assert_eq!(figures(&step(full), "graph_padding"), None, "{full}");
    }
    // The input of the first operator after the graph: 40 rows for 32 tokens.
    let with_neighbor = step(DECODE)
        .op("aten::index", 30..40)
        .args("40x2880, 32:long int");
    assert_contains(
        &issue(&with_neighbor, "graph_padding"),
        &["32 of 40, from neighbors", "20.0 % of the rows"],
    );
}

/// 260 requests in a graph for 512, as its engine says. On this GPU GEMMs are bound by arithmetic from 134 rows on, so
/// they take 260 of 512 parts of their time.
#[test]
fn rows_that_an_engine_pads_to_cost_what_is_bound_by_arithmetic() {
    let step = |name: &str| replay(name, &layers(10, &[(GEMM, 50.0)]));
    let padded = step("decode[bs=260/512 tok=260 d=260]");
    assert_eq!(figures(&padded, "graph_padding"), Some((500, Some(246))));
    // Down to 134 of 512.
    let padded = step("decode[bs=17/512 tok=17 d=17]");
    assert_eq!(figures(&padded, "graph_padding"), Some((500, Some(369))));
}

/// 17 requests in a graph for 512, by the operator after it and the launch grids of norms and rotary embeddings.
#[test]
fn graphs_for_far_more_requests_cost_what_is_bound_by_arithmetic() {
    const STEP: &str = "execute_17_context_0(sq0sk0sqsq0sqsk0)_generation_17(sq17sk99sqsq17sqsk99)";
    let with_grids = |rows: u64| {
        let layer = [
            (GEMM, 50.0),
            ("void vllm::rms_norm_kernel<c10::BFloat16>", 12.0),
            (
                "void vllm::rotary_embedding_kernel<c10::BFloat16, true>",
                8.0,
            ),
        ];
        let (mut at, table) = (1_000.0, Timetable::new().annotation(STEP, 0..100));
        let mut table = table.runtime("cudaGraphLaunch", 1, 10..20);
        for (kernel, us) in layers(10, &layer) {
            let grid = format!(r#""grid": [{rows}, 1, 1], "block": [256, 1, 1]"#);
            table = table.kernel(1, kernel, at..at + us).args(&grid);
            at += us;
        }
        table
            .op("aten::index", 30..40)
            .args("512x4096, 17:long int")
    };
    // On this GPU GEMMs are bound by arithmetic from 708 / 5.3 = 134 rows on, 26 % of 512: 37 of 50 µs are empty rows.
    // Of 12 µs of norms at least 8 remain, the shortest time of a kernel here.
    let padded = with_grids(512);
    assert_eq!(figures(&padded, "graph_padding"), Some((700, Some(409))));
    assert_contains(
        &issue(&padded, "graph_padding"),
        &["17 of 512", "96.7 % of the rows"],
    );
    // Nothing confirms these rows.
    assert_eq!(figures(&with_grids(132), "graph_padding"), None);
}

/// Six graphs in a step, 10 µs apart, each with another kernel.
#[test]
fn decode_in_many_graphs_is_reported() {
    let kernels = ["a", "b", "c", "d", "e", "f"];
    let step = |name: &str, n: usize| {
        let table = Timetable::new().annotation(name, 0..1_000);
        let graphs = (1_u32..).zip(&kernels[..n]);
        let table = graphs.fold(table, |table, (id, kernel)| {
            let table = table.runtime("cudaGraphLaunch", id, id * 10..id * 10 + 5);
            replays(
                table,
                id,
                f64::from(id) * 100.0 + 1_000.0,
                &[(kernel, 90.0)],
            )
        });
        figures(&table, "piecewise_decode")
    };
    assert_eq!(step(DECODE, 6), Some((50, None)));
    assert_eq!(step(DECODE, 3), None);
    let prefill = "execute_32_context_1(sq32sk32sqsq1024sqsk1024)_generation_0(sq0sk0sqsq0sqsk0)";
    assert_eq!(step(prefill, 6), None);
}

/// A launch of 600 µs for a replay of 1 000, which contains a kernel that waits 50 µs for the launch.
#[test]
fn graph_launches_as_long_as_their_replays() {
    let with = |launch_us: u32, gap_us: f64| {
        let table = Timetable::new().annotation(DECODE, 0..900);
        let table = table.runtime("cudaGraphLaunch", 1, 10..10 + launch_us);
        let table = replays(table, 1, 100.0, &[(GEMM, 100.0)]);
        let table = replays(table, 1, 200.0 + gap_us, &[(ATTENTION, 900.0 - gap_us)]);
        figures(&table, "slow_graph_launch")
    };
    assert_eq!(with(600, 0.0), Some((0, None)));
    assert_eq!(with(300, 50.0), Some((50, None)));
    assert_eq!(with(300, 0.0), None);
    // The gap ends after the launch.
    assert_eq!(with(150, 50.0), None);
    // Gaps between nodes of a graph are 3 µs long in any case.
    let mut table =
        Timetable::new()
            .annotation(DECODE, 0..900)
            .runtime("cudaGraphLaunch", 1, 10..310);
    for at in 0..20_u32 {
        table = replays(table, 1, f64::from(100 + at * 50), &[(GEMM, 47.0)]);
    }
    assert_eq!(figures(&table, "slow_graph_launch"), None);
}

/// A decode step of ten layers, each with a GEMM of 32 tokens and the conversion of a table.
fn converting(rows: &str) -> Timetable {
    let mut table = Timetable::new();
    let mut at = 3_000;
    for _ in 0..10 {
        let mut add = |table: Timetable, op: &str, args: &str, kernel: &str, us: u32| {
            let start = at;
            at += us;
            table.call(op, args, kernel, start..at)
        };
        table = add(table, "aten::mm", "32x4096, 4096x4096", GEMM, 50);
        table = add(table, "my::attention", "32x32x128*3", ATTENTION, 30);
        table = add(table, "aten::add", "32x4096*2", "add_kernel", 5);
        table = add(
            table,
            "aten::_to_copy",
            &format!("{rows}x64:float, _"),
            "copy_kernel",
            12,
        );
    }
    table.annotation(DECODE, 0..2_000)
}

#[test]
fn work_that_depends_on_no_batch_is_done_once() {
    let key = "batch_independent_work";
    // All calls but one.
    assert_eq!(figures(&converting("131072"), key), Some((120, Some(108))));
    // Rows that depend on tokens and heads, or on KV tokens; few elements.
    for rows in ["1024", "3200", "6400"] {
        assert_eq!(figures(&converting(rows), key), None, "{rows}");
    }
    // 1 024 tokens, which are the rows of a GEMM with a bias, and of what is added to its result.
    let table = (0..10).fold(Timetable::new(), |table, layer| {
        let at = 3_000 + layer * 100;
        table
            .call(
                "aten::addmm",
                "1280, 1024x1280, 1280x1280",
                GEMM,
                at..at + 50,
            )
            .call("aten::add", "1x1024x1280*2", "add_kernel", at + 50..at + 62)
    });
    assert_eq!(
        figures(&table.annotation("model_inference", 0..2_000), key),
        None
    );
}

/// Ten GEMMs that read 134 MB each: 25.3 µs at 5.3 TB/s. They take 30 µs each, and the step 300.
#[test]
fn a_decode_step_is_held_to_the_memory_bandwidth() {
    let step = |us: u32, name: &str| {
        let table = (0..10).fold(Timetable::new(), |table, at| {
            let run = 3_000 + at * us..3_000 + (at + 1) * us;
            table.call("aten::mm", "32x8192, 8192x8192", GEMM, run)
        });
        table.annotation(name, 0..2_000)
    };
    let near = step(30, DECODE);
    let reached = figures(&near, "decode_memory_floor");
    assert_eq!(reached.map(|(time, _)| time), Some(300));
    assert_contains(
        &issue(&near, "decode_memory_floor"),
        &["reads 1.34 GB", "it takes 300 µs"],
    );
    assert_eq!(figures(&near, "nothing_to_gain"), Some((300, None)));
    assert_contains(
        &issue(&near, "nothing_to_gain"),
        &["of the peak memory bandwidth"],
    );
    let found = outcome(&near).findings;
    let at_roofline = found.iter().find(|one| one.pattern == "nothing_to_gain");
    assert_eq!(
        at_roofline.map(without_time).as_deref(),
        Some("No savings.")
    );
    let far = step(100, DECODE);
    // 253 µs are needed.
    assert_eq!(
        figures(&far, "decode_memory_floor"),
        Some((1_000, Some(746)))
    );
    assert_eq!(figures(&far, "nothing_to_gain"), None);
    let prefill = "execute_32_context_1(sq32sk32sqsq1024sqsk1024)_generation_0(sq0sk0sqsq0sqsk0)";
    assert_eq!(figures(&step(100, prefill), "decode_memory_floor"), None);
    // 1.1 TFLOP: 1,553 µs at the 708 TFLOPS that hipBLASLt reaches, which are no peak.
    let table = Timetable::new().call("aten::mm", "8192x8192, 8192x8192", GEMM, 3_000..4_900);
    let computing = table.annotation(prefill, 0..2_000);
    assert_contains(
        &issue(&computing, "nothing_to_gain"),
        &["of the achievable rate"],
    );
    // Faster than reading would allow.
    assert_eq!(figures(&step(20, DECODE), "decode_memory_floor"), None);
    // If there is also a prefill step, only the decode steps count.
    let with_prefill = (0..4).fold(far.annotation(prefill, 2_010..4_000), |table, at: u32| {
        let run = 4_000 + at * 500..4_000 + (at + 1) * 500;
        let host = 2_020 + at * 20;
        let table = table
            .op("aten::mm", host..host + 10)
            .args("512x8192, 8192x8192");
        table.launched(GEMM, host + 1..host + 2, run)
    });
    let mixed = figures(&with_prefill, "decode_memory_floor");
    assert_eq!(mixed, Some((1_000, Some(746))));
    assert_contains(
        &issue(&with_prefill, "decode_memory_floor"),
        &["The decode step reads 1.34 GB", "it takes 1.00 ms"],
    );
    let far = step(100, DECODE);
    // The upper bound of the step is not added to what other findings save.
    let profile = far.profile();
    let report = Report::new(&profile, &options_on("MI300X"));
    let findings = &report.analyses.findings;
    let together = findings.together.map(|all| all.high_ns);
    let others = findings.ranked.iter().map(|one| &one.finding);
    let others = others.filter(|one| one.effect != Effect::Limit);
    let most = others
        .filter_map(|one| one.impact)
        .map(|impact| impact.high_ns)
        .max();
    assert_eq!(together, most);
    let said = asides(&profile, &report).together;
    assert_contains(
        said.as_deref().unwrap_or_default(),
        &["Finding 2 is the limit of what the others save, and is not added."],
    );
    // It promises what is left beyond them.
    let limit = findings.ranked.iter().map(|one| &one.finding);
    let limit = limit.clone().find(|one| one.effect == Effect::Limit);
    let left = limit.and_then(|one| one.impact).map(|one| one.mid_ns);
    let cause = findings.ranked.first().and_then(|one| one.finding.impact);
    let before = outcome(&far).findings.into_iter();
    let before = before
        .filter(|one| one.effect == Effect::Limit)
        .find_map(|one| one.impact);
    let expected = before
        .zip(cause)
        .map(|(all, cause)| all.mid_ns - cause.mid_ns);
    assert!(left.is_some());
    assert_eq!(left, expected);
}

#[test]
fn a_trace_without_steps_and_graphs_has_no_such_analysis() {
    let outcome = outcome(&Timetable::new().work("aten::mm", GEMM, 20..30));
    assert_eq!(outcome.status, Status::NoData);
}
