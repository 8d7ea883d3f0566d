//! Series: values of runs, by what is compared and by build.

use crate::base::group::{grouped, summed};
use crate::base::sort::{Arrange, Gather};
use crate::fleet::builds::Builds;
use crate::fleet::metric::Metric;
use crate::fleet::rows::{Fleet, RunRow, Status};
use crate::fleet::texts::Text;

/// Shorter times are not compared, because they are mostly launch overhead and clock effects.
const LEAST_NS: i64 = 200_000;

/// What identifies a series.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) model: Text,
    pub(super) gpu: Option<Text>,
    pub(super) world_size: Option<i64>,
    pub(super) options: Option<Text>,
    pub(super) metric: Metric,
    /// The operation's key, for an operation.
    pub(super) op: Option<u64>,
    /// Its name; for an operation, that of the row where it first appears.
    pub(super) name: Option<Text>,
    pub(super) dims: Option<Text>,
}

/// A build of a series.
#[derive(Debug, Clone)]
pub(super) struct InBuild {
    /// Its index among all builds.
    pub(super) build: usize,
    /// Time in nanoseconds and run, in order of the run.
    pub(super) values: Vec<(f64, u32)>,
}

/// A series.
#[derive(Debug, Clone)]
pub(super) struct Series {
    pub(super) key: Key,
    /// Its builds, the oldest first.
    pub(super) builds: Vec<InBuild>,
}

/// Numbers of excluded runs with figures, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Their files were read only partially.
    pub partial: u32,
    /// The build is unknown.
    pub without_build: u32,
    /// The model is unknown, from the trace or a tag.
    pub without_model: u32,
}

/// Which runs are included, and how many others with figures are not.
pub(super) fn taking_part(runs: &[RunRow]) -> (Vec<bool>, LeftOut) {
    let mut left_out = LeftOut::default();
    let mut takes_part = |run: &RunRow| {
        let reason = match (run.status, run.build, run.model) {
            (Status::Ok, Some(_), Some(_)) => return true,
            (Status::Ok, None, _) => &mut left_out.without_build,
            (Status::Ok, _, None) => &mut left_out.without_model,
            (Status::Partial, ..) => &mut left_out.partial,
            _ => return false,
        };
        *reason += 1;
        false
    };
    (runs.iter().map(&mut takes_part).collect(), left_out)
}

/// The series of a metric, in the order in which they first appear; only builds up to index `last`.
pub(super) fn series(
    fleet: &Fleet,
    builds: &Builds,
    metric: Metric,
    last: usize,
    takes_part: &[bool],
) -> Vec<Series> {
    let values = values(fleet, metric).into_iter().filter_map(|value| {
        let at = value.run as usize;
        let run = fleet
            .runs
            .get(at)
            .filter(|_| takes_part.get(at) == Some(&true))?;
        let build = builds.place(run.build?).filter(|place| *place <= last)?;
        if value.ns < LEAST_NS {
            return None;
        }
        let key = Key {
            model: run.model?,
            gpu: run.gpu,
            world_size: run.world_size,
            options: run.options_hash,
            metric,
            op: value.op,
            // An operation is identified by its key; name and shapes are those of its first row.
            name: value.name.filter(|_| value.op.is_none()),
            dims: None,
        };
        let named = (value.name, value.dims);
        Some((key, (build, named, (value.ns as f64, value.run))))
    });
    type Named = (Option<Text>, Option<Text>);
    type Values = (Option<Named>, Vec<(usize, (f64, u32))>);
    let series = grouped(
        values,
        |(named, values): &mut Values, (build, name, value)| {
            named.get_or_insert(name);
            values.push((build, value));
        },
    );
    let series = series.into_iter().map(|(mut key, (named, mut values))| {
        (key.name, key.dims) = named.unwrap_or_default();
        values.arrange_by_key(|(build, (_, run))| (*build, *run));
        let builds = values.chunk_by(|(one, _), (other, _)| one == other);
        let builds = builds.map(|values| InBuild {
            build: values.first().map_or(0, |(build, _)| *build),
            values: values.iter().map(|(_, value)| *value).collect(),
        });
        Series {
            key,
            builds: builds.collect(),
        }
    });
    series.collect()
}

/// A time of a run.
struct Value {
    run: u32,
    op: Option<u64>,
    name: Option<Text>,
    dims: Option<Text>,
    ns: i64,
}

