//! Measures opening a file, and what a user does next: all figures of a trace, in turns.
//!
//! Each run measures every figure once, one after another, so that other load on the machine affects all of them:
//! `gzip`, `dormer report`, and a new browser that opens the trace, opens it twice more, changes choices and opens a
//! second trace.

use std::path::Path;
use std::time::Duration;

use super::chromium::Programs;
use super::figure::{G, JSON, Record, Role, Table, Unit};
use super::page::{Choice, Opened, Page};
use super::{Outcome, native};

/// The pause before a page's first trace, as long as it takes to choose a file.
const BEFORE_FIRST: Duration = Duration::from_secs(4);

/// The pause between two traces.
const BETWEEN: Duration = Duration::from_secs(2);

/// A choice, and the way back.
const N_CHOICES: usize = 2;

/// What is measured, and the tools for it.
pub(crate) struct With<'a> {
    pub(crate) programs: &'a Programs,
    pub(crate) dist: &'a Path,
    pub(crate) dormer: &'a Path,
    pub(crate) n_runs: u32,
}

/// Values in seconds and bytes.
#[derive(Default)]
struct Taken {
    gzip: Vec<f64>,
    report: Vec<f64>,
    peak: Vec<f64>,
    tables: Vec<f64>,
    peak_of_tables: Vec<f64>,
    opened: [Vec<Opened>; 3],
    choices: [Vec<f64>; 3],
    compared: Vec<f64>,
    requests: Vec<f64>,
}

/// Measures all figures of a trace.
pub(crate) async fn measure(
    with: &With<'_>,
    trace: &Path,
    name: &str,
    record: &mut Record,
) -> Outcome {
    let stages = native::measure(trace, with.n_runs as usize)?;
    let mut taken = Taken::default();
    for _ in 0..with.n_runs {
        taken.gzip.push(native::gzip(trace)?);
        taken.report.push(native::report(with.dormer, trace)?);
        taken
            .peak
            .extend(native::peak_of_report(with.dormer, trace)?);
        let (seconds, peak) = native::tables(with.dormer, trace)?;
        taken.tables.push(seconds);
        taken.peak_of_tables.extend(peak);
        let mut page = Page::load(with.programs, with.dist).await?;
        let outcome = in_page(&mut page, trace, &mut taken).await;
        page.close().await?;
        outcome?;
    }
    let [first, second, third] = taken.opened;
    let seconds = |opened: &[Opened]| opened.iter().map(|one| one.seconds).collect::<Vec<f64>>();
    let memory = |opened: &[Opened]| {
        opened
            .iter()
            .map(|one| one.wasm_bytes)
            .collect::<Vec<f64>>()
    };
    let later = [seconds(&second), seconds(&third)].concat();

    let in_g = (Unit::Time, Role::CostInG);
    let opens = (Table::Opens, name);
    let text_bytes = vec![stages.text_bytes];
    record.add(opens, JSON, (Unit::Megabytes, Role::Fact), text_bytes);
    let events = vec![stages.events];
    record.add(opens, "events", (Unit::Count, Role::Fact), events);
    record.add(opens, G, (Unit::Time, Role::Fact), taken.gzip);
    record.add(opens, "first open", in_g, seconds(&first));
    record.add(opens, "later opens", in_g, later);
    record.add(opens, "`dormer report`", in_g, taken.report);
    record.add(opens, "`dormer tables -`", in_g, taken.tables);

    let bytes = (Unit::Megabytes, Role::CostInJson);
    let in_memory = (Table::Memory, name);
    record.add(in_memory, "page, first open", bytes, memory(&first));
    record.add(in_memory, "second", bytes, memory(&second));
    record.add(in_memory, "third", bytes, memory(&third));
    record.add(in_memory, "`dormer report`", bytes, taken.peak);
    record.add(in_memory, "`dormer tables -`", bytes, taken.peak_of_tables);

    let time = (Unit::Time, Role::Cost);
    let chosen = (Table::Choices, name);
    let [gpu, step, threshold] = taken.choices;
    record.add(chosen, "another GPU", time, gpu);
    record.add(chosen, "a step alone", time, step);
    record.add(chosen, "a threshold", time, threshold);
    record.add(chosen, "a second trace", in_g, taken.compared);
    let requests = (Unit::Count, Role::Cost);
    record.add(chosen, "requests after load", requests, taken.requests);

    stages.add_to(record, name);
    Ok(())
}

/// Measurements in one browser.
async fn in_page(page: &mut Page, trace: &Path, taken: &mut Taken) -> Outcome {
    tokio::time::sleep(BEFORE_FIRST).await;
    let n_loaded = page.requests();
    for opened in &mut taken.opened {
        opened.push(page.open(trace).await?);
        tokio::time::sleep(BETWEEN).await;
    }
    let choices = [Choice::Gpu, Choice::Step, Choice::Threshold];
    for (choice, seconds) in choices.into_iter().zip(&mut taken.choices) {
        for _ in 0..N_CHOICES {
            seconds.extend(page.choose(choice).await?);
        }
    }
    taken.compared.extend(page.compare_with(trace).await?);
    tokio::time::sleep(BETWEEN).await;
    taken.requests.push((page.requests() - n_loaded) as f64);
    Ok(())
}
