//! Changes between builds, as files: a document, JSON, CSV, and the series in the form that Apache Otava reads.

use crate::base::{calendar, format};
use crate::fleet::regressions::{Change, Trend, trends};
use crate::fleet::{Answer, Text, words};
use crate::output::export::csv::csv;
use crate::output::json;
use crate::output::markup::{DocTable, Document, code, count, markdown, text, time};
use crate::report::columns::{self, Col, columns, described, float, int, known, ms_of, rows};
use crate::report::sheet::{Cell, Column, Sheet, Unit};

/// Maximum length of operation and kernel names in a document.
const MOST_CHARS: usize = 80;

/// As Markdown.
pub fn to_markdown(answer: &Answer) -> String {
    markdown(&document(answer))
}

fn document(answer: &Answer) -> Document {
    let texts = answer.fleet.texts.list();
    let mut document = Document::new("Regressions between builds");
    document.texts(answer.notes());
    if answer.found.changes.is_empty() {
        document.text("Nothing became slower or faster by more than noise.");
    }
    for (at, change) in answer.found.changes.iter().enumerate() {
        let carriers = answer.found.carriers.iter();
        let carriers = carriers.filter(|carrier| carrier.regression as usize == at);
        // Names from a trace may contain anything: backticks would end the name.
        let plain = |text: String| text.replace('`', "'");
        document.heading(2, &plain(words::title(change, texts)));
        document.field("Where", &plain(words::scope(change, texts)));
        if let Some(dims) = change.dims {
            document.field("Shapes", &plain(answer.text(dims).to_owned()));
        }
        document.field(
            "Evidence",
            &plain(format!("{}.", words::evidence(change, texts))),
        );
        let [new, base] = [change.new_run, change.base_run].map(|run| answer.text(run));
        document.field("Compare", &format!("runs `{base}` and `{new}`."));
        document.table(
            DocTable::of(carriers)
                .line("accounted for by", |carrier| {
                    code(answer.text(carrier.name), MOST_CHARS)
                })
                .line("shapes", |carrier| {
                    text(carrier.dims.map_or("", |dims| answer.text(dims)))
                })
                .line(">before", |carrier| time(carrier.base_ns))
                .line(">now", |carrier| time(carrier.new_ns))
                .line(">share", |carrier| {
                    text(format::percent(carrier.share_percent))
                }),
        );
        let history = answer.found.history.iter();
        let history = history.filter(|point| point.regression as usize == at);
        document.table(
            DocTable::of(history)
                .line("build", |point| text(answer.text(point.build)))
                .line(">runs", |point| count(point.n_runs))
                .line(">median", |point| time(point.median_ns)),
        );
    }
    document
}

/// As JSON.
pub fn to_json(answer: &Answer) -> Vec<u8> {
    json::pretty(&json::regressions::json(answer))
}

/// As CSV: a row for each change.
pub fn to_csv(answer: &Answer) -> Vec<u8> {
    let changes = answer.found.changes.iter();
    let rows = rows(&columns(), changes.map(|change| Row { answer, change }));
    csv(&Sheet {
        name: "regressions",
        columns: described(columns()),
        rows,
    })
}

/// CSV for Apache Otava, with a row for each build and a column in milliseconds for each series, and how many series
/// are left out. Otava does not accept empty cells, so series without runs of some build are left out, and builds
/// without a time.
pub fn to_otava(answer: &Answer) -> (Vec<u8>, usize) {
    let builds: Vec<(usize, i64)> = answer
        .builds
        .list
        .iter()
        .enumerate()
        .filter_map(|(at, build)| Some((at, build.first_ns?)))
        .collect();
    let all = trends(answer.fleet, answer.builds, answer.metrics);
    let n_all = all.len();
    let is_whole = |trend: &Trend| {
        let mut builds = builds.iter();
        builds.all(|(at, _)| trend.medians_ns.get(*at).is_some_and(Option::is_some))
    };
    let whole: Vec<Trend> = all.into_iter().filter(is_whole).collect();
    let column = |label: String, unit| Column {
        label,
        unit,
        doc: String::new(),
    };
    let mut columns = vec![
        column("time".to_owned(), Unit::Text),
        column(answer.by.to_owned(), Unit::Text),
    ];
    columns.extend(
        whole
            .iter()
            .map(|trend| column(name(answer, trend), Unit::Ms)),
    );
    let rows = builds.iter().map(|(at, first_ns)| {
        let build = answer
            .builds
            .list
            .get(*at)
            .map_or("", |build| answer.text(build.build));
        let mut row = vec![
            Cell::Text(calendar::time(*first_ns)),
            Cell::Text(build.to_owned()),
        ];
        row.extend(
            whole
                .iter()
                .map(|trend| ms_of(trend.medians_ns.get(*at).copied().flatten())),
        );
        row
    });
    let sheet = Sheet {
        name: "otava".to_owned(),
        columns,
        rows: rows.collect(),
    };
    (csv(&sheet), n_all - whole.len())
}