/// The times of a metric: of runs, or of parts of them, summed per run.
fn values(fleet: &Fleet, metric: Metric) -> Vec<Value> {
    let of_run = |time: fn(&RunRow) -> Option<i64>| {
        let values = (0..).zip(&fleet.runs).filter_map(|(run, row)| {
            Some(Value {
                run,
                op: None,
                name: None,
                dims: None,
                ns: time(row)?,
            })
        });
        values.collect()
    };
    match metric {
        Metric::Total => of_run(|run| run.total_ns),
        Metric::Compute => of_run(|run| run.compute_ns),
        Metric::ExposedComm => of_run(|run| run.exposed_comm_ns),
        Metric::Idle => of_run(|run| run.idle_ns),
        Metric::Category => {
            let ops = fleet.ops.iter();
            named_sums(ops.filter_map(|op| Some(((op.run, op.category?), op.kernel_ns))))
        }
        Metric::Kernel => {
            let kernels = fleet.kernels.iter();
            named_sums(kernels.map(|kernel| ((kernel.run, kernel.name), kernel.total_ns)))
        }
        Metric::Op => {
            let ops = fleet.ops.iter().map(|op| ((op.run, op.key), op));
            let sums = grouped(ops, |(first, ns): &mut (Option<Named>, i64), op| {
                first.get_or_insert((op.name, op.dims));
                *ns = ns.saturating_add(op.kernel_ns);
            });
            let sums = sums.into_iter().map(|((run, key), (named, ns))| Value {
                run,
                op: Some(key),
                name: named.map(|(name, _)| name),
                dims: named.and_then(|(_, dims)| dims),
                ns,
            });
            sums.collect()
        }
    }
}

/// Name and shapes of an operation.
type Named = (Text, Option<Text>);

fn named_sums(rows: impl Iterator<Item = ((u32, Text), i64)>) -> Vec<Value> {
    let sums = summed(rows);
    let sums = sums.into_iter().map(|((run, name), ns)| Value {
        run,
        op: None,
        name: Some(name),
        dims: None,
        ns,
    });
    sums.gather()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::testing::FleetOf;

    fn of(fleet: &FleetOf, metric: Metric) -> Vec<(String, Vec<(usize, usize)>)> {
        let fleet = &fleet.0;
        let builds = Builds::new(&fleet.runs, &fleet.texts);
        let (takes_part, _) = taking_part(&fleet.runs);
        let all = series(fleet, &builds, metric, usize::MAX, &takes_part);
        let named = all.into_iter().map(|series| {
            let name = series.key.name.map_or("", |name| fleet.texts.get(name));
            let builds = series.builds.iter();
            let builds = builds.map(|build| (build.build, build.values.len()));
            (name.to_owned(), builds.collect())
        });
        named.collect()
    }

    #[test]
    fn a_series_has_runs_of_the_same_work() {
        let mut fleet = FleetOf::default();
        fleet.run("llama", "b2", 900);
        fleet.run("llama", "b1", 900);
        fleet.run("llama", "b1", 900);
        fleet.run("llama", "b1", 900).world_size = Some(8);
        fleet.run("resnet", "b1", 900);
        // Too short, damaged, without a build or a model.
        fleet.run("llama", "b1", 199);
        fleet.run("llama", "b1", 900).status = Status::Partial;
        fleet.run("llama", "b1", 900).build = None;
        fleet.run("llama", "b1", 900).model = None;
        let all = of(&fleet, Metric::Total);
        let builds: Vec<_> = all.into_iter().map(|(_, builds)| builds).collect();
        assert_eq!(builds, [vec![(0, 2), (1, 1)], vec![(0, 1)], vec![(0, 1)]]);
        let (_, left_out) = taking_part(&fleet.0.runs);
        let LeftOut {
            partial,
            without_build,
            without_model,
        } = left_out;
        assert_eq!((partial, without_build, without_model), (1, 1, 1));
    }

    #[test]
    fn categories_add_up_in_a_run() {
        let mut fleet = FleetOf::default();
        fleet.run("llama", "b1", 900);
        fleet.op("mm", "GEMM", 150);
        fleet.op("bmm", "GEMM", 100);
        fleet.op("add", "Element-wise", 100);
        assert_eq!(
            of(&fleet, Metric::Category),
            [("GEMM".to_owned(), vec![(0, 1)])]
        );
        assert_eq!(of(&fleet, Metric::Op), []);
    }
}
