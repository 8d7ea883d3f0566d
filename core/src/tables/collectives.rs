//! The rows of collectives, by group, type and size.

use super::Value;
use crate::base::group::grouped;
use crate::base::interval::{Coverage, Interval, sum};
use crate::base::sort::Arrange;
use crate::job::Digest;
use crate::job::analysis::network::message_bytes;
use crate::job::digest::Collective;
use crate::names::collective::CollectiveKind;
use crate::profile::Profile;
use crate::profile::gpu::timeline::Split;

pub(super) fn rows(profile: &Profile, digest: &Digest) -> Vec<Vec<Value>> {
    if digest.collectives.is_empty() {
        return Vec::new();
    }
    let exposed = profile.has_gpu_events().then(|| {
        let split = Split::new(profile.running().map(|work| (work.class, work.span)));
        Coverage::new(split.exposed_comm)
    });
    let keyed = digest.collectives.iter().map(|of| {
        let group = digest.group_of(of);
        let bytes = message_bytes(digest, of).map(|bytes| bytes as i64);
        let name = group.map(|group| group.name);
        ((name, digest.kind(of), of.dtype, bytes), of)
    });
    let groups: Vec<(_, Vec<&Collective>)> = grouped(keyed, Vec::push);
    let mut rows: Vec<(i64, Vec<Value>)> = groups
        .into_iter()
        .map(|((_, kind, dtype, bytes), all)| {
            let total_ns = sum(all.iter().map(|of| of.span.length()));
            let min_ns = all.iter().map(|of| of.span.length()).min().unwrap_or(0);
            let within = |exposed: &Coverage| {
                let spans = all.iter().map(|of| of.span);
                sum(spans.map(|span: Interval| exposed.within(span)))
            };
            let group = all.first().and_then(|of| of.group);
            let group = group.and_then(|group| digest.groups.get(group as usize));
            let size = group.and_then(|group| group.size);
            let row = vec![
                group.and_then(|group| text(digest, group.name)).into(),
                group
                    .and_then(|group| text(digest, group.description))
                    .into(),
                size.into(),
                kind.label().into(),
                text(digest, dtype).into(),
                bytes.into(),
                Value::U64(all.len() as u64),
                total_ns.into(),
                min_ns.into(),
                exposed.as_ref().map(within).into(),
                bandwidth(kind, size, bytes, min_ns).into(),
                Value::Null,
                Value::Null,
            ];
            (total_ns, row)
        })
        .collect();
    rows.arrange_by_largest(|(ns, _)| *ns);
    rows.into_iter().map(|(_, row)| row).collect()
}

/// Empty text is unknown.
fn text(digest: &Digest, id: u32) -> Option<&str> {
    Some(digest.text(id)).filter(|text| !text.is_empty())
}

/// Bus bandwidth in bytes per second.
fn bandwidth(kind: CollectiveKind, size: Option<u32>, bytes: Option<i64>, ns: i64) -> Option<f64> {
    let factor = kind.bus_factor(f64::from(size?))?;
    (ns > 0).then_some(bytes? as f64 * factor / ns as f64 * 1e9)
}
