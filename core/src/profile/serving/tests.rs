//! The steps of small traces.

use super::*;
use crate::testing::Timetable;

/// Decode steps with one kernel per layer, which run on the GPU long after the CPU launched them.
fn decode(steps: &[(&str, u32, u32)]) -> Timetable {
    let step = |trace: Timetable, (name, host, gpu): &(&str, u32, u32)| {
        trace
            .annotation(name, *host..host + 20)
            .op("aten::mm", host + 2..host + 18)
            .launched("gemm", host + 4..host + 5, *gpu..gpu + 30)
            .launched("attn_fwd", host + 6..host + 7, gpu + 30..gpu + 40)
    };
    steps.iter().fold(Timetable::new(), step)
}

fn serving(trace: &Timetable) -> Serving {
    trace.profile().serving().unwrap().clone()
}

#[test]
fn a_step_has_what_its_thread_launched_in_it_whenever_that_ran() {
    let trace = decode(&[
        ("step[DECODE bs=4]", 0, 500),
        ("step[DECODE bs=8]", 30, 550),
    ])
    // On another thread, during the first step.
    .thread(2)
    .op("aten::add", 0..10)
    .launched("add", 4..6, 400..410);
    let spans: Vec<_> = serving(&trace)
        .steps
        .iter()
        .map(|step| {
            let activity = step.activity.unwrap();
            (
                activity.span.start_ns / 1000,
                activity.span.end_ns / 1000,
                activity.n_work,
            )
        })
        .collect();
    assert_eq!(spans, [(500, 540, 2), (550, 590, 2)]);
}

#[test]
fn the_time_of_a_step_is_from_start_to_start_else_its_own() {
    let time = |steps: &[(&str, u32, u32)]| {
        let time = serving(&decode(steps))
            .step_time(Some(Phase::Decode))
            .unwrap();
        (time.ns / 1000, time.basis, time.n)
    };
    let name = "step[DECODE bs=4]";
    assert_eq!(time(&[(name, 0, 500)]), (40, Basis::GpuSpan, 1));
    let three = [(name, 0, 500), (name, 30, 550), (name, 60, 610)];
    // With two different times, the step time is neither of them.
    assert_eq!(time(&three), (55, Basis::StartToStart, 2));
    // Steps on another thread do not follow those on this one.
    let threads = |threads: &[u32]| {
        let steps = threads
            .iter()
            .zip(0_u32..)
            .fold(Timetable::new(), |trace, (thread, at)| {
                let (host, gpu) = (at * 30, 500 + at * 50);
                trace
                    .thread(*thread)
                    .annotation(name, host..host + 20)
                    .op("aten::mm", host + 2..host + 18)
                    .launched("gemm", host + 4..host + 5, gpu..gpu + 40)
            });
        let time = serving(&steps).step_time(Some(Phase::Decode)).unwrap();
        (time.ns / 1000, time.basis, time.n)
    };
    assert_eq!(threads(&[1, 2, 1, 2]), (100, Basis::StartToStart, 2));
    assert_eq!(threads(&[1, 2]), (40, Basis::GpuSpan, 2));
    // A decode step ends at the next step, whatever its phase.
    let mixed = [(name, 0, 500), ("step[EXTEND bs=1 toks=9]", 30, 545)];
    assert_eq!(time(&mixed), (45, Basis::StartToStart, 1));
}

/// Inputs of the second step are copied on another stream while the first step runs.
#[test]
fn inputs_that_are_copied_ahead_start_no_step() {
    let step = |trace: Timetable, (id, copy, gpu): (u32, u32, u32)| {
        let host = id * 30;
        trace
            .annotation("step[DECODE bs=4]", host..host + 20)
            .op("aten::mm", host + 2..host + 18)
            .runtime("cudaMemcpyAsync", id, host + 3..host + 4)
            .arrow_start(id)
            .stream(2)
            .copy(id, "Memcpy HtoD (Pinned -> Device)", copy..copy + 2)
            .stream(1)
            .launched("gemm", host + 5..host + 6, gpu..gpu + 40)
    };
    let starts = |second_copy: u32| {
        let steps = [(901, 27_490, 27_500), (902, second_copy, 27_545)];
        let found = serving(&steps.into_iter().fold(Timetable::new(), step));
        let steps = found.steps.iter();
        let starts = steps.map(|step| step.activity.unwrap().span.start_ns / 1000);
        starts.collect::<Vec<_>>()
    };
    assert_eq!(starts(27_510), [27_490, 27_545]);
    // After the first step, the copy belongs to the second step.
    assert_eq!(starts(27_541), [27_490, 27_541]);
}

