//! Steps of serving engines and diffusion pipelines, in real traces.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dormer_core::base::interval::Interval;
use dormer_core::base::periods::runs;
use dormer_core::base::value::Value;
use dormer_core::import::import;
use dormer_core::perf::model_config::{self, Role};
use dormer_core::perf::{Modelled, Param};
use dormer_core::profile::Profile;
use dormer_core::profile::capture::CaptureFile;
use dormer_core::profile::operations::Operation;
use dormer_core::profile::serving::slices::of_steps;
use dormer_core::profile::serving::{Serving, stream_runs};
use dormer_core::profile::shapes::{EagerShapes, ShapeSources, Source};
use dormer_core::profile::window::of_all_steps;
use dormer_core::report::details::{OpDetails, Subject};
use dormer_core::report::ops_summary::OperatorRows;
use dormer_core::report::overview::ServingFacts;
use dormer_core::report::sheet::Cell;
use dormer_core::trace::Dims;

use crate::support::opened::{profile, report};
use crate::support::shared;

/// A trace of a serving engine, and the facts about its steps.
fn steps_of(trace: Option<Vec<u8>>) -> Option<(Profile, ServingFacts)> {
    let profile = profile(trace?);
    let serving = report(&profile).overview.serving?;
    Some((profile, serving))
}

fn eager(name: &str) -> Option<Vec<u8>> {
    Some(shared::trace(&shared::folder()?, name))
}

fn fact(serving: &ServingFacts, label: &str) -> String {
    let mut facts = serving.all_facts().into_iter();
    let found = facts.find(|(known, _)| known == label);
    found.map_or(String::new(), |(_, value)| value)
}

/// In hundredths of a millisecond.
fn rounded(ns: i64) -> i64 {
    (ns + 5_000) / 10_000
}

/// Repetitions: kernels per block and repeat count, for the longest runs in trace order.
fn repeats(profile: &Profile, most: usize) -> Vec<(usize, f64)> {
    let streams = stream_runs(profile);
    let longest = streams
        .iter()
        .max_by_key(|stream| stream.work.len())
        .unwrap();
    let mut runs = longest.runs.clone();
    runs.sort_by_key(|run| std::cmp::Reverse(run.span.len()));
    runs.truncate(most);
    runs.sort_by_key(|run| run.span.start);
    let rounded = |blocks: f64| (blocks * 10.0).round() / 10.0;
    runs.iter()
        .map(|run| (run.period().round() as usize, rounded(run.blocks)))
        .collect()
}

#[test]
fn a_decode_step_in_one_graph() {
    let Some((profile, serving)) = steps_of(shared::serving("vllm_decode_full")) else {
        return;
    };
    let phase = &serving.phases[0];
    assert_eq!((&*phase.phase, phase.n_steps), ("decode", 1));
    let counts = [phase.requests, phase.tokens, phase.kv_tokens];
    assert_eq!(counts, [Some(32), Some(32), Some(55_086)]);
    assert_eq!(phase.step_ns, 10_743_181);
    assert_eq!(phase.tokens_per_s.unwrap().round() as u64, 2979);
    assert!(phase.is_at_most);
    assert_eq!(fact(&serving, "Mean context"), "1\u{202f}721");
    assert!(fact(&serving, "Layers").starts_with("24 (35 kernels repeat 11.9 times"));
    assert_eq!(fact(&serving, "Model"), "gpt-oss-20b");
    let shape = profile.serving().unwrap().shape;
    assert_eq!(
        (shape.launches, shape.n_work, shape.n_outside),
        (1, 421, 13)
    );
    assert_eq!(shape.replay_ns / 100, 103_889);
    let blocks = profile.serving().unwrap().blocks.clone().unwrap();
    assert_eq!(
        (
            (blocks.ns + 500) / 1000,
            (blocks.ns as f64 / blocks.blocks / 1e3).round()
        ),
        (10_357, 867.0)
    );
    // All GPU activity belongs to the step: the whole trace is analyzed.
    assert_eq!(of_all_steps(&profile), None);
    let headline = report(&profile).overview.headline;
    assert!(
        !headline.contains("99.8") && !headline.contains("% busy"),
        "{headline}"
    );
    for part in [
        "decode step of 32 requests",
        "10.7 ms",
        "2\u{202f}979 tokens/s",
    ] {
        assert!(headline.contains(part), "{headline}");
    }
}

