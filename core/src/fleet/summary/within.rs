//! Limits the file size: the oldest runs become weekly medians.

use super::{Median, Run, Summary, Week};
use crate::base::group::grouped;
use crate::base::map::Map;
use crate::base::sort::Arranged;
use crate::fleet::texts::Text;

/// The maximum file size, which the page opens in less than a second.
pub const MOST_BYTES: usize = 5_000_000;

const DAY_NS: i64 = 86_400_000_000_000;
const WEEK_NS: i64 = 7 * DAY_NS;
/// The first day of 1970 was a Thursday.
const MONDAY_NS: i64 = 4 * DAY_NS;

impl Summary {
    /// The file with as many of the newest runs as fit in this size; the others are in [`Summary::weeks`]. A file that
    /// is too large even without runs stays too large.
    pub fn to_file_within(&self, most_bytes: usize) -> Vec<u8> {
        let mut n_runs = self.runs.len();
        loop {
            let file = self.with_runs(n_runs).to_file();
            if file.len() <= most_bytes || n_runs == 0 {
                return file;
            }
            // As many as would fit if runs were the whole file, minus a tenth.
            let fits = n_runs as f64 * most_bytes as f64 / file.len() as f64;
            n_runs = (fits * 0.9) as usize;
        }
    }

    /// A copy with only the newest `n_runs` runs and the texts in use.
    fn with_runs(&self, n_runs: usize) -> Summary {
        let mut summary = self.clone();
        let old = summary.runs.split_off(n_runs.min(summary.runs.len()));
        summary.weeks.extend(weeks(&old));
        summary.keep_named_texts();
        summary
    }

    /// Removes unused texts; the others are in the order in which the tables refer to them.
    fn keep_named_texts(&mut self) {
        let mut places: Map<Text, Text> = Map::default();
        let mut texts = Vec::new();
        let all = std::mem::take(&mut self.texts);
        let mut place = |text: Text| {
            *places.entry(text).or_insert_with(|| {
                texts.push(all.get(text.0 as usize).cloned().unwrap_or_default());
                Text(u32::try_from(texts.len() - 1).unwrap_or(u32::MAX))
            })
        };
        macro_rules! renumber {
            ($($table:ident)+) => {
                $(for row in &mut self.$table {
                    row.renumber(&mut place);
                })+
            };
        }
        renumber!(builds medians regressions carriers history ops kernels findings lost slowest outliers rejected weeks runs);
        self.texts = texts;
    }
}

/// Medians by week, model, GPU and build, the newest week first.
fn weeks(runs: &[Run]) -> Vec<Week> {
    let week = |start_ns: i64| (start_ns - MONDAY_NS).div_euclid(WEEK_NS) * WEEK_NS + MONDAY_NS;
    let rows = runs
        .iter()
        .map(|run| ((run.start_ns.map(week), run.model, run.gpu, run.build), run));
    let groups = grouped(rows, |all: &mut Vec<&Run>, run| all.push(run));
    let weeks = groups.into_iter().map(|((week_ns, ..), runs)| {
        let of = Median::of(&runs);
        Week {
            week_ns,
            model: of.model,
            gpu: of.gpu,
            build: of.build,
            n_runs: of.n_runs,
            total_ns: of.total_ns,
            busy_ns: of.busy_ns,
            compute_ns: of.compute_ns,
            exposed_comm_ns: of.exposed_comm_ns,
            exposed_copy_ns: of.exposed_copy_ns,
            idle_ns: of.idle_ns,
        }
    });
    weeks.arranged_by_largest(|week| week.week_ns)
}
