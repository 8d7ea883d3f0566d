//! Unmatched operations inside an operator or module that both traces have: one trace does in several operations what
//! the other does in fewer.
//!
//! An operator has to have the same name. A module is identified by its class, then by the role that its name suggests:
//! a norm, attention, the MLP. GEMMs are compared with GEMMs of the same number of FLOPs, everything else with
//! operations whose largest tensor is as large.

use super::MatchLevel;
use super::groups::{Found, Members, take};
use super::similar::{Rows, drop_taken};
use crate::base::group::grouped;
use crate::base::sort::Arrange;
use crate::compare::align::Alignment;
use crate::compare::{Pair, Which};
use crate::names::modules::ModuleRole;
use crate::names::{Family, MODULE, family_of_op, op_category};
use crate::profile::Profile;
use crate::profile::cpu::autograd::is_engine_call;
use crate::profile::cpu::tree::NodeId;
use crate::profile::operations::Operation;
use crate::trace::{ByName, Category, EventId};

/// More operations than these are not a single computation.
const MOST_ROWS: usize = 16;
/// FLOPs, or element counts of the largest tensors, that differ by less count as the same.
const SAME: f64 = 0.1;

/// What identifies an enclosing place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NamedBy {
    Operator,
    Class,
    Role,
}

/// Finds the enclosing places of calls of a trace; each name is resolved once.
struct Finder<'a> {
    profile: &'a Profile,
    named_by: NamedBy,
    role: ByName<Option<ModuleRole>>,
    is_descriptive: ByName<bool>,
}

/// The name of a place, whether it is for GEMMs, and whether it is for recomputation.
type Key<'a> = (&'a str, bool, bool);

impl<'a> Finder<'a> {
    fn new(profile: &'a Profile, named_by: NamedBy) -> Finder<'a> {
        Finder {
            profile,
            named_by,
            role: ByName::new(|name| ModuleRole::of_module(name.strip_prefix(MODULE)?)),
            is_descriptive: ByName::new(is_descriptive),
        }
    }

    /// The place around a call.
    fn around(&mut self, event: EventId) -> Option<(&'a str, NodeId)> {
        let (trace, tree) = (&self.profile.trace, self.profile.full_tree());
        let mut found = None;
        for above in tree.ancestors(tree.node_of(event)?) {
            let event = tree.event(above)?;
            match (self.named_by, trace.events.category(event)) {
                // The outermost one.
                (NamedBy::Operator, Category::CpuOp) if self.is_descriptive.of(trace, event) => {
                    found = Some((trace.name(event), above));
                }
                (NamedBy::Class | NamedBy::Role, Category::PythonFunction) => {
                    if let Some(role) = self.role.of(trace, event) {
                        let class = trace.name(event).strip_prefix(MODULE)?;
                        let name = match self.named_by {
                            NamedBy::Role => role.label(),
                            _ => crate::base::format::without_number(class),
                        };
                        return Some((name, above));
                    }
                }
                _ => {}
            }
        }
        found
    }

    /// The place of all calls of an operation, determined from the first, the middle and the last of them.
    fn of(&mut self, operation: &Operation) -> Option<&'a str> {
        let calls = &operation.calls;
        let mut names = [0, calls.len() / 2, calls.len().saturating_sub(1)]
            .into_iter()
            .map(|at| Some(self.around(calls.get(at)?.event)?.0));
        let first = names.next()??;
        names.all(|name| name == Some(first)).then_some(first)
    }

    /// The number of places of that name that contain the calls of some operations.
    fn n_places<'o>(&mut self, operations: impl Iterator<Item = &'o Operation>) -> u64 {
        let mut nodes: Vec<NodeId> = Vec::new();
        for call in operations.flat_map(|operation| &operation.calls) {
            nodes.extend(self.around(call.event).map(|(_, node)| node));
        }
        nodes.arrange();
        nodes.dedup();
        nodes.len() as u64
    }
}

