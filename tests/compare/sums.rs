//! Differences add up; a trace compared with itself, and comparisons in both directions.

use dormer_core::compare::{Comparison, Pair, PartKind};
use dormer_core::output::documents::Documents;
use dormer_core::output::json::comparison::comparison_json;
use dormer_core::output::markup::markdown;

use super::{compared, pair, reversed};
use crate::support::opened::{Opened, broken_rules};
use crate::support::shared;

/// The parts of both traces and the rest are their total time.
fn assert_parts_sum_up(comparison: &Comparison, names: &str) {
    let parts = &comparison.parts;
    let all = parts.parts.iter().map(|part| part.times);
    let sum = all.fold(Pair::default(), Pair::plus).plus(parts.rest);
    assert_eq!(sum, parts.total, "{names}");
}

#[test]
fn parts_sum_up_and_partners_explain_the_difference() {
    for model in ["qwen", "timesformer"] {
        let Some(pair) = pair(model) else { return };
        let comparison = compared(&pair);
        let parts = &comparison.parts;
        assert_parts_sum_up(&comparison, model);
        assert_eq!(parts.rest, Pair::default(), "{model}");
        let steps = parts.waterfall(12);
        let ends = (steps[0].from_ns, steps[steps.len() - 1].to_ns);
        assert_eq!(ends, (parts.total.reference, parts.total.target), "{model}");
        let percent = parts.matched_percent().unwrap();
        eprintln!("{model}: {percent:.2} % of what differs in computation has a partner");
        assert!(percent >= 90.0, "{model}: {percent}");
        let computation = parts.parts.iter().filter(|part| part.kind.is_computation());
        let computation = computation
            .map(|part| part.times)
            .fold(Pair::default(), Pair::plus);
        assert_eq!(computation, parts.computation, "{model}");
    }
}

#[test]
fn the_reversed_comparison_has_the_reversed_differences() {
    for model in ["qwen", "timesformer"] {
        let Some(pair) = pair(model) else { return };
        let (one, other) = (compared(&pair), reversed(&pair));
        assert_eq!(
            one.parts.total.difference(),
            -other.parts.total.difference()
        );
        let rows = |comparison: &Comparison, sign: i64| {
            let parts = comparison.parts.parts.iter();
            let parts = parts.map(|part| (part.label.clone(), part.times));
            let kernels = comparison.kernels.iter();
            let kernels = kernels.map(|row| (row.key.clone(), row.times()));
            let modules = comparison.modules.iter();
            let modules = modules.map(|row| (row.key.clone(), row.times()));
            let categories = comparison.categories.iter();
            let categories = categories.map(|row| (row.key.label().to_owned(), row.times()));
            let all = parts.chain(kernels).chain(modules).chain(categories);
            let mut all: Vec<(String, i64)> = all
                .map(|(name, times)| (name, sign * times.difference()))
                .collect();
            all.sort();
            all
        };
        assert_eq!(rows(&one, 1), rows(&other, -1), "{model}");
    }
}

#[test]
fn a_trace_against_itself_has_no_difference() {
    for (name, bytes) in shared::with_sample() {
        // Large traces take long in a debug build, and show nothing that small ones do not.
        if bytes.len() > 2_000_000 {
            continue;
        }
        let opened = Opened::new(&name, &bytes);
        let again = Opened::new("again", &bytes);
        let comparison = Comparison::new(opened.side(), again.side());
        assert!(comparison.is_same(), "{name}");
        let parts = comparison.parts.parts.iter();
        assert!(
            parts.clone().all(|part| part.times.difference() == 0),
            "{name}"
        );
        assert!(
            parts
                .clone()
                .all(|part| !matches!(part.kind, PartKind::Unmatched(..))),
            "{name}"
        );
        assert_eq!(comparison.parts.waterfall(12), [], "{name}");
        assert!(comparison.gaps.ranked.is_empty(), "{name}");
        let text = markdown(&comparison.fair());
        assert!(text.contains("No difference: "), "{name}: {text}");
    }
}

#[test]
fn every_pair_of_traces_gives_whole_documents() {
    let opened: Vec<Opened> = shared::with_sample()
        .iter()
        .filter(|(_, bytes)| bytes.len() < 700_000)
        .map(|(name, bytes)| Opened::new(name, bytes))
        .collect();
    for (at, reference) in opened.iter().enumerate() {
        for target in &opened[at + 1..] {
            let comparison = Comparison::new(reference.side(), target.side());
            let names = format!("{} and {}", reference.name, target.name);
            assert_parts_sum_up(&comparison, &names);
            for document in [comparison.illustrated(), comparison.rough()] {
                let text = markdown(&document);
                assert!(
                    !text.contains("NaN") && !text.contains("inf"),
                    "{names}: {text}"
                );
            }
            assert_eq!(broken_rules(&comparison), [""; 0], "{names}");
            assert!(comparison_json(&comparison).is_object());
        }
    }
}
