//! The effect of repairs: what the headline numbers would be if GPU activity counted as recorded, compared with what
//! they are.

use serde::{Deserialize, Serialize};

use crate::base::format;
use crate::base::group::grouped;
use crate::base::interval::{Interval, sum};
use crate::base::labels::labeled;
use crate::base::map::Set;
use crate::base::sort::Arrange;
use crate::import::warning::WarningKind;
use crate::profile::Profile;
use crate::profile::gpu::timeline::GpuTimeline;
use crate::profile::gpu::timelines::Timelines;
use crate::profile::repair::AsRecorded;
use crate::trace::StringId;

/// Number of kernels compared.
const N_KERNELS: usize = 5;

/// If a repair changes every number by less, there is no table.
const LEAST_PERCENT: f64 = 0.1;

labeled! {
    /// A headline number.
    #[derive(Serialize, Deserialize)]
    pub enum RepairedKind {
        /// From the first start to the last end.
        Total => "Total time" as "total",
        /// Time in which anything runs.
        Busy => "GPU busy" as "busy",
        /// Time in which anything is computed.
        Computation => "Computation" as "computation",
        /// Communication without concurrent computation.
        ExposedCommunication => "Exposed communication" as "exposed_communication",
        /// Copies without concurrent computation or communication.
        ExposedCopies => "Exposed copies" as "exposed_copies",
        /// Time in which nothing runs.
        Idle => "Idle" as "idle",
        /// The sum of the durations of one kernel.
        Kernel => "Kernel" as "kernel",
    }
}

/// A number as recorded, and as repaired.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepairedFigure {
    /// Which number.
    pub kind: RepairedKind,
    /// Its label, or the kernel's name.
    pub label: String,
    /// The value as recorded.
    pub recorded_ns: i64,
    /// The value that all views show.
    pub repaired_ns: i64,
}

impl RepairedFigure {
    fn new(kind: RepairedKind, [recorded_ns, repaired_ns]: [i64; 2]) -> RepairedFigure {
        RepairedFigure {
            kind,
            label: kind.label().to_owned(),
            recorded_ns,
            repaired_ns,
        }
    }

    /// The change caused by the repair.
    pub(crate) fn change_ns(&self) -> i64 {
        self.repaired_ns.saturating_sub(self.recorded_ns)
    }

    /// Whether a repair changes it by a notable amount.
    pub fn is_changed(&self) -> bool {
        let larger = self.recorded_ns.max(self.repaired_ns).max(1);
        self.change_ns().abs() as f64 > larger as f64 * (LEAST_PERCENT / 100.0)
    }
}

/// The headline numbers and the kernels with the most time, as recorded and as repaired; empty if no repair changes one
/// of them.
pub(super) fn figures(profile: &Profile) -> Vec<RepairedFigure> {
    if profile.recording.as_recorded.is_empty() {
        return Vec::new();
    }
    let mut figures = headline(profile, |_| true);
    figures.extend(kernels(profile));
    match figures.iter().any(RepairedFigure::is_changed) {
        true => figures,
        false => Vec::new(),
    }
}

/// What a kind of repair leaves out, and which headline numbers that changes, in a sentence or two; `None` if it leaves
/// out nothing.
pub(super) fn effect(profile: &Profile, kind: WarningKind) -> Option<String> {
    let of_kind = profile
        .recording
        .as_recorded
        .iter()
        .filter(|one| one.kind == kind);
    let times: Vec<i64> = of_kind.map(|one| one.dur_ns).collect();
    if times.is_empty() {
        let is_of_calls = kind == WarningKind::RecordedTwice;
        return is_of_calls.then(|| "These are calls, so no headline number changes.".to_owned());
    }
    let recorded = format::time_ns(sum(times));
    let changed = headline(profile, |one| one.kind == kind).into_iter();
    let changed = changed.filter(RepairedFigure::is_changed).map(|figure| {
        format!(
            "{} {} instead of {}",
            format::in_sentence(&figure.label),
            format::time_ns(figure.recorded_ns),
            format::time_ns(figure.repaired_ns)
        )
    });
    let changed: Vec<String> = changed.collect();
    let changed = (!changed.is_empty()).then(|| format::listed(&changed));
    // The warning already says how long.
    let takes = match kind {
        WarningKind::OverlongDuration => String::new(),
        _ => format!(", it takes {recorded} in all"),
    };
    match changed {
        Some(changed) => Some(format!("As recorded{takes}: {changed}.")),
        None if takes.is_empty() => None,
        None => Some(format!("As recorded{takes}.")),
    }
}