/// Whether an operator says what is computed in it. Operators that only call a GEMM or a convolution, autograd steps
/// and compiled regions do not.
fn is_descriptive(name: &str) -> bool {
    let family = family_of_op(op_category(name, None), name, None);
    !matches!(family, Family::Gemm | Family::Convolution)
        && !is_engine_call(name)
        && !name.contains("Compiled")
        && !name.starts_with("Optimizer.")
        && !matches!(
            name,
            "aten::linear" | "aten::matmul" | "aten::to" | "aten::contiguous"
        )
}

/// Matches unmatched operations in the same place.
pub(super) fn places(alignment: &mut Alignment<MatchLevel>, all: &Rows) -> Vec<Found> {
    let unmatched = alignment.unmatched.as_ref();
    if unmatched.reference.is_empty() || unmatched.target.is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for named_by in [NamedBy::Operator, NamedBy::Class, NamedBy::Role] {
        let mut finders = all.sides.map(|side| Finder::new(side.profile, named_by));
        let mut keyed: Vec<(Key, (Which, usize))> = Vec::new();
        for which in Which::ALL {
            for (place, rows) in alignment.unmatched.get(which).iter().enumerate() {
                let finder = finders.get_mut(which);
                let mut names = all.operations(which, rows).map(|one| finder.of(one));
                let Some(name) = names.next().flatten() else {
                    continue;
                };
                let is_one = names.all(|other| other == Some(name));
                let first = all.operations(which, rows).next();
                if let Some(first) = first.filter(|_| is_one) {
                    let is_gemm = first.family == Family::Gemm;
                    keyed.push(((name, is_gemm, first.key.is_recompute), (which, place)));
                }
            }
        }
        let groups = grouped(keyed, |places: &mut Pair<Vec<usize>>, (which, place)| {
            places.get_mut(which).push(place);
        });
        for ((_, is_gemm, _), places) in groups {
            let rows = Pair::of(|which| {
                let unmatched = alignment.unmatched.get(which);
                let rows = places.get(which).iter().filter_map(|at| unmatched.get(*at));
                rows.flatten().copied().collect::<Vec<usize>>()
            });
            let units = Pair {
                reference: finders
                    .reference
                    .n_places(all.operations(Which::Reference, &rows.reference)),
                target: finders
                    .target
                    .n_places(all.operations(Which::Target, &rows.target)),
            };
            if !is_same_work(all, &rows, units, is_gemm) {
                continue;
            }
            let members = Pair::of(|which| Members {
                places: places.get(which).clone(),
                units: *units.get(which),
            });
            found.push(take(alignment, MatchLevel::Place, &members));
        }
        drop_taken(alignment);
    }
    found
}

/// The roles of the modules around the operations of both traces.
pub(super) struct Roles<'a>(Pair<Finder<'a>>);

impl<'a> Roles<'a> {
    pub(super) fn new(all: &Rows<'a>) -> Roles<'a> {
        Roles(
            all.sides
                .map(|side| Finder::new(side.profile, NamedBy::Role)),
        )
    }

    /// Whether the modules around operations of both traces, if known, have the same role.
    pub(super) fn may_be_same(&mut self, all: &Rows, rows: &Pair<Vec<usize>>) -> bool {
        let mut roles = Pair::<Option<&str>>::default();
        for which in Which::ALL {
            let first = all.operations(which, rows.get(which)).next();
            let finder = self.0.get_mut(which);
            *roles.get_mut(which) = first.and_then(|first| finder.of(first));
        }
        roles
            .both()
            .is_none_or(|roles| roles.reference == roles.target)
    }
}

/// Whether the operations of both traces may be the same computation.
fn is_same_work(all: &Rows, rows: &Pair<Vec<usize>>, units: Pair<u64>, is_gemm: bool) -> bool {
    let n_rows = rows.as_ref().map(Vec::len);
    let is_few = |n: usize| (1..=MOST_ROWS).contains(&n);
    if !is_few(n_rows.reference) || !is_few(n_rows.target) {
        return false;
    }
    let amounts = Pair::of(|which| match is_gemm {
        true => all.flops(which, rows.get(which), |_| true) / *units.get(which) as f64,
        false => all.largest_tensor(which, rows.get(which)),
    });
    let is_known = amounts.reference > 0.0 && amounts.target > 0.0;
    is_known && (amounts.target / amounts.reference - 1.0).abs() <= SAME
}
