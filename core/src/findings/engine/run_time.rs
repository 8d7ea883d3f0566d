//! Converts kernel time to run time.
//!
//! Analyses compute in kernel time, the sum of the durations of calls. On several streams or GPUs kernels run
//! concurrently, so a saving in their durations is not a saving of the run:
//!
//! ```text
//! stream 7  [==== mm ====)      each takes 8 ms, together the run takes 8 ms:
//! stream 8  [==== mm ====)      at half the time each, 4 ms of the run are saved, not 8
//! ```
//!
//! The same applies to communication and copies: an addition that runs concurrently with an all-reduce of the same
//! length takes no time of the run.
//!
//! But communication that is nearly always hidden can move: as long as other kernels run without communication, it can
//! overlap with those instead, so that the saving of the addition becomes a saving of the run. The upper end of a range
//! includes that.
//!
//! So each operation has a share of the run ([`Evaluation::run_ns`](crate::assess::Evaluation::run_ns)), and savings in
//! kernel time are scaled by that share. Where nothing runs concurrently, both are equal to the nanosecond.

use super::finding::{Effect, Finding, Impact};
pub(crate) use super::impact::part;
use crate::assess::Evaluation;
use crate::base::format;
use crate::base::interval::sum;
use crate::findings::Input;
use crate::profile::Profile;

/// If less than this share of its kernel time is run time, a finding mentions it.
const MENTIONED_BELOW: f64 = 0.99;

/// Converts kernel time of an operation to run time.
pub(crate) fn of_operation(input: &Input, operation: usize, ns: i64) -> i64 {
    let kernel_ns = input.operation(operation).kernel_ns;
    part(ns, input.evaluation(operation).run_ns, kernel_ns)
}

pub(crate) fn of_finding(profile: &Profile, evaluations: &[Evaluation], finding: &Finding) -> i64 {
    let operations = || finding.operations.iter();
    let kernel_ns = sum(operations()
        .filter_map(|at| profile.operations().get(*at))
        .map(|operation| operation.kernel_ns));
    let run_ns = operations().filter_map(|at| evaluations.get(*at));
    part(
        finding.time_ns,
        sum(run_ns.map(|evaluation| evaluation.run_ns)),
        kernel_ns,
    )
}

/// Converts what a finding saves from kernel time to run time.
pub(crate) fn to_run_time(input: &Input, finding: &mut Finding) {
    let run_ns = of_finding(input.profile, input.evaluations, finding);
    mention_overlap(finding, run_ns);
    let at_once = finding.savings.clone();
    let kernel_ns = sum(at_once.iter().map(|(_, ns)| *ns));
    let mut most_ns = 0_i64;
    for (operation, ns) in &mut finding.savings {
        *ns = of_operation(input, *operation, *ns);
        most_ns = most_ns.saturating_add(input.evaluation(*operation).run_ns);
    }
    let run_saved_ns = sum(finding.savings.iter().map(|(_, ns)| *ns));
    let kernel = finding.impact;
    finding.impact = finding.impact.map(|impact| match kernel_ns {
        // It is unknown how much each operation saves.
        0 => impact.part(run_ns, finding.time_ns),
        _ if run_saved_ns < kernel_ns => impact.part(run_saved_ns, kernel_ns).within(most_ns),
        _ => impact,
    });
    if let Some(kernel) = kernel.filter(|_| kernel_ns > 0) {
        overlap_elsewhere(input, finding, kernel, &at_once);
    }
}

/// Where communication or copies run concurrently with these kernels, they may move to the remaining ones. The upper
/// end is what is saved in that case, the middle is between both. `kernel` and `at_once` are the savings in kernel
/// time.
fn overlap_elsewhere(
    input: &Input,
    finding: &mut Finding,
    kernel: Impact,
    at_once: &[(usize, i64)],
) {
    let moved = at_once.iter().map(|(at, ns)| {
        let (kernel_ns, most_ns) = (
            input.operation(*at).kernel_ns,
            input.evaluation(*at).most_ns,
        );
        (*at, part(*ns, most_ns, kernel_ns))
    });
    let moved: Vec<(usize, i64)> = moved.collect();
    let moved_ns = sum(moved.iter().map(|(_, ns)| *ns));
    let Some(sure) = finding.impact else { return };
    let at_once_ns = sum(at_once.iter().map(|(_, ns)| *ns));
    // The kernels that hide communication and copies now would have to hide them then, too.
    let alone_ns = input.computing_alone_ns();
    let high_ns = kernel.part(moved_ns, at_once_ns).high_ns.min(alone_ns);
    if sure.high_ns as f64 >= high_ns as f64 * MENTIONED_BELOW {
        return;
    }
    let mid_ns = sure.mid_ns.midpoint(high_ns);
    finding.impact = Some(Impact {
        mid_ns,
        high_ns,
        ..sure
    });
    finding.savings = moved;
    for (_, ns) in &mut finding.savings {
        *ns = part(*ns, mid_ns, moved_ns);
    }
    finding.reasoning.push(OVERLAPS_ELSEWHERE.to_owned());
}

