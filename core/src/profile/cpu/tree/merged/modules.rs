//! Operators below the modules and named ranges that ran them.

use std::collections::BTreeMap;
use std::ops::Range;

use super::backward::Links;
use super::builder::Builder;
use super::{Label, MergedTree, without_step};
use crate::base::interval::Interval;
use crate::base::sort::Arrange;
use crate::names::is_module;
use crate::profile::Profile;
use crate::profile::cpu::tree::NodeId;
use crate::trace::{Category, EventId, StringId, Trace, TrackId};

impl MergedTree {
    /// Modules and named ranges, with the operators that ran in them. Of the Python frames, only modules are nodes; the
    /// time of other frames belongs to the enclosing module. `None` for a trace without modules and named ranges.
    pub fn by_module(profile: &Profile) -> Option<MergedTree> {
        let scopes = Scopes::new(profile);
        let has_scopes = scopes.has_modules || !scopes.ranges.is_empty();
        has_scopes.then(|| Placing::new(profile, scopes, Links::default()).run())
    }

    /// The same, with each call of the backward pass below the operator whose gradient it computes, so the time of a
    /// module includes its forward and its backward pass. Calls with an unknown operator stay where they are. `None`
    /// for a trace without such pairs.
    pub fn forward_and_backward(profile: &Profile) -> Option<MergedTree> {
        let links = Links::new(profile);
        (!links.is_empty()).then(|| Placing::new(profile, Scopes::new(profile), links).run())
    }
}

/// The structure that the program recorded.
struct Scopes {
    has_modules: bool,
    /// Named ranges of each thread, sorted by start; of those that start together, longest first.
    ranges: BTreeMap<TrackId, Vec<(Interval, EventId)>>,
    /// Maps each range name to the first name seen that equals it without the step number.
    names: BTreeMap<StringId, StringId>,
}

impl Scopes {
    fn new(profile: &Profile) -> Scopes {
        let trace = &profile.trace;
        let events = &trace.events;
        let mut scopes = Scopes {
            has_modules: trace.strings.iter().any(|(_, name)| is_module(name)),
            ranges: BTreeMap::new(),
            names: BTreeMap::new(),
        };
        let mut first: BTreeMap<&str, StringId> = BTreeMap::new();
        for event in events.in_category(Category::UserAnnotation) {
            let span = events.span(event);
            let track = scopes.ranges.entry(events.track(event)).or_default();
            track.push((span, event));
            let name = events.name(event);
            let known = first.entry(without_step(trace.strings.get(name)));
            scopes.names.insert(name, *known.or_insert(name));
        }
        for ranges in scopes.ranges.values_mut() {
            ranges.arrange_by_key(|(span, _)| (span.start_ns, std::cmp::Reverse(span.end_ns)));
        }
        scopes
    }

    fn label(&self, trace: &Trace, range: EventId) -> Label {
        let name = trace.events.name(range);
        Label::Annotation(self.names.get(&name).copied().unwrap_or(name))
    }
}

/// A call or named range around the current call.
#[derive(Clone, Copy)]
struct Scope {
    kind: ScopeKind,
    end_ns: i64,
    /// Whether it is a module or inside one.
    in_module: bool,
}

#[derive(Clone, Copy)]
enum ScopeKind {
    /// A call, with its node and the end of its subtree.
    Call { node: u32, subtree_end: u32 },
    /// A range; it becomes a node when the first call is found inside it.
    Range { event: EventId, node: Option<u32> },
}

/// The time of a range during which no call runs.
#[derive(Debug, Clone, Copy)]
struct OwnTime {
    /// Its node, once a call was found inside it.
    node: Option<u32>,
    /// The innermost call around it, which this time is taken from.
    around: Option<NodeId>,
    span: Interval,
    /// Processed up to here.
    until_ns: i64,
    own_ns: i64,
}

impl OwnTime {
    /// Marks a span inside the range as covered; spans must come sorted by start.
    fn cover(&mut self, span: Interval) {
        let start_ns = span.start_ns.min(self.span.end_ns);
        self.own_ns = self
            .own_ns
            .saturating_add(start_ns.saturating_sub(self.until_ns).max(0));
        self.until_ns = self.until_ns.max(span.end_ns.min(self.span.end_ns));
    }

    fn whole_ns(&self) -> i64 {
        let rest_ns = self.span.end_ns.saturating_sub(self.until_ns);
        self.own_ns.saturating_add(rest_ns.max(0))
    }
}

/// Assigns a node to every call.
struct Placing<'a> {
    profile: &'a Profile,
    scopes: Scopes,
    links: Links,
    builder: Builder,
    /// By call.
    place: Vec<u32>,
    /// The ranges that were opened.
    own: BTreeMap<EventId, OwnTime>,
    /// Calls of the backward pass whose operators may not be placed yet.
    waiting: Vec<(NodeId, TrackId)>,
}

