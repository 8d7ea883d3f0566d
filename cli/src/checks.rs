//! How a command exits when its work is done: the effects of `--strict` and `--fail-on`.

use dormer_core::findings::Priority;
use dormer_core::report::overview::{Level, Overview, QualityLine};

use crate::args::CheckArgs;
use crate::{Failure, stdout};

/// Prints what is missing from a trace to standard error, for those who do not read the summary.
pub(crate) fn warn(trace: &str, overview: &Overview) {
    for sentence in losses(overview) {
        stdout::complain(&format!("{trace}: warning: {sentence}"));
    }
}

/// The result of the checks of traces with their overviews; `found` are the priorities and titles of the
/// findings.
pub(crate) fn of<'a>(
    args: &CheckArgs,
    traces: &[(&str, &Overview)],
    found: impl Iterator<Item = (Priority, &'a str)>,
) -> Result<(), Failure> {
    let lossy = || traces.iter().find(|(_, overview)| is_lossy(overview));
    if let Some((trace, overview)) = lossy().filter(|_| args.strict) {
        let first = losses(overview).next().unwrap_or_default();
        return Err(Failure::Lost(format!(
            "{trace}: data was lost (--strict): {first}"
        )));
    }
    let Some(limit) = args.fail_on else {
        return Ok(());
    };
    let over: Vec<&str> = found
        .filter(|(priority, _)| *priority <= limit)
        .map(|(_, title)| title)
        .collect();
    let Some(first) = over.first() else {
        return Ok(());
    };
    let label = limit.label().to_lowercase();
    Err(Failure::Found(match over.len() {
        1 => format!("a finding is {label} or above (--fail-on): {first}"),
        n => format!("{n} findings are {label} or above (--fail-on), the first: {first}"),
    }))
}

fn is_lossy(overview: &Overview) -> bool {
    overview.quality.level == Level::Bad
}

/// What is missing from the figures.
fn losses(overview: &Overview) -> impl Iterator<Item = String> {
    let lines = overview.quality.lines.iter();
    let lost = lines.filter(|line| line.level == Level::Bad);
    lost.map(QualityLine::with_detail)
}
