//! All-reduces of tensor parallelism in the steps of a serving engine.

use super::*;

/// Adds a kernel with the given duration, or a copy with the given number of bytes.
type Run<'a> = dyn FnMut(Timetable, &str, u32, Option<u64>) -> Timetable + 'a;

const REDUCE: &str = "multimem_all_reduce_kernel<c10::BFloat16, 16>";
const STEP: &str = "execute_4_context_0(sq0sk0sqsq0sqsk0)_generation_4(sq4sk40sqsq4sqsk40)";

/// A decode step of three layers, each with attention, an all-reduce, the MLP and an all-reduce; and one all-reduce
/// after the embedding. The first takes longer. Optionally with copies of a given size.
fn decode(copied: Option<u64>, n_reduced: usize) -> Profile {
    let mut timetable = Timetable::new().annotation(STEP, 0..2000);
    let (mut host, mut gpu) = (1, 5000);
    let mut reduced = 0;
    let mut run = |timetable: Timetable, name: &str, us: u32, bytes: Option<u64>| {
        let launched = timetable.launched(name, host..host + 1, gpu..gpu + us);
        (host, gpu) = (host + 2, gpu + us);
        match bytes {
            Some(bytes) => launched.args(&format!("\"bytes\": {bytes}")),
            None => launched,
        }
    };
    let mut kernels = vec!["embedding", REDUCE];
    kernels.extend(["attn_fwd", REDUCE, "gemm_mlp", REDUCE].repeat(3));
    for name in kernels {
        if name != REDUCE {
            timetable = run(timetable, name, 40, None);
            continue;
        }
        reduced += 1;
        if reduced > n_reduced {
            continue;
        }
        let us = if reduced == 1 { 90 } else { 10 };
        let copy = |timetable, run: &mut Run| match copied {
            Some(bytes) => run(timetable, D2D, 5, Some(bytes)),
            None => timetable,
        };
        timetable = copy(timetable, &mut run);
        timetable = run(timetable, REDUCE, us, None);
        timetable = copy(timetable, &mut run);
    }
    timetable.profile()
}

/// 7 all-reduces with two copies of 5 µs each: 70 µs of copies next to 90 + 6 · 10 µs.
#[test]
fn copies_around_all_reduces_are_one_finding_with_them() {
    let profile = decode(Some(8_000_000), 7);
    let outcome = outcome(&profile, &ReportOptions::default());
    let found = outcome
        .findings
        .iter()
        .find(|found| found.pattern == "staging_copies");
    let found = found.expect("copies around all-reduces");
    assert_contains(
        &found.issue,
        &[
            "14 copies of 8.00 MB",
            "7 collectives",
            "70.0 µs",
            "31.8 % of the 220 µs",
        ],
    );
    assert_eq!(saves(found).2, 70_000);
    // They do not count as copies requested otherwise.
    assert!(!keys(&outcome.findings).contains(&"high_d2d_memcpy"));
    // Size from the copies, rate from the median: 8 MB in 10 µs.
    let table = outcome
        .tables
        .iter()
        .find(|table| table.key == "collectives")
        .unwrap();
    let row: Vec<String> = table.rows[0].iter().map(Value::text).collect();
    for text in ["8.00 MB", "10.0 µs", "80.0 µs", "70.0 µs", "800 GB/s"] {
        assert!(row.iter().any(|cell| cell == text), "{text}: {row:?}");
    }
    // Without copies there is no such finding.
    let without = self::outcome(&decode(None, 7), &ReportOptions::default());
    assert!(!keys(&without.findings).contains(&"staging_copies"));
}

#[test]
fn the_all_reduces_of_a_step_are_counted() {
    let notes = |n_reduced| {
        outcome(&decode(None, n_reduced), &ReportOptions::default())
            .note_texts()
            .collect::<Vec<_>>()
            .join("\n")
    };
    // 2 · 3 layers + 1.
    let expected = notes(7);
    assert!(!expected.contains("A step has"), "{expected}");
    assert_contains(
        &expected,
        &[
            "The first all-reduce of a step takes 90.0 µs, the others 10.0 µs",
            "take 80.0 µs beyond their median",
        ],
    );
    assert_contains(
        &notes(6),
        &["A step has 6 all-reduces", "takes 7:", "3 layers"],
    );
}

/// All-reduces of 90 and 6 · 10 µs, while nothing computes: 5 µs of each are latency, which stays.
#[test]
fn the_latency_of_all_reduces_in_a_step_is_not_saved() {
    let (facts, findings) = analyzed(&decode(None, 7));
    assert_eq!(facts.savable_comm_ns(), 115_000);
    let found = findings
        .iter()
        .find(|one| one.pattern == "nccl_blocking_compute");
    let found = found.expect("exposed communication");
    assert_eq!(saves(found).2, 115_000);
    reasons(
        found,
        &["35.0 µs of it are the latency of the collectives, about 5.00 µs each"],
    );
}