/// The name of a series: "llama/MI300X/category/GEMM".
fn name(answer: &Answer, trend: &Trend) -> String {
    let ranks = trend.world_size.filter(|size| *size > 1);
    let parts = [
        Some(answer.text(trend.model).to_owned()),
        trend.gpu.map(|gpu| answer.text(gpu).to_owned()),
        ranks.map(|size| format!("{size} ranks")),
        Some(trend.metric.key().to_owned()),
        trend.name.map(|name| answer.text(name).to_owned()),
        trend.dims.map(|dims| answer.text(dims).to_owned()),
    ];
    format::joined(parts.into_iter().flatten(), "/")
}

/// A change, with where its texts are.
struct Row<'a> {
    answer: &'a Answer<'a>,
    change: &'a Change,
}

impl Row<'_> {
    fn text(&self, text: impl Into<Option<Text>>) -> Cell {
        text.into().map_or(Cell::Empty, |id| {
            Cell::Text(self.answer.text(id).to_owned())
        })
    }
}

fn columns<'a>() -> Vec<Col<Row<'a>>> {
    columns![Row<'_>:
        "build", Text, |of| of.text(of.change.build), "";
        "level", Text, |of| columns::text(of.change.level.key()), "";
        "confirmed_by", Text, |of| of.text(of.change.confirmed_by), "";
        "model", Text, |of| of.text(of.change.model), "";
        "gpu", Text, |of| of.text(of.change.gpu), "";
        "world_size", Count, |of| known(of.change.world_size), "";
        "metric", Text, |of| columns::text(of.change.metric.key()), "";
        "name", Text, |of| of.text(of.change.name), "";
        "dims", Text, |of| of.text(of.change.dims), "";
        "ratio", Number, |of| float(Some(of.change.ratio)), "";
        "ratio_low", Number, |of| float(of.change.low), "";
        "ratio_high", Number, |of| float(of.change.high), "";
        "p", Number, |of| float(of.change.p), "";
        "new_runs", Count, |of| int(of.change.n_new), "";
        "base_runs", Count, |of| int(of.change.n_base), "";
        "base_builds", Count, |of| int(of.change.n_base_builds), "";
        "base_first", Text, |of| of.text(of.change.base_first), "";
        "base_last", Text, |of| of.text(of.change.base_last), "";
        "new_ns", Number, |of| int(of.change.new_ns), "";
        "base_ns", Number, |of| int(of.change.base_ns), "";
        "new_run", Text, |of| of.text(of.change.new_run), "";
        "base_run", Text, |of| of.text(of.change.base_run), "";
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::Metric;
    use crate::fleet::builds::Builds;
    use crate::fleet::regressions::{Question, Regressions};
    use crate::fleet::testing::FleetOf;

    /// Seven builds, two runs each, with GEMM slower from the sixth on; the model's name and the category contain
    /// special characters.
    fn answered<T>(then: impl Fn(&Answer) -> T) -> T {
        let mut fleet = FleetOf::default();
        for build in 1..=7 {
            for repeat in 0..2 {
                let us = 1_000 + (build * 3 + repeat) % 5 + if build > 5 { 100 } else { 0 };
                fleet.run("=a,`b`", &format!("b{build}"), 9_000);
                fleet.op("aten::mm", "GEMM", us);
            }
        }
        let builds = Builds::new(&fleet.0.runs, &fleet.0.texts);
        let metrics = [Metric::Category];
        let question = Question {
            metrics: metrics.to_vec(),
            newest: None,
        };
        let found = Regressions::new(&fleet.0, &builds, &question);
        then(&Answer {
            fleet: &fleet.0,
            builds: &builds,
            by: "build",
            newest: None,
            metrics: &metrics,
            found: &found,
        })
    }

    #[test]
    fn a_change_as_a_document() {
        let text = answered(to_markdown);
        let expected = [
            "# Regressions between builds",
            "Compared: 1 series over 7 builds.",
            "## GEMM 10.1 % slower on MI300X in build b6",
            "`aten::mm`",
        ];
        for part in expected {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(!text.contains("`b`"));
    }

    #[test]
    fn a_change_as_a_row() {
        let text = String::from_utf8(answered(to_csv)).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[0].starts_with("build,level,confirmed_by,model,"));
        assert!(
            lines[1].starts_with("b6,confirmed,b7,\"'=a,`b`\",MI300X,1,category,GEMM,,1.101"),
            "{text}"
        );
    }

    #[test]
    fn a_change_as_json() {
        let json: serde_json::Value = serde_json::from_slice(&answered(to_json)).unwrap();
        let change = &json["changes"][0];
        assert_eq!(change["build"], "b6");
        assert_eq!(change["carriers"][0]["name"], "aten::mm");
        assert_eq!(change["history"].as_array().unwrap().len(), 7);
        assert_eq!(json["newest"], serde_json::Value::Null);
    }

    #[test]
    fn series_for_otava_have_a_value_in_every_build() {
        let (bytes, n_left_out) = answered(to_otava);
        let text = String::from_utf8(bytes).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!((lines.len(), n_left_out), (8, 0));
        assert_eq!(lines[0], "time,build,\"'=a,`b`/MI300X/category/GEMM\"");
        assert_eq!(lines[1], "1970-01-01T00:00:00Z,b1,1.0035");
    }
}
