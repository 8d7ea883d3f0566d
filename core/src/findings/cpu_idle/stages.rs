//! A part of the run outside GPU graphs in which the GPU waits for the CPU: what is launched kernel by kernel before,
//! between or after graph replays.

use super::code::ObservedCode;
use crate::assess::idle::Idle;
use crate::findings::prelude::*;
use crate::names::batch::Phase;
use crate::profile::serving::{Stage, StageKind};

/// A part of the run with most of its idle time.
pub(super) struct ObservedStage<'a> {
    idle: &'a Idle,
    stage: &'a Stage,
    is_diffusion: bool,
    /// Its idle time that findings about code do not cover.
    left_ns: i64,
}

/// It has this percentage of the idle time of the run.
const MOST_PERCENT: f64 = 80.0;

impl<'a> ObservedStage<'a> {
    /// `None` without graphs, or if idle time is elsewhere.
    pub(super) fn of(
        input: &Input<'a>,
        idle: &'a Idle,
        code: &[ObservedCode],
    ) -> Option<ObservedStage<'a>> {
        let serving = input.profile.serving()?;
        if serving.shape.launches == 0 {
            return None;
        }
        let stages = serving.stages.iter();
        let stages = stages.filter(|stage| stage.kind != StageKind::Steps);
        let stage = stages.max_by_key(|stage| stage.idle_ns())?;
        let share = percent_of(stage.idle_ns(), idle.timeline.idle_ns)?;
        let is_of_cpu = percent_of(idle.code.all.ns, idle.timeline.idle_ns)? >= MOST_PERCENT;
        let excluded_ns = sum(code.iter().map(ObservedCode::ns));
        let one_off = idle.code.rows.iter().filter(|row| row.is_one_off);
        let excluded_ns = excluded_ns.saturating_add(sum(one_off.map(|row| row.all.ns)));
        let left_ns = stage.idle_ns().saturating_sub(excluded_ns);
        let observed = ObservedStage {
            idle,
            stage,
            is_diffusion: serving.of(Some(Phase::Diffusion)).next().is_some(),
            left_ns,
        };
        // What code with findings of its own explains is not counted twice, and where nothing runs there is nothing to
        // compile.
        let is_large = idle.percent(left_ns) >= idle.thresholds.idle_code_percent;
        let runs_any = stage.busy_ns > 0;
        (share >= MOST_PERCENT && is_of_cpu && is_large && runs_any).then_some(observed)
    }
}

impl Subject for ObservedStage<'static> {
    type Of<'a> = ObservedStage<'a>;

    fn evidence(group: &Group<Self>, _: &Rule<Self>) -> Option<Evidence> {
        let observed = group.first();
        let severity = observed
            .idle
            .severity_of(observed.idle.percent(observed.left_ns));
        Some(Evidence {
            impact: Some(Impact::at_most(observed.left_ns)),
            ..Evidence::new(severity.priority(), observed.left_ns)
        })
    }

    fn words(group: &Group<Self>) -> Words {
        let (observed, idle) = (group.first(), group.first().idle);
        let ns = observed.stage.idle_ns();
        let elsewhere_ns = idle.timeline.idle_ns.saturating_sub(ns);
        let excluded_ns = ns.saturating_sub(observed.left_ns);
        let name = observed.stage.name(observed.is_diffusion);
        vec![
            ("stage", format::in_sentence(&name)),
            ("idle", format::time_ns(ns)),
            ("share", format::percent(idle.percent(ns))),
            ("busy", format::time_ns(observed.stage.busy_ns)),
            ("length", format::time_ns(observed.stage.ns)),
            ("elsewhere", format::time_ns(elsewhere_ns)),
            (
                "excluded",
                match excluded_ns {
                    0 => String::new(),
                    ns => format!(
                        "Of this {} are a cold start, or code that has findings of its own: they are not in the estimate.",
                        format::time_ns(ns)
                    ),
                },
            ),
            (
                "between",
                match observed.stage.kind {
                    StageKind::Between => {
                        "prepare and schedule the next step while the GPU runs this one (asynchronous scheduling), or "
                    }
                    _ => "",
                }
                .to_owned(),
            ),
        ]
    }
}

pub(super) const RULES: &[Rule<ObservedStage>] = &[Rule {
    key: "cpu_bound_beside_graphs",
    when: "most idle time lies before, between or after steps that graphs replay, and the CPU causes it",
    title: "CPU-bound part beside GPU graphs",
    issue: "The GPU is idle for {idle} ({share} of the run) {stage}, and busy there for only {busy} of {length}; elsewhere it is idle for {elsewhere}.",
    model: "{between}compile what runs there (`torch.compile`) or capture it in a GPU graph: it is launched kernel by kernel.",
    kernel: "nothing to tune: fewer, longer kernels need fewer launches.",
    notes: &[
        "The estimate is the idle time that the CPU causes there, all of it at most.",
        "{excluded}",
    ],
    saves: Saves::Evidence,
    has_reproducer: false,
    ..Rule::BASE
}];
