//! What a trace records about a collective: its kind, the type and size of its message, its ranks.

use super::ranks::Ranks;
use crate::names::collective::{CollectiveKind, ranks_of_kernel};
use crate::perf::{OpInput, Tensor, collective_element_bytes, element_bytes};
use crate::profile::Profile;
use crate::profile::gpu::kernels::GpuWork;
use crate::profile::graphs::shapes::{Messages, Source};
use crate::profile::launch::is_graph_call;
use crate::trace::{EventId, Trace, event_args as args};

/// What collectives of one row have in common.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Key {
    pub(crate) kind: CollectiveKind,
    /// Element type, in PyTorch's notation.
    pub(crate) dtype: Option<String>,
    /// Number of elements, the larger of a rank's input and output.
    pub(crate) elements: Option<f64>,
    /// The message size if only that is known, from the copies into and out of its buffer.
    pub(crate) bytes: Option<u64>,
    /// Where a size comes from that was not recorded.
    pub(crate) source: Option<Source>,
    pub(crate) group_size: Option<f64>,
    /// Its ranks are on several hosts, as far as their numbers tell.
    pub(crate) spans_hosts: bool,
    /// The ranks exchange parts of different sizes, so how much stays local is unknown.
    pub(crate) is_uneven: bool,
}

impl Key {
    /// The full message size, as benchmarks of collectives count it.
    pub(super) fn message_bytes(&self) -> Option<f64> {
        if let Some(bytes) = self.bytes {
            return Some(bytes as f64);
        }
        let dtype = self.dtype.as_deref()?;
        let element = collective_element_bytes(dtype).or_else(|| element_bytes(dtype))?;
        Some(self.elements? * element)
    }
}

const NAME: &str = "Collective name";
const RANKS: &str = "Process Group Ranks";

/// The event that describes a collective: its kernel, otherwise the operator that launched it.
pub(crate) fn described_by(profile: &Profile, work: &GpuWork) -> Option<EventId> {
    let named = |event: EventId| args::arg(&profile.trace, event, NAME).is_some();
    match named(work.event) {
        true => Some(work.event),
        false => ops_above(profile, work).find(|event| named(*event)),
    }
}

/// Name and ranks of a process group.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Group<'a> {
    pub(super) name: Option<&'a str>,
    /// The description given by the code that created it.
    pub(super) description: Option<&'a str>,
    pub(super) ranks: Option<&'a str>,
}

/// The process group of a collective.
pub(super) fn group<'a>(profile: &'a Profile, work: &GpuWork) -> Group<'a> {
    let trace = &profile.trace;
    let Some(event) = described_by(profile, work) else {
        return Group::default();
    };
    let of = |key| args::arg(trace, event, key);
    Group {
        name: of("Process Group Name"),
        description: of("Process Group Description"),
        ranks: of(RANKS),
    }
}

/// The key of a collective: from its kernel, otherwise from the operator that launched it, otherwise from names.
pub(super) fn key(profile: &Profile, work: &GpuWork, ranks: &Ranks, staged: Option<u64>) -> Key {
    let trace = &profile.trace;
    let Some(event) = described_by(profile, work) else {
        return key_of_kernel(profile, work, ranks, staged);
    };
    let given = args::number(trace, event, "In msg nelems");
    let got = args::number(trace, event, "Out msg nelems");
    let group_size = args::number(trace, event, "Group size");
    Key {
        kind: args::arg(trace, event, NAME)
            .map_or(CollectiveKind::Unknown, CollectiveKind::of_name),
        dtype: text(trace, event, "dtype"),
        elements: match (given, got) {
            (Some(given), Some(got)) => Some(given.max(got)),
            (given, got) => given.or(got),
        },
        bytes: None,
        source: None,
        group_size,
        spans_hosts: ranks.span_hosts(group_size, args::arg(trace, event, RANKS)),
        is_uneven: ["In split size", "Out split size"]
            .into_iter()
            .filter_map(|key| args::arg(trace, event, key))
            .any(is_uneven),
    }
}

