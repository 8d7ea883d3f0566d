//! Information about the recording itself, apart from its events: redaction removes all of it.

use serde_json::Value;

use super::hash::fnv_hex;
use crate::base::interval::Interval;
use crate::job::Digest;
use crate::job::digest::{Identity, base_ns, of_trace};
use crate::profile::window::recorded_span;
use crate::trace::Trace;

const DAY_NS: i64 = 86_400_000_000_000;

/// Times after the year 2000 count from 1970, regardless of the trace's base time.
const YEAR_2000_NS: i64 = 946_684_800_000_000_000;

/// Information about the recording of a trace.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordingInfo {
    /// When the first event starts, in nanoseconds since 1970; `None` if unknown.
    pub start_ns: Option<i64>,
    pub(super) span: Option<Interval>,
    pub(super) identity: Identity,
    pub(super) pytorch: Option<String>,
    pub(super) cuda: Option<String>,
    pub(super) rocm: Option<String>,
}

impl RecordingInfo {
    /// Reads it from an unredacted trace; the file name may give the rank. If names are to be redacted, the host name
    /// and the profiler's id are left out.
    pub fn new(trace: &Trace, file: &str, is_redacted: bool) -> RecordingInfo {
        let span = recorded_span(trace);
        let mut identity = Identity::new(trace, file);
        if is_redacted {
            identity.host.clear();
            identity.trace_id.clear();
        }
        let start_ns = span.and_then(|span| match base_ns(trace) {
            _ if span.start_ns >= YEAR_2000_NS => Some(span.start_ns),
            base => base.map(|base_ns| span.start_ns.saturating_add(base_ns)),
        });
        let number = |key| of_trace(trace, key).parse::<u64>().ok();
        let pytorch = ["pytorch_version", "torch_version"];
        let pytorch = pytorch.map(|key| of_trace(trace, key)).into_iter();
        RecordingInfo {
            start_ns,
            span,
            identity,
            pytorch: pytorch.into_iter().find(|text| !text.is_empty()),
            cuda: number("cuda_runtime_version").map(|n| format!("{}.{}", n / 1000, n % 1000 / 10)),
            rocm: number("hip_runtime_version").map(|n| {
                let (major, minor, patch) = (n / 10_000_000, n / 100_000 % 100, n % 100_000);
                format!("{major}.{minor}.{patch}")
            }),
        }
    }

    /// An id that is the same for all ranks of a job, from what each rank knows: the world size, the groups of all
    /// ranks, and when the first collective of all ranks ended, to 10 s. All ranks end it together, but start recording
    /// independently; without such a collective the start of recording is used.
    pub(super) fn job_id(&self, digest: &Digest) -> Option<String> {
        let world_size = self.identity.world_size.filter(|ranks| *ranks > 1)?;
        let groups = self.identity.groups.iter();
        let of_all = groups.filter(|group| group.ranks.len() == world_size as usize);
        let of_all: Vec<Value> = of_all
            .map(|group| Value::from(vec![group.name.as_str(), group.description.as_str()]))
            .collect();
        let (start_ns, span) = self.start_ns.zip(self.span)?;
        let mut collectives = digest.collectives.iter();
        let together = collectives.find(|of| {
            let group = digest.group_of(of);
            let size = group.and_then(|group| group.size);
            size == Some(world_size) && digest.kind(of).waits_for_all()
        });
        let after_ns = together.map_or(0, |of| of.span.end_ns.saturating_sub(span.start_ns));
        let tens_of_s = start_ns
            .saturating_add(after_ns)
            .saturating_add(5_000_000_000)
            / 10_000_000_000;
        let [size, start] = [world_size.to_string(), tens_of_s.to_string()];
        Some(fnv_hex(&[&size, &Value::from(of_all).to_string(), &start]))
    }
}

/// The prefix of a hashed URI.
const HIDDEN: &str = "file_";

/// Replaces the URI of a redacted file by a hash of 16 hexadecimal digits, which distinguishes it from others.
pub fn hidden_uri(hash: &str) -> String {
    format!("{HIDDEN}{hash}")
}

/// Whether the rows of a file were redacted, from its URI.
pub fn is_hidden_uri(uri: &str) -> bool {
    let hash = uri.strip_prefix(HIDDEN).unwrap_or_default();
    hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The UTC day of a time, in days since 1970.
pub fn day_of(ns: i64) -> i32 {
    i32::try_from(ns.div_euclid(DAY_NS)).unwrap_or_default()
}
