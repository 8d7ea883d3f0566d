//! Which operations or kernels contribute to a change.

use super::{Carrier, Change, Part};
use crate::base::group::grouped;
use crate::base::sort::Arranged;
use crate::base::stats::mean_of_middle_ns;
use crate::fleet::metric::Metric;
use crate::fleet::rows::Fleet;
use crate::fleet::texts::Text;

/// At most this many are reported.
const MOST: usize = 3;

/// Operations and kernels by run.
pub(super) struct Parts<'a> {
    fleet: &'a Fleet,
    ops: Vec<Vec<u32>>,
    kernels: Vec<Vec<u32>>,
}

/// Identifies a part: the key of an operation, the name of a kernel.
type Key = u64;
/// A part of a run: key, name, shapes, time.
type Share = (Key, Text, Option<Text>, i64);

/// A part in two groups of runs.
#[derive(Default)]
struct Sums {
    name: Option<(Text, Option<Text>)>,
    /// Time by index of the run: for runs of the build, and for runs of previous builds.
    new: Vec<(u32, i64)>,
    base: Vec<(u32, i64)>,
}

impl<'a> Parts<'a> {
    pub(super) fn new(fleet: &'a Fleet) -> Parts<'a> {
        let by_run = |runs: &mut dyn Iterator<Item = u32>| {
            let mut rows = vec![Vec::new(); fleet.runs.len()];
            for (row, run) in (0..).zip(runs) {
                if let Some(rows) = rows.get_mut(run as usize) {
                    rows.push(row);
                }
            }
            rows
        };
        Parts {
            fleet,
            ops: by_run(&mut fleet.ops.iter().map(|op| op.run)),
            kernels: by_run(&mut fleet.kernels.iter().map(|kernel| kernel.run)),
        }
    }

    /// The parts that contribute to a change, the largest first: kernels for an operation and for communication, else
    /// operations. Idle time has none, and neither has a single kernel.
    pub(super) fn carrying(
        &self,
        change: &Change,
        at: u32,
        new: &[u32],
        base: &[u32],
    ) -> Vec<Carrier> {
        let part = match change.metric {
            Metric::Total | Metric::Compute | Metric::Category => Part::Op,
            Metric::ExposedComm | Metric::Op => Part::Kernel,
            Metric::Idle | Metric::Kernel => return Vec::new(),
        };
        let shares = |runs: &[u32]| -> Vec<(u32, Share)> {
            let shares = runs.iter().flat_map(|run| {
                let shares = self.shares(change, part, *run);
                shares.into_iter().map(|share| (*run, share))
            });
            shares.collect()
        };
        let news = shares(new).into_iter().map(|share| (true, share));
        let bases = shares(base).into_iter().map(|share| (false, share));
        let rows = news.chain(bases).map(|(is_new, (run, share))| {
            let (key, name, dims, ns) = share;
            (key, (is_new, run, name, dims, ns))
        });
        let sums = grouped(rows, |sums: &mut Sums, (is_new, run, name, dims, ns)| {
            sums.name.get_or_insert((name, dims));
            let side = if is_new {
                &mut sums.new
            } else {
                &mut sums.base
            };
            match side.last_mut().filter(|(of, _)| *of == run) {
                Some((_, sum)) => *sum = sum.saturating_add(ns),
                None => side.push((run, ns)),
            }
        });
        let whole = change.new_ns.saturating_sub(change.base_ns);
        let carriers = sums.into_iter().filter_map(|(_, sums)| {
            let (name, dims) = sums.name?;
            let [base_ns, new_ns] = [middle(sums.base, base.len()), middle(sums.new, new.len())];
            let difference = new_ns.saturating_sub(base_ns);
            (difference.signum() == whole.signum() && whole != 0).then(|| Carrier {
                regression: at,
                part,
                name,
                dims,
                base_ns,
                new_ns,
                share_percent: difference as f64 / whole as f64 * 100.0,
            })
        });
        let mut carriers =
            carriers.arranged_by(|one, other| other.share_percent.total_cmp(&one.share_percent));
        carriers.truncate(MOST);
        carriers
    }

    /// The parts of a run that belong to what changed.
    fn shares(&self, change: &Change, part: Part, run: u32) -> Vec<Share> {
        let fleet = self.fleet;
        let is_communication = |category: Option<Text>| {
            category.is_some_and(|category| fleet.texts.get(category) == COMMUNICATION)
        };
        let rows = match part {
            Part::Op => &self.ops,
            Part::Kernel => &self.kernels,
        };
        let rows = rows.get(run as usize).into_iter().flatten();
        let shares = rows.filter_map(|row| match part {
            Part::Op => {
                let op = fleet.ops.get(*row as usize)?;
                let counts = change.metric != Metric::Category || op.category == change.name;
                counts.then_some((op.key, op.name, op.dims, op.kernel_ns))
            }
            Part::Kernel => {
                let kernel = fleet.kernels.get(*row as usize)?;
                let counts = match change.metric {
                    Metric::Op => kernel.op == change.name,
                    _ => is_communication(kernel.category),
                };
                let key = u64::from(kernel.name.0);
                counts.then_some((key, kernel.name, None, kernel.total_ns))
            }
        });
        shares.collect()
    }
}

/// The category of collectives and other traffic between GPUs, as named in tables.
const COMMUNICATION: &str = "Communication";

/// The median over `n_runs` runs; 0 for runs without a time.
fn middle(times: Vec<(u32, i64)>, n_runs: usize) -> i64 {
    let mut times: Vec<i64> = times.into_iter().map(|(_, ns)| ns).collect();
    times.resize(n_runs.max(times.len()), 0);
    mean_of_middle_ns(times).unwrap_or_default()
}
