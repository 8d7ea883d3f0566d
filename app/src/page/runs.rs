//! The runs of a log directory, as `dormer open` lists them (`cli/src/open/runs.rs`).

use std::collections::BTreeMap;
use std::sync::Arc;

use dormer_core::base::format;
use percent_encoding::utf8_percent_encode;
use wasm_bindgen::JsValue;

use crate::page::url::PLAIN;
use crate::protocol::wire::part;

/// The slug of the view of runs.
pub const VIEW: &str = "runs";

/// The path of the list.
pub const LIST: &str = "traces/list.json";

/// What the page knows of the runs, if `dormer open` was given a folder.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunsStage {
    /// The last list.
    pub listed: Option<Arc<Runs>>,
    /// Why there is no newer list.
    pub error: Option<String>,
}

/// A log directory.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Runs {
    pub folder: String,
    /// Files named like traces that are not traces.
    pub n_others: u64,
    /// The newest first.
    pub runs: Vec<Run>,
}

/// A folder that holds traces.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Run {
    /// Its path relative to the log directory.
    pub name: String,
    /// The newest first.
    pub traces: Vec<RunTrace>,
}

/// A trace of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunTrace {
    pub url: String,
    pub file: String,
    pub worker: String,
    /// Its position among the traces of its worker, from 1, and their number.
    pub nth: (u64, u64),
    pub rank: Option<u64>,
    pub world_size: Option<u64>,
    /// When it was recorded, in milliseconds since 1970.
    pub time_ms: f64,
    pub bytes: u64,
}

/// What the chosen traces form together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Together {
    One,
    /// Two to compare.
    Two,
    /// Ranks of one job.
    Job,
    /// Nothing that can be opened together.
    Nothing,
}

impl Runs {
    /// Reads the server's answer; missing fields become empty.
    pub fn of(json: &JsValue) -> Runs {
        Runs {
            folder: text(json, "folder"),
            n_others: number(json, "n_others").unwrap_or(0.0) as u64,
            runs: list(json, "runs", |run| Run {
                name: text(run, "name"),
                traces: list(run, "traces", RunTrace::of),
            }),
        }
    }

    pub fn n_traces(&self) -> usize {
        self.runs.iter().map(|run| run.traces.len()).sum()
    }

    /// The last part of the folder's path.
    pub fn name(&self) -> &str {
        let name = self.folder.trim_end_matches(['/', '\\']);
        name.rsplit(['/', '\\']).next().unwrap_or(name)
    }

    /// The chosen traces, newest first.
    pub fn chosen(&self, urls: &[String]) -> Vec<&RunTrace> {
        let traces = self.runs.iter().flat_map(|run| &run.traces);
        let mut chosen: Vec<&RunTrace> = traces.filter(|trace| urls.contains(&trace.url)).collect();
        chosen.sort_by(|one, other| other.time_ms.total_cmp(&one.time_ms));
        chosen
    }
}

impl Run {
    /// Whether its name or one of its traces' names contains a text, ignoring case.
    pub fn has(&self, find: &str) -> bool {
        let find = find.trim().to_lowercase();
        let has = |text: &str| text.to_lowercase().contains(&find);
        has(&self.name) || self.traces.iter().any(|trace| has(&trace.file))
    }

    /// The newest trace of each rank of the run's job; empty if the run is a single process.
    pub fn ranks(&self) -> Vec<&RunTrace> {
        let of_job = |trace: &&RunTrace| trace.rank.is_some() && trace.world_size.is_some();
        let newest = self.traces.iter().find(of_job);
        let mut ranks = BTreeMap::new();
        for trace in self.traces.iter().filter(of_job) {
            if trace.world_size == newest.and_then(|newest| newest.world_size) {
                ranks.entry(trace.rank).or_insert(trace);
            }
        }
        match ranks.len() {
            0 | 1 => Vec::new(),
            _ => ranks.into_values().collect(),
        }
    }

    pub fn bytes(&self) -> u64 {
        self.traces.iter().map(|trace| trace.bytes).sum()
    }
}

