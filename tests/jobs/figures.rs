//! Figures of sheets that the reference does not have: clocks, steps, links, pipelines, groups.

use super::{files, sheet};

/// The offsets of the ranks' clocks: within 3 µs in the middle of the recording.
#[test]
fn clocks_of_hosts_are_found() {
    const JOBS: [(&str, &[f64]); 2] = [
        ("ranks4", &[0.0, -0.7, 2_280.0, 2_281.0]),
        (
            "ranks8",
            &[0.0, -1.2, 0.2, 1.2, 1_759.1, 1_761.3, 1_760.8, 1_761.4],
        ),
    ];
    for (name, expected) in JOBS {
        let Some(files) = files(name) else {
            return;
        };
        let ranks = sheet(&files, "ranks");
        assert_eq!(ranks.len(), expected.len(), "{name}");
        for (row, expected) in ranks.iter().zip(expected) {
            let offset: f64 = row["offset µs"].parse().unwrap();
            assert!(
                (offset - expected).abs() <= 3.0,
                "{name}: {offset}, not {expected}"
            );
        }
    }
}

/// A figure of a sheet: the key of its row, its column, its value, and the tolerance.
type Figure = (
    &'static str,
    &'static [(&'static str, &'static str)],
    &'static str,
    f64,
    f64,
);

#[rustfmt::skip]
const OF_RANKS4: &[Figure] = &[
    ("ranks", &[("rank", "0")], "exposed communication ms", 84.0, 0.1),
    ("ranks", &[("rank", "1")], "exposed communication ms", 72.6, 0.1),
    ("ranks", &[("rank", "2")], "exposed communication ms", 83.7, 0.1),
    ("ranks", &[("rank", "3")], "exposed communication ms", 84.0, 0.1),
    ("ranks", &[("rank", "0")], "exposed communication (linked) ms", 61.9, 0.1),
    ("ranks", &[("rank", "1")], "exposed communication (linked) ms", 54.1, 0.1),
    ("ranks", &[("rank", "2")], "exposed communication (linked) ms", 61.7, 0.1),
    ("ranks", &[("rank", "3")], "exposed communication (linked) ms", 61.9, 0.1),
    ("rank_steps", &[("rank", "1"), ("step", "15")], "same-work ratio", 1.36, 0.01),
    ("rank_steps", &[("rank", "1"), ("step", "16")], "same-work ratio", 1.36, 0.01),
    ("rank_steps", &[("rank", "1"), ("step", "17")], "same-work ratio", 1.36, 0.01),
    ("rank_steps", &[("rank", "0"), ("step", "16")], "same-work ratio", 1.0, 0.01),
    ("rank_steps", &[("rank", "2"), ("step", "16")], "same-work ratio", 1.0, 0.01),
    ("rank_steps", &[("rank", "3"), ("step", "16")], "same-work ratio", 1.0, 0.01),
    ("collectives", &[("bytes", "17632384"), ("step", "15")], "transfer µs", 8_930.0, 10.0),
    ("collectives", &[("bytes", "17632384"), ("step", "16")], "transfer µs", 9_210.0, 10.0),
    ("collectives", &[("bytes", "17632384"), ("step", "17")], "transfer µs", 21_640.0, 10.0),
    ("collectives", &[("bytes", "17632384"), ("step", "15")], "bus bandwidth GB/s", 2.96, 0.01),
    ("collectives", &[("bytes", "17632384"), ("step", "16")], "bus bandwidth GB/s", 2.87, 0.01),
    ("collectives", &[("bytes", "17632384"), ("step", "17")], "bus bandwidth GB/s", 1.22, 0.01),
];

