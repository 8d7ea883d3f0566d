//! Memory of real traces: every figure is a sum of bytes, exact to the byte.

use std::collections::BTreeMap;
use std::sync::Arc;

use dormer_core::Profile;
use dormer_core::profile::memory::{DeviceMemory, Memory};
use dormer_core::profile::window::Window;
use dormer_core::report::memory::memory_view;
use dormer_core::trace::StringId;

use crate::support::opened::{profile, report};
use crate::support::shared;

/// A device by name.
fn device<'a>(memory: &'a Memory, label: &str) -> &'a DeviceMemory {
    let found = memory.devices.iter().find(|device| device.label == label);
    found.unwrap_or_else(|| panic!("no {label}"))
}

fn open(name: &str) -> Option<(Profile, Arc<Memory>)> {
    let folder = shared::folder()?;
    let profile = profile(shared::trace(&folder, name));
    let memory = profile.memory();
    Some((profile, memory))
}

fn named(profile: &Profile, operator: Option<StringId>) -> &str {
    operator.map_or("outside", |name| profile.trace.strings.get(name))
}

#[test]
fn the_peak_of_a_real_trace_is_exact_to_the_byte() {
    let Some((profile, memory)) = open("h100_qwen") else {
        return;
    };
    let gpu = device(&memory, "GPU 0");
    assert_eq!(gpu.curve.len(), 2_250);
    assert_eq!(
        (gpu.n_allocations, gpu.allocated_bytes),
        (1_125, 21_375_221_248)
    );
    assert_eq!((gpu.n_frees, gpu.freed_bytes), (1_125, 21_375_221_248));
    assert_eq!(
        (gpu.before_bytes, gpu.before_at_peak),
        (984_742_400, 984_742_400)
    );
    let peak = gpu.peak;
    assert_eq!(
        (peak.allocated, peak.reserved),
        (2_088_508_416, 2_629_828_608)
    );
    assert_eq!(peak.ts_ns, 1_428_625_778_044_036);
    let unused = peak.unused_percent().unwrap();
    assert!((unused - 20.6).abs() < 0.05, "{unused}");
    assert_eq!(gpu.live_at_peak().count(), 58);
    let held = gpu.peak_by_operator(&profile.trace);
    assert_eq!(held.iter().map(|one| one.bytes).sum::<u64>(), 1_103_766_016);
    let held: BTreeMap<&str, (u64, u64)> = held
        .iter()
        .map(|one| (named(&profile, one.operator), (one.n_blocks, one.bytes)))
        .collect();
    let expected = [
        ("aten::add", (26, 476_250_112)),
        ("aten::addmm", (24, 439_615_488)),
        ("aten::mm", (1, 50_372_608)),
        ("aten::mul", (2, 68_689_920)),
        // Two blocks of the same size, by two operators.
        ("aten::silu", (1, 50_372_608)),
    ];
    let mut others = held.clone();
    for (name, figures) in expected {
        assert_eq!(others.remove(name), Some(figures), "{name}");
    }
    let rest: u64 = others.values().map(|(_, bytes)| bytes).sum();
    assert_eq!(rest, 1_103_766_016 - 1_085_300_736, "{others:?}");
}

#[test]
fn operators_of_a_real_trace_allocate_so_much() {
    let Some((profile, memory)) = open("h100_qwen") else {
        return;
    };
    let gpu = device(&memory, "GPU 0");
    let operators = gpu.by_operator(&profile);
    let first: Vec<_> = operators
        .iter()
        .map(|one| (named(&profile, one.operator), one.n_allocations, one.bytes))
        .take(4)
        .collect();
    let expected = [
        ("aten::mul", 220, 5_660_336_128),
        ("aten::mm", 96, 3_297_116_160),
        ("aten::empty_strided", 125, 3_132_406_272),
        ("aten::empty", 192, 1_847_697_408),
    ];
    assert_eq!(first, expected);
    // At the end, no memory allocated during the recording is in use.
    assert!(operators.iter().all(|one| one.net_bytes == 0));
}

/// 200 events of 8 bytes each on the CPU: too little to be mentioned.
#[test]
fn a_device_with_little_memory_is_in_no_headline() {
    let Some((profile, memory)) = open("h100_qwen") else {
        return;
    };
    let cpu = device(&memory, "CPU");
    assert_eq!((cpu.curve.len(), cpu.peak.allocated), (200, 16));
    assert_eq!(memory.main().count(), 1);
    let view = memory_view(&profile);
    assert!(view.headline.contains("GPU 0") && !view.headline.contains("CPU"));
    assert_eq!(view.devices.len(), 1);
    assert!(view.notes.iter().any(|note| note.ends_with("CPU (16 B).")));
}

