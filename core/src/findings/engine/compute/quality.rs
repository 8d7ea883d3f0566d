//! Notes about figures that are not trustworthy, for every kind of work.

use super::{Gate, short_name};
use crate::assess::Thresholds;
use crate::base::format;
use crate::findings::Input;
use crate::findings::engine::outcome::Row;
use crate::profile::Profile;

/// Notes about rows above the roofline, or with times that differ much between calls.
pub(super) fn notes(input: &Input, rows: &[Row]) -> Vec<String> {
    /// With more names a note is unreadable.
    const MAX_NAMES: usize = 5;
    let thresholds = &input.options.thresholds;
    let list = |rows: Vec<(&Row, String)>| {
        let n_more = rows.len().saturating_sub(MAX_NAMES);
        let named = rows.iter().take(MAX_NAMES).map(|(row, figure)| {
            let name = short_name(input, input.operation(row.operation));
            format!("`{name}` ({figure})")
        });
        let mut text = named.collect::<Vec<_>>().join(", ");
        if n_more > 0 {
            text.push_str(&format!(" and {n_more} more"));
        }
        (!text.is_empty()).then_some(text)
    };
    let above = rows.iter().filter(|row| row.is_anomaly).filter_map(|row| {
        let percent = row.efficiency_percent?;
        Some((row, format!("{} of roofline", format::percent(percent))))
    });
    let varying = rows.iter().filter_map(|row| {
        let least = thresholds.variance_percent_of_total;
        let ratio = varies(input.profile, row, thresholds, least)?;
        let ratio = format::number(ratio);
        Some((row, format!("deviation {ratio} times the mean")))
    });
    let above = list(above.collect()).map(|names| {
        format!("Faster than the roofline, so shapes, times or figures are not those of this run, or the data stays in caches; not ranked: {names}.")
    });
    let varying = list(varying.collect()).map(|names| {
        format!("Calls with equal arguments vary widely in time, so their mean is not representative: {names}.")
    });
    let shared = rows.iter().filter_map(|row| {
        let alone = row
            .shared_percent
            .filter(|_| is_large_part(row, thresholds))?;
        let each = format::percent(row.efficiency_percent?);
        Some((row, format!("{each} and {}", format::percent(alone))))
    });
    let shared = list(shared.collect()).map(|names| {
        format!("These run while other kernels compute and share the GPU with them, so each is compared with the roofline by its part of the time (% of roofline by kernel time and by that part): {names}.")
    });
    let notes = [above, varying, shared, negligible_in_idle_run(input, rows)];
    notes.into_iter().flatten().collect()
}

fn is_large_part(row: &Row, thresholds: &Thresholds) -> bool {
    let percent = row.percent_of_total;
    percent.is_some_and(|percent| percent >= thresholds.gate_percent_of_total)
}

/// How much the calls of a row vary in time, if that is much, the row takes at least this percentage of the run, and
/// recorded shapes prove that the calls are equal.
pub(crate) fn varies(
    profile: &Profile,
    row: &Row,
    thresholds: &Thresholds,
    least_percent: f64,
) -> Option<f64> {
    let operation = profile.operations().get(row.operation)?;
    let of_total = row.percent_of_total;
    let is_large = of_total.is_some_and(|percent| percent >= least_percent);
    let has_shapes = !operation.dims(profile).is_empty();
    row.variation
        .filter(|ratio| is_large && has_shapes && *ratio > thresholds.variance_ratio)
}

