//! The content of one row of both call trees.

use dormer_core::compare::tree::{DiffId, TreeDiff};
use dormer_core::compare::{Pair, Which};
use dormer_core::names::{family_of_kernel, family_of_op, op_category};
use dormer_core::trace::EventId;
use dormer_core::{Profile, base::format};

use super::outline::{Mark, Spot, Visible, is_heading};
use crate::protocol::{Branch, DiffRow};
use crate::worker::tree::shape::thread_name;

/// The page shortens names to the width of their column, which never fits more than this.
const NAME_CHARS: usize = 160;
/// Kernels that are named; the others are only counted.
const KERNELS: usize = 6;

/// A row as the page shows it.
pub(super) fn row(tree: &Visible, profiles: Pair<&Profile>, node: u32, branch: Branch) -> DiffRow {
    let spot = Spot::of(node);
    let mark = tree.outline.mark(tree.diff, spot);
    let gpu_ns = tree.gpu_ns(spot, profiles);
    let difference = gpu_ns.difference();
    let time = |which: Which| match mark {
        Mark::Only(only) if only != which => String::new(),
        _ => format::time_ns(*gpu_ns.get(which)),
    };
    let events = Pair::of(|which| event(tree.diff, spot, which, profiles.get(which)));
    DiffRow {
        node,
        branch,
        name: format::middle_ellipsis(name(tree.diff, node), NAME_CHARS),
        recorded: both(recorded(tree.diff, spot, profiles, events)),
        token: token(tree.diff, spot, profiles).to_owned(),
        only: match mark {
            Mark::Only(which) | Mark::Wrapper(which) => which.label().to_owned(),
            Mark::Same | Mark::OtherKernels => String::new(),
        },
        mark: words(mark),
        is_heading: spot.is_own || is_heading(tree.diff, spot.id),
        times: both(Pair::of(time)),
        difference: format::signed_time_ns(difference),
        percent: match tree.outline.largest_ns {
            0 => 0.0,
            largest => 100.0 * difference as f64 / largest as f64,
        },
        kernels: both(Pair::of(|which| kernels(tree.diff, spot, profiles, which))),
        uid: events
            .target
            .map(|event| profiles.target.trace.events.uid(event)),
    }
}

/// The name of a row.
pub(super) fn name(diff: &TreeDiff, node: u32) -> &str {
    let spot = Spot::of(node);
    match (spot.is_own, spot.id) {
        (true, DiffId::ROOT) => "GPU activity without a known call",
        (true, _) => "Launched outside of operators",
        (false, DiffId::ROOT) => "All threads",
        (false, id) if is_heading(diff, id) => "Thread",
        (false, id) => diff.name(id),
    }
}

fn words(mark: Mark) -> String {
    match mark {
        Mark::Same => String::new(),
        Mark::Only(which) => format!("only in the {}", which.label()),
        Mark::Wrapper(which) => format!("wrapper only in the {}", which.label()),
        Mark::OtherKernels => "different kernels".to_owned(),
    }
}

fn both(pair: Pair<String>) -> [String; 2] {
    [pair.reference, pair.target]
}

/// The call of a row on one side; for a thread, the first call in it.
fn event(diff: &TreeDiff, spot: Spot, which: Which, profile: &Profile) -> Option<EventId> {
    if spot.is_own || spot.id == DiffId::ROOT {
        return None;
    }
    let mut waiting = vec![spot.id];
    while let Some(id) = waiting.pop() {
        let node = diff.get(id)?;
        if let Some(node) = node.nodes.get(which) {
            return diff.call_tree(profile).event(*node);
        }
        // It may be inside wrappers of the other side.
        if is_heading(diff, spot.id) {
            waiting.extend(diff.children(id).rev());
        }
    }
    None
}

/// The recorded names, if they differ from the row's name.
fn recorded(
    diff: &TreeDiff,
    spot: Spot,
    profiles: Pair<&Profile>,
    events: Pair<Option<EventId>>,
) -> Pair<String> {
    let is_thread = is_heading(diff, spot.id);
    let name_of = |which: Which| {
        let trace = &profiles.get(which).trace;
        let Some(event) = *events.get(which) else {
            return String::new();
        };
        match is_thread {
            true => thread_name(trace, trace.events.track(event)),
            false => trace.strings.get(trace.events.name(event)).to_owned(),
        }
    };
    let names = Pair::of(name_of);
    let shown = diff.name(spot.id);
    let is_shown = |name: &String| name.is_empty() || name == shown;
    match is_shown(&names.reference) && is_shown(&names.target) {
        true => Pair::default(),
        false => names,
    }
}

/// The distinct names of what a call launches itself.
fn kernels(diff: &TreeDiff, spot: Spot, profiles: Pair<&Profile>, which: Which) -> String {
    if !spot.is_own && is_heading(diff, spot.id) {
        return String::new();
    }
    let mut counted: Vec<(&str, u64)> = Vec::new();
    for name in work_names(diff, spot, profiles, which) {
        match counted.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => counted.push((name, 1)),
        }
    }
    let named = counted.iter().take(KERNELS).map(|(name, count)| {
        let name = format::kernel_name(name);
        match count {
            1 => name,
            count => format!("{name} × {}", format::count(*count)),
        }
    });
    let mut text = named.collect::<Vec<String>>().join(", ");
    if let Some(more) = counted.len().checked_sub(KERNELS + 1) {
        text += &format!(" and {} more", more + 1);
    }
    text
}

fn work_names<'a>(
    diff: &'a TreeDiff,
    spot: Spot,
    profiles: Pair<&'a Profile>,
    which: Which,
) -> impl Iterator<Item = &'a str> {
    let profile = *profiles.get(which);
    let work = diff.own_work(spot.id, which).iter();
    work.filter_map(|id| Some(profile.trace.strings.get(profile.gpu.get(*id)?.name)))
}

/// The category of what a call launches itself: that of the target's first kernel, or else of the reference's.
fn token(diff: &TreeDiff, spot: Spot, profiles: Pair<&Profile>) -> &'static str {
    if spot.is_own || is_heading(diff, spot.id) {
        return "";
    }
    let first = |which| work_names(diff, spot, profiles, which).next();
    let Some(kernel) = first(Which::Target).or_else(|| first(Which::Reference)) else {
        return "";
    };
    let family = match diff.get(spot.id).is_some_and(|node| node.is_op) {
        true => {
            let op = diff.name(spot.id);
            family_of_op(op_category(op, Some(kernel)), op, Some(kernel))
        }
        false => family_of_kernel(kernel),
    };
    family.token()
}