/// The numbers that depend on when the GPU runs, if the selected activity counts as recorded.
fn headline(profile: &Profile, counts: impl Fn(&AsRecorded) -> bool) -> Vec<RepairedFigure> {
    let repaired = Timelines::of(profile).whole.unwrap_or_default();
    let running = profile.running().map(|work| (work.class, work.span));
    let as_recorded = profile
        .recording
        .as_recorded
        .iter()
        .filter(|one| counts(one));
    let as_recorded = as_recorded.filter_map(|one| Some((one.class, counted(profile, one)?)));
    let recorded = GpuTimeline::new(running.chain(as_recorded)).unwrap_or_default();
    let recorded = recorded.over(profile.gpu_span(recorded.span));
    let of = |kind, number: fn(&GpuTimeline) -> i64| {
        RepairedFigure::new(kind, [&recorded, &repaired].map(number))
    };
    vec![
        of(RepairedKind::Total, GpuTimeline::total_ns),
        of(RepairedKind::Busy, |of| of.busy_ns),
        of(RepairedKind::Computation, |of| of.computation_ns),
        of(RepairedKind::ExposedCommunication, |of| of.exposed_comm_ns),
        of(RepairedKind::ExposedCopies, |of| of.exposed_memcpy_ns),
        of(RepairedKind::Idle, |of| of.idle_ns),
    ]
}

/// Its recorded span, clipped to the analyzed time.
fn counted(profile: &Profile, one: &AsRecorded) -> Option<Interval> {
    profile.counted(one.span())
}

/// The kernels with the most time, as recorded or as repaired.
fn kernels(profile: &Profile) -> Vec<RepairedFigure> {
    let work = profile.gpu.all();
    let work = work.map(|work| (work.name, [work.span.length(); 2]));
    let as_recorded = profile.recording.as_recorded.iter().filter_map(|one| {
        counted(profile, one)?;
        Some((one.name, [one.dur_ns, 0]))
    });
    let mut by_name: Vec<(StringId, [i64; 2])> =
        grouped(work.chain(as_recorded), |all: &mut [i64; 2], times| {
            for (all, ns) in all.iter_mut().zip(times) {
                *all = all.saturating_add(ns);
            }
        });
    let mut shown: Set<StringId> = Set::default();
    // The last sort is by repaired time.
    for account in [0, 1] {
        by_name.arrange_by_largest(|(_, times)| times.get(account).copied());
        shown.extend(by_name.iter().take(N_KERNELS).map(|(name, _)| *name));
    }
    by_name.retain(|(name, _)| shown.contains(name));
    let figure = |(name, times)| RepairedFigure {
        label: profile.trace.strings.get(name).to_owned(),
        ..RepairedFigure::new(RepairedKind::Kernel, times)
    };
    by_name.into_iter().map(figure).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Timetable;

    /// Twenty launches with a kernel of 50 µs each, 100 µs apart; the fifth has this duration.
    fn profile(dur_us: f64) -> Profile {
        let mut timetable = Timetable::new().op("aten::mm", 0..2_000);
        for at in 0..20 {
            let start = f64::from(at) * 100.0;
            let (name, dur_us) = match at {
                4 => ("damaged", dur_us),
                _ => ("gemm", 50.0),
            };
            timetable = timetable.launch(at, start..start + 5.0);
            timetable = timetable.raw(&format!(
                r#"{{"ph": "X", "cat": "kernel", "name": "{name}", "pid": 0, "tid": 7, "ts": {}, "dur": {dur_us}, "args": {{"correlation": {at}}}}}"#,
                start + 20.0
            ));
        }
        timetable.profile()
    }

    fn changed(dur_us: f64) -> Vec<(String, i64, i64)> {
        let figures = figures(&profile(dur_us)).into_iter();
        figures
            .filter(RepairedFigure::is_changed)
            .map(|one| (one.label, one.recorded_ns / 1_000, one.repaired_ns / 1_000))
            .collect()
    }

    #[test]
    fn numbers_that_hold_have_no_table() {
        assert_eq!(figures(&profile(50.0)), []);
    }

    /// From 20 to 1 970 µs, nineteen kernels run for 950 µs. The one that claims three seconds from 420 µs on hides all
    /// that comes later: before it, four kernels run for 200 of 400 µs.
    #[test]
    fn a_duration_that_cannot_be_true_changes_nearly_all() {
        let seconds = 3e6;
        let expected = [
            ("Total time", 3_000_400, 1_950),
            ("GPU busy", 3_000_200, 950),
            ("Computation", 3_000_200, 950),
            ("Idle", 200, 1_000),
            ("damaged", 3_000_000, 0),
        ];
        let expected =
            expected.map(|(label, recorded, repaired)| (label.to_owned(), recorded, repaired));
        assert_eq!(changed(seconds), expected);
    }

    /// A negative duration takes no time, and is subtracted from the sum of its kernel.
    #[test]
    fn a_negative_duration_changes_the_sum_of_its_kernel() {
        assert_eq!(changed(-7.0), [("damaged".to_owned(), -7, 0)]);
        let effect = effect(&profile(-7.0), WarningKind::NegativeDuration);
        assert_eq!(effect.unwrap(), "As recorded, it takes −7.00 µs in all.");
    }
}
