//! Kernels that are tuned during the recording: autotuners and libraries run many of them to choose the fastest. All of
//! that, with the idle time in between, is one finding; the other analyses leave its calls out.

use crate::assess::idle::Idle;
use crate::assess::idle::cause::IdleCause;
use crate::findings::engine::run_time;
use crate::findings::prelude::*;
use crate::names::Family;
use crate::profile::launch::GpuId;
use crate::profile::memory::steps::named_steps;
use crate::profile::operations::autotuning::{Tuner, Tuning};
use crate::trace::EventId;

pub(super) const DOCS: Docs = || rule::docs(RULES);

/// A tuner is mentioned if it takes at least this share of the time.
const LEAST_SHARE: f64 = 0.1;

/// The trials of an operation.
struct Trials {
    operation: usize,
    /// As time of the run.
    run_ns: i64,
    /// The part of it in steps after the first one that tunes.
    later_ns: i64,
}

/// All tuning of a run.
struct Tuned {
    /// Longest first.
    trials: Vec<Trials>,
    idle_ns: i64,
    later_idle_ns: i64,
    /// The steps in which kernels are tuned, by position.
    steps: Vec<usize>,
    n_steps: usize,
    /// By tuner.
    gpu_ns: [i64; Tuner::ALL.len()],
    /// The part of it in GEMMs that a library tunes.
    gemm_ns: i64,
}

/// The step that a call is in; `None` outside of all steps.
fn step_of(input: &Input, call: EventId) -> Option<usize> {
    let at_ns = input.profile.trace.events.ts_ns(call);
    let steps = named_steps(input.profile);
    steps.iter().position(|step| step.span.contains(at_ns))
}

impl Tuned {
    /// `None` if nothing is tuned.
    fn of(input: &Input) -> Option<Tuned> {
        let (profile, tuning) = (input.profile, Tuning::of(input.profile));
        let tuned = input.operations();
        let mut tuned = tuned
            .filter(|(_, operation, _)| operation.is_tuning())
            .peekable();
        if tuning.is_empty() && tuned.peek().is_none() {
            return None;
        }
        let launch = |id: GpuId| profile.gpu.get(id)?.launched_by;
        let step = |id: GpuId| launch(id).and_then(|call| step_of(input, call));
        let idle = Idle::once(input)?;
        let gaps = input.timelines.gaps.iter().zip(&idle.cause_of_gap);
        let gaps = gaps.filter(|(_, cause)| **cause == IdleCause::Tuning);
        let gaps: Vec<(i64, Option<usize>)> = gaps
            .map(|(gap, _)| (gap.span.length(), gap.after.and_then(step)))
            .collect();
        let mut steps: Vec<usize> = gaps.iter().filter_map(|(_, step)| *step).collect();
        let mut of_operations = Vec::new();
        let (mut gpu_ns, mut gemm_ns) = ([0_i64; Tuner::ALL.len()], 0_i64);
        for (at, operation, _) in tuned {
            let of_steps: Vec<Option<usize>> =
                operation.trials.iter().map(|id| step(*id)).collect();
            steps.extend(of_steps.iter().flatten());
            for id in &operation.trials {
                let ns = profile.gpu.get(*id).map_or(0, |work| work.span.length());
                let tuner = tuning.tuner(profile, *id).unwrap_or(Tuner::Library);
                gpu_ns[tuner as usize] = gpu_ns[tuner as usize].saturating_add(ns);
                if tuner == Tuner::Library && operation.family == Family::Gemm {
                    gemm_ns = gemm_ns.saturating_add(ns);
                }
            }
            of_operations.push((at, of_steps));
        }
        steps.arrange();
        steps.dedup();
        let first = steps.first().copied();
        let is_later = |step: Option<usize>| step > first;
        let trials = of_operations.into_iter().map(|(at, of_steps)| {
            let all = &input.operation(at).trials;
            let later = all.iter().zip(of_steps).filter(|(_, step)| is_later(*step));
            let later: Vec<GpuId> = later.map(|(id, _)| *id).collect();
            let run_ns =
                |ids: &[GpuId]| run_time::of_operation(input, at, profile.gpu.busy_ns(ids));
            Trials {
                operation: at,
                run_ns: run_ns(all),
                later_ns: run_ns(&later),
            }
        });
        let trials = trials.arranged_by_key(|one| (std::cmp::Reverse(one.run_ns), one.operation));
        let later = gaps.iter().filter(|(_, step)| is_later(*step));
        Some(Tuned {
            idle_ns: sum(gaps.iter().map(|(ns, _)| *ns)),
            later_idle_ns: sum(later.map(|(ns, _)| *ns)),
            n_steps: named_steps(profile).len(),
            trials,
            steps,
            gpu_ns,
            gemm_ns,
        })
    }

