//! What gaps with the same cause show besides their time.

use super::seen::Seen;
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
pub(super) fn reasoning(input: &Input, seen: &Seen) -> Vec<String> {
    let by_cpu = matches!(
        seen.cause,
        IdleCause::LaunchBound | IdleCause::CpuWork | IdleCause::Synchronization
    );
    let mut sentences = match seen.cause {
        IdleCause::LaunchBound => launches(input, seen),
        _ => Vec::new(),
    };
    sentences.extend(cpu_time(seen).filter(|_| by_cpu));
    sentences.extend(code(seen));
    sentences.extend(match seen.cause {
        IdleCause::CpuWork => busy_in(input, seen),
        IdleCause::Synchronization => waits(input, seen),
        _ => None,
    });
    let mut longest = seen.idle.longest.iter();
    let longest = longest.find(|gap| gap.cause == seen.cause);
    sentences.extend(longest.and_then(|gap| match seen.cause.is_late_launch() {
        true => longest_ends_with(input, gap),
        false => longest_is_most(input, seen, gap),
    }));
    sentences.extend(without_it(seen));
    if input.profile.has_python_frames() && by_cpu {
        sentences.push(
            "Python frames were recorded, which slows the CPU: without them these gaps are shorter."
                .to_owned(),
        );
    }
    sentences
}

fn launches(input: &Input, seen: &Seen) -> Vec<String> {
    let (gaps, kernels) = (seen.gaps, &seen.idle.kernels);
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
        format::time_us(seen.idle.thresholds.short_kernel_us)
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

fn cpu_time(seen: &Seen) -> Option<String> {
    let cpu = seen.gaps.cpu;
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
fn code(seen: &Seen) -> Option<String> {
    let rows = seen.idle.code.rows.iter();
    let rows = rows.filter(|row| !seen.has_own_finding(row));
    let of_cause = rows.filter_map(|row| Some((row, row.by_cause.get(&seen.cause)?)));
    let (row, tally) = of_cause.max_by_key(|(_, tally)| tally.ns)?;
    let share = tally.ns as f64 / seen.left_ns().max(1) as f64;
    (share > 0.1).then(|| {
        format!(
            "The CPU is in {} for {} of it: {}.",
            row.place.text(),
            format::percent(share * 100.0),
            in_gaps(tally)
        )
    })
}

fn busy_in(input: &Input, seen: &Seen) -> Option<String> {
    let (operator, tally) = seen.gaps.busy_in.first()?;
    Some(format!(
        "It is in `{}` for most of the time of some gaps: {}.",
        name_of(input, operator),
        in_gaps(&tally)
    ))
}

fn waits(input: &Input, seen: &Seen) -> Option<String> {
    let ((call, operator), tally) = seen.idle.waits.first()?;
    let operator = operator.map(|operator| format!("`{}`", name_of(input, operator)));
    Some(format!(
        "{} of it follows `{}` in {}: {}.",
        match seen.is_most(tally.ns) {
            true => "Most",
            false => "The largest part",
        },
        name_of(input, call),
        operator.as_deref().unwrap_or("no operator"),
        in_gaps(&tally)
    ))
}

/// Where the longest gap is, if it is nearly all of the time.
fn longest_is_most(input: &Input, seen: &Seen, gap: &ExplainedGap) -> Option<String> {
    let ns = gap.gap.span.length();
    let since = match input.profile.window {
        Some(_) => "the window begins",
        None => "the first GPU activity of the trace",
    };
    (seen.is_most(ns) && seen.gaps.all.count > 1).then(|| {
        format!(
            "One gap of {} is most of it; it starts {} after {since}.",
            format::time_ns(ns),
            format::time_ns(seen.idle.start_ns(gap))
        )
    })
}

fn without_it(seen: &Seen) -> Option<String> {
    let total_ns = seen.idle.timeline.total_ns();
    let left_ns = total_ns.saturating_sub(seen.left_ns());
    (left_ns > 0 && seen.cause.can_be_saved()).then(|| {
        format!(
            "Without any of it the run would be {} times as fast, which is the most it can save.",
            format::times_as_fast(total_ns as f64 / left_ns as f64)
        )
    })
}
