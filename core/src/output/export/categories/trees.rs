//! The positions of an analysis's longest operations in the call tree.

use serde_json::{Value as Json, json};

use super::pretty;
use crate::findings::Outcome;
use crate::output::json::{list, us};
use crate::profile::Profile;
use crate::report::{Report, places};

/// Operations whose position in the tree is written: those with more than this share of their category, or the first
/// few.
const TREE_PERCENT: f64 = 10.0;
const MIN_TREES: usize = 5;

pub(super) fn trees(profile: &Profile, _: &Report, outcome: &Outcome) -> Vec<u8> {
    let rows = outcome.rows.iter().enumerate();
    let rows = rows.filter(|(at, row)| *at < MIN_TREES || row.percent_of_category > TREE_PERCENT);
    let trees = rows.filter_map(|(_, row)| {
        let data = places::of(profile, row.operation)?;
        let subtree = list(&data.subtree, |node| {
            json!({
                "depth": node.depth,
                "name": node.name,
                "input_dims": node.shapes,
                "input_types": node.types,
                "kernel_time_us": us(node.kernel_ns),
            })
        });
        Some(json!({
            "op_name": data.name,
            "ex_uid": data.uid,
            "input_dims": data.shapes,
            "parent_chain": data.parents,
            "subtree": subtree,
        }))
    });
    pretty(&Json::Array(trees.collect()))
}
