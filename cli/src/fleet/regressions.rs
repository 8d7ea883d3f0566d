//! `dormer fleet regressions`: what became slower or faster between builds.

use std::io::Write;

use dormer_core::base::format;
use dormer_core::fleet::builds::Builds;
use dormer_core::fleet::regressions::{Question, Regressions};
use dormer_core::fleet::{Answer, Metric, words};
use dormer_core::output::regressions::{to_csv, to_json, to_markdown, to_otava};

use super::query;
use crate::args::{RegressionFormat, RegressionsArgs};
use crate::stdout::Out;
use crate::{Failure, stdout, text};

/// The default metrics.
const METRICS: [Metric; 2] = [Metric::Total, Metric::Category];

/// Prints the regressions.
pub(crate) fn run(args: &RegressionsArgs, out: &mut Out) -> Result<(), Failure> {
    let fleet = query::fleet(&args.query, true)?;
    let builds = Builds::new(&fleet.runs, &fleet.texts);
    let by = args.query.tag();
    let newest = args.new.as_ref().map(|name| {
        let mut all = builds.list.iter().map(|at| at.build);
        all.find(|build| fleet.texts.get(*build) == name)
            .ok_or_else(|| {
                let last = builds
                    .list
                    .last()
                    .map_or("", |at| fleet.texts.get(at.build));
                Failure::Usage(format!(
                    "no run that was read has {by}={name}; the newest is {last}"
                ))
            })
    });
    let newest = newest.transpose()?;
    let metrics = match args.metric.is_empty() {
        true => METRICS.to_vec(),
        false => args.metric.clone(),
    };
    let question = Question {
        metrics: metrics.clone(),
        newest,
    };
    let found = Regressions::new(&fleet, &builds, &question);
    let answer = Answer {
        fleet: &fleet,
        builds: &builds,
        by,
        newest,
        metrics: &metrics,
        found: &found,
    };
    match args.format {
        None => print(&answer, out)?,
        Some(RegressionFormat::Md) => out.file(to_markdown(&answer).as_bytes())?,
        Some(RegressionFormat::Json) => {
            out.file(&to_json(&answer))?;
            writeln!(out)?;
        }
        Some(RegressionFormat::Csv) => out.file(&to_csv(&answer))?,
        Some(RegressionFormat::Otava) => {
            let (file, n_left_out) = to_otava(&answer);
            out.file(&file)?;
            if n_left_out > 0 {
                stdout::complain(&format!(
                    "{n_left_out} series without runs of some build are left out"
                ));
            }
        }
    }
    Ok(())
}

/// A table for a terminal.
fn print(answer: &Answer, out: &mut Out) -> Result<(), Failure> {
    let texts = answer.fleet.texts.list();
    let text = |text| answer.fleet.texts.get(text).to_owned();
    for note in answer.notes() {
        writeln!(out, "{}", text::printable(&note))?;
    }
    if answer.found.changes.is_empty() {
        writeln!(out, "Nothing became slower or faster by more than noise.")?;
    }
    let percent = |ratio: f64| format::signed_percent((ratio - 1.0) * 100.0);
    let rows = answer.found.changes.iter().enumerate().map(|(at, change)| {
        let interval = match (change.low, change.high) {
            (Some(low), Some(high)) => format!("{} to {}", percent(low), percent(high)),
            _ => "-".to_owned(),
        };
        let level = match change.confirmed_by {
            Some(build) => format!("confirmed by {}", text(build)),
            None => change.level.label().to_owned(),
        };
        let mut carriers = answer.found.carriers.iter();
        let carrier = carriers.find(|carrier| carrier.regression as usize == at);
        [
            text(change.build),
            words::subject(change, texts),
            percent(change.ratio),
            interval,
            words::scope(change, texts),
            change.gpu.map_or("-".to_owned(), text),
            format!("{}/{}", change.n_new, change.n_base),
            level,
            carrier.map_or("-".to_owned(), |carrier| {
                format::middle_ellipsis(&text(carrier.name), 50)
            }),
        ]
    });
    let heads = [
        "build",
        "what",
        ">change",
        "95 % interval",
        "model",
        "GPU",
        ">runs new/base",
        "level",
        "top contributor",
    ];
    text::section(out, heads, rows)?;
    Ok(())
}
