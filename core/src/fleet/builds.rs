//! Builds in the order in which they were first recorded.

use std::cmp::Ordering;

use super::rows::RunRow;
use super::texts::{Text, Texts};
use crate::base::group::grouped;
use crate::base::map::Map;
use crate::base::sort::{Arranged, Gather};

/// A build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuildAt {
    /// Its name.
    pub build: Text,
    /// When it was first recorded, in nanoseconds since 1970.
    pub first_ns: Option<i64>,
    /// Number of its runs that were read.
    pub n_runs: u32,
}

/// Builds sorted by their first recording, and by name if it is equal or unknown.
#[derive(Debug, Clone, Default)]
pub struct Builds {
    /// The oldest first.
    pub list: Vec<BuildAt>,
    places: Map<Text, usize>,
}

impl Builds {
    /// Collects the builds of runs that were read.
    pub fn new(runs: &[RunRow], texts: &Texts) -> Builds {
        let read = runs.iter().filter(|run| run.status.is_read());
        let runs = read.filter_map(|run| Some((run.build?, run.start_ns)));
        let builds = grouped(runs, |(first, n_runs): &mut (Option<i64>, u32), start| {
            *first = [*first, start].into_iter().flatten().min();
            *n_runs += 1;
        });
        let list = builds
            .into_iter()
            .map(|(build, (first_ns, n_runs))| BuildAt {
                build,
                first_ns,
                n_runs,
            })
            .arranged_by(|one, other| {
                let time = |at: &BuildAt| (at.first_ns.is_none(), at.first_ns);
                let [one_name, other_name] = [one, other].map(|at| texts.get(at.build));
                let by_time = time(one).cmp(&time(other));
                by_time.then_with(|| by_number(one_name, other_name))
            });
        let places = list.iter().enumerate().map(|(at, build)| (build.build, at));
        let places = places.gather();
        Builds { list, places }
    }

    /// The index of a build.
    pub(super) fn place(&self, build: Text) -> Option<usize> {
        self.places.get(&build).copied()
    }

    /// The build at an index.
    pub(super) fn at(&self, place: usize) -> Text {
        self.list.get(place).map_or(Text(u32::MAX), |at| at.build)
    }
}

/// Compares names with numbers in natural order: "b9" before "b10".
fn by_number(one: &str, other: &str) -> Ordering {
    let parts = |name: &str| -> Vec<(usize, String)> {
        let same = |one: &char, other: &char| one.is_ascii_digit() == other.is_ascii_digit();
        let letters: Vec<char> = name.chars().collect();
        let parts = letters.chunk_by(same).map(|part| {
            let part: String = part.iter().collect();
            match part.starts_with(|first: char| first.is_ascii_digit()) {
                // Without leading zeros, longer numbers are larger.
                true => {
                    let number = part.trim_start_matches('0').to_owned();
                    (number.len() + 1, number)
                }
                false => (0, part),
            }
        });
        parts.collect()
    };
    parts(one).cmp(&parts(other)).then_with(|| one.cmp(other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::testing::FleetOf;

    #[test]
    fn builds_stand_in_the_order_of_their_first_recording() {
        let mut fleet = FleetOf::default();
        fleet.run("llama", "late", 100).start_ns = Some(30);
        fleet.run("llama", "early", 100).start_ns = Some(40);
        fleet.run("llama", "early", 100).start_ns = Some(10);
        fleet.run("llama", "unknown", 100).start_ns = None;
        let builds = Builds::new(&fleet.0.runs, &fleet.0.texts);
        let names = builds.list.iter().map(|at| fleet.0.texts.get(at.build));
        assert_eq!(names.collect::<Vec<_>>(), ["early", "late", "unknown"]);
        assert_eq!(
            (builds.list[0].first_ns, builds.list[0].n_runs),
            (Some(10), 2)
        );
    }

    #[test]
    fn numbers_in_names_count() {
        for (one, other) in [
            ("b9", "b10"),
            ("1.9.2", "1.10.0"),
            ("a", "b"),
            ("b", "b1"),
            ("b01", "b1"),
        ] {
            assert_eq!(by_number(one, other), Ordering::Less, "{one} {other}");
        }
    }
}