/// A capture determines what a replay runs; it does not turn the replay into an eager step.
#[test]
fn steps_are_the_same_with_a_capture() {
    for name in ["vllm_decode_full", "xdit_flux_sage"] {
        let capture = shared::serving(&format!("{name}.capture"));
        let Some((trace, capture)) = shared::serving(name).zip(capture) else {
            return;
        };
        let alone = profile(&trace);
        let file = CaptureFile::new(name, import(&capture), &[]);
        let merged = Profile::with_captures(import(&trace).unwrap(), &[file]);
        assert!(merged.coverage.as_ref().unwrap().is_complete(), "{name}");
        let [alone, merged] = [&alone, &merged].map(|profile| profile.serving().unwrap());
        assert_eq!(alone.shape, merged.shape, "{name}");
        assert_eq!(alone.blocks, merged.blocks, "{name}");
        let times = |serving: &Serving| -> Vec<_> {
            let stages = serving.stages.iter();
            stages.map(|stage| (stage.kind, stage.span)).collect()
        };
        assert_eq!(times(alone), times(merged), "{name}");
    }
}

#[test]
fn a_diffusion_pipeline_in_replays_of_one_graph() {
    let Some((profile, serving)) = steps_of(shared::serving("xdit_flux_sage")) else {
        return;
    };
    let of_serving = profile.serving().unwrap();
    let stage = |at: usize| {
        (
            rounded(serving.stages[at].ns),
            rounded(serving.stages[at].busy_ns),
        )
    };
    // In hundredths of a millisecond: time, and busy time.
    assert_eq!((stage(0), stage(3)), ((5005, 2489), (527, 525)));
    let steps: Vec<i64> = of_serving.stages[1]
        .parts
        .iter()
        .map(|one| rounded(one.length()))
        .collect();
    assert_eq!(steps, [4237, 4313, 4244, 4306]);
    let shape = of_serving.shape;
    assert_eq!(
        (shape.launches, shape.graphs, shape.n_work),
        (4, 1, 4 * 1566)
    );
    let blocks = of_serving.blocks.clone().unwrap();
    assert_eq!(
        (blocks.attention, blocks.alike, blocks.layers),
        (57, vec![19, 38], None)
    );
    let text_encoder_and_blocks = [
        (41, 23.9),
        (39, 18.0),
        (21, 23.8),
        (39, 18.0),
        (21, 23.8),
        (39, 18.0),
        (21, 23.8),
        (39, 18.0),
        (21, 23.8),
    ];
    assert_eq!(repeats(&profile, 9), text_encoder_and_blocks);
}

#[test]
fn a_diffusion_pipeline_without_graphs() {
    let Some((profile, serving)) = steps_of(eager("xdit_sd35")) else {
        return;
    };
    let all = repeats(&profile, 8);
    // Three text encoders that run twice, and denoising steps 2 to 4.
    #[rustfmt::skip]
    let expected = [
        (15, 12.1), (13, 32.2), (41, 23.9), (15, 12.1), (13, 32.2), (41, 23.9), (57, 17.5), (1107, 3.0),
    ];
    assert_eq!(all, expected);
    let steps = profile.serving().unwrap().stages.iter();
    let steps: Vec<usize> = steps.map(|stage| stage.parts.len()).collect();
    assert_eq!(steps, [0, 4, 0, 0]);
    assert!(serving.sentence.contains("4 denoising steps"));
}

#[test]
fn a_prefill_step_that_waits_for_an_earlier_batch() {
    let Some((profile, serving)) = steps_of(eager("sglang_prefilldecode")) else {
        return;
    };
    let phase = &serving.phases[0];
    assert_eq!(
        (&*phase.phase, phase.requests, phase.tokens),
        ("prefill", Some(15), Some(15_360))
    );
    // Half a second in which the GPU seems idle does not belong to the step.
    assert!(
        (490..500).contains(&(phase.step_ns / 1_000_000)),
        "{}",
        phase.step_ns
    );
    assert!(
        fact(&serving, "Layers").starts_with("36 "),
        "{:?}",
        serving.facts
    );
    let usual = profile.window(&of_all_steps(&profile).unwrap());
    let timeline = report(&usual).timelines.whole.unwrap();
    assert!(timeline.idle_ns < timeline.total_ns() / 20);
}

