//! The code that ran in gaps: Python frames, operators, ranges, runtime calls, profiler overhead.
//!
//! ```text
//! GPU     =a==)                                        [=b=
//! CPU       [launch a]                   [launch b]
//! free                [=================)               no launch is under way
//! spans        [====== forward (model.py) ===========)
//!                       [signature][= _pad =]
//! parts                 [signature][= _pad =)[forward ========)
//! ```
//!
//! A gap is split completely. Spans whose name identifies their activity (see [`CpuActivity`]) take the time in which
//! they run. From the rest, the deepest span that covers at least half of it takes its part, and so on; where none
//! does, that of the span that covers most of it. Calls of one function count together. The launch that ends the gap,
//! and the latency until it reaches the GPU, belong to the code around the launch, or to the operator that launches.
//! Time that no span covers belongs to no code.
//!
//! Gaps are disjoint, and a search only visits spans that start in its gap and those around its start: all gaps
//! together cost one pass over the calls of a trace.

mod candidate;
pub(crate) mod copied;
mod place;
mod ranges;
pub(crate) mod rows;

use std::ops::Range;

use crate::base::interval::{Interval, difference, length, sum, union};
use crate::base::map::Map;
use crate::base::sort::{Arrange, first_not};
use crate::names::cpu_activity::CpuActivity;
use crate::names::frames::waits_for_autograd;
use crate::profile::Profile;
use crate::profile::cpu::tree::{CallTree, NodeId};
use crate::trace::{Category, EventId, StringId, TrackId};
use candidate::{Candidate, covered, identify};
use ranges::Ranges;

pub(crate) use place::{Place, short_name};

/// Parts of a gap that are smaller than 1/`LEAST_PART` of it are not searched for.
const LEAST_PART: i64 = 16;

/// Single calls smaller than 1/`LEAST_CALL` of a gap are not searched for; a function may have many.
const LEAST_CALL: i64 = 256;

/// The maximum number of parts of a gap; the rest goes to the last one.
const MOST_PARTS: usize = 4;

/// A part of a gap, and what ran in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CodePart {
    /// `None` if nothing was recorded.
    pub(crate) code: Option<Code>,
    pub(crate) ns: i64,
}

/// What ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Code {
    /// The deepest span that shows what ran.
    pub(crate) event: EventId,
    /// The enclosing span whose name identifies the activity; the same as `event` if its own name does.
    pub(crate) within: EventId,
    pub(crate) activity: Option<CpuActivity>,
}

/// When the CPU was late, and because of what.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Late {
    pub(crate) gap: Interval,
    /// From the start of the gap, or the end of the previous launch, to the launch.
    pub(crate) free: Interval,
    /// The call that launches what ends the gap.
    pub(crate) launch: EventId,
    /// The call that launched what ran before.
    pub(crate) launch_before: Option<EventId>,
}

/// Finds the code that ran in gaps.
pub(crate) struct CodeSearch<'a> {
    profile: &'a Profile,
    tree: &'a CallTree,
    tracks: Map<TrackId, Range<u32>>,
    ranges: Map<TrackId, Ranges>,
    overhead: Ranges,
    activities: Map<(StringId, Category), Option<CpuActivity>>,
    candidates: Vec<Candidate>,
    last_node: Option<NodeId>,
}