#[rustfmt::skip]
const OF_RANKS8: &[Figure] = &[
    ("rank_steps", &[("rank", "5"), ("step", "5")], "same-work ratio", 1.01, 0.015),
    ("rank_steps", &[("rank", "5"), ("step", "6")], "same-work ratio", 1.30, 0.015),
    ("rank_steps", &[("rank", "5"), ("step", "7")], "same-work ratio", 1.30, 0.015),
    ("rank_steps", &[("rank", "2"), ("step", "6")], "data loading ms", 25.4, 0.1),
    ("experts", &[("rank", "0")], "times mean", 1.28, 0.01),
    ("experts", &[("rank", "1")], "times mean", 1.29, 0.01),
    ("experts", &[("rank", "2")], "times mean", 0.72, 0.01),
    ("experts", &[("rank", "3")], "times mean", 0.71, 0.01),
    ("links", &[("pair", "3, 7")], "times siblings", 1.97, 0.02),
    ("rank_steps", &[("rank", "2"), ("step", "6")], "delay by late launches ms", 25.0, 0.1),
    ("pipeline", &[("rank", "0"), ("step", "5")], "receiving ms", 37.5, 0.1),
    ("pipeline", &[("rank", "0"), ("step", "5")], "receiving (%)", 20.9, 0.05),
    ("pipeline", &[("rank", "0"), ("step", "5")], "step time ms", 179.3, 0.1),
    ("pipeline", &[("rank", "0"), ("step", "5")], "inevitable (%)", 20.0, 0.01),
];

#[test]
fn sheets_of_ours_have_the_figures_of_the_shared_jobs() {
    let mut wrong = Vec::new();
    for (name, figures) in [("ranks4", OF_RANKS4), ("ranks8", OF_RANKS8)] {
        let Some(files) = files(name) else {
            return;
        };
        for (of, keys, label, value, most_off) in figures {
            let rows = sheet(&files, of);
            let row = rows
                .iter()
                .find(|row| keys.iter().all(|(key, value)| row[*key] == *value));
            let actual = row.map_or("", |row| &row[*label]);
            let is_right = actual
                .parse::<f64>()
                .is_ok_and(|own| (own - value).abs() <= *most_off);
            if !is_right {
                wrong.push(format!(
                    "{name} {of} {keys:?} {label}: {actual:?}, not {value}"
                ));
            }
        }
        let collectives = sheet(&files, "collectives");
        let of_groups = collectives.iter().filter(|row| !row["group"].is_empty());
        let complete = of_groups
            .filter(|row| row["ranks"] == row["ranks read"])
            .count();
        assert_eq!(complete, if name == "ranks4" { 12 } else { 1_275 });
    }
    assert_eq!(wrong, [""; 0]);
}

/// In a ResNet job, half of the collectives reduce gradient buckets, and half broadcast the initial state; five kernels
/// of each rank name no process group.
#[test]
fn collectives_are_distinguished_by_what_they_do() {
    let Some(files) = files("ranks4") else {
        return;
    };
    let collectives = sheet(&files, "collectives");
    let n = |kind: &str, has_group: bool| {
        let own = collectives.iter();
        let own = own.filter(|row| row["group"].is_empty() != has_group);
        own.filter(|row| row["type"] == kind).count()
    };
    assert_eq!((n("all-reduce", true), n("broadcast", true)), (6, 6));
    let unlabeled = collectives.iter().filter(|row| row["group"].is_empty());
    let counts = unlabeled.map(|row| (row["ranks read"].as_str(), row["ranks"].as_str()));
    assert_eq!(counts.collect::<Vec<_>>(), [("4", "4"); 5]);
}

/// Two pipeline stages with two replicas, each of two ranks; experts are distributed over the replicas.
#[test]
fn groups_are_labeled_with_what_they_are_for() {
    let Some(files) = files("ranks8") else {
        return;
    };
    let groups = sheet(&files, "groups");
    let of = |role: &str| {
        let own = groups.iter().filter(|row| row["role"] == role);
        let own: Vec<&str> = own.map(|row| row["numbers"].as_str()).collect();
        own
    };
    assert_eq!(of("tensor parallel"), ["0, 1", "2, 3", "4, 5", "6, 7"]);
    // Gradients are reduced by a reduce-scatter.
    assert_eq!(
        of("sharded data parallel"),
        ["0, 2", "1, 3", "4, 6", "5, 7"]
    );
    assert_eq!(of("expert parallel"), ["0, 2", "1, 3", "4, 6", "5, 7"]);
    assert_eq!(of("pipeline parallel"), ["0, 4", "1, 5", "2, 6", "3, 7"]);
}
