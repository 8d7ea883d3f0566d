//! What the rules of element-wise operations share: their words, and the rules that others adjust.

use super::Observed;
use crate::findings::prelude::*;

impl Subject for Observed<'static> {
    type Of<'a> = Observed<'a>;

    const ROW: RowOf<Self> = |observed| Some(observed.row);

    fn words(group: &Group<Self>) -> Words {
        let n_kernels = n_kernels(group);
        vec![
            ("reach", group.first().baseline.sentence()),
            ("each", format::time_ns(group.mean_ns(n_calls(&group.rows)))),
            ("kernels", format::counted(n_kernels, "kernel")),
            ("each_kernel", format::time_ns(group.mean_ns(n_kernels))),
        ]
    }

    fn reasoning(group: &Group<Self>) -> Vec<String> {
        let from = called_from(group.input, &group.rows);
        vec![from.unwrap_or_default(), String::new()]
    }
}

pub(super) const ELEMENTWISE: Rule<Observed> = Rule {
    issue: "{figures}.",
    ..Rule::BASE
};

/// Copies: an unnecessary copy saves all of its time.
pub(super) const COPY: Rule<Observed> = Rule {
    gate: |group| group.is_large(|lines| lines.elementwise_gate_ms),
    saves: Saves::All,
    ..ELEMENTWISE
};

/// Operations that compute nothing, whatever their % of roofline: from a share of the computation on that pays for a
/// change of the model.
pub(super) const MOVED: Rule<Observed> = Rule {
    takes: |group| group.is_much(),
    issue: "{figures}; it moves elements and computes none.",
    kernel: "let the kernel that reads the result read the source in this order; the result then need not be written.",
    notes: &[
        "The trace does not record what else reads the result, and so whether all of it can go.",
    ],
    ..COPY
};

/// Large operations at a low % of the memory bandwidth.
pub(super) const SLOW: Rule<Observed> = Rule {
    notes: &["{reach}", NOT_SHOWN],
    ..ELEMENTWISE
};

/// Rows without another pattern: a finding for each bound and step of efficiency.
pub(super) const GAP: Rule<Observed> = Rule {
    by: |observed| observed.row.gap_bucket(),
    is_pattern: false,
    ..SLOW
};

pub(super) const AT_MOST: &str = "The saving is at most their time beyond the roofline; a trace does not show how much of it is launch overhead.";

pub(super) fn n_kernels(group: &Group<Observed<'static>>) -> u64 {
    group
        .observed
        .iter()
        .map(|observed| observed.n_kernels())
        .sum()
}
