//! Whether the numbers can be trusted, based on the warnings of import and profile.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::repairs::{self, RepairedFigure};
use super::roofline::{self, Anomaly};
use crate::assess::Thresholds;
use crate::base::format;
use crate::base::interval::percent_of;
use crate::base::sort::Arrange;
use crate::import::warning::{Severity, Warning, WarningKind, Warnings};
use crate::profile::Profile;
use crate::profile::gpu::timelines::Timelines;
use crate::profile::gpu::unattributed::Unattributed;
use crate::profile::graphs::capture::Coverage;

/// The severity of a note.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Level {
    /// No issue.
    #[default]
    Good,
    /// Good to know; all numbers are valid.
    Note,
    /// Something was repaired.
    Warn,
    /// Something is missing from the numbers.
    Bad,
}

impl Level {
    /// Its name in style sheets.
    pub fn token(self) -> &'static str {
        match self {
            Level::Good => "good",
            Level::Note => "note",
            Level::Warn => "warn",
            Level::Bad => "bad",
        }
    }

    fn of(severity: Severity) -> Level {
        match severity {
            Severity::Info => Level::Note,
            Severity::Repaired => Level::Warn,
            Severity::DataLoss => Level::Bad,
        }
    }
}

/// How far the numbers can be trusted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quality {
    /// The worst of the lines.
    pub level: Level,
    /// One sentence that sums it up.
    pub sentence: String,
    /// One line for each kind of problem, worst first.
    pub lines: Vec<QualityLine>,
    /// Headline numbers as recorded and as repaired; empty if no repair changes one.
    pub repaired: Vec<RepairedFigure>,
}

/// One kind of problem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QualityLine {
    /// How bad it is.
    pub level: Level,
    /// What it means and what was done.
    pub sentence: Cow<'static, str>,
    /// How often.
    pub count: u64,
    /// Where it first occurred: a byte of the decompressed text.
    pub first_offset: Option<u64>,
}

impl QualityLine {
    /// A line about a result of the analysis.
    fn judged(sentence: String) -> QualityLine {
        QualityLine {
            level: Level::Warn,
            sentence: Cow::Owned(sentence),
            count: 1,
            first_offset: None,
        }
    }

    /// How often and where: "12 times, first at byte 4 096", "at byte 70". Empty if it can occur only once and has no
    /// position.
    pub fn detail(&self) -> String {
        let times = format!("{} times", format::count(self.count));
        match (self.first_offset.map(format::count), self.count) {
            (Some(offset), 1) => format!("at byte {offset}"),
            (Some(offset), _) => format!("{times}, first at byte {offset}"),
            (None, 1) => String::new(),
            (None, _) => times,
        }
    }

    /// The sentence with its detail.
    pub fn with_detail(&self) -> String {
        match self.detail().as_str() {
            "" => self.sentence.to_string(),
            detail => format!("{} ({detail})", self.sentence),
        }
    }
}

impl Quality {
    /// Adds a sentence about a result of the analysis, before others with its severity.
    pub(in crate::report) fn warn(&mut self, sentence: String) {
        let at = self.lines.partition_point(|line| line.level > Level::Warn);
        self.lines.insert(at, QualityLine::judged(sentence));
        self.level = self.level.max(Level::Warn);
    }

    pub(super) fn new(
        profile: &Profile,
        anomalies: &[Anomaly],
        [before_recording_ns, total_ns]: [Option<i64>; 2],
        arguments: Vec<(Level, String)>,
        thresholds: &Thresholds,
    ) -> Quality {
        let percent = Unattributed::of(profile).percent();
        let is_little = percent.is_none_or(|share| share < thresholds.unlinked_percent);
        let mut lines = lines(&profile.warnings, is_little);
        say_how_much(profile, &mut lines);
        for (line, warning) in lines.iter_mut().zip(profile.warnings.iter()) {
            if let Some(effect) = repairs::effect(profile, warning.kind) {
                line.sentence = Cow::Owned(format!("{} {effect}", line.sentence));
            }
        }
        lines.extend(
            profile
                .coverage
                .iter()
                .flat_map(|coverage| captured(coverage)),
        );
        let worst = |lines: &[QualityLine]| {
            let levels = lines.iter().map(|line| line.level);
            levels.max().unwrap_or(Level::Good)
        };
        let level = worst(&lines);
        let sentence = sentence(profile, level);
        // The summary sentence is about the trace; results of the analysis are added after it.
        let judged = roofline::sentence(anomalies)
            .into_iter()
            .chain(before_recording_ns.map(|ns| before_recording(ns, total_ns)));
        lines.extend(judged.map(QualityLine::judged));
        lines.extend(arguments.into_iter().map(|(level, sentence)| QualityLine {
            level,
            ..QualityLine::judged(sentence)
        }));
        lines.arrange_by_largest(|line| line.level);
        Quality {
            level: worst(&lines),
            sentence,
            lines,
            repaired: repairs::figures(profile),
        }
    }
}

