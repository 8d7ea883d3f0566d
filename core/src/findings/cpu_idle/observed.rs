//! What rules know about the idle time with one cause.

use super::code::ObservedCode;
use super::other_threads;
use crate::assess::idle::cause::IdleCause;
use crate::assess::idle::code::rows::CodeRow;
use crate::assess::idle::{GapsOfCause, Idle};
use crate::base::group::grouped;
use crate::base::sort::FirstMax;
use crate::base::tally::Tally;
use crate::findings::Severity;
use crate::findings::cpu_idle::launch_calls::LaunchCalls;
use crate::findings::cpu_idle::tables::name_of;
use crate::findings::prelude::*;
use crate::names::Family;
use crate::names::batch::Phase;
use crate::names::optimizer::{FUSED_OPTIMIZERS, is_zero_grad, optimizer_of_step};
use crate::names::runtime_calls::RuntimeCall;
use crate::profile::serving::{ServingStep, ShapeKind};
use crate::trace::EventId;

pub(super) struct Observed<'a> {
    pub(super) idle: &'a Idle,
    pub(super) cause: IdleCause,
    pub(super) gaps: &'a GapsOfCause,
    pub(super) is_compiled: bool,
    /// Only the gaps before compiled regions; the others of this cause are a finding of their own.
    is_of_regions: bool,
    /// The part of it that other findings are about, or that does not occur in a warm run.
    pub(super) taken: Tally,
    /// The code that has findings of its own.
    code_with_findings: Vec<EventId>,
    pub(super) severity: Severity,
}

