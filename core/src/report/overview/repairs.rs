//! What the headline numbers would be if GPU activity counted as it was recorded, beside what they
//! are: the effect of repairs.

use serde::{Deserialize, Serialize};

use crate::base::format;
use crate::base::group::grouped;
use crate::base::interval::{Interval, sum};
use crate::base::labels::labelled;
use crate::base::map::Set;
use crate::base::sort::Arrange;
use crate::import::warning::WarningKind;
use crate::profile::Profile;
use crate::profile::repair::AsRecorded;
use crate::profile::timeline::GpuTimeline;
use crate::profile::timelines::Timelines;
use crate::trace::StringId;

/// Kernels that are compared.
const N_KERNELS: usize = 5;

/// A repair that changes no number by more is not worth a table.
const LEAST_PERCENT: f64 = 0.1;

labelled! {
    /// A headline number.
    #[derive(Serialize, Deserialize)]
    pub enum RepairedKind {
        /// From the first start to the last end.
        Total => "Total time" as "total",
        /// Anything runs.
        Busy => "GPU busy" as "busy",
        /// Something is computed.
        Computation => "Computation" as "computation",
        /// Communication while nothing is computed.
        ExposedCommunication => "Exposed communication" as "exposed_communication",
        /// Copies while nothing is computed or communicated.
        ExposedCopies => "Exposed copies" as "exposed_copies",
        /// Nothing runs.
        Idle => "Idle" as "idle",
        /// The sum of the durations of one kernel.
        Kernel => "Kernel" as "kernel",
    }
}

/// A number as it was recorded, and as it counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepairedFigure {
    /// Which number.
    pub kind: RepairedKind,
    /// Its label, or the kernel's name.
    pub label: String,
    /// By what was recorded.
    pub recorded_ns: i64,
    /// As all views show it.
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

    /// By how much the repair changes it.
    pub fn change_ns(&self) -> i64 {
        self.repaired_ns.saturating_sub(self.recorded_ns)
    }

    /// Whether a repair changes it by enough to be worth saying.
    pub fn is_changed(&self) -> bool {
        let larger = self.recorded_ns.max(self.repaired_ns).max(1);
        self.change_ns().abs() as f64 > larger as f64 * (LEAST_PERCENT / 100.0)
    }
}

/// The headline numbers and the kernels of the most time, by either account; none where no repair
/// changes one of them.
pub(super) fn figures(profile: &Profile) -> Vec<RepairedFigure> {
    if profile.as_recorded.is_empty() {
        return Vec::new();
    }
    let mut figures = headline(profile, |_| true);
    figures.extend(kernels(profile));
    match figures.iter().any(RepairedFigure::is_changed) {
        true => figures,
        false => Vec::new(),
    }
}

/// What a kind of repair leaves out, and which headline numbers that changes, in a sentence or two;
/// `None` where it leaves out nothing.
pub(super) fn effect(profile: &Profile, kind: WarningKind) -> Option<String> {
    let of_kind = profile.as_recorded.iter().filter(|one| one.kind == kind);
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
            figure.label.to_lowercase().replace("gpu", "GPU"),
            format::time_ns(figure.recorded_ns),
            format::time_ns(figure.repaired_ns)
        )
    });
    let changed: Vec<String> = changed.collect();
    let changed = (!changed.is_empty()).then(|| format::listed(&changed));
    // That sentence says how long.
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

/// The numbers that follow from when the GPU runs, where some of what is recorded counts.
fn headline(profile: &Profile, counts: impl Fn(&AsRecorded) -> bool) -> Vec<RepairedFigure> {
    let repaired = Timelines::of(profile).whole.unwrap_or_default();
    let running = profile.running().map(|work| (work.class, work.span));
    let as_recorded = profile.as_recorded.iter().filter(|one| counts(one));
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

/// When it ran by what was recorded, as far as it lies in the time that is analyzed.
fn counted(profile: &Profile, one: &AsRecorded) -> Option<Interval> {
    profile.counted(one.span())
}

/// The kernels of the most time: those of either account.
fn kernels(profile: &Profile) -> Vec<RepairedFigure> {
    let work = profile.gpu.all();
    let work = work.map(|work| (work.name, [work.span.length(); 2]));
    let as_recorded = profile.as_recorded.iter().filter_map(|one| {
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
    // Ends in the order of what counts.
    for account in [0, 1] {
        by_name.arrange_by_key(|(_, times)| std::cmp::Reverse(times.get(account).copied()));
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

    /// Twenty launches with 50 µs of work each, 100 µs apart; the fifth has this duration.
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

    /// From 20 to 1 970 µs nineteen pieces run for 950 µs. What claims three seconds from 420 µs on hides
    /// all that comes later: before it, four pieces run for 200 of 400 µs.
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

    /// A negative duration runs at no time, and is subtracted from the sum of its kernel.
    #[test]
    fn a_negative_duration_changes_the_sum_of_its_kernel() {
        assert_eq!(changed(-7.0), [("damaged".to_owned(), -7, 0)]);
        let effect = effect(&profile(-7.0), WarningKind::NegativeDuration);
        assert_eq!(effect.unwrap(), "As recorded, it takes −7.00 µs in all.");
    }
}
