//! Chains: steps that each consume the output of an earlier one.
//!
//! Three kinds of evidence are required: the steps follow one another on a stream with nothing in between; the output
//! shape of a step is an input shape of a later one; and they belong to one instance of a module, to one call of a
//! function outside of modules, to one step of automatic differentiation or, if no Python frames were recorded, to one
//! call around them. Without shapes, only the operators of a known formula, one right after the other, are a chain.

use std::ops::Range;

use super::steps::{ChainStep, Operator, StepRole};
use crate::findings::fusion::scopes::{Scope, Scopes};
use crate::names::fusion::{ACTIVATIONS, ChainKind, REDUCTIONS, norm_within};
use crate::profile::operations::dataflow::{can_be, can_be_slice};

/// Steps that one kernel could do. Each step is in one chain only.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Chain {
    pub(super) kind: ChainKind,
    pub(super) scope: Scope,
    /// The GEMM or norm that the steps could be the epilogue of; not a member itself.
    pub(super) anchor: Option<usize>,
    /// Indices of the steps, in order of time.
    pub(super) members: Vec<usize>,
    /// No shapes were recorded of a step, so only their order says that each consumes the output of an earlier one.
    pub(super) is_by_order: bool,
}

/// How many steps back the input of a step may come from.
const REACH: usize = 6;

pub(super) fn chains(
    steps: &[Option<ChainStep>],
    scopes: &mut Scopes,
    max_kernels: usize,
) -> Vec<Chain> {
    let raw: Vec<Scope> = steps
        .iter()
        .map(|step| match step.map(|one| (one.operator.role, one.step)) {
            None | Some((StepRole::Other | StepRole::Softmax, _)) => Scope::Nowhere,
            Some((_, step)) => scopes.of(step.event),
        })
        .collect();
    let mut builder = Builder {
        steps,
        max_kernels,
        current: Vec::new(),
        scope: Scope::Nowhere,
        chains: Vec::new(),
    };
    for (at, &own) in raw.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| raw.get(at)).copied();
        let place = Place {
            scope: effective(&raw, at, scopes),
            around: scopes.above(own),
            is_adjacent: before.is_some_and(|before| scopes.are_beside(before, own)),
        };
        builder.step(at, place);
    }
    builder.flush(steps.len());
    gated(builder.chains, steps)
}

/// The scope of a step: a module with a single step, such as an activation, is replaced by the enclosing one.
fn effective(raw: &[Scope], at: usize, scopes: &Scopes) -> Scope {
    let scope = raw.get(at).copied().unwrap_or(Scope::Nowhere);
    let before = at.checked_sub(1).and_then(|at| raw.get(at));
    let is_alone = before != Some(&scope) && raw.get(at + 1) != Some(&scope);
    match is_alone {
        true => scopes.around(scope).unwrap_or(scope),
        false => scope,
    }
}

#[derive(Clone, Copy)]
struct Place {
    scope: Scope,
    /// The module around it.
    around: Option<Scope>,
    /// Whether its module is that of the previous step, next to it, inside it or around it.
    is_adjacent: bool,
}

struct Builder<'a> {
    steps: &'a [Option<ChainStep<'a>>],
    max_kernels: usize,
    current: Vec<usize>,
    scope: Scope,
    chains: Vec<Chain>,
}

