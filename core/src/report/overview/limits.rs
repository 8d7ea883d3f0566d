//! Limits on how far the numbers can be trusted: a few words each, with an explanation and the choice that changes it.

use serde::{Deserialize, Serialize};

use super::repairs::{self, RepairedKind};
use super::{Hardware, Level};
use crate::assess::Thresholds;
use crate::base::format;
use crate::base::interval::percent_of;
use crate::base::labels::labeled;
use crate::import::warning::WarningKind;
use crate::profile::Profile;
use crate::profile::gpu::timelines::Timelines;
use crate::profile::gpu::unattributed::Unattributed;

labeled! {
    /// A reason to trust the numbers less.
    #[derive(Serialize, Deserialize)]
    pub enum LimitKind {
        /// The file ends early.
        Truncated => "Truncated file" as "truncated",
        /// Part of the file could not be read.
        Damaged => "Damaged file" as "damaged",
        /// The launch of some GPU activity is unknown.
        Unattributed => "Unattributed" as "unattributed",
        /// The first GPU activity may have waited for activity launched before the recording.
        BeforeRecording => "Before the recording" as "before_recording",
        /// Implausible times change what the headline numbers would be.
        Repaired => "Repaired times" as "repaired",
        /// Implausible durations.
        UnknownDurations => "Unknown durations" as "unknown_durations",
        /// The clocks of CPU and GPU do not agree.
        Clocks => "Clocks differ" as "clocks",
        /// Some efficiencies are relative to peak, some to achievable figures.
        MixedBasis => "Mixed basis" as "mixed_basis",
        /// The figures belong to a different GPU than the recorded one.
        OtherGpu => "Another GPU" as "other_gpu",
    }
}

/// The choice that changes a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LimitSwitch {
    /// Whether sheets with TraceLens's names also count unattributed activity.
    SheetEvents,
    /// The basis of the figures.
    Basis,
    /// The GPU that the report compares with.
    Gpu,
}

/// One limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limit {
    /// What it is.
    pub kind: LimitKind,
    /// How bad it is.
    pub level: Level,
    /// A few words: "Unattributed 30.1 %".
    pub label: String,
    /// What it means, with its size.
    pub explanation: String,
    /// What changes it.
    pub switch: Option<LimitSwitch>,
}

impl Limit {
    fn new(kind: LimitKind, level: Level, size: &str, explanation: String) -> Limit {
        let label = match size {
            "" => kind.label().to_owned(),
            size => format!("{} {size}", kind.label()),
        };
        Limit {
            kind,
            level,
            label,
            explanation,
            switch: None,
        }
    }

    fn with(self, switch: LimitSwitch) -> Limit {
        Limit {
            switch: Some(switch),
            ..self
        }
    }
}

/// The limits of a report, faults of the file first.
pub(super) fn limits(
    profile: &Profile,
    hardware: &Hardware,
    [before_recording_ns, total_ns]: [Option<i64>; 2],
    thresholds: &Thresholds,
) -> Vec<Limit> {
    let share = |ns| {
        let percent = total_ns.and_then(|total_ns| percent_of(ns, total_ns));
        percent.map_or_else(String::new, format::percent)
    };
    let before_recording = before_recording_ns.filter(|ns| *ns > 0).map(|ns| {
        let explanation = format!(
            "For {} no GPU activity is recorded although the next activity was already launched: the GPU may have run kernels launched before the recording. That time counts as idle.",
            format::time_ns(ns)
        );
        Limit::new(LimitKind::BeforeRecording, Level::Note, &share(ns), explanation)
    });
    let unknown_ns = profile.gpu.unknown_ns();
    let unknown = (unknown_ns > 0).then(|| {
        let explanation = format!(
            "For {} the GPU busy time is unknown because some recorded durations are invalid. That time counts as idle.",
            format::time_ns(unknown_ns)
        );
        Limit::new(LimitKind::UnknownDurations, Level::Bad, &share(unknown_ns), explanation)
    });
    let clocks = profile.recording.clocks_ns.map(|ns| {
        let apart = format::time_ns(ns.saturating_abs());
        let idle = Timelines::of(profile).whole.map(|whole| whole.idle_ns);
        let while_idle = idle.map_or("while the GPU was idle".to_owned(), |ns| {
            format!("in the {} in which the GPU was idle", format::time_ns(ns))
        });
        let explanation = format!(
            "The clocks of CPU and GPU are {apart} apart. GPU times are not affected; what the CPU did {while_idle} is not reported."
        );
        Limit::new(LimitKind::Clocks, Level::Bad, &apart, explanation)
    });
    let mixed = hardware.caveat.as_ref().map(|caveat| {
        Limit::new(LimitKind::MixedBasis, Level::Note, "", caveat.clone()).with(LimitSwitch::Basis)
    });
    let other = hardware.mismatch.as_ref().map(|mismatch| {
        Limit::new(LimitKind::OtherGpu, Level::Warn, "", mismatch.clone()).with(LimitSwitch::Gpu)
    });
    let all = [
        of_file(profile),
        unattributed(profile, thresholds),
        repaired(profile),
        before_recording,
        unknown,
        clocks,
        mixed,
        other,
    ];
    all.into_iter().flatten().collect()
}

