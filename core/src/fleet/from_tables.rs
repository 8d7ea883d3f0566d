//! Reads many traces from the tables of a store.
//!
//! The tables have one analysis per file, the newest, which readers of a store select.

use super::rows::{FindingRow, Fleet, KernelRow, OpRow, RunRow, Status};
use super::texts::Texts;
use crate::base::map::Map;
use crate::base::sort::{Arrange, Arranged};
use crate::tables::{Column, FINDINGS, KERNELS, OPS, RUNS, Table, Tables};

const DAY_NS: i64 = 86_400_000_000_000;

/// The tag that overrides the model if it is given.
const MODEL: &str = "model";

/// Which runs to read, and the tag of their builds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunQuery {
    /// The tag that identifies builds, with or without a leading `tags.`.
    pub by: String,
    /// Columns of `runs`, or tags, with the value that runs must have.
    pub wheres: Vec<(String, String)>,
    /// Only recordings of this many days before the newest in the store, and files that failed since then.
    pub last_days: Option<u32>,
}

/// The names of tags that runs have, sorted.
pub fn tags_of(tables: &Tables) -> Vec<String> {
    let tags = tables.table(RUNS).map_or(&[][..], |runs| runs.maps("tags"));
    let tags = tags.iter().flatten().flatten();
    tags.map(|(name, _)| name.clone()).distinct()
}

/// The name of a tag without the prefix `tags.`.
fn tag(name: &str) -> &str {
    name.strip_prefix("tags.").unwrap_or(name)
}

impl RunQuery {
    /// The name of the tag that identifies builds.
    pub fn tag(&self) -> &str {
        tag(&self.by)
    }

    fn keeps(&self, runs: &Table, at: usize) -> bool {
        let mut wheres = self.wheres.iter();
        wheres.all(|(name, value)| value_of(runs, at, name).as_deref() == Some(value))
    }
}

/// A value of a column or a tag, as text.
fn value_of(runs: &Table, at: usize, name: &str) -> Option<String> {
    match runs.column(name) {
        Some(Column::Str(values)) => values.get(at)?.clone(),
        Some(Column::I32(values)) => values.get(at)?.map(|value| value.to_string()),
        Some(Column::I64(values)) => values.get(at)?.map(|value| value.to_string()),
        _ => tag_of(runs, at, tag(name)),
    }
}

fn tag_of(runs: &Table, at: usize, name: &str) -> Option<String> {
    let tags = runs.maps("tags").get(at)?.as_ref()?;
    let found = tags.iter().find(|(of, _)| of == name);
    found.map(|(_, value)| value.clone())
}

/// A cell of a column; missing columns have none.
fn cell<T: Clone>(column: &[Option<T>], at: usize) -> Option<T> {
    column.get(at).cloned().flatten()
}

impl Fleet {
    /// The requested files, sorted by start. `tables` has one row of `runs` per file, and the rows of other tables that
    /// belong to it. Columns that were not read are empty.
    pub fn new(tables: &Tables, query: &RunQuery) -> Fleet {
        let Some(runs) = tables.table(RUNS) else {
            return Fleet::default();
        };
        let (starts, ingested) = (runs.i64s("start"), runs.i64s("ingested"));
        let all = 0..runs.len();
        let mut kept: Vec<usize> = all.filter(|at| query.keeps(runs, *at)).collect();
        if let Some(days) = query.last_days {
            let last = |times: &[Option<i64>]| times.iter().flatten().max().copied();
            let newest = last(starts).or_else(|| last(ingested));
            let first = newest.map(|ns| ns.saturating_sub(i64::from(days).saturating_mul(DAY_NS)));
            kept.retain(|at| cell(starts, *at).or_else(|| cell(ingested, *at)) >= first);
        }
        let ids = runs.strs("run_id");
        kept.arrange_by_cached_key(|at| (cell(starts, *at), cell(ids, *at)));
        let mut fleet = Fleet::default();
        let mut places: Places = Map::default();
        for at in &kept {
            let place = u32::try_from(fleet.runs.len()).unwrap_or(u32::MAX);
            let row = run(runs, *at, query.tag(), &mut fleet.texts);
            if let (Some(row), Some(Some(id))) = (row, ids.get(*at)) {
                fleet.runs.push(row);
                places.insert(id, place);
            }
        }
        let add: [(&str, Add); 3] = [
            (OPS, Fleet::add_ops),
            (KERNELS, Fleet::add_kernels),
            (FINDINGS, Fleet::add_findings),
        ];
        for (name, add) in add {
            if let Some(table) = tables.table(name) {
                add(&mut fleet, table, &places);
            }
        }
        fleet
    }

