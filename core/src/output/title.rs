//! Titles of documents and files about one trace or two.

use crate::compare::comparison::Comparison;
use crate::compare::pair::Which;
use crate::profile::Profile;
use crate::report::Report;

/// "Qwen2 - AMD Instinct MI300X Standalone Analysis".
pub(crate) fn of_trace(profile: &Profile, report: &Report) -> String {
    let model = profile.model_info().title();
    format!("{model} - {} Standalone Analysis", platform(report))
}

/// The GPU that the trace names, otherwise the one that was chosen.
pub(crate) fn platform(report: &Report) -> &str {
    let hardware = &report.overview.hardware;
    let chosen = hardware.gpu.as_ref().map(|gpu| gpu.name.as_ref());
    let recorded = hardware.recorded_on.as_deref();
    recorded.or(chosen).unwrap_or("Unknown GPU")
}

/// "Qwen2 Performance Comparison: NVIDIA H100 vs AMD Instinct MI300X"; with the names of the traces if both ran on the
/// same hardware.
pub(crate) fn of_comparison(comparison: &Comparison) -> String {
    let models = comparison.sides.as_ref().map(|side| side.model.as_deref());
    let model = match (models.reference, models.target) {
        (Some(reference), Some(target)) if reference == target => target,
        _ => "Workload",
    };
    let [reference, target] = Which::ALL.map(|which| called(comparison, which));
    format!("{model} Performance Comparison: {reference} vs {target}")
}

/// The name of a trace in headings: its platform if that distinguishes the two, otherwise its name.
pub(crate) fn called(comparison: &Comparison, which: Which) -> &str {
    let sides = comparison.sides.as_ref();
    match sides.map(|side| side.platform.as_deref()).both() {
        Some(platforms) if platforms.reference != platforms.target => platforms.get(which),
        _ => &comparison.sides.get(which).name,
    }
}