/// The benchmark measures how long this takes.
#[test]
fn what_repeats_is_found_in_each_of_many_copies() {
    let Some(folder) = shared::folder() else {
        return;
    };
    let profile = profile(shared::trace(&folder, "xdit_sd35"));
    let names: Vec<u32> = profile.gpu.iter().map(|(_, work)| work.name.0).collect();
    let found = |copies: u32| {
        // A unique kernel between copies keeps them from forming one run.
        let copy = |at| names.iter().copied().chain([u32::MAX - at]);
        let sequence: Vec<u32> = (0..copies).flat_map(copy).collect();
        runs(&sequence).len()
    };
    // At least the four periods of its stages, in each copy.
    assert!(found(1) >= 4 && found(16) >= 16 * 4);
}

/// A trace of a serving engine merged with its capture.
pub(crate) fn captured(name: &str) -> Option<Profile> {
    let trace = import(&shared::serving(name)?).unwrap();
    let file = format!("{name}.capture");
    let capture = CaptureFile::new(&file, import(&shared::serving(&file)?), &[]);
    Some(Profile::with_captures(trace, &[capture]))
}

/// An operator, sizes of its second argument, calls; mean time in microseconds, TB/s and % of roofline.
type Figures = (&'static str, &'static [i64], usize, f64, f64, f64);

/// The figures of a decode step's operations with a capture: times in microseconds, rates in TB/s.
#[test]
fn the_work_of_a_decode_step_with_its_capture() {
    let Some(profile) = captured("vllm_decode_full") else {
        return;
    };
    let report = report(&profile);
    #[rustfmt::skip]
    let expected: &[Figures] = &[
        ("pseudo_op::moe_triton_unfused_up", &[32, 32], 24, 136.36, 2.231, 42.1),
        ("pseudo_op::moe_triton_unfused_down", &[32, 32], 24, 156.75, 0.973, 18.4),
        ("vllm::unified_attention_with_output", &[32, 8, 64], 12, 46.88, 2.418, 45.6),
        ("vllm::rocm_unquantized_gemm", &[5120, 2880], 24, 16.13, 1.864, 35.2),
        ("vllm::rocm_unquantized_gemm", &[2880, 4096], 24, 15.26, 1.580, 29.8),
        ("vllm::rocm_unquantized_gemm", &[201_088, 2880], 1, 276.68, 4.234, 79.88),
        ("vllm::rocm_unquantized_gemm", &[32, 2880], 24, 8.36, 0.0446, 0.84),
    ];
    // Means of rates are close to the rate of the mean time.
    let is_near = |seen: f64, expected: f64| (seen / expected - 1.0).abs() < 0.006;
    for (op, sizes, n, us, rate, percent) in expected {
        let mut all = profile.operations().iter().zip(&report.judged);
        let (operation, judged) = all
            .find(|(one, _)| {
                let second = one.dims(&profile).get(1);
                let second = second.map(|dims| match dims {
                    Dims::One(id) => profile.trace.args.shape(*id),
                    Dims::Many(_) => &[],
                });
                one.name(&profile) == *op && second == Some(*sizes)
            })
            .unwrap_or_else(|| panic!("no {op} of {sizes:?}"));
        assert_eq!(operation.calls.len(), *n, "{op} {sizes:?}");
        let mean_us = operation.kernel_ns as f64 / 1e3 / *n as f64;
        let bytes = judged.work.and_then(|work| work.bytes).unwrap();
        let seen_rate = bytes / mean_us / 1e6;
        let seen_percent = judged.achieved.unwrap().percent_of_roofline;
        let seen = [mean_us, seen_rate, seen_percent];
        let all = [*us, *rate, *percent];
        let agree = seen
            .iter()
            .zip(all)
            .all(|(one, other)| is_near(*one, other));
        assert!(agree, "{op} {sizes:?}: {seen:?} for {all:?}");
    }
    // The layers with sliding windows, half of all; the window is known from the confirmed model's sizes.
    let mut all = profile.operations().iter().zip(&report.judged);
    let (windowed, judged) = all.find(|(one, _)| one.sees_window).unwrap();
    let mean_us = windowed.kernel_ns as f64 / 1e3 / 12.0;
    assert!(
        windowed.calls.len() == 12 && is_near(mean_us, 13.48),
        "{mean_us}"
    );
    assert_eq!(judged.work.unwrap().bytes, Some(8_912_896.0));
    let percent = judged.achieved.unwrap().percent_of_roofline;
    assert!((percent - 12.5).abs() < 0.1, "{percent}");
    // Weights and KV cache at memory bandwidth.
    let serving = report.overview.serving.as_ref().unwrap();
    assert_eq!(fact(serving, "Model"), "gpt-oss-20b");
    assert_eq!(fact(serving, "Memory floor"), "2.80 ms, 26.0 % of the step");
    assert!(known_percent(&profile) >= 97.0);
    let traffic = fact(serving, "Memory traffic");
    for part in [
        "about 14.8 GB",
        "13.4 GB of weights",
        "1.47 GB in attention",
    ] {
        assert!(traffic.contains(part), "{traffic}");
    }
    assert!(fact(serving, "Launches").starts_with("full graph: 1 graph replay"));
    // At the rate of the first one, the second expert GEMM takes 2.12 ms less, a fifth of the step.
    let mut ranked = report.analyses.findings.ranked.iter();
    let slower = ranked.find(|one| one.finding.pattern == "slower_expert_gemm");
    let saved_ns = slower.unwrap().finding.impact.unwrap().high_ns;
    assert!(is_near(saved_ns as f64, 2.12e6), "{saved_ns}");
}