    fn run_ns(&self) -> i64 {
        sum(self.trials.iter().map(|one| one.run_ns))
    }

    /// GPU activity and idle time.
    fn all_ns(&self) -> i64 {
        self.run_ns().saturating_add(self.idle_ns)
    }

    fn is_by(&self, tuner: Tuner) -> bool {
        let all_ns = sum(self.gpu_ns.iter().copied());
        let ns = self.gpu_ns[tuner as usize];
        ns > 0 && ns as f64 >= all_ns as f64 * LEAST_SHARE
    }

    fn is_large(group: &Group<Tuned>) -> bool {
        let (input, ns) = (group.input, group.first().all_ns());
        let share = input
            .total_ns()
            .and_then(|total_ns| percent_of(ns, total_ns));
        share.is_some_and(|share| share >= input.options.thresholds.idle_code_percent)
    }
}

impl Subject for Tuned {
    type Of<'a> = Tuned;

    fn evidence(group: &Group<Self>, rule: &Rule<Self>) -> Option<Evidence> {
        let tuned = group.first();
        let operations = tuned.trials.iter().map(|one| one.operation).collect();
        let found = Evidence::of_time(group.input, operations, tuned.all_ns());
        if !matches!(rule.saves, Saves::Evidence) {
            return Some(found);
        }
        let later = tuned.trials.iter().filter(|one| one.later_ns > 0);
        let savings = later.map(|one| (one.operation, Impact::at_most(one.later_ns).mid_ns));
        let later_ns = sum(tuned.trials.iter().map(|one| one.later_ns));
        Some(Evidence {
            impact: Some(Impact::at_most(
                later_ns.saturating_add(tuned.later_idle_ns),
            )),
            savings: savings.collect(),
            ..found
        })
    }

    fn words(group: &Group<Self>) -> Words {
        let (input, tuned) = (group.input, group.first());
        let what = tuned.trials.first().map_or(String::new(), |longest| {
            let name = short_name(input, input.operation(longest.operation));
            let more = match tuned.trials.len() - 1 {
                0 => String::new(),
                n => format!(" and {}", format::counted(n as u64, "more operation")),
            };
            format!(" for `{name}`{more}")
        });
        let share = input
            .total_ns()
            .and_then(|total_ns| percent_of(tuned.all_ns(), total_ns));
        let share = share.map_or(String::new(), |share| {
            format!(" ({} of the run)", format::percent(share))
        });
        let idle = match tuned.idle_ns {
            0 => String::new(),
            ns => format!(", {} of it idle", format::time_ns(ns)),
        };
        let steps = match (tuned.steps.len(), tuned.n_steps) {
            (0, _) | (_, 0 | 1) => String::new(),
            (n, all) => format!(" in {n} of {all} steps"),
        };
        vec![
            ("what", what),
            (
                "time",
                format!("{}{share}{idle}", format::time_ns(tuned.all_ns())),
            ),
            ("steps", steps),
            holds("triton", tuned.is_by(Tuner::Autotuner)),
            holds("compiler", tuned.is_by(Tuner::Compiler)),
            holds(
                "convolutions",
                tuned.is_by(Tuner::Library)
                    && tuned.gemm_ns < tuned.gpu_ns[Tuner::Library as usize],
            ),
            holds("gemms", tuned.is_by(Tuner::Library) && tuned.gemm_ns > 0),
        ]
    }
}

const TUNED: Rule<Tuned> = Rule {
    key: "kernel_tuning",
    gate: Tuned::is_large,
    title: "Kernels are tuned during the recording",
    issue: "Several kernels are run{what}{steps} to choose the fastest of them: {time}.",
    kernel: "nothing to gain in a kernel, except fewer candidates to choose from.",
    saves: Saves::Unknown,
    has_reproducer: false,
    ..Rule::BASE
};

