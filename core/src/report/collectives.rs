//! Sheet `coll_analysis`: collectives by process group, kind and size.

use serde_json::Value;

use super::SheetInput;
use super::sheet::{Cell, Column, Unit, column};
use crate::base::group::grouped;
use crate::base::sort::Arranged;
use crate::base::stats::Stats;
use crate::base::value::mib;
use crate::perf::collective_element_bytes;
use crate::profile::Profile;
use crate::trace::{Category, extra_args};

#[rustfmt::skip]
pub(super) const COLUMNS: [Column; 19] = [
    column("rank", Unit::Count, "The process among those of a distributed run; a trace is of one, always 0."),
    column("Process Group Name", Unit::Text, "The group of processes that took part."),
    column("Process Group Ranks", Unit::Text, "Ranks in the group."),
    column("Collective name", Unit::Text, "Kind of collective."),
    column("Group size", Unit::Number, "Number of ranks."),
    column("dtype", Unit::Text, "Type of the elements."),
    column("In msg nelems", Unit::Number, "Elements that each contributes."),
    column("Out msg nelems", Unit::Number, "Elements that each receives."),
    column("In split size", Unit::Text, "How the input is split over the ranks."),
    column("Out split size", Unit::Text, "How the output is split over the ranks."),
    column("stream", Unit::Number, "The stream of the kernel."),
    column("In msg size (MB)_first", Unit::Number, "Size of the contribution, in units of 1024² bytes."),
    column("Out msg size (MB)_first", Unit::Number, "Size of what is received, in units of 1024² bytes."),
    column("dur_sum", Unit::Us, "Sum of the kernel durations, including waiting for other ranks."),
    column("dur_mean", Unit::Us, "Mean duration."),
    column("dur_std", Unit::Us, "Sample standard deviation of the durations; empty for a single one."),
    column("dur_min", Unit::Us, "Shortest duration."),
    column("dur_max", Unit::Us, "Longest duration."),
    column("operation_count", Unit::Count, "How often."),
];

/// The identity of a row: collectives with equal keys are merged.
#[derive(Debug, Clone)]
pub(crate) struct Key {
    /// Group, ranks, name, type, splits.
    texts: [String; 6],
    /// Number of ranks that take part.
    pub(crate) group_size: f64,
    /// Elements that each contributes.
    pub(crate) in_elements: f64,
    /// Elements that each receives.
    pub(crate) out_elements: f64,
    stream: i64,
}

impl Key {
    /// A hashable identity.
    fn id(&self) -> ([String; 6], [u64; 3], i64) {
        let numbers = [self.group_size, self.in_elements, self.out_elements];
        (self.texts.clone(), numbers.map(f64::to_bits), self.stream)
    }

    /// The process group.
    pub(crate) fn group(&self) -> &str {
        &self.texts[0]
    }

    pub(crate) fn name(&self) -> &str {
        &self.texts[2]
    }

    /// Type of the elements.
    pub(crate) fn dtype(&self) -> &str {
        &self.texts[3]
    }
}

/// The collectives of a trace with the durations of their kernels, in order of appearance.
pub(crate) fn collectives(profile: &Profile) -> Vec<(Key, Vec<i64>)> {
    let trace = &profile.trace;
    let collectives = profile.gpu.iter().map(|(_, work)| work);
    let kernels = collectives.filter(|of| of.is_collective && of.category == Category::Kernel);
    let keyed = kernels.filter_map(|work| {
        let args = trace.strings.get(trace.events.extra_args(work.event)?);
        let key = key(args, trace.strings.get(work.name), work.stream?)?;
        Some((key.id(), (key, trace.events.dur_ns(work.event)?)))
    });
    // All-to-alls with varying splits can give many different keys.
    let groups = grouped(keyed, |of: &mut (Option<Key>, Vec<i64>), (key, dur_ns)| {
        of.0.get_or_insert(key);
        of.1.push(dur_ns);
    });
    let groups = groups.into_iter();
    groups
        .filter_map(|(_, (key, durations))| Some((key?, durations)))
        .collect()
}

pub(super) fn rows(input: &SheetInput) -> Vec<Vec<Cell>> {
    let rows = collectives(input.profile)
        .into_iter()
        .filter_map(|(key, durations)| Some((Stats::of_ns(&durations)?, key)))
        .arranged_by(|a, b| b.0.sum.total_cmp(&a.0.sum));
    rows.iter().map(|(stats, key)| row(stats, key)).collect()
}

/// The key of a kernel; `None` if the profiler did not record all of it. For vLLM's custom all-reduce the kernel name
/// is enough to tell what it does.
fn key(extra_args: &str, kernel: &str, stream: i64) -> Option<Key> {
    let args = extra_args::object(extra_args)?;
    let text = |name: &str| {
        Some(match args.get(name)? {
            Value::Null => return None,
            Value::String(text) => text.clone(),
            other => other.to_string(),
        })
    };
    let number = |name: &str| args.get(name)?.as_f64();
    let of_kernel = || {
        let is_all_reduce = kernel.contains("cross_device_reduce");
        is_all_reduce.then(|| "allreduce".to_owned())
    };
    Some(Key {
        texts: [
            text("Process Group Name")?,
            text("Process Group Ranks")?,
            text("Collective name").or_else(of_kernel)?,
            text("dtype")?,
            text("In split size")?,
            text("Out split size")?,
        ],
        group_size: number("Group size")?,
        in_elements: number("In msg nelems")?,
        out_elements: number("Out msg nelems")?,
        stream,
    })
}

fn row(stats: &Stats, key: &Key) -> Vec<Cell> {
    let [group, ranks, name, dtype, in_split, out_split] = key.texts.clone().map(Cell::Text);
    let element_bytes = collective_element_bytes(&key.texts[3]);
    let size = |elements: f64| match element_bytes {
        Some(bytes) => Cell::Float(mib(elements * bytes)),
        None => Cell::Empty,
    };
    vec![
        Cell::Int(0),
        group,
        ranks,
        name,
        Cell::Float(key.group_size),
        dtype,
        Cell::Float(key.in_elements),
        Cell::Float(key.out_elements),
        in_split,
        out_split,
        Cell::Int(key.stream),
        size(key.in_elements),
        size(key.out_elements),
        Cell::Float(stats.sum),
        Cell::Float(stats.mean),
        stats.std.map_or(Cell::Empty, Cell::Float),
        Cell::Float(stats.min),
        Cell::Float(stats.max),
        Cell::Int(stats.n as i64),
    ]
}
