//! Findings as cards: the wording that page and documents share.

use serde::{Deserialize, Serialize};

use super::Report;
use crate::base::format;
use crate::base::group::grouped;
use crate::base::interval::{percent_of, percent_or_zero, sum};
use crate::base::sort::{Arrange, Arranged};
use crate::findings::engine::compute::{
    at_efficiency, causes_of, efficiency, shapes, short_name, subject, time_ns,
};
use crate::findings::engine::finding::Effect;
use crate::findings::{
    Assessment, Estimate, Finding, Impact, Outcome, Priority, RankedFinding, Row, Tier,
};
use crate::hardware::roofline::Bound;
use crate::profile::Profile;
use crate::profile::operations::tensors::only_moves;

/// The color of a finding, given by its severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Light {
    /// In text.
    pub icon: &'static str,
    /// Its name in style sheets.
    pub key: &'static str,
}

impl Light {
    /// Red for critical or high, yellow for medium, green for low.
    pub fn of(priority: Priority) -> Light {
        let (icon, key) = match priority {
            Priority::Critical | Priority::High => ("🔴", "red"),
            Priority::Medium => ("🟡", "yellow"),
            Priority::Low => ("🟢", "green"),
        };
        Light { icon, key }
    }
}

/// The heading of a finding in the details. It is unique because the number is.
pub fn detail_heading(ranked: &RankedFinding) -> String {
    format!("P{} {}", ranked.number, ranked.finding.title)
}

/// The notes that accompany findings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asides {
    /// What all of them save together.
    pub together: Option<String>,
    /// States that findings were left out, if any were.
    pub small: Option<String>,
    /// Why there are no findings.
    pub nothing: Option<String>,
}

/// The notes that accompany the findings of a report.
pub fn asides(profile: &Profile, report: &Report) -> Asides {
    Asides {
        together: together(report),
        small: small(
            report.analyses.findings.n_small,
            report.options.thresholds.finding_percent_of_total,
            "the run",
        ),
        nothing: nothing(profile, report),
    }
}

/// The saving of a finding, as text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Savings {
    /// The range of time saved: "0.9–1.8 ms".
    pub time: String,
    /// The saving relative to the run; `None` if the run has no length.
    pub of_run: Option<SavingsOfRun>,
    /// Whether it is an upper bound, not an expected value.
    pub is_at_most: bool,
}

/// A saving relative to the whole run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SavingsOfRun {
    /// The range of its share: "3.2–6.1 %".
    pub share: String,
    /// The speedup of the run: "1.03–1.06×".
    pub speed_up: String,
    /// The ends of the share, for drawing.
    pub percent: (f64, f64),
}

impl Savings {
    /// The saving of an impact in a report.
    pub fn new(report: &Report, impact: &Impact) -> Savings {
        let is_at_most = impact.estimate == Estimate::UpperBound;
        // "Up to 0–145 µs" is the same as "up to 145 µs".
        let low_ns = match is_at_most && impact.low_ns == 0 {
            true => impact.high_ns,
            false => impact.low_ns,
        };
        let share = |ns: i64| percent_of(ns, report.run_ns()?);
        let ends = share(impact.low_ns).zip(share(impact.high_ns));
        let of_run = ends.zip(share(low_ns)).map(|(percent, low)| SavingsOfRun {
            share: format::range(&format::percent(low), &format::percent(percent.1)),
            speed_up: format::range(&speed_up(low), &speed_up(percent.1)),
            percent,
        });
        Savings {
            time: format::time_range_ns(low_ns, impact.high_ns),
            of_run,
            is_at_most,
        }
    }

    /// "0.9–1.8 ms, 3.2–6.1 % of the run (1.03–1.06× as fast)".
    pub fn sentence(&self) -> String {
        let Some(of_run) = &self.of_run else {
            return self.time.clone();
        };
        let up_to = if self.is_at_most { "up to " } else { "" };
        format!(
            "{up_to}{}, {} of the run ({} as fast)",
            self.time, of_run.share, of_run.speed_up
        )
    }
}

/// The speedup of a run that saves this percentage of its time.
fn speed_up(saved_percent: f64) -> String {
    let left_percent = (100.0 - saved_percent).max(0.0);
    format!("{}×", format::times_as_fast(100.0 / left_percent))
}

/// Shown when the saving of a finding is unknown.
pub(crate) const NOT_QUANTIFIABLE: &str = "Not quantifiable from a trace.";