impl<'a> Placing<'a> {
    fn new(profile: &'a Profile, scopes: Scopes, links: Links) -> Placing<'a> {
        Placing {
            place: vec![Builder::TOP; profile.full_tree().len()],
            builder: Builder::default(),
            own: BTreeMap::new(),
            waiting: Vec::new(),
            profile,
            scopes,
            links,
        }
    }

    fn run(mut self) -> MergedTree {
        let (trace, tree) = (&self.profile.trace, self.profile.full_tree());
        for thread in tree.tracks() {
            self.place_calls(thread.nodes.clone(), thread.track, None);
        }
        for stray in tree.strays() {
            let track = tree.event(stray).map(|event| trace.events.track(event));
            self.place_calls(stray.0..stray.0 + 1, track.unwrap_or(TrackId(0)), None);
        }
        // An operator runs before its gradient is computed, so in time order each is placed before it is needed. A
        // waiting call inside another waiting call does not start earlier.
        let start_ns = |call| tree.event(call).map(|event| trace.events.ts_ns(event));
        let mut waiting = std::mem::take(&mut self.waiting);
        while !waiting.is_empty() {
            waiting.arrange_by_largest(|&(call, _)| (start_ns(call), call));
            if let Some((call, track)) = waiting.pop() {
                let forward = self.links.forward_of(call);
                let place = forward.and_then(|forward| self.place.get(forward.index()));
                let place = place.copied().unwrap_or(Builder::TOP);
                self.place_calls(tree.subtree(call), track, Some(place));
                waiting.append(&mut self.waiting);
            }
        }
        self.give_ranges_their_time();
        self.builder.finish(self.profile, &self.place)
    }

    /// A range gets the CPU time during which no call of its thread runs in it, and the call around the range loses it.
    /// In a window the calls of other windows are unknown, so a range only has the time of its calls.
    fn give_ranges_their_time(&mut self) {
        if self.profile.window.is_some() {
            return;
        }
        for own in self.own.values() {
            let Some(node) = own.node else { continue };
            let around = own.around.and_then(|call| self.place.get(call.index()));
            self.builder.add_cpu(node, own.whole_ns());
            if let Some(around) = around {
                self.builder.add_cpu(*around, -own.whole_ns());
            }
        }
    }

    /// Places the calls in a range of nodes of one thread; the first one below `base`, if there is one.
    fn place_calls(&mut self, calls: Range<u32>, track: TrackId, base: Option<u32>) {
        let (trace, tree) = (&self.profile.trace, self.profile.full_tree());
        let events = &trace.events;
        let ranges = self.scopes.ranges.remove(&track).unwrap_or_default();
        let mut next_range = match (base, tree.event(NodeId(calls.start))) {
            // Ranges that started earlier are around the call, not inside it.
            (Some(_), Some(event)) => {
                let start_ns = events.ts_ns(event);
                ranges.partition_point(|(span, _)| span.start_ns < start_ns)
            }
            _ => 0,
        };
        let mut open: Vec<Scope> = Vec::new();
        let mut next = calls.start;
        while next < calls.end {
            let call = NodeId(next);
            next += 1;
            let Some(event) = tree.event(call) else {
                continue;
            };
            let span = events.span(event);
            next_range += self.open_ranges(&mut open, ranges.get(next_range..), span);
            close(&mut open, call, span);
            if self.links.forward_of(call).is_some() && (base.is_none() || call.0 != calls.start) {
                self.cover(&open, span);
                self.waiting.push((call, track));
                next = tree.subtree(call).end.max(next);
                continue;
            }
            let name = trace.name(event);
            let is_frame = events.category(event) == Category::PythonFunction;
            let is_module = is_frame && is_module(name);
            let around = self.around(&mut open, call, base);
            self.cover(&open, span);
            let in_module = around.in_module || is_module;
            if is_frame && !is_module {
                let node = match around.node {
                    Builder::TOP => self.outside(Builder::TOP, call),
                    node => node,
                };
                self.put(call, node);
                continue;
            }
            let above = match around.is_free && !in_module {
                true => self.outside(around.node, call),
                false => around.node,
            };
            let node = self
                .builder
                .below(above, Label::Call(events.name(event)), call);
            self.builder.count(node, 1);
            self.put(call, node);
            open.push(Scope {
                kind: ScopeKind::Call {
                    node,
                    subtree_end: tree.subtree(call).end,
                },
                end_ns: span.end_ns,
                in_module,
            });
        }
        self.scopes.ranges.insert(track, ranges);
    }

    /// Opens the ranges that start before a call and are not inside it; returns how many of them have started.
    fn open_ranges(
        &mut self,
        open: &mut Vec<Scope>,
        ranges: Option<&[(Interval, EventId)]>,
        call: Interval,
    ) -> usize {
        let starts_outside = |(range, _): &&(Interval, EventId)| {
            range.start_ns < call.start_ns
                || (range.start_ns == call.start_ns && range.end_ns >= call.end_ns)
        };
        let started = ranges.unwrap_or_default().iter().take_while(starts_outside);
        let mut n = 0;
        for (range, name) in started {
            n += 1;
            if open_range(open, *range, *name) {
                self.own.entry(*name).or_insert(OwnTime {
                    node: None,
                    around: None,
                    span: *range,
                    until_ns: range.start_ns,
                    own_ns: 0,
                });
            }
        }
        n
    }

    /// Marks a span as covered in the open ranges inside the innermost open call.
    fn cover(&mut self, open: &[Scope], span: Interval) {
        for scope in open.iter().rev() {
            let ScopeKind::Range { event, .. } = scope.kind else {
                break;
            };
            if let Some(own) = self.own.get_mut(&event) {
                own.cover(span);
            }
        }
    }

    /// Records the node of a range, and marks it as covered in the ranges around it. The call around it is found from
    /// the first call inside it.
    fn found_range(&mut self, range: EventId, outer: &[Scope], node: u32, first: NodeId) {
        let (trace, tree) = (&self.profile.trace, self.profile.full_tree());
        let Some(own) = self.own.get_mut(&range) else {
            return;
        };
        let start_ns = own.span.start_ns;
        let mut above = tree.ancestors(first).filter(|call| *call != first);
        let around = above.find_map(|call| {
            let span = tree.span(trace, call)?;
            (span.start_ns <= start_ns).then_some((call, span))
        });
        if let Some((call, span)) = around {
            own.around = Some(call);
            own.span.end_ns = own.span.end_ns.min(span.end_ns).max(start_ns);
        }
        own.node = Some(node);
        let span = own.span;
        self.cover(outer, span);
    }

    fn put(&mut self, call: NodeId, node: u32) {
        if let Some(place) = self.place.get_mut(call.index()) {
            *place = node;
        }
    }

    /// The node around a call; creates nodes for enclosing ranges that have none.
    fn around(&mut self, open: &mut [Scope], call: NodeId, base: Option<u32>) -> Around {
        let mut around = Around {
            node: base.unwrap_or(Builder::TOP),
            in_module: false,
            is_free: base.is_none(),
        };
        for at in 0..open.len() {
            let (outer, inner) = open.split_at_mut(at);
            let Some(scope) = inner.first_mut() else {
                break;
            };
            around.in_module |= scope.in_module;
            around.node = match &mut scope.kind {
                ScopeKind::Call { node, .. } => {
                    around.is_free = false;
                    *node
                }
                ScopeKind::Range { event, node } => {
                    around.is_free |= !around.in_module;
                    match *node {
                        Some(node) => node,
                        None => {
                            let label = self.scopes.label(&self.profile.trace, *event);
                            let made = self.builder.below(around.node, label, call);
                            self.builder.count(made, 1);
                            *node = Some(made);
                            self.found_range(*event, outer, made, call);
                            made
                        }
                    }
                }
            };
        }
        around
    }

    /// The node for something outside of modules.
    fn outside(&mut self, above: u32, call: NodeId) -> u32 {
        let label = match self.scopes.has_modules {
            true => Label::OutsideModules,
            false if above == Builder::TOP => Label::OutsideAnnotations,
            false => return above,
        };
        self.builder.below(above, label, call)
    }
}

struct Around {
    node: u32,
    in_module: bool,
    /// Whether only ranges are around it.
    is_free: bool,
}

/// Opens a range if it does not outlast what it started in; otherwise returns false.
fn open_range(open: &mut Vec<Scope>, range: Interval, event: EventId) -> bool {
    while open.last().is_some_and(|top| top.end_ns <= range.start_ns) {
        open.pop();
    }
    let fits = open.last().is_none_or(|top| range.end_ns <= top.end_ns);
    if fits {
        open.push(Scope {
            kind: ScopeKind::Range { event, node: None },
            end_ns: range.end_ns,
            in_module: open.last().is_some_and(|top| top.in_module),
        });
    }
    fits
}

/// Closes everything that is not around a call: other calls, and ranges that end earlier.
fn close(open: &mut Vec<Scope>, call: NodeId, span: Interval) {
    while let Some(top) = open.last() {
        let is_around = match top.kind {
            ScopeKind::Call { subtree_end, .. } => call.0 < subtree_end,
            ScopeKind::Range { .. } => span.end_ns <= top.end_ns && span.start_ns < top.end_ns,
        };
        if is_around {
            break;
        }
        open.pop();
    }
}
