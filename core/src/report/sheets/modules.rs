//! Sheet `nn_module_summary`: GPU time by the module that the CPU was in at launch.
//!
//! A module's own time is what was launched in it and in no module inside it, so own times add up to all linked GPU
//! activity. The backward pass runs outside modules.

use super::{Parts, SHARES, Shares, SheetInput};
use crate::base::format::without_number;
use crate::base::interval::sum;
use crate::base::map::{Map, Set};
use crate::base::sort::Arrange;
use crate::names::MODULE;
use crate::profile::Profile;
use crate::report::columns::{Col, cells, columns, described, int, known, ms, text};
use crate::report::sheet::{Cell, Column};
use crate::trace::StringId;

/// The row for GPU activity outside modules.
const OUTSIDE: &str = "(outside modules)";

fn own_columns() -> Vec<Col<ModuleTime>> {
    columns![ModuleTime:
        "nn.Module", Text, |of| text(&of.name), "The class of the module; all modules of a class are one row.";
        "Count", Count, |of| known(of.n_calls), "Calls of such modules.";
        "total_direct_kernel_time_ms", Ms, |of| ms(of.direct_ns), "Durations of GPU activity launched in it and in no module inside it, summed.";
        "total_subtree_kernel_time_ms", Ms, |of| ms(of.subtree_ns), "Durations of GPU activity launched in it and in modules inside it, summed; modules of one class inside each other count once.";
        "kernel_count", Count, |of| int(of.n_kernels), "Kernels, copies and fills launched in it and in no module inside it.";
    ]
}

pub(super) fn columns(_: &Parts) -> Vec<Column> {
    [described(own_columns()), SHARES.to_vec()].concat()
}

/// GPU time of the modules of a class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleTime {
    /// The class.
    pub name: String,
    /// Number of calls of such modules; `None` for activity outside modules.
    pub n_calls: Option<u64>,
    /// GPU activity launched in them and in no module inside them.
    pub direct_ns: i64,
    /// GPU activity launched in them and in modules inside them.
    pub subtree_ns: i64,
    /// Kernels, copies and fills of `direct_ns`.
    pub n_kernels: u64,
}

/// GPU time by module class, longest own time first; empty without modules.
pub(crate) fn module_times(profile: &Profile) -> Vec<ModuleTime> {
    let classes = Classes::new(profile);
    if classes.names.is_empty() {
        return Vec::new();
    }
    let frames = Frames::new(profile, &classes);
    let time = |name: &str, n_calls| ModuleTime {
        name: name.to_owned(),
        n_calls,
        direct_ns: 0,
        subtree_ns: 0,
        n_kernels: 0,
    };
    let mut outside = time(OUTSIDE, None);
    let classes = classes.names.iter();
    let mut rows: Vec<ModuleTime> = classes.map(|name| time(name, Some(0))).collect();
    for frame in &frames.frames {
        let n_calls = &mut rows[frame.class].n_calls;
        *n_calls = n_calls.map(|n| n + 1);
    }
    let tree = profile.full_tree();
    for (_, work) in profile.gpu.iter() {
        let Some(node) = work.launched_by.and_then(|call| tree.node_of(call)) else {
            continue;
        };
        let ns = work.span.length();
        let frame = frames.of_node.get(node.index()).copied().flatten();
        let row = match frame.and_then(|at| frames.frames.get(at as usize)) {
            Some(frame) => &mut rows[frame.class],
            None => &mut outside,
        };
        row.direct_ns = row.direct_ns.saturating_add(ns);
        row.n_kernels += 1;
        for class in frames.classes_around(frame) {
            rows[class].subtree_ns = rows[class].subtree_ns.saturating_add(ns);
        }
    }
    outside.subtree_ns = outside.direct_ns;
    if outside.n_kernels > 0 {
        rows.push(outside);
    }
    // Stable sort: ties keep order of appearance.
    rows.arrange_by_largest(|time| time.direct_ns);
    rows
}

pub(super) fn rows(input: &SheetInput) -> Vec<Vec<Cell>> {
    let times = module_times(input.profile);
    let mut shares = Shares::of(sum(times.iter().map(|time| time.direct_ns)));
    let columns = own_columns();
    let rows = times.iter().map(|time| {
        let shares = shares.next(time.direct_ns);
        [&cells(&columns, time)[..], &shares].concat()
    });
    rows.collect()
}

