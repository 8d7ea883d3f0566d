//! A bundled trace for trying out Dormer: three training steps of a small GPT on an H100.
//!
//! It has what real traces have: Python frames and modules, ops with shapes, a backward pass on its own thread,
//! collectives that partly overlap it, copies, and a GPU that waits for data. It has the format of PyTorch's profiler.
//! It was not recorded on a GPU: durations are computed from the shapes, at a typical fraction of the hardware's peak.

/// The trace as text.
pub const TRACE: &str = include_str!("trace.json");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;
    use crate::report::Report;
    use crate::{Warnings, hardware};

    fn profile() -> Profile {
        Profile::new(crate::import::import(TRACE.as_bytes()).unwrap())
    }

    #[test]
    fn nothing_is_wrong_with_it_and_it_is_of_a_handy_size() {
        let n_bytes = TRACE.len();
        assert!((100_000..450_000).contains(&n_bytes), "{n_bytes}");
        let profile = profile();
        assert_eq!(profile.warnings, Warnings::default());
        let gpu = hardware::detect(&profile.trace.devices);
        assert_eq!(gpu.map(|gpu| &*gpu.id), Some("H100"));
    }

    #[test]
    fn host_events_nest() {
        let profile = profile();
        assert_eq!(profile.full_tree().strays().count(), 0);
        assert_eq!(profile.full_tree().tracks().len(), 2);
    }

    #[test]
    fn what_a_call_launched_runs_after_it_and_alone_on_its_stream() {
        let profile = profile();
        let mut streams = [7, 20, 24].map(|stream| (stream, Vec::new()));
        for (_, work) in profile.gpu.iter() {
            let call = work.launched_by.expect("all work has its launch");
            assert!(profile.trace.events.ts_ns(call) < work.span.start_ns);
            let mut known = streams.iter_mut();
            let stream = known.find(|(stream, _)| Some(*stream) == work.stream);
            stream.expect("one of three streams").1.push(work.span);
        }
        for (_, mut spans) in streams {
            spans.sort_unstable();
            assert!(spans.is_sorted_by(|one, next| one.end_ns <= next.start_ns));
        }
    }

    #[test]
    fn collectives_overlap_the_backward_pass_in_part_and_nothing_beats_the_hardware() {
        let report = Report::new(&profile(), &crate::testing::options_on("H100"));
        let whole = report.timelines.whole.unwrap();
        let hidden_ns = whole.comm_ns - whole.exposed_comm_ns;
        assert!(hidden_ns * 10 > whole.comm_ns * 3 && hidden_ns * 10 < whole.comm_ns * 9);
        assert!(
            report
                .evaluations
                .iter()
                .all(|evaluation| !evaluation.is_anomaly)
        );
    }
}
