//! Merges calls with the same name and the same callers.

use super::builder::Builder;
use super::{Label, MergedTree};
use crate::profile::Profile;

impl MergedTree {
    /// The call hierarchy over all threads: calls with the same name and call path are one node.
    pub fn top_down(profile: &Profile) -> MergedTree {
        let (trace, tree) = (&profile.trace, profile.full_tree());
        let mut builder = Builder::default();
        let mut place: Vec<u32> = Vec::with_capacity(tree.len());
        for call in tree.ids() {
            // Parents come before children.
            let caller = tree
                .parent(call)
                .and_then(|caller| place.get(caller.index()));
            let caller = caller.copied().unwrap_or(Builder::TOP);
            let Some(event) = tree.event(call) else {
                place.push(caller);
                continue;
            };
            let node = builder.below(caller, Label::Call(trace.events.name(event)), call);
            builder.count(node, 1);
            place.push(node);
        }
        builder.finish(profile, &place)
    }
}