impl<'a> CodeSearch<'a> {
    pub(crate) fn new(profile: &'a Profile) -> CodeSearch<'a> {
        let tree = profile.full_tree();
        let tracks = tree.tracks().iter();
        CodeSearch {
            profile,
            tree,
            tracks: tracks
                .map(|nodes| (nodes.track, nodes.nodes.clone()))
                .collect(),
            ranges: Ranges::of_annotations(&profile.trace),
            overhead: Ranges::of_overhead(&profile.trace),
            activities: Map::default(),
            candidates: Vec::new(),
            last_node: None,
        }
    }

    /// The parts of a gap, which add up to it.
    pub(crate) fn parts(&mut self, late: &Late) -> Vec<CodePart> {
        let events = &self.profile.trace.events;
        let mut parts = Vec::new();
        let own = events.track(late.launch);
        let before = late.launch_before.map(|call| events.track(call));
        let other = before.filter(|track| *track != own);
        let mut free = late.free;
        self.collect(free, own, Some(late.launch));
        if let Some(other) = other
            && let Some(waits) = self.wait_for_autograd(free)
        {
            self.collect(waits, other, None);
            let unknown = self.split(waits, &mut parts);
            if !parts.is_empty() {
                parts.extend((length(&unknown) > 0).then(|| CodePart {
                    code: None,
                    ns: length(&unknown),
                }));
                free.start_ns = waits.end_ns;
            }
            self.collect(free, own, Some(late.launch));
        }
        let mut rest = self.split(free, &mut parts);
        if let Some(other) = other
            && length(&rest) > late.free.length() / 2
        {
            // The thread that launched before may have kept this one waiting.
            self.collect(free, other, None);
            self.take_deepest(&mut rest, free.length(), &mut parts);
        }
        if length(&rest) > 0 {
            parts.push(CodePart {
                code: None,
                ns: length(&rest),
            });
        }
        let spent_ns = sum(parts.iter().map(|part| part.ns));
        let launch_ns = late.gap.length().saturating_sub(spent_ns);
        self.add_launch(late.launch, launch_ns, &mut parts);
        parts
    }

    /// The time at the start of a gap in which the thread, whose spans were collected, waits for the backward pass on
    /// autograd's threads.
    fn wait_for_autograd(&self, free: Interval) -> Option<Interval> {
        let trace = &self.profile.trace;
        let mut around = self.candidates.iter().filter(|one| {
            let span = trace.events.span(one.event);
            span.start_ns <= free.start_ns && waits_for_autograd(trace.name(one.event))
        });
        let span = trace.events.span(around.next()?.event);
        let end_ns = span.end_ns.min(free.end_ns);
        (end_ns > free.start_ns).then(|| Interval::new(free.start_ns, end_ns))
    }

    /// The call that waits for the GPU until nothing is queued: without it, the next launch would be earlier by at
    /// most its duration.
    pub(crate) fn wait(&mut self, wait: EventId, gap: Interval) -> CodePart {
        let tree = self.tree;
        let mut waiting_code = self.code_of(wait);
        for caller in tree.calls_around(wait) {
            let code = self.code_of(caller);
            // A read such as `nonzero` within a function that prints belongs to that function, and so on.
            let waits = code.activity.is_some_and(CpuActivity::waits_for_gpu);
            if waits || code.activity.is_some_and(CpuActivity::reads_for_itself) {
                waiting_code = code;
            }
        }
        if waiting_code.event == wait {
            // The operator around it: `aten::copy_`.
            let above = tree.op_above_event(&self.profile.trace, wait);
            let operator = above.unwrap_or(wait);
            waiting_code = Code {
                event: operator,
                within: operator,
                ..waiting_code
            };
        }
        CodePart {
            ns: self.span(waiting_code.event).length().min(gap.length()),
            code: Some(waiting_code),
        }
    }

    /// Collects spans of a thread that cover enough of a time, around or within it: deepest first.
    fn collect(&mut self, time: Interval, track: TrackId, before: Option<EventId>) {
        let (tree, trace) = (self.tree, &self.profile.trace);
        let least_ns = (time.length() / LEAST_CALL).max(1);
        let mut found: Vec<(StringId, Interval, EventId)> = Vec::new();
        let mut add = |event: EventId| {
            let span = trace.events.span(event);
            if covered(span, time) >= least_ns {
                found.push((trace.events.name(event), span, event));
            }
        };
        let mut around = None;
        if let Some(nodes) = self.tracks.get(&track) {
            let launch = before.and_then(|call| tree.next_node_of(call, &mut self.last_node));
            let launch = launch.filter(|node| nodes.contains(&node.0));
            let end = launch.map_or_else(|| first_from(tree, self.profile, nodes, time), |at| at.0);
            let mut nodes = (nodes.start..end).rev().map(NodeId);
            around = nodes.find(|node| {
                let Some(event) = tree.event(*node) else {
                    return true;
                };
                let is_in = trace.events.ts_ns(event) >= time.start_ns;
                if is_in {
                    add(event);
                }
                !is_in
            });
        }
        if let Some(ranges) = self.ranges.get(&track) {
            ranges.around(time).for_each(&mut add);
        }
        self.overhead.around(time).for_each(&mut add);
        // Among spans around the whole time, the innermost is the deepest; the others are kept if their names identify
        // an activity.
        let mut is_around_all = false;
        let callers = around.into_iter();
        let callers = callers.flat_map(|node| tree.with_ancestors(node));
        for event in callers.filter_map(|node| tree.event(node)) {
            let span = trace.events.span(event);
            let covered_ns = covered(span, time);
            if covered_ns < least_ns {
                continue;
            }
            if !is_around_all || self.activity_of(event).is_some() {
                is_around_all |= covered_ns == time.length();
                found.push((trace.events.name(event), span, event));
            }
        }
        self.candidates = self.together(found, time);
    }

    /// Groups spans by name.
    fn together(
        &mut self,
        mut found: Vec<(StringId, Interval, EventId)>,
        time: Interval,
    ) -> Vec<Candidate> {
        let least_ns = (time.length() / LEAST_PART).max(1);
        found.sort_unstable();
        let mut candidates: Vec<(i64, Candidate)> = Vec::new();
        for calls in found.chunk_by(|a, b| a.0 == b.0) {
            let spans = union(calls.iter().map(|(_, span, _)| *span).collect());
            let covered_ns = sum(spans.iter().map(|span| covered(*span, time)));
            let longest = calls.iter().max_by_key(|(_, span, _)| span.length());
            let Some((_, span, event)) = longest.filter(|_| covered_ns >= least_ns) else {
                continue;
            };
            // A program that runs while a module is imported is not an import.
            let is_program = |activity: &CpuActivity| {
                *activity == CpuActivity::Imports && span.end_ns >= time.end_ns
            };
            let activity = self
                .activity_of(*event)
                .filter(|activity| !is_program(activity));
            let candidate = Candidate {
                event: *event,
                longest_ns: span.length(),
                spans,
                activity,
            };
            candidates.push((covered_ns, candidate));
        }
        // A span that covers less is deeper; on a tie, the shorter one.
        candidates.arrange_by_key(|(covered_ns, one)| {
            (*covered_ns, one.longest_ns, std::cmp::Reverse(one.event))
        });
        candidates.into_iter().map(|(_, one)| one).collect()
    }

    fn activity_of(&mut self, event: EventId) -> Option<CpuActivity> {
        let trace = &self.profile.trace;
        let key = (trace.events.name(event), trace.events.category(event));
        let known = self.activities.entry(key);
        *known.or_insert_with(|| CpuActivity::of_span(key.1, trace.strings.get(key.0)))
    }

    fn code_of(&mut self, event: EventId) -> Code {
        Code {
            event,
            within: event,
            activity: self.activity_of(event),
        }
    }

    /// Splits a time; returns what is left.
    fn split(&self, time: Interval, parts: &mut Vec<CodePart>) -> Vec<Interval> {
        let mut rest: Vec<Interval> = Some(time)
            .filter(|time| time.length() > 0)
            .into_iter()
            .collect();
        // Outermost first, so that each takes everything within it.
        for outer in self.candidates.iter().rev() {
            if outer.activity.is_none() || outer.covers(&rest) < (time.length() / LEAST_PART).max(1)
            {
                continue;
            }
            let left = difference(&rest, &outer.spans);
            let inside = difference(&rest, &left);
            rest = left;
            self.take_within(outer, inside, parts);
        }
        self.take_deepest(&mut rest, time.length(), parts);
        rest
    }

    /// Splits the part of a time in which a span with a known activity runs.
    fn take_within(&self, outer: &Candidate, mut inside: Vec<Interval>, parts: &mut Vec<CodePart>) {
        let least_ns = length(&inside) / LEAST_PART;
        let within = self.candidates.iter().filter(|one| one.is_inside(outer));
        let within: Vec<&Candidate> = within.collect();
        for _ in 1..MOST_PARTS {
            let left_ns = length(&inside);
            if left_ns <= least_ns {
                break;
            }
            let mut deepest = within.iter().copied();
            let deepest = deepest.find(|one| one.covers(&inside) >= left_ns - left_ns / 2);
            let deepest = deepest.unwrap_or(outer);
            let (identifying, code) = identify(deepest, outer, &within);
            let is_around = code.activity.is_some_and(CpuActivity::is_around_code);
            let taking = if is_around { deepest } else { identifying };
            inside = difference(&inside, &taking.spans);
            parts.push(CodePart {
                code: Some(code),
                ns: left_ns - length(&inside),
            });
        }
        if length(&inside) > 0 {
            parts.push(CodePart {
                code: Some(outer.to_code(outer.activity)),
                ns: length(&inside),
            });
        }
    }

    fn span(&self, event: EventId) -> Interval {
        self.profile.trace.events.span(event)
    }

    /// Takes from a time what the deepest span that covers half of it covers, and repeats.
    fn take_deepest(&self, rest: &mut Vec<Interval>, whole_ns: i64, parts: &mut Vec<CodePart>) {
        for _ in 0..MOST_PARTS {
            let left_ns = length(rest);
            if left_ns == 0 || left_ns < whole_ns / LEAST_PART {
                break;
            }
            let least_ns = (whole_ns / LEAST_PART).max(1);
            let Some(deepest) = self
                .deepest(rest, None)
                .or_else(|| self.deepest_of_longest(rest, least_ns))
            else {
                break;
            };
            let left = difference(rest, &deepest.spans);
            parts.push(CodePart {
                code: Some(deepest.to_code(None)),
                ns: left_ns - length(&left),
            });
            *rest = left;
        }
        // A small remainder belongs to the last part, which is around it.
        let left_ns = length(rest);
        if left_ns > 0
            && left_ns < whole_ns / LEAST_PART
            && let Some(last) = parts.last_mut()
        {
            last.ns = last.ns.saturating_add(left_ns);
            rest.clear();
        }
    }

    /// Without a known activity, the deepest span that covers half of a time, or that of the part of it within another.
    fn deepest(&self, rest: &[Interval], within: Option<&Candidate>) -> Option<&Candidate> {
        let rest_ns = length(rest);
        let mut unknown = self.candidates.iter().filter(|one| {
            one.activity.is_none() && within.is_none_or(|outer| one.is_inside(outer))
        });
        unknown.find(|one| one.covers(rest) >= rest_ns - rest_ns / 2)
    }

    /// The same for the span that covers most of a time, if it covers at least `least_ns`: several functions one after
    /// the other may take it, none of them half of it.
    fn deepest_of_longest(&self, rest: &[Interval], least_ns: i64) -> Option<&Candidate> {
        let unknown = self.candidates.iter().filter(|one| one.activity.is_none());
        let covers = unknown.map(|one| (one.covers(rest), one));
        let longest = covers.reduce(|most, next| if next.0 > most.0 { next } else { most });
        let (_, longest) = longest.filter(|(ns, _)| *ns >= least_ns)?;
        let inside = difference(rest, &difference(rest, &longest.spans));
        self.deepest(&inside, Some(longest)).or(Some(longest))
    }

    /// The launch belongs to the code around it, or to its operator.
    fn add_launch(&mut self, launch: EventId, ns: i64, parts: &mut Vec<CodePart>) {
        if ns <= 0 {
            return;
        }
        let span = self.span(launch);
        let mut around: Vec<&mut CodePart> = parts
            .iter_mut()
            .filter(|part| {
                let code = part.code.filter(|code| code.activity.is_none());
                code.is_some_and(|code| is_inside(span, self.profile.trace.events.span(code.event)))
            })
            .collect();
        around.arrange_by_largest(|part| part.ns);
        if let Some(part) = around.into_iter().next() {
            part.ns = part.ns.saturating_add(ns);
            return;
        }
        let above = self.tree.op_above_event(&self.profile.trace, launch);
        let event = above.unwrap_or(launch);
        parts.push(CodePart {
            code: Some(self.code_of(event)),
            ns,
        });
    }
}

/// The first node of a thread that starts after a time.
fn first_from(tree: &CallTree, profile: &Profile, nodes: &Range<u32>, time: Interval) -> u32 {
    let starts_before = |node: usize| {
        let event = tree.event(NodeId(node as u32));
        event.is_some_and(|event| profile.trace.events.ts_ns(event) < time.end_ns)
    };
    first_not(nodes.start as usize..nodes.end as usize, starts_before) as u32
}

fn is_inside(inner: Interval, outer: Interval) -> bool {
    outer.start_ns <= inner.start_ns && inner.end_ns <= outer.end_ns
}
