//! Steps of serving engines, and graph replays: what a step costs besides the work of its kernels.
//!
//! ```text
//! replays of graphs, else steps ─passes→ kernels by role ─chains, floor→ what comes back in each layer
//! annotations, arguments ─→ what a step has to read, what does not depend on its batch
//! ```
//!
//! The speed of single kernels belongs to the analyses of their kinds. This one covers causes that show in a step as a
//! whole: too many and too short kernels, work repeated in each layer, and how the step is launched.

mod adapters;
mod chains;
mod constant;
mod floor;
mod launches;
pub(crate) mod memory;
mod passes;
mod preparation;
mod rules;
mod slow_steps;
#[cfg(test)]
mod tests;
mod windows;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::findings::engine::run_time;
use crate::findings::prelude::*;
use crate::profile::Profile;
use crate::profile::serving::Serving;
use crate::trace::{EventId, StringId};
use passes::Passes;

/// The kind of issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A decode step takes longer than reading its weights and its cache.
    Memory,
    /// An operation at the roofline.
    AtRoofline,
    /// Work with the same result in each layer.
    Constant,
    /// A chain of short kernels.
    Chain(chains::Topic),
    /// The minimum time of each kernel of a graph.
    FixedCost,
    /// A frequent kernel of minimum duration.
    OneElement,
    /// Quantizing for attention takes longer than the attention.
    Quantizing,
    /// Layers with two kinds of attention.
    Windows,
    /// Steps without a graph beside steps that replay one.
    EagerSteps,
    /// Decodes wait for the prefill in their step.
    DelayedByPrefill,
    /// Prompts in short chunks.
    SmallChunks,
    /// Low-rank adapters in kernels of their own.
    Adapters,
    /// Padding requests.
    GraphPadding,
    /// Decoding in many graphs.
    Piecewise,
    /// Launching graphs takes as long as running them.
    SlowLaunch,
    /// The first layer takes longer than the others.
    ColdStart,
}

/// An issue with its figures.
struct Issue {
    kind: Kind,
    /// The measured time that it is about.
    time_ns: i64,
    impact: Option<Impact>,
    /// How much of the middle of the impact comes from each operation.
    savings: Vec<(usize, i64)>,
    /// The affected operations.
    operations: Vec<usize>,
    events: Vec<EventId>,
    efficiency_percent: Option<f64>,
    words: Words,
    tables: Vec<Table>,
}

impl Issue {
    fn new(kind: Kind, time_ns: i64) -> Issue {
        Issue {
            kind,
            time_ns,
            impact: None,
            savings: Vec::new(),
            operations: Vec::new(),
            events: Vec::new(),
            efficiency_percent: None,
            words: Vec::new(),
            tables: Vec::new(),
        }
    }

    /// Sets the saving; `of` is the upper bound for each operation.
    fn saving(self, impact: Impact, of: impl IntoIterator<Item = (usize, i64)>) -> Issue {
        let middle = |ns: i64| {
            let share = impact.mid_ns as f64 / impact.high_ns.max(1) as f64;
            (ns as f64 * share).round() as i64
        };
        Issue {
            savings: of.into_iter().map(|(at, ns)| (at, middle(ns))).collect(),
            impact: Some(impact),
            ..self
        }
    }
}

impl Subject for Issue {
    type Of<'a> = Issue;

    fn evidence(group: &Group<Self>, _: &Rule<Self>) -> Option<Evidence> {
        let issue = group.first();
        Some(Evidence {
            impact: issue.impact,
            savings: issue.savings.clone(),
            events: issue.events.clone(),
            efficiency_percent: issue.efficiency_percent,
            tables: issue.tables.clone(),
            counted_in: match issue.kind {
                // Its time is idle.
                Kind::EagerSteps => &["launch_bound"],
                _ => &[],
            },
            ..Evidence::of_time(group.input, issue.operations.clone(), issue.time_ns)
        })
    }

    fn words(group: &Group<Self>) -> Words {
        let issue = group.first();
        let mut words = vec![("time", time_and_share(issue.time_ns, group.input))];
        words.extend(issue.words.iter().cloned());
        words
    }
}

/// The data that the findings are based on.
struct Source<'a> {
    input: &'a Input<'a>,
    serving: Option<&'a Serving>,
    passes: &'a Passes,
    /// Frequent kernels that do nearly nothing.
    tiny: &'a [floor::Tiny],
    /// Chains that repeat in each layer.
    chains: &'a [chains::Chain],
}

/// What is found in the passes; independent of options.
struct Found {
    passes: Passes,
    tiny: Vec<floor::Tiny>,
    chains: Vec<chains::Chain>,
}

impl Found {
    fn of(profile: &Profile) -> Arc<Found> {
        profile.once(|| {
            let passes = Passes::new(profile);
            let tiny = floor::tiny(profile, &passes);
            let names: Vec<StringId> = tiny.iter().map(|one| one.name).collect();
            Found {
                chains: chains::chains(&passes, &names),
                passes,
                tiny,
            }
        })
    }
}

