//! Compilation and capture after the first steps, which are no cold starts.

use super::*;

/// Four steps that run compiled code; before two of them code is compiled for 800 µs.
#[test]
fn compilation_after_a_step_without_any_is_no_cold_start() {
    const COMPILER: &str = "_compile.compile_inner (dynamo_timed)";
    let compiled_in = |steps: [u32; 2]| {
        let trace = (0..4).fold(Timetable::new(), |trace, nth| {
            let at = 1_000 * nth;
            let trace = trace.annotation(&format!("ProfilerStep#{nth}"), at..at + 1_000);
            let trace = match steps.contains(&nth) {
                true => trace.annotation(COMPILER, at + 50..at + 850),
                false => trace,
            };
            let trace = trace.op("Torch-Compiled Region: 0/0", at + 900..at + 990);
            trace.launched("triton_add", at + 910..at + 915, at + 920..at + 990)
        });
        trace.profile()
    };
    let again = found(&compiled_in([2, 3]), "recompilation");
    is_about(&again, 1_860);
    assert!(again.impact.is_some());
    assert_contains(&again.model, &["`TORCH_LOGS=recompiles`"]);
    // Compilation in the first steps belongs to the cold start, whether or not some of the code ran before.
    let cold = found(&compiled_in([0, 1]), "start_up");
    assert_eq!((cold.time_ns, cold.impact), (930_000, None));
}

/// The same without steps of the profiler: from one entry of the compiled region to the next.
#[test]
fn recompilation_is_found_without_recorded_steps() {
    let compiled_in = |rounds: &[u32]| {
        let trace = (0..4).fold(Timetable::new(), |trace, nth| {
            let at = 1_000 * nth;
            let trace = match rounds.contains(&nth) {
                true => {
                    trace.annotation("_compile.compile_inner (dynamo_timed)", at + 50..at + 850)
                }
                false => trace,
            };
            let region = format!(
                "Torch-Compiled Region: 0/{}",
                rounds.len().min(nth as usize)
            );
            let trace = trace.op(&region, at + 900..at + 990);
            trace.launched("triton_add", at + 910..at + 915, at + 920..at + 990)
        });
        trace.profile()
    };
    is_about(&found(&compiled_in(&[2, 3]), "recompilation"), 1_860);
    let cold = found(&compiled_in(&[0, 1]), "start_up");
    assert_eq!((cold.time_ns, cold.impact), (930_000, None));
}

/// In each of three steps some code is compiled once more. Annotations on the GPU, in whose time nothing is compiled,
/// are no steps.
#[test]
fn the_third_version_of_compiled_code_is_no_cold_start() {
    let compiled_from = |version: u32| {
        let trace = (0..3).fold(Timetable::new(), |trace, nth| {
            let (at, step) = (1_000 * nth, format!("ProfilerStep#{nth}"));
            let region = format!("Torch-Compiled Region: 0/{}", version + nth);
            let on_gpu = |trace: Timetable, name: &str| {
                trace.on_stream("gpu_user_annotation", name, at + 920..at + 990)
            };
            let trace = trace
                .annotation(&step, at..at + 1_000)
                .annotation("_compile.compile_inner (dynamo_timed)", at + 50..at + 850)
                .op(&region, at + 900..at + 990)
                .launched("triton_add", at + 910..at + 915, at + 920..at + 990);
            on_gpu(on_gpu(trace, &step), "## Call CompiledFxGraph fal4xp ##")
        });
        trace.profile()
    };
    is_about(&found(&compiled_from(1), "recompilation"), 1_860);
    // The second version is for sizes that vary.
    is_about(&found(&compiled_from(0), "recompilation"), 930);
    is_about(&found(&compiled_from(0), "start_up"), 930);
}

/// Four steps capture a graph for 800 µs each: that of the third and the fourth is no warm-up.
#[test]
fn graphs_that_each_step_captures_are_no_cold_start() {
    let trace = (0..4).fold(Timetable::new(), |trace, nth| {
        let at = 1_000 * nth;
        trace
            .annotation(&format!("ProfilerStep#{nth}"), at..at + 1_000)
            .frame("torch/cuda/graphs.py(97): capture_begin", at + 50..at + 850)
            .runtime("cudaStreamBeginCapture", 0, at + 50..at + 51)
            .runtime("cudaStreamEndCapture", 0, at + 849..at + 850)
            .op("aten::mm", at + 900..at + 990)
            .launched("gemm", at + 910..at + 915, at + 920..at + 990)
    });
    let profile = trace.profile();
    let again = found(&profile, "recompilation");
    is_about(&again, 1_860);
    assert_contains(&again.title, &["captured again"]);
    is_about(&found(&profile, "start_up"), 930);
}