/// Shares of busy time, with and without a capture; the router's GEMM is among the experts.
#[test]
fn categories_of_a_decode_step_do_not_depend_on_its_capture() {
    let (Some(merged), Some(alone)) = (
        captured("vllm_decode_full"),
        shared::serving("vllm_decode_full"),
    ) else {
        return;
    };
    for profile in [merged, self::profile(alone)] {
        let report = report(&profile);
        // Tenths of a percent.
        let share = |key: &str| {
            let outcome = report.analyses.outcome(key).unwrap();
            let busy_ns = report.overview.busy_ns.unwrap();
            (outcome.time_ns * 1000 + busy_ns / 2) / busy_ns
        };
        let shares = ["moe", "sdpa_fwd", "gemm", "norm"].map(share);
        assert_eq!(shares, [745, 80, 96, 31]);
        let rope = fact(report.overview.serving.as_ref().unwrap(), "RoPE");
        for part in ["4.1 % of the busy time", "2.7 % in the 23 type conversions"] {
            assert!(rope.contains(part), "{rope}");
        }
        // The roles of MoE kernels, in microseconds, and their share of busy time.
        let moe = report.analyses.outcome("moe").unwrap();
        let roles = moe
            .tables
            .iter()
            .find(|table| table.key == "roles")
            .unwrap();
        let us = |value: &Value| match value {
            Value::Ns(ns) => (*ns as f64 / 100.0).round() / 10.0,
            _ => 0.0,
        };
        let rows = roles.rows.iter();
        let rows: Vec<(String, f64)> = rows.map(|row| (row[0].text(), us(&row[2]))).collect();
        let expected = [
            ("GEMM2 (down)", 3761.9),
            ("GEMM1 (gate-up)", 3272.7),
            ("sort and align", 375.1),
            ("router", 200.7),
            ("combine", 136.9),
            ("pad and quantize", 122.6),
            ("top-k", 119.8),
        ];
        assert_eq!(rows, expected.map(|(role, us)| (role.to_owned(), us)));
    }
}