#[test]
fn a_step_that_waits_for_a_batch_before_the_recording_begins_after_it() {
    let trace = Timetable::new()
        .annotation("step[EXTEND bs=1 toks=9]", 0..1000)
        .op("aten::copy_", 2..900)
        .launched("fill_", 3..5, 10..14)
        .launched("queued", 6..8, 800..810)
        .runtime("hipMemcpyWithStream", 77, 20..815)
        .op("aten::mm", 905..990)
        .launched("gemm", 910..912, 920..970);
    let activity = serving(&trace).steps[0].activity.unwrap();
    assert_eq!(
        (activity.span.start_ns, activity.span.end_ns),
        (800_000, 970_000)
    );
    assert_eq!(activity.cut_ns, 790_000);
    // If the thread is busy in the meantime, the step waits for the thread, and the time counts.
    let busy = Timetable::new()
        .annotation("step[EXTEND bs=1 toks=9]", 0..1000)
        .op("aten::copy_", 2..900)
        .launched("fill_", 3..5, 10..14)
        .launched("gemm", 790..795, 800..950);
    assert_eq!(serving(&busy).steps[0].activity.unwrap().cut_ns, 0);
}

#[test]
fn detailed_annotations_go_before_plain_ones() {
    let trace = Timetable::new()
        .annotation(
            "execute_9_context_1(sq9sk9sqsq81sqsk81)_generation_0(sq0sk0sqsq0sqsk0)",
            0..100,
        )
        .annotation("step[EXTEND bs=1 toks=9]", 10..90)
        .op("aten::mm", 20..80)
        .launched("gemm", 30..32, 200..240);
    let found = serving(&trace);
    assert_eq!((found.engine, found.steps.len()), (Some(Engine::Sglang), 1));
    assert_eq!(found.steps[0].batch.unwrap().kv_tokens(), Some(9));
}

/// If there are verification steps, decode steps belong to the draft model.
#[test]
fn drafting_is_no_decode_step() {
    let names = [
        "step[TARGET_VERIFY bs=4 toks=16]",
        "step[DECODE bs=4]",
        "step[DRAFT_EXTEND bs=4 toks=8]",
    ];
    let phases = |names: &[&str]| {
        let steps = (0_u32..).zip(names);
        let steps: Vec<_> = steps
            .map(|(at, name)| (*name, at * 30, 500 + at * 50))
            .collect();
        let found = serving(&decode(&steps));
        found
            .steps
            .iter()
            .map(ServingStep::phase)
            .collect::<Vec<_>>()
    };
    let [decode, draft] = [Some(Phase::Decode), Some(Phase::Draft)];
    assert_eq!(phases(&names), [decode, draft, draft]);
    assert_eq!(phases(&names[1..2]), [decode]);
}

#[test]
fn without_annotations_python_frames_name_the_steps() {
    let runner = "vllm/v1/worker/gpu_model_runner.py";
    let trace = Timetable::new()
        .frame(&format!("{runner}(10): _dummy_run"), 0..100)
        .frame(&format!("{runner}(20): execute_model"), 10..90)
        .op("aten::mm", 20..80)
        .launched("gemm", 30..32, 40..50)
        .frame(&format!("{runner}(20): execute_model"), 200..300)
        .op("aten::mm", 220..280)
        .launched("gemm", 230..232, 240..250);
    let found = serving(&trace);
    assert_eq!(
        (found.named_by, found.engine),
        (NamedBy::Frames, Some(Engine::Vllm))
    );
    // The first one is a warm-up.
    assert_eq!(found.steps.len(), 1);
    assert_eq!(found.steps[0].phase(), None);
    assert!(
        Timetable::new()
            .op("aten::mm", 0..9)
            .profile()
            .serving()
            .is_none()
    );
}

/// Three kernels of one graph, replayed twice with something else in between, and another graph.
#[test]
fn replays_of_one_graph_are_known_by_their_kernels() {
    let replay = |trace: Timetable, (id, host, gpu, last): (u32, u32, u32, &str)| {
        trace
            .runtime("cudaGraphLaunch", id, host..host + 4)
            .arrow_start(id)
            .kernel(id, "norm", gpu..gpu + 2)
            .kernel(id, "gemm", gpu + 2..gpu + 6)
            .kernel(id, last, gpu + 6..gpu + 8)
    };
    let trace = Timetable::new().annotation("execute_diffusion_1_64x64", 0..100);
    let launches = [(1, 10, 20, "add"), (2, 30, 40, "add"), (3, 50, 60, "mul")];
    let trace = launches.into_iter().fold(trace, replay);
    let profile = trace.profile();
    let graphs = replays::graphs(&profile);
    let sizes: Vec<_> = graphs
        .iter()
        .map(|graph| (graph.replays.len(), graph.ns()))
        .collect();
    assert_eq!(sizes, [(2, 16_000), (1, 8_000)]);
    let shape = profile.serving().unwrap().shape;
    assert_eq!(
        (shape.kind, shape.launches, shape.n_work),
        (ShapeKind::FullGraph, 3, 9)
    );
}

