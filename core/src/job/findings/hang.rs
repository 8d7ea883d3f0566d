//! Collectives that never end: the job hangs.

use super::Context;
use crate::base::format;
use crate::base::group::grouped;
use crate::base::sort::Arranged;
use crate::job::analysis::unfinished::{Half, Hang};
use crate::job::cards::JobCard;

/// The ranks that do not call a collective in which the others wait, or that call another one: one card for all that the
/// same ranks do not call.
pub(super) fn card(context: &Context) -> Vec<JobCard> {
    let hangs = context.unfinished.iter();
    let hangs = hangs.map(|hang| ((blamed(hang), hang.absent.is_empty()), hang));
    let hangs = grouped(hangs, Vec::push).into_iter();
    hangs
        .filter_map(|((blamed, _), hang): (_, Vec<&Hang>)| of(context, &blamed, &hang))
        .collect()
}

/// The ranks whose fault it is.
fn blamed(hang: &Hang) -> Vec<usize> {
    match hang.absent.is_empty() {
        true => hang.others.iter().map(|(rank, _)| *rank).collect(),
        false => hang.absent.clone(),
    }
}

fn of(context: &Context, blamed: &[usize], all: &[&Hang]) -> Option<JobCard> {
    let (named, ranks) = context.ranks(blamed);
    let parts = all
        .iter()
        .filter_map(|hang| part(context, blamed, &named, hang));
    let (whats, waits): (Vec<String>, Vec<String>) = parts.unzip();
    let mut distinct = whats;
    distinct.dedup();
    let what = format::listed(&distinct);
    let behind = all.iter().flat_map(|hang| hang.behind.clone()).arranged();
    let behind = match behind.is_empty() {
        true => String::new(),
        false => {
            let (wait, are) = match behind.len() {
                1 => ("waits", "is"),
                _ => ("wait", "are"),
            };
            let behind = format::capitalized(&context.ranks(&behind).0);
            format!(" {behind} {wait} for ranks that wait, and {are} not the cause.")
        }
    };
    let ends_in = blamed.first().and_then(|at| {
        let digest = &context.job.ranks.get(*at)?.digest;
        let text = format::middle_ellipsis(digest.text(digest.ends_in), 60);
        (!text.is_empty()).then(|| {
            format!(
                " The last event that the CPU of rank {} starts is `{text}`.",
                context.number(*at)
            )
        })
    });
    (!waits.is_empty()).then(|| JobCard {
        title: format!("{} {what}: the job hangs", format::capitalized(&named)),
        issue: format!("{}{behind}", waits.join(" ")),
        action: format!(
            "See where the CPU of {named} is at that time: an exception, fewer batches than on other ranks, a branch that depends on the rank or on data, another collective that is called first.{}",
            ends_in.unwrap_or_default()
        ),
        ranks,
        step: all.first().and_then(|hang| hang.step),
        ..JobCard::default()
    })
}

/// What the blamed ranks do not do, and who waits for it.
fn part(context: &Context, blamed: &[usize], named: &str, hang: &Hang) -> Option<(String, String)> {
    let group = context.job.groups.get(hang.group)?;
    let (waiting, _) = context.ranks(&hang.waiting);
    let (does, calls) = match blamed.len() {
        1 => ("does", "calls"),
        _ => ("do", "call"),
    };
    let (what, because) = match hang.others.first().filter(|_| hang.absent.is_empty()) {
        None if hang.missing.is_some() => {
            let part = match hang.missing {
                Some(Half::Receive) => "receive from",
                _ => "send to",
            };
            (
                format!("{does} not {part} {waiting}"),
                format!("{named} {does} not call the other part of it"),
            )
        }
        None => (
            format!("{does} not join the {}", hang.kind.label()),
            format!("{named} {does} not call it"),
        ),
        Some((_, called)) => (
            format!("{calls} another collective"),
            format!("{named} {calls} {called} instead"),
        ),
    };
    let number = hang
        .seq
        .map_or_else(String::new, |seq| format!(", number {seq} of the group,"));
    let step = hang.step.map_or_else(String::new, |step| {
        format!(" in {},", context.steps(&[step]))
    });
    let verb = if hang.waiting.len() == 1 {
        "waits"
    } else {
        "wait"
    };
    let waits = format!(
        "{} {verb} in the {} of `{}`{number}{step} for at least {}, until the recording ends, because {because}.",
        format::capitalized(&waiting),
        hang.called,
        group.label(),
        format::time_ns(hang.waits_ns),
    );
    Some((what, waits))
}