impl<'a> Builder<'a> {
    fn operator(&self, at: usize) -> Option<&'a Operator> {
        Some(self.steps.get(at)?.as_ref()?.operator)
    }

    fn last(&self) -> Option<&'a Operator> {
        self.operator(*self.current.last()?)
    }

    fn step(&mut self, at: usize, place: Place) {
        let Some(operator) = self.operator(at) else {
            return self.flush(at);
        };
        match operator.role {
            StepRole::Other | StepRole::Softmax => self.flush(at),
            StepRole::Matrix | StepRole::BatchNorm => self.start(at, place.scope),
            StepRole::Norm => {
                let is_near = place.scope == self.scope || place.around == Some(self.scope);
                let belongs = self.ends_in("add") && is_near && self.scope != Scope::Nowhere;
                if belongs && self.is_fed(at) {
                    self.current.push(at);
                    self.flush(at + 1);
                } else {
                    self.start(at, place.scope);
                }
            }
            // A `cat` after `neg` is part of rotating a half; elsewhere it moves tensors to where they are needed.
            StepRole::Fusable if operator.name == "cat" && !self.ends_in("neg") => self.flush(at),
            StepRole::Fusable => {
                let is_inside = place.scope == self.scope && place.scope != Scope::Nowhere;
                let belongs = is_inside || (place.is_adjacent && self.takes_along(&operator.name));
                if belongs && (self.is_fed(at) || self.is_side(at)) {
                    self.current.push(at);
                } else {
                    self.start(at, place.scope);
                }
            }
        }
    }

    fn ends_in(&self, name: &str) -> bool {
        self.last().is_some_and(|last| last.name == name)
    }

    /// Whether the last step is commonly fused with one of this name in another module.
    fn takes_along(&self, name: &str) -> bool {
        let is_norm = self.last().is_some_and(|last| last.role.is_norm());
        let is_activation = ACTIVATIONS.contains(&name);
        (is_norm && (is_activation || name == "add")) || (self.ends_in("add") && is_activation)
    }

    /// Ends the chain and starts the next one.
    fn start(&mut self, at: usize, scope: Scope) {
        self.flush(at);
        self.current.push(at);
        self.scope = scope;
    }

    /// Whether a step consumes the output of a step in the chain.
    fn is_fed(&self, at: usize) -> bool {
        let nearest = self.current.iter().rev().take(REACH);
        nearest.copied().any(|from| self.feeds(from, at)) || self.is_next_without_shapes(at)
    }

    fn is_next_without_shapes(&self, at: usize) -> bool {
        let is_next = self.current.last().is_some_and(|last| last + 1 == at);
        is_next && self.operator(at).is_some_and(|one| !one.has_shapes)
    }

    fn feeds(&self, from: usize, to: usize) -> bool {
        let given = self.operator(from).and_then(|one| one.gives.as_ref());
        let mut taken = self.operator(to).into_iter().flat_map(|one| &one.takes);
        given.is_some_and(|given| taken.any(|taken| can_be(given, taken)))
    }

    /// Whether a step transforms a part of the chain's input, as in a rotary embedding.
    fn is_side(&self, at: usize) -> bool {
        let part = self.operator(at).and_then(|one| one.takes.first());
        let is_part = part.is_some_and(|part| {
            let read = self.current.iter().filter_map(|at| self.operator(*at));
            let mut read = read.flat_map(|one| &one.takes);
            read.any(|whole| can_be_slice(whole, part))
        });
        // Its result has to come back into the chain.
        let next = self.operator(at + 1).map(|next| next.role);
        is_part && next == Some(StepRole::Fusable) && self.feeds(at, at + 1)
    }

    /// Ends the chain; `next` is the step after it.
    fn flush(&mut self, next: usize) {
        let current = std::mem::take(&mut self.current);
        let scope = std::mem::replace(&mut self.scope, Scope::Nowhere);
        let Some((&first, rest)) = current.split_first() else {
            return;
        };
        let role = |at: usize| self.operator(at).map(|one| one.role);
        let before = first.checked_sub(1).and_then(role);
        if [role(next), before].contains(&Some(StepRole::Softmax)) {
            return;
        }
        let is_anchor = |role: StepRole| role == StepRole::Matrix || role.is_norm();
        let (anchor, members) = match role(first).is_some_and(is_anchor) {
            true => (Some(first), rest),
            false => (None, current.as_slice()),
        };
        let units = self.units(members);
        // Only a step directly after the GEMM or norm can be its epilogue.
        let anchor = anchor.filter(|_| units.first().is_some_and(|unit| unit.start == 0));
        for (position, unit) in units.into_iter().enumerate() {
            let anchor = anchor.filter(|_| position == 0);
            let unit = members.get(unit).unwrap_or_default();
            self.add(scope, anchor, unit);
        }
    }

    /// Splits members that repeat, as in a loop of equal calls: each iteration of several operations is a chain of its
    /// own; a single repeated operation is not a chain. Without shapes, calls of one operator may be different ones.
    fn units(&self, members: &[usize]) -> Vec<Range<usize>> {
        let operation = |at: &usize| Some(self.steps.get(*at)?.as_ref()?.step.operation);
        let operations: Vec<Option<usize>> = members.iter().map(operation).collect();
        let mut known = members.iter().filter_map(|at| self.operator(*at));
        let shortest = if known.all(|one| one.has_shapes) {
            1
        } else {
            2
        };
        let turn = |from: usize, length: usize| operations.get(from..from + length);
        let mut units = Vec::new();
        let (mut start, mut at) = (0, 0);
        while at < operations.len() {
            let repeated = (shortest..=self.max_kernels).find(|length| {
                let next = turn(at + length, *length);
                next.is_some() && turn(at, *length) == next
            });
            let Some(length) = repeated else {
                at += 1;
                continue;
            };
            units.push(start..at);
            let first = turn(at, length);
            while at + length <= operations.len() && turn(at, length) == first {
                if length > 1 {
                    units.push(at..at + length);
                }
                at += length;
            }
            start = at;
        }
        units.push(start..at);
        units.retain(|unit| !unit.is_empty());
        units
    }

    /// What the epilogue of a GEMM or convolution can take along: a reduction needs the results of other tiles, so it
    /// cannot, and neither can what follows it.
    fn within_epilogue<'m>(
        &self,
        anchor: Option<usize>,
        members: &'m [usize],
    ) -> (Option<usize>, &'m [usize]) {
        let role = anchor.and_then(|at| self.operator(at)).map(|one| one.role);
        let reduces = |at: &usize| {
            let operator = self.operator(*at);
            operator.is_some_and(|one| REDUCTIONS.contains(&one.name.as_str()))
        };
        let first = members.iter().position(reduces);
        match first.filter(|_| role == Some(StepRole::Matrix)) {
            Some(0) => (None, members),
            Some(first) => (anchor, members.get(..first).unwrap_or_default()),
            None => (anchor, members),
        }
    }

    /// Where a chain holds a norm, if no module or function says where that starts and ends.
    fn norm_of_siblings(&self, scope: Scope, members: &[usize]) -> Option<Range<usize>> {
        let names = members.iter().filter_map(|at| self.operator(*at));
        let names: Vec<&str> = names.map(|one| one.name.as_str()).collect();
        norm_within(&names).filter(|_| matches!(scope, Scope::Siblings(..)))
    }

    fn add(&mut self, scope: Scope, anchor: Option<usize>, members: &[usize]) {
        let norm = self.norm_of_siblings(scope, members);
        // A GEMM before a norm is not a part of it, nor is a residual addition between them an epilogue of the GEMM.
        let anchor = anchor.filter(|_| norm.is_none());
        if let Some(norm) = norm.filter(|norm| norm.len() < members.len()) {
            let (before, rest) = members.split_at(norm.start);
            let (norm, after) = rest.split_at(norm.len());
            return [before, norm, after]
                .into_iter()
                .for_each(|part| self.add(scope, None, part));
        }
        let (anchor, members) = self.within_epilogue(anchor, members);
        let steps = members.iter().filter_map(|at| *self.steps.get(*at)?);
        let names = steps.clone().map(|one| one.operator.name.as_str());
        let names: Vec<&str> = names.collect();
        let n_kernels: usize = steps.clone().map(|one| one.step.n_kernels).sum();
        let last = steps.clone().next_back().map(|one| one.operator.role);
        let ends_in_norm = last == Some(StepRole::Norm);
        let alone = ChainKind::of(&names, ends_in_norm);
        let is_known = !matches!(alone, ChainKind::Elementwise | ChainKind::BiasActivation);
        // A GEMM or norm has no epilogue in a wider type than FP32.
        let mut anchored = anchor.iter().filter_map(|at| self.operator(*at));
        let is_promoted = steps.clone().any(|one| one.operator.is_double)
            && !anchored.any(|anchor| anchor.is_double);
        // A function outside of modules is no layer: it may be a loop, whose steps follow GEMMs without being theirs.
        let is_layer = !matches!(scope, Scope::Function(_));
        let anchor = anchor.filter(|_| is_layer && !is_known && !is_promoted);
        let is_chain = members.len() + usize::from(anchor.is_some()) >= 2;
        let kind = match anchor.and_then(|at| self.operator(at)) {
            Some(anchor) if anchor.role.is_norm() => ChainKind::NormEpilogue,
            Some(_) => ChainKind::GemmEpilogue,
            None => alone,
        };
        // Without a module or a parent, only chains with a characteristic set of operators are accepted.
        let is_loose = matches!(scope, Scope::Siblings(None, _)) && kind == ChainKind::Elementwise;
        // Mere copies are a matter of layout.
        let computes = names.iter().any(|name| !matches!(*name, "copy" | "cat"));
        let is_placed = !is_loose && scope != Scope::Nowhere;
        let is_by_order = steps.clone().any(|one| !one.operator.has_shapes);
        let is_told = kind.is_formula() || !is_by_order;
        if is_chain && computes && is_placed && is_told && n_kernels <= self.max_kernels {
            self.chains.push(Chain {
                kind,
                scope,
                anchor,
                members: members.to_vec(),
                is_by_order,
            });
        }
    }
}

/// An activation after one GEMM and a multiplication after the next, in one module, form a gate.
fn gated(chains: Vec<Chain>, steps: &[Option<ChainStep>]) -> Vec<Chain> {
    let name = |at: usize| -> &str {
        let step = steps.get(at).and_then(Option::as_ref);
        step.map_or("", |one| &one.operator.name)
    };
    let mut out: Vec<Chain> = Vec::with_capacity(chains.len());
    for chain in chains {
        let gate = out.last().filter(|before| {
            let pair = (before.members.as_slice(), chain.members.as_slice());
            matches!(pair, (&[act], &[gate]) if matches!(name(act), "silu" | "gelu" | "sigmoid")
                && name(gate) == "mul"
                && before.anchor.is_some()
                && chain.anchor == Some(act + 1)
                && before.scope == chain.scope)
        });
        match gate.map(|before| before.members.clone()) {
            Some(mut members) => {
                members.extend(&chain.members);
                out.pop();
                out.push(Chain {
                    kind: ChainKind::GatedActivation,
                    anchor: None,
                    members,
                    ..chain
                });
            }
            None => out.push(chain),
        }
    }
    out
}
