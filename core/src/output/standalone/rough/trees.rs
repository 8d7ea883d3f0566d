//! Where the operations that matter stand in the call tree.

use super::super::Source;
use super::super::tree_data::{self, TreeData};
use crate::base::format;
use crate::output::document::{DocTable, Document, Span};
use crate::report::overview::Measure;

/// Operations whose place in the call tree is shown.
const N_TREES: usize = 5;

pub(super) fn write(document: &mut Document, source: &Source) {
    let operations = source.profile.operations();
    let mut shown: Vec<usize> = Vec::new();
    for ranked in &source.report.analyses.findings.ranked {
        if let Some(first) = ranked.finding.operations.first()
            && !shown.contains(first)
        {
            shown.push(*first);
        }
    }
    for (at, _) in operations.iter().enumerate() {
        if shown.len() < N_TREES && !shown.contains(&at) {
            shown.push(at);
        }
    }
    shown.truncate(N_TREES);
    let of_operation = |at| tree_data::of(source.profile, at);
    let (places, measure) = match source.profile.has_gpu_events() {
        true => (
            shown.into_iter().filter_map(of_operation).collect(),
            Measure::Gpu,
        ),
        false => (
            tree_data::of_host_ops(source.profile, N_TREES),
            Measure::Host,
        ),
    };
    for data in &places {
        tree(document, data, measure);
    }
    if places.is_empty() {
        document.text("No operation has a place in the call tree: no host activity was recorded.");
    }
}

/// The place of an operation, with times of kernels or of the host.
fn tree(document: &mut Document, data: &TreeData, measure: Measure) {
    // The name of the trace is quoted, so it stands below the heading.
    document.heading(3, &format!("Operation of event {}", data.uid));
    let mut chain = Vec::new();
    for parent in &data.parents {
        if !chain.is_empty() {
            chain.push(Span::Text(" ← ".to_owned()));
        }
        chain.push(Span::Code(format::middle_ellipsis(parent, 60)));
    }
    if chain.is_empty() {
        chain.push(Span::Text("nothing: it is outermost".to_owned()));
    }
    let mut parents = vec![
        Span::Code(format::middle_ellipsis(&data.name, 60)),
        Span::Text(", called by ".to_owned()),
    ];
    parents.extend(chain);
    document
        .blocks
        .push(crate::output::document::Block::Text(parents));
    let head = match measure {
        Measure::Gpu => ">Kernel time",
        Measure::Host => ">Time on the host",
    };
    let mut table = DocTable::new(&["Below it", "Shapes", head]);
    for node in &data.subtree {
        let ns = match measure {
            Measure::Gpu => node.kernel_ns,
            Measure::Host => node.host_ns,
        };
        let indent = "\u{2003}".repeat(node.depth);
        table.rows.push(vec![
            vec![
                Span::Text(indent),
                Span::Code(format::middle_ellipsis(&node.name, 60)),
            ],
            vec![Span::Text(node.shapes.clone())],
            vec![Span::Text(format::time_ns(ns))],
        ]);
    }
    document.table(table);
}