/// The operators above the launch, nearest first.
pub(crate) fn ops_above(profile: &Profile, work: &GpuWork) -> impl Iterator<Item = EventId> {
    let launch = work.launched_by.into_iter();
    launch.flat_map(|call| profile.tree.ops_around(&profile.trace, call))
}

fn text(trace: &Trace, event: EventId, key: &str) -> Option<String> {
    args::arg(trace, event, key)
        .filter(|text| !text.is_empty() && *text != "null")
        .map(str::to_owned)
}

/// Whether a list of sizes such as `[4000000, 0, 0, 0]` contains different sizes. The dots at the end of a truncated
/// list are ignored.
fn is_uneven(sizes: &str) -> bool {
    let list = sizes.trim_matches(['[', ']']).split(',');
    let mut sizes = list.filter_map(|size| size.trim().parse::<u64>().ok());
    let first = sizes.next();
    sizes.any(|size| Some(size) != first)
}

/// The key from a kernel's name and the operators above it. For an all-reduce, the largest tensor is the message: input
/// and output have the same size on all ranks.
fn key_of_kernel(profile: &Profile, work: &GpuWork, ranks: &Ranks, staged: Option<u64>) -> Key {
    let name = profile.trace.strings.get(work.name);
    let kind = CollectiveKind::of_name(name);
    let call = work.launched_by;
    let is_in_graph = call.is_some_and(|call| is_graph_call(&profile.trace, call));
    let message = match kind {
        // A graph launch has no operator for each kernel.
        kind if kind.is_all_reduce() && !is_in_graph => largest_tensor(profile, work),
        _ => None,
    };
    // If unknown, an all-reduce in a graph of a known model is over the hidden states of its tokens.
    let states = || {
        let call = call.filter(|_| is_in_graph && kind.is_all_reduce() && staged.is_none())?;
        Messages::of(profile).at(profile, call)
    };
    let (message, source) = match message {
        Some(message) => (Some(message), None),
        None => states()
            .map(|(elements, dtype, source)| ((elements, dtype), source))
            .unzip(),
    };
    let named = || ops_above(profile, work).find_map(|event| ranks.of_call(profile, event));
    let (elements, dtype) = message.unzip();
    let group_size = ranks_of_kernel(name)
        .or_else(|| if is_in_graph { None } else { named() })
        .or(ranks.only);
    Key {
        kind,
        dtype,
        elements,
        bytes: staged.filter(|_| elements.is_none()),
        source,
        group_size,
        spans_hosts: ranks.span_hosts(group_size, None),
        is_uneven: false,
    }
}

/// Number of elements and type of the largest tensor of the nearest operator above the launch that has tensors.
fn largest_tensor(profile: &Profile, work: &GpuWork) -> Option<(f64, String)> {
    ops_above(profile, work).find_map(|event| {
        let input = OpInput::of_call(&profile.trace, event)?;
        let tensors = input.tensors().filter(|tensor| {
            !tensor.shape.is_empty() && tensor.n() > 0.0 && element_bytes(tensor.dtype).is_some()
        });
        let largest = tensors.reduce(larger)?;
        let dtype = largest.dtype.strip_prefix("c10::").unwrap_or(largest.dtype);
        Some((largest.n(), dtype.to_owned()))
    })
}

fn larger<'a>(most: Tensor<'a>, next: Tensor<'a>) -> Tensor<'a> {
    if next.n() > most.n() { next } else { most }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_parts_are_even_or_not() {
        let cases = [
            ("[]", false),
            ("[4000000, 0, 0, 0]", true),
            ("[1024,1024]", false),
            ("[1024, 1024, 1024, ...]", false),
        ];
        for (sizes, expected) in cases {
            assert_eq!(is_uneven(sizes), expected, "{sizes}");
        }
    }
}
