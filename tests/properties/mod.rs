//! Laws that hold for every input.

mod chunks;
mod intervals;
mod invariance;
mod oracle;

use proptest::prelude::ProptestConfig;

/// That many random cases. What fails becomes a case of the corpus, by name, instead of a line
/// in a file of random seeds.
fn cases(n_cases: u32) -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(n_cases)
    }
}
