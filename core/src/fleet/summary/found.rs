//! Findings, lost time and files that were not read, over all runs.

use std::cmp::Reverse;

use super::{Cause, Lost, Pattern, Rejected};
use crate::base::group::{grouped, summed};
use crate::base::interval::{percent_or_zero, sum};
use crate::base::map::Set;
use crate::base::sort::{Arranged, Gather};
use crate::fleet::numbers::count;
use crate::fleet::rows::{FindingRow, Fleet, RunRow};

/// Findings by pattern, those with the largest savings first.
pub(super) fn findings(fleet: &Fleet) -> Vec<Pattern> {
    let rows = fleet
        .findings
        .iter()
        .map(|finding| (finding.pattern, finding));
    let patterns = grouped(rows, |found: &mut Vec<&FindingRow>, finding| {
        found.push(finding)
    });
    let patterns = patterns.into_iter().filter_map(|(pattern, found)| {
        // The first one with the largest savings.
        let best = found.iter().min_by_key(|finding| Reverse(finding.mid_ns))?;
        let runs: Set<u32> = found.iter().map(|finding| finding.run).gather();
        let total = |saving: fn(&FindingRow) -> Option<i64>| {
            sum(found.iter().filter_map(|finding| saving(finding)))
        };
        Some(Pattern {
            pattern,
            analysis: best.analysis,
            title: best.title,
            n_findings: count(found.len()),
            n_runs: count(runs.len()),
            n_estimated: count(
                found
                    .iter()
                    .filter(|finding| finding.mid_ns.is_some())
                    .count(),
            ),
            low_ns: total(|finding| finding.low_ns),
            mid_ns: total(|finding| finding.mid_ns),
            high_ns: total(|finding| finding.high_ns),
            run: fleet.runs.get(best.run as usize)?.run_id,
        })
    });
    patterns.arranged_by_largest(|pattern| (pattern.mid_ns, pattern.n_runs))
}

/// Lost time by cause, the largest first; causes without lost time are left out.
pub(super) fn lost(runs: &[&RunRow]) -> Vec<Lost> {
    let all = sum(runs.iter().filter_map(|run| run.total_ns));
    let causes = Cause::ALL.into_iter().map(|cause| {
        let of = |run: &RunRow| match cause {
            Cause::Idle => run.idle_ns,
            Cause::ExposedComm => run.exposed_comm_ns,
            Cause::ExposedCopy => run.exposed_copy_ns,
        };
        let losses = runs.iter().filter_map(|run| Some((run.model, of(run)?)));
        let losses: Vec<_> = losses.collect();
        let lost_ns = sum(losses.iter().map(|(_, ns)| *ns));
        let most = summed(losses.iter().copied())
            .into_iter()
            .min_by_key(|(_, ns)| Reverse(*ns));
        let (model, model_lost_ns) = most.unwrap_or_default();
        Lost {
            cause,
            lost_ns,
            share_percent: percent_or_zero(lost_ns, all),
            model,
            model_lost_ns,
            n_runs: count(losses.len()),
        }
    });
    causes
        .filter(|lost| lost.lost_ns > 0)
        .arranged_by_largest(|lost| lost.lost_ns)
}

/// Unread files by status and reason, the most frequent first.
pub(super) fn rejected(fleet: &Fleet) -> Vec<Rejected> {
    let unread = fleet.runs.iter().filter(|run| !run.status.is_read());
    let rows = unread.map(|run| ((run.status, run.reason_kind), run));
    let reasons = grouped(rows, |found: &mut Vec<&RunRow>, run| found.push(run))
        .into_iter()
        .map(|((status, reason_kind), found)| Rejected {
            status,
            reason_kind,
            reason: found.first().and_then(|run| run.reason),
            count: count(found.len()),
            uri: found.first().and_then(|run| run.uri),
        });
    reasons.arranged_by_largest(|reason| reason.count)
}
