//! Why operations are slow, on real traces: the components of the gap sum up, no saving exceeds its cause, and small
//! traces with one issue each get the expected findings.

use std::cmp::Reverse;
use std::fmt::Write;

use dormer_core::assess::waterfall::{Cause, Waterfall};
use dormer_core::base::format;
use dormer_core::base::interval::percent_of;
use dormer_core::hardware;
use dormer_core::output::json::findings::findings as findings_json;
use serde_json::Value;

use crate::support::opened::{Opened, profile, report_on};
use crate::support::page::assert_table;
use crate::support::shared;

/// Below this percentage of its roofline, an operation needs a cause.
const LOW_PERCENT: f64 = 70.0;

/// The percentage of such operations' kernel time that has a named cause.
const NAMED_PERCENT: f64 = 90.0;

/// Every trace of the folder, on its own GPU.
fn opened() -> Vec<Opened> {
    let Some(folder) = shared::folder() else {
        return Vec::new();
    };
    let names = shared::traces(&folder).into_iter();
    names
        .map(|name| Opened::new(&name, shared::trace(&folder, &name)))
        .collect()
}

/// The waterfall of each operation with a roofline.
fn waterfalls(opened: &Opened) -> Vec<(usize, Waterfall)> {
    let input = opened.report.analysis_input(&opened.profile);
    let all = 0..opened.profile.operations().len();
    all.filter_map(|at| Some((at, Waterfall::of(&input, at)?)))
        .collect()
}

#[test]
fn the_parts_of_a_gap_sum_up_to_the_measured_time() {
    for opened in opened() {
        for (at, waterfall) in waterfalls(&opened) {
            let steps: i64 = waterfall.steps.iter().map(|step| step.ns).sum();
            let name = opened.profile.operations()[at].short_name(&opened.profile);
            let of_it = format!("{} {name}", opened.name);
            assert_eq!(
                waterfall.roofline_ns + steps,
                waterfall.measured_ns,
                "{of_it}"
            );
            assert!(
                waterfall
                    .steps
                    .iter()
                    .all(|step| step.ns >= 0 && step.factor >= 1.0),
                "{of_it}"
            );
            let causes: Vec<Cause> = waterfall.steps.iter().map(|step| step.cause).collect();
            assert!(causes.is_sorted(), "{of_it}: {causes:?}");
        }
    }
}

/// The table of `docs/diagnosis.md`.
#[test]
fn what_is_far_from_its_roofline_has_a_named_cause() {
    let opened = opened();
    if opened.is_empty() {
        return;
    }
    let mut rows = "| trace | kernel time below 70 % of roofline | with a named cause | of their gaps: steps | unexplained | the longest of them |\n| --- | ---: | ---: | ---: | ---: | --- |\n".to_owned();
    for opened in opened {
        let all = waterfalls(&opened);
        let is_low = |waterfall: &Waterfall| {
            let percent = waterfall.roofline_percent();
            percent.is_some_and(|percent| percent < LOW_PERCENT)
        };
        let low: Vec<_> = all
            .iter()
            .filter(|(_, waterfall)| is_low(waterfall))
            .collect();
        let sum = |of: &dyn Fn(&Waterfall) -> i64| low.iter().map(|(_, one)| of(one)).sum::<i64>();
        let low_ns = sum(&|one| one.measured_ns);
        let named_ns = sum(&|one| {
            let named_ns = one.measured_ns - one.roofline_ns - one.ns(Cause::Unexplained);
            let gap_ns = one.measured_ns - one.roofline_ns;
            // Steps that explain hardly anything are not a cause.
            let is_named = !one.facts.is_empty() || named_ns * 10 >= gap_ns;
            if is_named { one.measured_ns } else { 0 }
        });
        let gap_ns = sum(&|one| one.measured_ns - one.roofline_ns);
        let rest_ns = sum(&|one| one.ns(Cause::Unexplained));
        let longest = low
            .iter()
            .max_by_key(|(at, one)| (one.measured_ns, Reverse(*at)));
        let longest = longest.map_or_else(String::new, |(at, one)| {
            let name = opened.profile.operations()[*at].short_name(&opened.profile);
            let step = one.largest(None).map(|step| step.text());
            let first = one
                .facts
                .first()
                .map(|fact| fact.text())
                .or(step)
                .unwrap_or_default();
            let name = format::middle_ellipsis(&format::kernel_name(name), 48);
            format!("`{name}`: {first}")
        });
        let percent = |part, all| percent_of(part, all).map_or("–".to_owned(), format::percent);
        let _ = writeln!(
            rows,
            "| {} | {} | {} | {} | {} | {longest} |",
            opened.name,
            format::time_ns(low_ns),
            percent(named_ns, low_ns),
            percent(gap_ns - rest_ns, gap_ns),
            percent(rest_ns, gap_ns),
        );
        let named = percent_of(named_ns, low_ns);
        assert!(
            named.is_none_or(|named| named >= NAMED_PERCENT),
            "{}: {named:?}",
            opened.name
        );
    }
    assert_table("what_is_far_from_its_roofline_has_a_named_cause", &rows);
}