/// In each step, the kernels from one layer to the next, without duplicates.
#[test]
fn steps_are_cut_at_their_layers() {
    let expected = [
        ("vllm_decode_full", vec![(24, true, 434)]),
        ("xdit_flux_sage", vec![(57, false, 1566); 4]),
    ];
    for (name, expected) in expected {
        let Some(trace) = shared::serving(name) else {
            return;
        };
        let profile = profile(trace);
        let steps = of_steps(&profile);
        let seen: Vec<(usize, bool, usize)> = steps
            .iter()
            .map(|step| {
                let layers = step.slices.iter().filter(|slice| slice.number.is_some());
                let work = step.slices.iter().map(|slice| slice.work.len());
                let is_layer = layers.clone().all(|slice| slice.is_layer);
                (layers.count(), is_layer, work.sum())
            })
            .collect();
        assert_eq!(seen, expected, "{name}");
        // One after the other.
        for step in &steps {
            let spans = step.slices.iter().map(|slice| slice.span);
            let spans: Vec<Interval> = spans.collect();
            assert!(spans.is_sorted_by_key(|span| span.start_ns), "{name}");
        }
    }
    // In a decode step, layers with full attention take longer than those with a window.
    let Some(trace) = shared::serving("vllm_decode_full") else {
        return;
    };
    let steps = of_steps(&profile(trace));
    let layers = steps[0]
        .slices
        .iter()
        .filter(|slice| slice.number.is_some());
    let times: Vec<i64> = layers.map(|slice| slice.span.length()).collect();
    let mean_of = |first: usize| {
        let own: Vec<i64> = times.iter().skip(first).step_by(2).copied().collect();
        own.iter().sum::<i64>() / own.len() as i64
    };
    let (sliding_ns, full_ns) = (mean_of(0), mean_of(1));
    assert!(full_ns > sliding_ns + 20_000, "{full_ns} {sliding_ns}");
    // Twelve of each make up the repeating blocks: 867 µs for two.
    assert!(
        (860_000..875_000).contains(&(sliding_ns + full_ns)),
        "{full_ns} {sliding_ns}"
    );
}

/// The trace of one step has a row, and nothing to compare it with.
#[test]
fn the_sheets_of_a_step_have_its_batch_and_its_launches() {
    let Some(trace) = shared::serving("vllm_decode_full") else {
        return;
    };
    let profile = profile(trace);
    let report = report(&profile);
    let cell = |sheet: &str, label: &str| {
        let sheet = report.sheet(&profile, sheet).unwrap();
        sheet.rows[0][sheet.column(label).unwrap()].clone()
    };
    for (label, expected) in [
        ("requests", 32),
        ("tokens", 32),
        ("KV tokens", 55_086),
        ("kernels", 434),
        ("launches", 14),
        ("graph replays", 1),
    ] {
        assert_eq!(cell("serving_steps", label), Cell::Int(expected), "{label}");
    }
    assert_eq!(cell("serving_steps", "over usual ms"), Cell::Empty);
    assert_eq!(cell("serving_graphs", "kernels"), Cell::Int(421));
}

/// With a capture, an operator has a row for each module around its calls: the details of a row cover only the calls of
/// that row.
#[test]
fn the_details_of_an_operator_are_about_the_calls_of_its_row() {
    let Some(profile) = captured("xdit_flux_sage") else {
        return;
    };
    let report = report(&profile);
    let sheet = report.sheet(&profile, "ops_summary").unwrap();
    let [name, count] = ["name", "Count"].map(|label| sheet.column(label).unwrap());
    let rows = OperatorRows::of(&profile);
    assert_eq!(rows.0.len(), sheet.rows.len());
    let mut names = BTreeSet::new();
    for (at, row) in sheet.rows.iter().enumerate() {
        let details = OpDetails::new(&profile, &report, Subject::Operator(at)).unwrap();
        assert_eq!(row[name], Cell::Text(details.name.clone()), "row {at}");
        assert_eq!(
            row[count],
            Cell::Int(rows.0[at].calls.len() as i64),
            "row {at}"
        );
        names.insert(details.name);
    }
    assert!(
        names.len() < sheet.rows.len(),
        "no operator has several rows"
    );
}

/// A configuration with the sizes of gpt-oss-20b.
const GPT_OSS: &str = r#"{
    "architectures": ["GptOssForCausalLM"], "model_type": "gpt_oss", "hidden_size": 2880,
    "intermediate_size": 2880, "num_hidden_layers": 24, "num_attention_heads": 64,
    "num_key_value_heads": 8, "head_dim": 64, "vocab_size": 201088, "sliding_window": 128,
    "layer_types": ["sliding_attention", "full_attention"], "num_local_experts": 32,
    "num_experts_per_tok": 4, "hidden_act": "silu", "torch_dtype": "bfloat16",
    "quantization_config": {"quant_method": "mxfp4"}}"#;

