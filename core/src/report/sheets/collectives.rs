//! Sheet `coll_analysis`: collectives by process group, kind and size.

use serde_json::Value;

use super::SheetInput;
use crate::base::group::grouped;
use crate::base::sort::Arranged;
use crate::base::stats::Stats;
use crate::base::value::mib;
use crate::perf::collective_element_bytes;
use crate::profile::Profile;
use crate::report::columns::{self, Col, columns, float, int, text};
use crate::report::sheet::Cell;
use crate::trace::{Category, extra_args};

pub(super) fn columns() -> Vec<Col<(Stats, Key)>> {
    columns![(Stats, Key):
        "rank", Count, |_| int(0), "The process among those of a distributed run; a trace is of one, always 0.";
        "Process Group Name", Text, |of| text(of.1.group()), "The group of processes that took part.";
        "Process Group Ranks", Text, |of| text(&of.1.texts[1]), "Ranks in the group.";
        "Collective name", Text, |of| text(of.1.name()), "Kind of collective.";
        "Group size", Number, |of| float(Some(of.1.group_size)), "Number of ranks.";
        "dtype", Text, |of| text(of.1.dtype()), "Type of the elements.";
        "In msg nelems", Number, |of| float(Some(of.1.in_elements)), "Elements that each contributes.";
        "Out msg nelems", Number, |of| float(Some(of.1.out_elements)), "Elements that each receives.";
        "In split size", Text, |of| text(&of.1.texts[4]), "How the input is split over the ranks.";
        "Out split size", Text, |of| text(&of.1.texts[5]), "How the output is split over the ranks.";
        "stream", Number, |of| int(of.1.stream), "The stream of the kernel.";
        "In msg size (MB)_first", Number, |of| float(of.1.mib(of.1.in_elements)), "Size of the contribution, in units of 1024² bytes.";
        "Out msg size (MB)_first", Number, |of| float(of.1.mib(of.1.out_elements)), "Size of what is received, in units of 1024² bytes.";
        "dur_sum", Us, |of| float(Some(of.0.sum)), "Sum of the kernel durations, including waiting for other ranks.";
        "dur_mean", Us, |of| float(Some(of.0.mean)), "Mean duration.";
        "dur_std", Us, |of| float(of.0.std), "Sample standard deviation of the durations; empty for a single one.";
        "dur_min", Us, |of| float(Some(of.0.min)), "Shortest duration.";
        "dur_max", Us, |of| float(Some(of.0.max)), "Longest duration.";
        "operation_count", Count, |of| int(of.0.n), "How often.";
    ]
}

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

    fn mib(&self, elements: f64) -> Option<f64> {
        Some(mib(elements * collective_element_bytes(self.dtype())?))
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
    columns::rows(&columns(), rows)
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