/// Shown for a finding without a saving in time, in a sentence: the amount of memory that it saves, or that its saving
/// is unknown.
pub fn without_time(finding: &Finding) -> String {
    match finding.memory_bytes {
        Some(bytes) => format!("{} of GPU memory, no time.", format::bytes(bytes)),
        None if finding.saves_nothing => "No savings.".to_owned(),
        None => NOT_QUANTIFIABLE.to_owned(),
    }
}

/// The saving of a finding, in a sentence for its card.
pub(crate) fn impact_sentence(report: &Report, finding: &Finding) -> String {
    let Some(impact) = &finding.impact else {
        return without_time(finding);
    };
    let savings = Savings::new(report, impact).sentence();
    match impact.estimate {
        Estimate::Heuristic => format!("By rule of thumb {savings}."),
        _ if savings.starts_with("up to") => format!("U{}.", savings.trim_start_matches('u')),
        _ => format!("{savings}."),
    }
}

/// Findings about kernels that finish before the next are launched.
const LATE_LAUNCHES: &[&str] = &[
    "launch_bound",
    "eager_steps",
    "graph_breaks",
    "slow_launches",
    "piecewise_launches",
    "step_loop",
];

/// What all findings save together; `None` if the findings already show it.
fn together(report: &Report) -> Option<String> {
    let findings = &report.analyses.findings;
    let together = findings.together.as_ref()?;
    (findings.ranked.len() > 1).then(|| {
        let is_late = findings
            .ranked
            .iter()
            .any(|one| LATE_LAUNCHES.contains(&one.finding.pattern));
        let late = match is_late {
            true => " While the run is launch-bound, shorter kernels alone save nothing.",
            false => "",
        };
        let mut ranked = findings.ranked.iter();
        let limit =
            ranked.find(|one| one.finding.effect == Effect::Limit && one.finding.impact.is_some());
        let limit = limit.map_or(String::new(), |one| {
            format!(
                " Finding {} is the limit of what the others save, and is not added.",
                one.number
            )
        });
        format!(
            "All findings together: {}; savings of the same operation count once.{limit}{late}",
            Savings::new(report, together).sentence()
        )
    })
}

/// States that findings were left out; `None` if none were.
pub(crate) fn small(n_small: usize, least_percent: f64, run: &str) -> Option<String> {
    (n_small > 0).then(|| {
        format!(
            "{} worth less than {} of {run} {} left out.",
            format::counted(n_small as u64, "finding"),
            format::percent(least_percent),
            if n_small == 1 { "is" } else { "each are" }
        )
    })
}

/// Why there is nothing to do; `None` if there is.
fn nothing(profile: &Profile, report: &Report) -> Option<String> {
    if !report.analyses.findings.ranked.is_empty() {
        return None;
    }
    let has_gpu = report.overview.hardware.gpu.is_some();
    Some(match (profile.has_gpu_events(), has_gpu) {
        (false, _) => {
            let why = profile.without_gpu().trim_end_matches('.');
            format!("{why}, so there is nothing to recommend for it.")
        }
        (true, false) => {
            "No findings. Choose a GPU profile to see how far operations are from the roofline."
                .to_owned()
        }
        (true, true) => close_to_roofline(profile, report),
    })
}

/// States that nothing was found, and for how much of the time that holds. For the rest, the efficiency is unknown,
/// implausible, or low for reasons that are not findings.
fn close_to_roofline(profile: &Profile, report: &Report) -> String {
    let thresholds = &report.options.thresholds;
    let all_ns = sum(computing(report).map(|outcome| outcome.time_ns));
    if all_ns == 0 {
        return "No findings: nothing is computed.".to_owned();
    }
    let low = thresholds.gate_efficiency_percent;
    let rest = not_near_roofline(report, all_ns);
    let named = format::joined(
        rest.iter()
            .filter(|(percent, _)| *percent >= thresholds.finding_percent_of_total)
            .map(|(percent, what)| format!("{} {what}", format::percent(*percent))),
        "; ",
    );
    if let Some(moves) = only_moving(profile, report, all_ns) {
        let rest = match named.is_empty() {
            true => String::new(),
            false => format!(" Of compute time, {named}."),
        };
        return format!("No findings, but {moves}{rest}{}", little_idle(report));
    }
    let near = 100.0 - rest.iter().map(|(percent, _)| percent).sum::<f64>();
    let below = below_roofline(profile, report);
    let found = match (near > 50.0, named.is_empty()) {
        (true, true) if !below.is_empty() => format!(
            "No findings: no large operation is below {} of roofline. The longest of those below {}:",
            format::percent(low),
            format::percent(thresholds.efficiency_good_percent)
        ),
        (true, true) => "No findings: operations are near the roofline.".to_owned(),
        (true, false) => {
            format!("No findings: most operations are near the roofline. Of compute time, {named}.")
        }
        (false, _) => {
            format!(
                "No findings, but most of the compute time is not near the roofline or could not be assessed: {named}."
            )
        }
    };
    format!("{found}{below}{}", little_idle(report))
}