const OVERLAPS_ELSEWHERE: &str = "The lower end assumes that what now overlaps with these kernels becomes exposed; the upper end assumes that it overlaps with other computation instead, as far as enough is left.";

/// Below this share, time that the run does not wait for is within the variation of times.
pub(crate) const OFF_CRITICAL_PATH_FROM: f64 = 0.1;

/// Whether operations run a significant part of their time where the CPU launches too late.
pub(crate) fn are_off_critical_path(
    input: &Input,
    operations: impl Iterator<Item = usize>,
) -> bool {
    let of = operations.map(|at| {
        (
            input.evaluation(at).off_critical_path_ns,
            input.operation(at).kernel_ns,
        )
    });
    let (off_critical_path_ns, kernel_ns): (Vec<i64>, Vec<i64>) = of.unzip();
    sum(off_critical_path_ns) as f64 > sum(kernel_ns) as f64 * OFF_CRITICAL_PATH_FROM
}

/// Removes what the run does not wait for from the certain savings of a finding: shortening kernels that are followed
/// by a late launch only adds idle time. Findings that reduce the number of launches make the CPU launch in time by
/// themselves, so nothing is removed from those.
pub(crate) fn discount_off_critical_path(input: &Input, finding: &mut Finding) {
    if finding.effect == Effect::FewerLaunches {
        return;
    }
    let Some(impact) = finding.impact else {
        return;
    };
    let time_ns = |at: usize| input.operation(at).kernel_ns;
    let off_critical_path =
        |at: usize| input.evaluation(at).off_critical_path_ns as f64 / time_ns(at).max(1) as f64;
    let saved: Vec<(usize, i64)> = match finding.savings.is_empty() {
        false => finding.savings.clone(),
        true => {
            let operations = finding.operations.iter();
            operations.map(|at| (*at, time_ns(*at))).collect()
        }
    };
    let all_ns = sum(saved.iter().map(|(_, ns)| *ns));
    if all_ns <= 0 {
        return;
    }
    let of_saved = saved
        .iter()
        .map(|(at, ns)| off_critical_path(*at) * *ns as f64);
    let share = (of_saved.sum::<f64>() / all_ns as f64).clamp(0.0, 1.0);
    if share < OFF_CRITICAL_PATH_FROM {
        return;
    }
    finding.impact = Some(impact.with_uncertain_share(share));
    finding.reasoning.push(format!(
        "{} of this is saved only once the run is no longer launch-bound: the CPU launches the next kernel only after these end, so shorter kernels alone only add idle time.",
        self::share(share)
    ));
}

/// A share at the start of a sentence: "All", "12.3 %".
pub(crate) fn share(share: f64) -> String {
    match share > MENTIONED_BELOW {
        true => "All".to_owned(),
        false => format::percent(share * 100.0),
    }
}

/// Adds a sentence about how much of a finding's time is run time, if that is less.
fn mention_overlap(finding: &mut Finding, run_ns: i64) {
    if finding.impact.is_some() {
        finding
            .reasoning
            .extend(overlap_sentence(finding.time_ns, run_ns));
    }
}

/// A sentence about kernel time and run time, for kernels that run concurrently with others.
pub(crate) fn overlap_sentence(kernel_ns: i64, run_ns: i64) -> Option<String> {
    ((run_ns as f64) < kernel_ns as f64 * MENTIONED_BELOW).then(|| {
        format!(
            "Its kernels overlap with other GPU activity (kernels, communication or copies, on other streams or GPUs): {} of kernel time corresponds to {} of the run, on which savings are based.",
            format::time_ns(kernel_ns),
            format::time_ns(run_ns)
        )
    })
}

#[cfg(test)]
mod tests {
    use crate::base::format;
    use crate::report::Report;
    use crate::testing::{Timetable, options_on};