impl RunTrace {
    fn of(json: &JsValue) -> RunTrace {
        let whole = |name| number(json, name).map(|number| number as u64);
        let nth = part(json, "nth");
        let nth = |at: &str| number(&nth, at).unwrap_or(1.0) as u64;
        RunTrace {
            url: text(json, "url"),
            file: text(json, "file"),
            worker: text(json, "worker"),
            nth: (nth("0"), nth("1")),
            rank: whole("rank"),
            world_size: whole("world_size"),
            time_ms: number(json, "time_ms").unwrap_or(0.0),
            bytes: whole("bytes").unwrap_or(0),
        }
    }
}

/// What some traces form together, by the same rules as for files opened together.
pub fn together(traces: &[&RunTrace]) -> Together {
    let [first, others @ ..] = traces else {
        return Together::Nothing;
    };
    let is_same_job =
        |other: &&RunTrace| other.rank.is_some() && other.world_size == first.world_size;
    let is_job = first.world_size.is_some()
        && others.iter().all(is_same_job)
        && others.iter().any(|other| other.rank != first.rank);
    match others.len() {
        0 => Together::One,
        _ if is_job => Together::Job,
        1 => Together::Two,
        _ => Together::Nothing,
    }
}

/// The hash that opens some traces: of two, the first is compared with the second.
pub fn link(traces: &[&RunTrace]) -> String {
    let urls = traces.iter();
    let urls = urls.map(|trace| format!("url={}", utf8_percent_encode(&trace.url, PLAIN)));
    format!("#/?{}", urls.collect::<Vec<String>>().join("&"))
}

/// The header text: the name of the folder, and how much is in it.
pub fn header_facts(stage: &RunsStage) -> Option<(String, String)> {
    let runs = stage.listed.as_ref()?;
    let n_runs = format::counted(runs.runs.len() as u64, "run");
    let n_traces = format::counted(runs.n_traces() as u64, "trace");
    Some((
        runs.name().to_owned(),
        format!("{n_runs} \u{b7} {n_traces}"),
    ))
}

fn text(json: &JsValue, name: &str) -> String {
    part(json, name).as_string().unwrap_or_default()
}

fn number(json: &JsValue, name: &str) -> Option<f64> {
    part(json, name).as_f64()
}

fn list<T>(json: &JsValue, name: &str, read: impl Fn(&JsValue) -> T) -> Vec<T> {
    let items = js_sys::Array::from(&part(json, name));
    items.iter().map(|item| read(&item)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(url: &str, rank: Option<u64>, world_size: Option<u64>) -> RunTrace {
        RunTrace {
            url: url.to_owned(),
            rank,
            world_size,
            ..RunTrace::default()
        }
    }

    #[test]
    fn what_is_chosen_is_opened_as_what_it_is() {
        let [zero, one, other, alone] = [
            trace("0", Some(0), Some(4)),
            trace("1", Some(1), Some(4)),
            trace("2", Some(1), Some(8)),
            trace("3", None, None),
        ];
        for (chosen, expected) in [
            (&[][..], Together::Nothing),
            (&[&alone], Together::One),
            (&[&zero, &one], Together::Job),
            (&[&zero, &other], Together::Two),
            (&[&zero, &zero], Together::Two),
            (&[&alone, &alone], Together::Two),
            (&[&zero, &one, &zero], Together::Job),
            (&[&zero, &one, &alone], Together::Nothing),
        ] {
            assert_eq!(together(chosen), expected);
        }
        assert_eq!(
            link(&[&zero, &trace("traces/7/a%20b.json", None, None)]),
            "#/?url=0&url=traces/7/a%2520b.json"
        );
    }

    #[test]
    fn the_newest_of_each_rank_is_the_job() {
        let run = Run {
            name: "train/7b".to_owned(),
            traces: vec![
                trace("new 1", Some(1), Some(2)),
                trace("new 0", Some(0), Some(2)),
                trace("old 0", Some(0), Some(2)),
                trace("older", Some(2), Some(4)),
                trace("alone", None, None),
            ],
        };
        let ranks: Vec<&str> = run.ranks().iter().map(|trace| trace.url.as_str()).collect();
        assert_eq!(ranks, ["new 0", "new 1"]);
        assert!(run.has(" 7B") && run.has("") && !run.has("13b"));
        let single = Run {
            traces: vec![trace("a", Some(0), Some(1)), trace("b", Some(0), Some(1))],
            ..Run::default()
        };
        assert_eq!(single.ranks(), Vec::<&RunTrace>::new());
    }
}