/// The limit that times were repaired: shows the largest change.
fn repaired(profile: &Profile) -> Option<Limit> {
    let figures = repairs::figures(profile);
    let headline = figures
        .iter()
        .filter(|one| one.kind != RepairedKind::Kernel);
    let most = headline.max_by_key(|one| one.change_ns().saturating_abs())?;
    let explanation = format!(
        "Some GPU events have invalid times, which are not counted. Counted as recorded, {} of GPU activity would change the headline numbers, most of all \"{}\": {} instead of {}. Data quality on the Overview lists all of them.",
        format::counted(profile.recording.as_recorded.len() as u64, "piece"),
        most.label,
        format::time_ns(most.recorded_ns),
        format::time_ns(most.repaired_ns),
    );
    let kind = LimitKind::Repaired;
    Some(Limit::new(kind, Level::Warn, "", explanation))
}

/// Kinds of warnings that say that the rest of the file is missing.
const CUTS: [WarningKind; 4] = [
    WarningKind::CutGzip,
    WarningKind::CutJson,
    WarningKind::TooManyEvents,
    WarningKind::AnotherTrace,
];

/// The limit that part of the file is missing.
fn of_file(profile: &Profile) -> Option<Limit> {
    let lost = profile.recording.imported.iter();
    let lost = lost.filter(|warning| warning.loses_data());
    // Warnings from repairs and links have limits of their own, or none.
    let of_bytes = lost.filter(|warning| {
        use WarningKind::*;
        !matches!(
            warning.kind,
            ClocksDiffer
                | UnknownCategory
                | UnreadableArguments
                | MissingDuration
                | NegativeDuration
                | ImpossibleDuration
                | OverlongDuration
                | ImpossibleStart
        )
    });
    let of_bytes: Vec<_> = of_bytes.collect();
    let is_cut = of_bytes.iter().any(|warning| CUTS.contains(&warning.kind));
    let kind = match (of_bytes.is_empty(), is_cut) {
        (true, _) => return None,
        (_, true) => LimitKind::Truncated,
        (_, false) => LimitKind::Damaged,
    };
    let n_read = format::counted(profile.trace.n_events_read, "event");
    let sentences = of_bytes.iter().map(|warning| match warning.count {
        1 => warning.sentence().into_owned(),
        count => format!("{} ({} times)", warning.sentence(), format::count(count)),
    });
    let sentences = format::joined(sentences, " ");
    let explanation = format!("{n_read} read. {sentences}");
    Some(Limit::new(kind, Level::Bad, "", explanation))
}

fn unattributed(profile: &Profile, thresholds: &Thresholds) -> Option<Limit> {
    let found = Unattributed::of(profile);
    let percent = found.percent().filter(|_| found.all.count > 0)?;
    if percent < thresholds.unlinked_percent {
        return None;
    }
    let explanation = format!(
        "No recorded call launched {} of {} of kernels and copies ({}; {} in which nothing else runs): {}. All views show it as a separate part; TraceLens-compatible sheets exclude it by default.",
        format::time_ns(found.all.ns),
        format::time_ns(found.of.ns),
        format::counted(found.all.count, "event"),
        format::time_ns(found.alone_ns),
        found.reasons(profile),
    );
    let size = format::percent(percent);
    let limit = Limit::new(LimitKind::Unattributed, Level::Warn, &size, explanation);
    Some(limit.with(LimitSwitch::SheetEvents))
}

/// The prefix of the headline for an incomplete trace.
pub(super) fn before_headline(limits: &[Limit]) -> &'static str {
    match limits.first().map(|limit| limit.kind) {
        Some(LimitKind::Truncated) => {
            "The file is truncated; results cover only the part that was read. "
        }
        Some(LimitKind::Damaged) => {
            "The file is damaged; results cover only the part that was read. "
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;
    use crate::import::import;
    use crate::report::{Overview, Report, ReportOptions};
    use crate::testing::Timetable;

    fn overview(profile: &Profile) -> Overview {
        Report::new(profile, &ReportOptions::default()).overview
    }

    fn kinds(overview: &Overview) -> Vec<&str> {
        overview
            .limits
            .iter()
            .map(|limit| limit.kind.key())
            .collect()
    }

    fn clean() -> Timetable {
        Timetable::new().work("aten::mm", "gemm", 20..50)
    }

    #[test]
    fn a_clean_trace_has_none() {
        assert_eq!(overview(&clean().profile()).limits, []);
    }

    #[test]
    fn a_truncated_file_says_so_before_the_answer() {
        let json = clean().json();
        let cut = json.get(..json.len() - 3).unwrap();
        let overview = overview(&Profile::new(import(cut.as_bytes()).unwrap()));
        assert_eq!(kinds(&overview), ["truncated"]);
        assert!(overview.headline.starts_with("The file is truncated"));
    }

    /// 30 of 60 µs have no launching call.
    #[test]
    fn unattributed_activity_has_its_share_and_time() {
        let overview = overview(&clean().kernel(2, "gemm", 60..90).profile());
        assert_eq!(kinds(&overview), ["unattributed"]);
        let [limit] = &overview.limits[..] else {
            panic!("{:?}", overview.limits);
        };
        assert_eq!(limit.label.replace('\u{202F}', " "), "Unattributed 50.0 %");
        assert!(limit.explanation.contains("30.0"), "{}", limit.explanation);
        assert_eq!(limit.switch, Some(LimitSwitch::SheetEvents));
    }
}
