//! The parts of the time that deserve a finding, and what findings say about them.

use super::split::{Part, PartTime, Split};
use crate::assess::idle::code::{Code, Place, short_name};
use crate::assess::idle::severity_of;
use crate::findings::prelude::*;
use crate::names::cpu_activity::CpuActivity;
use crate::profile::Profile;
use crate::profile::cpu::activity::loads_in_workers;
use crate::trace::EventId;

/// Operators up to this mean time are short: Python takes as long to call the next.
const SHORT_OPERATOR_NS: i64 = 30_000;

/// Values that a step of Adam reads or writes for each parameter, in operators of its own (`lerp_`, `mul_`, `addcmul_`,
/// `sqrt`, `div`, `add_`, `addcdiv_`).
const ADAM_PASSES: f64 = 18.0;

/// The same in one operator: it reads the parameter, its gradient and two states, and writes all but the gradient.
const FUSED_PASSES: f64 = 7.0;

/// Which time it is about, where it is not all of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    Part,
    Double,
    MathAttention,
}

/// A part of the time, or a kind of operators.
pub(super) struct Observed<'a> {
    pub(super) split: &'a Split,
    pub(super) part: Part,
    time: &'a PartTime,
    of: Of,
}

impl<'a> Observed<'a> {
    /// All parts of the time, longest first.
    pub(super) fn all(split: &'a Split) -> Vec<Observed<'a>> {
        let parts = split.parts.iter();
        let all = parts.map(|(part, time)| Observed {
            split,
            part: *part,
            time,
            of: Of::Part,
        });
        all.arranged_by_largest(|one| one.time.ns)
    }

    /// The parts and the kinds of operators that take a significant share of the run, longest first.
    pub(super) fn of(input: &Input, split: &'a Split) -> Vec<Observed<'a>> {
        let kinds = [
            (&split.double, Of::Double),
            (&split.math_attention, Of::MathAttention),
        ];
        let kinds = kinds.map(|(time, of)| Observed {
            split,
            part: Part::Operators,
            time,
            of,
        });
        let observed = Observed::all(split).into_iter().chain(kinds);
        let has_frames = input.profile.has_python_frames();
        let least = input.options.thresholds.idle_code_percent;
        let large =
            observed.filter(|one| split.percent(one.ns()) >= least && one.has_remedy(has_frames));
        large.arranged_by_largest(Observed::ns)
    }

    /// Operators and optimizers as such are what the run is for.
    fn has_remedy(&self, has_frames: bool) -> bool {
        match self.part {
            Part::Operators => self.of != Of::Part,
            Part::Optimizer => self.is_unfused_step(),
            Part::Unknown => !has_frames,
            // Some Python between operators is usual.
            Part::Function(_) => {
                self.time.ns >= self.time.operators.ns || self.calls_short_operators()
            }
            Part::Activity(_) => true,
        }
    }

    /// The time that it takes; of operators that are too short, theirs as well.
    fn ns(&self) -> i64 {
        match self.calls_short_operators() {
            true => self.time.ns.saturating_add(self.time.operators.ns),
            false => self.time.ns,
        }
    }

    pub(super) fn is(&self, activity: CpuActivity) -> bool {
        self.part == Part::Activity(activity)
    }

    pub(super) fn is_double(&self) -> bool {
        self.of == Of::Double
    }

    pub(super) fn is_math_attention(&self) -> bool {
        self.of == Of::MathAttention
    }

    /// Of the optimizers with a fused step, those whose operators pass over memory more often than it does.
    pub(super) fn is_unfused_step(&self) -> bool {
        let is_adam = matches!(self.split.optimizer.as_deref(), Some("Adam" | "AdamW"));
        self.part == Part::Optimizer && is_adam && !self.split.is_fused
    }

    /// Whether a function calls many short operators, and takes as long as they do between them.
    pub(super) fn calls_short_operators(&self) -> bool {
        const MANY: u64 = 100;
        let operators = &self.time.operators;
        let mean_ns = operators.mean_ns().filter(|_| operators.count >= MANY);
        let between_ns = self.time.ns / i64::try_from(operators.count.max(1)).unwrap_or(i64::MAX);
        matches!(self.part, Part::Function(_))
            && mean_ns.is_some_and(|mean_ns| mean_ns <= SHORT_OPERATOR_NS)
            && between_ns <= SHORT_OPERATOR_NS
    }

    fn impact(&self) -> Impact {
        let ns = self.ns();
        match self.of {
            // Half of the bytes, and half of the instructions.
            Of::Double => Impact::at_most(ns / 2),
            Of::MathAttention => Impact::possible(ns),
            Of::Part if self.part == Part::Optimizer => {
                let fused_ns = ns as f64 * FUSED_PASSES / ADAM_PASSES;
                Impact::possible(ns.saturating_sub(fused_ns.round() as i64))
            }
            Of::Part if self.calls_short_operators() => Impact::possible(ns),
            Of::Part => Impact::at_most(ns),
        }
    }

    fn event(&self) -> Option<EventId> {
        self.time.longest.map(|(_, event)| event)
    }

    /// Its place; of a part of the whole trace, none.
    fn place(&self, profile: &Profile) -> Option<Place> {
        let activity = match self.part {
            Part::Activity(activity) => Some(activity),
            _ => None,
        };
        self.event().map(|event| place(profile, event, activity))
    }

    /// ", 1.2 s of it in `__getitem__` in `data.py:30`".
    fn inside(&self, profile: &Profile) -> String {
        let longest = self.time.inside.values().max_by_key(|(_, ns)| *ns);
        let long = longest.filter(|(_, ns)| *ns > self.time.ns / 4);
        long.map_or(String::new(), |(event, ns)| {
            let function = match self.part {
                Part::Activity(_) => place(profile, *event, None).text(),
                _ => format!("`{}`", short_name(profile.trace.name(*event))),
            };
            format!(", {} of it in {function}", format::time_ns(*ns))
        })
    }

    fn what(&self) -> &'static str {
        match self.part {
            Part::Activity(activity) => activity.label(),
            Part::Optimizer => "Step of the optimizer",
            Part::Operators => "Operators",
            Part::Function(_) => "Python",
            Part::Unknown => "Outside of operators",
        }
    }

    pub(super) fn row(&self, profile: &Profile) -> [Value; 5] {
        let place = self.place(profile).map(|place| place.text());
        [
            Value::Text(self.what().to_owned()),
            place.map_or(Value::Empty, Value::Text),
            Value::Ns(self.time.ns),
            Value::Percent(self.split.percent(self.time.ns)),
            match self.time.calls.count {
                0 => Value::Empty,
                count => Value::Count(count),
            },
        ]
    }
}

fn place(profile: &Profile, event: EventId, activity: Option<CpuActivity>) -> Place {
    let code = Code {
        event,
        within: event,
        activity,
    };
    Place::of(profile, code)
}

impl Subject for Observed<'static> {
    type Of<'a> = Observed<'a>;

