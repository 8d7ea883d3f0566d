//! A call as a row: its figures as text.

use dormer_core::base::format;
use dormer_core::names::Family;
use dormer_core::names::frames::CodeOf;
use dormer_core::profile::cpu::tree::{Cost, Instances, Label};

use super::TreeView;
use super::shape::{Calls, Item};
use super::unfolded::{Branches, Row};
use super::visible::Visible;
use crate::protocol::{TreeInstances, TreeRow};

/// The page shortens names to the width of their column, which never fits more than this.
const NAME_CHARS: usize = 240;

impl TreeView {
    /// The category of calls that launch GPU activity themselves.
    pub(super) fn family(&self, calls: &Calls, item: Item) -> Option<Family> {
        if calls.replayed(item).is_some() {
            let trace = &calls.profile.trace;
            let kernel = trace.events.name(calls.event(item)?);
            return Some(self.families.of_kernel(None, trace.strings.get(kernel)));
        }
        let Some(of) = calls.merged(item) else {
            return self.launching.get(&calls.event(item)?).copied();
        };
        let Label::Call(name) = of.label else {
            return None;
        };
        let name = calls.profile.trace.strings.get(name);
        (of.own.n_work > 0).then(|| self.families.of_op(name))
    }

    /// A call as displayed.
    pub(super) fn row(&self, calls: &Calls, row: &Row) -> TreeRow {
        let item = row.node;
        let of = calls.figures(item);
        let name = calls.name(item);
        let shown = format::middle_ellipsis(&name, NAME_CHARS);
        let family = self.family(calls, item);
        let gpu = |cost: Cost| match cost.n_work {
            0 => String::new(),
            _ => format::time_ns(cost.gpu_ns),
        };
        let cpu = |ns: i64| match of.has_cpu {
            true => format::time_ns(ns),
            false => String::new(),
        };
        let part = &self.part;
        let tree = Visible { calls, part };
        let above = tree.parent(item).map(|above| calls.figures(above).all);
        // There is no share of zero.
        let above_ns = above.map_or(self.all_gpu_ns, |above| above.gpu_ns);
        let has_share = of.all.n_work > 0 && above_ns > 0;
        let share = |ns: i64, of_ns: i64| 100.0 * ns as f64 / of_ns as f64;
        TreeRow {
            node: item,
            branch: self.unfolded.branch(&tree, row),
            whole: (shown != name).then_some(name),
            name: shown,
            kind: calls.kind(item),
            code: calls.code(item).map_or("", code_word).to_owned(),
            instances: calls
                .instances(item)
                .map(|of| self.instances(of, calls.is_split(item))),
            token: family.map_or("", Family::token).to_owned(),
            gpu_time: gpu(of.all),
            gpu_own: gpu(of.own),
            gpu_percent: has_share.then(|| share(of.all.gpu_ns, above_ns)),
            gpu_of_all: match of.all.n_work > 0 && self.all_gpu_ns > 0 {
                true => format::percent(share(of.all.gpu_ns, self.all_gpu_ns)),
                false => String::new(),
            },
            gpu_count: match of.all.n_work {
                0 => String::new(),
                n_work => format::count(n_work),
            },
            cpu_time: cpu(of.all.cpu_ns),
            cpu_own: cpu(of.own.cpu_ns),
            calls: of
                .n_calls
                .map(|n_calls| format::count(u64::from(n_calls)))
                .unwrap_or_default(),
            uid: calls
                .event(item)
                .map(|event| calls.profile.trace.events.uid(event)),
        }
    }

    /// By GPU time if anything runs on the GPU.
    fn instances(&self, of: Instances, split: bool) -> TreeInstances {
        let spread = if self.all_gpu_ns > 0 { of.gpu } else { of.cpu };
        TreeInstances {
            n: of.n,
            mean: format::time_ns(spread.mean_ns),
            range: format::time_range_ns(spread.least_ns, spread.most_ns),
            split,
        }
    }
}

/// The class in the style sheet.
fn code_word(code: CodeOf) -> &'static str {
    match code {
        CodeOf::Program => "own",
        CodeOf::PyTorch => "pytorch",
        CodeOf::Library => "library",
    }
}
