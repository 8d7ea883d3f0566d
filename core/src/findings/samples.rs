//! Traces of consecutive calls, and made-up findings, for tests of analyses.

use super::ANALYSES;
use crate::findings::engine::finding::{Finding, Impact, Priority};
use crate::findings::engine::outcome::{Outcome, Status};
use crate::findings::engine::rank::{Findings, rank};
use crate::profile::Profile;
use crate::report::{Report, ReportOptions};
use crate::testing::{Timetable, options_on};

/// Calls on the CPU, each with one or more kernels on the GPU, back to back.
#[derive(Debug, Clone)]
pub(super) struct Calls {
    timetable: Timetable,
    n_graphs: u32,
    host_us: u32,
    gpu_us: f64,
}

impl Calls {
    /// No calls yet; the GPU starts one second after the CPU.
    pub(super) fn new() -> Calls {
        Calls {
            timetable: Timetable::new(),
            n_graphs: 0,
            host_us: 0,
            gpu_us: 1e6,
        }
    }

    /// An operator with one kernel of `us` microseconds, with arguments in the form of [`Timetable::args`].
    pub(super) fn call(self, op: &str, args: &str, kernel: &str, us: impl Into<f64>) -> Calls {
        self.kernels(op, args, &[(kernel, us.into())])
    }

    pub(super) fn calls(self, n: u32, op: &str, args: &str, kernel: &str, us: u32) -> Calls {
        (0..n).fold(self, |calls, _| calls.call(op, args, kernel, us))
    }

    /// A GPU graph of `n` equal kernels.
    pub(super) fn graph(mut self, kernel: &str, n: u32, us: u32) -> Calls {
        // A unique id; 0 means none.
        let (start, id) = (self.host_us, self.n_graphs + 1);
        let mut timetable = self
            .timetable
            .runtime("cudaGraphLaunch", id, start..start + 10);
        for _ in 0..n {
            timetable = timetable.kernel(id, kernel, self.gpu_us..self.gpu_us + f64::from(us));
            self.gpu_us += f64::from(us);
        }
        self.n_graphs = id;
        self.host_us += 11;
        self.timetable = timetable;
        self
    }

    pub(super) fn kernels(
        mut self,
        op: &str,
        args: &str,
        kernels: &[(&str, impl Into<f64> + Copy)],
    ) -> Calls {
        let start = self.host_us;
        let end = start + 10 * kernels.len() as u32 + 1;
        self.timetable = self.timetable.op(op, start..end).args(args);
        for (at, &(kernel, us)) in (start + 1..).step_by(10).zip(kernels) {
            let runs = self.gpu_us..self.gpu_us + us.into();
            self.gpu_us = runs.end;
            self.timetable = self.timetable.launched(kernel, at..at + 1, runs);
        }
        self.host_us = end + 1;
        self
    }

    pub(super) fn module(self, name: &str, run: impl FnOnce(Calls) -> Calls) -> Calls {
        self.function(&format!("nn.Module: {name}"), run)
    }

    /// Calls in a Python function.
    pub(super) fn function(self, frame: &str, run: impl FnOnce(Calls) -> Calls) -> Calls {
        self.around(run, |timetable, span| timetable.frame(frame, span))
    }

    /// Calls that are part of an operator.
    pub(super) fn inside(self, op: &str, run: impl FnOnce(Calls) -> Calls) -> Calls {
        self.around(run, |timetable, span| timetable.op(op, span))
    }

    fn around(
        mut self,
        run: impl FnOnce(Calls) -> Calls,
        add: impl FnOnce(Timetable, std::ops::Range<u32>) -> Timetable,
    ) -> Calls {
        let start = self.host_us;
        self.host_us = start + 1;
        let mut all = run(self);
        all.timetable = add(all.timetable, start..all.host_us + 1);
        all.host_us += 2;
        all
    }

    /// Continues on a GPU at a given time.
    pub(super) fn on_gpu(mut self, gpu: u32, us: f64) -> Calls {
        self.timetable = self.timetable.gpu(gpu);
        self.gpu_us = us;
        self
    }

    pub(super) fn with(mut self, change: impl FnOnce(Timetable) -> Timetable) -> Calls {
        self.timetable = change(self.timetable);
        self
    }

    /// When the next call starts on the CPU.
    pub(super) fn now_us(&self) -> u32 {
        self.host_us
    }

    pub(super) fn profile(&self) -> Profile {
        self.timetable.profile()
    }

    /// The outcome of an analysis on an MI300X: 5 300 GB/s, 304 compute units.
    pub(super) fn outcome(&self, key: &str) -> Outcome {
        self.outcome_with(key, &options_on("MI300X"))
    }

    pub(super) fn outcome_on(&self, gpu: &str, key: &str) -> Outcome {
        self.outcome_with(key, &options_on(gpu))
    }

    /// The outcome of an analysis with an unknown GPU.
    pub(super) fn outcome_without_gpu(&self, key: &str) -> Outcome {
        self.outcome_with(key, &ReportOptions::default())
    }

    fn outcome_with(&self, key: &str, options: &ReportOptions) -> Outcome {
        let profile = self.profile();
        let report = Report::new(&profile, options);
        report.analyses.outcome(key).expect("an analysis").clone()
    }
}

pub(super) fn patterns(outcome: &Outcome) -> Vec<&'static str> {
    let findings = outcome.findings.iter();
    findings.map(|finding| finding.pattern).collect()
}

pub(super) fn found<'a>(outcome: &'a Outcome, pattern: &str) -> &'a Finding {
    let mut findings = outcome.findings.iter();
    let finding = findings.find(|finding| finding.pattern == pattern);
    finding.unwrap_or_else(|| panic!("{pattern}: {:?}", patterns(outcome)))
}

/// The only finding, which must have this pattern.
#[track_caller]
pub(super) fn only<'a>(outcome: &'a Outcome, pattern: &str) -> &'a Finding {
    assert_eq!(patterns(outcome), [pattern], "{:?}", outcome.findings);
    &outcome.findings[0]
}

/// Asserts that a text contains these parts; all kinds of spaces are equal.
#[track_caller]
pub(super) fn assert_contains(text: &str, parts: &[&str]) {
    let text = text.replace('\u{202F}', " ");
    for part in parts {
        assert!(text.contains(part), "no {part:?} in {text:?}");
    }
}

/// Asserts that a text contains none of these parts.
#[track_caller]
pub(super) fn assert_contains_none(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(!text.contains(part), "{part:?} in {text:?}");
    }
}

/// A made-up finding of medium priority: its saving, and how that splits over operations.
pub(super) fn made_up(title: &str, mid_ns: Option<i64>, savings: &[(usize, i64)]) -> Finding {
    Finding {
        pattern: "test",
        title: title.to_owned(),
        impact: mid_ns.map(Impact::measured),
        savings: savings.to_vec(),
        ..Finding::new(Priority::Medium, 100)
    }
}

/// Ranks findings about a run of 100 µs: operation 0 takes 60 of it, operation 1 takes 40.
pub(super) fn ranked(findings: Vec<Finding>) -> Findings {
    let profile = Timetable::new()
        .work("aten::mm", "a", 0..60)
        .work("aten::add", "b", 60..100)
        .profile();
    let report = Report::new(&profile, &ReportOptions::default());
    let mut outcome = Outcome::new(&ANALYSES[0], Status::Done);
    outcome.findings = findings;
    rank(&report.analysis_input(&profile), &[outcome])
}
