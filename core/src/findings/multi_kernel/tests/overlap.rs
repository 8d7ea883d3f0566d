//! Communication that blocks computation, and overlap.

use super::*;

#[test]
fn exposed_communication_on_its_lines() {
    // In 10 ms; the communication starts when the computation ends.
    let cases: &[(f64, &str, bool)] = &[
        (200.0, "ACCEPTABLE", false),
        (201.0, "LOW", false),
        (500.0, "LOW", false),
        (501.0, "MEDIUM", true),
        (1000.0, "MEDIUM", true),
        (1001.0, "HIGH", true),
        (2000.0, "HIGH", true),
        (2001.0, "CRITICAL", true),
    ];
    for &(exposed, severity, is_flagged) in cases {
        let profile = communication(10_000.0, 7_000.0, 7_000.0..7_000.0 + exposed);
        let (facts, _) = analyzed(&profile);
        let blocking = facts.blocking();
        assert_eq!(blocking.severity.label(), severity, "{exposed}");
        assert_eq!(blocking.is_flagged, is_flagged, "{exposed}");
        assert_eq!(facts.timeline.exposed_comm_ns, exposed as i64 * 1000);
    }
}

#[test]
fn overlap_on_its_lines() {
    // 1 ms of communication, this much of it overlapping with computation; in 100 ms, so that nothing counts as
    // blocking.
    let cases: &[(f64, &str, bool)] = &[
        (299.0, "CRITICAL", true),
        (300.0, "HIGH", true),
        (500.0, "MEDIUM", true),
        (699.0, "MEDIUM", true),
        (700.0, "GOOD", false),
        (1000.0, "GOOD", false),
    ];
    for &(hidden, label, is_flagged) in cases {
        let start = 5_000.0 - hidden;
        let profile = communication(100_000.0, 5_000.0, start..start + 1_000.0);
        let (facts, findings) = analyzed(&profile);
        let overlap = facts.overlap();
        assert_eq!(overlap.label(), label, "{hidden}");
        assert_eq!(overlap.is_flagged, is_flagged, "{hidden}");
        assert_eq!(overlap.percent, Some(hidden / 10.0), "{hidden}");
        let expected = is_flagged.then_some("poor_comm_compute_overlap");
        assert_eq!(keys(&findings), Vec::from_iter(expected), "{hidden}");
        let title = match hidden < 300.0 {
            true => "Communication hardly overlaps with computation",
            false => "Communication overlaps with computation only in part",
        };
        assert!(findings.iter().all(|found| found.title == title));
        // At most 1 % of the run is exposed, so at most one level above that.
        assert!(findings.iter().all(|found| found.priority == Priority::Low));
    }
}

#[test]
fn too_little_communication_is_not_judged() {
    for (comm, is_judged) in [(99.0, false), (100.0, true)] {
        let profile = communication(10_000.0, 7_000.0, 7_000.0..7_000.0 + comm);
        let (facts, _) = analyzed(&profile);
        assert_eq!(facts.overlap().severity.is_some(), is_judged);
    }
}

/// In 10 ms: 6 ms of communication, 2 ms of it overlapping with computation, 4 ms exposed: 40 % of the run. At 70 %
/// overlap 1.8 ms would be exposed, which would save 2.2 ms; but 2 of the 4 ms of computation already overlap, so only
/// the other 2 ms can hide more. Sending nothing at all would save 4 ms.
#[test]
fn blocking_and_overlap_are_one_finding() {
    let profile = communication(10_000.0, 4_000.0, 2_000.0..8_000.0);
    let (facts, findings) = analyzed(&profile);
    let [found] = findings.as_slice() else {
        panic!("{findings:?}");
    };
    assert_eq!(found.pattern, "nccl_blocking_compute");
    assert_eq!(found.priority, Priority::Critical);
    assert_eq!(saves(found), (2_000_000, 3_000_000, 4_000_000));
    assert_eq!(facts.to_target_ns(), 2_000_000);
    assert_eq!(facts.own, facts.timeline);
    reasons(found, &["Only 2.00 ms of computation are left"]);
    let outcome = outcome(&profile, &ReportOptions::default());
    let patterns = outcome.get("patterns_detected").unwrap().text();
    assert_eq!(patterns, "nccl_blocking_compute, poor_comm_compute_overlap");
    // The kernel's name is not informative, but its operator is: 4 MB among 8 ranks in 6 ms.
    let row = &found.tables[0].rows[0];
    assert_eq!(row[0], Value::Text("all-reduce".to_owned()));
    assert_eq!(row[1], Value::Count(8));
    assert_eq!(row[3], Value::Bytes(4_000_000));
    assert_eq!(row[6], Value::Ns(4_000_000));
    let advice = "start the collectives earlier";
    assert!(found.model.starts_with(advice));
}

/// Without computation, or if kernels are missing, it is not known what communication overlaps with.
#[test]
fn of_a_part_of_the_kernels_nothing_is_said_of_overlap() {
    let launches = |n: u32| {
        let table = Timetable::new().launched("gemm", 0..1, 0..2_000).launched(
            "ncclDevKernel_AllReduce_Sum_bf16_RING_LL",
            1..2,
            2_000..9_000,
        );
        let missing = (0..n).fold(table, |table, at| table.launch(at + 1, 10 + at..11 + at));
        missing.launched("gemm", 100..101, 9_000..10_000).profile()
    };
    let patterns = |profile: &Profile| keys(&analyzed(profile).1).join(" ");
    assert_eq!(patterns(&launches(0)), "nccl_blocking_compute");
    let partial = launches(20);
    assert_eq!(patterns(&partial), "");
    let notes = outcome(&partial, &ReportOptions::default()).notes;
    assert!(
        notes
            .iter()
            .any(|note| note.text.contains("does not hold all kernels"))
    );
}

/// The same with 7 ms of computation, 5 ms of which are free: all 4 ms can be hidden.
#[test]
fn overlap_wins_what_there_is_computation_to_hide_behind() {
    let profile = communication(11_000.0, 7_000.0, 5_000.0..11_000.0);
    let (facts, findings) = analyzed(&profile);
    assert_eq!(saves(&findings[0]), (2_200_000, 3_100_000, 4_000_000));
    assert_eq!(facts.to_target_ns(), 2_200_000);
    reasons(&findings[0], &["2.20 ms are saved, with all of it 4.00 ms"]);
}
