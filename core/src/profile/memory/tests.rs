use super::*;
use crate::profile::memory::steps::memory_by_step;
use crate::profile::window::Window;
use crate::testing::Timetable;

const MB: i64 = 1_000_000;

/// 100 MB from before the recording; `aten::linear` keeps 20 MB that `aten::empty` allocates for it, `aten::mul` 30 MB
/// for 10 µs and 10 MB to the end.
fn two_operators() -> Timetable {
    Timetable::new()
        .memory(100 * MB, 160 * MB)
        .frame("nn.Module: Block_0", 0..65)
        .frame("nn.Module: Linear_3", 5..25)
        .op("aten::linear", 10..20)
        .op("aten::empty", 12..14)
        .block(0x10, 20 * MB, 13)
        .op("aten::mul", 30..60)
        .block(0x20, 30 * MB, 30)
        .block(0x20, -30 * MB, 40)
        .block(0x30, 10 * MB, 60)
        .block(0x10, -20 * MB, 70)
}

fn only(memory: &Memory) -> &DeviceMemory {
    assert_eq!(memory.devices.len(), 1);
    &memory.devices[0]
}

#[test]
fn the_peak_is_what_was_there_before_and_what_lives_then() {
    let profile = two_operators().profile();
    let memory = profile.memory();
    let gpu = only(&memory);
    assert_eq!(gpu.label, "GPU 0");
    assert!(gpu.check.holds());
    let peak = Point {
        ts_ns: 30_000,
        allocated: 150_000_000,
        reserved: 160_000_000,
    };
    assert_eq!((gpu.peak, gpu.before_bytes), (peak, 100_000_000));
    assert_eq!(peak.unused_percent(), Some(6.25));
    assert_eq!((gpu.n_allocations, gpu.allocated_bytes), (3, 60_000_000));
    assert_eq!((gpu.n_frees, gpu.freed_bytes), (2, 50_000_000));
    let name = |id: Option<crate::trace::StringId>| id.map(|id| profile.trace.strings.get(id));
    let held = gpu.peak_by_operator(&profile.trace);
    let held: Vec<_> = held
        .iter()
        .map(|one| (name(one.operator), one.bytes))
        .collect();
    let expected = [
        (Some("aten::mul"), 30_000_000),
        (Some("aten::empty"), 20_000_000),
    ];
    assert_eq!(held, expected);
    let requested_by = gpu.peak_by_requester(&profile);
    assert_eq!(name(requested_by[1].operator), Some("aten::linear"));
    let sizes = gpu.peak_by_size();
    let sizes: Vec<_> = sizes
        .iter()
        .map(|one| (one.each_bytes, one.n_blocks))
        .collect();
    assert_eq!(sizes, [(30_000_000, 1), (20_000_000, 1)]);
    let modules = gpu.peak_by_module(&profile);
    let modules: Vec<_> = modules
        .iter()
        .map(|one| (one.module.as_deref(), one.bytes))
        .collect();
    let expected = [
        (Some("Block"), 30_000_000),
        (Some("Block › Linear"), 20_000_000),
    ];
    assert_eq!(modules, expected);
}

#[test]
fn operators_have_what_they_allocated_and_how_long_it_lived() {
    let profile = two_operators().profile();
    let memory = profile.memory();
    let operators = only(&memory).by_operator(&profile);
    let figures: Vec<_> = operators
        .iter()
        .map(|one| {
            let name = one.operator.map(|name| profile.trace.strings.get(name));
            let asked = one.requested_by.map(|name| profile.trace.strings.get(name));
            let sizes = (one.bytes, one.net_bytes, one.largest_bytes, one.peak_bytes);
            (name, asked, one.n_allocations, sizes, one.median_life_ns)
        })
        .collect();
    #[rustfmt::skip]
    let expected = [
        (Some("aten::mul"), None, 2, (40_000_000, 10_000_000, 30_000_000, 30_000_000), Some(10_000)),
        (Some("aten::empty"), Some("aten::linear"), 1, (20_000_000, 0, 20_000_000, 20_000_000), Some(57_000)),
    ];
    assert_eq!(figures, expected);
}

#[test]
fn what_no_operator_asked_for_is_told_as_such() {
    let profile = Timetable::new()
        .op("aten::mm", 0..10)
        .block(1, MB, 20)
        .profile();
    let memory = profile.memory();
    assert_eq!(
        only(&memory).peak_by_operator(&profile.trace)[0].operator,
        None
    );
}

/// Totals agree, so no report is missing: the block was allocated before the recording.
#[test]
fn a_block_of_before_may_be_released() {
    let profile = Timetable::new()
        .memory(10 * MB, 20 * MB)
        .block(1, -4 * MB, 10)
        .block(2, 9 * MB, 20)
        .profile();
    let memory = profile.memory();
    let gpu = only(&memory);
    assert!(gpu.check.holds());
    assert_eq!(gpu.check.n_freed_before, 1);
    assert_eq!(
        (gpu.before_bytes, gpu.before_at_peak),
        (10_000_000, 6_000_000)
    );
    assert_eq!(
        (gpu.peak.allocated, gpu.before_percent()),
        (15_000_000, Some(40.0))
    );
}

