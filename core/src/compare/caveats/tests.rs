use super::super::testing::{H100, assert_contains, compared, profiles, run};
use super::*;
use crate::import::import;
use crate::profile::Profile;
use crate::testing::Timetable;

#[test]
fn another_number_of_gpus_is_said_and_idling_not_held_against_it() {
    let one = Timetable::new().work("aten::mm", "gemm", 100..300);
    let two = one.clone().gpu(1).work("aten::mm", "gemm", 900..1_100);
    let comparison = compared(&one, &two, H100);
    assert!(comparison.is_same_gpu);
    let said = comparison.caveats().join(" ");
    assert_contains(&said, "The reference ran on 1 GPU, the target on 2.");
    assert!(comparison.gaps.ranked.is_empty(), "{:#?}", comparison.gaps);
}

#[test]
fn another_way_of_working_in_parallel_is_said() {
    let alone = Timetable::new().work("aten::mm", "gemm", 100..300);
    let parallel = alone
        .clone()
        .work("c10d::allreduce_", "ncclDevKernel_AllReduce", 300..500);
    let comparison = compared(&alone, &parallel, H100);
    let said = comparison.caveats().join(" ");
    let words = "The target communicates with other GPUs, the reference with none: ";
    assert_contains(&said, words);
    let gap = &comparison.gaps.ranked[0];
    assert_eq!(gap.pattern, "more_exposed_communication");
    let asked = "The reference communicates with no other GPU";
    assert!(gap.kernel.starts_with(asked));
    let again = compared(&parallel, &parallel, H100).caveats().join(" ");
    assert!(!again.contains("communicates"), "{again}");
}

#[test]
fn one_profile_for_two_devices_makes_them_no_same_hardware() {
    let on = |device: &str| {
        let events = Timetable::new().work("aten::mm", "gemm", 100..300).json();
        let devices = format!(r#"{{"deviceProperties": [{{"id": 0, "name": "{device}"}}], "#);
        let text = events.replacen('{', &devices, 1);
        Profile::new(import(text.as_bytes()).unwrap())
    };
    let (one, other) = (on("NVIDIA H100 80GB HBM3"), on("AMD Instinct MI300X"));
    let compared = |target| {
        profiles(&one, target, H100, |sides| {
            Comparison::new(sides.reference, sides.target)
        })
    };
    assert!(compared(&one).is_same_gpu);
    let comparison = compared(&other);
    assert!(!comparison.is_same_gpu);
    let said = &comparison.caveats()[0];
    let words = "The target: Recorded on the AMD Instinct MI300X, compared with the roofline of the NVIDIA H100";
    assert!(said.starts_with(words), "{said}");
}

#[test]
fn steps_that_take_longer_than_their_gpu_activity_are_said() {
    let step = |end: u32| {
        let table = Timetable::new().work("aten::mm", "gemm", 100..300);
        table.annotation("ProfilerStep#1", 0..end)
    };
    let said = compared(&step(310), &step(1_000), H100).caveats().join(" ");
    let words = "The steps of the profiler take 1.00 ms on the target and 310 µs on the reference: 800 µs and 110 µs of that";
    assert_contains(&said, words);
    let same = compared(&step(1_000), &step(1_000), H100).caveats();
    assert!(
        same.iter()
            .all(|one| !one.contains("steps of the profiler"))
    );
}

#[test]
fn training_and_inference_are_distinguished() {
    let forward = Timetable::new().work("aten::mm", "gemm", 100..300);
    let backward = "autograd::engine::evaluate_function: MmBackward0";
    let trains = forward.clone().work(backward, "gemm", 300..500);
    let said = compared(&trains, &forward, H100).caveats().join(" ");
    assert_contains(
        &said,
        "The target has no backward pass, the other trace has one",
    );
    let both = compared(&trains, &trains, H100).caveats().join(" ");
    assert!(!both.contains("backward pass"), "{both}");
}

#[test]
fn gemms_of_other_weights_are_those_of_another_model() {
    let mm = |m: u32, k: u32, n: u32| {
        let dims =
            format!(r#""Input Dims": [[{m}, {k}], [{k}, {n}]], "Input type": ["float", "float"]"#);
        run([("aten::mm", dims.as_str(), "gemm", 100)])
    };
    let other = |target: &Timetable| compared(&mm(64, 128, 256), target, H100).different_work();
    let said = other(&mm(64, 512, 1_024)).unwrap();
    assert_contains(
        &said,
        "(64×512, 512×1024 fp32 instead of 64×128, 128×256 fp32)",
    );
    // Another batch, and half of the columns on each of two GPUs.
    assert_eq!(other(&mm(256, 128, 256)), None);
    assert_eq!(other(&mm(64, 128, 128)), None);
    // Where modules have names, these say it, and once.
    let named = |of: Timetable, model: &str| {
        let layer = |all: Timetable, nth| {
            all.frame(&format!("nn.Module: {model}DecoderLayer_{nth}"), 0..900)
        };
        (0..2).fold(of, layer)
    };
    let (one, other) = (
        named(mm(64, 128, 256), "Llama"),
        named(mm(64, 512, 1_024), "Qwen2"),
    );
    let said = compared(&one, &other, H100).caveats();
    let of_models = said.iter().filter(|one| one.contains("different models"));
    assert_eq!(
        of_models.collect::<Vec<_>>(),
        [
            "The traces are of different models: Llama is the reference, Qwen2 the target. What they have in common is compared."
        ]
    );
}