/// The kernel names of a step with three layers: 75 kernels, including those before and after the layers.
fn layers_of_kernels() -> Vec<String> {
    let layer = |_| {
        let other = (0..23).map(|at| format!("kernel_{at}"));
        std::iter::once("attn_fwd".to_owned())
            .chain(other)
            .collect::<Vec<_>>()
    };
    let layers = (0..3).flat_map(layer);
    let first = ["embedding", "norm"].map(str::to_owned);
    first
        .into_iter()
        .chain(layers)
        .chain(["argmax".to_owned()])
        .collect()
}

/// Each kernel is launched by the CPU, step by step.
fn eager(n_steps: u32) -> Timetable {
    let names = layers_of_kernels();
    let n = names.len() as u32;
    let mut trace = Timetable::new().op("aten::mm", 0..n * n_steps * 2 + 2);
    for step in 0..n_steps {
        for (name, at) in names.iter().zip(0..) {
            let host = (step * n + at) * 2 + 1;
            let gpu = 100_000 + step * 1000 + at * 10;
            trace = trace.launched(name, host..host + 1, gpu..gpu + 8);
        }
    }
    trace
}

#[test]
fn steps_that_nothing_names_are_what_the_kernels_repeat() {
    let found = serving(&eager(5));
    assert_eq!((found.named_by, found.engine), (NamedBy::Kernels, None));
    // From one idle gap to the next; the end of the last step is unknown.
    let starts: Vec<_> = found
        .steps
        .iter()
        .map(|step| {
            let activity = step.activity.unwrap();
            (activity.span.start_ns / 1000 - 100_000, activity.n_work)
        })
        .collect();
    assert_eq!(starts, [(0, 75), (1000, 75), (2000, 75), (3000, 75)]);
    let time = found.step_time(None).unwrap();
    assert_eq!((time.ns, time.basis), (1_000_000, Basis::StartToStart));
    assert_eq!(found.blocks.unwrap().layers, Some(3));
    // Two steps may be a coincidence.
    assert!(eager(3).profile().serving().is_none());
    // Training has different steps, and the profiler names them.
    let train = eager(5).op(
        "autograd::engine::evaluate_function: MmBackward0",
        5000..5002,
    );
    assert!(train.profile().serving().is_none());
    let named = eager(5).annotation("ProfilerStep#1", 0..5000);
    assert!(named.profile().serving().is_none());
}

#[test]
fn a_graph_that_is_replayed_again_is_a_step() {
    let names = layers_of_kernels();
    let replay = |trace: Timetable, (id, n): (u32, usize)| {
        let (host, gpu) = (id * 10, 10_000 + id * 1000);
        let trace = trace
            .runtime("hipGraphLaunch", id, host..host + 4)
            .arrow_start(id);
        names
            .iter()
            .take(n)
            .zip(0..)
            .fold(trace, |trace, (name, at)| {
                trace.kernel(id, name, gpu + at * 10..gpu + at * 10 + 8)
            })
    };
    let all = names.len();
    let trace = [(1, all), (2, all), (3, all)]
        .into_iter()
        .fold(Timetable::new(), replay);
    let found = serving(&trace);
    assert_eq!((found.named_by, found.steps.len()), (NamedBy::Replays, 3));
    assert_eq!(found.step_time(None).unwrap().ns, 1_000_000);
    // Pieces of a step contain no layers.
    let pieces = [(1, 20), (2, 20), (3, 20)]
        .into_iter()
        .fold(Timetable::new(), replay);
    assert!(pieces.profile().serving().is_none());
}

#[test]
fn a_replay_is_cut_between_its_layers() {
    let names = layers_of_kernels();
    let trace = names.iter().zip(0..).fold(
        Timetable::new()
            .annotation("step[DECODE bs=4]", 0..10)
            .runtime("cudaGraphLaunch", 1, 2..6)
            .arrow_start(1),
        |trace, (name, at): (_, u32)| trace.kernel(1, name, 100 + at * 10..108 + at * 10),
    );
    let profile = trace.profile();
    let steps = slices::of_steps(&profile);
    assert_eq!(
        (steps.len(), steps[0].step, steps[0].iteration),
        (1, 0, None)
    );
    let parts = steps[0].slices.iter().map(|slice| {
        let start = slice.span.start_ns / 1000;
        (slice.name(), start, slice.work.len())
    });
    let expected = [
        ("beside the layers", 100, 2),
        ("layer 0", 120, 24),
        ("layer 1", 360, 24),
        ("layer 2", 600, 24),
        ("beside the layers", 840, 1),
    ];
    let expected = expected.map(|(name, start, n)| (name.to_owned(), start, n));
    assert_eq!(parts.collect::<Vec<_>>(), expected);
    // No work is lost, and work without layers is a single part.
    let serving = profile.serving().unwrap();
    let all: Vec<GpuId> = profile.gpu.iter().map(|(id, _)| id).collect();
    let some = slices::of_work(&profile, serving, &all[..2]);
    assert_eq!((some.len(), some[0].number), (1, None));
}