#[test]
fn a_peak_may_be_before_the_first_report() {
    let profile = Timetable::new()
        .memory(10 * MB, 20 * MB)
        .block(1, -4 * MB, 10)
        .profile();
    let memory = profile.memory();
    let gpu = only(&memory);
    assert_eq!((gpu.peak.allocated, gpu.peak_at), (10_000_000, None));
    assert_eq!(gpu.before_percent(), Some(100.0));
    assert_eq!((gpu.live_at_peak().count(), gpu.check.holds()), (0, true));
}

#[test]
fn what_does_not_agree_is_counted_and_no_blocks_are_told() {
    let (start, end) = (|| Timetable::new().memory(0, 20 * MB), 9 * MB);
    let cases = [
        // A report is missing.
        (
            start()
                .block(1, MB, 1)
                .memory(5 * MB, 20 * MB)
                .block(2, end, 2),
            (1, 0, 0),
        ),
        // Released with another size.
        (
            start().block(1, MB, 1).block(1, -2, 2).block(2, end, 3),
            (0, 1, 0),
        ),
        // Allocated twice.
        (start().block(1, MB, 1).block(1, end, 3), (0, 0, 1)),
    ];
    for (timetable, expected) in cases {
        let profile = timetable.profile();
        let memory = profile.memory();
        let gpu = only(&memory);
        let check = gpu.check;
        let counts = (check.n_jumps, check.n_wrong_sizes, check.n_reused);
        assert_eq!((counts, check.holds()), (expected, false));
        assert!(gpu.blocks.is_empty() && gpu.peak.allocated > 0);
    }
}

/// At 25 µs, 120 MB were allocated before; the peak is the same.
#[test]
fn of_a_window_all_before_it_is_before() {
    let profile = two_operators().profile();
    let part = profile.window(&Window::range(Interval::new(25_000, 65_000)));
    let memory = part.memory();
    let gpu = only(&memory);
    assert_eq!(
        (gpu.before_bytes, gpu.peak.allocated),
        (120_000_000, 150_000_000)
    );
    assert_eq!((gpu.n_allocations, gpu.check.holds()), (2, true));
    assert_eq!(gpu.peak_by_operator(&part.trace).len(), 1);
}

#[test]
fn steps_have_what_is_in_use_when_they_end() {
    let profile = Timetable::new()
        .memory(100, 900)
        .annotation("ProfilerStep#3", 0..100)
        .annotation("ProfilerStep#4", 100..200)
        .block(1, 40, 10)
        .block(2, 60, 50)
        .block(1, -40, 90)
        .block(3, 10, 150)
        .profile();
    let memory = profile.memory();
    let steps = memory_by_step(&profile, only(&memory));
    let figures = steps.iter().map(|step| {
        assert_eq!(step.kind(), "ProfilerStep#");
        let levels = [step.start_bytes, step.peak_bytes, step.end_bytes];
        (step.n_allocations, step.bytes, levels)
    });
    let figures: Vec<_> = figures.collect();
    assert_eq!(
        figures,
        [(2, 100, [100, 200, 160]), (1, 10, [160, 170, 170])]
    );
}

/// An operator that allocates, frees and allocates again had to retry.
#[test]
fn calls_to_the_driver_and_retries() {
    let profile = Timetable::new()
        .op("aten::empty", 0..100)
        .runtime("cudaMalloc", 1, 10..20)
        .runtime("cudaFree", 2, 20..40)
        .runtime("cudaFree", 3, 40..60)
        .runtime("cudaMalloc", 4, 60..70)
        .op("aten::empty", 100..200)
        .runtime("cudaMalloc", 5, 110..120)
        .runtime("cudaMallocHost", 6, 120..130)
        .profile();
    let uses = driver_uses(&profile);
    let calls: Vec<_> = uses.iter().map(|one| (one.call, one.is_retry)).collect();
    use DriverCall::{Allocate, Free};
    let expected = [
        (Allocate, false),
        (Free, false),
        (Free, false),
        (Allocate, true),
        (Allocate, false),
    ];
    assert_eq!(calls, expected);
}

#[test]
fn each_process_has_its_own_allocator() {
    let profile = Timetable::new()
        .block(1, 2 * MB, 1)
        .process(200)
        .memory(0, 0)
        .block(1, 3 * MB, 2)
        .profile();
    let memory = profile.memory();
    let labels: Vec<_> = memory
        .devices
        .iter()
        .map(|one| one.label.as_str())
        .collect();
    assert_eq!(labels, ["GPU 0 (process 100)", "GPU 0 (process 200)"]);
}