/// Results from the model's sizes without a capture, and without its configuration: times in microseconds, TFLOPS, TB/s
/// and percentages of roofline.
#[test]
fn the_work_of_a_decode_step_without_a_capture() {
    let Some(trace) = shared::serving("vllm_decode_full") else {
        return;
    };
    let alone = profile(trace.clone());
    let config = model_config::parse(GPT_OSS).unwrap();
    let given = profile(trace).with_sources(ShapeSources {
        config: Some(Arc::new(config)),
        ..ShapeSources::default()
    });
    #[rustfmt::skip]
    let expected = [
        (Role::Qkv, 24, 16.13, Some(58.6), 1.864, 35.2),
        (Role::Output, 24, 15.26, Some(49.6), 1.580, 29.8),
        (Role::Router, 24, 8.36, Some(0.7055), 0.0446, 0.84),
        (Role::Attention, 24, 23.44, Some(19.25), 2.418, 45.6),
        (Role::WindowedAttention, 12, 13.48, None, 0.661, 12.5),
        (Role::ExpertsUp, 24, 136.36, None, 2.046, 38.6),
        (Role::ExpertsDown, 24, 156.75, None, 0.893, 16.8),
    ];
    for profile in [alone, given] {
        let report = report(&profile);
        let serving = report.overview.serving.as_ref().unwrap();
        assert_eq!(fact(serving, "Model"), "gpt-oss-20b");
        let known = fact(serving, "Known work");
        let percent: f64 = known.split_once(' ').unwrap().0.parse().unwrap();
        assert!(percent >= 90.0 && known.contains("from config"), "{known}");
        for (role, n, us, tflops, tbps, roof) in expected {
            let all = profile.operations().iter().zip(&report.judged);
            let all = all.filter(|(one, _)| {
                one.estimate
                    .as_ref()
                    .is_some_and(|known| known.role == role)
            });
            let (mut calls, mut ns, mut flops, mut bytes, mut roofs) = (0, 0.0, 0.0, 0.0, 0.0);
            for (one, judged) in all {
                let work = judged.work.unwrap();
                calls += one.calls.len();
                ns += one.kernel_ns as f64;
                flops += work.flops * one.calls.len() as f64;
                bytes += work.bytes.unwrap() * one.calls.len() as f64;
                roofs += judged.achieved.unwrap().percent_of_roofline * one.kernel_ns as f64;
            }
            let is_near = |seen: f64, expected: f64| (seen / expected - 1.0).abs() < 0.006;
            assert_eq!(calls, n, "{role:?}");
            assert!(
                is_near(ns / 1e3 / n as f64, us),
                "{role:?}: {} µs",
                ns / 1e3 / n as f64
            );
            assert!(
                is_near(bytes / ns / 1e3, tbps),
                "{role:?}: {} TB/s",
                bytes / ns / 1e3
            );
            assert!(is_near(roofs / ns, roof), "{role:?}: {} %", roofs / ns);
            assert!(
                tflops.is_none_or(|one| is_near(flops / ns / 1e3, one)),
                "{role:?}: {}",
                flops / ns / 1e3
            );
        }
        // At the rate of the first one, the second expert GEMM takes 2.12 ms less.
        let mut ranked = report.analyses.findings.ranked.iter();
        assert!(ranked.any(|one| one.finding.pattern == "slower_expert_gemm"));
    }
}

/// The configuration of FLUX.1-dev's transformer.
const FLUX: &str = r#"{
    "_class_name": "FluxTransformer2DModel", "num_layers": 19, "num_single_layers": 38,
    "num_attention_heads": 24, "attention_head_dim": 128, "joint_attention_dim": 4096,
    "in_channels": 64, "patch_size": 1, "guidance_embeds": true}"#;

/// The start times of a profile's kernels, with the operation of each.
fn by_start(profile: &Profile) -> BTreeMap<i64, &Operation> {
    let operations = profile.operations().iter();
    let calls = operations.flat_map(|one| one.calls.iter().map(move |call| (one, call)));
    let work = calls.flat_map(|(one, call)| call.work.iter().map(move |id| (one, *id)));
    work.map(|(one, id)| (profile.gpu.get(id).unwrap().span.start_ns, one))
        .collect()
}