const RULES: &[Rule<Tuned>] = &[
    Rule {
        when: "kernels are tuned in several steps",
        applies: |_, tuned| tuned.steps.len() > 1,
        model: "{convolutions?set `torch.backends.cudnn.benchmark = False` while the sizes of convolutions vary; |}{gemms?let GEMMs use the results of an earlier run (`PYTORCH_TUNABLEOP_TUNING=0`); |}{triton?leave sizes that vary out of the `key` of `triton.autotune`, or round them there, and keep its results (`cache_results=True`); |}{compiler?let sizes that vary be dynamic (`torch.compile(dynamic=True)`) and keep the cache of the compiler (`TORCHINDUCTOR_CACHE_DIR`); |}pad inputs to a few fixed sizes, since each new size is tuned anew.",
        notes: &[
            "The time is that of trial launches, of what runs between them, and of the GPU being idle meanwhile. Other findings leave it out.",
            "The estimate is the time in the steps after the first one that tunes, all of it at most: each size is tuned once in any case.",
        ],
        saves: Saves::Evidence,
        ..TUNED
    },
    Rule {
        when: "kernels are tuned once, as in the first step",
        title: "Kernels are tuned: warm up, then record again",
        model: "run some steps with the same sizes before recording (the profiler's `schedule(wait=1, warmup=3, active=3, repeat=1)`) and before measuring, then record again: what is tuned for the first use of a size does not recur.",
        notes: &["Its time is in no saving, and other findings leave it out."],
        ..TUNED
    },
];

pub(super) fn run(input: &Input, _: &[Row], outcome: &mut Outcome) {
    let Some(tuned) = Tuned::of(input) else {
        return;
    };
    outcome.status = Status::Done;
    outcome.time_ns = tuned.run_ns();
    outcome.facts([
        (
            "tuning_time",
            "GPU time of trials",
            Value::Ns(tuned.run_ns()),
        ),
        (
            "tuning_idle",
            "Idle time meanwhile",
            Value::Ns(tuned.idle_ns),
        ),
        (
            "tuning_steps",
            "Steps with tuning",
            Value::Count(tuned.steps.len() as u64),
        ),
    ]);
    outcome.findings = rule::find(input, RULES, vec![&tuned]);
}

#[cfg(test)]
mod tests {
    use crate::findings::samples::{assert_contains, only, patterns};
    use crate::report::Report;
    use crate::testing::{Timetable, options_on};

    const CONV: &str = "64x256x56x56, 256x256x3x3";

    /// Steps of 1 000 µs: in those that tune, a convolution tries four kernels of 100 µs before it runs one of 50.
    fn steps(tunes: &[bool]) -> Report {
        let table = tunes
            .iter()
            .enumerate()
            .fold(Timetable::new(), |table, (nth, tunes)| {
                let start = 1_000 * nth as u32;
                let table = table
                    .annotation(&format!("ProfilerStep#{nth}"), start..start + 990)
                    .op("aten::cudnn_convolution", start + 10..start + 800)
                    .args(CONV);
                let table = match tunes {
                    true => ["a", "b", "c", "d"]
                        .iter()
                        .zip((start + 20..).step_by(120))
                        .fold(table, |table, (kernel, at)| {
                            table
                                .launched(kernel, at..at + 5, at + 10..at + 110)
                                .runtime("cudaEventSynchronize", 0, at + 6..at + 112)
                        }),
                    false => table,
                };
                table.launched("a", start + 700..start + 705, start + 710..start + 760)
            });
        Report::new(&table.profile(), &options_on("H100"))
    }

    #[test]
    fn tuning_in_several_steps_saves_all_but_that_of_the_first() {
        let report = steps(&[true, true, false, true]);
        let outcome = report.analyses.outcome("kernel_tuning").unwrap();
        let finding = only(outcome, "kernel_tuning");
        assert_contains(
            &finding.issue,
            &["`aten::cudnn_convolution`", "in 3 of 4 steps"],
        );
        assert_contains(&finding.model, &["torch.backends.cudnn.benchmark = False"]);
        let said = "Autotuning trials take";
        assert_contains(&report.overview.headline, &[said]);
        // In each of two later steps trials take 400 µs, and the GPU is idle in the operator for 280.
        assert_eq!(finding.impact.unwrap().high_ns, 1_360_000);
        assert_eq!(
            patterns(report.analyses.outcome("convolution").unwrap()),
            [""; 0]
        );
    }

    #[test]
    fn tuning_in_one_step_is_a_cold_start() {
        let report = steps(&[true, false, false]);
        let outcome = report.analyses.outcome("kernel_tuning").unwrap();
        assert_eq!(only(outcome, "kernel_tuning").impact, None);
        let none = steps(&[false, false, false]);
        assert_eq!(
            patterns(none.analyses.outcome("kernel_tuning").unwrap()),
            [""; 0]
        );
    }
}
