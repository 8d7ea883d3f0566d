//! The code that keeps the GPU idle: one finding for each function that explains a significant part of the run.

use super::other_threads;
use super::step_code::StepCode;
use super::tables::{code_table, longest_ends_with, longest_gaps};
use crate::assess::idle::Idle;
use crate::assess::idle::cause::IdleCause;
use crate::assess::idle::code::copied::Copied;
use crate::assess::idle::code::rows::CodeRow;
use crate::assess::idle::explain::ExplainedGap;
use crate::base::tally::Tally;
use crate::findings::Severity;
use crate::findings::prelude::*;
use crate::names::compiled_region::is_compiled_region;
use crate::names::cpu_activity::CpuActivity::{
    self, Allocation, Checkpointing, Compilation, DataLoading, FileAccess, GraphCapture, Logging,
    Preprocessing, ReadBack, Serialization,
};
use crate::names::gemm::is_factorization;
use crate::names::words;
use crate::profile::Profile;
use crate::profile::cpu::activity::loads_in_workers;
use crate::profile::cpu::autograd::is_engine_call;
use crate::profile::cpu::tree::NodeId;
use crate::trace::EventId;

/// Code with this share of the idle time of a cause stands for the cause.
const NEARLY_ALL: f64 = 0.8;

/// A function, an operator or a call in which the CPU keeps the GPU idle.
pub(super) struct ObservedCode<'a> {
    idle: &'a Idle,
    /// The longest of several.
    row: &'a CodeRow,
    /// Further rows with the same remedy.
    others: Vec<&'a CodeRow>,
    pub(super) severity: Severity,
    /// Set if it is a part of the step.
    pub(super) step: Option<StepCode>,
    /// Whether it reads what autograd's anomaly detection found in gradients.
    pub(super) is_anomaly_check: bool,
}