/// What was read of a trace, and how well.
fn sentence(profile: &Profile, level: Level) -> String {
    let n_events = profile.trace.n_events_read;
    let all_read = match n_events {
        0 => "The trace has no events".to_owned(),
        1 => "The only event was read".to_owned(),
        _ => format!("All {} events were read", format::count(n_events)),
    };
    match level {
        Level::Good if profile.has_gpu_events() => {
            format!("{all_read}, and all GPU activity is linked to the calls that launched it.")
        }
        Level::Good | Level::Note => format!("{all_read}."),
        Level::Warn => format!("{all_read}; repairs and inconsistencies are listed below."),
        Level::Bad => format!(
            "{} {} read. The numbers miss part of the run; see below.",
            format::counted(n_events, "event"),
            if n_events == 1 { "was" } else { "were" }
        ),
    }
}

fn before_recording(ns: i64, total_ns: Option<i64>) -> String {
    let share = total_ns.and_then(|total_ns| percent_of(ns, total_ns));
    let share = share.map_or(String::new(), |share| {
        format!(" ({} of the run)", format::percent(share))
    });
    format!(
        "For {}{share} no GPU activity is recorded although the next activity was already launched: the GPU may have run kernels launched before the recording. That time counts as idle; use `--window`, or select a range in the timeline, to exclude it.",
        format::time_ns(ns)
    )
}

/// Adds how much of the GPU time is unattributed and why to the first line about it, and how much idle time has no
/// causes to the line about kernels that are missing or clocks that differ.
fn say_how_much(profile: &Profile, lines: &mut [QualityLine]) {
    const KINDS: [WarningKind; 3] = [
        WarningKind::UnlinkedGpuWork,
        WarningKind::AmbiguousCorrelation,
        WarningKind::RepeatedCorrelation,
    ];
    let mut say = |kinds: &[WarningKind], what: String| {
        let mut warnings = profile.warnings.iter();
        let about = warnings.position(|of| kinds.contains(&of.kind));
        if let Some(line) = about.and_then(|at| lines.get_mut(at)) {
            line.sentence = Cow::Owned(format!("{} {what}", line.sentence));
        }
    };
    let unattributed = Unattributed::of(profile);
    if let Some(share) = unattributed.percent() {
        say(
            &KINDS,
            format!(
                "{}, {} of the GPU time, counts as unattributed: {}.",
                format::time_ns(unattributed.all.ns),
                format::percent(share),
                unattributed.reasons(profile)
            ),
        );
    }
    if let Some(whole) = Timelines::of(profile).whole {
        let idle = format::time_ns(whole.idle_ns);
        let what = format!("The causes of {idle} of idle time are unknown.");
        say(
            &[WarningKind::ClocksDiffer, WarningKind::UnrecordedKernels],
            what,
        );
    }
}

/// How much of what graphs replay is explained by captures.
fn captured(coverage: &Coverage) -> Vec<QualityLine> {
    let note = |sentence| QualityLine {
        level: Level::Note,
        ..QualityLine::judged(sentence)
    };
    let mut lines = vec![note(coverage.summary())];
    lines.extend(coverage.problems().into_iter().map(note));
    lines.extend(coverage.unrecorded().map(note));
    lines
}