/// A step of five layers, given as kernels with times in microseconds.
fn step_of(layer: &[(&str, u32)]) -> Blocks {
    let mut trace = Timetable::new()
        .annotation("step[DECODE bs=4]", 0..10)
        .runtime("cudaGraphLaunch", 1, 2..6)
        .arrow_start(1);
    let mut at = 100;
    for (name, us) in layer.repeat(5) {
        trace = trace.kernel(1, name, at..at + us);
        at += us;
    }
    serving(&trace).blocks.unwrap()
}

/// Kernel names with durations in microseconds.
type Kernels<'a> = &'a [(&'a str, u32)];

#[test]
fn layers_are_known_where_attention_and_what_repeats_agree() {
    const COMBINE: &str = "void cutlass::device_kernel<flash::enable_sm80_or_later<flash::FlashAttnFwdCombine<cute::tuple<>>>>";
    let cases: &[(Kernels, Option<usize>)] = &[
        (&[("attn_fwd", 9), ("gemm", 40), ("norm", 2)], Some(5)),
        // Split-KV attention has a second kernel.
        (
            &[("flash_fwd_kernel", 9), (COMBINE, 2), ("gemm", 40)],
            Some(5),
        ),
        // One kernel for GEMMs of several sizes, and one for both expert GEMMs.
        (&[("attn_fwd", 9), ("gemm", 10), ("gemm", 40)], Some(5)),
        (
            &[
                ("attn_fwd", 9),
                ("fused_moe_kernel", 40),
                ("silu", 2),
                ("fused_moe_kernel", 39),
            ],
            Some(5),
        ),
        // Two layers in each block.
        (
            &[
                ("attn_fwd", 9),
                ("gemm", 40),
                ("attn_fwd", 20),
                ("norm", 2),
                ("gemm", 40),
            ],
            Some(10),
        ),
        // Two attention kernels for each longest kernel.
        (&[("attn_fwd", 9), ("attn_fwd", 9), ("gemm", 40)], None),
    ];
    for (layer, expected) in cases {
        assert_eq!(step_of(layer).layers, *expected, "{layer:?}");
    }
}

/// A step of ten layers in one graph, and a draft of one layer in another.
#[test]
fn a_draft_beside_the_model_adds_no_layer() {
    let replay = |trace: Timetable, (id, n_layers): (u32, u32)| {
        let trace = trace
            .runtime("cudaGraphLaunch", id, id..id + 1)
            .arrow_start(id);
        (0..n_layers).fold(trace, |trace, at| {
            let at = id * 1000 + at * 60;
            let trace = trace.kernel(id, "attn_fwd", at..at + 9);
            let trace = trace.kernel(id, "gemm", at + 9..at + 49);
            trace.kernel(id, "norm", at + 49..at + 52)
        })
    };
    let step = Timetable::new().annotation("step[DECODE bs=4]", 0..10);
    let trace = [(2, 10), (4, 1), (6, 1)].into_iter().fold(step, replay);
    assert_eq!(serving(&trace).blocks.unwrap().layers, Some(10));
}

/// Distances between the attention kernels of layers.
#[test]
fn layers_of_one_kind_are_told_by_how_far_they_are_apart() {
    let groups = |apart: &[usize]| {
        let mut anchors = vec![3];
        anchors.extend(apart.iter().scan(3, |at, gap| {
            *at += gap;
            Some(*at)
        }));
        layers::alike(&anchors)
    };
    let cases: &[(&[usize], &[usize])] = &[
        (&[], &[1]),
        (&[20, 20, 20], &[4]),
        (&[20, 21, 20, 19], &[5]),
        // Three dense layers, then MoE layers: what follows an attention kernel belongs to its layer.
        (&[20, 20, 20, 33, 33, 33, 33], &[3, 5]),
        // Double-stream blocks, then single-stream blocks: half of each is between two attention kernels.
        (&[39, 39, 39, 30, 24, 24, 24], &[4, 4]),
        // No kind of layer occurs twice.
        (&[2, 9, 2, 9], &[2, 2, 1]),
    ];
    for (apart, expected) in cases {
        assert_eq!(groups(apart), *expected, "{apart:?}");
    }
}
