//! What stays open: what could not be analysed, and what to ask next.

use super::super::Source;
use crate::base::format;
use crate::findings::{Status, Tier};
use crate::output::document::{Document, line};

/// What this trace does not let one analyse.
pub(super) fn gaps(document: &mut Document, source: &Source) {
    let profile = source.profile;
    let mut items: Vec<String> = Vec::new();
    if !profile.has_gpu_events() {
        let why = profile.without_gpu().trim_end_matches('.');
        items.push(format!(
            "{why}: nothing is known of kernels, and no kind of work on the GPU is analysed."
        ));
    }
    if !profile.has_host_ops() {
        items.push("No operators were recorded: kernels are told apart by their names.".to_owned());
    }
    if !profile.has_python_frames() {
        items.push("No Python frames were recorded: modules and lines of code are not known (`with_stack=True` records them).".to_owned());
    }
    if profile.has_gpu_events() && source.report.overview.hardware.gpu.is_none() {
        items.push("No GPU profile: distances from the roof are not known.".to_owned());
    }
    let without_shapes = profile
        .operations()
        .iter()
        .filter(|operation| operation.is_linked && operation.key.args.is_none())
        .count();
    if without_shapes > 0 {
        items.push(format!(
            "{} without recorded shapes: their work is not known (`record_shapes=True` records them).",
            format::counted(without_shapes as u64, "operation")
        ));
    }
    let unlinked = profile.launches.n_unlinked();
    if unlinked > 0 {
        let pieces = match unlinked {
            1 => "1 piece of GPU work is".to_owned(),
            n => format!("{} pieces of GPU work are", format::count(n)),
        };
        items.push(format!("{pieces} without a known launching call."));
    }
    let mut absent = Vec::new();
    for outcome in &source.report.analyses.outcomes {
        match &outcome.status {
            Status::NoData if !profile.has_gpu_events() => {}
            Status::NoData if outcome.kind.tier == Tier::Compute => {
                absent.push(outcome.kind.subject);
            }
            Status::NoData => items.push(format!("No {} in this trace.", outcome.kind.subject)),
            Status::Error(why) => items.push(format!("{} failed: {why}", outcome.kind.title)),
            Status::Done => items.extend(outcome.notes.iter().cloned()),
        }
    }
    if !absent.is_empty() {
        items.push(format!(
            "Without operations of their own in this trace: {}.",
            absent.join(", ")
        ));
    }
    items.push(
        "Never visible in a trace: memory bank conflicts, the pattern of memory access, cache hits, \
         how many waves are resident, and why a kernel is slow. A reproducer under a hardware \
         profiler shows them."
            .to_owned(),
    );
    document.bullets(items.iter().map(|item| line(item)).collect());
}

/// What somebody with the model at hand can answer.
pub(super) fn questions(document: &mut Document, source: &Source) {
    let mut items: Vec<String> = Vec::new();
    let findings = &source.report.analyses.findings.ranked;
    for ranked in findings.iter().take(5) {
        let subject = format!("P{} ({})", ranked.number, ranked.finding.title);
        items.push(match (ranked.analysis.tier, ranked.finding.impact) {
            (Tier::System, _) => format!(
                "{subject}: is the waiting inherent to the workload, or a matter of how it is run?"
            ),
            (Tier::Fusion, _) => {
                format!("{subject}: may the module be replaced by a fused one, or compiled?")
            }
            (Tier::Compute, None) => format!(
                "{subject}: how much work is it? A performance model of your own answers that."
            ),
            (Tier::Compute, Some(_)) if ranked.finding.replay.is_some() => {
                format!("{subject}: does the reproducer show the same time outside the model?")
            }
            (Tier::Compute, Some(_)) => format!("{subject}: what of it does the model need?"),
        });
    }
    if source.model.model.value.is_none() {
        items.push(match source.profile.has_python_frames() {
            true => "Which model is it? Neither modules nor operators tell.".to_owned(),
            false => "Which model is it? Recording Python frames tells.".to_owned(),
        });
    }
    let has_gpu = source.profile.has_gpu_events();
    if has_gpu && source.report.overview.hardware.gpu.is_none() {
        items.push("Which GPU is it? Choosing its profile gives efficiencies.".to_owned());
    }
    if items.is_empty() {
        document.text("None.");
    }
    document.bullets(items.iter().map(|item| line(item)).collect());
}