/// The outcomes of analyses of computation.
fn computing(report: &Report) -> impl Iterator<Item = &Outcome> {
    let outcomes = report.analyses.outcomes.iter();
    outcomes.filter(|outcome| outcome.kind.tier == Tier::Compute)
}

/// The parts of the compute time that are not near the roofline, in percent, each with what is said of it.
fn not_near_roofline(report: &Report, all_ns: i64) -> [(f64, String); 4] {
    let percent = |is_it: &dyn Fn(&Row) -> bool| {
        let rows = computing(report).flat_map(|outcome| &outcome.rows);
        let ns = sum(rows.filter(|row| is_it(row)).map(|row| row.time_ns));
        percent_or_zero(ns, all_ns)
    };
    let low = report.options.thresholds.gate_efficiency_percent;
    let is_low = |row: &Row| row.judged_percent().is_some_and(|percent| percent < low);
    // Rated by what is usual for its kind and size.
    let is_usual = |row: &Row| {
        let assessment = row.assessment;
        is_low(row) && assessment.is_some_and(|one| one != Assessment::NeedsInvestigation)
    };
    [
        (
            percent(&|row| row.efficiency_percent.is_none()),
            "has no FLOP/byte model".to_owned(),
        ),
        (
            percent(&|row| row.is_anomaly),
            "is above its roofline (data stays in caches, an algorithm takes fewer FLOPs, or shapes, times or GPU figures are off)"
                .to_owned(),
        ),
        (
            percent(&is_usual),
            format!(
                "is below {} of roofline, as is usual for its kind and size",
                format::percent(low)
            ),
        ),
        (
            percent(&|row| is_low(row) && !is_usual(row)),
            format!(
                "is below {} of roofline, too short or too small a part of the run to be ranked",
                format::percent(low)
            ),
        ),
    ]
}

/// States that much of the compute time only moves data: it computes nothing, however near the roofline it is.
fn only_moving(profile: &Profile, report: &Report, all_ns: i64) -> Option<String> {
    let input = report.analysis_input(profile);
    let moving = computing(report)
        .flat_map(|outcome| &outcome.rows)
        .filter(|row| only_moves(profile, input.operation(row.operation)))
        .arranged_by_key(|row| (std::cmp::Reverse(row.time_ns), row.operation));
    let percent = percent_of(time_ns(&moving), all_ns)?;
    let longest = moving.first()?;
    (percent > report.options.thresholds.high_percent_of_compute).then(|| {
        format!(
            "{} of compute time only moves data, however near the roofline: {} takes {}{}. Tuning saves little there; fusing it into a neighbor or leaving it out does.",
            format::percent(percent),
            subject(&input, &moving),
            format::time_ns(time_ns(&moving)),
            at_efficiency(longest.efficiency_percent),
        )
    })
}

/// The longest operations that are far below the roofline without being findings, and the known reasons.
fn below_roofline(profile: &Profile, report: &Report) -> String {
    const NAMED: usize = 3;
    let thresholds = &report.options.thresholds;
    let input = report.analysis_input(profile);
    let outcomes = report.analyses.outcomes.iter();
    let rows = outcomes.filter(|outcome| outcome.kind.tier == Tier::Compute);
    let is_below = |row: &&Row| {
        let is_low = |percent: f64| percent < thresholds.efficiency_good_percent;
        let is_large = |percent: f64| percent >= thresholds.gate_percent_of_total;
        row.judged_percent().is_some_and(is_low) && row.percent_of_total.is_some_and(is_large)
    };
    let below = rows
        .flat_map(|outcome| &outcome.rows)
        .filter(is_below)
        .arranged_by_key(|row| (std::cmp::Reverse(row.time_ns), row.operation));
    // One sentence for each operator, however many sizes it is called with.
    let named = below.into_iter().map(|row| {
        let operation = input.operation(row.operation);
        (short_name(&input, operation), row)
    });
    let mut named = grouped(named, |rows: &mut Vec<&Row>, row| rows.push(row));
    named.arrange_by_largest(|(_, rows)| sum(rows.iter().map(|row| row.time_ns)));
    let sentences = named.into_iter().take(NAMED).filter_map(|(name, rows)| {
        let first = rows.first()?;
        let sizes = match (rows.len(), shapes(&input, input.operation(first.operation))) {
            (1, shapes) if shapes.is_empty() => String::new(),
            (1, shapes) => format!(" ({shapes})"),
            (n, _) => format!(" ({})", format::counted(n as u64, "size")),
        };
        let percent = format::percent(efficiency(&rows).unwrap_or_default());
        let whys = rows.iter();
        let mut whys = whys.filter_map(|row| causes_of(&input, row.operation));
        let why = whys.next();
        let why = why.unwrap_or_else(|| "the trace does not show why".to_owned());
        let time = format::time_ns(time_ns(&rows));
        let bound = match first.bound {
            Some(Bound::Compute) => " (compute-bound)",
            Some(Bound::Memory) => " (memory-bound)",
            None => "",
        };
        Some(format!(
            " `{name}`{sizes} takes {time} at {percent} of roofline{bound}: {why}."
        ))
    });
    sentences.collect()
}