    fn evidence(group: &Group<Self>, rule: &Rule<Self>) -> Option<Evidence> {
        let observed = group.first();
        let percent = observed.split.percent(observed.ns());
        let severity = severity_of(&group.input.options.thresholds, percent);
        Some(Evidence {
            events: observed.event().into_iter().collect(),
            impact: matches!(rule.saves, Saves::Evidence).then(|| observed.impact()),
            ..Evidence::new(severity.priority(), observed.ns())
        })
    }

    fn words(group: &Group<Self>) -> Words {
        let (observed, profile) = (group.first(), group.input.profile);
        let (split, operators) = (observed.split, &observed.time.operators);
        let ns = observed.ns();
        let place = observed.place(profile);
        let mean_ns = operators.mean_ns().unwrap_or(0);
        vec![
            ("part", format::part_of_ns(ns, split.run_ns)),
            (
                "time",
                format!(
                    "{} ({} of the run)",
                    format::time_ns(ns),
                    format::percent(split.percent(ns))
                ),
            ),
            ("what", observed.what().to_lowercase()),
            ("place", place.map_or(String::new(), |place| place.text())),
            ("inside", observed.inside(profile)),
            ("again", format::time_ns(split.recompiling_ns)),
            ("optimizer", split.optimizer.clone().unwrap_or_default()),
            ("operators", format::counted(operators.count, "operator")),
            ("mean", format::time_ns(mean_ns)),
            ("python", format::time_ns(observed.time.ns)),
            holds("workers", loads_in_workers(profile)),
        ]
    }

    fn reasoning(group: &Group<Self>) -> Vec<String> {
        let mut sentences = vec![
            "The time is that of the thread that computes, in a trace without GPU activity."
                .to_owned(),
        ];
        if !group.input.profile.trace.devices.is_empty() {
            sentences.push(
                "The machine has GPUs: if the program uses them, record them as well (`ProfilerActivity.CUDA`), because its operators then only launch work."
                    .to_owned(),
            );
        }
        if group.input.profile.has_python_frames() {
            sentences.push(
                "Python frames were recorded, which slows the CPU: without them it takes less."
                    .to_owned(),
            );
        }
        sentences
    }
}
