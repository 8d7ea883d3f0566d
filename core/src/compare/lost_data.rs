//! Data that a trace lost before it was read, and what is therefore unknown.

use super::side::Side;
use crate::import::warning::WarningKind;
use crate::report::overview::{Level, QualityLine};

/// What is missing from the numbers of a trace, worst first.
pub(crate) fn losses(side: &Side) -> Vec<QualityLine> {
    let lines = side.report.overview.quality.lines.iter();
    let lost = lines.filter(|line| line.level == Level::Bad);
    lost.cloned().collect()
}

/// Whether calls or GPU activity of a trace are missing, so that their counts are meaningless.
pub(crate) fn misses_calls(side: &Side) -> bool {
    use WarningKind::*;
    /// A smaller share of activity without its call was launched before the recording.
    const FEW_PERCENT: u64 = 1;
    let kinds = [
        CutGzip,
        CorruptGzip,
        CutJson,
        AnotherTrace,
        UnreadableEvent,
        MissingTime,
        ImpossibleStart,
        TooManyEvents,
        GpuEventsLost,
    ];
    let profile = side.profile;
    let all = profile.gpu.len() as u64;
    let unattributed = profile
        .gpu
        .all()
        .filter(|work| work.is_unattributed(profile));
    kinds.iter().any(|kind| profile.warnings.count(*kind) > 0)
        || unattributed.count() as u64 * 100 > all * FEW_PERCENT
}

/// Idle time in which the GPU may have been busy, with activity of unknown duration.
pub(crate) fn unknown_idle_ns(side: &Side) -> i64 {
    let idle_ns = side.report.timelines.whole.map_or(0, |whole| whole.idle_ns);
    side.profile.gpu.unknown_ns().min(idle_ns)
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::super::testing::{H100, compared, profiles};
    use crate::compare::Comparison;
    use crate::import::import;
    use crate::profile::Profile;
    use crate::testing::Timetable;

    /// Four GEMMs of 100 µs, one after the other. Some have no duration, some no launch.
    fn products(is_known: fn(u32) -> bool, is_launched: fn(u32) -> bool) -> Timetable {
        (0..4).fold(Timetable::new().without_flows(), |table, id| {
            let (host, gpu) = (id * 10, 1_000 + id * 100);
            let mut table = table.op("aten::mm", host..host + 9);
            if is_launched(id) {
                table = table.launch(id + 1, host + 1..host + 2);
            }
            match is_known(id) {
                true => table.kernel(id + 1, "gemm", gpu..gpu + 100),
                false => table.raw(&format!(
                    r#"{{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": {gpu}, "args": {{"correlation": {}}}}}"#,
                    id + 1
                )),
            }
        })
    }

    fn whole() -> Timetable {
        products(|_| true, |_| true)
    }

    #[test]
    fn calls_of_unknown_time_are_no_faster_and_their_time_is_no_idling() {
        let damaged = products(|id| id % 2 == 0, |_| true);
        for (reference, target) in [(&whole(), &damaged), (&damaged, &whole())] {
            let comparison = compared(reference, target, H100);
            let op = &comparison.operations.matched[0];
            assert_eq!(op.judgment.actual, Some(1.0));
            assert_eq!(op.judgment.verdict, Verdict::ExplainedByHardware);
            assert!(comparison.gaps.ranked.is_empty(), "{:#?}", comparison.gaps);
        }
        let comparison = compared(&whole(), &damaged, H100);
        let op = &comparison.operations.matched[0];
        assert_eq!((op.sides.target.calls, op.sides.target.timed.count), (4, 2));
        // From the start of the second to that of the third.
        let target = &comparison.sides.target;
        let idle_ns = target.timeline.map(|whole| whole.idle_ns);
        assert_eq!((idle_ns, target.unknown_idle_ns), (Some(100_000), 100_000));
        let said = &comparison.caveats()[..2];
        let words =
            "The target: Some events have no duration; their time counts as unknown. (2 times";
        assert!(said[0].starts_with(words), "{}", said[0]);
        assert!(said[1].starts_with("The target: Some GPU activity has an invalid duration"));
    }

    #[test]
    fn of_a_cut_trace_it_is_not_said_that_nothing_was_found() {
        let json = whole().json();
        let cut = json.get(..json.len() / 2).unwrap();
        let profile = |text: &str| Profile::new(import(text.as_bytes()).unwrap());
        let comparison = profiles(&profile(&json), &profile(cut), H100, |sides| {
            Comparison::new(sides.reference, sides.target)
        });
        assert!(!comparison.amount.is_certain);
        assert!(comparison.gaps.ranked.is_empty());
        let said = &comparison.caveats()[0];
        assert!(said.starts_with("The target: The trace ends before it is closed"));
        assert_eq!(
            comparison.nothing_found(),
            "No findings in the recorded part; the data that the traces lost may change that."
        );
    }

    #[test]
    fn work_without_its_call_is_no_idling_and_makes_counts_unsure() {
        // Without the calls that launched the second and the third.
        let unlinked = products(|_| true, |id| id % 3 == 0);
        let comparison = compared(&whole(), &unlinked, H100);
        let target = &comparison.sides.target;
        let idle_ns = target.timeline.map(|whole| whole.idle_ns);
        assert_eq!((idle_ns, target.misses_calls), (Some(0), true));
        assert!(comparison.gaps.ranked.is_empty(), "{:#?}", comparison.gaps);
    }
}