impl<'a> Observed<'a> {
    /// The causes that deserve a finding besides those of code: first those that are certainly idle time, longest
    /// first. The largest of all has the severity of the whole.
    pub(super) fn of(
        input: &Input,
        idle: &'a Idle,
        code: &mut [ObservedCode],
    ) -> Vec<Observed<'a>> {
        let thresholds = &idle.thresholds;
        let is_compiled = input.has(Family::Triton);
        let least = match idle.is_flagged() {
            true => thresholds.finding_percent_of_total,
            // If there is little idle time, only causes that matter to the run.
            false => thresholds.idle_code_percent,
        };
        let is_large = |observed: &Observed| {
            let is_reportable = idle.is_flagged() || observed.cause != IdleCause::Unknown;
            // If findings about code cover most of it, the rest only deserves a finding if it is large by itself. So do
            // the gaps that kernels leave in any case.
            let is_rest = observed.taken.ns > observed.left_ns() || observed.is_least_distance();
            let least = match is_rest {
                true => thresholds.idle_code_percent,
                false => least,
            };
            is_reportable && idle.percent(observed.left_ns()) >= least
        };
        let causes = idle.by_time().into_iter();
        // The analysis of kernel tuning covers its idle time, too.
        let causes = causes.filter(|(cause, _)| *cause != IdleCause::Tuning);
        let causes = causes.map(|(cause, gaps)| Observed {
            idle,
            cause,
            gaps,
            is_compiled,
            is_of_regions: false,
            taken: ObservedCode::taken(code, idle, cause),
            code_with_findings: code
                .iter()
                .flat_map(ObservedCode::rows)
                .map(|row| row.event)
                .collect(),
            severity: Severity::Low,
        });
        let causes = causes.flat_map(Observed::apart_from_regions);
        let (others, mut sure): (Vec<Observed>, Vec<Observed>) =
            causes.partition(|observed| !observed.cause.can_be_saved());
        sure.arrange_by_largest(|observed| observed.left_ns());
        rate(idle, &mut sure, code);
        let has_main = idle.is_flagged()
            && code.is_empty()
            && idle.savable_percent() > thresholds.idle_flag_percent;
        let sure = sure.into_iter().enumerate();
        let sure = sure.filter(|(rank, observed)| (*rank == 0 && has_main) || is_large(observed));
        let others = others.into_iter();
        sure.map(|(_, observed)| observed)
            .chain(others.filter(|observed| idle.is_flagged() && is_large(observed)))
            .collect()
    }

    /// Two where a significant part of the run is idle before compiled regions, and most of this cause is elsewhere: each
    /// has a remedy of its own.
    fn apart_from_regions(self) -> Vec<Observed<'a>> {
        let idle = self.idle;
        let regions = idle.before_regions(self.cause);
        let Some(gaps) = regions.filter(|gaps| self.enters_many() && !self.is_most(gaps.all.ns))
        else {
            return vec![self];
        };
        // Findings about code are about guards first, which are checked before a region.
        let taken_ns = self.taken.ns.min(gaps.all.ns);
        let of_regions = Observed {
            gaps,
            is_of_regions: true,
            taken: Tally {
                ns: taken_ns,
                ..self.taken
            },
            code_with_findings: self.code_with_findings.clone(),
            ..self
        };
        if idle.percent(of_regions.left_ns()) < idle.thresholds.idle_code_percent {
            return vec![self];
        }
        let others = Observed {
            taken: Tally {
                ns: self.taken.ns.saturating_add(of_regions.left_ns()),
                ..self.taken
            },
            ..self
        };
        vec![of_regions, others]
    }

    /// Whether a step enters compiled code many times.
    fn enters_many(&self) -> bool {
        /// Forward passes of this many models, or parts of one, may each be a whole.
        const FEW_REGIONS: f64 = 3.0;
        matches!(self.cause, IdleCause::LaunchBound | IdleCause::CpuWork)
            && self.idle.regions_per_step >= Some(FEW_REGIONS)
    }

    /// Whether another finding is about some code, or it does not run in a warm run.
    pub(super) fn has_own_finding(&self, row: &CodeRow) -> bool {
        let is_one_off = row.is_one_off && !self.cause.is_of_first_use();
        is_one_off || self.code_with_findings.contains(&row.event)
    }

    /// The idle time that remains for this cause.
    pub(super) fn left_ns(&self) -> i64 {
        self.gaps.all.ns.saturating_sub(self.taken.ns)
    }

    pub(super) fn is_most(&self, ns: i64) -> bool {
        ns > self.gaps.all.ns / 2
    }

    /// Whether nearly all of it is in gaps no longer than the usual one between kernels.
    pub(super) fn is_least_distance(&self) -> bool {
        const NEARLY_ALL: f64 = 0.9;
        let least_ns = self.gaps.least_distance_ns as f64;
        let is_on_gpu = |cause| {
            use IdleCause::{InGraph, Queued, Unknown};
            matches!(cause, Queued | InGraph | Unknown)
        };
        is_on_gpu(self.cause) && least_ns >= NEARLY_ALL * self.gaps.all.ns as f64
    }

    /// Whether gaps are far longer than what one kernel leaves to the next, or nearly all of their time is in one.
    pub(super) fn are_gaps_long(&self) -> bool {
        const LONG_NS: i64 = 50_000;
        self.gaps.is_mostly_one() || self.gaps.all.mean_ns() >= Some(LONG_NS)
    }

    pub(super) fn is_end_of_window(&self) -> bool {
        let longest = self.idle.longest.iter();
        let mut last = longest.filter(|gap| gap.gap.after.is_none());
        self.cause == IdleCause::Unknown
            && last
                .next()
                .is_some_and(|gap| self.is_most(gap.gap.span.length()))
    }

    /// Whether the GPU is idle for most of the run in steps that serving engines usually replay as a graph: decode
    /// steps, and prefill steps with few tokens.
    pub(super) fn are_steps_eager(&self, input: &Input) -> bool {
        /// Engines capture graphs for up to about this many tokens.
        const MOST_TOKENS: u64 = 512;
        const MOST_OF_RUN_PERCENT: f64 = 50.0;
        let Some(serving) = input.profile.serving() else {
            return false;
        };
        let is_small = |step: &ServingStep| {
            let tokens = step.batch.and_then(|batch| batch.tokens());
            step.phase() == Some(Phase::Decode)
                || tokens.is_some_and(|tokens| (1..=MOST_TOKENS).contains(&tokens))
        };
        let working = serving.steps.iter().filter(|step| step.activity.is_some());
        let n_small = working.clone().filter(|step| is_small(step)).count();
        serving.shape.kind == ShapeKind::Eager
            && !self.idle.has_graphs
            && n_small * 2 > working.count()
            && self.idle.idle_percent() > MOST_OF_RUN_PERCENT
    }

    /// Whether most steps only decode, in a trace whose steps are launched as many graphs.
    pub(super) fn are_graphs_pieces(&self, input: &Input) -> bool {
        let Some(serving) = input.profile.serving() else {
            return false;
        };
        let working = serving.steps.iter().filter(|step| step.activity.is_some());
        let n_decodes = serving.of(Some(Phase::Decode)).count();
        serving.shape.kind == ShapeKind::PiecewiseGraph && n_decodes * 2 > working.count()
    }

    /// Whether the CPU spends most of the gaps in launch calls that take far longer than usual.
    pub(super) fn are_launches_slow(&self, input: &Input) -> bool {
        /// Three to ten microseconds are usual.
        const SLOW_NS: i64 = 20_000;
        let cpu = self.gaps.cpu;
        let median_ns = LaunchCalls::once(input.profile).median_ns;
        cpu.runtime_ns > cpu.total_ns() / 2 && median_ns >= Some(SLOW_NS)
    }

    pub(super) fn is_in_compiled_code(&self) -> bool {
        self.gaps.cpu.compiled_ns > self.gaps.cpu.total_ns() / 2
    }

    /// Whether launches come late mostly where the CPU enters compiled code, which graph breaks split into many parts.
    pub(super) fn is_between_regions(&self) -> bool {
        self.is_of_regions || self.enters_many() && self.is_most(self.before_regions_ns())
    }

    pub(super) fn before_regions_ns(&self) -> i64 {
        let regions = self.idle.before_regions(self.cause);
        regions.map_or(0, |gaps| gaps.all.ns)
    }

    /// "370 µs (91.8 % of the run) in 10 gaps of up to 37.0 µs, 300 µs of it in `update` in `ema.py:20`".
    pub(super) fn time(&self, input: &Input) -> String {
        let most = self.mostly_at(input);
        let most = most.map(|(place, ns)| format!(", {} of it in {place}", format::time_ns(ns)));
        format!("{}{}", self.time_in_gaps(), most.unwrap_or_default())
    }

    fn time_in_gaps(&self) -> String {
        let (all, longest) = (self.gaps.all, format::time_ns(self.gaps.longest_ns));
        let gaps = format::counted(all.count, "gap");
        let gaps = match all.count {
            1 => gaps,
            // A number of gaps is misleading if one of them outweighs the rest.
            _ if self.gaps.is_mostly_one() => format!("{gaps}, nearly all in one of {longest}"),
            _ => format!("{gaps} of up to {longest}"),
        };
        let share = |ns: i64| format::percent(self.idle.percent(ns));
        let of_run = format!("({} of the run)", share(self.left_ns()));
        match self.taken.ns {
            0 => format!("{} {of_run} in {gaps}", format::time_ns(all.ns)),
            taken_ns => format!(
                "{} {of_run} in {gaps}, without the {} that other findings or a cold start explain",
                format::time_ns(self.left_ns()),
                format::time_ns(taken_ns)
            ),
        }
    }

    /// Where the CPU is for most of the time that no other finding is about: the range of an optimizer, or a function
    /// together with the operators that it calls.
    fn mostly_at(&self, input: &Input) -> Option<(String, i64)> {
        if !self.cause.is_late_launch() || self.is_between_regions() {
            return None;
        }
        let range = self.gaps.mostly_in();
        if let Some((range, tally)) = range.filter(|(_, tally)| tally.ns <= self.left_ns()) {
            return Some((format!("`{}`", name_of(input, range)), tally.ns));
        }
        let rows = self.idle.code.rows.iter();
        let rows = rows.filter(|row| !self.has_own_finding(row));
        let of_files = rows.filter_map(|row| {
            let ns = row.by_cause.get(&self.cause)?.ns;
            Some((row.place.file.as_deref()?, (row, ns)))
        });
        let of_files: Vec<(&str, Vec<(&CodeRow, i64)>)> = grouped(of_files, Vec::push);
        let total = |rows: &[(&CodeRow, i64)]| sum(rows.iter().map(|(_, ns)| *ns));
        let (file, rows) = of_files
            .into_iter()
            .first_max_by_key(|(_, rows)| total(rows))?;
        let ns = total(&rows);
        // Operators and calls of the runtime are placed where they are called.
        let is_function = |row: &&CodeRow| {
            let name = &row.place.function;
            !name.contains("::") && RuntimeCall::of_name(name) == RuntimeCall::Other
        };
        let function = rows.iter().map(|(row, _)| *row).find(is_function);
        let place = function.map_or_else(|| format!("`{file}`"), |row| row.place.text());
        (ns > self.left_ns() / 2).then_some((place, ns))
    }

    /// "; meanwhile another thread of the process runs `encode` in `writer.py:44`", if it does so for most of the run:
    /// threads run Python code in turn, so that it makes launches late. Empty otherwise.
    pub(super) fn other_thread(&self, input: &Input) -> String {
        if !matches!(self.cause, IdleCause::LaunchBound | IdleCause::CpuWork) {
            return String::new();
        }
        let longest = self.idle.longest.iter();
        let mut launches = longest.filter(|gap| gap.cause == self.cause);
        let own = launches.find_map(|gap| gap.launch);
        let run = self.idle.timeline.span;
        let code = own.and_then(|own| other_threads::code(input.profile, run, own));
        code.map_or(String::new(), |(place, _)| {
            format!("; meanwhile another thread of the process runs {place}")
        })
    }

    /// Where nearly all of it are late launches of an optimizer, the finding about its many kernels has the same cause.
    pub(super) fn kernels_of_optimizer(&self) -> Vec<(&'static str, i64)> {
        const NEARLY_ALL: f64 = 0.8;
        let range = self.gaps.mostly_in();
        let least_ns = self.gaps.all.ns as f64 * NEARLY_ALL;
        let is_nearly_all = range.is_some_and(|(_, tally)| tally.ns as f64 >= least_ns);
        let is_it = self.cause == IdleCause::LaunchBound && is_nearly_all;
        let all = is_it.then_some(("optimizer_not_fused", i64::MAX));
        all.into_iter().collect()
    }

    /// Whether most of the gaps precede kernels on lists of tensors.
    fn steps_on_lists(&self, input: &Input) -> bool {
        let strings = &input.profile.trace.strings;
        let of_lists = self.gaps.operators.rows.iter().filter(|(operator, _)| {
            operator.is_some_and(|name| strings.get(name).starts_with("aten::_foreach_"))
        });
        sum(of_lists.map(|(_, tally)| tally.ns)) > self.gaps.all.ns / 2
    }

    /// How to reduce an optimizer's launches, if most launches belong to one; else empty.
    pub(super) fn optimizer(&self, input: &Input) -> &'static str {
        let Some((range, _)) = self.gaps.mostly_in() else {
            return "";
        };
        let range = input.profile.trace.strings.get(range);
        if is_zero_grad(range) {
            "most of these launches set gradients to zero: use `zero_grad(set_to_none=True)`, which launches no kernels. Or "
        } else if optimizer_of_step(range).is_some_and(|class| FUSED_OPTIMIZERS.contains(&class)) {
            match self.steps_on_lists(input) {
                true => {
                    "most of these launches belong to the optimizer, which steps on lists of parameters already: construct it with `fused=True`, so that one kernel does the whole step. Or "
                }
                false => {
                    "most of these launches belong to the optimizer: construct it with `fused=True`, or `foreach=True`, so that one kernel updates many parameters. Or "
                }
            }
        } else if self.steps_on_lists(input) {
            "most of these launches belong to the optimizer, which steps on lists of parameters already: compile its step (`torch.compile`). Or "
        } else {
            "most of these launches belong to the optimizer: let it step on lists of parameters (`foreach=True`, where it has that option), or compile its step. Or "
        }
    }
}

/// Rates causes and code, both longest first, by their idle time; the longest of all like the whole.
fn rate(idle: &Idle, causes: &mut [Observed], code: &mut [ObservedCode]) {
    let whole = idle.severity_of(idle.savable_percent());
    let most_of_code = code.iter().map(ObservedCode::ns).max();
    for (rank, observed) in causes.iter_mut().enumerate() {
        observed.severity = match rank {
            0 if Some(observed.left_ns()) >= most_of_code => whole,
            _ if observed.is_least_distance() => Severity::Low,
            _ => idle.severity_of(idle.percent(observed.left_ns())),
        };
    }
    let most = causes.first().map(Observed::left_ns);
    let mut longest = code.first_mut();
    if let Some(first) = longest.take_if(|observed| Some(observed.ns()) > most) {
        first.severity = whole;
    }
}