/// States that the GPU is idle for part of the run, if that is too little for its causes to be findings.
fn little_idle(report: &Report) -> String {
    let thresholds = &report.options.thresholds;
    let whole = report.timelines.whole.as_ref();
    let idle = whole.and_then(|whole| percent_of(whole.idle_ns, whole.total_ns()));
    match idle.filter(|idle| *idle >= thresholds.finding_percent_of_total) {
        Some(idle) if idle <= thresholds.idle_flag_percent => format!(
            " The GPU is idle for {} of the run, below the {} above which causes are findings.",
            format::percent(idle),
            format::percent(thresholds.idle_flag_percent)
        ),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Timetable, options_on};

    /// Of 1 ms: saving a fifth is 200 µs and leaves 0.8 of the time; saving a half leaves half.
    #[test]
    fn a_saving_is_told_in_time_in_shares_and_in_speed() {
        let report = Timetable::new().work("aten::mm", "gemm", 0..1_000).report();
        let cases = [
            (
                0,
                200_000,
                Estimate::UpperBound,
                "up to 200 µs, 20.0 % of the run (1.25× as fast)",
            ),
            (
                0,
                200_000,
                Estimate::Roofline,
                "0–200 µs, 0–20.0 % of the run (1.00–1.25× as fast)",
            ),
            // A saving of nearly the whole run is not a prediction.
            (
                500_000,
                999_000,
                Estimate::UpperBound,
                "up to 500–999 µs, 50.0–99.9 % of the run (2.00× to over 10× as fast)",
            ),
        ];
        for (low_ns, high_ns, estimate, expected) in cases {
            let impact = Impact {
                low_ns,
                mid_ns: low_ns,
                high_ns,
                estimate,
            };
            let sentence = Savings::new(&report, &impact).sentence();
            assert_eq!(sentence.replace('\u{202F}', " "), expected);
        }
    }

    /// With all findings removed.
    #[test]
    fn nothing_found_is_not_all_is_well() {
        let nothing = |timetable: Timetable| {
            let profile = timetable.profile();
            let mut report = Report::new(&profile, &options_on("H100"));
            report.analyses.findings.ranked.clear();
            nothing(&profile, &report).unwrap()
        };
        let unknown = Timetable::new().work("my::op", "my_kernel", 100..3_100);
        assert!(nothing(unknown).contains(" 100 % has no FLOP/byte model."));
        // 2 · 4096³ operations at 989 TFLOPS take 139 µs: 100 %, a third, and twice that.
        let shapes = r#""Input Dims": [[4096, 4096], [4096, 4096]], "Input type": ["c10::BFloat16", "c10::BFloat16"]"#;
        let gemm = |us: u32| Timetable::new().call("aten::mm", shapes, "gemm", 100..100 + us);
        assert_eq!(
            nothing(gemm(140)),
            "No findings: operations are near the roofline."
        );
        let below = nothing(gemm(260)).replace('\u{202F}', " ");
        let expected = "No findings: no large operation is below 40.0 % of roofline. The longest of those below 60.0 %: `aten::mm` (4096×4096, 4096×4096 bf16) takes 260 µs at 53.";
        assert!(below.starts_with(expected), "{below}");
        assert!(nothing(gemm(420)).contains(" 100 % is below 40.0 % of roofline, "));
        let roll = r#""Input Dims": [[8192, 8192]], "Input type": ["float"]"#;
        let moved = Timetable::new().call("aten::roll", roll, "roll_cuda_kernel", 100..300);
        let moved = nothing(moved).replace('\u{202F}', " ");
        let expected = "No findings, but 100 % of compute time only moves data";
        assert!(moved.starts_with(expected), "{moved}");
        assert!(nothing(gemm(70)).contains(" 100 % is above its roofline ("));
    }
}