/// A finding titled by a step saves at most that step of its operations.
#[test]
fn no_saving_exceeds_its_cause() {
    let by_step = [
        (
            "few_output_tiles",
            &[Cause::TilePadding, Cause::WaveQuantization][..],
        ),
        (
            "partly_filled_gpu",
            &[Cause::TilePadding, Cause::WaveQuantization],
        ),
        (
            "tile_padding",
            &[Cause::TilePadding, Cause::PaddedDimension],
        ),
        ("padded", &[Cause::TilePadding, Cause::PaddedDimension]),
        ("head_dimension", &[Cause::PaddedDimension]),
        ("helper_kernels", &[Cause::Helpers]),
        ("calls_differ", &[Cause::Spread]),
    ];
    for opened in opened() {
        let input = opened.report.analysis_input(&opened.profile);
        for ranked in &opened.report.analyses.findings.ranked {
            let finding = &ranked.finding;
            let Some(impact) = finding.impact else {
                continue;
            };
            assert!(
                impact.high_ns <= finding.time_ns,
                "{} {}",
                opened.name,
                finding.title
            );
            let Some((_, causes)) = by_step.iter().find(|(key, _)| *key == finding.pattern) else {
                continue;
            };
            let of_memory = finding.operations.iter().any(|at| {
                let waterfall = Waterfall::of(&input, *at);
                waterfall
                    .is_none_or(|waterfall| causes.iter().all(|cause| waterfall.ns(*cause) == 0))
            });
            if of_memory {
                continue;
            }
            let each = finding
                .operations
                .iter()
                .filter_map(|at| Waterfall::of(&input, *at));
            let most_ns: i64 = each
                .map(|waterfall| causes.iter().map(|cause| waterfall.ns(*cause)).sum::<i64>())
                .sum();
            assert!(
                impact.high_ns <= most_ns,
                "{} {}",
                opened.name,
                finding.title
            );
        }
    }
}

/// Factors verified by hand, by kernel names as recorded: for the operation with these sizes, tile padding and the last
/// wave.
#[test]
fn factors_are_those_that_were_checked_by_hand() {
    let Some(folder) = shared::folder() else {
        return;
    };
    // 8×8 results in tiles of 16×448 (7 168 for 64); 8×64 in 16×256 (4 096 for 512).
    #[rustfmt::skip]
    let cases = [
        ("mi300_timesformer", "[37632, 8, 64]", "[37632, 64, 8]", 112.0, None),
        ("mi300_timesformer", "[37632, 8, 8]", "[37632, 8, 64]", 8.0, None),
        // 133 tiles, which the launch splits in two along K: 266 workgroups on 304 units.
        ("xdit_sd35", "[666, 9728]", "[9728, 2432]", 1.01, Some((Some(133), 266, 1.14))),
        ("h100_qwen", "[8944, 1024]", "[1024, 1024]", 1.0, Some((Some(560), 560, 1.18))),
        ("xdit_sd35", "[8192, 2432]", "[2432, 9728]", 1.01, Some((Some(1406), 1406, 1.08))),
    ];
    for (name, a, b, padding, waves) in cases {
        let opened = Opened::new(name, shared::trace(&folder, name));
        let found = waterfalls(&opened).into_iter().find(|(at, _)| {
            let operation = &opened.profile.operations()[*at];
            let args = operation.args(&opened.profile);
            let dims = args
                .and_then(|args| args.dims.as_deref())
                .unwrap_or_default();
            let shapes: Vec<String> = dims
                .iter()
                .filter_map(|dims| match dims {
                    dormer_core::trace::Dims::One(id) => {
                        Some(format!("{:?}", opened.profile.trace.args.shape(*id)))
                    }
                    dormer_core::trace::Dims::Many(_) => None,
                })
                .collect();
            shapes.windows(2).any(|two| two[0] == a && two[1] == b)
        });
        let (_, waterfall) = found.unwrap_or_else(|| panic!("{name} has no {a} by {b}"));
        let factor = |cause| waterfall.step(cause).map_or(1.0, |step| step.factor);
        assert!(
            (factor(Cause::TilePadding) - padding).abs() < 0.01 * padding,
            "{name} {a}: {waterfall:?}"
        );
        let Some((tiles, workgroups, waves)) = waves else {
            continue;
        };
        let step = waterfall.step(Cause::WaveQuantization).unwrap();
        assert!((step.factor - waves).abs() < 0.01, "{name} {a}: {step:?}");
        let detail = dormer_core::assess::waterfall::Detail::Waves {
            tiles,
            workgroups,
            units: if name.starts_with("h100") { 132 } else { 304 },
        };
        assert_eq!(step.detail, detail, "{name} {a}");
    }
}