/// Kernels identified without a capture, compared with what the capture recorded for each: GEMMs and attentions with
/// the same sizes, and others that move no more bytes than recorded.
fn confirmed(alone: &Profile, merged: &Profile) -> (usize, usize, usize) {
    let recorded = by_start(merged);
    let (mut gemms, mut attentions, mut others) = (0, 0, 0);
    for (start_ns, one) in by_start(alone) {
        let Some(estimate) = &one.estimate else {
            continue;
        };
        let Some(known) = recorded[&start_ns].modelled.as_ref() else {
            continue;
        };
        let size = |modelled: &Modelled, name: &str| modelled.param(name).and_then(Param::size);
        let sizes = |modelled| ["M", "N", "K"].map(|name| size(modelled, name));
        let (ours, theirs) = (&estimate.modelled, known);
        if estimate.role == Role::Attention {
            attentions += 1;
            assert!((ours.work.flops / theirs.work.flops - 1.0).abs() < 1e-9);
        } else if sizes(ours)[0].is_some() {
            gemms += 1;
            assert_eq!(
                sizes(ours),
                sizes(theirs),
                "{:?} at {start_ns}",
                estimate.role
            );
        } else {
            others += 1;
            assert!(estimate.is_least, "{:?}", estimate.role);
            let (ours, theirs) = (ours.work.bytes.unwrap(), theirs.work.bytes.unwrap());
            assert!(ours <= theirs, "{:?}: {ours} of {theirs}", estimate.role);
        }
    }
    (gemms, attentions, others)
}

fn known_percent(profile: &Profile) -> f64 {
    let report = report(profile);
    let known = fact(report.overview.serving.as_ref().unwrap(), "Known work");
    known.split_once(' ').unwrap().0.parse().unwrap()
}

/// Results from a diffusion transformer's configuration match what its capture recorded; so do results from the capture
/// used as the eager trace.
#[test]
fn the_work_of_denoising_steps_without_their_capture() {
    let name = "xdit_flux_sage";
    let (Some(trace), Some(merged)) = (shared::serving(name), captured(name)) else {
        return;
    };
    let capture = shared::serving(&format!("{name}.capture")).unwrap();
    let eager = EagerShapes::of(&profile(capture)).unwrap();
    let config = ShapeSources {
        config: Some(Arc::new(model_config::parse(FLUX).unwrap())),
        ..ShapeSources::default()
    };
    let eager = ShapeSources {
        eager: Some(eager),
        ..ShapeSources::default()
    };
    for sources in [config, eager] {
        let alone = profile(&trace).with_sources(sources);
        // 495 of 503 GEMMs of a step; those that embed time, image and text have no role.
        let (gemms, attentions, others) = confirmed(&alone, &merged);
        assert_eq!((gemms, attentions), (4 * 495, 4 * 57));
        assert!(others >= 4 * 76, "{others}");
        let percent = known_percent(&alone);
        assert!(percent >= 80.0, "{percent}");
        if let Some(coverage) = alone.eager_coverage() {
            assert!(
                coverage.contains("2\u{202f}208 of 2\u{202f}240"),
                "{coverage}"
            );
        }
    }
}

/// The GEMMs of a decode step, matched by position with those in its capture, and its attention to the whole context.
#[test]
fn the_work_of_a_decode_step_by_an_eager_trace() {
    let name = "vllm_decode_full";
    let (Some(trace), Some(merged)) = (shared::serving(name), captured(name)) else {
        return;
    };
    let capture = shared::serving(&format!("{name}.capture")).unwrap();
    let eager = EagerShapes::of(&profile(capture)).unwrap();
    let alone = profile(trace).with_sources(ShapeSources {
        eager: Some(eager),
        ..ShapeSources::default()
    });
    let coverage = alone.eager_coverage().unwrap();
    for part in [
        "gives the sizes of 84 of 96",
        "12 attentions with a sliding window",
    ] {
        assert!(coverage.contains(part), "{coverage}");
    }
    let of_capture = alone.operations().iter().filter(|one| {
        let source = one.estimate.as_ref().map(|known| known.source);
        source == Some(Source::Eager)
    });
    let recorded = by_start(&merged);
    let mut n = 0;
    for one in of_capture {
        let known = one.estimate.as_ref().unwrap();
        for id in one.calls.iter().flat_map(|call| &call.work) {
            let start_ns = alone.gpu.get(*id).unwrap().span.start_ns;
            let theirs = recorded[&start_ns].modelled.as_ref().unwrap();
            if let (Some(ours), Some(theirs)) = (known.modelled.param("K"), theirs.param("K")) {
                assert_eq!(ours, theirs);
                n += 1;
            }
        }
    }
    assert_eq!(n, 72);
}
