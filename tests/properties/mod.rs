//! Properties that hold for every input.

mod chunks;
mod intervals;
mod invariance;
mod oracle;

use proptest::prelude::ProptestConfig;

/// The configuration for this many random cases. Failing cases are added to the corpus, by name, instead of to a file
/// of random seeds.
fn cases(n_cases: u32) -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(n_cases)
    }
}
