//! Comparisons of real traces of the same model on two platforms, and of traces with known differences.

mod findings;
mod sums;
mod verdicts;

use dormer_core::compare::{Comparison, Pair};

use crate::support::opened::Opened;
use crate::support::shared;

/// Two traces of one model: on an H100, the reference, and on an MI300X.
fn pair(model: &str) -> Option<Pair<Opened>> {
    let shared = shared::folder()?;
    let open = |platform: &str| {
        let name = format!("{platform}_{model}");
        Opened::new(&name, shared::trace(&shared, &name))
    };
    Some(Pair {
        reference: open("h100"),
        target: open("mi300"),
    })
}

fn compared(pair: &Pair<Opened>) -> Comparison {
    Comparison::new(pair.reference.side(), pair.target.side())
}

fn reversed(pair: &Pair<Opened>) -> Comparison {
    Comparison::new(pair.target.side(), pair.reference.side())
}
