//! Phases, layers and repeated kernels of steps.

use dormer_core::base::interval::Interval;
use dormer_core::base::periods::runs;
use dormer_core::import::import;
use dormer_core::profile::Profile;
use dormer_core::profile::graphs::capture::CaptureFile;
use dormer_core::profile::serving::slices::of_steps;
use dormer_core::profile::serving::{Serving, stream_runs};
use dormer_core::profile::window::of_all_steps;
use dormer_core::report::sheet::Cell;

use super::{fact, steps_of};
use crate::support::opened::{profile, report};
use crate::support::shared;

fn eager(name: &str) -> Option<Vec<u8>> {
    Some(shared::trace(&shared::folder()?, name))
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
