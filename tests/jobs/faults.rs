//! The issues found in jobs: the faults that they were generated with.

use super::{digests, overview_of};

/// The issues of a job, and what fixing them saves over all its steps, compared with `truth.json`, which is stored with
/// its sheets.
#[test]
fn the_faults_of_a_job_are_found_with_their_worth() {
    /// Key, ranks, milliseconds, and their tolerance.
    type Fault = (&'static str, &'static [u32], f64, f64);
    const JOBS: [(&str, &[Fault]); 3] = [
        (
            "ranks4",
            &[
                ("slow_period", &[], 22.7, 1.0),
                ("slow_rank", &[1], 3.3, 0.3),
                ("clocks_apart", &[3], 0.0, 0.0),
            ],
        ),
        (
            "ranks8",
            &[
                ("slow_rank", &[5], 66.0, 2.0),
                ("late_host", &[2], 25.0, 0.1),
                ("hot_experts", &[0, 1, 4, 5], 82.5, 12.0),
                ("slow_link", &[3, 7], 14.3, 3.0),
            ],
        ),
        ("gloo4", &[("uneven_work", &[2], 56.0, 15.0)]),
    ];
    for (name, faults) in JOBS {
        let Some(digests) = digests(name) else {
            return;
        };
        let overview = overview_of(digests);
        for (key, ranks, ms, most_off) in faults {
            let mut cards = overview.cards.iter().filter(|card| card.key == *key);
            let card = cards.next().unwrap_or_else(|| panic!("{name}: no {key}"));
            assert_eq!(
                (&card.ranks[..], cards.next()),
                (*ranks, None),
                "{name} {key}"
            );
            let savings = card.saving_ns.map_or(0.0, |ns| ns as f64 / 1e6);
            assert!(
                (savings - ms).abs() <= *most_off,
                "{name} {key}: {savings} ms"
            );
        }
    }
}