    fn add_ops(&mut self, table: &Table, places: &Places) {
        let (keys, names, categories) = (
            table.u64s("op_key"),
            table.strs("name"),
            table.strs("category"),
        );
        let (dims, calls, times) = (
            table.strs("input_dims"),
            table.i64s("calls"),
            table.i64s("kernel_ns"),
        );
        let texts = &mut self.texts;
        let rows = of_runs(table, places).filter_map(|(at, run)| {
            Some(OpRow {
                run,
                key: cell(keys, at)?,
                name: texts.id(names.get(at)?.as_deref()?),
                category: known(texts, categories, at),
                dims: known(texts, dims, at),
                calls: cell(calls, at)?,
                kernel_ns: cell(times, at)?,
            })
        });
        self.ops.extend(rows);
    }

    fn add_kernels(&mut self, table: &Table, places: &Places) {
        let (names, ops) = (table.strs("kernel_short"), table.strs("op"));
        let (categories, libraries) = (table.strs("category"), table.strs("library"));
        let (calls, times) = (table.i64s("calls"), table.i64s("total_ns"));
        let texts = &mut self.texts;
        let rows = of_runs(table, places).filter_map(|(at, run)| {
            Some(KernelRow {
                run,
                name: texts.id(names.get(at)?.as_deref()?),
                op: known(texts, ops, at),
                category: known(texts, categories, at),
                library: known(texts, libraries, at),
                calls: cell(calls, at)?,
                total_ns: cell(times, at)?,
            })
        });
        self.kernels.extend(rows);
    }

    fn add_findings(&mut self, table: &Table, places: &Places) {
        let (analyses, patterns) = (table.strs("analysis"), table.strs("pattern"));
        let (titles, numbers) = (table.strs("title"), table.i32s("number"));
        let [low, mid, high] = ["low_ns", "mid_ns", "high_ns"].map(|name| table.i64s(name));
        let texts = &mut self.texts;
        let rows = of_runs(table, places).filter_map(|(at, run)| {
            Some(FindingRow {
                run,
                number: cell(numbers, at)?.into(),
                analysis: texts.id(analyses.get(at)?.as_deref()?),
                pattern: texts.id(patterns.get(at)?.as_deref()?),
                title: texts.id(titles.get(at)?.as_deref()?),
                low_ns: cell(low, at),
                mid_ns: cell(mid, at),
                high_ns: cell(high, at),
            })
        });
        self.findings.extend(rows);
    }
}

/// A function that adds the rows of a table.
type Add = fn(&mut Fleet, &Table, &Places);

/// Runs by id.
type Places<'a> = Map<&'a str, u32>;

/// The rows of a table that belong to these runs, each with its run.
fn of_runs<'a>(table: &'a Table, places: &'a Places) -> impl Iterator<Item = (usize, u32)> + 'a {
    let ids = table.strs("run_id").iter().enumerate();
    ids.filter_map(|(at, id)| Some((at, *places.get(id.as_deref()?)?)))
}

fn known(texts: &mut Texts, column: &[Option<String>], at: usize) -> Option<super::Text> {
    let text = column.get(at)?.as_deref()?;
    Some(texts.id(text))
}