impl Source<'_> {
    fn name(&self, name: StringId) -> String {
        let name = self.input.profile.trace.strings.get(name);
        format!("`{}`", format::middle_ellipsis(name, 60))
    }

    /// A table of kernels by name, in order: name, number, time.
    fn kernels_table(
        &self,
        key: &'static str,
        title: &str,
        rows: Vec<(String, u64, i64)>,
    ) -> Table {
        let columns: &[CellColumn<(String, u64, i64)>] = &[
            ("kernel", "Kernel", &|row| {
                Value::Quoted(row.0.trim_matches('`').to_owned())
            }),
            ("calls", "Calls", &|row| Value::Count(row.1)),
            ("time", "Time", &|row| Value::Ns(row.2)),
        ];
        Table::of(key, title, rows, columns)
    }
}

pub(super) const DOCS: Docs = || rule::docs(rules::RULES);

pub(super) fn run(input: &Input, _: &[Row], outcome: &mut Outcome) {
    let profile = input.profile;
    let serving = profile.serving();
    let found = Found::of(profile);
    let passes = &found.passes;
    if passes.all.is_empty() && serving.is_none() {
        return;
    }
    outcome.status = Status::Done;
    outcome.time_ns = passes.ns;
    let source = Source {
        input,
        serving,
        passes,
        tiny: &found.tiny,
        chains: &found.chains,
    };
    facts(outcome, &source);
    let find: [fn(&Source) -> Vec<Issue>; 15] = [
        memory::issues,
        memory::at_roofline,
        constant::issues,
        chained,
        floor::fixed_cost,
        floor::one_element,
        preparation::issues,
        windows::issues,
        adapters::issues,
        launches::padding,
        slow_steps::eager,
        slow_steps::delayed_by_prefill,
        slow_steps::small_chunks,
        launches::issues,
        launches::cold_start,
    ];
    for issue in find.into_iter().flat_map(|find| find(&source)) {
        let mut findings = rule::find(input, rules::RULES, vec![&issue]);
        for finding in &mut findings {
            if !finding.savings.is_empty() {
                run_time::to_run_time(input, finding);
            }
        }
        outcome.findings.append(&mut findings);
    }
    outcome.add_notes(memory::unknown(&source));
}

fn facts(outcome: &mut Outcome, source: &Source) {
    let passes = source.passes;
    let n_kernels = passes.kernels().count() as u64;
    let floor = match passes.floor_ns {
        0 => Value::NO_NS,
        ns => Value::Ns(ns),
    };
    #[rustfmt::skip]
    outcome.facts([
        ("replays", "They are graph replays", Value::Flag(passes.are_replays)),
        ("pass_count", "Steps or graph replays", Value::Count(passes.all.len() as u64)),
        ("kernel_count", "Kernels and copies in them", Value::Count(n_kernels)),
        ("least_kernel_time", "A kernel takes at least", floor),
    ]);
}

/// Chains that repeat in each layer.
fn chained(source: &Source) -> Vec<Issue> {
    let passes = source.passes;
    let mut by_topic: BTreeMap<chains::Topic, Vec<&chains::Chain>> = BTreeMap::new();
    for chain in source.chains {
        by_topic.entry(chain.topic).or_default().push(chain);
    }
    let issues = by_topic.into_iter().filter_map(|(topic, chains)| {
        let all = |of: fn(&chains::Chain) -> i64| sum(chains.iter().map(|chain| of(chain)));
        let count = |of: fn(&chains::Chain) -> u64| chains.iter().map(|chain| of(chain)).sum();
        let (ns, saved_ns) = (all(|chain| chain.ns), all(|chain| chain.saved_ns));
        let longest = chains.first()?;
        let n: u64 = count(|chain| chain.n);
        let savings = times_by_operation(chains.iter().flat_map(|chain| chain.savings()));
        let kernels = longest.names.iter().map(|name| source.name(*name));
        let names: Vec<String> = kernels.collect();
        let per = passes.all.len().max(1) as u64;
        let operations = savings.iter().map(|(at, _)| *at).collect();
        let words = vec![
            ("n", longest.names.len().to_string()),
            (
                "kernels",
                format::counted(count(|chain| chain.n_kernels), "kernel"),
            ),
            ("chains", format::counted(n, "chain")),
            ("per_pass", format::count(n / per)),
            ("pass", pass_word(passes).to_owned()),
            ("names", format::listed(&names)),
            ("floor", format::time_ns(passes.floor_ns)),
            ("saved", format::time_ns(saved_ns)),
        ];
        Some(Issue {
            operations,
            events: longest.first.clone(),
            words,
            ..Issue::new(Kind::Chain(topic), ns).saving(Impact::at_most(saved_ns), savings)
        })
    });
    issues.collect()
}

fn pass_word(passes: &Passes) -> &'static str {
    match passes.are_replays {
        true => "graph replay",
        false => "step",
    }
}