fn lines(warnings: &Warnings, is_little_unlinked: bool) -> Vec<QualityLine> {
    let line = |warning: &Warning| QualityLine {
        level: match warning.kind {
            WarningKind::UnlinkedGpuWork if is_little_unlinked => Level::Note,
            kind => Level::of(kind.severity()),
        },
        sentence: warning.sentence(),
        count: warning.count,
        first_offset: warning.first_offset,
    };
    warnings.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Report, ReportOptions};
    use crate::testing::Timetable;

    fn quality(timetable: Timetable) -> Quality {
        timetable.report().overview.quality
    }

    #[test]
    fn a_clean_trace_is_good() {
        let clean = Timetable::new().work("aten::mm", "gemm", 20..50);
        assert_eq!(
            quality(clean),
            Quality {
                level: Level::Good,
                sentence: "All 5 events were read, and all GPU activity is linked to the calls that launched it.".to_owned(),
                lines: Vec::new(),
                repaired: Vec::new(),
            }
        );
    }

    #[test]
    fn without_durations_nothing_is_said_of_idling() {
        let timetable = |n_known: u32| {
            let mut timetable = Timetable::new().without_flows();
            for at in 0..20 {
                let start = f64::from(at) * 100.0;
                timetable = timetable.launch(at, start..start + 5.0);
                timetable = match at < n_known {
                    true => timetable.kernel(at, "gemm", start + 10.0..start + 90.0),
                    false => timetable.raw(&format!(
                        r#"{{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": {}, "args": {{"correlation": {at}}}}}"#,
                        start + 10.0
                    )),
                };
            }
            timetable.op("aten::mm", 0..2_000).profile()
        };
        // Of 1 900 µs, the last but one may run for 100, and nothing comes after the last.
        let much = timetable(18);
        assert!(much.is_idle_unknown());
        let report = Report::new(&much, &ReportOptions::default());
        assert_eq!(
            report.overview.headline,
            "GPU utilization cannot be computed: too many GPU events have invalid durations."
        );
        let idle = report.analyses.outcome("cpu_idle").unwrap();
        assert!(idle.findings.is_empty());
        assert!(!timetable(19).is_idle_unknown());
    }

    #[test]
    fn an_empty_trace_has_no_events() {
        let sentence = quality(Timetable::new()).sentence;
        assert_eq!(sentence, "The trace has no events.");
    }

    #[test]
    fn what_is_missing_is_bad() {
        let unlinked = Timetable::new()
            .work("aten::mm", "gemm", 20..50)
            .kernel(2, "gemm", 60..90);
        let quality = quality(unlinked);
        assert_eq!(quality.level, Level::Bad);
        let [line] = &quality.lines[..] else {
            panic!("{:?}", quality.lines)
        };
        let label = WarningKind::UnlinkedGpuWork.label();
        // The unlinked kernel takes 30 of 60 µs.
        let expected = "30.0 µs, 50.0 % of the GPU time, counts as unattributed: launched before the recording (30.0 µs).";
        assert_eq!(line.sentence, format!("{label} {expected}"));
        assert_eq!(line.count, 1);
    }

    #[test]
    fn a_little_that_is_missing_is_a_note() {
        // The unlinked kernel takes 1 of 101 µs, then 1 of 100, then 1 of 11.
        let level = |linked_us| {
            let trace = Timetable::new()
                .work("aten::mm", "gemm", 20..20 + linked_us)
                .kernel(2, "gemm", 200..201);
            quality(trace).level
        };
        assert_eq!(level(100), Level::Note);
        assert_eq!(level(99), Level::Bad);
        assert_eq!(level(10), Level::Bad);
    }

    #[test]
    fn details_say_how_often_and_where() {
        let mut warnings = Warnings::default();
        warnings.add(WarningKind::StrayComma, Some(4096));
        warnings.add_many(WarningKind::BadEscape, 12, Some(70));
        warnings.add(WarningKind::CutGzip, None);
        let details: Vec<(Level, String)> = lines(&warnings, false)
            .iter()
            .map(|line| (line.level, line.detail().replace('\u{202F}', "_")))
            .collect();
        assert_eq!(
            details,
            [
                (Level::Bad, String::new()),
                (Level::Warn, "at byte 4_096".to_owned()),
                (Level::Warn, "12 times, first at byte 70".to_owned()),
            ]
        );
    }
}