/// A note that rows are slow and a significant part of their kind, but negligible in a run that is mostly idle.
fn negligible_in_idle_run(input: &Input, rows: &[Row]) -> Option<String> {
    let thresholds = &input.options.thresholds;
    let computation_ns = input.timelines.whole.as_ref()?.computation_ns;
    let computation = computation_ns as f64 / input.total_ns()? as f64 * 100.0;
    if computation > MOSTLY_IDLE_PERCENT {
        return None;
    }
    let gate = Gate::of(input, 0.0);
    let is_negligible = |row: &&Row| {
        let of_total = row.percent_of_total;
        row.percent_of_category > thresholds.gate_percent_of_category
            && of_total.is_some_and(|percent| percent < thresholds.gate_percent_of_total)
            && gate.is_slow(row)
    };
    let n = rows.iter().filter(is_negligible).count() as u64;
    let lines = [
        thresholds.gate_efficiency_percent,
        thresholds.gate_percent_of_total,
        computation,
    ];
    let [low, least, computes] = lines.map(format::percent);
    let (rows, each, them) = match n {
        0 => return None,
        1 => ("1 row is".to_owned(), "and", "it"),
        n => (format!("{} rows are", format::count(n)), "each", "them"),
    };
    Some(format!(
        "{rows} below {low} of roofline, {each} less than {least} of a run that computes for {computes} of its time: not ranked. Record steps without start-up to have {them} judged."
    ))
}

/// A run that computes for a smaller share of its time says little about its kernels.
const MOSTLY_IDLE_PERCENT: f64 = 10.0;

#[cfg(test)]
mod tests {
    use crate::report::{Report, ReportOptions};
    use crate::testing::{Timetable, options_on};

    /// The notes of GEMMs.
    fn notes(timetable: Timetable, options: &ReportOptions) -> String {
        let report = Report::new(&timetable.profile(), options);
        let outcome = report.analyses.outcome("gemm").unwrap();
        let notes = outcome.note_texts();
        notes
            .filter(|note| !note.starts_with("No GPU profile"))
            .collect()
    }

    fn square(n: u32) -> String {
        format!("{n}x{n}*2")
    }

    #[test]
    fn what_is_faster_than_the_hardware_is_said() {
        // 2 · 8 192³ operations at 708 TFLOPS take 1 553 µs; 1 000 µs are 155 % of roofline.
        let gemm = |us: u32| {
            let gemm = Timetable::new().call("aten::mm", &square(8192), "gemm", 100..100 + us);
            notes(gemm, &options_on("MI300X"))
        };
        assert_eq!(
            gemm(1000),
            "Faster than the roofline, so shapes, times or figures are not those of this run, or \
             the data stays in caches; not ranked: `aten::mm` (155 % of roofline)."
        );
        assert_eq!(gemm(2000), "");
    }

    /// 2 · 512³ operations at 708 TFLOPS take 0.4 of 40 µs; a second kernel makes the run 40 ms long.
    #[test]
    fn what_drowns_in_start_up_is_said() {
        let run = |end: u32| {
            let timetable = Timetable::new()
                .call("aten::mm", &square(512), "gemm", 100..140)
                .work("aten::sort", "sort", end - 1..end);
            notes(timetable, &options_on("MI300X"))
        };
        assert_eq!(
            run(40_100),
            "1 row is below 40.0 % of roofline, and less than 0.5 % of a run that computes for \
             0.1 % of its time: not ranked. Record steps without start-up to have it judged."
        );
        assert_eq!(run(300), "");
    }

    #[test]
    fn calls_that_differ_much_are_said_from_eleven_on() {
        // One call of 1 000 µs and n of 10 µs. For n = 10: mean 100, standard deviation 298.5.
        let run = |n: u32, args: &str, percent: f64| {
            let timetable = (0..=n).fold(Timetable::new(), |timetable, call| {
                let us = if call == 0 { 1000 } else { 10 };
                let start = 10_000 * (call + 1);
                timetable.call("aten::mm", args, "gemm", start..start + us)
            });
            let mut options = ReportOptions::default();
            options.thresholds.variance_percent_of_total = percent;
            notes(timetable, &options)
        };
        let usual = ReportOptions::default().thresholds;
        // In a run of 110 ms, 1.1 ms is 1 %: too little to matter.
        assert_eq!(run(10, &square(8192), usual.variance_percent_of_total), "");
        assert_eq!(
            run(10, &square(8192), 0.5),
            "Calls with equal arguments vary widely in time, so their mean is not representative: \
             `aten::mm` (deviation 2.98 times the mean)."
        );
        assert_eq!(run(9, &square(8192), 0.5), "");
        // Without recorded shapes, calls may have different sizes.
        assert_eq!(run(10, r#""Sequence number": 1"#, 0.5), "");
    }
}
