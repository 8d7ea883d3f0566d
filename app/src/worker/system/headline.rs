//! The first sentences of the Idle & communication view: the time in which the GPU does not compute, the most first.

use dormer_core::NoGpu;
use dormer_core::assess::idle_cause_in_sentence;
use dormer_core::base::format;
use dormer_core::base::sort::Arrange;
use dormer_core::base::value::Value;
use dormer_core::report::Report;

use super::{IDLE, MOVES};

/// Why there is no GPU data.
pub(super) fn without_gpu(report: &Report) -> &'static str {
    report.overview.no_gpu.unwrap_or(NoGpu::Recorded).why()
}

/// The headline and the sentences below it: on idle time, communication and copies, by how long each keeps the GPU from
/// computing.
pub(super) fn sentences(report: &Report) -> (String, Vec<String>) {
    let idle_ns = report.timelines.whole.map_or(0, |whole| whole.idle_ns);
    let mut sentences = vec![(idle_ns, idle(report))];
    sentences.extend(moves(report));
    // Of equally long ones the first stays first.
    sentences.arrange_by_largest(|(ns, _)| *ns);
    let mut sentences = sentences.into_iter().map(|(_, sentence)| sentence);
    (sentences.next().unwrap_or_default(), sentences.collect())
}

/// How much the GPU is idle, and why.
fn idle(report: &Report) -> String {
    let Some(whole) = report.timelines.whole.filter(|whole| whole.total_ns() > 0) else {
        return without_gpu(report).to_owned();
    };
    let (gpu, is) = match report.timelines.gpus.len() {
        0 => ("The GPU".to_owned(), "is"),
        n_gpus => (format!("The {n_gpus} GPUs together"), "are"),
    };
    let each = report.overview.each_gpu.iter();
    let each: String = each.map(|each| format!(" {each}")).collect();
    if whole.idle_ns <= 0 {
        return format!(
            "{gpu} {is} never idle in {}.{each}",
            format::time_ns(whole.total_ns())
        );
    }
    let share = whole.idle_ns as f64 * 100.0 / whole.total_ns() as f64;
    let why = cause(report).map_or(String::new(), |why| format!(", {why}"));
    format!(
        "{gpu} {is} idle {} of {} ({}){why}.{each}",
        format::time_ns(whole.idle_ns),
        format::time_ns(whole.total_ns()),
        format::percent(share)
    )
}

/// The cause with the most idle time, worded by its share.
fn cause(report: &Report) -> Option<String> {
    const SHARE: &str = "percent_of_idle";
    let outcome = report.analyses.outcome(IDLE)?;
    let Value::Quoted(key) = outcome.get("main_cause")? else {
        return None;
    };
    let words = idle_cause_in_sentence(key)?;
    let table = super::table(outcome, "idle_by_cause")?;
    let share = match super::Cells::new(table, 0).value(SHARE)? {
        Value::Percent(share) => *share,
        _ => return None,
    };
    Some(match share {
        share if share >= 99.5 => format!("all of it {words}"),
        share if share > 50.0 => format!("mostly {words}"),
        _ => format!("most often {words} ({})", format::percent(share)),
    })
}

/// One sentence each on communication and on copies, with their exposed time.
fn moves(report: &Report) -> Vec<(i64, String)> {
    let timelines = &report.timelines;
    let (Some(of_one), Some(outcome)) = (timelines.of_one_gpu(), report.analyses.outcome(MOVES))
    else {
        return Vec::new();
    };
    let count = |key: &str| match outcome.get(key) {
        Some(Value::Count(count)) => *count,
        _ => 0,
    };
    let on_average = match timelines.gpus.is_empty() {
        true => "",
        false => " per GPU on average",
    };
    let sentence = |number: u64, [one, many]: [&str; 2], ns: i64, exposed_ns: i64| {
        (number > 0).then(|| {
            let takes = match number {
                1 => format!("1 {one} takes"),
                n => format!("{} {many} take", format::count(n)),
            };
            let exposed = match exposed_ns {
                0 => "fully overlapped".to_owned(),
                exposed if exposed == ns => "all of it exposed".to_owned(),
                exposed if format::time_ns(exposed) == format::time_ns(ns) => {
                    "almost all of it exposed".to_owned()
                }
                ns => format!("{} of it exposed", format::time_ns(ns)),
            };
            let takes = format!("{takes} {}{on_average}, {exposed}.", format::time_ns(ns));
            (exposed_ns, takes)
        })
    };
    [
        sentence(
            count("collective_count"),
            ["collective", "collectives"],
            of_one.comm_ns,
            of_one.exposed_comm_ns,
        ),
        sentence(
            count("total_memcpy_count"),
            ["memory copy", "memory copies"],
            of_one.memcpy_ns,
            of_one.exposed_memcpy_ns,
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}