impl<'a> ObservedCode<'a> {
    /// The rows that deserve a finding of their own, longest first. Where the CPU is busy launching, only rows whose
    /// name says what they do: the rest has one remedy, and one finding.
    pub(super) fn of(input: &Input, idle: &'a Idle) -> Vec<ObservedCode<'a>> {
        // Recompilation and repeated capture have one remedy each, whichever part of the compiler takes the time.
        let warm = idle.code.rows.iter();
        let is_again = |row: &&CodeRow| matches!(row.activity, Some(Compilation | GraphCapture));
        let warm = warm.filter(|row| !row.is_one_off && !is_again(row));
        // Freed memory is allocated again, so all allocation has one remedy.
        let (allocation, single): (Vec<&CodeRow>, Vec<&CodeRow>) =
            warm.partition(|row| row.activity == Some(Allocation));
        let (checks, single): (Vec<&CodeRow>, Vec<&CodeRow>) = single
            .into_iter()
            .partition(|row| is_anomaly_check(input.profile, row));
        // Workers take over whatever part of loading, or of preprocessing, takes the time.
        let (loading, single): (Vec<&CodeRow>, Vec<&CodeRow>) = single
            .into_iter()
            .partition(|row| row.activity == Some(DataLoading));
        let (preprocessing, single): (Vec<&CodeRow>, Vec<&CodeRow>) = single
            .into_iter()
            .partition(|row| row.activity == Some(Preprocessing));
        // An operator reads values through another one: `aten::item` through `aten::_local_scalar_dense`.
        let at_one_place = single.into_iter().map(|row| (reads_at(row), row));
        let at_one_place: Vec<(Option<_>, Vec<&CodeRow>)> = grouped(at_one_place, Vec::push);
        let groups = at_one_place
            .into_iter()
            .flat_map(|(place, rows)| match place {
                Some(_) => vec![rows],
                None => rows.into_iter().map(|row| vec![row]).collect(),
            });
        let groups = groups.chain([allocation, checks, loading, preprocessing]);
        let groups = groups.filter_map(|rows| {
            let (&row, others) = rows.split_first()?;
            Some(ObservedCode {
                idle,
                row,
                others: others.to_vec(),
                severity: Severity::Low,
                step: None,
                is_anomaly_check: false,
            })
        });
        let least = idle.thresholds.idle_code_percent;
        // What is nearly all of a large cause says more than the cause.
        let is_nearly_all = |row: &CodeRow| {
            row.by_cause.iter().any(|(cause, tally)| {
                let all_ns = idle.of(*cause).ns;
                idle.percent(all_ns) >= least && tally.ns as f64 >= all_ns as f64 * NEARLY_ALL
            })
        };
        let large = groups.filter(|observed| {
            let is_large = idle.percent(observed.ns()) >= least || is_nearly_all(observed.row);
            is_large && (observed.row.activity.is_some() || is_long_work(observed.row))
        });
        let observed = large.map(|observed| ObservedCode {
            severity: idle.severity_of(idle.percent(observed.ns())),
            step: StepCode::of(input.profile, observed.row),
            is_anomaly_check: is_anomaly_check(input.profile, observed.row),
            ..observed
        });
        observed.arranged_by_largest(|observed| observed.ns())
    }

    /// A single row; `None` if it would have no finding of its own, however long it is.
    pub(super) fn one(input: &Input, idle: &'a Idle, row: &'a CodeRow) -> Option<ObservedCode<'a>> {
        let is_reportable = row.activity.is_some() || is_long_work(row);
        (is_reportable && !row.is_one_off).then(|| ObservedCode {
            idle,
            row,
            others: Vec::new(),
            severity: idle.severity_of(idle.percent(row.all.ns)),
            step: StepCode::of(input.profile, row),
            is_anomaly_check: is_anomaly_check(input.profile, row),
        })
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = &'a CodeRow> + '_ {
        std::iter::once(self.row).chain(self.others.iter().copied())
    }

    /// The rows that texts name: not those with hardly any of the time.
    fn named_rows(&self) -> impl Iterator<Item = &'a CodeRow> + '_ {
        const LEAST_PART: i64 = 16;
        let least_ns = self.ns() / LEAST_PART;
        let others = self.others.iter().copied();
        // Operators of one place that call each other are named by one of them.
        let others = others.filter(|_| reads_at(self.row).is_none());
        std::iter::once(self.row).chain(others.filter(move |row| row.all.ns >= least_ns))
    }

    /// The idle time during which it ran.
    pub(super) fn ns(&self) -> i64 {
        sum(self.rows().map(|row| row.all.ns))
    }

    /// The part of a cause's idle time that has findings of its own or cannot be saved.
    pub(super) fn taken(observed: &[ObservedCode], idle: &Idle, cause: IdleCause) -> Tally {
        let own = observed.iter().flat_map(ObservedCode::rows);
        let one_off = idle.code.rows.iter();
        let one_off = one_off.filter(|row| row.is_one_off && !cause.is_of_first_use());
        let taken = own
            .chain(one_off)
            .filter_map(|row| row.by_cause.get(&cause));
        taken.fold(Tally::default(), |all, tally| Tally {
            count: all.count + tally.count,
            ns: all.ns.saturating_add(tally.ns),
        })
    }

    /// The longest listed gaps in which it takes most of the time.
    fn longest(&self) -> impl Iterator<Item = &ExplainedGap> {
        self.idle.longest.iter().filter(|gap| {
            let activity = gap.code.map(|code| code.activity);
            let place = gap.place.as_ref();
            activity == Some(self.row.activity)
                && place.is_some_and(|place| place.is_same(&self.row.place))
        })
    }

    /// The call that it is about.
    pub(super) fn event(&self) -> EventId {
        self.row.event
    }

    pub(super) fn activity(&self) -> Option<CpuActivity> {
        self.row.activity
    }

    pub(super) fn is(&self, activity: CpuActivity) -> bool {
        self.row.activity == Some(activity)
    }

    /// The copies that only serve this code, by the pattern of the finding about them. Inputs that it loads or prepares
    /// have to be copied wherever it runs, and a wait serves a copy rather than the other way round.
    fn copies(&self) -> Vec<(&'static str, i64)> {
        let copies = |row: &CodeRow| {
            let Copied {
                to_cpu_ns,
                to_gpu_ns,
            } = row.copied;
            match row.activity {
                Some(activity) if activity.waits_for_gpu() => {
                    let is_short = to_cpu_ns <= row.all.ns;
                    [if is_short { to_cpu_ns } else { 0 }, 0]
                }
                None | Some(Checkpointing | Logging | Serialization | FileAccess) => {
                    [to_cpu_ns, to_gpu_ns]
                }
                Some(_) => [0, 0],
            }
        };
        let rows: Vec<[i64; 2]> = self.rows().map(copies).collect();
        let all = |at: usize| sum(rows.iter().map(|row| row[at]));
        let all = [("high_d2h_memcpy", all(0)), ("high_h2d_memcpy", all(1))];
        all.into_iter().filter(|(_, ns)| *ns > 0).collect()
    }

    /// Whether a library factorizes matrices: what it does between its launches is its own.
    pub(super) fn is_factorization(&self) -> bool {
        is_factorization(&self.row.place.function)
    }

    /// Whether it is an operator that suppresses overlapping boxes.
    pub(super) fn selects_boxes(&self) -> bool {
        matches!(&*self.row.place.function, "torchvision::nms" | "mmcv::nms")
    }

    /// Whether it is an operator that copies, in a trace with copies that may be from or to pageable memory.
    pub(super) fn is_pageable_copy(&self) -> bool {
        const COPIES: &[&str] = &["aten::copy_", "aten::_to_copy", "aten::to"];
        self.idle.has_pageable && COPIES.contains(&&*self.row.place.function)
    }

    /// Whether a gradient scaler asks for it.
    pub(super) fn is_of_scaler(&self, input: &Input) -> bool {
        self.is_called_by(input, &["grad_scaler.py"])
    }

    /// Whether functions or modules around it have one of these words in their names, whatever their case.
    pub(super) fn is_called_by(&self, input: &Input, any: &[&str]) -> bool {
        let (trace, tree) = (&input.profile.trace, input.profile.full_tree());
        let mut names = tree.names_around(trace, self.event());
        names.any(|name| words::holds(name, any))
    }

    pub(super) fn is_operator(&self) -> bool {
        self.row.place.function.contains("::")
    }
}

/// Whether code reads a value within an autograd engine call that looks for NaN in its results.
fn is_anomaly_check(profile: &Profile, row: &CodeRow) -> bool {
    let (trace, tree) = (&profile.trace, profile.full_tree());
    let name = |node: NodeId| tree.event(node).map_or("", |event| trace.name(event));
    let engine_call = || {
        let node = tree.node_of(row.event)?;
        let mut callers = tree.ancestors(node);
        callers.find(|caller| is_engine_call(name(*caller)))
    };
    row.activity.is_some_and(CpuActivity::waits_for_gpu)
        && engine_call().is_some_and(|call| {
            tree.children(call)
                .any(|inner| name(inner) == "aten::isnan")
        })
}

/// Where an operator reads a value back; `None` for anything else.
fn reads_at(row: &CodeRow) -> Option<&str> {
    let file = row.place.file.as_deref()?;
    (row.activity == Some(ReadBack) && row.place.function.contains("::")).then_some(file)
}

/// Whether code without a telling name runs in gaps that are not simply launches of many kernels.
fn is_long_work(row: &CodeRow) -> bool {
    let function = &row.place.function;
    let is_compiled = is_compiled_region(function)
        || function.starts_with("CompiledFunction")
        || row.place.is_generated;
    let long = [IdleCause::CpuWork, IdleCause::DataLoading];
    !is_compiled && long.iter().any(|cause| row.is_mostly(*cause))
}

/// Whether a function asks a loader for its next batch, so that its name does not say what takes long.
fn is_iteration(function: &str) -> bool {
    const NAMES: &[&str] = &[
        "__next__",
        "__iter__",
        "_next_data",
        "_get_data",
        "_try_get_data",
    ];
    function.starts_with("enumerate(DataLoader)") || NAMES.contains(&function)
}

/// The first names, each once: "a, b and 2 more".
fn named(all: impl Iterator<Item = String>) -> String {
    const MOST: usize = 2;
    let mut names: Vec<String> = Vec::new();
    for name in all {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let n_more = names.len().saturating_sub(MOST);
    names.truncate(MOST);
    if n_more > 0 {
        names.push(format!("{n_more} more"));
    }
    format::listed(&names)
}

impl Subject for ObservedCode<'static> {
    type Of<'a> = ObservedCode<'a>;

    fn evidence(group: &Group<Self>, rule: &Rule<Self>) -> Option<Evidence> {
        let observed = group.first();
        let ns = observed.ns();
        let rows: Vec<&CodeRow> = observed.rows().collect();
        let tables = [
            code_table(group.input, observed.idle, "code", "", &rows),
            longest_gaps(group.input, observed.idle, observed.longest()),
        ];
        Some(Evidence {
            events: rows.iter().map(|row| row.event).collect(),
            impact: matches!(rule.saves, Saves::Evidence).then(|| Impact::at_most(ns)),
            includes: observed.copies(),
            tables: tables
                .into_iter()
                .filter(|table| !table.rows.is_empty())
                .collect(),
            ..Evidence::new(observed.severity.priority(), ns)
        })
    }

    fn words(group: &Group<Self>) -> Words {
        let observed = group.first();
        let (row, idle, ns) = (observed.row, observed.idle, observed.ns());
        let mut time = format!(
            "{} ({} of the run)",
            format::time_ns(ns),
            format::percent(idle.percent(ns))
        );
        let is_one = observed.named_rows().count() == 1;
        if is_one {
            let n_gaps = observed.rows().map(|row| row.all.count).sum();
            let gaps = format::counted(n_gaps, "gap");
            time.push_str(&format!(" in {gaps}"));
            // A gap may be longer than this code's part of it.
            let longest_ns = observed.rows().map(|row| row.longest_ns).max();
            if n_gaps > 1 {
                time.push_str(&format!(
                    ", up to {} in each",
                    format::time_ns(longest_ns.unwrap_or(0))
                ));
            }
        }
        if let Some(module) = row.place.module.as_deref().filter(|_| is_one) {
            time.push_str(&format!(", in module `{module}`"));
        }
        let functions = observed.named_rows();
        let functions = functions.map(|row| format!("`{}`", row.place.function));
        let (what, caller) = match is_one {
            true => (row.place.text(), row.place.called_by()),
            false => (named(functions), String::new()),
        };
        vec![
            ("part", format::part_of_ns(ns, idle.timeline.idle_ns)),
            (
                "place",
                named(observed.named_rows().map(|row| row.place.text())),
            ),
            ("what", what),
            ("by", caller),
            ("function", row.place.function.clone()),
            ("time", time),
            holds("pageable", idle.has_pageable),
            holds("workers", loads_in_workers(group.input.profile)),
            holds("iterates", is_iteration(&row.place.function)),
            holds("preprocesses", row.place.library.is_some()),
        ]
    }

    fn reasoning(group: &Group<Self>) -> Vec<String> {
        let observed = group.first();
        let total_ns = observed.idle.timeline.total_ns();
        let left_ns = total_ns.saturating_sub(observed.ns());
        let is_wait = observed.row.is_mostly(IdleCause::Synchronization);
        let mut sentences = vec![
            match is_wait {
                true => "A wait delays the next launch by at most its own duration: more of a gap does not count.",
                false => "The time is that in which the GPU is idle and this code runs on the thread that launches next.",
            }
            .to_owned(),
        ];
        let mut longest = observed.longest();
        let longest = longest.next().filter(|gap| gap.waited_in.is_some());
        sentences.extend(longest.and_then(|gap| longest_ends_with(group.input, gap)));
        let own_code = observed.row.activity.is_none() && !is_wait;
        if let Some(gap) = observed.longest().next().filter(|_| own_code) {
            let (profile, span) = (group.input.profile, gap.gap.span);
            sentences.extend(other_threads::sentence(profile, span, observed.event()));
        }
        if left_ns > 0 {
            let times = format::times_as_fast(total_ns as f64 / left_ns as f64);
            sentences.push(format!(
                "Without it the run would be {times} times as fast, which is the most it can save."
            ));
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