/// Module classes, in order of their first name in the trace.
struct Classes<'a> {
    names: Vec<&'a str>,
    by_frame: Map<StringId, usize>,
}

impl<'a> Classes<'a> {
    fn new(profile: &'a Profile) -> Classes<'a> {
        let mut names: Set<&str> = Set::default();
        let frames = profile.trace.strings.iter().filter_map(|(id, name)| {
            let class = without_number(name.strip_prefix(MODULE)?);
            Some((id, names.number(class)))
        });
        Classes {
            by_frame: frames.collect(),
            names: names.into_iter().collect(),
        }
    }
}

struct Frame {
    class: usize,
    /// The enclosing module call.
    around: Option<u32>,
}

/// Module calls, and the innermost one around each node.
struct Frames {
    frames: Vec<Frame>,
    of_node: Vec<Option<u32>>,
}

impl Frames {
    fn new(profile: &Profile, classes: &Classes) -> Frames {
        let (trace, tree) = (&profile.trace, profile.full_tree());
        let mut found = Frames {
            frames: Vec::new(),
            of_node: Vec::with_capacity(tree.len()),
        };
        // The open calls, innermost last: the end and the row of each.
        let mut open: Vec<(u32, u32)> = Vec::new();
        for node in tree.ids() {
            while open.last().is_some_and(|&(end, _)| end <= node.0) {
                open.pop();
            }
            let name = tree.event(node).map(|event| trace.events.name(event));
            if let Some(&class) = name.and_then(|name| classes.by_frame.get(&name)) {
                let around = open.last().map(|&(_, frame)| frame);
                open.push((tree.subtree(node).end, found.frames.len() as u32));
                found.frames.push(Frame { class, around });
            }
            found.of_node.push(open.last().map(|&(_, frame)| frame));
        }
        found
    }

    /// The classes of a call and of the calls around it, each once.
    fn classes_around(&self, frame: Option<u32>) -> Vec<usize> {
        let mut classes = Vec::new();
        let mut at = frame;
        while let Some(frame) = at.and_then(|at| self.frames.get(at as usize)) {
            if !classes.contains(&frame.class) {
                classes.push(frame.class);
            }
            at = frame.around;
        }
        classes
    }
}

#[cfg(test)]
mod tests {
    use crate::output::export::csv;
    use crate::report::{Report, ReportOptions};
    use crate::testing::Timetable;

    #[test]
    fn own_times_sum_up_to_all_linked_work() {
        let profile = Timetable::new()
            .frame("nn.Module: Block_0", 0..50)
            .launched("a", 1..2, 100..101)
            .frame("nn.Module: Linear_0", 10..20)
            .launched("b", 11..12, 101..103)
            .frame("nn.Module: Sequential_0", 20..40)
            .frame("nn.Module: Sequential_1", 21..39)
            .launched("c", 22..23, 103..107)
            .frame("nn.Module: Linear_1", 50..60)
            .launched("d", 51..52, 107..115)
            .launched("e", 70..71, 115..131)
            // A kernel without a launch.
            .kernel(9, "f", 200..300)
            .profile();
        let report = Report::new(&profile, &ReportOptions::default());
        let sheet = report.sheet(&profile, "nn_module_summary").unwrap();
        let text = String::from_utf8(csv::csv(sheet)).unwrap();
        let rows: Vec<&str> = text.lines().skip(1).map(str::trim_end).collect();
        let share = |ns: i64| format!("{:?}", ns as f64 * 100.0 / 31.0);
        let (e, bd, c, a) = (share(16), share(10), share(4), share(1));
        assert_eq!(
            rows,
            [
                format!("(outside modules),,0.016,0.016,1,{e},{e}"),
                format!("Linear,2,0.01,0.01,2,{bd},{}", share(26)),
                format!("Sequential,2,0.004,0.004,1,{c},{}", share(30)),
                format!("Block,1,0.001,0.007,1,{a},100.0"),
            ]
        );
    }
}
