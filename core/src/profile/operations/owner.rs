//! Which call of which operation a piece of GPU activity belongs to.

use crate::profile::Profile;

/// A call of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner {
    /// A position in [`Profile::operations`].
    pub operation: usize,
    /// A position in its calls.
    pub call: usize,
}

/// The call that each piece of GPU activity belongs to, by the position of the work.
pub(crate) fn owners(profile: &Profile) -> Vec<Option<Owner>> {
    let mut owners = vec![None; profile.gpu.len()];
    for (operation, each) in profile.operations().iter().enumerate() {
        for (call, row) in each.calls.iter().enumerate() {
            for id in &row.work {
                if let Some(slot) = owners.get_mut(id.index()) {
                    // The first call owns it.
                    slot.get_or_insert(Owner { operation, call });
                }
            }
        }
    }
    owners
}