/// The expected findings of small traces with one issue each, on an MI300X.
#[test]
fn small_traces_say_what_their_trouble_is() {
    let Some(folder) = shared::folder() else {
        return;
    };
    // (trace, pattern of the first finding, % of roofline, words of its title and issue)
    type Case = (
        &'static str,
        Option<(&'static str, f64)>,
        &'static [&'static str],
    );
    #[rustfmt::skip]
    let cases: [Case; 6] = [
        ("gemm_02_compute_non_pow2", Some(("few_output_tiles", 22.7)), &["153 tiles on 304 compute units", "×1.99", "×1.19", "M = 1 025, N = 1 025", "16-byte aligned", "unexplained"]),
        ("sdpa_02_very_long_seq_head_waste", Some(("head_dimension", 33.2)), &["Head dimension 192 computed as 256", "×1.33", "Padding the tensors does not help"]),
        ("conv_01_large_spatial_small_ch", Some(("few_input_channels", 2.7)), &["C_in = 3", "7×7 kernel", "FP32"]),
        ("conv_07_transposed", None, &["Transposed convolutions"]),
        ("moe_02_few_experts_many_tokens", None, &[]),
        ("moe_06_tiny_batch_many_experts", None, &[]),
    ];
    for (name, first, words) in cases {
        let bytes = std::fs::read(folder.join(format!("units/{name}.json.gz"))).unwrap();
        let profile = profile(&bytes);
        let report = report_on(&profile, hardware::find("MI300X"));
        let json = findings_json(&profile, &report);
        let found = json["findings"].as_array().unwrap();
        let text = found
            .iter()
            .map(Value::to_string)
            .collect::<String>()
            .replace(['\u{202f}', '\u{a0}'], " ");
        if let Some((pattern, percent)) = first {
            assert_eq!(found[0]["pattern"], pattern, "{name}");
            let reached = found[0]["efficiency_percent"].as_f64().unwrap();
            assert!((reached - percent).abs() < 0.06, "{name}: {reached}");
        }
        for word in words {
            assert!(
                text.contains(word),
                "{name} says nothing of “{word}”: {text}"
            );
        }
        if name.starts_with("gemm_02") {
            // With full waves and tiles without padding, it is at most 2.4 times as fast.
            let saved = found[0]["impact"]["high_ms"].as_f64().unwrap();
            let time = found[0]["time_ms"].as_f64().unwrap();
            assert!(time / (time - saved) <= 2.4, "{saved} of {time} ms");
        }
        if name.starts_with("conv_07") || name.starts_with("moe_06") {
            assert_eq!(found[0]["analysis"], "cpu_idle", "{name}");
            assert!(!text.contains("layout_change"), "{name}");
        }
        if name.starts_with("moe_02") {
            let nothing = dormer_core::report::cards::asides(&profile, &report)
                .nothing
                .unwrap();
            assert!(
                nothing.contains("48.") && nothing.contains("roofline"),
                "{nothing}"
            );
        }
    }
}
