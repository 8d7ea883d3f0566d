//! What gaps with the same cause show besides their time.

use super::observed::Observed;
use super::tables::{longest_ends_with, name_of};
use crate::assess::idle::cause::IdleCause;
use crate::assess::idle::explain::ExplainedGap;
use crate::base::format;
use crate::base::tally::Tally;
use crate::findings::Input;

/// "333 µs in 9 gaps".
fn in_gaps(tally: &Tally) -> String {
    let gaps = format::counted(tally.count, "gap");
    format!("{} in {gaps}", format::time_ns(tally.ns))
}

/// One sentence for each thing that the trace shows.
pub(super) fn reasoning(input: &Input, observed: &Observed) -> Vec<String> {
    let by_cpu = matches!(
        observed.cause,
        IdleCause::LaunchBound | IdleCause::CpuWork | IdleCause::Synchronization
    );
    let mut sentences = match observed.cause {
        IdleCause::LaunchBound => launches(input, observed),
        _ => Vec::new(),
    };
    sentences.extend(cpu_time(observed).filter(|_| by_cpu));
    sentences.extend(code(observed));
    sentences.extend(match observed.cause {
        IdleCause::CpuWork => busy_in(input, observed),
        IdleCause::Synchronization => waits(input, observed),
        _ => None,
    });
    let mut longest = observed.idle.longest.iter();
    let longest = longest.find(|gap| gap.cause == observed.cause);
    sentences.extend(
        longest.and_then(|gap| match observed.cause.is_late_launch() {
            true => longest_ends_with(input, gap),
            false => longest_is_most(input, observed, gap),
        }),
    );
    sentences.extend(without_it(observed));
    if input.profile.has_python_frames() && by_cpu {
        sentences.push(
            "Python frames were recorded, which slows the CPU: without them these gaps are shorter."
                .to_owned(),
        );
    }
    sentences
}

fn launches(input: &Input, observed: &Observed) -> Vec<String> {
    let (gaps, kernels) = (observed.gaps, &observed.idle.kernels);
    let count = kernels.all.count;
    let (kernel, all) = match kernels.are_all() {
        true => ("kernel", format::counted(count, "kernel")),
        false => (
            "kernel, copy or fill",
            format!("{} kernels, copies and fills", format::count(count)),
        ),
    };
    let mut sentences = Vec::new();
    if let (Some(kernel_ns), Some(gap_ns)) = (kernels.all.mean_ns(), gaps.all.mean_ns()) {
        sentences.push(format!(
            "A {kernel} takes {} on average, and the next launch leaves a gap of {}.",
            format::time_ns(kernel_ns),
            format::time_ns(gap_ns)
        ));
    }
    sentences.push(format!(
        "{} of {all} are shorter than {}.",
        format::count(kernels.n_short_of_all),
        format::time_us(observed.idle.thresholds.short_kernel_us)
    ));
    sentences.extend(gaps.mostly_in().map(|(range, tally)| {
        format!(
            "{} of {} end with a launch in `{}`: {}.",
            format::count(tally.count),
            format::counted(gaps.all.count, "gap"),
            name_of(input, range),
            format::time_ns(tally.ns)
        )
    }));
    // The operator whose kernels are late most often, if it has a significant part of these gaps.
    if let Some((Some(operator), tally)) = gaps.operators.first()
        && tally.ns > gaps.all.ns / 4
        && gaps.operators.rows.len() > 1
    {
        sentences.push(format!(
            "Most of it precedes kernels of `{}`: {}.",
            name_of(input, operator),
            in_gaps(&tally)
        ));
    }
    sentences
}

fn cpu_time(observed: &Observed) -> Option<String> {
    let cpu = observed.gaps.cpu;
    let all_ns = Some(cpu.total_ns()).filter(|ns| *ns > 0)?;
    let share = |ns: i64| format::percent(ns as f64 * 100.0 / all_ns as f64);
    let compiled = match cpu.compiled_ns {
        0 => String::new(),
        ns => format!(" ({} in the code around compiled kernels)", share(ns)),
    };
    let waiting = share(cpu.waiting_ns);
    let rest = match cpu.outside_ns.saturating_mul(200) < all_ns {
        true => format!("and {waiting} waiting{compiled}"),
        false => {
            let outside = share(cpu.outside_ns);
            format!(
                "{waiting} waiting, and {outside} outside all of them, mostly in Python{compiled}"
            )
        }
    };
    Some(format!(
        "Until the launch the CPU spent {} of these gaps in operators, {} in calls of the GPU runtime, {rest}.",
        share(cpu.operators_ns),
        share(cpu.runtime_ns),
    ))
}

/// The function that takes the most of the time that no other finding is about.
fn code(observed: &Observed) -> Option<String> {
    let rows = observed.idle.code.rows.iter();
    let rows = rows.filter(|row| !observed.has_own_finding(row));
    let of_cause = rows.filter_map(|row| Some((row, row.by_cause.get(&observed.cause)?)));
    let (row, tally) = of_cause.max_by_key(|(_, tally)| tally.ns)?;
    let share = tally.ns as f64 / observed.left_ns().max(1) as f64;
    (share > 0.1).then(|| {
        format!(
            "The CPU is in {} for {} of it: {}.",
            row.place.text(),
            format::percent(share * 100.0),
            in_gaps(tally)
        )
    })
}

fn busy_in(input: &Input, observed: &Observed) -> Option<String> {
    let (operator, tally) = observed.gaps.busy_in.first()?;
    Some(format!(
        "It is in `{}` for most of the time of some gaps: {}.",
        name_of(input, operator),
        in_gaps(&tally)
    ))
}

fn waits(input: &Input, observed: &Observed) -> Option<String> {
    let ((call, operator), tally) = observed.idle.waits.first()?;
    let operator = operator.map(|operator| format!("`{}`", name_of(input, operator)));
    Some(format!(
        "{} of it follows `{}` in {}: {}.",
        match observed.is_most(tally.ns) {
            true => "Most",
            false => "The largest part",
        },
        name_of(input, call),
        operator.as_deref().unwrap_or("no operator"),
        in_gaps(&tally)
    ))
}

/// Where the longest gap is, if it is nearly all of the time.
fn longest_is_most(input: &Input, observed: &Observed, gap: &ExplainedGap) -> Option<String> {
    let ns = gap.gap.span.length();
    let since = match input.profile.window {
        Some(_) => "the window begins",
        None => "the first GPU activity of the trace",
    };
    (observed.is_most(ns) && observed.gaps.all.count > 1).then(|| {
        format!(
            "One gap of {} is most of it; it starts {} after {since}.",
            format::time_ns(ns),
            format::time_ns(observed.idle.start_ns(gap))
        )
    })
}

fn without_it(observed: &Observed) -> Option<String> {
    let total_ns = observed.idle.timeline.total_ns();
    let left_ns = total_ns.saturating_sub(observed.left_ns());
    (left_ns > 0 && observed.cause.can_be_saved()).then(|| {
        format!(
            "Without any of it the run would be {} times as fast, which is the most it can save.",
            format::times_as_fast(total_ns as f64 / left_ns as f64)
        )
    })
}