    /// A GEMM of 1 TFLOP that takes 10 ms: an MI300X can reach 708 TFLOPS, so 1.41 of 10 ms are needed.
    const GEMM: &str = "5000x20000, 20000x5000";

    fn ms(ms: i64) -> String {
        format::time_ns(ms * 1_000_000)
    }

    /// One GEMM per stream, all concurrently for 10 ms.
    fn at_once(n: u32) -> Report {
        let table = (7..7 + n).fold(Timetable::new(), |table, stream| {
            let table = table.stream(stream);
            table.call("aten::mm", GEMM, "gemm", 1_000..11_000)
        });
        Report::new(&table.profile(), &options_on("MI300X"))
    }

    #[test]
    fn what_runs_at_once_shares_the_gpu() {
        let (one, two) = (at_once(1), at_once(2));
        let (alone, concurrent) = (
            &one.analyses.findings.ranked[0].finding,
            &two.analyses.findings.ranked[0].finding,
        );
        // Twice the kernel time in a run of the same length …
        assert_eq!(
            (alone.time_ns, concurrent.time_ns),
            (10_000_000, 20_000_000)
        );
        assert_eq!(two.overview.total_ns, Some(10_000_000));
        assert_eq!(two.evaluations[0].run_ns, 10_000_000);
        // … needs twice the time that one of them needs: both share the GPU.
        let (of_one, of_two) = (alone.impact.unwrap(), concurrent.impact.unwrap());
        for (one_ns, two_ns) in [
            (of_one.low_ns, of_two.low_ns),
            (of_one.mid_ns, of_two.mid_ns),
            (of_one.high_ns, of_two.high_ns),
        ] {
            let needed_ns = |saved_ns: i64| 10_000_000 - saved_ns;
            let off_ns = (2 * needed_ns(one_ns)).abs_diff(needed_ns(two_ns));
            assert!(off_ns <= 4, "{one_ns} and {two_ns}");
        }
        assert_eq!(concurrent.savings, [(0, of_two.mid_ns)]);
        let said = concurrent.reasoning.last().unwrap();
        let times = format!("{} of kernel time corresponds to {}", ms(20), ms(10));
        assert!(said.contains(&times), "{said}");
        assert!(!alone.reasoning.iter().any(|one| one.contains("beside")));
        // Shares of compute are relative to all kernel time, so each of them is 100 %.
        let row = |report: &Report| report.analyses.outcome("gemm").unwrap().rows[0].clone();
        let shares =
            |report: &Report| (row(report).percent_of_compute, row(report).percent_of_total);
        assert_eq!(shares(&one), (Some(100.0), Some(100.0)));
        assert_eq!(shares(&two), (Some(100.0), Some(100.0)));
        let share = format!("{} ({} of compute)", ms(20), format::percent(100.0));
        assert!(concurrent.issue.contains(&share));
        // Four of them use the GPU well, although each is at 14 % of roofline.
        let four = at_once(4);
        let mut ranked = four.analyses.findings.ranked.iter();
        assert!(!ranked.any(|ranked| ranked.analysis.key == "gemm"));
        assert_eq!(row(&one).shared_percent, None);
        let shared = row(&four).shared_percent.unwrap();
        assert!((shared - 56.5).abs() < 0.1, "{shared}");
        let mut notes = four.analyses.outcome("gemm").unwrap().note_texts();
        assert!(notes.any(|note| note.starts_with("These run while other kernels compute")));
    }

    /// The GEMM with a concurrent all-reduce of the same length, without which the run would be as long.
    #[test]
    fn nothing_is_saved_beside_communication_that_takes_as_long() {
        let table = Timetable::new()
            .call("aten::mm", GEMM, "gemm", 1_000..11_000)
            .stream(20)
            .work("c10d::allreduce_", "ncclDevKernel_AllReduce", 1_000..11_000);
        let report = Report::new(&table.profile(), &options_on("MI300X"));
        assert_eq!(report.evaluations[0].run_ns, 0);
        let ranked = report.analyses.findings.ranked.iter();
        let of_gemm = ranked.filter(|ranked| ranked.analysis.key == "gemm");
        for impact in of_gemm.filter_map(|ranked| ranked.finding.impact) {
            assert_eq!((impact.low_ns, impact.mid_ns, impact.high_ns), (0, 0, 0));
        }
    }