/// In each of them, totals and blocks agree, and the blocks of the recording plus the memory from before make up the
/// peak.
#[test]
fn totals_and_blocks_of_real_traces_agree() {
    let Some(folder) = shared::folder() else {
        return;
    };
    let names = [
        "cpu_training",
        "h100_bert",
        "h100_qwen",
        "h100_timesformer",
        "mi300_normalization",
        "mi300_qwen",
        "mi300_timesformer",
        "mi300_vit",
    ];
    let mut traces: Vec<_> = names
        .map(|name| (name, shared::trace(&folder, name)))
        .to_vec();
    let capture = shared::serving("vllm_decode_full.capture");
    traces.extend(capture.map(|bytes| ("vllm_decode_full.capture", bytes)));
    for (name, bytes) in traces {
        let profile = profile(bytes);
        let memory = profile.memory();
        assert!(!memory.devices.is_empty(), "{name}");
        for device in &memory.devices {
            let check = device.check;
            assert!(check.holds(), "{name}, {}: {check:?}", device.label);
            assert_eq!(check.n_freed_before, 0, "{name}");
            let live: u64 = device.live_at_peak().map(|block| block.bytes).sum();
            assert_eq!(device.before_bytes + live, device.peak.allocated, "{name}");
        }
    }
    for name in [
        "xdit_sd35",
        "sglang_prefilldecode",
        "mi300_resnet_training",
        "torch_compile_triton",
    ] {
        let profile = profile(shared::trace(&folder, name));
        assert!(profile.memory().is_empty(), "{name}");
        assert!(memory_view(&profile).how.is_some(), "{name}");
    }
}

/// The halves of a trace have the totals of the whole where they meet, and one of them has its peak.
#[test]
fn parts_of_a_real_trace_have_its_memory() {
    let Some((profile, memory)) = open("h100_timesformer") else {
        return;
    };
    let whole = device(&memory, "GPU 0");
    let (first, last) = (
        whole.curve[0].ts_ns,
        whole.curve[whole.curve.len() - 1].ts_ns,
    );
    let middle = first.midpoint(last);
    let part = |from, to| {
        let span = dormer_core::base::interval::Interval::new(from, to);
        profile.window(&Window::range(span)).memory()
    };
    let (one, two) = (part(first, middle), part(middle, last + 1));
    let [one, two] = [&one, &two].map(|memory| device(memory, "GPU 0"));
    assert_eq!(one.curve.len() + two.curve.len(), whole.curve.len());
    assert_eq!(one.n_allocations + two.n_allocations, whole.n_allocations);
    let end = one.curve[one.curve.len() - 1].allocated;
    assert_eq!(two.before_bytes, end);
    let peaks = [one.peak.allocated, two.peak.allocated];
    assert_eq!(peaks.into_iter().max(), Some(whole.peak.allocated));
    assert!(one.check.holds() && two.check.holds());
}

/// Memory findings of real traces, which come after all findings that save time.
#[test]
fn findings_of_memory_come_after_those_of_time() {
    let Some(folder) = shared::folder() else {
        return;
    };
    let found = |name: &str| -> Vec<(String, u64)> {
        let profile = profile(shared::trace(&folder, name));
        let report = report(&profile);
        let ranked = &report.analyses.findings.ranked;
        let is_memory = |at: usize| {
            let finding = &ranked[at].finding;
            finding.impact.is_none() && finding.memory_bytes.is_some()
        };
        let first = (0..ranked.len()).find(|at| is_memory(*at));
        let behind = first.map_or(&[][..], |first| &ranked[first..]);
        assert!(
            behind.iter().all(|one| one.finding.impact.is_none()),
            "{name}"
        );
        let of_memory = ranked.iter().filter(|one| one.analysis.key == "memory");
        of_memory
            .map(|one| {
                let bytes = one.finding.memory_bytes.unwrap_or(0);
                (one.finding.pattern.to_owned(), bytes)
            })
            .collect()
    };
    // 2 079 634 432 of 6 671 040 512 bytes, 31.2 %, are not in use at the peak.
    let fragmentation = ("memory_fragmentation".to_owned(), 2_079_634_432);
    assert!(found("mi300_timesformer").contains(&fragmentation));
    assert!(
        !found("h100_qwen")
            .iter()
            .any(|(key, _)| key == "memory_fragmentation")
    );
}
