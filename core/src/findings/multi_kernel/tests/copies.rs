//! Copies by direction: what is flagged, what it saves, what is advised.

use super::*;

/// Copies of `each_us` at the end of a run of 10 ms that otherwise computes.
pub(super) fn copies(name: &str, count: u32, each_us: f64) -> Profile {
    let end = 10_000.0 - f64::from(count) * each_us;
    let mut timetable = Timetable::new()
        .without_flows()
        .op("aten::mm", 0..10)
        .launch(1, 1..2)
        .op("aten::item", 20..90)
        .op("aten::_local_scalar_dense", 21..89);
    for id in 0..count {
        let at = 22.0 + f64::from(id) * 0.1;
        timetable = timetable.runtime("cudaMemcpyAsync", 10 + id, at..at + 0.05);
    }
    timetable = timetable.kernel(1, "gemm", 0.0..end);
    for id in 0..count {
        let at = end + f64::from(id) * each_us;
        timetable = timetable
            .copy(10 + id, name, at..at + each_us)
            .args(r#""bytes": 4000"#);
    }
    timetable.profile()
}

#[test]
fn copies_are_flagged_above_ten_and_time_holds_counts_back() {
    // Share of the run of 10 ms: 1 µs each is 0.01 % of it.
    let cases: &[(u32, f64, bool, &str, &str, &str)] = &[
        // Ten are not flagged, eleven are. Their time is negligible: at most one level higher.
        (10, 1.0, false, "ACCEPTABLE", "LOW", "LOW"),
        (11, 1.0, true, "ACCEPTABLE", "MEDIUM", "LOW"),
        // A hundred and one tiny copies are not critical: 1.01 %, low, raised by one level.
        (101, 1.0, true, "LOW", "CRITICAL", "MEDIUM"),
        // 0.2 %: negligible time.
        (20, 1.0, true, "ACCEPTABLE", "MEDIUM", "LOW"),
        // Exactly 5 % is medium and not flagged, more is high.
        (5, 100.0, false, "MEDIUM", "ACCEPTABLE", "MEDIUM"),
        (5, 101.0, true, "HIGH", "ACCEPTABLE", "HIGH"),
        // Above 10 %.
        (5, 250.0, true, "CRITICAL", "ACCEPTABLE", "CRITICAL"),
    ];
    for &(count, each_us, is_flagged, by_time, by_count, severity) in cases {
        let (facts, findings) = analyzed(&copies(D2H, count, each_us));
        let assessed = facts.assess(Direction::DeviceToHost).unwrap();
        let case = format!("{count} of {each_us} µs: {assessed:?}");
        assert_eq!(assessed.copies.count, u64::from(count), "{case}");
        assert_eq!(assessed.is_flagged, is_flagged, "{case}");
        assert_eq!(assessed.by_time.label(), by_time, "{case}");
        assert_eq!(assessed.by_count.label(), by_count, "{case}");
        assert_eq!(assessed.severity().label(), severity, "{case}");
        assert_eq!(assessed.copies.avg_bytes(), Some(4000), "{case}");
        let expected = is_flagged.then_some("high_d2h_memcpy");
        assert_eq!(keys(&findings), Vec::from_iter(expected), "{case}");
    }
}

#[test]
fn a_finding_says_who_asks_for_the_copies() {
    let (_, findings) = analyzed(&copies(D2H, 20, 50.0));
    let [found] = findings.as_slice() else {
        panic!("{findings:?}");
    };
    // 20 times 50 µs is 1 ms of 10 ms: ten percent, not more.
    assert_eq!(found.priority, Priority::High);
    assert_eq!(found.time_ns, 1_000_000);
    assert_eq!(found.impact.map(|impact| impact.high_ns), Some(1_000_000));
    let takes = "20 copies take 1.00 ms (10.0 % of the run)";
    assert!(found.issue.contains(takes));
    let from = "20 of 20 come from `aten::_local_scalar_dense` (`.item()`";
    reasons(found, &[from]);
    // 4 000 bytes in 50 µs is 0.08 GB/s.
    let bandwidth = found.tables[0].rows[0].last();
    assert_eq!(bandwidth, Some(&Value::GbPerS(0.08)));
}

#[test]
fn pageable_memory_and_the_line_of_the_user_are_named() {
    let profile = Timetable::new()
        .frame("train.py(12): step", 0..100)
        .frame("torch/_tensor.py(40): to", 1..99)
        .op("aten::copy_", 2..98)
        .launched(H2D, 10..97, 20..90)
        .kernel(2, "gemm", 0.0..10.0)
        .profile();
    let (facts, findings) = analyzed(&profile);
    assert_eq!(facts.worst_copies(), Severity::Critical);
    assert_eq!(findings[0].pattern, "high_h2d_memcpy");
    let row = &findings[0].tables[0].rows[0];
    assert_eq!(row[1], Value::Text("pageable".to_owned()));
    assert_eq!(row[2], Value::Quoted("aten::copy_".to_owned()));
    assert_eq!(row[3], Value::Quoted("train.py(12): step".to_owned()));
    // The call returned after the copy: the CPU waited for all of its 87 µs.
    reasons(&findings[0], &["blocked the CPU for 87.0 µs"]);
    assert_contains(&findings[0].issue, &[", in `step` in `train.py:12`."]);
}

/// 8 copies of 1 ms on GPU 0 are 40 % of 20 ms, whatever another GPU does.
#[test]
fn what_another_gpu_does_makes_copies_no_cheaper() {
    let found = |has_other: bool| {
        let mut timetable = (0..8).fold(Timetable::new(), |timetable, id| {
            timetable.work("aten::to", H2D, 1_000 * id..1_000 * (id + 1))
        });
        timetable = timetable.work("aten::mm", "gemm", 8_000..20_000);
        if has_other {
            timetable = timetable.gpu(1).work("aten::mul", "mul", 9_000..9_002);
        }
        let (_, findings) = analyzed(&timetable.profile());
        (findings[0].issue.clone(), findings[0].impact)
    };
    let (issue, impact) = found(true);
    assert!(issue.contains("8 copies take 8.00 ms (40.0 % of the run)"));
    assert_eq!((issue, impact), found(false));
}

/// ```text
/// ms     0       1       2       3       4
/// host   [copy]          [gemm]
/// GPU    [= copy 1 =)    [= gemm =======)
/// ```
#[test]
fn copies_that_are_over_before_the_next_launch_win_nothing() {
    let profile = Timetable::new()
        .work("aten::to", PINNED_H2D, 10..1_010)
        .op("aten::mm", 2_000..2_010)
        .launched("gemm", 2_001..2_002, 2_010..4_010)
        .profile();
    let (_, findings) = analyzed(&profile);
    assert_eq!(saves(&findings[0]), (0, 0, 1_000_000));
    reasons(&findings[0], &["All of this is saved only once"]);
}

/// One of 6 copies of 330 µs, which take 15 % of the run, is exposed: 2.5 % of the run; the others cost nothing.
#[test]
fn copies_beside_computation_count_by_what_they_cost() {
    let mut timetable = Timetable::new();
    timetable = timetable.work("aten::mm", "gemm", 0..12_870).stream(21);
    for at in [1_000, 3_000, 5_000, 7_000, 9_000, 12_870] {
        timetable = timetable.work("aten::to", D2H, at..at + 330);
    }
    let (facts, findings) = analyzed(&timetable.profile());
    let assessed = facts.assess(Direction::DeviceToHost);
    assert_eq!(assessed.map(|assessed| assessed.percent), Some(15.0));
    assert!(findings.is_empty(), "{findings:?}");
}

#[test]
fn pinned_memory_is_not_to_be_pinned() {
    let cases = [
        (H2D, "pin host memory"),
        (
            PINNED_H2D,
            "host memory is pinned already: start copies earlier",
        ),
    ];
    for (name, expected) in cases {
        let model = &analyzed(&copies(name, 20, 50.0)).1[0].model;
        assert!(model.starts_with(expected), "{model}");
    }
}

/// 3 copies of 100 µs in 10 ms are 3 %: enough for exposed copies of pageable memory.
#[test]
fn exposed_copies_of_pageable_memory_are_flagged_from_two_percent() {
    let cases = [
        (H2D, 3, 100.0, true),
        (H2D, 2, 100.0, false),
        (PINNED_H2D, 3, 100.0, false),
        ("Memcpy HtoD (Host -> Device)", 3, 100.0, false),
    ];
    for (name, count, each_us, is_flagged) in cases {
        let (_, findings) = analyzed(&copies(name, count, each_us));
        assert_eq!(findings.len(), usize::from(is_flagged), "{name} {count}");
    }
}

/// In 500 µs: 100 µs of copies of gradients, 50 µs of gathering buffers, called from a frame.
#[test]
fn copies_of_data_parallel_training_are_its_own() {
    let profile = Timetable::new()
        .work("aten::mm", "gemm", 100..450)
        .op("torch.distributed.ddp.reducer::copy_bucket_to_grad", 10..30)
        .op("aten::copy_", 11..29)
        .launched(D2D, 12..13, 450..550)
        .frame(
            "torch/nn/parallel/distributed.py(2174): _sync_module_buffers",
            30..50,
        )
        .launched(D2D, 32..33, 550..600)
        .profile();
    let (_, findings) = analyzed(&profile);
    let found = &findings[0];
    assert_eq!(found.pattern, "high_d2d_memcpy");
    let settings = ["gradient_as_bucket_view=True", "broadcast_buffers=False"];
    assert_contains(&found.model, &settings);
    let gradients = "1 of 2 copies gradients out of the buckets";
    reasons(found, &[gradients, "1 of 2 copies buffers of the model"]);
    let rows = &found.tables[0].rows;
    let by = "torch.distributed.ddp.reducer::copy_bucket_to_grad";
    assert_eq!(rows[0][2].text(), by);
    let below = "distributed.py(2174): _sync_module_buffers";
    assert_eq!(rows[1][3].text(), below);
}

/// 2 ms of copies concurrent with a GEMM of 9 ms: nothing waits for them.
#[test]
fn hidden_copies_are_no_finding() {
    let found = |start: u32| {
        let mut timetable = Timetable::new();
        timetable = timetable.work("aten::mm", "gemm", 1_000..10_000).stream(9);
        for id in 0..20 {
            let at = start + 100 * id;
            timetable = timetable.work("aten::to", D2H, at..at + 100);
        }
        let (_, findings) = analyzed(&timetable.profile());
        let priorities = findings.iter().map(|found| found.priority);
        priorities.collect::<Vec<_>>()
    };
    assert_eq!(found(2_000), []);
    // The last of them ends 100 µs after the GEMM: low cost, raised by one level.
    assert_eq!(found(8_100), [Priority::Medium]);
}

#[test]
fn large_copies_are_not_to_be_combined_or_kept() {
    let advice = |name: &str| {
        let profile = Timetable::new()
            .work("aten::to", name, 100..600)
            .args(r#""bytes": 12000000"#)
            .work("aten::to", name, 600..1_100)
            .args(r#""bytes": 12000000"#)
            .profile();
        let found = analyzed(&profile).1[0].clone();
        (found.model, found.kernel)
    };
    let (_, kernel) = advice(H2D);
    assert!(!kernel.contains("combine"), "{kernel}");
    let (model, _) = advice("Memcpy DtoH (Device -> Pageable)");
    assert_contains(&model, &["pinned buffer", "non_blocking=True"]);
    assert!(!advice(D2H).0.contains("pinned buffer"));
}

/// ROCm labels a read into pinned memory as a copy within the GPU; its call has the real direction.
#[test]
fn the_call_says_where_a_copy_goes() {
    let d2h = |call: &str| {
        let profile = Timetable::new()
            .without_flows()
            .op("aten::_local_scalar_dense", 0..10)
            .runtime("hipMemcpyWithStream", 1, 1..9)
            .args(call)
            .copy(1, D2D, 4..6)
            .profile();
        let (facts, _) = analyzed(&profile);
        let report = Report::new(&profile, &ReportOptions::default());
        let count = facts.copies.of(Direction::DeviceToHost);
        let count = count.map(|copies| copies.count);
        (count, report.evaluations[0].is_over_link)
    };
    assert_eq!(d2h(r#""kind": "2""#), (Some(1), true));
    assert!(!d2h(r#""kind": "3""#).1);
    assert!(!d2h(r#""kind": "4""#).1);
}

#[test]
fn one_copy_and_one_collective_are_in_the_singular() {
    let (_, findings) = analyzed(&copies(PINNED_H2D, 1, 1_500.0));
    let copy = &findings[0];
    let takes = "1 copy takes 1.50 ms (15.0 % of the run)";
    assert!(copy.issue.starts_with(takes));
    assert_contains(&copy.issue, &["; it moves 4.00 kB at 0.003 GB/s."]);
    reasons(copy, &["1 of 1 comes from"]);
    assert!(!copy.kernel.contains("combine"), "{}", copy.kernel);
    let (_, findings) = analyzed(&communication(10_000.0, 4_000.0, 2_000.0..8_000.0));
    reasons(&findings[0], &["all-reduce of 4.00 MB, 1 time: 4.00 ms"]);
}

/// Two copies of 400 µs in `torch.save`, and one of 100 µs outside.
#[test]
fn copies_of_a_checkpoint_are_named_with_its_caller() {
    const PAGEABLE: &str = "Memcpy DtoH (Device -> Pageable)";
    let copied = |timetable: Timetable, at: u32, us: u32| {
        timetable.launched(PAGEABLE, at..at + us, at..at + us)
    };
    let saved = |file: &str| {
        let timetable = Timetable::new()
            .work("aten::mm", "gemm", 0..100)
            .frame("train.py(40): train_step", 100..2_000)
            .frame(file, 110..1_000);
        let timetable = copied(copied(timetable, 120, 400), 520, 400);
        let profile = copied(timetable, 1_100, 100).profile();
        analyzed(&profile).1.remove(0)
    };
    let found = saved("torch/serialization.py(850): save");
    assert_eq!(found.title, "Device-to-host copies of a checkpoint");
    let place = "in `save` in `serialization.py:850` (called by `train_step` in `train.py:40`)";
    assert_contains(&found.issue, &[place]);
    assert_contains(&found.model, &["async_save"]);
    let other = saved("metrics.py(7): read");
    assert_eq!(other.title, "Device-to-host copies");
}

/// Weights that are copied for 9 ms of 10 ms, 250 MB in each of 9 copies, and computation of `compute` µs beside or
/// after them.
fn streamed(name: &str, stream: u32, compute: std::ops::Range<u32>) -> Finding {
    let mut timetable = Timetable::new();
    timetable = timetable.work("aten::mm", "gemm", compute).stream(stream);
    for id in 0..9 {
        let at = 1_000 * id;
        timetable = timetable.work("aten::copy_", name, at..at + 1_000);
        timetable = timetable.args(r#""bytes": 50000000"#);
    }
    analyzed(&timetable.profile()).1.remove(0)
}

/// 9 times 5 MB at 5 GB/s from pageable memory: at 12 GB/s they would take 3.75 of 9 ms.
#[test]
fn pinned_memory_alone_makes_slow_copies_faster() {
    let copies = |name: &str| {
        let timetable = Timetable::new().work("aten::mm", "gemm", 9_000..10_000);
        let timetable = (0..9).fold(timetable.stream(22), |timetable, id| {
            let timetable = timetable.work("aten::copy_", name, 1_000 * id..1_000 * (id + 1));
            timetable.args(r#""bytes": 5000000"#)
        });
        analyzed(&timetable.profile()).1.remove(0)
    };
    let pageable = copies(H2D);
    assert_eq!(saves(&pageable).0, 5_250_000);
    assert_contains(
        &pageable.issue,
        &["; they move 5.00 MB each on average, at 5.00 GB/s"],
    );
    reasons(&pageable, &["at that rate alone 5.25 ms are saved"]);
    let pinned = copies(PINNED_H2D);
    assert_eq!(saves(&pinned).0, 1_000_000);
    // Pinned memory reaches 12 GB/s on the slowest of such links.
    assert_eq!(pinned.title, "Host-to-device copies over a slow link");
}

/// ```text
/// ms      0                   9      10
/// copies  [= 9 times 50 MB ===)
/// GEMM                        [======)
/// ```
#[test]
fn copies_beyond_the_computation_are_saved_by_fewer_bytes_alone() {
    // 1 ms of kernels can hide 1 ms, whatever is copied.
    let found = streamed(PINNED_H2D, 22, 9_000..10_000);
    assert_eq!(
        found.title,
        "Host-to-device copies: more than kernels can hide"
    );
    assert!(
        found.model.starts_with("move fewer bytes"),
        "{}",
        found.model
    );
    assert_eq!(saves(&found), (1_000_000, 5_000_000, 9_000_000));
    let own = "They have a stream of their own, and only 1.00 ms of kernels are left";
    reasons(&found, &[own, "the other 8.00 ms shrink with fewer bytes"]);
    // Pageable memory is to be pinned first.
    let pageable = streamed(H2D, 22, 9_000..10_000);
    assert!(
        pageable.model.starts_with("pin host memory"),
        "{}",
        pageable.model
    );
    assert_eq!(saves(&pageable).0, 1_000_000);
    // The same to the host.
    let offloaded = streamed(D2H, 22, 9_000..10_000);
    assert_eq!(
        offloaded.title,
        "Device-to-host copies: more than kernels can hide"
    );
}

#[test]
fn copies_that_computation_can_hide_are_to_start_earlier() {
    // On a stream of their own, which is no longer to be advised.
    let apart = streamed(PINNED_H2D, 22, 9_000..20_000);
    assert_eq!(saves(&apart), (6_750_000, 7_875_000, 9_000_000));
    assert_contains(
        &apart.model,
        &["a stream of their own already: start them earlier"],
    );
    let offloaded = streamed(D2H, 22, 9_000..20_000);
    assert_contains(&offloaded.model, &["a stream of their own already"]);
    // On the stream of the kernels.
    let same_stream = streamed(PINNED_H2D, 7, 9_000..20_000);
    assert_contains(
        &same_stream.model,
        &["start copies earlier, on a stream of their own"],
    );
    // What overlaps already leaves less to overlap with: 9 ms of kernels, 4 of them beside copies.
    let partly = streamed(PINNED_H2D, 22, 5_000..14_000);
    assert_eq!(saves(&partly), (3_750_000, 4_375_000, 5_000_000));
}