    /// ```text
    /// ms   0         10        20        30
    /// 7    [== mm ==)[== mm ==)[== add =)
    /// 9    [= all-reduce =)
    /// ```
    #[test]
    fn communication_beside_a_kernel_can_run_beside_what_is_left() {
        let table = Timetable::new()
            .call("aten::mm", GEMM, "gemm", 1_000..11_000)
            .call("aten::mm", GEMM, "gemm", 11_000..21_000)
            .call("aten::add", "", "add", 21_000..31_000)
            .stream(9)
            .work("c10d::allreduce_", "ncclDevKernel_AllReduce", 1_000..16_000);
        let report = Report::new(&table.profile(), &options_on("MI300X"));
        let gemm = &report.evaluations[0];
        assert_eq!((gemm.run_ns, gemm.most_ns), (5_000_000, 20_000_000));
        let ranked = report.analyses.findings.ranked.iter();
        let mut of_gemm = ranked.filter(|ranked| ranked.analysis.key == "gemm");
        let found = &of_gemm.next().unwrap().finding;
        // 2.82 of 20 ms are needed: a quarter of the saving is certainly run time. At most, it is the 15 ms in which
        // something computes alone, because the all-reduce takes as long.
        let impact = found.impact.unwrap();
        let close = |ns: i64, ms: f64| (ns as f64 / 1e6 - ms).abs() < 0.1;
        assert!(
            close(impact.low_ns, (20.0 - 2.82 / 0.75) / 4.0),
            "{impact:?}"
        );
        assert!(close(impact.high_ns, 15.0), "{impact:?}");
        let said = found
            .reasoning
            .iter()
            .any(|said| said == super::OVERLAPS_ELSEWHERE);
        assert!(said, "{found:#?}");
    }

    /// ```text
    /// ms   0         10        20
    /// 7    [== mm ==)[== mm ==)
    /// 8              [== add =)
    /// ```
    #[test]
    fn an_operation_has_what_it_runs_alone_and_half_of_the_rest() {
        let profile = Timetable::new()
            .work("aten::mm", "gemm", 1_000..11_000)
            .work("aten::mm", "gemm", 11_000..21_000)
            .stream(8)
            .work("aten::add", "add", 11_000..21_000)
            .profile();
        let report = Report::new(&profile, &options_on("MI300X"));
        let times = report.operations(&profile);
        let times = times.map(|(operation, evaluation)| (operation.kernel_ns, evaluation.run_ns));
        let times: Vec<(i64, i64)> = times.collect();
        // First the GEMMs, then the addition.
        let expected = [(20_000_000, 15_000_000), (10_000_000, 5_000_000)];
        assert_eq!(times, expected);
        assert_eq!(report.timelines.compute_ns(), Some(30_000_000));
    }

    /// The GEMM twice, each launched after the previous one has ended, and one more that is launched in time: 20 of 30
    /// ms are saved only once the CPU launches in time.
    #[test]
    fn what_ends_before_the_next_launch_is_saved_only_once_the_cpu_launches_in_time() {
        let run = |second: u32, third: u32| {
            let starts = [(0, 1_000), (second, 13_000), (third, 25_000)].into_iter();
            let table = starts.fold(Timetable::new(), |table, (at, start)| {
                let op = table.op("aten::mm", at..at + 5).args(GEMM);
                op.launched("gemm", at + 1..at + 2, start..start + 10_000)
            });
            Report::new(&table.profile(), &options_on("MI300X"))
        };
        let found = |report: &Report| {
            let ranked = report.analyses.findings.ranked.iter();
            let mut of_kernels = ranked.filter(|ranked| ranked.analysis.key == "gemm");
            of_kernels.next().unwrap().finding.clone()
        };
        let (in_time, late) = (found(&run(10, 20)), found(&run(12_000, 24_000)));
        let (sure, held) = (in_time.impact.unwrap(), late.impact.unwrap());
        assert_eq!(held.high_ns, sure.high_ns);
        for (held, sure) in [(held.low_ns, sure.low_ns), (held.mid_ns, sure.mid_ns)] {
            assert!(held.abs_diff(sure / 3) <= 1, "{held} {sure}");
        }
        assert_eq!(held.estimate, sure.estimate);
        let said = |finding: &crate::findings::Finding| {
            let mut sentences = finding.reasoning.iter();
            let held = |said: &&String| said.contains("once the run is no longer launch-bound");
            sentences.find(held).cloned()
        };
        assert_eq!(said(&in_time), None);
        let share = format::percent(200.0 / 3.0);
        assert!(said(&late).unwrap().starts_with(&share), "{late:?}");
    }
}
