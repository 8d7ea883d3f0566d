//! Texts about what became slower or faster, for the page, documents and the terminal.

use super::metric::Metric;
use super::regressions::{Change, Level};
use super::texts::Text;
use crate::base::format;

/// Longer names of operations and kernels are shortened.
const MOST_CHARS: usize = 60;

fn text(texts: &[String], text: Text) -> &str {
    texts.get(text.0 as usize).map_or("", String::as_str)
}

/// What changed: "GEMM", "total time", "aten::mm".
pub fn subject(change: &Change, texts: &[String]) -> String {
    match (change.metric, change.name) {
        (Metric::Category | Metric::Op | Metric::Kernel, Some(name)) => {
            format::middle_ellipsis(text(texts, name), MOST_CHARS)
        }
        (metric, _) => format::in_sentence(metric.label()),
    }
}

/// The change in percent of the previous time, and its direction: "6.1 % slower", "total time" is "longer".
pub(crate) fn by_how_much(metric: Metric, ratio: f64) -> String {
    let is_time = matches!(
        metric,
        Metric::Total | Metric::Idle | Metric::Compute | Metric::ExposedComm
    );
    let way = match (ratio > 1.0, is_time) {
        (true, true) => "longer",
        (false, true) => "shorter",
        (true, false) => "slower",
        (false, false) => "faster",
    };
    format!("{} {way}", format::percent((ratio - 1.0).abs() * 100.0))
}

/// The title of a card: "GEMM 6.1 % slower on MI300X in build b07".
pub fn title(change: &Change, texts: &[String]) -> String {
    let subject = format::capitalized(&subject(change, texts));
    let gpu = change.gpu.map(|gpu| format!(" on {}", text(texts, gpu)));
    format!(
        "{subject} {}{} in build {}",
        by_how_much(change.metric, change.ratio),
        gpu.unwrap_or_default(),
        text(texts, change.build),
    )
}

/// The scope of a change: "llama-70b, 8 ranks".
pub fn scope(change: &Change, texts: &[String]) -> String {
    let model = change.model.map(|model| text(texts, model).to_owned());
    let ranks = change.world_size.filter(|size| *size > 1);
    let ranks = ranks.map(|size| format::counted(size.unsigned_abs(), "rank"));
    format::joined(model.into_iter().chain(ranks), ", ")
}

/// The evidence for a change: "1.07 ms instead of 1.01 ms (median), 95 % interval 5.6–6.6 %; 2 runs of b07 against 12
/// runs of b01 to b06; confirmed by b08".
pub fn evidence(change: &Change, texts: &[String]) -> String {
    let times = format!(
        "{} instead of {} (median)",
        format::time_ns(change.new_ns),
        format::time_ns(change.base_ns)
    );
    let interval = match (change.low, change.high) {
        (Some(low), Some(high)) => {
            let [low, high] = [low, high].map(|end| format::signed_percent((end - 1.0) * 100.0));
            format!("95 % interval {low} to {high}")
        }
        _ => "too few runs for an interval".to_owned(),
    };
    let [build, first, last] =
        [change.build, change.base_first, change.base_last].map(|of| text(texts, of));
    let base = match first == last {
        true => first.to_owned(),
        false => format!("{first} to {last}"),
    };
    let counts = format!(
        "{} of {build} against {} of {base}",
        format::counted(u64::from(change.n_new), "run"),
        format::counted(u64::from(change.n_base), "run"),
    );
    let level = match (change.level, change.confirmed_by) {
        (Level::Confirmed, Some(by)) => format!("confirmed by {}", text(texts, by)),
        _ => "not confirmed yet".to_owned(),
    };
    format!("{times}, {interval}; {counts}; {level}")
}

/// GPU time in the largest unit: "9 830 GPU hours".
pub fn gpu_time(ns: i64) -> String {
    let (amount, [unit, _]) = largest_unit(ns);
    format!("{} GPU {unit}", format::number(amount))
}

/// The same in a column that says what it is: "9 830 h".
pub fn gpu_time_cell(ns: i64) -> String {
    match largest_unit(ns) {
        (amount, ["hours" | "minutes", unit]) => format!("{} {unit}", format::number(amount)),
        _ => format::time_ns(ns),
    }
}

fn largest_unit(ns: i64) -> (f64, [&'static str; 2]) {
    match ns as f64 / 1e9 {
        hours if hours >= 3600.0 => (hours / 3600.0, ["hours", "h"]),
        minutes if minutes >= 60.0 => (minutes / 60.0, ["minutes", "min"]),
        seconds => (seconds, ["seconds", "s"]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpu_time_has_the_largest_unit() {
        let hours = |hours: i64| hours * 3_600_000_000_000;
        assert_eq!(gpu_time(hours(9_830)), "9\u{202f}830 GPU hours");
        assert_eq!(gpu_time(hours(1) / 2), "30.0 GPU minutes");
        assert_eq!(gpu_time(1_500_000_000), "1.50 GPU seconds");
        assert_eq!(gpu_time_cell(hours(9_830)), "9\u{202f}830 h");
        assert_eq!(gpu_time_cell(35_000_000), "35.0 ms");
    }

    #[test]
    fn ways_have_their_words() {
        assert_eq!(by_how_much(Metric::Category, 1.061), "6.1 % slower");
        assert_eq!(by_how_much(Metric::Total, 0.9), "10.0 % shorter");
    }
}