/// A file; `None` if its status is unknown.
fn run(runs: &Table, at: usize, by: &str, texts: &mut Texts) -> Option<RunRow> {
    let status = runs
        .strs("status")
        .get(at)?
        .as_deref()
        .and_then(Status::of)?;
    let mut text = |name: &str| known(texts, runs.strs(name), at);
    let (run_id, model, gpu) = (text("run_id")?, text("model_name"), text("gpu_id"));
    let gpu = gpu.or_else(|| text("gpu_name"));
    let (reason, reason_kind, uri) = (text("reason"), text("reason_kind"), text("uri"));
    let (host, job_id, options_hash) = (text("host"), text("job_id"), text("options_hash"));
    let mut tag = |name: &str| tag_of(runs, at, name).map(|value| texts.id(&value));
    let (model, build) = (tag(MODEL).or(model), tag(by));
    let number = |name: &str| cell(runs.i64s(name), at);
    Some(RunRow {
        run_id,
        status,
        reason,
        reason_kind,
        uri,
        host,
        job_id,
        world_size: cell(runs.i32s("world_size"), at).map(i64::from),
        model,
        gpu,
        build,
        options_hash,
        start_ns: number("start"),
        total_ns: number("total_ns"),
        busy_ns: number("busy_ns"),
        compute_ns: number("compute_ns"),
        exposed_comm_ns: number("exposed_comm_ns"),
        exposed_copy_ns: number("exposed_copy_ns"),
        idle_ns: number("idle_ns"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::TableKind;

    /// Adds a row with these cells; the others are unknown.
    fn add(tables: &mut Tables, name: &str, cells: &[(&str, Column)]) {
        let kind = TableKind::find(name).unwrap();
        let columns = kind.columns.iter().map(|field| {
            let given = cells.iter().find(|(name, _)| *name == field.name());
            given.map_or_else(
                || {
                    let mut column = Column::new(field.of);
                    column.add_nulls(1);
                    column
                },
                |(_, column)| column.clone(),
            )
        });
        let columns = columns.collect();
        let mut all = tables.all.iter_mut();
        let table = all.find(|table| table.kind == kind).unwrap();
        table.append(Table { kind, columns });
    }

    fn text(text: &str) -> Column {
        Column::Str(vec![Some(text.to_owned())])
    }

    fn time(ns: i64) -> Column {
        Column::Timestamp(vec![Some(ns)])
    }

    fn tags(build: &str) -> Column {
        Column::MapStr(vec![Some(vec![("build".to_owned(), build.to_owned())])])
    }

    #[test]
    fn rows_belong_to_their_runs() {
        let mut tables = Tables::default();
        for (id, start, total_ns) in [("r0", 20, 7), ("r1", 10, 9)] {
            add(
                &mut tables,
                RUNS,
                &[
                    ("run_id", text(id)),
                    ("status", text("ok")),
                    ("start", time(start)),
                    ("total_ns", Column::I64(vec![Some(total_ns)])),
                    ("model_name", text("llama")),
                    ("tags", tags("b1")),
                ],
            );
        }
        for (id, kernel_ns) in [("r0", 3), ("r1", 4), ("r2", 5)] {
            add(
                &mut tables,
                OPS,
                &[
                    ("run_id", text(id)),
                    ("op_key", Column::U64(vec![Some(7)])),
                    ("name", text("aten::mm")),
                    ("calls", Column::I64(vec![Some(1)])),
                    ("kernel_ns", Column::I64(vec![Some(kernel_ns)])),
                ],
            );
        }
        let query = RunQuery {
            by: "tags.build".to_owned(),
            ..RunQuery::default()
        };
        let fleet = Fleet::new(&tables, &query);
        // Sorted by start; rows without a run are left out, missing values are unknown.
        let totals = fleet.runs.iter().map(|run| (run.total_ns, run.idle_ns));
        assert_eq!(
            totals.collect::<Vec<_>>(),
            [(Some(9), None), (Some(7), None)]
        );
        let text = |text: Option<super::super::Text>| fleet.texts.get(text.unwrap());
        assert_eq!(
            (text(fleet.runs[0].build), text(fleet.runs[0].model)),
            ("b1", "llama")
        );
        let times = fleet.ops.iter().map(|op| (op.run, op.kernel_ns));
        assert_eq!(times.collect::<Vec<_>>(), [(1, 3), (0, 4)]);
        assert_eq!(tags_of(&tables), ["build"]);
    }

    #[test]
    fn runs_are_chosen_by_columns_tags_and_days() {
        let mut tables = Tables::default();
        for (id, status, build, start, day) in [
            ("a", "ok", "b1", "start", 0),
            ("b", "ok", "b2", "start", 5),
            ("c", "partial", "b2", "start", 9),
            // The recording time is unknown.
            ("d", "rejected", "b1", "ingested", 6),
        ] {
            add(
                &mut tables,
                RUNS,
                &[
                    ("run_id", text(id)),
                    ("status", text(status)),
                    ("tags", tags(build)),
                    (start, time(day * DAY_NS)),
                    ("world_size", Column::I32(vec![Some(8)])),
                ],
            );
        }
        let chosen = |wheres: &[(&str, &str)], last_days: Option<u32>| {
            let wheres = wheres.iter();
            let query = RunQuery {
                by: "build".to_owned(),
                wheres: wheres
                    .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                    .collect(),
                last_days,
            };
            let fleet = Fleet::new(&tables, &query);
            let ids = fleet.runs.iter().map(|run| fleet.texts.get(run.run_id));
            ids.collect::<String>()
        };
        assert_eq!(chosen(&[], None), "dabc");
        assert_eq!(chosen(&[("build", "b2")], None), "bc");
        assert_eq!(chosen(&[("tags.build", "b2"), ("status", "ok")], None), "b");
        assert_eq!(chosen(&[("world_size", "8")], Some(4)), "dbc");
        // The newest recording is that of the whole store, not of the selection.
        assert_eq!(chosen(&[("build", "b1")], Some(4)), "d");
        assert_eq!(chosen(&[("world_size", "1")], None), "");
    }
}
