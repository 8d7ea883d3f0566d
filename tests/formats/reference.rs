//! Real traces in other formats against the reference's sheets.

use dormer_core::output::export;
use dormer_core::trace::Category;

use crate::golden;
use crate::support::opened::Opened;
use crate::support::shared;

/// H100's trace through PyTorch's encoder gives what its JSON gives.
#[test]
fn the_sheets_of_a_real_trace_agree_with_the_reference() {
    let Some(shared) = golden::shared_with_python() else {
        return;
    };
    let Some(bytes) = shared::format("h100_qwen.pftrace") else {
        return;
    };
    let gpu = dormer_core::hardware::by_name("NVIDIA H100 SXM");
    let opened = Opened::on("h100_qwen", &bytes, gpu);
    let trace = &opened.profile.trace;
    let sums = |category: Category| {
        let of = trace
            .events
            .ids()
            .filter(|id| trace.events.category(*id) == category);
        let durations = of.filter_map(|id| trace.events.dur_ns(id));
        durations.fold((0, 0), |(count, sum), ns| (count + 1, sum + ns))
    };
    for (category, expected) in [
        (Category::CpuOp, (4_186, 45_647_935)),
        (Category::PythonFunction, (4_262, 1_205_401_306)),
        (Category::Runtime, (1_921, 21_612_394)),
        (Category::Driver, (1, 6_980)),
        (Category::UserAnnotation, (1, 47_151_395)),
        (Category::Kernel, (1_465, 45_432_698)),
        (Category::GpuMemcpy, (1, 2_368)),
        (Category::GpuMemset, (241, 212_234)),
    ] {
        assert_eq!(sums(category), expected, "{category:?}");
    }
    let files = export::Input::new(&opened.profile, &opened.report).artifacts();
    let expected = shared.join("golden/h100_qwen");
    let difference = golden::difference(&shared, &expected, &files, "perf_report_csvs", "");
    assert_eq!(difference, None);
}
